//! A measure in the parts that are solved: sets of states for equations, or the values that so many sweeps give.

use super::asked::{Bounds, Solver, TIMED};
use super::bounded::Sweeps;
use super::certain::Search;
use super::everywhere::solve_everywhere;
use super::journal::Journal;
use super::rows::{Rows, States};
use super::solve::{COMPONENTS, How, Question, reserve};
use crate::SolveError;
use crate::answer::compare_bounds;
use crate::bounded::Rule;
use crate::components::NONE;
use hadal_ltl::translate::constant;
use hadal_system::chance::{Formula, Horizon, Limit, Measure, Path, Sense};

/// What is followed beside states is followed from the initial states on.
const INSIDE: &str = "a formula with several temporal operators, or a bound on rewards, stands alone, without filters and outside \
    other formulas: ask it on its own, or give more --memory with --tier auto";

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
    /// What is looked for, where a reward is earned without end.
    pub total: Option<Sense>,
}

impl Sets {
    pub fn question(&self) -> Question<'_> {
        match (self.rewards, self.total) {
            (true, Some(Sense::Greatest)) => Question::EarnedForEver,
            (true, _) => Question::EarnedBefore(&self.target),
            (false, _) => Question::Until(&self.through, &self.target),
        }
    }

    /// The sets of a probability.
    fn until(through: Vec<bool>, target: Vec<bool>) -> Part {
        Part::Open(Sets { through, target, rewards: false, total: None })
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
                Ok(Part::Open(Sets { through: vec![true; states], target, rewards: true, total: None }))
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
            Measure::Earned(_, Horizon::Total) => {
                // Only whoever ends where nothing is earned earns a finite amount.
                let target = match sense {
                    Sense::Least => {
                        let free = self.end_components(|reward| reward == 0)?;
                        free.into_iter().map(|group| group != NONE).collect()
                    }
                    Sense::Greatest => vec![false; states],
                };
                Ok(Part::Open(Sets {
                    through: vec![true; states],
                    target,
                    rewards: true,
                    total: Some(sense),
                }))
            }
            Measure::Probability(Path::Until(left, right, Limit::None)) => {
                Ok(Sets::until(self.formula(left)?, self.formula(right)?))
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
            Measure::Probability(Path::Until(_, _, Limit::Reward(..))) if self.followed => {
                Ok(Sets::until(self.marks[0].clone(), self.marks[1].clone()))
            }
            Measure::Probability(Path::Until(left, right, Limit::Steps(low, None))) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let sets = Sets { through, target, rewards: false, total: None };
                let how = How { sense, precision: self.precision.relative, tier: self.side_tier() };
                let found = solve_everywhere(self.rows, sets.question(), how, self.passing().as_mut())?;
                let rule = |s: usize| if sets.through[s] { Rule::Best } else { Rule::Zero };
                let (values, more) = sweeps.run(found.bounds.load()?, *low, rule)?;
                swept((values, found.sweeps + more))
            }
            Measure::Probability(Path::Until(_, _, Limit::Steps(..))) => swept((vec![(0.0, 0.0); states], 0)),
            Measure::Probability(Path::Until(_, _, Limit::Time(..))) => refused(TIMED),
            Measure::Probability(Path::Ltl { formula, .. }) => match (constant(formula), self.followed) {
                (Some(holds), _) => Ok(Sets::until(vec![true; states], vec![holds; states])),
                (None, true) => {
                    // Whoever can stay where a breakpoint is passed wins.
                    let groups = self.end_components(|_| true)?;
                    let mut wins = vec![false; states];
                    for (group, passed) in groups.iter().zip(&self.marks[0]) {
                        if *group != NONE && *passed {
                            wins[*group as usize] = true;
                        }
                    }
                    let target = groups.into_iter().map(|group| group != NONE && wins[group as usize]);
                    Ok(Sets::until(vec![true; states], target.collect()))
                }
                (None, false) => refused(INSIDE),
            },
            Measure::Probability(Path::Until(..) | Path::Not(_)) => refused(INSIDE),
        }
    }

    /// The end components of all states with choices whose reward is `allowed`.
    fn end_components(&self, allowed: impl Fn(u32) -> bool + Copy) -> Result<Vec<u32>, SolveError> {
        let governor = self.disk.as_ref().map(|disk| &disk.governor);
        let _memory = reserve(self.rows.states(), COMPONENTS, governor)?;
        let search = Search { rows: self.rows };
        let staying = search.staying(vec![true; self.rows.states() as usize], allowed)?;
        Ok(search.end_components(&staying, allowed)?)
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
                    let (mut decided, mut open) = (vec![false; n], false);
                    let all = self.everywhere(value, relation.hardest(), precision, None)?;
                    all.scan(|state, bounds| match compare_bounds(bounds, *relation, bound) {
                        Some(holds) => decided[state as usize] = holds,
                        None => open = true,
                    })?;
                    if !open {
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
