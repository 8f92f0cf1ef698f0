//! One thread's share of a search: expands states in small batches and puts the successors into a table.
//!
//! All explorers expand through lanes. A batch that does not fit the table stays with the lane until there is room
//! ([`Lane::finish_batch`]), so nothing is generated, counted or looked at twice.

use crate::control::Control;
use crate::finding::Finding;
use crate::firings::{Counts, Firings};
use crate::report::{DeadlockNotion, Question, ViolationKind};
use hadal_store::OverBudget;
use hadal_store::table::{StateRef, StateTable};
use hadal_system::{PropertyId, PropertyKind, StateSpace, Successors, Worker};
use std::sync::atomic::Ordering;

/// How many successors are looked up together.
const BATCH: usize = 512;

/// What every lane of a search works on.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// What to explore.
    pub space: &'a dyn StateSpace,
    /// What to look for.
    pub question: &'a Question,
    /// When to stop, and what to show.
    pub control: &'a Control,
}

/// Where lanes put what they generate.
pub(crate) trait Sink: Sync {
    /// Takes states, one after the other, and their parents' words. Calls `told` for those it did not know, in order.
    ///
    /// When there is no more room, all states up to the last one told are taken, and the others must come again.
    fn take(
        &self,
        writer: usize,
        states: &[u64],
        parents: &[u64],
        told: impl FnMut(usize, StateRef),
    ) -> Result<(), OverBudget>;
}

impl Sink for StateTable {
    fn take(
        &self,
        writer: usize,
        states: &[u64],
        parents: &[u64],
        told: impl FnMut(usize, StateRef),
    ) -> Result<(), OverBudget> {
        self.insert_all(writer, states, |n, extra| extra[0] = parents[n], told)
    }
}

/// Whether the table keeps a word per state for its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parents {
    /// It does.
    Kept,
    /// It does not.
    Forgotten,
}

