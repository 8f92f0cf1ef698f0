//! What is asked of a graph on disk: formulas of states, questions inside questions, filters, policies and certificates.

use super::answer::Wanted;
use super::bounded::Sweeps;
use super::certify::Certified;
use super::journal::Journal;
use super::policy::{self, Induced};
use super::rows::{Rows, States};
use super::solve::{Everywhere, How, Question, Tier, solve, solve_everywhere};
use crate::answer::{Answer, Policy, compare, summarise};
use crate::bounded::Rule;
use crate::values::{Values, other_probability};
use crate::{Precision, SolveError};
use hadal_store::Disk;
use hadal_system::chance::{
    Asked, Formula, Horizon, Limit, Measure, Objective, Path, Relation, Sense, Summary,
};
use hadal_system::rows::Rational;
use hadal_system::{Choices, Label, StateSpace, System};

pub(super) const TIMED: &str = "time is counted in steps: questions of continuous time and of the long run need --tier auto and more --memory";

type Bounds = (f64, f64);

/// Answers questions about `rows`.
pub(super) struct Solver<'g, R> {
    pub rows: &'g R,
    pub space: &'g dyn StateSpace,
    pub initial: &'g [u64],
    pub marks: &'g [Vec<bool>],
    pub wanted: &'g Wanted,
    pub system: &'g System,
    pub precision: Precision,
    pub tier: Option<Tier>,
    /// Where questions inside the question keep their files.
    pub disk: Option<Disk>,
}

/// A measure, as it is solved.
pub(super) enum Part {
    /// By equations.
    Open(Sets),
    /// By so many sweeps, done.
    Swept(Vec<Bounds>, u64),
}

/// The sets of an unbounded question.
pub(super) struct Sets {
    pub through: Vec<bool>,
    pub target: Vec<bool>,
    pub rewards: bool,
}

impl Sets {
    pub fn question(&self) -> Question<'_> {
        match self.rewards {
            true => Question::EarnedBefore(&self.target),
            false => Question::Until(&self.through, &self.target),
        }
    }
}

/// The measure whose complement a measure is, and what is then looked for; the measure itself where it is none.
fn uncomplemented(measure: &Measure, sense: Sense) -> (Measure, Sense, bool) {
    match measure {
        Measure::Probability(Path::Not(path)) => {
            let (inner, sense, negated) =
                uncomplemented(&Measure::Probability((**path).clone()), sense.opposite());
            (inner, sense, !negated)
        }
        other => (other.clone(), sense, false),
    }
}

