//! A space beside which something is followed: the automaton of a formula of temporal logic, or what may still be earned. It is a
//! space like any other, so whatever explores and solves on disk does so here, and goes on after a kill.
//!
//! It follows from the initial states on; or from every state, where each state first waits, moving as the space does, and may
//! begin at any moment. What waits only makes the product known: values are those of the states that begin.

use crate::SolveError;
use crate::disk::{Letters, Lookup};
use crate::follow::holds;
use crate::phase::{Follower, Phase};
use hadal_ltl::Ltl;
use hadal_ltl::translate::constant;
use hadal_system::chance::{Formula, Limit, Path};
use hadal_system::rows::Rational;
use hadal_system::{ChoiceFault, Choices, Label, PropertyId, StateSpace, Successors, Worker};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

/// Of a product with an automaton: a breakpoint is passed here. Of one with a budget: a state that may be passed.
const FIRST: PropertyId = PropertyId(0);
/// Of a product with a budget: a target.
const SECOND: PropertyId = PropertyId(1);
/// Of a product with an automaton that begins in every state: what does not wait.
const BEGUN: PropertyId = PropertyId(2);
/// Of a product that begins in every state: nothing has happened yet.
const BEGINS: PropertyId = PropertyId(3);

/// Words behind a state that say how the automaton stands: runs, those that have passed, the component.
const PHASE: usize = 3;
/// The budget of the one state behind all that was spent.
const SPENT: u64 = u64::MAX;
/// What stands behind a state that waits.
const WAITING_RUNS: [u64; PHASE] = [0, 0, 1];
const WAITING_BUDGET: [u64; 1] = [u64::MAX - 1];

/// What is followed.
pub(crate) enum Beside<'o> {
    /// A formula over atoms.
    Runs { formula: &'o Ltl, atoms: &'o [Formula] },
    /// So much of a reward, while states are passed on the way to a target.
    Budget { reward: usize, most: u64, through: &'o Formula, target: &'o Formula },
}

impl<'o> Beside<'o> {
    /// What a path needs beside its states; of a formula, to make it likely.
    pub fn of(path: &'o Path) -> Option<Self> {
        match path {
            Path::Ltl { formula, .. } if constant(formula).is_some() => None,
            Path::Ltl { formula, atoms } => Some(Beside::Runs { formula, atoms }),
            Path::Until(through, target, Limit::Reward(reward, most)) => {
                Some(Beside::Budget { reward: *reward, most: *most, through, target })
            }
            Path::Until(..) | Path::Next(_) | Path::Not(_) => None,
        }
    }

    /// The formulas about states that it looks at; a letter has a bit for each.
    pub fn atoms(&self) -> Vec<&'o Formula> {
        match self {
            Beside::Runs { atoms, .. } => atoms.iter().collect(),
            Beside::Budget { through, target, .. } => vec![through, target],
        }
    }
}

/// The product.
pub(crate) struct Product<'s> {
    space: &'s dyn StateSpace,
    bases: Vec<u32>,
    atoms: Vec<&'s Formula>,
    beside: Beside<'s>,
    /// What holds in every state, where that was found out before: then every state begins.
    letters: Option<&'s Letters>,
    /// Why some state has no choices, where that is so.
    refused: Mutex<Option<SolveError>>,
}

impl<'s> Product<'s> {
    /// Of a space whose properties begin at `bases`. Formulas about states may ask nothing about values.
    pub fn new(space: &'s dyn StateSpace, bases: Vec<u32>, beside: Beside<'s>) -> Result<Self, SolveError> {
        if let Beside::Runs { formula, .. } = &beside {
            Follower::new(formula)?;
        }
        let atoms = beside.atoms();
        Ok(Product { space, bases, atoms, beside, letters: None, refused: Mutex::new(None) })
    }

    /// One that begins in every state of a space. `letters` say which of the formulas hold, whatever these ask.
    pub fn everywhere(
        space: &'s dyn StateSpace,
        beside: Beside<'s>,
        letters: &'s Letters,
    ) -> Result<Self, SolveError> {
        Ok(Product { letters: Some(letters), ..Product::new(space, Vec::new(), beside)? })
    }

    /// Why exploring it failed, where it was not the model.
    pub fn refusal(&self) -> Option<SolveError> {
        self.refused.lock().ok().and_then(|mut refused| refused.take())
    }

    /// The properties that states are marked with.
    pub fn marks(&self) -> Vec<PropertyId> {
        match (&self.beside, self.letters) {
            (Beside::Runs { .. }, None) => vec![FIRST],
            (Beside::Runs { .. }, Some(_)) => vec![FIRST, BEGUN, BEGINS],
            (Beside::Budget { .. }, None) => vec![FIRST, SECOND],
            (Beside::Budget { .. }, Some(_)) => vec![FIRST, SECOND, BEGINS],
        }
    }

