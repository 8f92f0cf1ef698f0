//! Value iteration in RAM over the states of a [`Task`]: all values at once from the old ones (Jacobi), or one after the
//! other in place (Gauss-Seidel).

use crate::table::StateNumbers;
use crate::task::{Actions, Kind, Task, backup};
use crate::trial::{Found, Stop, has_circle};

/// The states of a task with everything that can be done in them.
#[derive(Debug)]
pub struct Explicit {
    kind: Kind,
    /// The states by number; the initial one is number 0.
    pub states: StateNumbers,
    first_action: Vec<u32>,
    costs: Vec<f64>,
    first_outcome: Vec<u32>,
    targets: Vec<u32>,
    probabilities: Vec<f64>,
    terminal: Vec<Option<f64>>,
}

/// When iteration ends, and how it begins.
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    /// It ends when no value changes by more.
    pub residual: f64,
    /// It ends after this many sweeps.
    pub most_sweeps: u64,
    /// All at once or in place.
    pub order: Order,
    /// The value of a state in which nothing can be done.
    pub dead_end: f64,
}

impl Default for Iteration {
    fn default() -> Self {
        Iteration { residual: 1e-4, most_sweeps: u64::MAX, order: Order::Jacobi, dead_end: f64::INFINITY }
    }
}

/// Which values a sweep reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of the sweep before.
    Jacobi,
    /// The newest.
    GaussSeidel,
}

/// What iteration found.
#[derive(Clone, Debug)]
pub struct Iterated {
    /// Values by state number.
    pub values: Vec<f64>,
    /// The greatest change of each sweep.
    pub residuals: Vec<f64>,
}

impl Iterated {
    /// How many sweeps.
    pub fn sweeps(&self) -> u64 {
        self.residuals.len() as u64
    }
}

/// Value iteration of all states that can be reached, until values hardly change or for so many sweeps, with the greatest change of
/// each sweep; none where there are too many states.
pub fn iterate(task: &dyn Task, order: Order, stop: Stop, most_sweeps: u64) -> Option<(Found, Vec<f64>)> {
    let explicit = Explicit::explore(task)?;
    let states = explicit.states.len() as u64;
    let most_sweeps = (stop.most_updates / states.max(1)).max(1).min(most_sweeps);
    let iteration = Iteration { residual: stop.residual, order, dead_end: stop.dead_end, most_sweeps };
    let iterated = explicit.iterate(task, iteration);
    let converged = iterated.residuals.last().is_none_or(|last| *last <= stop.residual);
    let updates = iterated.sweeps() * states;
    let (value, idles) = (iterated.values[0], explicit.idles(stop.residual));
    Some((Found { value, states, updates, converged, idles }, iterated.residuals))
}

impl Explicit {
    /// Explores a task; `None` where it has too many states to be numbered with 32 bits.
    pub fn explore(task: &dyn Task) -> Option<Self> {
        let mut this = Explicit {
            kind: task.kind(),
            states: StateNumbers::new(1),
            first_action: vec![0],
            costs: Vec::new(),
            first_outcome: vec![0],
            targets: Vec::new(),
            probabilities: Vec::new(),
            terminal: Vec::new(),
        };
        this.states.number(&[task.initial()])?;
        let mut actions = Actions::default();
        let mut at = 0;
        while at < this.states.len() {
            let state = this.states.state(at)[0];
            let terminal = task.terminal(state);
            this.terminal.push(terminal);
            if terminal.is_none() {
                actions.clear();
                task.actions(state, &mut actions);
                for n in 0..actions.len() {
                    for &(to, probability) in actions.outcomes(n) {
                        this.targets.push(this.states.number(&[to])?);
                        this.probabilities.push(probability);
                    }
                    this.costs.push(actions.cost(n));
                    this.first_outcome.push(u32::try_from(this.targets.len()).ok()?);
                }
            }
            this.first_action.push(this.costs.len() as u32);
            at += 1;
        }
        Some(this)
    }

    /// Edges as the external algorithm counts them: one per state, action and outcome, and one to the initial state.
    pub fn edges(&self) -> u64 {
        self.targets.len() as u64 + 1
    }

    /// Whether steps that cost no more than `residual` lead in a circle.
    pub fn idles(&self, residual: f64) -> bool {
        let free = |state: usize| {
            let actions = self.first_action[state] as usize..self.first_action[state + 1] as usize;
            let outcomes = |a: usize| self.first_outcome[a] as usize..self.first_outcome[a + 1] as usize;
            actions
                .filter(|&a| self.costs[a] <= residual)
                .flat_map(outcomes)
                .map(|n| self.targets[n])
                .collect()
        };
        has_circle(self.states.len(), free)
    }

    /// The value of a state by its best action under `values`, and which action that is.
    pub fn best(&self, state: usize, values: &[f64], dead_end: f64) -> (f64, Option<u32>) {
        if let Some(value) = self.terminal[state] {
            return (value, None);
        }
        let mut best = (dead_end, None);
        let first = self.first_action[state];
        for action in first..self.first_action[state + 1] {
            let range = self.first_outcome[action as usize] as usize
                ..self.first_outcome[action as usize + 1] as usize;
            let outcomes = range.map(|n| (values[self.targets[n] as usize], self.probabilities[n]));
            let value = backup(self.kind, self.costs[action as usize], outcomes);
            if value < best.0 || best.1.is_none() && value <= best.0 {
                best = (value, Some(action - first));
            }
        }
        best
    }

    /// Iterates from the task's estimates.
    pub fn iterate(&self, task: &dyn Task, iteration: Iteration) -> Iterated {
        let n = self.states.len();
        let mut values: Vec<f64> = (0..n)
            .map(|s| {
                self.terminal[s]
                    .unwrap_or_else(|| task.estimate(self.states.state(s)[0]).min(iteration.dead_end))
            })
            .collect();
        let mut next = values.clone();
        let mut residuals = Vec::new();
        while (residuals.len() as u64) < iteration.most_sweeps {
            let mut residual = 0.0f64;
            for state in 0..n {
                let (value, _) = self.best(state, &values, iteration.dead_end);
                let change = (value - values[state]).abs();
                // Infinity less infinity is no change.
                residual = residual.max(if change.is_nan() { 0.0 } else { change });
                match iteration.order {
                    Order::Jacobi => next[state] = value,
                    Order::GaussSeidel => values[state] = value,
                }
            }
            if iteration.order == Order::Jacobi {
                std::mem::swap(&mut values, &mut next);
            }
            residuals.push(residual);
            if residual <= iteration.residual {
                break;
            }
        }
        Iterated { values, residuals }
    }

    /// How many states the greedy policy of `values` can visit.
    pub fn policy_size(&self, values: &[f64]) -> u64 {
        let mut seen = vec![false; self.states.len()];
        let mut open = vec![0usize];
        seen[0] = true;
        let mut count = 0;
        while let Some(state) = open.pop() {
            count += 1;
            if let (_, Some(action)) = self.best(state, values, f64::INFINITY) {
                let action = (self.first_action[state] + action) as usize;
                for n in self.first_outcome[action] as usize..self.first_outcome[action + 1] as usize {
                    let target = self.targets[n] as usize;
                    if !std::mem::replace(&mut seen[target], true) {
                        open.push(target);
                    }
                }
            }
        }
        count
    }
}
