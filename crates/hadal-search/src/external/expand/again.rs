//! Expanding closed states again, for the successors that an earlier expansion left out. The states were looked at and
//! counted then.

use super::super::matrix::Cell;
use super::super::spill::lock;
use super::super::trail::Step;
use super::{Expander, Pass};
use crate::layered::Trouble;
use hadal_store::merge::{BlockSource, RunMerge};
use hadal_system::guide::Distance;
use hadal_system::{Label, Successors};

/// An expansion for what an earlier one left out.
pub(in crate::external) struct Again {
    /// Up to this f everything is written already.
    pub(in crate::external) beyond: Option<u64>,
}

/// A transition, what it costs and where it leads.
struct Taken<'t> {
    label: Label,
    cost: u32,
    state: &'t [u64],
}

impl Expander<'_> {
    /// Puts what was left out of a piece into its buckets.
    pub(super) fn expand_piece_again(
        &mut self,
        pass: &Pass,
        again: &Again,
        piece: usize,
    ) -> Result<(), Trouble> {
        let (shape, range) = (self.shape, pass.range(piece));
        let sources = pass.sources.iter().map(|part| part.source(shape, range)).collect::<Result<_, _>>()?;
        let mut merge = RunMerge::new(shape, sources);
        let (mut worker, mut out) = (self.task.space.worker(), Successors::new(shape.words()));
        let mut costs = Vec::new();
        let mut batch = std::mem::take(&mut self.batch);
        while merge.next_block(&mut batch)? {
            for parent in batch.chunks_exact(shape.stride()) {
                self.done.unique += 1;
                out.clear();
                worker.successors(shape.state(parent), &mut out);
                costs.clear();
                worker.costs(shape.state(parent), out.labels(), &mut costs);
                for ((label, state), &cost) in out.iter().zip(&costs) {
                    self.deal_again(pass, again, Taken { label, cost, state }, parent)?;
                }
            }
            if let Some(reason) = self.task.control.must_stop(0) {
                *lock(&pass.stopped) = Some(reason);
            }
            if pass.is_stopped() {
                break;
            }
        }
        self.batch = batch;
        Ok(())
    }

    fn deal_again(
        &mut self,
        pass: &Pass,
        again: &Again,
        Taken { label, cost, state }: Taken,
        parent: &[u64],
    ) -> Result<(), Trouble> {
        let estimate = self.estimator.estimate(state, None);
        if self.rules.prune && estimate == Distance::INFINITE {
            return Ok(());
        }
        let to = Cell { g: pass.cell.g + u64::from(cost), h: estimate.0 };
        if again.beyond.is_some_and(|beyond| to.f() <= beyond) {
            return Ok(());
        }
        if pass.reach.is_some_and(|reach| to.f() > reach) {
            let least = self.done.least_beyond.get_or_insert(u64::MAX);
            *least = to.f().min(*least);
            return Ok(());
        }
        if self.shape.payload_words() > 0 {
            let step = Step { from: pass.cell, to, label, parent, state };
            self.rules.mode.carry(self.shape, step, &mut self.payload);
        }
        if self.targets.is_full() {
            self.targets.relieve(&pass.shared)?;
        }
        self.targets.push(to, &self.payload, state)
    }
}
