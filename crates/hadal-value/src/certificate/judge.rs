//! Whether a claim follows from those of its successors, in exact arithmetic. It solves nothing and shares nothing with what makes
//! certificates but their text.
//!
//! An upper bound that no choice (of the least value: that some choice does not) exceed is one, since values are least
//! solutions. A lower bound needs progress: choices that attain it lead to states of lower rank, so the target is reached with
//! some probability from wherever something is claimed. Of rewards the same holds with upper and lower changed.

use super::Claim;
use super::check::{Judge, Lookup};
use crate::follow::{holds, state_text};
use dashu_int::IBig;
use dashu_ratio::RBig;
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path, Sense, Summary};
use hadal_system::rows::Rational;
use hadal_system::{Choices, StateSpace, Successors, System, Worker};

/// What is wrong with a certificate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Flaw {
    /// A state can be reached that nothing is claimed of.
    #[error("nothing is claimed of a state that can be reached: {0}")]
    Missing(String),
    /// A claim does not follow.
    #[error("{what} does not hold in the state {state}")]
    Claim {
        /// Which part of it.
        what: &'static str,
        /// Where.
        state: String,
    },
    /// The bounds of the whole are not those of the initial states.
    #[error("the initial states are claimed to lie between {0:?} and {1:?}")]
    Whole(f64, f64),
    /// The model has an error.
    #[error("the model has an error in the state {0}")]
    Model(String),
    /// Certificates are of other questions.
    #[error(
        "certificates are of probabilities and rewards before a target or with a bound on steps, of the initial states, without questions inside"
    )]
    Question,
}

/// What was asked, in parts.
struct Question<'a> {
    sense: Sense,
    reward: Option<usize>,
    through: &'a Formula,
    target: &'a Formula,
    /// Whether the value is 1 less what is claimed.
    negated: bool,
}

impl<'a> Question<'a> {
    fn of(objective: &'a Objective) -> Option<Self> {
        let Asked::Value(measure, sense) = &objective.asked else { return None };
        let question = |sense: Sense, path: &'a Path, negated: bool| match path {
            Path::Until(through, target, Limit::None) => {
                Some(Question { sense, reward: None, through, target, negated })
            }
            _ => None,
        };
        if !matches!(objective.states, Formula::Initial) {
            return None;
        }
        match measure {
            Measure::Probability(Path::Not(path)) => question(sense.opposite(), path, true),
            Measure::Probability(path) => question(*sense, path, false),
            Measure::Earned(reward, Horizon::Reach(target)) => Some(Question {
                sense: *sense,
                reward: Some(*reward),
                through: &Formula::Constant(true),
                target,
                negated: false,
            }),
            Measure::Earned(..) | Measure::Average(_) => None,
        }
    }
}

/// Judges claims about questions without a bound on steps.
pub(super) struct Unbounded<'a> {
    space: &'a dyn StateSpace,
    bases: Vec<u32>,
    question: Question<'a>,
    summary: Summary,
    worker: Box<dyn Worker + 'a>,
    choices: Choices,
}

impl<'a> Unbounded<'a> {
    pub fn new(space: &'a dyn StateSpace, system: &System, objective: &'a Objective) -> Option<Self> {
        let question = Question::of(objective)?;
        let choices = Choices::new(space.words(), question.reward);
        let (bases, worker) = (system.property_bases(), space.worker());
        Some(Unbounded { space, bases, question, summary: objective.summary, worker, choices })
    }
}

/// What is claimed of where a branch leads.
#[derive(Clone)]
enum Place {
    Target,
    Outside,
    Claimed(Claim),
}

/// The sums of one choice.
struct Sums {
    lower: Option<RBig>,
    upper: Option<RBig>,
    /// How likely the target is at most, where rewards are infinite.
    escape: RBig,
    /// Whether some branch leads to a target or a lower rank.
    nearer: bool,
}

