//! The transitions of each variable's own graph with what they need of other variables.

use crate::task::{AbstractTask, Bits, Effect, Operator};

/// A step of one variable.
#[derive(Clone, Debug)]
pub struct Transition {
    /// Value before.
    pub from: u16,
    /// Value after.
    pub to: u16,
    /// Which operator it is.
    pub operator: u32,
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
    pub fn of(task: &AbstractTask) -> Option<Self> {
        let mut all: Vec<Vec<Transition>> = vec![Vec::new(); task.variables.len()];
        let mut conditions = Vec::new();
        let mut total = 0;
        for (n, operator) in task.operators.iter().enumerate() {
            for effect in &operator.effects {
                let var = effect.var;
                let variable = &task.variables[var as usize];
                if !variable.is_single() {
                    continue;
                }
                let first = conditions.len() as u32;
                let mut from = Bits::below(variable.values.len());
                for &(other, values) in operator.preconditions.iter().chain(&effect.condition) {
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
                        all[var as usize].push(Transition {
                            from,
                            to,
                            operator: n as u32,
                            conditions: range,
                        });
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

/// What the variables that each operator writes are after it has fired.
#[derive(Debug)]
pub struct Afters {
    /// By operator, each variable once.
    written: Vec<Vec<(u32, After)>>,
}

/// What a variable is afterwards.
#[derive(Debug)]
enum After {
    /// This, whatever it was.
    Always(u16),
    /// By what it was; as it was where what becomes of it is not sure.
    ByValue(Box<[u16]>),
}

impl Afters {
    /// Of all operators of a task. Indexed once, because an operator may have a row for each value of a wide variable, and an
    /// estimate looks at it for each of them.
    pub fn of(task: &AbstractTask) -> Self {
        let of_operator = |operator: &Operator| {
            let mut written: Vec<(u32, After)> = Vec::new();
            let single = |effect: &&Effect| task.variables[effect.var as usize].is_single();
            let mut effects: Vec<&Effect> = operator.effects.iter().filter(single).collect();
            // Stable: of several rows about a value the first counts.
            effects.sort_by_key(|effect| effect.var);
            for own in effects.chunk_by(|a, b| a.var == b.var) {
                let var = own[0].var;
                written.push((var, After::of(own, var, task.variables[var as usize].values.len())));
            }
            written
        };
        Afters { written: task.operators.iter().map(of_operator).collect() }
    }

    /// Tells the context, the values of `variables`, what an operator does to it.
    pub fn apply(&self, operator: u32, variables: &[u32], context: &mut [u16]) {
        for (var, after) in &self.written[operator as usize] {
            if let Ok(at) = variables.binary_search(var) {
                context[at] = match after {
                    After::Always(value) => *value,
                    After::ByValue(values) => values[context[at] as usize],
                };
            }
        }
    }
}

impl After {
    fn of(rows: &[&Effect], var: u32, count: usize) -> Self {
        let mut values: Vec<u16> = (0..count as u16).collect();
        let mut open = Bits::below(count);
        for effect in rows {
            let Some(value) = effect.values.only() else { continue };
            let when = match &effect.condition {
                None if open == Bits::below(count) => return After::Always(value as u16),
                None => open,
                Some((on, when)) if *on == var => open.and(when),
                Some(_) => continue,
            };
            when.iter().for_each(|before| values[before] = value as u16);
            open = open.iter().filter(|&before| !when.contains(before)).collect();
        }
        After::ByValue(values.into())
    }
}
