//! What a search says in the end: the path to what was found, and its figures.

use super::super::divide::{self, Crossing};
use super::super::figures::bucket_bound;
use super::super::matrix::Cell;
use super::super::trail::{Mode, Trail, lost, record_of_all};
use super::Engine;
use crate::directed::{DirectedFigures, Manner, WorkFigures, aims_at, may_prune};
use crate::exchange::Mailbox;
use crate::explore::Explored;
use crate::finding::Finding;
use crate::layered::Trouble;
use crate::report::{DiskFigures, Particular, Proviso, Report, Stage, StopReason, Verdict, Violation};
use crate::run::{Answer, complete};
use crate::strategies::Resumes;
use hadal_store::run::RunFile;

/// Of a search that was interrupted on the way to what it had found.
fn without_path(report: Report) -> Report {
    let verdict = Verdict::Stopped(StopReason::Interrupted);
    Report { verdict, proviso: Some(Proviso::WrongSeen), ..report }
}

impl Engine<'_> {
    fn trail(&self) -> Trail<'_> {
        Trail {
            task: self.search.task,
            guide: self.search.guide,
            promises: self.promises,
            matrix: &self.matrix,
            shelf: &self.shelf,
            threads: self.expanders.len(),
            costs: &self.costs,
        }
    }

    /// The remembered step of the path to a state.
    pub(in crate::external) fn crossing(&mut self, cell: Cell, state: &[u64]) -> Result<Crossing, Trouble> {
        let own = self.trail().record(cell, state);
        let record = record_of_all(&mut self.mailbox, own)?;
        let record = record.ok_or_else(|| lost("the end of the path has no record"))?;
        Ok(Crossing::of(self.shelf.shape(), &record))
    }

    /// Rebuilds the path to what was found.
    pub(super) fn answer(mut self, cell: Cell, finding: Finding) -> Result<Explored, Trouble> {
        let crossing = match self.mode {
            Mode::Relay(_) => Some(self.crossing(cell, &finding.state)?),
            _ => None,
        };
        let mut path = Vec::new();
        if crossing.is_none() {
            let alone = Mailbox::alone(self.shelf.shape(), self.search.governor);
            let mut mailbox = std::mem::replace(&mut self.mailbox, alone);
            let found = self.trail().path((self.mode, &mut mailbox), cell, &finding.state);
            self.mailbox = mailbox;
            path = match found {
                Err(trouble) if trouble.is_stop() => {
                    let report = self.report(Verdict::Stopped(StopReason::Interrupted))?;
                    return Ok(Explored::leaving(without_path(report), Resumes::ItsOwn));
                }
                path => path?,
            };
        }
        // A guide speaks of what it looks for, and of nothing that is met by chance.
        let optimal = self.promises.admissible && cell.h == 0 && aims_at(self.search.goal, finding.kind);
        let unit_costs = self.search.task.space.costs().is_steps();
        self.figures.path.cost = Some(cell.g);
        self.figures.path.optimal = optimal;
        self.figures.bucket_bound = Some(bucket_bound(cell.g));
        let violation = Violation { kind: finding.kind, path, shortest: optimal && unit_costs };
        let mut report = self.report(Verdict::Violated(violation))?;
        if let Some(crossing) = crossing {
            let (search, disk) = (self.search.clone(), self.shelf.disk.clone());
            // Its buckets are not needed any more, and the parts need the memory. The folder stays locked.
            let _ledger = self.ledger.take();
            drop(self);
            match divide::path(&search, &disk, crossing, finding.state, cell.g) {
                Err(trouble) if trouble.is_stop() => report = without_path(report),
                whole => {
                    if let Verdict::Violated(violation) = &mut report.verdict {
                        violation.path = whole?;
                    }
                }
            }
        }
        Ok(Explored::leaving(report, Resumes::ItsOwn))
    }

    /// The whole space has been seen.
    pub(super) fn complete(&self) -> Verdict {
        complete(self.search.task, &self.counts.covers)
    }

    /// Completes the figures.
    pub(super) fn report(&mut self, verdict: Verdict) -> Result<Report, Trouble> {
        let held = self.matrix.files().into_iter().map(RunFile::bytes).sum();
        let disk = DiskFigures::of(&self.shelf.disk, held);
        let rows = self.matrix.columns.values().flat_map(|column| column.rows.values().flatten());
        let own = [rows.map(|part| part.records).sum(), disk.read, disk.written];
        let [closed, read, written] = self.sum_of_all(own)?;
        let figures = &mut self.figures;
        figures.states.stored = figures.states.expanded + self.matrix.raw_open();
        figures.states.closed = closed;
        figures.least_beyond = self.horizon.least_beyond();
        figures.bytes_read = read;
        figures.bytes_written = written;
        let left_out = Proviso::Pruned { left_out: figures.pruned };
        let proviso = (verdict == Verdict::Holds && figures.pruned > 0).then_some(left_out);
        let directed = DirectedFigures {
            manner: Manner {
                guide: figures.guide.clone(),
                order: "external-astar".into(),
                priority: "none".into(),
                tie: "least cost, then all together".into(),
                admissible: self.promises.admissible,
                prunes: may_prune(self.search.task, self.search.guide, self.search.goal),
            },
            work: WorkFigures {
                pops: figures.states.expanded,
                distinct: figures.states.expanded,
                generated: figures.states.generated,
                evaluated: figures.states.generated,
                hopeless: figures.pruned,
                ..WorkFigures::default()
            },
            found_cost: figures.path.cost,
            found_cheapest: figures.path.optimal,
            external: Some(figures.clone()),
            ..DirectedFigures::default()
        };
        let answer = Answer {
            verdict,
            states: figures.states.expanded,
            transitions: figures.states.generated,
            counts: &self.counts,
            stages: vec![Stage { storage: "buckets by cost and estimate", states: 0, depth: 0 }],
        };
        let report = answer.report(self.search.task, self.search.governor);
        let particular = Particular { directed: Some(directed), ..Particular::default() };
        Ok(Report { disk: Some(disk), proviso, particular, ..report })
    }
}
