//! What an expansion leaves behind: figures, a closed bucket, and what was found in it.

use super::super::expand::Done;
use super::super::figures::{BucketFigures, TargetFigures};
use super::super::matrix::Cell;
use super::super::part::{Part, Place, Shelf, Stored};
use super::super::scope::{self, ClosedPart, Scope};
use super::super::spill::Shared;
use super::pass::Begun;
use super::{Engine, Found, Purpose};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::lane::{take_finding, total_counts};
use crate::layered::Trouble;
use crate::report::{StopReason, ViolationKind};
use std::sync::atomic::Ordering;

/// What the expansion of a bucket came to, of one worker or of all.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Expanded {
    pub(super) unique: u64,
    pub(super) expanded: u64,
    pub(super) pruned: u64,
    pub(super) beyond: u64,
    pub(super) least_beyond: Option<u64>,
    pub(super) targets: Vec<TargetFigures>,
    pub(super) fired: u64,
    /// Bytes of the closed bucket.
    pub(super) bytes: u64,
    /// How many rows back a duplicate was.
    pub(super) locality: u64,
    /// What was counted since the search began or was resumed.
    pub(super) counts: Counts,
    /// Something found in a state of the bucket.
    pub(super) here: Option<Finding>,
    /// Something found in a successor, and what it costs to get there.
    pub(super) ahead: Option<(u64, Finding)>,
}

impl Expanded {
    pub(super) fn add_target(&mut self, target: TargetFigures) {
        match self.targets.iter_mut().find(|known| (known.g, known.h) == (target.g, target.h)) {
            Some(known) => known.states += target.states,
            None => self.targets.push(target),
        }
    }

    /// Keeps the cheaper of what was found in successors.
    pub(super) fn offer_ahead(&mut self, (cost, found): (u64, Finding)) {
        let mut both = Done { ahead: self.ahead.take(), ..Done::default() };
        both.offer_ahead(cost, found);
        self.ahead = both.ahead;
    }
}

impl Engine<'_> {
    /// Notes what an expansion did, once all workers have done it.
    pub(super) fn settle(&mut self, begun: Begun) -> Result<Option<Found>, Trouble> {
        let Begun { cell, bucket, before, ahead, .. } = begun;
        let (own, parts) = self.gather(cell, &ahead.closed, before);
        drop(ahead);
        let own_states = own.expanded;
        let mut whole = match self.meet_expanded(own)? {
            Ok(whole) => whole,
            Err(reason) => {
                self.undo(cell, bucket);
                return Ok(Some(Found::Stopped(reason)));
            }
        };
        if !self.mailbox.is_alone() {
            let states = self.figures.states.expanded + whole.expanded;
            if self.search.task.control.limits.max_states.is_some_and(|most| states >= most) {
                self.undo(cell, bucket);
                return Ok(Some(Found::Stopped(StopReason::StateLimit)));
            }
            self.search.task.control.gauges.states.store(states, Ordering::Relaxed);
            self.own_states += own_states;
        }
        for target in &whole.targets {
            let to = Cell { g: target.g, h: target.h };
            self.matrix.open.entry(to.rank()).or_default().raw += target.states;
            self.costs.insert(target.g - cell.g);
        }
        whole.targets.sort_by_key(|target| (target.g, target.h));
        let figures = &mut self.figures;
        figures.states.expanded += whole.expanded;
        figures.states.generated += whole.fired;
        figures.pruned += whole.pruned;
        figures.beyond += whole.beyond;
        if let Some(f) = whole.least_beyond {
            self.horizon.leave_out(cell, f);
        }
        figures.least_beyond = self.horizon.least_beyond();
        if whole.expanded > 0 {
            figures.path.f = figures.path.f.max(cell.f());
        }
        figures.locality = figures.locality.max(whole.locality);
        figures.buckets.push(BucketFigures {
            g: cell.g,
            h: cell.h,
            raw: bucket.raw,
            unique: whole.unique,
            expanded: whole.expanded,
            bytes: whole.bytes,
            targets: whole.targets,
        });
        self.counts = self.counts_before.clone();
        self.counts.add(&whole.counts);
        self.matrix.release(bucket.parts.iter().map(Part::resident_words).sum());
        drop(bucket);
        let found = self.found(cell, whole.here, whole.ahead);
        let closed = self.close(cell, parts);
        // What was found needs nothing more from the disk, and must not be passed by.
        if found.is_none() {
            self.unless_shared(closed)?;
        }
        Ok(found)
    }

    /// What this worker did in an expansion, and the states it closed.
    fn gather(&mut self, cell: Cell, closed: &[ClosedPart], before: u64) -> (Expanded, Vec<Part>) {
        let (mut own, mut parts) = (Expanded::default(), Vec::new());
        for expander in &mut self.expanders {
            let done = std::mem::take(&mut expander.done);
            own.unique += done.unique;
            own.expanded += done.expanded;
            own.pruned += done.pruned;
            own.beyond += done.beyond;
            own.least_beyond = own.least_beyond.into_iter().chain(done.least_beyond).min();
            parts.extend(done.closed);
            done.targets.into_iter().for_each(|target| own.add_target(target));
            done.ahead.into_iter().for_each(|ahead| own.offer_ahead(ahead));
            if let Some(finding) = take_finding(std::slice::from_mut(&mut expander.lane)) {
                Finding::offer(&mut own.here, finding);
            }
        }
        parts.sort_by_key(|&(piece, _)| piece);
        let parts: Vec<Part> =
            parts.into_iter().map(|(_, part)| part).filter(|part| part.records > 0).collect();
        own.fired = self.fired() - before;
        own.bytes = parts.iter().map(|part| bytes(&self.shelf, part)).sum();
        let met = closed.iter().filter(|part| part.found.load(Ordering::Relaxed) > 0);
        own.locality = met.map(|part| cell.g - part.rows.1).max().unwrap_or(0);
        own.counts = self.counted();
        (own, parts)
    }

    /// What all lanes counted since the search began or was resumed.
    pub(super) fn counted(&self) -> Counts {
        let mut counts = Counts::zero(self.search.task.space);
        for expander in &self.expanders {
            counts.add(&total_counts(std::slice::from_ref(&expander.lane), self.search.task.space));
        }
        counts.take_off(&self.in_vain);
        counts
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
    fn found(&self, cell: Cell, here: Option<Finding>, ahead: Option<(u64, Finding)>) -> Option<Found> {
        // A part of a path looks for its end only.
        let is_part = self.purpose == Purpose::PartOfPath;
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
