//! One thread's share of a search: expands states in small batches and puts the successors into a table.
//!
//! All explorers expand through lanes. A batch that does not fit the table stays with the lane until there is room
//! ([`Lane::finish_batch`]), so nothing is generated, counted or looked at twice.

use crate::control::Control;
use crate::finding::Finding;
use crate::firings::{Counts, Firings};
use crate::report::{DeadlockNotion, Question, ViolationKind};
use hadal_store::OverBudget;
use hadal_store::table::Writer;
use hadal_system::{COST_ERROR, Label, PropertyId, PropertyKind, StateSpace, States, Successors, Worker};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// How many successors are looked up together.
const BATCH: usize = 512;

/// What every lane of a search works on.
#[derive(Clone, Copy)]
pub struct SearchTask<'a> {
    /// What to explore.
    pub space: &'a dyn StateSpace,
    /// What to look for.
    pub question: &'a Question,
    /// When to stop, and what to show.
    pub control: &'a Control,
}

/// What a lane generated, for its sink.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'b> {
    pub(crate) states: States<'b>,
    /// The word of each one's parent, where parents are kept.
    pub(crate) parents: &'b [u64],
    /// The payload of each, where the space has such.
    pub(crate) payloads: &'b [u64],
}

/// Where a lane puts what it generates; each lane has its own.
pub(crate) trait Sink: Send {
    /// Takes states with what is beside them. Calls `told` for those it did not know, in order.
    ///
    /// When there is no more room, all states up to the last one told are taken, unless [`Sink::taken`] says more; the
    /// others must come again.
    fn take(&mut self, batch: Batch, told: impl FnMut(usize)) -> Result<(), OverBudget>;

    /// How many states of the last batch were taken when there was no more room, where it matters that none comes again:
    /// its payload would be merged twice.
    fn taken(&self) -> Option<usize> {
        None
    }
}

