//! Certificates of questions with a bound on steps. What is claimed of a state depends on how many steps are left, which is the
//! rank of the claim; it follows from what is claimed of the successors with one step less, in exact arithmetic.

use super::Claim;
use super::check::{Judge, Lookup};
use super::judge::Flaw;
use crate::exact::fraction;
use crate::follow::{holds, state_text};
use dashu_ratio::RBig;
use hadal_system::chance::{Formula, Horizon, Limit, Measure, Path, Sense, Summary};
use hadal_system::{Choices, StateSpace, Successors, System, Worker};

/// A question with a bound on steps.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'a> {
    pub kind: Kind<'a>,
    /// How many steps are left in the beginning.
    pub total: u64,
    pub sense: Sense,
    /// Whether the value is 1 less what is claimed.
    pub negated: bool,
}

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// The probability of `through U target`, where the target counts once at most `within` steps are left.
    Until { through: &'a Formula, target: &'a Formula, within: u64 },
    /// What is earned in all steps.
    Earned(usize),
    /// What the state at the end earns.
    Instant(usize),
}

impl<'a> Steps<'a> {
    pub fn of(measure: &'a Measure, sense: Sense) -> Option<Self> {
        let plain = |kind, total| Some(Steps { kind, total, sense, negated: false });
        match measure {
            Measure::Probability(path) => Steps::of_path(path, sense),
            Measure::Earned(reward, Horizon::Steps(total)) => plain(Kind::Earned(*reward), *total),
            Measure::Earned(reward, Horizon::Instant(total)) => plain(Kind::Instant(*reward), *total),
            Measure::Earned(..) | Measure::Average(_) => None,
        }
    }

    fn of_path(path: &'a Path, sense: Sense) -> Option<Self> {
        let until = |through, target, low: u64, high: u64| {
            let kind = Kind::Until { through, target, within: high.checked_sub(low)? };
            Some(Steps { kind, total: high, sense, negated: false })
        };
        match path {
            Path::Not(path) => {
                let inner = Steps::of_path(path, sense.opposite())?;
                Some(Steps { negated: !inner.negated, ..inner })
            }
            Path::Next(target) => until(&Formula::Constant(true), target, 1, 1),
            Path::Until(through, target, Limit::Steps(low, Some(high))) => {
                until(through, target, *low, *high)
            }
            Path::Until(..) | Path::Ltl { .. } => None,
        }
    }

    /// The reward that matters.
    pub fn reward(&self) -> Option<usize> {
        match self.kind {
            Kind::Until { .. } => None,
            Kind::Earned(reward) | Kind::Instant(reward) => Some(reward),
        }
    }

    /// Whether the probability is certain with so many steps left, in a state that may be passed or is a target.
    pub fn settled(&self, left: u64, passes: bool, is_target: bool) -> Option<bool> {
        let Kind::Until { within, .. } = self.kind else { return None };
        match left <= within {
            true if is_target => Some(true),
            true if left == 0 || !passes => Some(false),
            false if !passes => Some(false),
            _ => None,
        }
    }
}

/// Judges claims about questions with a bound on steps.
pub(super) struct Bounded<'a> {
    space: &'a dyn StateSpace,
    bases: Vec<u32>,
    steps: Steps<'a>,
    summary: Summary,
    worker: Box<dyn Worker + 'a>,
    choices: Choices,
    /// For questions about states, and what they earn in the end.
    asker: Box<dyn Worker + 'a>,
    ends: Choices,
}

impl<'a> Bounded<'a> {
    pub fn new(space: &'a dyn StateSpace, system: &System, (steps, summary): (Steps<'a>, Summary)) -> Self {
        let choices = || Choices::new(space.words(), steps.reward());
        let (bases, worker) = (system.property_bases(), space.worker());
        let asker = space.worker();
        Bounded { space, bases, steps, summary, worker, choices: choices(), asker, ends: choices() }
    }

    /// What is known of a state with so many steps left without any claim.
    fn settled(&mut self, state: &[u64], left: u64) -> Result<Option<RBig>, Flaw> {
        match self.steps.kind {
            Kind::Until { through, target, .. } => {
                let mut asks = |formula| holds(formula, &self.bases, &mut *self.asker, state);
                let answers = asks(through).zip(asks(target));
                let (passes, is_target) =
                    answers.ok_or_else(|| Flaw::Model(state_text(self.space, state)))?;
                let certain = self.steps.settled(left, passes, is_target);
                Ok(certain.map(|certain| if certain { RBig::ONE } else { RBig::ZERO }))
            }
            Kind::Earned(_) => Ok((left == 0).then_some(RBig::ZERO)),
            Kind::Instant(_) if left > 0 => Ok(None),
            Kind::Instant(_) => {
                self.ends.clear();
                let told = self.asker.choices(state, &mut self.ends);
                told.map_err(|_| Flaw::Model(state_text(self.space, state)))?;
                let earned = self.ends.rewards.first().copied().unwrap_or(self.ends.resting);
                Ok(Some(fraction(&self.ends.numbers[earned as usize])))
            }
        }
    }

    /// The bounds of a state with so many steps left.
    fn bounds(&mut self, state: &[u64], left: u64, known: &mut Lookup) -> Result<(RBig, RBig), Flaw> {
        if let Some(value) = self.settled(state, left)? {
            return Ok((value.clone(), value));
        }
        let claim = known.find(state, left);
        let bounds = claim.and_then(|c| Some((RBig::try_from(c.lower).ok()?, RBig::try_from(c.upper).ok()?)));
        bounds.ok_or_else(|| Flaw::Missing(self.show(state)))
    }
}

