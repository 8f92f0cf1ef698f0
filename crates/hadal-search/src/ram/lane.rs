//! One thread's share of a search: expands states in small batches and puts the successors into the table.

use super::Search;
use crate::finding::Finding;
use crate::report::{DeadlockNotion, ViolationKind};
use hadal_store::OverBudget;
use hadal_store::table::{StateRef, StateTable};
use hadal_system::{PropertyId, PropertyKind, Successors, Worker};
use std::sync::atomic::Ordering;

/// How many successors are looked up together.
const BATCH: usize = 512;

pub(super) struct Lane<'a> {
    search: &'a Search<'a>,
    table: &'a StateTable,
    /// Which arena this lane writes to.
    pub(super) writer: usize,
    worker: Box<dyn Worker + 'a>,
    out: Successors,
    /// Parent of each successor in `out`, only where the table keeps parents.
    parents: Vec<u64>,
    keeps_parents: bool,
    /// The states that the last batch added.
    pub(super) fresh: Vec<StateRef>,
    /// Cover properties that look at states.
    state_covers: Vec<PropertyId>,
    covers: Vec<u64>,
    pub(super) transitions: u64,
    pub(super) finding: Option<Finding>,
}

impl<'a> Lane<'a> {
    /// `parents` says whether the table has a word per state for its parent.
    pub(super) fn new(search: &'a Search<'a>, table: &'a StateTable, writer: usize, parents: bool) -> Self {
        let properties = search.space.properties();
        Lane {
            search,
            table,
            writer,
            worker: search.space.worker(),
            out: Successors::new(table.words()),
            parents: Vec::new(),
            keeps_parents: parents,
            fresh: Vec::new(),
            state_covers: search.question.of_kind(properties, PropertyKind::Cover).collect(),
            covers: vec![0; properties.len()],
            transitions: 0,
            finding: None,
        }
    }

    /// Adds the initial states.
    pub(super) fn start(&mut self) -> Result<(), OverBudget> {
        self.out.clear();
        self.worker.initial(&mut self.out);
        for &label in self.out.faults() {
            Finding::offer(
                &mut self.finding,
                Finding { kind: ViolationKind::StartFault(label), state: Vec::new() },
            );
        }
        self.parents.clear();
        if self.keeps_parents {
            self.parents.resize(self.out.len(), u64::MAX);
        }
        self.insert()
    }

    /// Expands the states `from..to` of a writer's arena. On running out of memory, tells from which state on nothing
    /// was expanded; the transitions of the others are counted, and what was added is in `fresh`-order in the arena.
    pub(super) fn expand(&mut self, writer: usize, from: u64, to: u64) -> Result<(), (u64, OverBudget)> {
        let mut next = from;
        while next < to {
            let first = next;
            self.out.clear();
            self.parents.clear();
            while next < to && self.out.len() < BATCH {
                self.generate(StateRef::at(writer, next));
                next += 1;
            }
            let fired = self.out.len() as u64;
            self.insert().map_err(|full| (first, full))?;
            self.transitions += fired;
            self.search.control.gauges.transitions.fetch_add(fired, Ordering::Relaxed);
            self.search.control.gauges.expanded.fetch_add(next - first, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Appends one state's successors to the batch and looks for deadlock and errors on the way.
    fn generate(&mut self, at: StateRef) {
        let state = self.table.state(at);
        let (first, faults) = (self.out.len(), self.out.faults().len());
        self.worker.successors(state, &mut self.out);
        if self.keeps_parents {
            self.parents.resize(self.out.len(), at.to_word());
        }
        for &label in &self.out.faults()[faults..] {
            let finding = Finding { kind: ViolationKind::Fault(label), state: state.to_vec() };
            Finding::offer(&mut self.finding, finding);
        }
        let failed = self.out.faults().len() > faults;
        let stuck = match self.search.question.deadlock {
            DeadlockNotion::Off => false,
            DeadlockNotion::Stuck => !failed && self.out.len() == first,
            DeadlockNotion::Stuttering => {
                !failed && (first..self.out.len()).all(|n| self.out.state(n) == state)
            }
        };
        if stuck {
            Finding::offer(
                &mut self.finding,
                Finding { kind: ViolationKind::Deadlock, state: state.to_vec() },
            );
        }
    }

    /// Puts the batch into the table and looks at what was new.
    fn insert(&mut self) -> Result<(), OverBudget> {
        self.fresh.clear();
        let (fresh, parents) = (&mut self.fresh, &self.parents);
        let inserted = self.table.insert_all(
            self.writer,
            self.out.states(),
            |n, extra| extra[0] = parents[n],
            |_, at| fresh.push(at),
        );
        let (space, question) = (self.search.space, self.search.question);
        for &at in &self.fresh {
            let state = self.table.state(at);
            let check = self.worker.check(state);
            if let Some(finding) = Finding::from_check(check, state, space.properties(), question) {
                Finding::offer(&mut self.finding, finding);
            }
            for &cover in &self.state_covers {
                if self.worker.satisfies(state, cover) == Some(true) {
                    self.covers[cover.0 as usize] += 1;
                }
            }
        }
        self.search.control.gauges.states.fetch_add(self.fresh.len() as u64, Ordering::Relaxed);
        inserted
    }

    /// How often each property was covered.
    pub(super) fn covers(&self) -> Vec<u64> {
        let mut covers = self.covers.clone();
        for (sum, &by_statements) in covers.iter_mut().zip(self.worker.cover_counts()) {
            *sum += by_statements;
        }
        covers
    }
}

/// Adds up the covers of all lanes.
pub(super) fn total_covers(lanes: &[Lane], properties: usize) -> Vec<u64> {
    let mut total = vec![0; properties];
    for lane in lanes {
        for (sum, hits) in total.iter_mut().zip(lane.covers()) {
            *sum += hits;
        }
    }
    total
}
