//! A measure in the parts that are solved: sets of states for equations, or the values that so many sweeps give.

use super::asked::{Bounds, Solver};
use super::bounded::{Pace, Sweeps, Swept};
use super::certain::Search;
use super::company::Changes;
use super::everywhere::solve_everywhere;
use super::journal::Journal;
use super::rows::{Rows, States};
use super::solve::{COMPONENTS, How, Question, reserve};
use super::timed::TIMED;
use crate::answer::{NO_FRACTIONS, compare_bounds, compare_exactly};
use crate::bounded::Rule;
use crate::components::NONE;
use crate::{Precision, SolveError};
use hadal_ltl::translate::constant;
use hadal_store::Reservation;
use hadal_system::chance::{Formula, Horizon, Limit, Measure, Path, Sense};

const TIMED_ALONE: &str =
    "bounds on time and averages in the long run are answered by one process: leave out --cluster";

/// A measure, as it is solved.
pub(super) enum Part {
    /// By equations.
    Open(Sets),
    /// By so many sweeps, done.
    Swept(Series),
}

/// Bounds of all states after some sweeps.
pub(super) struct Series {
    pub values: Vec<Bounds>,
    pub sweeps: u64,
    /// Whether more precision would make them sharper.
    pub sharpens: bool,
    _memory: Option<Reservation>,
}

impl Series {
    /// Values that sharpen: averages in the long run, and what was found on a product.
    pub fn of(values: Vec<Bounds>, sweeps: u64, memory: Option<Reservation>) -> Self {
        Series { values, sweeps, sharpens: true, _memory: memory }
    }
}

