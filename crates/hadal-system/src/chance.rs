//! Decision processes: outcomes of a choice with exact weights, rewards, and what is asked about values.
//!
//! An action whose *last parameter* numbers the outcomes of one choice carries [`Outcomes`]: instances that differ only in
//! that parameter are the outcomes of one nondeterministic choice, and its body switches on it. So everything that runs a
//! system runs decision processes unchanged; [`crate::Worker::choices`] groups successors into choices.

use crate::expr::Expr;
use crate::rows::Rational;
use crate::source::Span;
use crate::space::{Label, Successors};
use crate::system::ActionId;

/// How the choices of a state are resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Chance {
    /// By whoever looks for the least or greatest value: a decision process.
    #[default]
    Chosen,
    /// With the same probability each: a Markov chain.
    Uniform,
    /// Weights are rates, and all choices race: a chain in continuous time.
    Racing,
}

/// An exact number that a state gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// The same in every state.
    Constant(Rational),
    /// The quotient of two expressions over the state before.
    Ratio {
        /// Above.
        numerator: Expr,
        /// Below; 0 is an error of the model.
        denominator: Expr,
    },
}

/// The outcomes of one choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    /// The weight of each value of the action's last parameter, in order.
    pub weights: Vec<Amount>,
}

/// A named reward (or cost).
#[derive(Clone, Debug, Default)]
pub struct Reward {
    /// Its name; empty where it has none.
    pub name: String,
    /// What is earned; items that apply together add up.
    pub items: Vec<RewardItem>,
}

/// One item of a reward.
#[derive(Clone, Debug)]
pub struct RewardItem {
    /// Earned by choices of these actions; `None`: by every choice of the state.
    pub actions: Option<Vec<ActionId>>,
    /// When: an index into [`crate::System::properties`], of kind [`crate::PropertyKind::Proposition`].
    pub when: usize,
    /// How much.
    pub amount: Amount,
    /// Where it stands.
    pub span: Span,
}

/// Why the choices of a state cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceFault {
    /// The transition with this label meets an error of the model.
    Transition(Label),
    /// Its weight or reward meets an error: a division by zero, a number that does not fit.
    Amount(Label),
    /// The weights of the choice that begins with this label do not add up to 1.
    Sum(Label),
    /// A proposition that a reward asks meets an error.
    Proposition(usize),
}

/// The choices of one state. One worker fills one list: numbers are the worker's.
#[derive(Debug)]
pub struct Choices {
    /// Every branch, choice by choice.
    pub branches: Successors,
    /// The weight of each branch, an index into `numbers`.
    pub weights: Vec<u32>,
    /// Where each choice ends among the branches.
    pub ends: Vec<u32>,
    /// The reward of each choice, an index into `numbers`.
    pub rewards: Vec<u32>,
    /// Numbers met so far; number 0 is 0, number 1 is 1. Kept by [`Choices::clear`].
    pub numbers: Vec<Rational>,
    /// What a state without choices earns by itself, an index into `numbers`.
    pub resting: u32,
    /// Which reward is wanted, an index into [`crate::System::rewards`].
    pub reward: Option<usize>,
}

impl Choices {
    /// An empty list for states of this many words, with the reward that is wanted.
    pub fn new(words: usize, reward: Option<usize>) -> Self {
        Choices {
            branches: Successors::new(words),
            weights: Vec::new(),
            ends: Vec::new(),
            rewards: Vec::new(),
            numbers: vec![Rational::from_integer(0), Rational::from_integer(1)],
            resting: 0,
            reward,
        }
    }

    /// Forgets the choices, keeps numbers and memory.
    pub fn clear(&mut self) {
        self.branches.clear();
        self.weights.clear();
        self.ends.clear();
        self.rewards.clear();
        self.resting = 0;
    }

    /// How many choices.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The branches of the n-th choice.
    pub fn range(&self, n: usize) -> std::ops::Range<usize> {
        let first = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        first..self.ends[n] as usize
    }
}

/// Least or greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sense {
    /// The choices make the value as small as they can.
    Least,
    /// The choices make the value as large as they can.
    Greatest,
}

