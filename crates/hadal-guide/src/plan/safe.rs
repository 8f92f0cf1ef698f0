//! Safe abstraction of ground tasks (Wehrle 2011, sec. 5.3; Haslum 2007): a variable whose rows ask for nothing but itself, and
//! whose values all reach each other, can always be brought to where it is needed. Its rows are left out, conditions on it
//! count as met, and its steps are put back into the plan.
//!
//! The smaller task has a plan exactly where the whole one has. A plan of it says nothing of what the whole one costs.

use hadal_system::rows::{Change, Need, Row, RowTask, Term};
use std::collections::VecDeque;

/// A task without its safe variables.
#[derive(Debug)]
pub struct Safe {
    /// What is left; the variables stay where they begin.
    pub task: RowTask,
    /// The number that each row has in the whole task.
    numbers: Vec<u32>,
    /// What was left out, in this order.
    removed: Vec<Part>,
}

/// A safe variable.
#[derive(Debug)]
struct Part {
    variable: u32,
    /// Its rows: which one, from which value, to which.
    moves: Vec<(u32, u32, u32)>,
    /// Its values that are ever taken.
    reached: Vec<bool>,
}

impl Safe {
    /// Leaves out what is safe, again and again: what depended on nothing else may be safe itself then. `None` where
    /// nothing is.
    pub fn of(whole: &RowTask) -> Option<Safe> {
        // Automata step on every state, so more steps may mean something else to them.
        if !whole.monitors.is_empty() {
            return None;
        }
        let mut look = Look {
            task: whole.clone(),
            alive: vec![true; whole.rows.len()],
            asked: asked(whole),
            removed: Vec::new(),
        };
        while look.pass() {}
        if look.removed.is_empty() {
            return None;
        }
        let Look { mut task, alive, removed, .. } = look;
        let numbers: Vec<u32> = (0..).zip(&alive).filter(|(_, alive)| **alive).map(|(at, _)| at).collect();
        let mut kept = alive.iter();
        // One for every row.
        task.rows.retain(|_| kept.next().copied().unwrap_or(false));
        Some(Safe { task, numbers, removed })
    }

    /// The names of the variables that were left out.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(|part| self.task.variables[part.variable as usize].name.as_str())
    }

    /// A plan of the whole task from one of the smaller one.
    pub fn lift(&self, whole: &RowTask, plan: &[u32]) -> Vec<u32> {
        let mut rows: Vec<u32> = plan.iter().map(|&row| self.numbers[row as usize]).collect();
        // What was left out last may ask for what was left out before.
        for part in self.removed.iter().rev() {
            let mut value = whole.variables[part.variable as usize].initial;
            let mut longer = Vec::with_capacity(rows.len());
            for row in rows {
                part.bring(&mut value, &whole.rows[row as usize].needs, &mut longer);
                longer.push(row);
            }
            part.bring(&mut value, &whole.goal, &mut longer);
            rows = longer;
        }
        rows
    }
}

impl Part {
    /// Moves the variable to the nearest value that the needs allow.
    fn bring(&self, value: &mut u32, needs: &[Need], rows: &mut Vec<u32>) {
        if allows(needs, self.variable, *value) {
            return;
        }
        let mut before: Vec<Option<(u32, u32)>> = vec![None; self.reached.len()];
        let mut open = VecDeque::from([*value]);
        while let Some(from) = open.pop_front() {
            if allows(needs, self.variable, from) {
                let (begun, at) = (rows.len(), *value);
                *value = from;
                let mut back = from;
                while let Some((row, earlier)) = before[back as usize].filter(|_| back != at) {
                    rows.push(row);
                    back = earlier;
                }
                rows[begun..].reverse();
                return;
            }
            for &(row, _, to) in self.moves.iter().filter(|&&(_, of, _)| of == from) {
                if to != *value && before[to as usize].is_none() {
                    before[to as usize] = Some((row, from));
                    open.push_back(to);
                }
            }
        }
    }
}

/// Whether conditions allow a value of a variable.
fn allows(needs: &[Need], variable: u32, value: u32) -> bool {
    needs.iter().all(|need| match *need {
        Need::Is(of, wanted) if of == variable => wanted == value,
        Need::IsNot(of, unwanted) if of == variable => unwanted != value,
        _ => true,
    })
}

/// The variable of a condition on one.
fn variable_of(need: Need) -> Option<u32> {
    match need {
        Need::Is(variable, _) | Need::IsNot(variable, _) => Some(variable),
        Need::Derived(_) | Need::NotDerived(_) | Need::Compares(_) => None,
    }
}