/// Bytes a state: its bounds before and after a sweep, two sets.
const SERIES: u64 = 2 * 16 + 4;

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
        precision: Precision,
        mut journal: Option<&mut Journal>,
    ) -> Result<Part, SolveError> {
        let states = self.rows.states() as usize;
        if let Some(beside) = self.beside(measure) {
            let found = self.inside((measure, beside), sense, precision, journal)?;
            return Ok(Part::Swept(Series::of(found.bounds, found.sweeps, found.memory)));
        }
        let timed = is_timed(measure);
        if timed || matches!(measure, Measure::Average(_)) {
            self.must_be_alone(TIMED_ALONE)?;
        }
        if precision.exact && (timed || matches!(measure, Measure::Average(_))) {
            return Err(SolveError::Time(NO_FRACTIONS));
        }
        if timed || is_bounded(measure) {
            let governor = self.disk.as_ref().map(|disk| &disk.governor);
            let mut memory = reserve(self.rows.states(), if timed { TIMED } else { SERIES }, governor)?;
            let mut pace = Pace { journal: journal.as_deref_mut(), ..Pace::default() };
            let unbounded = |sets: &Sets, pace: &mut Pace| {
                let how = How { sense, precision: precision.relative, tier: self.side_tier() };
                let mut passing = self.passing();
                let journal = pace.journal.as_deref_mut().or(passing.as_mut());
                let found = solve_everywhere(&self.rows, self.initial, sets.question(), how, journal)?;
                pace.sweeps += found.sweeps;
                Ok(found.bounds.load()?)
            };
            let values = match timed {
                true => Some(self.in_time(measure, &mut pace, unbounded)?),
                false => self.bounded(measure, sense, &mut pace, unbounded)?,
            };
            if let Some(values) = values {
                if let Some(memory) = &mut memory {
                    memory.shrink_to(16 * self.rows.states());
                }
                let limit = match measure {
                    Measure::Probability(Path::Until(_, _, limit)) => limit,
                    _ => &Limit::None,
                };
                let sharpens = matches!(limit, Limit::Steps(_, None) | Limit::Time(_, None));
                let sweeps = pace.sweeps;
                return Ok(Part::Swept(Series { values, sweeps, sharpens, _memory: memory }));
            }
        }
        match measure {
            Measure::Earned(_, Horizon::Reach(formula)) => {
                let target = self.formula(formula)?;
                Ok(Part::Open(Sets { through: vec![true; states], target, rewards: true, total: None }))
            }
            Measure::Average(of) => Ok(Part::Swept(self.average(of, sense, precision, journal)?)),
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
            Measure::Probability(Path::Until(_, _, Limit::Reward(..))) => {
                Ok(Sets::until(self.marks[0].clone(), self.marks[1].clone()))
            }
            Measure::Probability(Path::Ltl { formula, .. }) => match constant(formula) {
                Some(holds) => Ok(Sets::until(vec![true; states], vec![holds; states])),
                None => {
                    // Whoever can stay where a breakpoint is passed wins.
                    let groups = self.end_components(|_| true)?;
                    let mut wins = vec![false; states];
                    for (group, passed) in groups.iter().zip(&self.marks[0]) {
                        if *group != NONE && *passed {
                            wins[*group as usize] = true;
                        }
                    }
                    let target = groups.into_iter().map(|group| group != NONE && wins[group as usize]);
                    let begun = self.marks.get(1).cloned();
                    Ok(Sets::until(begun.unwrap_or_else(|| vec![true; states]), target.collect()))
                }
            },
            Measure::Probability(_) | Measure::Earned(..) => Err(SolveError::Undecided),
        }
    }

    /// The values of a question with a bound on steps, `None` for another; `unbounded` tells those of a set of states.
    pub(super) fn bounded<V: Swept>(
        &self,
        measure: &Measure,
        sense: Sense,
        pace: &mut Pace,
        unbounded: impl FnOnce(&Sets, &mut Pace) -> Result<Vec<V>, SolveError>,
    ) -> Result<Option<Vec<V>>, SolveError> {
        let (states, numbers) = (self.rows.states() as usize, self.rows.numbers());
        let number = |at: u32| V::number(numbers, at);
        let indicator = |set: &[bool]| set.iter().map(|&s| number(u32::from(s))).collect::<Vec<V>>();
        let sweeps = Sweeps { rows: &self.rows, sense, rewards: false };
        Ok(Some(match measure {
            Measure::Earned(_, Horizon::Steps(steps)) => {
                let sweeps = Sweeps { rewards: true, ..sweeps };
                sweeps.run(vec![number(0); states], *steps, |_| Rule::Best, pace)?
            }
            Measure::Earned(reward, Horizon::Instant(steps)) => {
                self.of_states(*reward)?;
                let mut now = vec![number(0); states];
                let mut changes = Changes::of(&self.rows);
                self.rows.scan(|state, row| {
                    now[state as usize] = number(row.rewards[0]);
                    changes.note(state);
                })?;
                V::meet(&mut now, &mut changes)?;
                sweeps.run(now, *steps, |_| Rule::Best, pace)?
            }
            Measure::Probability(Path::Next(formula)) => {
                sweeps.run(indicator(&self.formula(formula)?), 1, |_| Rule::Best, pace)?
            }
            Measure::Probability(Path::Until(_, _, Limit::Steps(low, Some(high)))) if low > high => {
                vec![number(0); states]
            }
            Measure::Probability(Path::Until(left, right, Limit::Steps(low, high))) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let sets = Sets { through, target, rewards: false, total: None };
                let values = match high {
                    None => unbounded(&sets, pace)?,
                    Some(high) => {
                        let rule = |s: usize| match (sets.target[s], sets.through[s]) {
                            (true, _) => Rule::One,
                            (_, true) => Rule::Best,
                            _ => Rule::Zero,
                        };
                        sweeps.run(indicator(&sets.target), high - low, rule, pace)?
                    }
                };
                let rule = |s: usize| if sets.through[s] { Rule::Best } else { Rule::Zero };
                sweeps.run(values, *low, rule, pace)?
            }
            _ => return Ok(None),
        }))
    }

    /// Refuses rewards that actions earn.
    pub(super) fn of_states(&self, reward: usize) -> Result<(), SolveError> {
        match self.system.quantities.rewards[reward].items.iter().any(|item| item.actions.is_some()) {
            true => Err(SolveError::InstantOfActions),
            false => Ok(()),
        }
    }

    /// The end components of all states with choices whose reward is `allowed`.
    pub(super) fn end_components(
        &self,
        allowed: impl Fn(u32) -> bool + Copy,
    ) -> Result<Vec<u32>, SolveError> {
        let governor = self.disk.as_ref().map(|disk| &disk.governor);
        let _memory = reserve(self.rows.states(), COMPONENTS, governor)?;
        let search = Search { rows: &self.rows };
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
                let (mut precision, sense) = (self.precision, relation.hardest());
                let (mut decided, mut open) = (vec![false; n], vec![true; n]);
                for _ in 0..3 {
                    let all = self.everywhere(value, sense, precision, None)?;
                    all.scan(|state, bounds| {
                        let holds = compare_bounds(bounds, *relation, bound);
                        decided[state as usize] = holds.unwrap_or(false);
                        open[state as usize] = holds.is_none();
                    })?;
                    if !open.contains(&true) {
                        return Ok(decided);
                    }
                    precision.relative /= 64.0;
                }
                // The bounds touch it: only the values themselves can say.
                self.fractions((value, sense), &open, None, |state, _, value| {
                    decided[state] = compare_exactly(&value, *relation, bound);
                })?;
                decided
            }
        })
    }
}

/// Whether values of all states are kept, as many sweeps as there are steps.
fn is_bounded(measure: &Measure) -> bool {
    match measure {
        Measure::Probability(Path::Until(_, _, limit)) => matches!(limit, Limit::Steps(..)),
        Measure::Probability(path) => matches!(path, Path::Next(_)),
        Measure::Earned(_, horizon) => matches!(horizon, Horizon::Steps(_) | Horizon::Instant(_)),
        Measure::Average(_) => false,
    }
}

/// Whether time is continuous, up to some moment.
fn is_timed(measure: &Measure) -> bool {
    match measure {
        Measure::Probability(Path::Until(_, _, limit)) => matches!(limit, Limit::Time(..)),
        Measure::Earned(_, horizon) => matches!(horizon, Horizon::Time(_) | Horizon::Moment(_)),
        Measure::Probability(_) | Measure::Average(_) => false,
    }
}
