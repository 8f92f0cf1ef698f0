//! Questions answered from a graph on disk: unbounded probabilities and rewards of the initial states.

use super::graph::{DiskGraph, DiskOptions};
use super::solve::{DiskValues, earned_before, until};
use crate::answer::{Answer, Needs};
use crate::{Precision, SolveError};
use hadal_store::Disk;
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path, Relation, Sense};
use hadal_system::{PropertyId, StateSpace, System};

/// Explores `space` on disk and answers.
pub fn answer(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    precision: Precision,
    disk: &Disk,
) -> Result<Answer, SolveError> {
    if precision.exact || !matches!(objective.states, Formula::Initial) {
        return Err(SolveError::NotOnDisk);
    }
    let mut needs = Needs::default();
    needs.asked(&objective.asked);
    if needs.rewards.len() > 1 {
        return Err(SolveError::NotOnDisk);
    }
    let propositions: Vec<usize> = needs.propositions.into_iter().collect();
    let bases = system.property_bases();
    let wanted = DiskOptions {
        reward: needs.rewards.first().copied(),
        marks: propositions.iter().map(|&p| PropertyId(bases[p])).collect(),
    };
    let graph = DiskGraph::build(space, &wanted, disk)?;
    // Two values, what is known, and a few sets, in RAM.
    let bytes = graph.states * (16 + 16 + 4 + wanted.marks.len() as u64);
    let _values = disk.governor.try_reserve(bytes, "values").map_err(|_| {
        SolveError::Disk(super::DiskError::Values { states: graph.states, bytes }.to_string())
    })?;
    let solver = Solver { graph: &graph, propositions, precision };
    let (measure, sense, compared) = match &objective.asked {
        Asked::Value(measure, sense) => (measure, *sense, None),
        Asked::Truth(Formula::Compares { value, relation, bound }) => {
            (value.as_ref(), relation.hardest(), Some((*relation, *bound)))
        }
        Asked::Truth(_) => return Err(SolveError::NotOnDisk),
    };
    let values = solver.measure(measure, sense)?;
    let pick = |list: &[f64]| {
        let all = graph.initial.iter().map(|&rank| list[rank as usize]);
        match sense {
            Sense::Least => all.fold(f64::INFINITY, f64::min),
            Sense::Greatest => all.fold(0.0, f64::max),
        }
    };
    let (low, high) = (pick(&values.lower), pick(&values.upper));
    let mut answer = Answer {
        value: Some((low, high)),
        exact: None,
        verdict: None,
        count: None,
        states: graph.states,
        choices: graph.choices,
        branches: graph.branches,
        sweeps: values.sweeps,
        deadlocks: graph.deadlocks,
        policy: None,
    };
    if let Some((relation, bound)) = compared {
        let (under, over) = crate::numbers::bracket(&bound);
        let (holds, fails) = match relation {
            Relation::AtLeast => (low >= over, high < under),
            Relation::Above => (low > over, high < under),
            Relation::AtMost => (high <= under, low > over),
            Relation::Below => (high < under, low > over),
        };
        if !holds && !fails {
            return Err(SolveError::Undecided);
        }
        answer.verdict = Some(holds);
        answer.value = None;
    }
    Ok(answer)
}

struct Solver<'g> {
    graph: &'g DiskGraph,
    propositions: Vec<usize>,
    precision: Precision,
}

impl Solver<'_> {
    fn measure(&self, measure: &Measure, sense: Sense) -> Result<DiskValues, SolveError> {
        match measure {
            Measure::Probability(path) => self.path(path, sense),
            Measure::Earned(_, Horizon::Reach(formula)) => {
                Ok(earned_before(self.graph, &self.formula(formula)?, sense, self.precision.relative)?)
            }
            Measure::Earned(..) => Err(SolveError::NotOnDisk),
        }
    }

    fn path(&self, path: &Path, sense: Sense) -> Result<DiskValues, SolveError> {
        match path {
            Path::Until(left, right, Limit::None) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                Ok(until(self.graph, &through, &target, sense, self.precision.relative)?)
            }
            Path::Not(path) => {
                let mut values = self.path(path, sense.opposite())?;
                let DiskValues { lower, upper, .. } = &mut values;
                for (low, high) in lower.iter_mut().zip(upper.iter_mut()) {
                    let sharp = *low == *high && (*low == 0.0 || *low == 1.0);
                    (*low, *high) = if sharp {
                        (1.0 - *high, 1.0 - *low)
                    } else {
                        ((1.0 - *high).next_down().max(0.0), (1.0 - *low).next_up().min(1.0))
                    };
                }
                Ok(values)
            }
            Path::Next(_) | Path::Until(..) | Path::Ltl { .. } => Err(SolveError::NotOnDisk),
        }
    }

    fn formula(&self, formula: &Formula) -> Result<Vec<bool>, SolveError> {
        let n = self.graph.states as usize;
        Ok(match formula {
            Formula::Constant(value) => vec![*value; n],
            Formula::Proposition(p) => match self.propositions.iter().position(|q| q == p) {
                Some(at) => self.graph.marks[at].clone(),
                None => return Err(SolveError::NotOnDisk),
            },
            Formula::Initial => {
                let mut list = vec![false; n];
                self.graph.initial.iter().for_each(|&rank| list[rank as usize] = true);
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
            Formula::Deadlock | Formula::Compares { .. } => return Err(SolveError::NotOnDisk),
        })
    }
}