impl Sink for Writer<'_> {
    fn take(&mut self, batch: Batch, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        let Batch { states, parents, .. } = batch;
        self.insert_all(states.flat(), |n, extra| extra[0] = parents[n], |n, _| told(n))
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
    task: SearchTask<'a>,
    worker: Box<dyn Worker + 'a>,
    out: Successors,
    parents: Parents,
    /// Parent of each successor in `out`, only where parents are kept.
    parent_words: Vec<u64>,
    /// Words of a payload; 0 where the space has none.
    payload_words: usize,
    /// The payload of each successor in `out`, and of the state being expanded.
    payloads: Vec<u64>,
    payload: Vec<u64>,
    /// What each transition in `out` costs, for those who ask in a space where that is not 1.
    costs: Option<Vec<u32>>,
    /// How many successors in `out` are taken already, of a batch that waits for room.
    taken: usize,
    /// Initial states in `out`: they are not transitions.
    initial: u64,
    /// How many states were expanded into `out`, and where the successors of each of those expanded last end.
    expanded: u64,
    ends: Vec<usize>,
    /// Which of `out` the last batch added.
    fresh: Vec<usize>,
    /// Cover properties that look at states.
    state_covers: Vec<PropertyId>,
    covers: Vec<u64>,
    firings: Firings<'a>,
    pub(crate) transitions: u64,
    pub(crate) finding: Option<Finding>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(task: SearchTask<'a>, parents: Parents) -> Self {
        let properties = task.space.properties();
        Lane {
            task,
            worker: task.space.worker(),
            out: Successors::new(task.space.words()),
            parents,
            parent_words: Vec::new(),
            payload_words: task.space.payload().words,
            payloads: Vec::new(),
            payload: Vec::new(),
            costs: None,
            taken: 0,
            initial: 0,
            expanded: 0,
            ends: Vec::new(),
            fresh: Vec::new(),
            state_covers: task.question.of_kind(properties, PropertyKind::Cover).collect(),
            covers: vec![0; properties.len()],
            firings: Firings::new(task.space),
            transitions: 0,
            finding: None,
        }
    }

    /// Asks for the costs of transitions as well.
    pub(crate) fn with_costs(mut self) -> Self {
        self.costs = (!self.task.space.costs().is_steps()).then(Vec::new);
        self
    }

    /// What the n-th waiting transition costs; 1 where nobody asked.
    #[inline]
    pub(crate) fn cost(&self, n: usize) -> u32 {
        self.costs.as_ref().map_or(1, |costs| costs[n])
    }

    /// What a transition out of `state` costs.
    pub(crate) fn cost_of(&mut self, state: &[u64], label: Label) -> u32 {
        if self.task.space.costs().is_steps() {
            return 1;
        }
        let mut costs = Vec::new();
        self.worker.costs(state, &[label], &mut costs);
        costs.first().copied().unwrap_or(1)
    }

    /// Puts the initial states into the table; where they do not fit, [`Lane::finish_batch`] goes on.
    pub(crate) fn start(&mut self, sink: &mut impl Sink) -> Result<(), OverBudget> {
        self.generate_initial(u64::MAX);
        self.finish_batch(sink)
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
        if self.payload_words > 0 {
            self.worker.payloads(None, (&mut self.out, 0), &mut self.payloads);
        }
        if self.parents == Parents::Kept {
            self.parent_words.resize(self.out.len(), word);
        }
        self.initial = self.out.len() as u64;
    }

    /// Expands `count` states. `state(n)` is the n-th and the word that stands for it as a parent, and appends its payload.
    /// Returns how many were expanded when the table has no more room: those are accounted for, the last batch of successors
    /// waits in the lane.
    pub(crate) fn expand<'s>(
        &mut self,
        sink: &mut impl Sink,
        count: u64,
        state: impl Fn(u64, &mut Vec<u64>) -> (&'s [u64], u64),
    ) -> Result<(), (u64, OverBudget)> {
        let mut next = 0;
        while next < count {
            while next < count && self.out.len() < BATCH {
                self.payload.clear();
                let (state, word) = state(next, &mut self.payload);
                self.generate(state, word);
                next += 1;
            }
            self.finish_batch(sink).map_err(|full| (next, full))?;
        }
        Ok(())
    }

    /// Whether nothing is kept beside states and nothing counted in them, so that many can be expanded at once.
    pub(crate) fn is_plain(&self) -> bool {
        let keeps_nothing = self.parents == Parents::Forgotten && self.payload_words == 0;
        keeps_nothing && self.costs.is_none() && self.state_covers.is_empty()
    }

    /// As [`Lane::expand`] for states that lie one after the other, in a lane that is [plain](Lane::is_plain).
    pub(crate) fn expand_plain(
        &mut self,
        sink: &mut impl Sink,
        states: &[u64],
    ) -> Result<(), (u64, OverBudget)> {
        debug_assert!(self.is_plain());
        let words = self.task.space.words();
        let (mut next, count) = (0, states.len() / words);
        while next < count {
            while next < count && self.out.len() < BATCH {
                next += self.generate_each(&states[next * words..]);
            }
            self.finish_batch(sink).map_err(|full| (next as u64, full))?;
        }
        Ok(())
    }

    /// Appends the successors of the first of these states to the batch, as [`Lane::generate`] does; says how many were expanded.
    fn generate_each(&mut self, states: &[u64]) -> usize {
        let (first, faults) = (self.out.len(), self.out.faults().len());
        self.ends.clear();
        self.worker.successors_of_each(states, BATCH, &mut self.out, &mut self.ends);
        let expanded = self.ends.len();
        self.expanded += expanded as u64;
        let failed = self.out.faults().len() > faults;
        if failed || self.task.question.deadlock != DeadlockNotion::Off {
            let (words, none) = (self.out.words(), self.out.faults().len());
            let mut from = first;
            for (n, state) in states.chunks_exact(words).take(expanded).enumerate() {
                // Errors are those of the last one.
                let faults = if n + 1 == expanded { faults } else { none };
                let end = self.ends[n];
                self.judge(state, from..end, faults);
                from = end;
            }
        }
        expanded
    }

    /// Looks for deadlock and errors in a state whose successors have these numbers in the batch, and whose errors begin
    /// at number `faults`.
    #[inline]
    fn judge(&mut self, state: &[u64], successors: Range<usize>, faults: usize) {
        for &label in &self.out.faults()[faults..] {
            let finding = Finding { kind: ViolationKind::Fault(label), state: state.to_vec() };
            Finding::offer(&mut self.finding, finding);
        }
        let failed = self.out.faults().len() > faults;
        let stuck = match self.task.question.deadlock {
            DeadlockNotion::Off => false,
            DeadlockNotion::Stuck => !failed && successors.is_empty(),
            DeadlockNotion::Stuttering => !failed && { successors }.all(|n| self.out.state(n) == state),
        };
        if stuck && !self.worker.can_leave(state) {
            let finding = Finding { kind: ViolationKind::Deadlock, state: state.to_vec() };
            Finding::offer(&mut self.finding, finding);
        }
    }

    /// Appends one state's successors to the batch and looks for deadlock and errors on the way.
    pub(crate) fn generate(&mut self, state: &[u64], word: u64) {
        let (first, faults) = (self.out.len(), self.out.faults().len());
        self.worker.successors(state, &mut self.out);
        self.expanded += 1;
        if self.payload_words > 0 {
            self.worker.payloads(Some((state, &self.payload)), (&mut self.out, first), &mut self.payloads);
        }
        if self.parents == Parents::Kept {
            self.parent_words.resize(self.out.len(), word);
        }
        if let Some(costs) = &mut self.costs {
            let labels = &self.out.labels()[first..];
            self.worker.costs(state, labels, costs);
            for (&label, _) in labels.iter().zip(&costs[first..]).filter(|(_, cost)| **cost == COST_ERROR) {
                let finding = Finding { kind: ViolationKind::Fault(label), state: state.to_vec() };
                Finding::offer(&mut self.finding, finding);
            }
        }
        self.judge(state, first..self.out.len(), faults);
        for &cover in &self.state_covers {
            if self.worker.satisfies(state, cover) == Some(true) {
                self.covers[cover.0 as usize] += 1;
            }
        }
    }

    /// Puts the waiting batch into the table, looks at what was new and counts. On [`OverBudget`] the batch keeps
    /// waiting; what was already taken is not offered again.
    pub(crate) fn finish_batch(&mut self, sink: &mut impl Sink) -> Result<(), OverBudget> {
        self.fresh.clear();
        let (fresh, first) = (&mut self.fresh, self.taken);
        let words = self.task.space.words();
        let batch = Batch {
            states: States::new(words, &self.out.states()[first * words..]),
            parents: self.parent_words.get(first..).unwrap_or_default(),
            payloads: &self.payloads[first * self.payload_words..],
        };
        let inserted = sink.take(batch, |n| fresh.push(first + n));
        let mut looked = 0;
        while let Some((place, check)) = self.worker.check_each(&self.out, &self.fresh[looked..]) {
            let state = self.out.state(self.fresh[looked + place]);
            looked += place + 1;
            let (space, question) = (self.task.space, self.task.question);
            if let Some(finding) = Finding::from_check(check, state, space.properties(), question) {
                Finding::offer(&mut self.finding, finding);
            }
        }
        if inserted.is_err() {
            let told = self.fresh.last().map_or(first, |&last| last + 1);
            self.taken = sink.taken().map_or(told, |taken| first + taken);
        }
        inserted?;
        self.settle();
        Ok(())
    }

    /// A number that grows as it gets on: transitions, and what is taken of a batch that waits.
    pub(crate) fn reached(&self) -> u64 {
        self.transitions + self.taken as u64
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
        self.clear();
    }

    fn clear(&mut self) {
        self.out.clear();
        self.parent_words.clear();
        self.payloads.clear();
        if let Some(costs) = &mut self.costs {
            costs.clear();
        }
    }

    /// Forgets what waited: it was counted when it was generated before.
    pub(crate) fn forget(&mut self) {
        (self.taken, self.initial, self.expanded) = (0, 0, 0);
        self.clear();
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
