//! What an expansion leaves behind: figures, a closed bucket, and what was found in it.

use super::super::expand::Done;
use super::super::figures::BucketFigures;
use super::super::matrix::{Cell, OpenBucket};
use super::super::part::{Part, Place, Shelf, Stored};
use super::super::scope::{self, ClosedPart, Scope};
use super::super::spill::Shared;
use super::{Engine, Found};
use crate::finding::Finding;
use crate::lane::{take_finding, total_counts};
use crate::layered::Trouble;
use crate::report::ViolationKind;
use std::sync::atomic::Ordering;

impl Engine<'_> {
    /// Notes what an expansion did.
    pub(super) fn settle(
        &mut self,
        cell: Cell,
        bucket: OpenBucket,
        closed: Vec<ClosedPart>,
        transitions_before: u64,
    ) -> Result<Option<Found>, Trouble> {
        let mut whole = Done::default();
        for expander in &mut self.expanders {
            let done = std::mem::take(&mut expander.done);
            whole.unique += done.unique;
            whole.expanded += done.expanded;
            whole.pruned += done.pruned;
            whole.beyond += done.beyond;
            whole.least_beyond = whole.least_beyond.into_iter().chain(done.least_beyond).min();
            whole.closed.extend(done.closed);
            for target in done.targets {
                let at = whole.targets.iter_mut().find(|t| (t.g, t.h) == (target.g, target.h));
                match at {
                    Some(at) => at.states += target.states,
                    None => whole.targets.push(target),
                }
            }
            if let Some((cost, found)) = done.ahead {
                whole.offer_ahead(cost, found);
            }
        }
        for target in &whole.targets {
            let to = Cell { g: target.g, h: target.h };
            self.matrix.open.entry(to.rank()).or_default().raw += target.states;
            self.costs.insert(target.g - cell.g);
        }
        whole.targets.sort_by_key(|target| (target.g, target.h));
        whole.closed.sort_by_key(|&(piece, _)| piece);
        let parts: Vec<Part> =
            whole.closed.into_iter().map(|(_, part)| part).filter(|part| part.records > 0).collect();
        let fired: u64 = self.expanders.iter().map(|expander| expander.lane.transitions).sum();
        let figures = &mut self.figures;
        figures.states.expanded += whole.expanded;
        figures.states.generated += fired - transitions_before;
        figures.pruned += whole.pruned;
        figures.beyond += whole.beyond;
        if let Some(f) = whole.least_beyond {
            self.horizon.leave_out(cell, f);
        }
        figures.least_beyond = self.horizon.least_beyond();
        if whole.expanded > 0 {
            figures.path.f = figures.path.f.max(cell.f());
        }
        for part in &closed {
            if part.found.load(Ordering::Relaxed) > 0 {
                figures.locality = figures.locality.max(cell.g - part.rows.1);
            }
        }
        drop(closed);
        figures.buckets.push(BucketFigures {
            g: cell.g,
            h: cell.h,
            raw: bucket.raw,
            unique: whole.unique,
            expanded: whole.expanded,
            bytes: parts.iter().map(|part| bytes(&self.shelf, part)).sum(),
            targets: whole.targets,
        });
        self.counts = self.counts_before.clone();
        for expander in &self.expanders {
            self.counts.add(&total_counts(std::slice::from_ref(&expander.lane), self.search.task.space));
        }
        self.matrix.release(bucket.parts.iter().map(Part::resident_words).sum());
        drop(bucket);
        let found = self.found(cell, whole.ahead);
        let closed = self.close(cell, parts);
        // What was found needs nothing more from the disk, and must not be passed by.
        if found.is_none() {
            closed?;
        }
        Ok(found)
    }

    /// Adds states to a closed bucket. They are in it even if this fails.
    fn close(&mut self, cell: Cell, parts: Vec<Part>) -> Result<(), Trouble> {
        let words = parts.iter().map(Part::resident_words).sum();
        let shared = Shared::new(&mut self.matrix, &self.shelf, cell.rank(), self.expansions, None);
        let room = shared.make_room(words);
        let held = self.matrix.hold(words);
        if !parts.is_empty() {
            self.matrix.columns.entry(cell.h).or_default().rows.entry(cell.g).or_default().extend(parts);
        }
        if let Some(rows) = self.rows_kept {
            self.matrix.delete_before(cell.h, (cell.g + 1).saturating_sub(rows));
        }
        held?;
        if self.scope == Scope::Full {
            scope::add_level(&mut self.matrix, cell, &self.shelf)?;
        }
        room
    }

    /// Which of the things found in an expansion is reported: the cheapest.
    fn found(&mut self, cell: Cell, ahead: Option<(u64, Finding)>) -> Option<Found> {
        let mut here = None;
        for expander in &mut self.expanders {
            if let Some(finding) = take_finding(std::slice::from_mut(&mut expander.lane)) {
                Finding::offer(&mut here, finding);
            }
        }
        // A part of a path looks for its end only.
        let is_part = self.ledger.is_none();
        let here = here.filter(|finding| !is_part || matches!(finding.kind, ViolationKind::Goal(_)));
        match (here, ahead) {
            (Some(finding), _) => Some(Found::Goal { cell, finding }),
            (None, Some((g, finding))) => Some(Found::Goal { cell: Cell { g, h: 0 }, finding }),
            (None, None) => None,
        }
    }
}

fn bytes(shelf: &Shelf, part: &Part) -> u64 {
    match &part.place {
        Place::Stored(Stored::Run(run)) => run.bytes(),
        _ => part.records * shelf.shape().bytes() as u64,
    }
}
