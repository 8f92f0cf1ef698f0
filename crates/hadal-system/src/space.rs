//! What explorers see: a state space that yields packed states, and nothing about the model behind it.
//!
//! A model in one of hadal's languages becomes a state space in `hadal-exec`. A Rust user may implement
//! [`StateSpace`] for a type of their own and get every explorer.

use crate::chance::{ChoiceFault, Choices};
use crate::cost::CostRange;
use crate::payload::Payload;
use crate::source::Span;

/// Which transition was taken: a number the state space can render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// Index of a property of the state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PropertyId(pub u32);

/// What a property asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// Holds in every reachable state.
    Invariant,
    /// States without it do not exist: they are neither counted nor expanded.
    Assumption,
    /// Is met at least once.
    Cover,
    /// From every reachable state a state with it can be reached (AG EF).
    Liveness,
    /// Some reachable state has it: reaching one ends the search and is reported as found.
    Goal,
    /// Asks nothing: a predicate that formulas and questions about values refer to.
    Proposition,
    /// A state that has it and that nothing leads away from is no deadlock: the model may end there.
    Rest,
    /// No infinite run is accepted by the automaton of a claim: the negation of a formula, or a claim as it was written.
    Formula,
    /// No infinite run has it infinitely often.
    Acceptance,
}

impl PropertyKind {
    /// Whether it is a question about infinite runs: seeing every state does not answer it.
    pub fn is_about_runs(self) -> bool {
        matches!(self, PropertyKind::Liveness | PropertyKind::Formula | PropertyKind::Acceptance)
    }

    /// What its predicate is in a state that is looked for by itself; `None` where no state is.
    pub fn found_when(self) -> Option<bool> {
        match self {
            PropertyKind::Invariant => Some(false),
            PropertyKind::Goal => Some(true),
            PropertyKind::Assumption
            | PropertyKind::Cover
            | PropertyKind::Liveness
            | PropertyKind::Proposition
            | PropertyKind::Rest
            | PropertyKind::Formula
            | PropertyKind::Acceptance => None,
        }
    }
}

/// Which infinite runs of a space are accepted: those that take transitions of every set infinitely often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// The property that an accepted run breaks.
    pub property: PropertyId,
    /// How many sets, at most 64. With none, every infinite run inside a component is accepted.
    pub sets: u32,
    /// How many pairs of strong fairness; their sets come after the others, at most 64 in all. A run that meets states in
    /// which a pair is able ([`Worker::able`]) again and again takes transitions of its set again and again.
    pub pairs: u32,
    /// Whether the sets are sets of states: all transitions out of a state belong to the same ones.
    pub on_states: bool,
    /// Whether every cycle inside a component is accepted, whatever sets it meets.
    pub weak: bool,
    /// Whether a wrong run is one that reaches a state in which [`Worker::check`] finds the property broken.
    pub by_reaching: bool,
    /// Which of the accepted runs is shown.
    pub shown: Shown,
}

/// Which of the runs that break a property is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// One that is found soon.
    #[default]
    Some,
    /// A shortest one among those whose loop begins in an accepting state.
    FromAccepting,
    /// A shortest one.
    Shortest,
}

impl Acceptance {
    /// The sets that every accepted cycle meets, as marks.
    pub fn always(&self) -> u64 {
        below(self.sets)
    }

    /// The sets of pairs, as marks.
    pub fn paired(&self) -> u64 {
        below(self.sets + self.pairs) & !below(self.sets)
    }
}

/// The first bits.
fn below(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A property as explorers know it. A parametrised property of a model appears once per instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyInfo {
    /// Its name, instance parameters included.
    pub name: String,
    /// What it asks.
    pub kind: PropertyKind,
    /// Where it stands in the model.
    pub span: Span,
}

/// The answer to looking at one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// No invariant is broken and no goal met.
    Fine,
    /// This invariant is broken, or this goal is met; the one with the least id where there are several.
    Hit(PropertyId),
    /// Evaluating this property met an error of the model.
    Fault(PropertyId),
}