impl Judge for Unbounded<'_> {
    fn left(&self, _: &Claim) -> u64 {
        0
    }

    fn show(&self, state: &[u64]) -> String {
        state_text(self.space, state)
    }

    /// Whether what is claimed of a state follows from its choices.
    fn claim(&mut self, claim: &Claim, known: &mut Lookup) -> Result<(), Flaw> {
        let state = &claim.state;
        if self.settled(state)?.is_some() {
            return Ok(());
        }
        let mut choices = std::mem::replace(&mut self.choices, Choices::new(self.space.words(), None));
        choices.clear();
        let told = self.worker.choices(state, &mut choices);
        told.map_err(|_| Flaw::Model(self.show(state)))?;
        let mut sums = Vec::new();
        for n in 0..choices.len() {
            let mut branches = Vec::new();
            for b in choices.range(n) {
                let weight = choices.numbers[choices.weights[b] as usize];
                branches.push((self.place(choices.branches.state(b), known)?, weight));
            }
            if !known.gathers() {
                sums.push(self.sums(claim, choices.numbers[choices.rewards[n] as usize], &branches));
            }
        }
        if choices.is_empty() {
            // A state without a choice rests.
            let loops = [(Place::Claimed(claim.clone()), Rational::from_integer(1))];
            sums.push(self.sums(claim, choices.numbers[choices.resting as usize], &loops));
        }
        self.choices = choices;
        if known.gathers() {
            return Ok(());
        }
        let wrong = |what| Flaw::Claim { what, state: self.show(state) };
        if !self.upper(claim, &sums) {
            return Err(wrong("the upper bound"));
        }
        if !self.lower(claim, &sums) {
            return Err(wrong("the lower bound"));
        }
        Ok(())
    }

    /// Whether the claims of the initial states make the bounds of the whole.
    fn whole(&mut self, value: (f64, f64), known: &mut Lookup) -> Result<(), Flaw> {
        let mut starts = Successors::new(self.space.words());
        self.worker.initial(&mut starts);
        let mut bounds = Vec::new();
        for (_, state) in starts.iter() {
            let (low, high) = match self.place(state, known)? {
                Place::Target if self.question.reward.is_none() => (1.0, 1.0),
                Place::Target | Place::Outside => (0.0, 0.0),
                Place::Claimed(claim) => (claim.lower, claim.upper),
            };
            bounds.push(match self.question.negated {
                // Outward: 1 less a number may be no number of this kind.
                true => ((1.0 - high).next_down(), (1.0 - low).next_up()),
                false => (low, high),
            });
        }
        if known.gathers() {
            return Ok(());
        }
        let all = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> { bounds.iter().map(of).collect() };
        let (lows, highs) = (all(|b| b.0), all(|b| b.1));
        let found = match self.summary {
            Summary::Least => (
                lows.into_iter().fold(f64::INFINITY, f64::min),
                highs.into_iter().fold(f64::INFINITY, f64::min),
            ),
            Summary::Greatest => {
                (lows.into_iter().fold(0.0, f64::max), highs.into_iter().fold(0.0, f64::max))
            }
            _ if bounds.len() == 1 => bounds[0],
            _ => return Err(Flaw::Question),
        };
        match value.0 <= found.0 && found.1 <= value.1 {
            true => Ok(()),
            false => Err(Flaw::Whole(found.0, found.1)),
        }
    }
}