impl<R: Rows + States> Solver<'_, R> {
    pub fn answer(&self, objective: &Objective, journal: Option<&mut Journal>) -> Result<Answer, SolveError> {
        let of_all = !matches!(objective.states, Formula::Initial)
            || self.precision.policy
            || self.precision.certificate;
        match &objective.asked {
            Asked::Value(measure, sense) if of_all => {
                self.value_of_all(objective, (measure, *sense), journal)
            }
            Asked::Value(measure, sense) => {
                let (low, high, mut answer) = self.value(measure, *sense, self.precision, journal)?;
                answer.value = Some((low, high));
                Ok(answer)
            }
            Asked::Truth(Formula::Compares { value, relation, bound })
                if matches!(objective.states, Formula::Initial) =>
            {
                let mut answer = self.truth(value, (*relation, bound), journal)?;
                if self.precision.policy {
                    // Whoever wants the bound broken would do this: it shows that it is, or how near it comes.
                    let all = self.everywhere(value, relation.hardest(), self.precision, None)?;
                    answer.policy = Some(self.follow(&all)?);
                }
                Ok(answer)
            }
            Asked::Truth(formula) => {
                let (holds, chosen) = (self.formula(formula)?, self.formula(&objective.states)?);
                let count = holds.iter().zip(&chosen).filter(|(holds, chosen)| **holds && **chosen).count();
                let mut answer =
                    Answer { tier: self.tier.map_or("semi-external", Tier::name), ..Answer::default() };
                match objective.summary {
                    Summary::Some => answer.verdict = Some(count > 0),
                    Summary::Count => answer.count = Some(count as u64),
                    _ => answer.verdict = Some(count == chosen.iter().filter(|c| **c).count()),
                }
                Ok(answer)
            }
        }
    }

    /// The value of the initial states.
    fn value(
        &self,
        measure: &Measure,
        sense: Sense,
        precision: Precision,
        journal: Option<&mut Journal>,
    ) -> Result<(f64, f64, Answer), SolveError> {
        let (inner, inward, negated) = uncomplemented(measure, sense);
        let how = How { sense: inward, precision: precision.relative, tier: self.tier };
        let (bounds, sweeps, tier) = match self.part(&inner, inward, &journal)? {
            Part::Open(sets) => {
                let found = solve(self.rows, self.initial, sets.question(), how, journal)?;
                (found.bounds, found.sweeps, found.tier)
            }
            Part::Swept(values, sweeps) => {
                let bounds = self.initial.iter().map(|&s| values[s as usize]).collect();
                (bounds, sweeps, self.tier.unwrap_or(Tier::SemiExternal))
            }
        };
        let bounds: Vec<Bounds> =
            bounds.into_iter().map(|b| if negated { other_probability(b) } else { b }).collect();
        let pick = |of: fn(&Bounds) -> f64| match sense {
            Sense::Least => bounds.iter().map(of).fold(f64::INFINITY, f64::min),
            Sense::Greatest => bounds.iter().map(of).fold(0.0, f64::max),
        };
        Ok((pick(|b| b.0), pick(|b| b.1), Answer { sweeps, tier: tier.name(), ..Answer::default() }))
    }

    /// Whether the value of every initial state compares so with a bound.
    fn truth(
        &self,
        measure: &Measure,
        (relation, bound): (Relation, &Rational),
        mut journal: Option<&mut Journal>,
    ) -> Result<Answer, SolveError> {
        let mut precision = self.precision;
        for round in 0..3 {
            // What is committed is of the first round.
            let kept = if round == 0 { journal.take() } else { None };
            let mut passing = self.passing();
            let journal = if round == 0 { kept } else { passing.as_mut() };
            let (low, high, mut answer) = self.value(measure, relation.hardest(), precision, journal)?;
            if let Some(holds) = crate::asking::decides(relation, bound, (low, high)) {
                answer.verdict = Some(holds);
                return Ok(answer);
            }
            precision.relative /= 64.0;
        }
        Err(SolveError::Undecided)
    }

    /// A journal that nothing is committed to, where there is a disk.
    fn passing(&self) -> Option<Journal> {
        self.disk.as_ref().map(Journal::passing)
    }

    /// Values of the states of a filter, with what comes of them.
    fn value_of_all(
        &self,
        objective: &Objective,
        (measure, sense): (&Measure, Sense),
        journal: Option<&mut Journal>,
    ) -> Result<Answer, SolveError> {
        let chosen = self.formula(&objective.states)?;
        let states: Vec<usize> = (0..chosen.len()).filter(|&s| chosen[s]).collect();
        if states.is_empty() {
            return Err(SolveError::NoState);
        }
        let all = self.everywhere(measure, sense, self.precision, journal)?;
        let mut answer = Answer { sweeps: all.sweeps, tier: all.tier.name(), ..Answer::default() };
        summarise(&all.values(), &states, objective.summary, &mut answer)?;
        if self.precision.policy {
            answer.policy = Some(self.follow(&all)?);
        }
        if self.precision.certificate {
            if !matches!(objective.states, Formula::Initial) {
                return Err(SolveError::NoCertificate(
                    "it would be of the initial states; leave the filter out",
                ));
            }
            answer.certificate = Some(self.certify(&all, &objective.text)?);
        }
        Ok(answer)
    }

    fn certify(&self, all: &All, text: &str) -> Result<crate::certificate::Certificate, SolveError> {
        let Some((sets, found)) = &all.open else {
            return Err(SolveError::NoCertificate(
                "with a bound the value is what so many sweeps give: --tier auto certifies it step by step",
            ));
        };
        let endless = sets.rewards && found.bounds.iter().any(|b| b.0 == f64::INFINITY);
        let escape = match endless {
            true => {
                let question = Question::Until(&sets.through, &sets.target);
                let how = How {
                    sense: all.sense.opposite(),
                    precision: self.precision.relative,
                    tier: self.side_tier(),
                };
                let bounds = solve_everywhere(self.rows, question, how, self.passing().as_mut())?.bounds;
                bounds.into_iter().map(|b| b.1).collect()
            }
            false => Vec::new(),
        };
        let certified = Certified {
            rows: self.rows,
            initial: self.initial,
            sets,
            bounds: &found.bounds,
            sense: all.sense,
            negated: all.negated,
            escape: &escape,
        };
        certified.certify(text)
    }

    /// What comes of the policy of some values from the initial states.
    fn follow(&self, all: &All) -> Result<Policy, SolveError> {
        let Some((sets, found)) = &all.open else { return Err(SolveError::NoPolicy) };
        let choices = policy::of(self.rows, sets, all.sense, found)?;
        let chain = Induced { rows: self.rows, policy: &choices };
        let how = How { sense: all.sense, precision: self.precision.relative, tier: self.side_tier() };
        let mut values = solve(&chain, self.initial, sets.question(), how, self.passing().as_mut())?.bounds;
        if all.negated {
            values.iter_mut().for_each(|b| *b = other_probability(*b));
        }
        let reached = policy::reached(&chain, self.initial)?;
        let (mut worker, mut list) = (self.space.worker(), Choices::new(self.space.words(), None));
        let mut steps = Vec::new();
        self.rows.tell(|number, state| {
            if !reached[number as usize] {
                return;
            }
            list.clear();
            let told = worker.choices(state, &mut list);
            let choice = choices[number as usize];
            let label = match told.is_ok() && (choice as usize) < list.len() {
                true => list.branches.labels()[list.range(choice as usize).start],
                false => Label(u32::MAX),
            };
            steps.push((state.to_vec(), label, choice));
        })?;
        let low = values.iter().map(|b| b.0).fold(f64::INFINITY, f64::min);
        Ok(Policy { steps, value: (low, values.iter().map(|b| b.1).fold(0.0, f64::max)) })
    }

    /// Where questions inside the question are solved.
    fn side_tier(&self) -> Option<Tier> {
        match self.disk {
            Some(_) => Some(Tier::SemiExternal),
            None => Some(Tier::Ram),
        }
    }

    /// The values of all states.
    fn everywhere(
        &self,
        measure: &Measure,
        sense: Sense,
        precision: Precision,
        journal: Option<&mut Journal>,
    ) -> Result<All, SolveError> {
        let (inner, sense, negated) = uncomplemented(measure, sense);
        let how = How { sense, precision: precision.relative, tier: self.tier };
        Ok(match self.part(&inner, sense, &journal)? {
            Part::Swept(swept, sweeps) => {
                let tier = self.tier.unwrap_or(Tier::SemiExternal);
                All { open: None, swept, sense, negated, sweeps, tier }
            }
            Part::Open(sets) => {
                let mut passing = self.passing();
                let journal = journal.or(passing.as_mut());
                let found = solve_everywhere(self.rows, sets.question(), how, journal)?;
                let (sweeps, tier) = (found.sweeps, found.tier);
                All { open: Some((sets, found)), swept: Vec::new(), sense, negated, sweeps, tier }
            }
        })
    }

    fn part(
        &self,
        measure: &Measure,
        sense: Sense,
        journal: &Option<&mut Journal>,
    ) -> Result<Part, SolveError> {
        let states = self.rows.states() as usize;
        let swept = |(values, sweeps)| Ok(Part::Swept(values, sweeps));
        let refused = |reason| Err(SolveError::NotOnDisk(reason));
        let _memory = match (is_bounded(measure), journal) {
            (true, Some(journal)) => {
                let (states, bytes) = (self.rows.states(), self.rows.states() * 36);
                let reserved = journal.disk().governor.try_reserve(bytes, "values");
                Some(reserved.map_err(|_| super::DiskError::Values { states, bytes })?)
            }
            _ => None,
        };
        let sweeps = Sweeps { rows: self.rows, sense, rewards: false };
        match measure {
            Measure::Earned(_, Horizon::Reach(formula)) => {
                let target = self.formula(formula)?;
                Ok(Part::Open(Sets { through: vec![true; states], target, rewards: true }))
            }
            Measure::Earned(_, Horizon::Steps(steps)) => {
                let sweeps = Sweeps { rewards: true, ..sweeps };
                swept(sweeps.run(vec![(0.0, 0.0); states], *steps, |_| Rule::Best)?)
            }
            Measure::Earned(reward, Horizon::Instant(steps)) => {
                if self.system.quantities.rewards[*reward].items.iter().any(|i| i.actions.is_some()) {
                    return Err(SolveError::InstantOfActions);
                }
                let numbers = self.rows.numbers();
                let mut now = vec![(0.0, 0.0); states];
                self.rows.scan(|state, row| {
                    let earned = row.rewards[0] as usize;
                    now[state as usize] = (numbers.below()[earned], numbers.above()[earned]);
                })?;
                swept(sweeps.run(now, *steps, |_| Rule::Best)?)
            }
            Measure::Average(_) | Measure::Earned(_, Horizon::Time(_) | Horizon::Moment(_)) => refused(TIMED),
            Measure::Earned(_, Horizon::Total) => refused(
                "a reward is earned before a target or in so many steps: write [ F target ], or give more --memory with --tier auto",
            ),
            Measure::Probability(Path::Until(left, right, Limit::None)) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                Ok(Part::Open(Sets { through, target, rewards: false }))
            }
            Measure::Probability(Path::Until(left, right, Limit::Steps(low, Some(high)))) if low <= high => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let rule = |s: usize| match (target[s], through[s]) {
                    (true, _) => Rule::One,
                    (_, true) => Rule::Best,
                    _ => Rule::Zero,
                };
                let (values, first) = sweeps.run(indicator(&target), high - low, rule)?;
                let rule = |s: usize| if through[s] { Rule::Best } else { Rule::Zero };
                let (values, second) = sweeps.run(values, *low, rule)?;
                swept((values, first + second))
            }
            Measure::Probability(Path::Next(formula)) => {
                swept(sweeps.run(indicator(&self.formula(formula)?), 1, |_| Rule::Best)?)
            }
            Measure::Probability(Path::Until(_, _, Limit::Reward(..))) => refused(
                "steps are bounded, not rewards: make what is spent a variable of the model, or give more --memory with --tier auto",
            ),
            Measure::Probability(Path::Until(_, _, Limit::Time(..))) => refused(TIMED),
            Measure::Probability(Path::Until(..)) => refused(
                "a bound on steps has an upper end: write [a,b], or give more --memory with --tier auto",
            ),
            Measure::Probability(Path::Ltl { .. } | Path::Not(_)) => refused(
                "a formula has one temporal operator: make the automaton a module of the model, or give more --memory with \
                 --tier auto",
            ),
        }
    }

    fn formula(&self, formula: &Formula) -> Result<Vec<bool>, SolveError> {
        let n = self.rows.states() as usize;
        Ok(match formula {
            Formula::Constant(value) => vec![*value; n],
            Formula::Proposition(p) => {
                let at = self.wanted.propositions.iter().position(|q| q == p);
                at.map_or_else(|| vec![false; n], |at| self.marks[at].clone())
            }
            Formula::Initial => {
                let mut list = vec![false; n];
                self.initial.iter().for_each(|&state| list[state as usize] = true);
                list
            }
            Formula::Deadlock => self.marks.last().cloned().unwrap_or_else(|| vec![false; n]),
            Formula::Not(f) => self.formula(f)?.into_iter().map(|v| !v).collect(),
            Formula::And(l, r) | Formula::Or(l, r) => {
                let conjunction = matches!(formula, Formula::And(..));
                let (mut left, right) = (self.formula(l)?, self.formula(r)?);
                for (l, r) in left.iter_mut().zip(right) {
                    *l = if conjunction { *l && r } else { *l || r };
                }
                left
            }
            Formula::Compares { value, relation, bound } => {
                let mut precision = self.precision;
                for _ in 0..3 {
                    let values = self.everywhere(value, relation.hardest(), precision, None)?.values();
                    let decided: Option<Vec<bool>> =
                        (0..n).map(|s| compare(&values, s, *relation, bound)).collect();
                    if let Some(decided) = decided {
                        return Ok(decided);
                    }
                    precision.relative /= 64.0;
                }
                return Err(SolveError::Undecided);
            }
        })
    }
}

