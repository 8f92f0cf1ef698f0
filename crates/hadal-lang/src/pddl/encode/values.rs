//! Drops values that no variable ever takes, so that conditions name as few as possible.

use hadal_system::rows::{Change, Need, RowTask, Term};

/// Drops the last value ("none of these") of variables that never have it; excluding one of two values is having the other.
pub(crate) fn drop_unused(task: &mut RowTask) {
    let mut used: Vec<bool> = task
        .variables
        .iter()
        .map(|v| v.values.len() <= 2 || v.initial as usize + 1 == v.values.len())
        .collect();
    let last: Vec<u32> = task.variables.iter().map(|v| v.values.len() as u32 - 1).collect();
    for effect in task.rows.iter().flat_map(|row| &row.effects) {
        if let Change::Set(variable, value) = effect.change {
            used[variable as usize] |= value == last[variable as usize];
        }
    }
    for monitor in &task.monitors {
        used[monitor.variable as usize] = true;
    }
    for (variable, used) in task.variables.iter_mut().zip(&used) {
        if !used {
            variable.values.pop();
        }
    }
    let two: Vec<bool> = task.variables.iter().map(|variable| variable.values.len() == 2).collect();
    let mend = |need: &mut Need| {
        if let Need::IsNot(variable, value) = *need
            && two[variable as usize]
        {
            *need = Need::Is(variable, 1 - value);
        }
    };
    for row in &mut task.rows {
        row.needs.iter_mut().for_each(mend);
        row.effects.iter_mut().for_each(|effect| effect.when.iter_mut().for_each(mend));
    }
    task.rules.iter_mut().for_each(|rule| rule.body.iter_mut().for_each(mend));
    task.goal.iter_mut().for_each(mend);
    for (_, needs, _) in task.monitors.iter_mut().flat_map(|monitor| &mut monitor.steps) {
        needs.iter_mut().for_each(mend);
    }
    for term in &mut task.terms {
        if let Term::Holds(need) = term {
            mend(need);
        }
    }
}