pub(crate) struct Lane<'a> {
    task: Task<'a>,
    /// Which arena of the table this lane writes to.
    pub(crate) writer: usize,
    worker: Box<dyn Worker + 'a>,
    out: Successors,
    parents: Parents,
    /// Parent of each successor in `out`, only where parents are kept.
    parent_words: Vec<u64>,
    /// How many successors in `out` are taken already, of a batch that waits for room.
    taken: usize,
    /// Initial states in `out`: they are not transitions.
    initial: u64,
    /// How many states were expanded into `out`.
    expanded: u64,
    /// The states that the last batch added.
    pub(crate) fresh: Vec<StateRef>,
    /// Their numbers in `out`.
    fresh_numbers: Vec<usize>,
    /// Cover properties that look at states.
    state_covers: Vec<PropertyId>,
    covers: Vec<u64>,
    firings: Firings<'a>,
    pub(crate) transitions: u64,
    pub(crate) finding: Option<Finding>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(task: Task<'a>, writer: usize, parents: Parents) -> Self {
        let properties = task.space.properties();
        Lane {
            task,
            writer,
            worker: task.space.worker(),
            out: Successors::new(task.space.words()),
            parents,
            parent_words: Vec::new(),
            taken: 0,
            initial: 0,
            expanded: 0,
            fresh: Vec::new(),
            fresh_numbers: Vec::new(),
            state_covers: task.question.of_kind(properties, PropertyKind::Cover).collect(),
            covers: vec![0; properties.len()],
            firings: Firings::new(task.space),
            transitions: 0,
            finding: None,
        }
    }

    /// Puts the initial states into the table; where they do not fit, [`Lane::finish_batch`] goes on.
    pub(crate) fn start(&mut self, table: &impl Sink) -> Result<(), OverBudget> {
        self.generate_initial(u64::MAX);
        self.finish_batch(table)
    }

    /// Appends the initial states to the batch, with `word` as their parent.
    pub(crate) fn generate_initial(&mut self, word: u64) {
        self.worker.initial(&mut self.out);
        for &label in self.out.faults() {
            Finding::offer(
                &mut self.finding,
                Finding { kind: ViolationKind::StartFault(label), state: Vec::new() },
            );
        }
        if self.parents == Parents::Kept {
            self.parent_words.resize(self.out.len(), word);
        }
        self.initial = self.out.len() as u64;
    }

    /// Expands `count` states. `state(n)` is the n-th and the word that stands for it as a parent. Returns how many were
    /// expanded when the table has no more room: those are accounted for, the last batch of successors waits in the lane.
    pub(crate) fn expand<'s>(
        &mut self,
        table: &impl Sink,
        count: u64,
        state: impl Fn(u64) -> (&'s [u64], u64),
    ) -> Result<(), (u64, OverBudget)> {
        let mut next = 0;
        while next < count {
            while next < count && self.out.len() < BATCH {
                let (state, word) = state(next);
                self.generate(state, word);
                next += 1;
            }
            self.finish_batch(table).map_err(|full| (next, full))?;
        }
        Ok(())
    }

    /// Appends one state's successors to the batch and looks for deadlock and errors on the way.
    pub(crate) fn generate(&mut self, state: &[u64], word: u64) {
        let (first, faults) = (self.out.len(), self.out.faults().len());
        self.worker.successors(state, &mut self.out);
        self.expanded += 1;
        if self.parents == Parents::Kept {
            self.parent_words.resize(self.out.len(), word);
        }
        for &label in &self.out.faults()[faults..] {
            let finding = Finding { kind: ViolationKind::Fault(label), state: state.to_vec() };
            Finding::offer(&mut self.finding, finding);
        }
        let failed = self.out.faults().len() > faults;
        let stuck = match self.task.question.deadlock {
            DeadlockNotion::Off => false,
            DeadlockNotion::Stuck => !failed && self.out.len() == first,
            DeadlockNotion::Stuttering => {
                !failed && (first..self.out.len()).all(|n| self.out.state(n) == state)
            }
        };
        if stuck && !self.worker.can_leave(state) {
            Finding::offer(
                &mut self.finding,
                Finding { kind: ViolationKind::Deadlock, state: state.to_vec() },
            );
        }
        for &cover in &self.state_covers {
            if self.worker.satisfies(state, cover) == Some(true) {
                self.covers[cover.0 as usize] += 1;
            }
        }
    }

    /// Puts the waiting batch into the table, looks at what was new and counts. On [`OverBudget`] the batch keeps
    /// waiting; what was already taken is not offered again.
    pub(crate) fn finish_batch(&mut self, table: &impl Sink) -> Result<(), OverBudget> {
        self.fresh.clear();
        self.fresh_numbers.clear();
        let (fresh, numbers, first) = (&mut self.fresh, &mut self.fresh_numbers, self.taken);
        let words = self.task.space.words();
        let inserted = table.take(
            self.writer,
            &self.out.states()[first * words..],
            self.parent_words.get(first..).unwrap_or_default(),
            |n, at| {
                fresh.push(at);
                numbers.push(first + n);
            },
        );
        let (space, question) = (self.task.space, self.task.question);
        for &number in &self.fresh_numbers {
            let state = self.out.state(number);
            let check = self.worker.check(state);
            if let Some(finding) = Finding::from_check(check, state, space.properties(), question) {
                Finding::offer(&mut self.finding, finding);
            }
        }
        if let (Err(_), Some(&last)) = (&inserted, self.fresh_numbers.last()) {
            self.taken = last + 1;
        }
        inserted?;
        self.settle();
        Ok(())
    }

    /// The waiting batch, for an explorer that places states itself, and the word of each one's parent.
    pub(crate) fn waiting(&self) -> (&Successors, &[u64]) {
        (&self.out, &self.parent_words)
    }

    /// Looks at a state that is new.
    pub(crate) fn look_at(&mut self, state: &[u64]) {
        let check = self.worker.check(state);
        let (properties, question) = (self.task.space.properties(), self.task.question);
        if let Some(finding) = Finding::from_check(check, state, properties, question) {
            Finding::offer(&mut self.finding, finding);
        }
    }

    /// Counts what waited and forgets it.
    pub(crate) fn settle(&mut self) {
        self.taken = 0;
        let fired = &self.out.labels()[std::mem::take(&mut self.initial) as usize..];
        self.firings.count(fired);
        let fired = fired.len() as u64;
        self.transitions += fired;
        let gauges = &self.task.control.gauges;
        gauges.transitions.fetch_add(fired, Ordering::Relaxed);
        gauges.expanded.fetch_add(self.expanded, Ordering::Relaxed);
        self.expanded = 0;
        self.out.clear();
        self.parent_words.clear();
    }

    /// Forgets what waited: it was counted when it was generated before.
    pub(crate) fn forget(&mut self) {
        (self.taken, self.initial, self.expanded) = (0, 0, 0);
        self.out.clear();
        self.parent_words.clear();
    }

    /// How often each property was covered and each action fired.
    fn counts(&self) -> Counts {
        let mut covers = self.covers.clone();
        for (sum, &by_statements) in covers.iter_mut().zip(self.worker.cover_counts()) {
            *sum += by_statements;
        }
        Counts { covers, fired: self.firings.fired().to_vec() }
    }
}

/// Adds up the counts of all lanes.
pub(crate) fn total_counts(lanes: &[Lane], space: &dyn StateSpace) -> Counts {
    let mut total = Counts::zero(space);
    for lane in lanes {
        total.add(&lane.counts());
    }
    total
}

/// Whether the lanes hold something that was found.
pub(crate) fn has_found(lanes: &[Lane]) -> bool {
    lanes.iter().any(|lane| lane.finding.is_some())
}

/// The reported one of everything the lanes found; they forget it.
pub(crate) fn take_finding(lanes: &mut [Lane]) -> Option<Finding> {
    let mut best = None;
    for finding in lanes.iter_mut().filter_map(|lane| lane.finding.take()) {
        Finding::offer(&mut best, finding);
    }
    best
}