/// Values of all states.
struct All {
    /// The sets of an unbounded question and what was found.
    open: Option<(Sets, Everywhere)>,
    /// The values of a bounded one.
    swept: Vec<Bounds>,
    /// What was looked for, before a complement is taken.
    sense: Sense,
    /// Whether values are 1 less what was found.
    negated: bool,
    sweeps: u64,
    tier: Tier,
}

impl All {
    fn values(&self) -> Values {
        let bounds = self.open.as_ref().map_or(&self.swept, |(_, found)| &found.bounds);
        let told = |&b: &Bounds| if self.negated { other_probability(b) } else { b };
        let (lower, upper) = bounds.iter().map(told).unzip();
        Values { lower, upper, exact: None, sweeps: self.sweeps, policy: None }
    }
}

fn indicator(set: &[bool]) -> Vec<Bounds> {
    set.iter().map(|&s| if s { (1.0, 1.0) } else { (0.0, 0.0) }).collect()
}

/// Whether values of all states are kept, as many sweeps as there are steps.
fn is_bounded(measure: &Measure) -> bool {
    match measure {
        Measure::Probability(Path::Until(_, _, limit)) => *limit != Limit::None,
        Measure::Probability(path) => matches!(path, Path::Next(_)),
        Measure::Earned(_, horizon) => matches!(horizon, Horizon::Steps(_) | Horizon::Instant(_)),
        Measure::Average(_) => false,
    }
}
