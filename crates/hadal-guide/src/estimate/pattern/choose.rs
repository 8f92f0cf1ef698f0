//! Which variables a pattern has: those that are named, or those that what is looked for depends on most.

use super::projection::values_of;
use crate::estimate::causal::arcs;
use crate::task::{AbstractTask, Formula};
use hadal_exec::Model;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Chooses the variables of patterns.
pub(super) struct Chooser<'t> {
    task: &'t AbstractTask,
    arcs: BTreeMap<(u32, u32), u32>,
}

impl<'t> Chooser<'t> {
    pub(super) fn new(task: &'t AbstractTask) -> Self {
        Chooser { task, arcs: arcs(task) }
    }

    /// The variables of a goal, then those that what is in depends on most, up to so many combinations of values.
    pub(super) fn choose(&self, goal: &Formula, most: u64) -> Vec<u32> {
        let task = self.task;
        let mut vars: Vec<u32> = Vec::new();
        let fits = |vars: &[u32], var: u32| {
            let size = combinations(task, vars).saturating_mul(values_of(task, var));
            task.variables[var as usize].is_single() && !vars.contains(&var) && size <= most
        };
        goal.each_atom(&mut |var, _| {
            if fits(&vars, var) {
                vars.push(var);
            }
        });
        loop {
            let candidates = (0..task.variables.len() as u32).filter(|&var| fits(&vars, var));
            let weight = |from: u32| -> u64 {
                vars.iter().filter_map(|&to| self.arcs.get(&(from, to))).map(|&w| u64::from(w)).sum()
            };
            let best = candidates.map(|var| (weight(var), Reverse(var))).max();
            match best {
                Some((weight, Reverse(var))) if weight > 0 => vars.push(var),
                _ => return vars,
            }
        }
    }
}

/// How many combinations the values of some variables have.
pub(super) fn combinations(task: &AbstractTask, vars: &[u32]) -> u64 {
    vars.iter().fold(1u64, |size, &var| size.saturating_mul(values_of(task, var)))
}

/// The variables whose names stand in a list.
pub(super) fn named(model: &Model, task: &AbstractTask, list: &str) -> Result<Vec<u32>, String> {
    let mut vars = Vec::new();
    for name in list.split(',').map(str::trim) {
        match task.variables.iter().position(|variable| variable.name == name) {
            Some(var) if !task.variables[var].is_single() => {
                return Err(format!("`{name}` is part of a multiset"));
            }
            Some(var) if !vars.contains(&(var as u32)) => vars.push(var as u32),
            Some(_) => {}
            None if model.system().slots().iter().any(|(slot, _)| slot == name) => {
                return Err(format!("`{name}` does not matter here, or has too many values"));
            }
            None => return Err(format!("no scalar is called `{name}`")),
        }
    }
    Ok(vars)
}
