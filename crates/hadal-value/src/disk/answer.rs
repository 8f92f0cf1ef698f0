//! Questions answered on disk, in a folder that a run which was killed goes on from; or in RAM by the same sweeps.

use super::bounded::Sweeps;
use super::graph::{DiskError, DiskGraph, DiskOptions};
use super::journal::Journal;
use super::rows::Rows;
use super::solve::{Found, How, Question, Tier, solve};
use crate::answer::{Answer, Needs, Size};
use crate::asking::decides;
use crate::bounded::Rule;
use crate::build::{BuildOptions, build};
use crate::graph::Graph;
use crate::values::other_probability;
use crate::{Precision, SolveError};
use hadal_store::Governor;
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path as Paths, Sense};
use hadal_system::{PropertyId, StateSpace, System};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Where a question is answered.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// A folder for the run's own folder, which is called after the question and goes with the answer.
    pub folder: &'a Path,
    /// How many bytes of RAM it may take.
    pub memory: u64,
    /// Where values are kept; `None`: in RAM where they fit, else in blocks.
    pub tier: Option<Tier>,
}

/// Why a formula of states is not answered.
const NESTED: &str = "states are told apart by their variables: write a condition for \"deadlock\" and for questions inside a \
                      question, or give more --memory with --tier auto";

const TIMED: &str = "time is counted in steps: questions of continuous time and of the long run need --tier auto and more --memory";

/// What is looked up before anything is explored.
struct Wanted {
    propositions: Vec<usize>,
    marks: Vec<PropertyId>,
    reward: Option<usize>,
}

impl Wanted {
    fn of(system: &System, objective: &Objective, precision: Precision) -> Result<Self, SolveError> {
        let refused = |reason| Err(SolveError::NotOnDisk(reason));
        if precision.exact {
            return refused(
                "values are bounds, not fractions: give more --memory with --tier auto, or a smaller --precision",
            );
        }
        if precision.policy || precision.certificate {
            return refused(
                "values of other states are not kept, so policies and certificates need --tier auto and more --memory",
            );
        }
        if !matches!(objective.states, Formula::Initial) {
            return refused(
                "values are of the initial states: leave the filter out, or give more --memory with --tier auto",
            );
        }
        let mut needs = Needs::default();
        needs.asked(&objective.asked);
        if needs.timed {
            return refused(TIMED);
        }
        if needs.rewards.len() > 1 {
            return refused(
                "a question has one reward: ask of each on its own, or give more --memory with --tier auto",
            );
        }
        let propositions: Vec<usize> = needs.propositions.into_iter().collect();
        let bases = system.property_bases();
        let marks = propositions.iter().map(|&p| PropertyId(bases[p])).collect();
        Ok(Wanted { propositions, marks, reward: needs.rewards.first().copied() })
    }
}

/// Explores `space` on disk and answers. Asked again after it was killed, it goes on from the last commit.
pub fn answer(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    precision: Precision,
    place: &Place,
) -> Result<Answer, SolveError> {
    // What is not answered leaves no folder behind.
    Wanted::of(system, objective, precision)?;
    let fingerprint = fingerprint(space, system, objective, (precision, place.tier));
    let path = place.folder.join(format!("values-{fingerprint:016x}"));
    let mut journal = Journal::open(&path, fingerprint, &Governor::new(place.memory))?;
    let answer = answer_with(space, system, objective, (precision, place.tier), &mut journal)?;
    drop(journal);
    // What is left behind is only space.
    let _ = std::fs::remove_dir_all(&path);
    Ok(answer)
}

/// The same with a journal that is at hand.
pub fn answer_with(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    (precision, tier): (Precision, Option<Tier>),
    journal: &mut Journal,
) -> Result<Answer, SolveError> {
    let wanted = Wanted::of(system, objective, precision)?;
    let resumed = journal.resumed();
    let options = DiskOptions { reward: wanted.reward, marks: wanted.marks.clone() };
    let graph = DiskGraph::build_in(space, &options, journal)?;
    let solver = Solver {
        rows: &graph,
        initial: &graph.initial,
        marks: &graph.marks,
        wanted: &wanted,
        system,
        precision: precision.relative,
        tier,
    };
    let mut answer = solver.answer(objective, Some(journal))?;
    answer.size = Size {
        states: graph.states,
        choices: graph.choices,
        branches: graph.branches,
        deadlocks: graph.deadlocks,
    };
    answer.resumed = resumed;
    Ok(answer)
}