    /// What stands behind a state that waits.
    fn waiting(&self) -> &'static [u64] {
        match self.beside {
            Beside::Runs { .. } => &WAITING_RUNS,
            Beside::Budget { .. } => &WAITING_BUDGET,
        }
    }

    /// What stands behind every state after which nothing matters.
    fn lost(&self) -> &'static [u64] {
        match self.beside {
            Beside::Runs { .. } => &[0; PHASE],
            Beside::Budget { .. } => &[SPENT],
        }
    }

    /// Keeps the reason why some state has no choices.
    fn refuse(&self, reason: SolveError) -> ChoiceFault {
        if let Ok(mut refused) = self.refused.lock() {
            *refused = Some(reason);
        }
        ChoiceFault::Proposition(0)
    }

    fn beside_words(&self) -> usize {
        match self.beside {
            Beside::Runs { .. } => PHASE,
            Beside::Budget { .. } => 1,
        }
    }
}

impl StateSpace for Product<'_> {
    fn words(&self) -> usize {
        self.space.words() + self.beside_words()
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.space.fingerprint().hash(&mut hasher);
        match &self.beside {
            Beside::Runs { formula, atoms } => format!("{formula:?} {atoms:?}").hash(&mut hasher),
            Beside::Budget { reward, most, .. } => (reward, most).hash(&mut hasher),
        }
        self.letters.is_some().hash(&mut hasher);
        hasher.finish()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let (reward, follower) = match &self.beside {
            // What it is made from was translated before.
            Beside::Runs { formula, .. } => (None, Follower::new(formula).ok()),
            Beside::Budget { reward, .. } => (Some(*reward), None),
        };
        let words = self.space.words();
        let first = match (&self.beside, &follower) {
            (Beside::Budget { most, .. }, _) => vec![*most],
            (Beside::Runs { .. }, Some(follower)) => encode(follower.first()).to_vec(),
            (Beside::Runs { .. }, None) => self.lost().to_vec(),
        };
        Box::new(ProductWorker {
            product: self,
            first,
            lookup: self.letters.map(Letters::lookup),
            worker: self.space.worker(),
            asker: self.space.worker(),
            choices: Choices::new(words, reward),
            follower,
            renamed: vec![0, 1],
            next: Vec::new(),
        })
    }

    fn render_label(&self, label: Label) -> String {
        self.space.render_label(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let (state, beside) = state.split_at(self.space.words());
        let mut fields = self.space.render_state(state);
        fields.push(("beside".into(), format!("{beside:x?}")));
        fields
    }
}

fn encode(phase: Phase) -> [u64; PHASE] {
    match phase {
        Phase::Open(runs) => [runs, 0, 0],
        Phase::Bet { runs, passed, within } => [runs, passed, within],
        Phase::Lost => [0; PHASE],
    }
}

fn decode(words: &[u64]) -> Phase {
    match *words {
        [0, ..] => Phase::Lost,
        [runs, _, 0] => Phase::Open(runs),
        [runs, passed, within] => Phase::Bet { runs, passed, within },
        _ => Phase::Lost,
    }
}

/// Who wants to know what numbers are called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Whoever keeps the list of numbers.
    Kept,
    /// Nobody: only states are asked for.
    Nobodys,
}

struct ProductWorker<'p> {
    product: &'p Product<'p>,
    worker: Box<dyn Worker + 'p>,
    /// For questions about states, beside the choices that `worker` numbers.
    asker: Box<dyn Worker + 'p>,
    choices: Choices,
    follower: Option<Follower>,
    /// What stands behind a state that begins.
    first: Vec<u64>,
    lookup: Option<Result<Lookup<'p>, SolveError>>,
    /// Numbers of weights here.
    renamed: Vec<u32>,
    next: Vec<Phase>,
}

