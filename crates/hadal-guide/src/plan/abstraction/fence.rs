//! What abstractions see of a task: finite variables that no monitor steps, and what rows ask and do there.

use hadal_exec::rows::RowSpace;
use hadal_system::rows::{Change, Need};

/// The task, as abstractions see it.
pub(super) struct Fence<'s> {
    pub(super) space: &'s RowSpace,
    /// The number of values of each variable; 1 where it is out of sight.
    pub(super) sizes: Vec<u32>,
    /// The rows that may change each variable.
    pub(super) changed_by: Vec<Vec<u32>>,
    /// The values that are goals, by variable.
    pub(super) goal: Vec<(u32, Wanted)>,
    /// Whether some row changes a variable under a condition of the effect.
    pub(super) conditional: bool,
}

/// A condition on one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Wanted {
    /// This value.
    Is(u32),
    /// Any other value.
    IsNot(u32),
}

impl Wanted {
    pub(super) fn allows(self, value: u32) -> bool {
        match self {
            Wanted::Is(wanted) => value == wanted,
            Wanted::IsNot(barred) => value != barred,
        }
    }
}

impl<'s> Fence<'s> {
    pub(super) fn new(space: &'s RowSpace) -> Self {
        let task = space.task();
        let mut sizes: Vec<u32> =
            task.variables.iter().map(|variable| variable.values.len() as u32).collect();
        task.monitors.iter().for_each(|monitor| sizes[monitor.variable as usize] = 1);
        let mut changed_by = vec![Vec::new(); sizes.len()];
        let mut conditional = false;
        for (row, number) in task.rows.iter().zip(0u32..) {
            for effect in &row.effects {
                if let Change::Set(variable, _) = effect.change {
                    let rows: &mut Vec<u32> = &mut changed_by[variable as usize];
                    if rows.last() != Some(&number) {
                        rows.push(number);
                    }
                    conditional |= !effect.when.is_empty();
                }
            }
        }
        let goal = wanted(&task.goal).filter(|&(variable, _)| sizes[variable as usize] > 1).collect();
        Fence { space, sizes, changed_by, goal, conditional }
    }

    pub(super) fn is_seen(&self, variable: u32) -> bool {
        self.sizes[variable as usize] > 1
    }
}

/// What a condition asks of finite variables.
pub(super) fn wanted(needs: &[Need]) -> impl Iterator<Item = (u32, Wanted)> + '_ {
    needs.iter().filter_map(|need| match *need {
        Need::Is(variable, value) => Some((variable, Wanted::Is(value))),
        Need::IsNot(variable, value) => Some((variable, Wanted::IsNot(value))),
        _ => None,
    })
}
