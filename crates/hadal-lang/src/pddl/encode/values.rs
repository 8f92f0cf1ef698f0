//! Drops values that no variable ever takes, so that conditions name as few as possible.

use hadal_system::rows::{Change, Effect, Need, RowTask, Term};

/// Drops values that no variable ever takes and no condition asks for; excluding one of two values is having the other.
pub(crate) fn drop_unused(task: &mut RowTask) {
    let mut used: Vec<Vec<bool>> = task.variables.iter().map(|v| vec![false; v.values.len()]).collect();
    for (variable, used) in task.variables.iter().zip(&mut used) {
        used[variable.initial as usize] = true;
    }
    for effect in task.rows.iter().flat_map(|row| &row.effects) {
        if let Change::Set(variable, value) = effect.change {
            used[variable as usize][value as usize] = true;
        }
    }
    task.monitors.iter().for_each(|monitor| used[monitor.variable as usize].fill(true));
    each_need(task, |need| {
        if let Need::Is(variable, value) = *need
            && let Some(used) = used[variable as usize].get_mut(value as usize)
        {
            *used = true;
        }
    });
    // One value alone would be no variable; conditions on it are left as they are.
    used.iter_mut().filter(|used| used.len() <= 2).for_each(|used| used.fill(true));
    let places: Vec<Vec<u32>> = used
        .iter()
        .map(|used| {
            let place = |(at, &used): (usize, &bool)| if used { at as u32 } else { u32::MAX };
            let mut next = 0;
            used.iter()
                .enumerate()
                .map(place)
                .map(|at| {
                    if at == u32::MAX {
                        at
                    } else {
                        next += 1;
                        next - 1
                    }
                })
                .collect()
        })
        .collect();
    let place = |variable: u32, value: u32| {
        places[variable as usize].get(value as usize).copied().unwrap_or(u32::MAX)
    };
    for ((variable, used), number) in task.variables.iter_mut().zip(&used).zip(0..) {
        let mut used = used.iter();
        variable.initial = place(number, variable.initial);
        variable.values.retain(|_| used.next() == Some(&true));
    }
    for effect in task.rows.iter_mut().flat_map(|row| &mut row.effects) {
        if let Change::Set(variable, value) = &mut effect.change {
            *value = place(*variable, *value);
        }
    }
    each_need(task, |need| {
        if let Need::Is(variable, value) | Need::IsNot(variable, value) = need {
            *value = place(*variable, *value);
        }
    });
    // No state has a value that is gone.
    let open = |need: &Need| !matches!(need, Need::IsNot(_, u32::MAX));
    for row in &mut task.rows {
        row.needs.retain(open);
        row.effects.iter_mut().for_each(|effect| effect.when.retain(open));
    }
    task.rules.iter_mut().for_each(|rule| rule.body.retain(open));
    task.goal.retain(open);
    task.monitors
        .iter_mut()
        .flat_map(|monitor| &mut monitor.steps)
        .for_each(|(_, needs, _)| needs.retain(open));
    for term in &mut task.terms {
        if matches!(term, Term::Holds(need) if !open(need)) {
            *term = Term::Constant(1.into());
        }
    }
    let two: Vec<bool> = task.variables.iter().map(|variable| variable.values.len() == 2).collect();
    each_need(task, |need| {
        if let Need::IsNot(variable, value) = *need
            && two[variable as usize]
        {
            *need = Need::Is(variable, 1 - value);
        }
    });
}

/// A variable of two values that is set to one of them where it has the other is set in any case: such are deletes of facts
/// that a row does not need.
pub(crate) fn drop_own_conditions(task: &mut RowTask) {
    for row in &mut task.rows {
        for at in 0..row.effects.len() {
            let (earlier, rest) = row.effects.split_at_mut(at);
            let Change::Set(variable, value) = rest[0].change else { continue };
            // What an earlier effect sets must stay where this one does not happen.
            let is_set = |effect: &Effect| matches!(effect.change, Change::Set(of, to) if of == variable && to != value);
            if task.variables[variable as usize].values.len() == 2 && !earlier.iter().any(is_set) {
                rest[0].when.retain(|need| match *need {
                    Need::Is(of, had) => of != variable || had == value,
                    Need::IsNot(of, had) => of != variable || had != value,
                    _ => true,
                });
            }
        }
    }
}

/// Every conjunct of every condition.
fn each_need(task: &mut RowTask, mut with: impl FnMut(&mut Need)) {
    for row in &mut task.rows {
        row.needs.iter_mut().for_each(&mut with);
        row.effects.iter_mut().for_each(|effect| effect.when.iter_mut().for_each(&mut with));
    }
    task.rules.iter_mut().for_each(|rule| rule.body.iter_mut().for_each(&mut with));
    task.goal.iter_mut().for_each(&mut with);
    for (_, needs, _) in task.monitors.iter_mut().flat_map(|monitor| &mut monitor.steps) {
        needs.iter_mut().for_each(&mut with);
    }
    for term in &mut task.terms {
        if let Term::Holds(need) = term {
            with(need);
        }
    }
}