impl Judge for Bounded<'_> {
    fn left(&self, claim: &Claim) -> u64 {
        claim.rank.into()
    }

    fn show(&self, state: &[u64]) -> String {
        state_text(self.space, state)
    }

    /// Whether what is claimed of a state follows from its choices.
    fn claim(&mut self, claim: &Claim, known: &mut Lookup) -> Result<(), Flaw> {
        let (state, left) = (&claim.state, u64::from(claim.rank));
        if self.settled(state, left)?.is_some() {
            return Ok(());
        }
        let mut choices = std::mem::replace(&mut self.choices, Choices::new(self.space.words(), None));
        choices.clear();
        self.worker.choices(state, &mut choices).map_err(|_| Flaw::Model(self.show(state)))?;
        let earns = matches!(self.steps.kind, Kind::Earned(_));
        let earned = |number: u32, choices: &Choices| match earns {
            true => fraction(&choices.numbers[number as usize]),
            false => RBig::ZERO,
        };
        let mut sums = Vec::new();
        for n in 0..choices.len() {
            let start = earned(choices.rewards[n], &choices);
            let (mut low, mut high) = (start.clone(), start);
            for b in choices.range(n) {
                let weight = fraction(&choices.numbers[choices.weights[b] as usize]);
                let (lower, upper) = self.bounds(choices.branches.state(b), left - 1, known)?;
                low += &weight * lower;
                high += weight * upper;
            }
            sums.push((low, high));
        }
        if sums.is_empty() {
            // A state without a choice rests.
            let start = earned(choices.resting, &choices);
            let (lower, upper) = self.bounds(state, left - 1, known)?;
            sums.push((&start + lower, start + upper));
        }
        self.choices = choices;
        if known.gathers() {
            return Ok(());
        }
        let wrong = |what| Flaw::Claim { what, state: self.show(state) };
        let (Ok(lower), Ok(upper)) = (RBig::try_from(claim.lower), RBig::try_from(claim.upper)) else {
            return Err(wrong("that bounds are numbers"));
        };
        let (fits_below, fits_above) = (|s: &(RBig, RBig)| s.0 >= lower, |s: &(RBig, RBig)| s.1 <= upper);
        let (below, above) = match self.steps.sense {
            Sense::Greatest => (sums.iter().any(fits_below), sums.iter().all(fits_above)),
            Sense::Least => (sums.iter().all(fits_below), sums.iter().any(fits_above)),
        };
        match (below, above) {
            (true, true) => Ok(()),
            (false, _) => Err(wrong("the lower bound")),
            (_, false) => Err(wrong("the upper bound")),
        }
    }

    /// Whether the claims of the initial states make the bounds of the whole.
    fn whole(&mut self, value: (f64, f64), known: &mut Lookup) -> Result<(), Flaw> {
        let mut starts = Successors::new(self.space.words());
        self.worker.initial(&mut starts);
        let mut found: Option<(RBig, RBig)> = None;
        for (_, state) in starts.iter() {
            let (low, high) = self.bounds(state, self.steps.total, known)?;
            let (low, high) = match self.steps.negated {
                true => (RBig::ONE - high, RBig::ONE - low),
                false => (low, high),
            };
            found = Some(match (found, self.summary) {
                (None, _) => (low, high),
                (Some(old), Summary::Least) => (old.0.min(low), old.1.min(high)),
                (Some(old), Summary::Greatest) => (old.0.max(low), old.1.max(high)),
                _ => return Err(Flaw::Question),
            });
        }
        if known.gathers() {
            return Ok(());
        }
        let (low, high) = found.ok_or(Flaw::Question)?;
        let shown = RBig::try_from(value.0).is_ok_and(|v| v <= low)
            && RBig::try_from(value.1).is_ok_and(|v| v >= high);
        match shown {
            true => Ok(()),
            false => Err(Flaw::Whole(low.to_f64().value(), high.to_f64().value())),
        }
    }
}