/// A scalar of the packed state, for those who look into states: partitions, abstractions, charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateField {
    /// Its path name.
    pub name: String,
    /// Offset of its least significant bit.
    pub offset: u32,
    /// Bits it takes, at most 64; 0 where it has one value only.
    pub width: u32,
    /// Fields with the same number belong to one variable: an array or a record.
    pub group: u32,
    /// The process that owns it, if any.
    pub owner: Option<u32>,
}

/// An action as explorers know it: a name, and which labels are its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionInfo {
    /// Its name, the same for all instances.
    pub name: String,
    /// Its labels.
    pub labels: std::ops::Range<u32>,
}

/// An explorable set of states.
pub trait StateSpace: Sync {
    /// Words of a state; the same for all states, at least 1.
    fn words(&self) -> usize;

    /// Bits of a state that are ever used, counted from the least significant.
    fn bits(&self) -> u32 {
        self.words() as u32 * 64
    }

    /// The scalars of a state, where the space can name them. They do not overlap; bits outside them carry nothing.
    fn fields(&self) -> &[StateField] {
        &[]
    }

    /// How many ways to fire may write each of [`StateSpace::fields`], those inside a loop of a process counted more; where that
    /// is known. Finding out may take time.
    fn writers(&self) -> Option<Vec<u64>> {
        None
    }

    /// Identifies the space across runs: two spaces with the same value have the same states and transitions.
    fn fingerprint(&self) -> u64;

    /// The properties, by [`PropertyId`].
    fn properties(&self) -> &[PropertyInfo] {
        &[]
    }

    /// The actions, where the space has them: their labels ascend from 0 without gaps. Firings are counted for them.
    fn actions(&self) -> &[ActionInfo] {
        &[]
    }

    /// Something that computes successors; each thread takes its own.
    fn worker(&self) -> Box<dyn Worker + '_>;

    /// Whether these words can be a state: every scalar has one of its codes, and nothing lies beside them. Compiled code
    /// relies on it; it is asked of states that come from files of an earlier run.
    fn admits(&self, state: &[u64]) -> bool {
        let _ = state;
        true
    }

    /// Which infinite runs are accepted, where the space has such.
    fn acceptance(&self) -> Option<Acceptance> {
        None
    }

    /// What transitions cost at least and at most: paths are measured in [`Worker::costs`] where they are not measured in
    /// transitions.
    fn costs(&self) -> CostRange {
        CostRange::STEPS
    }

    /// What a search that merges payloads keeps beside every state.
    fn payload(&self) -> Payload {
        Payload::NONE
    }

    /// The largest cost of a transition, where every one can be taken back by one of the same cost. Searches then look for
    /// duplicates in few places, and may forget what lies behind them.
    fn undirected(&self) -> Option<u32> {
        None
    }

    /// Whether a transition, or looking at a property, may meet an error of the model. A search that looks for something
    /// else leaves no state out where this is so, because errors are always reported.
    fn may_fault(&self) -> bool {
        true
    }

    /// When one state makes another one needless, where the space knows more than equality.
    fn cover(&self) -> Option<&dyn Cover> {
        None
    }

    /// How a transition is written for people.
    fn render_label(&self, label: Label) -> String;

    /// How an initial state's label is written for people.
    fn render_start(&self, label: Label) -> String {
        self.render_label(label)
    }

    /// The state for people: names and values.
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)>;
}

/// A preorder among states with equal most significant words: whatever can be done from a state can be done from one
/// that covers it. Every state covers itself.
pub trait Cover: Sync {
    /// How many of the most significant words are the key: states of different keys never cover each other.
    fn key_words(&self) -> usize;

    /// Whether only equal states cover each other: they can then be looked up.
    fn only_equal(&self) -> bool {
        false
    }

    /// Something that compares states; each thread takes its own.
    fn matcher(&self) -> Box<dyn Matcher + '_>;
}

/// Compares one chosen state with others of its key.
pub trait Matcher: Send {
    /// Chooses the state that the following questions are about.
    fn choose(&mut self, state: &[u64]);

    /// Whether `big`, of the same key, covers the chosen state.
    fn is_covered_by(&mut self, big: &[u64]) -> bool;
}

