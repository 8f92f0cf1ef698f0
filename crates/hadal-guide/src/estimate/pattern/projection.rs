//! A projection of the abstract task: its states are numbers, its transitions the operators as far as the pattern sees
//! them.

use crate::task::{AbstractTask, Bits, Formula, NO_NUMBER, Operator};

/// The abstract task seen through a few variables.
pub(super) struct Projection {
    vars: Vec<u32>,
    /// What the value of each variable counts in the number of a state.
    weights: Vec<u64>,
    sizes: Vec<u64>,
    goal: Formula,
    operators: Vec<Projected>,
}

/// An operator seen by a pattern.
struct Projected {
    operator: u32,
    preconditions: Vec<(usize, Bits)>,
    effects: Vec<ProjectedEffect>,
}

struct ProjectedEffect {
    /// Which variable of the pattern.
    at: usize,
    /// What must hold of another one.
    condition: Option<(usize, Bits)>,
    values: Bits,
    /// Whether nothing outside the pattern decides if it is written.
    sure: bool,
}

/// How many values a variable has.
pub(super) fn values_of(task: &AbstractTask, var: u32) -> u64 {
    task.variables[var as usize].values.len().max(1) as u64
}

impl Projection {
    /// The projection to these variables, whose values have less than 2^63 combinations.
    pub(super) fn new(task: &AbstractTask, vars: Vec<u32>, goal: Formula) -> Self {
        let sizes: Vec<u64> = vars.iter().map(|&var| values_of(task, var)).collect();
        let mut weights = Vec::with_capacity(sizes.len());
        sizes.iter().fold(1, |weight, size| {
            weights.push(weight);
            weight * size
        });
        let operators = task
            .operators
            .iter()
            .enumerate()
            .filter_map(|(n, operator)| project(n, operator, &vars))
            .collect();
        Projection { vars, weights, sizes, goal, operators }
    }

    /// How many combinations of values there are.
    pub(super) fn combinations(&self) -> u64 {
        self.sizes.iter().product()
    }

    /// What tells it from others of the same model.
    pub(super) fn description(&self) -> (&[u32], &Formula) {
        (&self.vars, &self.goal)
    }

    /// The number of a state given by the numbers of all variables' values.
    pub(super) fn number(&self, values: &[u16]) -> u64 {
        let parts = self.vars.iter().zip(&self.weights);
        parts.map(|(&var, weight)| u64::from(values[var as usize]) * weight).sum()
    }

    /// The number of a packed state; `None` where a value was not thought possible.
    #[inline]
    pub(super) fn number_of(&self, task: &AbstractTask, state: &[u64]) -> Option<u64> {
        let mut number = 0;
        for (&var, weight) in self.vars.iter().zip(&self.weights) {
            let value = task.variables[var as usize].number(state);
            if value == NO_NUMBER {
                return None;
            }
            number += u64::from(value) * weight;
        }
        Some(number)
    }

    fn value(&self, state: u64, at: usize) -> usize {
        (state / self.weights[at] % self.sizes[at]) as usize
    }

    /// Whether a state may be one that is looked for.
    pub(super) fn is_goal(&self, state: u64) -> bool {
        self.satisfies(&self.goal, state)
    }

    fn satisfies(&self, formula: &Formula, state: u64) -> bool {
        match formula {
            Formula::True => true,
            Formula::False => false,
            Formula::Atom(var, values) => {
                let at = self.vars.iter().position(|v| v == var);
                at.is_none_or(|at| values.contains(self.value(state, at)))
            }
            Formula::And(parts) => parts.iter().all(|part| self.satisfies(part, state)),
            Formula::Or(parts) => parts.iter().any(|part| self.satisfies(part, state)),
        }
    }

    /// Memory for [`Projection::successors`].
    pub(super) fn walk(&self) -> ProjectionMemory {
        let count = self.vars.len();
        ProjectionMemory {
            values: vec![0; count],
            after: vec![Bits::default(); count],
            lists: vec![Vec::new(); count],
        }
    }

    /// Gives every other state that a transition leads to, with the number of its operator, until that fails.
    pub(super) fn successors<E>(
        &self,
        walk: &mut ProjectionMemory,
        state: u64,
        each: &mut impl FnMut(u32, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        for at in 0..self.vars.len() {
            walk.values[at] = self.value(state, at);
        }
        for operator in &self.operators {
            if !operator.preconditions.iter().all(|(at, bits)| bits.contains(walk.values[*at])) {
                continue;
            }
            for (after, &value) in walk.after.iter_mut().zip(&walk.values) {
                *after = Bits::one(value);
            }
            for effect in &operator.effects {
                let after = &mut walk.after[effect.at];
                match effect.condition {
                    Some((on, bits)) if !bits.contains(walk.values[on]) => {}
                    _ if effect.sure => *after = effect.values,
                    _ => *after = after.or(&effect.values),
                }
            }
            for ((list, after), weight) in walk.lists.iter_mut().zip(&walk.after).zip(&self.weights) {
                list.clear();
                list.extend(after.iter().map(|value| value as u64 * weight));
            }
            combine(&walk.lists, 0, &mut |to| {
                if to == state { Ok(()) } else { each(operator.operator, to) }
            })?;
        }
        Ok(())
    }
}

/// Every sum of one number from each list.
fn combine<E>(lists: &[Vec<u64>], sum: u64, each: &mut impl FnMut(u64) -> Result<(), E>) -> Result<(), E> {
    match lists {
        [] => each(sum),
        [rest @ .., last] => last.iter().try_for_each(|part| combine(rest, sum + part, each)),
    }
}

/// Memory that the successors of a state are computed in.
pub(super) struct ProjectionMemory {
    values: Vec<usize>,
    after: Vec<Bits>,
    lists: Vec<Vec<u64>>,
}

fn project(number: usize, operator: &Operator, vars: &[u32]) -> Option<Projected> {
    let place = |var: u32| vars.iter().position(|&v| v == var);
    let preconditions =
        operator.preconditions.iter().filter_map(|(var, bits)| Some((place(*var)?, *bits))).collect();
    let effects: Vec<ProjectedEffect> = (operator.effects.iter())
        .filter_map(|effect| {
            let at = place(effect.var)?;
            let values = effect.values;
            let (condition, sure) = match &effect.condition {
                None => (None, true),
                Some((var, bits)) => match place(*var) {
                    Some(on) => (Some((on, *bits)), true),
                    None => (None, false),
                },
            };
            Some(ProjectedEffect { at, condition, values, sure })
        })
        .collect();
    (!effects.is_empty()).then_some(Projected { operator: number as u32, preconditions, effects })
}
