//! A measure in the parts that are solved: sets of states for equations, or the values that so many sweeps give.

use super::asked::{Bounds, Solver, TIMED};
use super::bounded::Sweeps;
use super::journal::Journal;
use super::rows::{Rows, States};
use super::solve::Question;
use crate::SolveError;
use crate::answer::compare;
use crate::bounded::Rule;
use hadal_system::chance::{Formula, Horizon, Limit, Measure, Path, Sense};

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

impl<R: Rows + States> Solver<'_, R> {
    pub(super) fn part(
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

    pub(super) fn formula(&self, formula: &Formula) -> Result<Vec<bool>, SolveError> {
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