/// Computes successors for one thread.
pub trait Worker: Send {
    /// Appends the initial states, in an order that is always the same.
    fn initial(&mut self, out: &mut Successors);

    /// Appends the successors of `state`, in an order that is always the same.
    fn successors(&mut self, state: &[u64], out: &mut Successors);

    /// Appends the successors of states that lie one after the other, and to `ends` how many there are in `out` behind each
    /// state. Those of one state come in an order that is always the same, but perhaps not that of [`Worker::successors`].
    /// Ends with the state that brings `out` to `enough` or meets an error of the model, so an error is the last one's.
    fn successors_of_each(
        &mut self,
        states: &[u64],
        enough: usize,
        out: &mut Successors,
        ends: &mut Vec<usize>,
    ) {
        successors_one_by_one(self, states, enough, (out, ends));
    }

    /// Appends the choices of `state` with weights and, where one is wanted, rewards. Where the space knows of none,
    /// every successor is a choice of its own.
    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        let from = out.branches.len();
        self.successors(state, &mut out.branches);
        if let Some(&label) = out.branches.faults().first() {
            return Err(ChoiceFault::Transition(label));
        }
        for n in from..out.branches.len() {
            out.weights.push(1);
            out.ends.push(n as u32 + 1);
            out.rewards.push(0);
        }
        Ok(())
    }

    /// Appends what each of these transitions out of `state` costs, [`crate::COST_ERROR`] where evaluating that meets an
    /// error of the model. Asked by those only who measure paths in costs.
    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        let _ = state;
        costs.extend(labels.iter().map(|_| 1));
    }

    /// Appends the payload of each state in `out` from number `first` on, as it is reached from `from`, a state and its
    /// payload; without one, they are the initial states. Successors that the payload tells to be old may be taken out of
    /// `out` before. Asked by those only who keep payloads ([`StateSpace::payload`]).
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        let _ = (from, out, first, payloads);
    }

    /// Whether something leads away from `state` that [`Worker::successors`] does not show: a transition into a state that
    /// an assumption forbids, or into another state that a reduction takes for the same; or whether the model may rest
    /// there ([`PropertyKind::Rest`]). Asked only where a deadlock is suspected.
    fn can_leave(&mut self, state: &[u64]) -> bool {
        let _ = state;
        false
    }

    /// Looks for broken invariants and met goals in one state. Called at least once for every distinct state that is
    /// reached; again where an explorer has forgotten that it did, so the answer depends on nothing but the state.
    fn check(&mut self, state: &[u64]) -> Check {
        let _ = state;
        Check::Fine
    }

    /// [Looks](Worker::check) at the states of these numbers until something is found: the place of its number, and what.
    fn check_each(&mut self, out: &Successors, numbers: &[usize]) -> Option<(usize, Check)> {
        check_one_by_one(self, out, numbers)
    }

    /// Whether `state` has a cover or liveness property. `None` where evaluating it met an error.
    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        let _ = (state, property);
        Some(false)
    }

    /// Sets `marks` to the acceptance sets of each transition in `out`, which are all those out of `state`.
    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        let _ = state;
        marks.clear();
        marks.resize(out.len(), 0);
    }

    /// The pairs of strong fairness that are able in `state`, whose transitions are all in `out`, as marks of their sets.
    fn able(&mut self, state: &[u64], out: &Successors) -> u64 {
        let _ = (state, out);
        0
    }

    /// The acceptance sets of a state, where they are sets of states.
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        let _ = state;
        0
    }

    /// A number that no transition back can change: cycles stay inside states with the same number. `None` where no accepted
    /// cycle passes the state.
    fn component(&mut self, state: &[u64]) -> Option<u32> {
        let _ = state;
        Some(0)
    }

    /// How often each property was covered by statements since this worker was made, by [`PropertyId`].
    fn cover_counts(&self) -> &[u64] {
        &[]
    }
}