impl Unbounded<'_> {
    fn holds(&mut self, formula: &Formula, state: &[u64]) -> Result<bool, Flaw> {
        let told = holds(formula, &self.bases, &mut *self.worker, state);
        told.ok_or_else(|| Flaw::Model(self.show(state)))
    }

    /// What is certain without a claim.
    fn settled(&mut self, state: &[u64]) -> Result<Option<Place>, Flaw> {
        let (through, target) = (self.question.through, self.question.target);
        Ok(match self.holds(target, state)? {
            true => Some(Place::Target),
            false if !self.holds(through, state)? => Some(Place::Outside),
            false => None,
        })
    }

    fn place(&mut self, state: &[u64], known: &mut Lookup) -> Result<Place, Flaw> {
        match self.settled(state)? {
            Some(settled) => Ok(settled),
            None => known.find(state, 0).map(Place::Claimed).ok_or_else(|| Flaw::Missing(self.show(state))),
        }
    }

    fn sums(&self, claim: &Claim, reward: Rational, branches: &[(Place, Rational)]) -> Sums {
        let probability = self.question.reward.is_none();
        let earned = if probability { RBig::ZERO } else { fraction(&reward) };
        let mut sums =
            Sums { lower: Some(earned.clone()), upper: Some(earned), escape: RBig::ZERO, nearer: false };
        for (place, weight) in branches {
            let weight = fraction(weight);
            let (lower, upper, escape) = match place {
                Place::Target => {
                    sums.nearer = true;
                    let one = if probability { RBig::ONE } else { RBig::ZERO };
                    (Some(one.clone()), Some(one), RBig::ONE)
                }
                Place::Outside => (Some(RBig::ZERO), Some(RBig::ZERO), RBig::ZERO),
                Place::Claimed(to) => {
                    let counts = !probability || to.lower > 0.0;
                    sums.nearer |= to.rank < claim.rank && counts && to.escape.is_none();
                    let escape = to.escape.and_then(|e| RBig::try_from(e).ok()).unwrap_or(RBig::ONE);
                    (RBig::try_from(to.lower).ok(), RBig::try_from(to.upper).ok(), escape)
                }
            };
            // An infinite part makes the sum infinite.
            sums.lower = sums.lower.zip(lower).map(|(sum, value)| sum + &weight * value);
            sums.upper = sums.upper.zip(upper).map(|(sum, value)| sum + &weight * value);
            sums.escape += weight * escape;
        }
        sums
    }

    fn upper(&self, claim: &Claim, sums: &[Sums]) -> bool {
        let probability = self.question.reward.is_none();
        if claim.upper.is_nan() || claim.upper < 0.0 {
            return false;
        }
        if claim.upper == f64::INFINITY || probability && claim.upper >= 1.0 {
            return true;
        }
        let Ok(bound) = RBig::try_from(claim.upper) else { return false };
        let fits = |s: &Sums| s.upper.as_ref().is_some_and(|sum| *sum <= bound);
        match (self.question.sense, probability) {
            (Sense::Greatest, true) => sums.iter().all(fits),
            (Sense::Greatest, false) => sums.iter().all(|s| fits(s) && s.nearer),
            (Sense::Least, true) => sums.iter().any(fits),
            (Sense::Least, false) => sums.iter().any(|s| fits(s) && s.nearer),
        }
    }

    fn lower(&self, claim: &Claim, sums: &[Sums]) -> bool {
        let probability = self.question.reward.is_none();
        if claim.lower <= 0.0 {
            return true;
        }
        if let Some(escape) = claim.escape {
            // Infinite: the target may never be reached, whatever is chosen, or by some choices where they are to earn much.
            let Ok(bound) = RBig::try_from(escape) else { return false };
            let fits = |s: &Sums| s.escape <= bound;
            return !probability
                && bound < RBig::ONE
                && match self.question.sense {
                    Sense::Least => sums.iter().all(fits),
                    Sense::Greatest => sums.iter().any(fits),
                };
        }
        let Ok(bound) = RBig::try_from(claim.lower) else { return false };
        let fits = |s: &Sums| s.lower.as_ref().is_none_or(|sum| *sum >= bound);
        match (self.question.sense, probability) {
            (Sense::Greatest, true) => sums.iter().any(|s| fits(s) && s.nearer),
            (Sense::Least, true) => sums.iter().all(|s| fits(s) && s.nearer),
            (Sense::Least, false) => sums.iter().all(fits),
            (Sense::Greatest, false) => sums.iter().any(fits) && sums.iter().all(|s| s.nearer),
        }
    }
}

fn fraction(value: &Rational) -> RBig {
    RBig::from_parts_signed(IBig::from(*value.numer()), IBig::from(*value.denom()))
}