/// Variables that something else than the conditions of rows and the goal asks for: they stay.
fn asked(task: &RowTask) -> Vec<bool> {
    let mut asked = vec![false; task.variables.len()];
    let mut ask = |need: Need| {
        if let Some(variable) = variable_of(need) {
            asked[variable as usize] = true;
        }
    };
    task.rules.iter().flat_map(|rule| &rule.body).for_each(|&need| ask(need));
    let whens = task.rows.iter().flat_map(|row| row.effects.iter().flat_map(|effect| &effect.when));
    whens.for_each(|&need| ask(need));
    for term in &task.terms {
        if let Term::Holds(need) = *term {
            ask(need);
        }
    }
    asked
}

struct Look {
    task: RowTask,
    alive: Vec<bool>,
    asked: Vec<bool>,
    removed: Vec<Part>,
}

impl Look {
    /// Leaves out every variable that is safe now; whether there was one.
    fn pass(&mut self) -> bool {
        let mut moves: Vec<Option<Vec<u32>>> =
            self.asked.iter().map(|asked| (!asked).then(Vec::new)).collect();
        for (at, row) in (0u32..).zip(&self.task.rows).filter(|&(at, _)| self.alive[at as usize]) {
            for effect in &row.effects {
                let Change::Set(variable, _) = effect.change else { continue };
                let held = &mut moves[variable as usize];
                match is_own(row, &self.task, variable) {
                    true => held.iter_mut().for_each(|rows| rows.push(at)),
                    false => *held = None,
                }
            }
        }
        let mut found = false;
        for (variable, rows) in (0u32..).zip(moves) {
            if let Some(part) = rows.and_then(|rows| self.part(variable, &rows)) {
                self.leave_out(part);
                found = true;
            }
        }
        found
    }

    /// A variable with its rows, where all values that it takes reach each other.
    fn part(&self, variable: u32, rows: &[u32]) -> Option<Part> {
        let finite = &self.task.variables[variable as usize];
        let mut moves = Vec::new();
        for &at in rows {
            let row = &self.task.rows[at as usize];
            let to = row.effects.iter().rev().find_map(|effect| match effect.change {
                Change::Set(of, value) if of == variable => Some(value),
                _ => None,
            })?;
            let from = (0..finite.values.len() as u32).filter(|&value| allows(&row.needs, variable, value));
            moves.extend(from.map(|from| (at, from, to)));
        }
        moves.sort_unstable();
        moves.dedup();
        let reached = reach(finite.values.len(), finite.initial, moves.iter().map(|&(_, a, b)| (a, b)));
        moves.retain(|&(_, from, _)| reached[from as usize]);
        let back = reach(finite.values.len(), finite.initial, moves.iter().map(|&(_, a, b)| (b, a)));
        let several = reached.iter().filter(|&&reached| reached).count() > 1;
        let part = Part { variable, moves, reached };
        let safe = several && part.reached == back && part.can_allow(&self.task.goal);
        safe.then_some(part)
    }

    fn leave_out(&mut self, part: Part) {
        for &(row, ..) in &part.moves {
            self.alive[row as usize] = false;
        }
        let others = |need: &Need| variable_of(*need) != Some(part.variable);
        for (row, alive) in self.task.rows.iter_mut().zip(&mut self.alive).filter(|(_, alive)| **alive) {
            // A row that asks for what is never reached never fires.
            *alive = part.can_allow(&row.needs);
            row.needs.retain(others);
        }
        self.task.goal.retain(others);
        self.asked[part.variable as usize] = true;
        self.removed.push(part);
    }
}

impl Part {
    /// Whether some value that the variable takes is allowed.
    fn can_allow(&self, needs: &[Need]) -> bool {
        (0u32..).zip(&self.reached).any(|(value, &reached)| reached && allows(needs, self.variable, value))
    }
}

/// Whether a row asks for nothing and changes nothing but this variable, in every state alike.
fn is_own(row: &Row, task: &RowTask, variable: u32) -> bool {
    let fixed = row.cost.is_none_or(|cost| matches!(task.terms[cost as usize], Term::Constant(_)));
    fixed
        && !row.hidden
        && row.needs.iter().all(|&need| variable_of(need) == Some(variable))
        && row.effects.iter().all(|effect| {
            effect.when.is_empty() && matches!(effect.change, Change::Set(of, _) if of == variable)
        })
}

/// The values that edges lead to from one of them.
fn reach(values: usize, from: u32, edges: impl Iterator<Item = (u32, u32)>) -> Vec<bool> {
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); values];
    edges.for_each(|(a, b)| next[a as usize].push(b));
    let mut reached = vec![false; values];
    reached[from as usize] = true;
    let mut open = vec![from];
    while let Some(value) = open.pop() {
        for &to in &next[value as usize] {
            if !std::mem::replace(&mut reached[to as usize], true) {
                open.push(to);
            }
        }
    }
    reached
}