/// Explores `space` in RAM and answers by the sweeps of the other tiers.
pub fn answer_in_ram(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: crate::Options,
) -> Result<Answer, SolveError> {
    let wanted = Wanted::of(system, objective, options.precision)?;
    let limits = BuildOptions {
        reward: wanted.reward,
        marks: wanted.marks.clone(),
        memory: options.memory,
        max_states: options.max_states,
        absorbing: None,
    };
    let built = build(space, &limits)?;
    let initial: Vec<u64> = built.graph.initial.iter().map(|&s| u64::from(s)).collect();
    let solver = Solver {
        rows: &built.graph,
        initial: &initial,
        marks: &built.marks,
        wanted: &wanted,
        system,
        precision: options.precision.relative,
        tier: Some(Tier::Ram),
    };
    let mut answer = solver.answer(objective, None)?;
    let graph: &Graph = &built.graph;
    answer.size = Size::of(graph);
    Ok(answer)
}

/// A number that another model, question or way to answer it would not have.
fn fingerprint(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    (precision, tier): (Precision, Option<Tier>),
) -> u64 {
    let mut hasher = DefaultHasher::new();
    space.fingerprint().hash(&mut hasher);
    format!("{:?}", system.quantities).hash(&mut hasher);
    format!("{:?}", system.actions).hash(&mut hasher);
    format!("{:?}", system.properties).hash(&mut hasher);
    format!("{:?}", objective.asked).hash(&mut hasher);
    precision.relative.to_bits().hash(&mut hasher);
    tier.map(Tier::name).hash(&mut hasher);
    hasher.finish()
}

/// Whether values of all states are kept, as many sweeps as there are steps.
fn is_bounded(measure: &Measure) -> bool {
    fn bounded(path: &Paths) -> bool {
        match path {
            Paths::Not(path) => bounded(path),
            Paths::Until(_, _, limit) => *limit != Limit::None,
            Paths::Next(_) => true,
            Paths::Ltl { .. } => false,
        }
    }
    match measure {
        Measure::Probability(path) => bounded(path),
        Measure::Earned(_, horizon) => matches!(horizon, Horizon::Steps(_) | Horizon::Instant(_)),
        Measure::Average(_) => false,
    }
}

struct Solver<'g, R> {
    rows: &'g R,
    initial: &'g [u64],
    marks: &'g [Vec<bool>],
    wanted: &'g Wanted,
    system: &'g System,
    precision: f64,
    tier: Option<Tier>,
}

