//! What is asked of a graph on disk: formulas of states, questions inside questions, filters, policies and certificates.

use super::answer::Wanted;
use super::certify::Certified;
use super::journal::Journal;
use super::parts::{Part, Sets};
use super::policy::{self, Induced};
use super::rows::{Rows, States};
use super::solve::{Everywhere, How, Question, Tier, solve, solve_everywhere};
use crate::answer::{Answer, Policy, summarise};
use crate::values::{Values, other_probability};
use crate::{Precision, SolveError};
use hadal_store::Disk;
use hadal_system::chance::{Asked, Formula, Measure, Objective, Path, Relation, Sense, Summary};
use hadal_system::rows::Rational;
use hadal_system::{Choices, Label, StateSpace, System};

pub(super) const TIMED: &str = "time is counted in steps: questions of continuous time and of the long run need --tier auto and more --memory";

pub(super) type Bounds = (f64, f64);

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
    pub(super) fn everywhere(
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
}

/// Values of all states.
pub(super) struct All {
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
    pub(super) fn values(&self) -> Values {
        let bounds = self.open.as_ref().map_or(&self.swept, |(_, found)| &found.bounds);
        let told = |&b: &Bounds| if self.negated { other_probability(b) } else { b };
        let (lower, upper) = bounds.iter().map(told).unzip();
        Values { lower, upper, exact: None, sweeps: self.sweeps, policy: None }
    }
}