impl ProductWorker<'_> {
    /// Which formulas about states hold, a bit for each.
    fn letter(&mut self, state: &[u64]) -> Result<u64, ChoiceFault> {
        let product = self.product;
        match &mut self.lookup {
            None => {
                let mut letter = 0;
                for (at, atom) in product.atoms.iter().enumerate() {
                    let holds = holds(atom, &product.bases, &mut *self.asker, state);
                    letter |= u64::from(holds.ok_or(ChoiceFault::Proposition(0))?) << at;
                }
                Ok(letter)
            }
            Some(Ok(lookup)) => lookup.letter(state).map_err(|error| product.refuse(error)),
            Some(Err(error)) => Err(product.refuse(error.clone())),
        }
    }

    /// What the automaton may become in a state, and whether a breakpoint is passed.
    fn follow(&mut self, state: &[u64], beside: &[u64]) -> Result<bool, ChoiceFault> {
        let letter = self.letter(state)?;
        let Some(follower) = &mut self.follower else { return Ok(false) };
        let passed = follower.moves(decode(beside), letter, &mut self.next);
        passed.map_err(|error| self.product.refuse(error))
    }

    /// The choices of the process alone.
    fn explore(&mut self, state: &[u64]) -> Result<(), ChoiceFault> {
        self.choices.clear();
        self.worker.choices(state, &mut self.choices)
    }

    /// Tells numbers that are new as they are called here.
    fn rename(&mut self, numbers: &mut Vec<Rational>) {
        for number in &self.choices.numbers[self.renamed.len()..] {
            self.renamed.push(numbers.len() as u32);
            numbers.push(*number);
        }
    }

    /// Adds choice `n` of the process, or its rest, with the same words behind every branch.
    fn push(&self, n: Option<usize>, state: &[u64], beside: &[u64], out: &mut Choices) {
        let lost = beside == self.product.lost();
        let nowhere = vec![0; state.len()];
        match n {
            // All branches lead to the one place: once is enough, with certainty.
            _ if lost => {
                out.branches.push(Label(u32::MAX), &[&nowhere[..], beside].concat());
                out.weights.push(1);
            }
            None => {
                out.branches.push(Label(u32::MAX), &[state, beside].concat());
                out.weights.push(1);
            }
            Some(n) => {
                for b in self.choices.range(n) {
                    let label = self.choices.branches.labels()[b];
                    out.branches.push(label, &[self.choices.branches.state(b), beside].concat());
                    let weight = self.renamed.get(self.choices.weights[b] as usize);
                    out.weights.push(weight.copied().unwrap_or(0));
                }
            }
        }
        out.ends.push(out.weights.len() as u32);
        out.rewards.push(0);
    }

    fn all(&mut self, whole: &[u64], names: Names, out: &mut Choices) -> Result<(), ChoiceFault> {
        let (state, beside) = whole.split_at(self.product.space.words());
        if beside == self.product.lost() {
            self.push(None, state, beside, out);
            return Ok(());
        }
        let waits = beside == self.product.waiting();
        if let (Beside::Runs { .. }, false) = (&self.product.beside, waits) {
            self.follow(state, beside)?;
        }
        self.explore(state)?;
        if names == Names::Kept {
            self.rename(&mut out.numbers);
        }
        match self.product.beside {
            _ if waits => {
                self.every(|_| Ok(beside), state, out)?;
                self.push(None, state, &self.first, out);
            }
            Beside::Runs { .. } => {
                let next = std::mem::take(&mut self.next);
                for &phase in &next {
                    self.every(|_| Ok(encode(phase)), state, out)?;
                }
                self.next = next;
            }
            Beside::Budget { .. } => {
                let left = beside[0];
                let after = |number: Rational| {
                    // A reward that is not whole is refused.
                    let spent =
                        Some(number).filter(Rational::is_integer).map(|n| u64::try_from(n.to_integer()));
                    let spent = spent.and_then(Result::ok).ok_or(ChoiceFault::Proposition(0))?;
                    Ok([left.checked_sub(spent).unwrap_or(SPENT)])
                };
                self.every(after, state, out).map_err(|_| self.product.refuse(SolveError::RewardBound))?;
            }
        }
        Ok(())
    }

    /// Adds every choice of the process; `beside` says what follows one that earns so much.
    fn every<B: AsRef<[u64]>>(
        &self,
        beside: impl Fn(Rational) -> Result<B, ChoiceFault>,
        state: &[u64],
        out: &mut Choices,
    ) -> Result<(), ChoiceFault> {
        let number = |at: u32| self.choices.numbers[at as usize];
        if self.choices.is_empty() {
            self.push(None, state, beside(number(self.choices.resting))?.as_ref(), out);
        }
        for n in 0..self.choices.len() {
            self.push(Some(n), state, beside(number(self.choices.rewards[n]))?.as_ref(), out);
        }
        Ok(())
    }
}

impl Worker for ProductWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let mut starts = Successors::new(self.product.space.words());
        self.worker.initial(&mut starts);
        let beside = if self.lookup.is_some() { self.product.waiting() } else { &self.first[..] };
        for (label, state) in starts.iter() {
            out.push(label, &[state, beside].concat());
        }
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let mut choices = Choices::new(self.product.words(), None);
        match self.all(state, Names::Nobodys, &mut choices) {
            Ok(()) => choices.branches.iter().for_each(|(label, state)| out.push(label, state)),
            Err(ChoiceFault::Transition(label)) => out.push_fault(label),
            Err(_) => out.push_fault(Label(u32::MAX)),
        }
    }

    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        self.all(state, Names::Kept, out)
    }

    fn satisfies(&mut self, whole: &[u64], property: PropertyId) -> Option<bool> {
        let (state, beside) = whole.split_at(self.product.space.words());
        let waits = beside == self.product.waiting();
        match (property, &self.product.beside) {
            (BEGINS, _) => Some(beside == self.first),
            (BEGUN, _) => Some(!waits),
            _ if waits || beside == self.product.lost() => Some(false),
            (_, Beside::Runs { .. }) => self.follow(state, beside).ok(),
            (_, Beside::Budget { .. }) => {
                self.letter(state).ok().map(|letter| letter >> u32::from(property == SECOND) & 1 != 0)
            }
        }
    }
}
