//! The transitions of each variable's own graph with what they need of other variables.

use crate::task::{Bits, Task, Way};

/// A step of one variable.
#[derive(Clone, Debug)]
pub struct Transition {
    /// Value before.
    pub from: u16,
    /// Value after.
    pub to: u16,
    /// Which way to fire it is.
    pub way: u32,
    /// First and end of its conditions.
    conditions: (u32, u32),
}

/// What a transition needs of another variable.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Which one.
    pub var: u32,
    /// What it must be.
    pub values: Bits,
}

/// The graphs of all variables that stand for one scalar.
#[derive(Debug)]
pub struct Transitions {
    list: Vec<Transition>,
    conditions: Vec<Condition>,
    /// By variable and value: first and end in `list`.
    starts: Vec<Vec<u32>>,
}

/// More transitions than this are not built.
const MAX_TRANSITIONS: usize = 1_500_000;

impl Transitions {
    /// The graphs of a task; `None` where they are too large.
    pub fn of(task: &Task) -> Option<Self> {
        let mut all: Vec<Vec<Transition>> = vec![Vec::new(); task.variables.len()];
        let mut conditions = Vec::new();
        let mut total = 0;
        for (n, way) in task.ways.iter().enumerate() {
            for effect in &way.effects {
                let var = effect.var;
                let variable = &task.variables[var as usize];
                if !variable.is_single() {
                    continue;
                }
                let first = conditions.len() as u32;
                let mut from = Bits::below(variable.values.len());
                for &(other, values) in way.demands.iter().chain(&effect.condition) {
                    if other == var {
                        from = from.and(&values);
                    } else if task.variables[other as usize].is_single() {
                        let known =
                            conditions[first as usize..].iter_mut().find(|c: &&mut Condition| c.var == other);
                        match known {
                            Some(condition) => condition.values = condition.values.and(&values),
                            None => conditions.push(Condition { var: other, values }),
                        }
                    }
                }
                let range = (first, conditions.len() as u32);
                for from in from.iter() {
                    for to in effect.values.iter().filter(|&to| to != from) {
                        total += 1;
                        if total > MAX_TRANSITIONS {
                            return None;
                        }
                        let (from, to) = (from as u16, to as u16);
                        all[var as usize].push(Transition { from, to, way: n as u32, conditions: range });
                    }
                }
            }
        }
        let (mut list, mut starts) = (Vec::with_capacity(total), Vec::new());
        for (var, mut own) in all.into_iter().enumerate() {
            own.sort_by_key(|t| t.from);
            let mut firsts = Vec::new();
            for value in 0..=task.variables[var].values.len() {
                firsts.push((list.len() + own.partition_point(|t| (t.from as usize) < value)) as u32);
            }
            starts.push(firsts);
            list.extend(own);
        }
        Some(Transitions { list, conditions, starts })
    }

    /// The transitions of a variable out of a value.
    pub fn out_of(&self, var: u32, value: usize) -> std::ops::Range<u32> {
        self.starts[var as usize][value]..self.starts[var as usize][value + 1]
    }

    /// All transitions of a variable.
    pub fn of_variable(&self, var: u32) -> &[Transition] {
        let starts = &self.starts[var as usize];
        &self.list[starts[0] as usize..starts[starts.len() - 1] as usize]
    }

    /// The number of a variable's first transition.
    pub fn first(&self, var: u32) -> u32 {
        self.starts[var as usize][0]
    }

    /// A transition.
    pub fn get(&self, n: u32) -> &Transition {
        &self.list[n as usize]
    }

    /// What a transition needs of other variables.
    pub fn conditions(&self, transition: &Transition) -> &[Condition] {
        &self.conditions[transition.conditions.0 as usize..transition.conditions.1 as usize]
    }
}

/// What a variable is after a way has fired, when it was `before`; as it was where that is not sure.
pub fn after(way: &Way, var: u32, before: u16) -> u16 {
    for effect in way.effects.iter().filter(|effect| effect.var == var) {
        let applies = match &effect.condition {
            None => true,
            Some((on, values)) => *on == var && values.contains(before as usize),
        };
        if applies && let Some(value) = effect.values.only() {
            return value as u16;
        }
    }
    before
}