/// What [`Worker::successors_of_each`] does where nothing is faster.
pub fn successors_one_by_one(
    worker: &mut (impl Worker + ?Sized),
    states: &[u64],
    enough: usize,
    (out, ends): (&mut Successors, &mut Vec<usize>),
) {
    let faults = out.faults().len();
    for state in states.chunks_exact(out.words()) {
        worker.successors(state, out);
        ends.push(out.len());
        if out.len() >= enough || out.faults().len() > faults {
            break;
        }
    }
}

/// What [`Worker::check_each`] does where nothing is faster.
pub fn check_one_by_one(
    worker: &mut (impl Worker + ?Sized),
    out: &Successors,
    numbers: &[usize],
) -> Option<(usize, Check)> {
    let looks = numbers.iter().map(|&number| worker.check(out.state(number))).enumerate();
    looks.into_iter().find(|(_, check)| *check != Check::Fine)
}

/// Transitions out of one or more states, laid out flat so that nothing is allocated per state.
#[derive(Debug)]
pub struct Successors {
    words: usize,
    states: Vec<u64>,
    labels: Vec<Label>,
    faults: Vec<Label>,
}

impl Successors {
    /// An empty list for states of this many words.
    pub fn new(words: usize) -> Self {
        assert!(words > 0, "a state has at least one word");
        Successors { words, states: Vec::new(), labels: Vec::new(), faults: Vec::new() }
    }

    /// Forgets everything, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.states.clear();
        self.labels.clear();
        self.faults.clear();
    }

    /// Words of a state.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of successor states.
    #[inline]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no successor state.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Adds a transition to `state`.
    #[inline]
    pub fn push(&mut self, label: Label, state: &[u64]) {
        assert_eq!(state.len(), self.words, "every state has the same width");
        self.states.extend_from_slice(state);
        self.labels.push(label);
    }

    /// Notes a transition that met an error of the model instead of reaching a state.
    pub fn push_fault(&mut self, label: Label) {
        self.faults.push(label);
    }

    /// The n-th successor.
    #[inline]
    pub fn state(&self, n: usize) -> &[u64] {
        &self.states[n * self.words..(n + 1) * self.words]
    }

    /// All successor states, one after the other.
    #[inline]
    pub fn states(&self) -> &[u64] {
        &self.states
    }

    /// The label of each successor.
    #[inline]
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Transitions that met an error.
    #[inline]
    pub fn faults(&self) -> &[Label] {
        &self.faults
    }

    /// Iterates over labels and states.
    pub fn iter(&self) -> impl Iterator<Item = (Label, &[u64])> {
        self.labels.iter().copied().zip(self.states.chunks_exact(self.words))
    }

    /// Gives a generator room for `states` further successors in raw memory: the first free word of the states and
    /// the first free label. It then calls [`Successors::commit`].
    #[inline]
    pub fn spare(&mut self, states: usize) -> (*mut u64, *mut Label) {
        self.states.reserve(states * self.words);
        self.labels.reserve(states);
        (
            self.states.spare_capacity_mut().as_mut_ptr().cast(),
            self.labels.spare_capacity_mut().as_mut_ptr().cast(),
        )
    }

    /// Takes over `states` successors that were written to the memory given by [`Successors::spare`].
    ///
    /// # Safety
    /// At most as many as `spare` was last asked for, each state and label fully written, nothing pushed between.
    #[inline]
    pub unsafe fn commit(&mut self, states: usize) {
        // SAFETY: the caller wrote that many states and labels into the capacity that `spare` reserved.
        unsafe {
            self.states.set_len(self.states.len() + states * self.words);
            self.labels.set_len(self.labels.len() + states);
        }
    }

    /// Keeps the successors from number `from` on for which `keep` says so; it may rewrite the state.
    pub fn retain_from(&mut self, from: usize, mut keep: impl FnMut(Label, &mut [u64]) -> bool) {
        let mut kept = from;
        for n in from..self.labels.len() {
            let (label, at) = (self.labels[n], n * self.words);
            if keep(label, &mut self.states[at..at + self.words]) {
                if kept != n {
                    self.states.copy_within(at..at + self.words, kept * self.words);
                    self.labels[kept] = label;
                }
                kept += 1;
            }
        }
        self.labels.truncate(kept);
        self.states.truncate(kept * self.words);
    }
}
