//! Partial-order reduction: a [`StateSpace`] that fires only a stubborn set of transitions in each state.
//!
//! Kept are the reachability of broken invariants, met goals and errors of the model, and of deadlocks where they are
//! asked about; with [`Traces::Shortest`] each in as few steps as before. Which states exist is not kept, nor how often
//! something is covered. The order of the search does not matter. With symmetry, traces always stay shortest: that argument
//! is about one state at a time, and distances are the same within an orbit.

mod closure;
mod condition;
mod cycles;
mod plain;
mod probe;
mod relation;
mod rows;
mod sites;

use crate::model::Model;
use closure::{Closure, Lengths, Progress};
use hadal_system::{DeadlockNotion, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker, state};
use relation::Relation;

/// What is kept of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// The shortest ones.
    Shortest,
    /// Some; more states are left out.
    Some,
}

/// A model reduced by stubborn sets.
pub struct Stubborn<'m> {
    model: &'m Model,
    relation: Relation,
    deadlocks: DeadlockNotion,
    lengths: Lengths,
}

impl<'m> Stubborn<'m> {
    /// Prepares the reduction for the model's invariants and goals, errors, and these deadlocks. `None` where the
    /// model has too many actions, or steps that depend on what else can fire.
    pub fn new(model: &'m Model, deadlocks: DeadlockNotion, traces: Traces) -> Option<Self> {
        if !model.system().has_plain_steps() {
            return None;
        }
        let relation = Relation::of(model.system(), model.layout())?;
        let free = traces == Traces::Some && model.symmetry().is_none();
        let lengths = if free { Lengths::Free } else { Lengths::Kept };
        Some(Stubborn { model, relation, deadlocks, lengths })
    }

    /// Whether a shortest trace is still there.
    pub fn keeps_shortest(&self) -> bool {
        self.lengths == Lengths::Kept
    }
}

impl WrapsSpace for Stubborn<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.model
    }

    fn fingerprint(&self) -> u64 {
        let kind = match self.deadlocks {
            DeadlockNotion::Off => 1,
            DeadlockNotion::Stuck => 2,
            DeadlockNotion::Stuttering => 3,
        };
        state::hash(&[
            self.model.fingerprint(),
            0x5374_7562_626F_726E,
            kind,
            (self.lengths == Lengths::Free).into(),
        ])
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(StubbornWorker {
            space: self,
            inner: self.model.worker(),
            closure: Closure::new(&self.relation),
        })
    }
}

struct StubbornWorker<'m> {
    space: &'m Stubborn<'m>,
    inner: Box<dyn Worker + 'm>,
    closure: Closure<'m>,
}

impl WrapsWorker for StubbornWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.inner
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let (from, faults) = (out.len(), out.faults().len());
        self.inner.successors(state, out);
        // What meets an error is found here; nothing need be saved behind it.
        if out.faults().len() > faults || out.len() == from {
            return;
        }
        let Stubborn { relation, deadlocks, lengths, .. } = self.space;
        self.closure.restart();
        for n in from..out.len() {
            let group = relation.group(out.labels()[n]);
            let bit = 1u64 << (group % 64);
            self.closure.enabled[group / 64] |= bit;
            if *deadlocks == DeadlockNotion::Stuck || out.state(n) != state {
                self.closure.effective[group / 64] |= bit;
            }
        }
        let progress = match deadlocks {
            DeadlockNotion::Off => Progress::NotNeeded,
            DeadlockNotion::Stuck | DeadlockNotion::Stuttering => Progress::Needed,
        };
        let kept = self.closure.stubborn(state, progress, *lengths);
        out.retain_from(from, |label, _| {
            let group = relation.group(label);
            kept[group / 64] >> (group % 64) & 1 == 1
        });
    }
}