impl Sense {
    /// The other one.
    pub fn opposite(self) -> Self {
        match self {
            Sense::Least => Sense::Greatest,
            Sense::Greatest => Sense::Least,
        }
    }
}

/// How a value compares with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Relation {
    /// The choices that make it hardest to satisfy.
    pub fn hardest(self) -> Sense {
        match self {
            Relation::Below | Relation::AtMost => Sense::Greatest,
            Relation::Above | Relation::AtLeast => Sense::Least,
        }
    }
}

/// A predicate on states, some of whose parts ask for values.
#[derive(Clone, Debug)]
pub enum Formula {
    /// Always or never.
    Constant(bool),
    /// A predicate of the system, an index into [`crate::System::properties`].
    Proposition(usize),
    /// The initial states.
    Initial,
    /// The states without a choice of their own.
    Deadlock,
    /// Not.
    Not(Box<Formula>),
    /// Both.
    And(Box<Formula>, Box<Formula>),
    /// One of them.
    Or(Box<Formula>, Box<Formula>),
    /// The value compares so with the bound, whatever the choices.
    Compares {
        /// Of what.
        value: Box<Measure>,
        /// How.
        relation: Relation,
        /// With what.
        bound: Rational,
    },
}

/// A value that paths have on average.
#[derive(Clone, Debug)]
pub enum Measure {
    /// The probability of the paths of this kind.
    Probability(Path),
    /// What is earned on average: the reward, an index into [`crate::System::rewards`], and until when.
    Earned(usize, Horizon),
    /// What a step, or a unit of time, has on average in the long run.
    Average(Averaged),
}

/// Of what a long run has an average.
#[derive(Clone, Debug)]
pub enum Averaged {
    /// The share of it that is spent in such states.
    Share(Formula),
    /// What is earned, an index into [`crate::System::rewards`].
    Earned(usize),
}

/// A set of paths.
#[derive(Clone, Debug)]
pub enum Path {
    /// The next state is such.
    Next(Formula),
    /// States of the first kind up to one of the second kind, which comes within the limit.
    Until(Formula, Formula, Limit),
    /// Those that satisfy a formula of temporal logic.
    Ltl {
        /// The formula, over at most 64 atoms.
        formula: hadal_ltl::Ltl,
        /// What its atoms ask of states.
        atoms: Vec<Formula>,
    },
    /// The other paths.
    Not(Box<Path>),
}

/// Within what an until has to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Whenever.
    None,
    /// Between these numbers of steps, both included.
    Steps(u64, Option<u64>),
    /// While at most so much of a reward, an index into [`crate::System::rewards`], is earned.
    Reward(usize, u64),
    /// Between these moments of continuous time.
    Time(Rational, Option<Rational>),
}

/// Until when a reward is earned.
#[derive(Clone, Debug)]
pub enum Horizon {
    /// Until such a state is reached; a path that reaches none earns without end.
    Reach(Formula),
    /// For this many steps.
    Steps(u64),
    /// Only what the state after this many steps earns by itself.
    Instant(u64),
    /// Up to this moment of continuous time.
    Time(Rational),
    /// Only what the state at this moment of continuous time earns by itself.
    Moment(Rational),
    /// Without end.
    Total,
}

/// How the values of several states become one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The least.
    Least,
    /// The greatest.
    Greatest,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// How many states satisfy it.
    Count,
    /// Whether all states satisfy it.
    All,
    /// Whether some state satisfies it.
    Some,
    /// Of the only such state.
    Only,
}

/// A question about values.
#[derive(Clone, Debug)]
pub struct Objective {
    /// Its name.
    pub name: String,
    /// As it was written.
    pub text: String,
    /// What is asked in each state.
    pub asked: Asked,
    /// In which states.
    pub states: Formula,
    /// How the answers of several states become one.
    pub summary: Summary,
}

/// What is asked in a state.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A value, under the best or worst choices.
    Value(Measure, Sense),
    /// Whether a formula holds.
    Truth(Formula),
}
