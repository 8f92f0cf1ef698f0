//! Value iteration over states that are numbered without gaps and whose actions are made again in every sweep: nothing but
//! values is kept, two numbers a state. What the largest published tables need fits into RAM this way.

use crate::table::StateNumbers;
use crate::task::{Actions, Task, backup};

/// A task whose states have numbers from 0 on.
pub trait Ranked: Task {
    /// How many states.
    fn states(&self) -> u64;
    /// The state with this number.
    fn state(&self, rank: u64) -> u64;
    /// The number of a state.
    fn rank(&self, state: u64) -> u64;
    /// What the state with this number costs if it is terminal.
    fn terminal_at(&self, rank: u64) -> Option<f64> {
        self.terminal(self.state(rank))
    }
    /// What can be done in the state with this number; outcomes are numbers.
    fn actions_at(&self, rank: u64, out: &mut Actions) {
        self.actions(self.state(rank), out);
        out.rename(|state| self.rank(state));
    }
    /// Sweeps the states from `first` on; the greatest change, and how many edges leave them. `of` tells values before the sweep.
    fn update(&self, first: u64, new: &mut [f64], of: impl Fn(u64) -> f64) -> (f64, u64)
    where
        Self: Sized,
    {
        let mut actions = Actions::default();
        let (mut change, mut edges) = (0.0f64, 0);
        for (n, value) in new.iter_mut().enumerate() {
            let rank = first + n as u64;
            if let Some(terminal) = self.terminal_at(rank) {
                *value = terminal;
                continue;
            }
            actions.clear();
            self.actions_at(rank, &mut actions);
            let mut best = f64::INFINITY;
            for action in 0..actions.len() {
                let outcomes = actions.outcomes(action);
                edges += outcomes.len() as u64;
                let outcomes = outcomes.iter().map(|&(to, p)| (of(to), p));
                best = best.min(backup(self.kind(), actions.cost(action), outcomes));
            }
            change = change.max((best - of(rank)).abs());
            *value = best;
        }
        (change, edges)
    }
    /// No action leads to a number that differs by more.
    fn reach(&self) -> u64 {
        self.states()
    }
}

/// A task with a table of its states.
pub struct Tabled<T> {
    task: T,
    states: StateNumbers,
}

impl<T: Task> Tabled<T> {
    /// Explores a task; `None` where it has too many states to be numbered with 32 bits.
    pub fn explore(task: T) -> Option<Self> {
        let mut states = StateNumbers::new(1);
        states.number(&[task.initial()])?;
        let (mut actions, mut at) = (Actions::default(), 0);
        while at < states.len() {
            let state = states.state(at)[0];
            if task.terminal(state).is_none() {
                actions.clear();
                task.actions(state, &mut actions);
                for n in 0..actions.len() {
                    for &(to, _) in actions.outcomes(n) {
                        states.number(&[to])?;
                    }
                }
            }
            at += 1;
        }
        Some(Tabled { task, states })
    }
}

impl<T: Task> Task for Tabled<T> {
    fn initial(&self) -> u64 {
        self.task.initial()
    }
    fn terminal(&self, state: u64) -> Option<f64> {
        self.task.terminal(state)
    }
    fn actions(&self, state: u64, out: &mut Actions) {
        self.task.actions(state, out);
    }
    fn kind(&self) -> crate::task::Kind {
        self.task.kind()
    }
    fn estimate(&self, state: u64) -> f64 {
        self.task.estimate(state)
    }
}

impl<T: Task> Ranked for Tabled<T> {
    fn states(&self) -> u64 {
        self.states.len() as u64
    }
    fn state(&self, rank: u64) -> u64 {
        self.states.state(rank as usize)[0]
    }
    fn rank(&self, state: u64) -> u64 {
        // Whatever an action leads to was explored.
        self.states.find(&[state]).map_or(0, u64::from)
    }
}

/// Values of all states, before and after a sweep.
pub struct Implicit<'t, T> {
    task: &'t T,
    old: Vec<f64>,
    new: Vec<f64>,
    /// As the external algorithm counts them, from the first sweep on: one per state, action and outcome, and one to the initial
    /// state.
    pub edges: u64,
}

impl<'t, T: Ranked> Implicit<'t, T> {
    /// Begins with 0 everywhere but in terminal states.
    pub fn from_zero(task: &'t T) -> Self {
        let mut old = vec![0.0; task.states() as usize];
        for (rank, value) in old.iter_mut().enumerate() {
            *value = task.terminal_at(rank as u64).unwrap_or(0.0);
        }
        Implicit { task, new: old.clone(), old, edges: 0 }
    }

    /// One sweep, all values at once, by so many threads; the greatest change.
    pub fn sweep(&mut self, threads: usize) -> f64 {
        let (task, old) = (self.task, &self.old);
        let size = self.new.len().div_ceil(threads.max(1)).max(1);
        let parts: Vec<(f64, u64)> = std::thread::scope(|scope| {
            let chunks = self.new.chunks_mut(size).enumerate();
            let workers: Vec<_> = chunks
                .map(|(n, chunk)| {
                    scope.spawn(move || task.update((n * size) as u64, chunk, |rank| old[rank as usize]))
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap_or((f64::INFINITY, 0))).collect()
        });
        std::mem::swap(&mut self.old, &mut self.new);
        self.edges = 1 + parts.iter().map(|p| p.1).sum::<u64>();
        parts.iter().map(|p| p.0).fold(0.0, f64::max)
    }

    /// The value of the initial state.
    pub fn value(&self) -> f64 {
        self.old[self.task.rank(self.task.initial()) as usize]
    }
}