impl<R: Rows> Solver<'_, R> {
    fn answer(&self, objective: &Objective, journal: Option<&mut Journal>) -> Result<Answer, SolveError> {
        let (measure, sense, compared) = match &objective.asked {
            Asked::Value(measure, sense) => (measure, *sense, None),
            Asked::Truth(Formula::Compares { value, relation, bound }) => {
                (value.as_ref(), relation.hardest(), Some((*relation, *bound)))
            }
            Asked::Truth(_) => {
                return Err(SolveError::NotOnDisk(
                    "one value is held against one bound: ask of each part on its own, or give more --memory with --tier auto",
                ));
            }
        };
        let found = self.measure(measure, sense, journal)?;
        let pick = |of: fn(&(f64, f64)) -> f64| {
            let all = found.bounds.iter().map(of);
            match sense {
                Sense::Least => all.fold(f64::INFINITY, f64::min),
                Sense::Greatest => all.fold(0.0, f64::max),
            }
        };
        let (low, high) = (pick(|b| b.0), pick(|b| b.1));
        let mut answer = Answer {
            value: Some((low, high)),
            sweeps: found.sweeps,
            tier: found.tier.name(),
            ..Answer::default()
        };
        if let Some((relation, bound)) = compared {
            let holds = decides(relation, &bound, (low, high)).ok_or(SolveError::Undecided)?;
            answer.verdict = Some(holds);
            answer.value = None;
        }
        Ok(answer)
    }

    fn measure(
        &self,
        measure: &Measure,
        sense: Sense,
        journal: Option<&mut Journal>,
    ) -> Result<Found, SolveError> {
        let how = How { sense, precision: self.precision, tier: self.tier };
        let states = self.rows.states() as usize;
        let _memory = match (is_bounded(measure), &journal) {
            (true, Some(journal)) => {
                let (states, bytes) = (self.rows.states(), self.rows.states() * 36);
                let reserved = journal.disk().governor.try_reserve(bytes, "values");
                Some(reserved.map_err(|_| DiskError::Values { states, bytes })?)
            }
            _ => None,
        };
        match measure {
            Measure::Probability(path) => self.path(path, how, journal),
            Measure::Earned(_, Horizon::Reach(formula)) => {
                let target = self.formula(formula)?;
                Ok(solve(self.rows, self.initial, Question::EarnedBefore(&target), how, journal)?)
            }
            Measure::Earned(_, Horizon::Steps(steps)) => {
                let sweeps = Sweeps { rows: self.rows, sense, rewards: true };
                Ok(self.pick(sweeps.run(vec![(0.0, 0.0); states], *steps, |_| Rule::Best)?))
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
                let sweeps = Sweeps { rows: self.rows, sense, rewards: false };
                Ok(self.pick(sweeps.run(now, *steps, |_| Rule::Best)?))
            }
            Measure::Average(_) | Measure::Earned(_, Horizon::Time(_) | Horizon::Moment(_)) => {
                Err(SolveError::NotOnDisk(TIMED))
            }
            Measure::Earned(_, Horizon::Total) => Err(SolveError::NotOnDisk(
                "a reward is earned before a target or in so many steps: write [ F target ], or give more --memory with --tier auto",
            )),
        }
    }

    /// Of all states, what the initial ones have.
    fn pick(&self, (values, sweeps): (Vec<(f64, f64)>, u64)) -> Found {
        let bounds = self.initial.iter().map(|&s| values[s as usize]).collect();
        Found { bounds, sweeps, tier: self.tier.unwrap_or(Tier::SemiExternal) }
    }

    fn path(&self, path: &Paths, how: How, journal: Option<&mut Journal>) -> Result<Found, SolveError> {
        let one = |set: &[bool]| -> Vec<(f64, f64)> {
            set.iter().map(|&s| if s { (1.0, 1.0) } else { (0.0, 0.0) }).collect()
        };
        let sweeps = Sweeps { rows: self.rows, sense: how.sense, rewards: false };
        match path {
            Paths::Until(left, right, Limit::None) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                Ok(solve(self.rows, self.initial, Question::Until(&through, &target), how, journal)?)
            }
            Paths::Until(left, right, Limit::Steps(low, Some(high))) if low <= high => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let rule = |s: usize| match (target[s], through[s]) {
                    (true, _) => Rule::One,
                    (_, true) => Rule::Best,
                    _ => Rule::Zero,
                };
                let (values, first) = sweeps.run(one(&target), high - low, rule)?;
                let rule = |s: usize| if through[s] { Rule::Best } else { Rule::Zero };
                let (values, second) = sweeps.run(values, *low, rule)?;
                Ok(self.pick((values, first + second)))
            }
            Paths::Next(formula) => {
                Ok(self.pick(sweeps.run(one(&self.formula(formula)?), 1, |_| Rule::Best)?))
            }
            Paths::Not(path) => {
                let mut found = self.path(path, How { sense: how.sense.opposite(), ..how }, journal)?;
                for bounds in &mut found.bounds {
                    *bounds = other_probability(*bounds);
                }
                Ok(found)
            }
            Paths::Until(_, _, Limit::Reward(..)) => Err(SolveError::NotOnDisk(
                "steps are bounded, not rewards: make what is spent a variable of the model, or give more --memory with --tier auto",
            )),
            Paths::Until(_, _, Limit::Time(..)) => Err(SolveError::NotOnDisk(TIMED)),
            Paths::Until(..) => Err(SolveError::NotOnDisk(
                "a bound on steps has an upper end: write [a,b], or give more --memory with --tier auto",
            )),
            Paths::Ltl { .. } => Err(SolveError::NotOnDisk(
                "a formula has one temporal operator: make the automaton a module of the model, or give more --memory with \
                 --tier auto",
            )),
        }
    }

    fn formula(&self, formula: &Formula) -> Result<Vec<bool>, SolveError> {
        let n = self.rows.states() as usize;
        Ok(match formula {
            Formula::Constant(value) => vec![*value; n],
            Formula::Proposition(p) => match self.wanted.propositions.iter().position(|q| q == p) {
                Some(at) => self.marks[at].clone(),
                None => return Err(SolveError::NotOnDisk(NESTED)),
            },
            Formula::Initial => {
                let mut list = vec![false; n];
                self.initial.iter().for_each(|&state| list[state as usize] = true);
                list
            }
            Formula::Not(f) => self.formula(f)?.into_iter().map(|v| !v).collect(),
            Formula::And(l, r) | Formula::Or(l, r) => {
                let conjunction = matches!(formula, Formula::And(..));
                let (mut left, right) = (self.formula(l)?, self.formula(r)?);
                for (l, r) in left.iter_mut().zip(right) {
                    *l = if conjunction { *l && r } else { *l || r };
                }
                left
            }
            Formula::Deadlock | Formula::Compares { .. } => return Err(SolveError::NotOnDisk(NESTED)),
        })
    }
}
