//! How large the relaxation of a task becomes, before it is made.

use super::build::numbers_of;
use hadal_system::rows::{Change, Need, RowTask};
use std::collections::{HashMap, HashSet};

/// What the lists of a relaxed task hold, at most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    facts: u64,
    rows: u64,
    operators: u64,
    needs: u64,
    adds: u64,
}

impl Size {
    pub(super) fn of(task: &RowTask) -> Self {
        let differing = differing_values(task);
        let readers = readers(task);
        let sides = 2 * task.comparisons.len() as u64;
        let values: usize = task.variables.iter().map(|variable| variable.values.len()).sum();
        let differs: u64 = differing.values().sum();
        let mut size = Size {
            facts: values as u64 + task.derived.len() as u64 + differs + sides,
            rows: task.rows.len() as u64,
            ..Size::default()
        };
        let adds_of = |variable: u32| 1 + differing.get(&variable).copied().unwrap_or(0);
        for row in &task.rows {
            let needs = row.needs.len() as u64;
            let mut unconditional = false;
            for effect in &row.effects {
                let operators = match effect.change {
                    Change::Set(variable, _) => {
                        size.adds += adds_of(variable);
                        u64::from(!effect.when.is_empty() || !std::mem::replace(&mut unconditional, true))
                    }
                    Change::Assign(number, _) | Change::Increase(number, _) => {
                        let comparisons = 2 * readers.get(&number).copied().unwrap_or(0);
                        size.adds += comparisons;
                        comparisons
                    }
                };
                size.operators += operators;
                size.needs += operators * (needs + effect.when.len() as u64);
            }
        }
        for rule in &task.rules {
            size.operator(rule.body.len() as u64, 1);
        }
        for monitor in &task.monitors {
            for (_, needs, _) in &monitor.steps {
                size.operator(needs.len() as u64 + 1, adds_of(monitor.variable));
            }
        }
        size
    }

    fn operator(&mut self, needs: u64, adds: u64) {
        self.operators += 1;
        self.needs += needs;
        self.adds += adds;
    }

    /// The lists and their reverse, those that grow with room to spare; what belongs to operators, rows and facts; and the
    /// same of one exploration.
    pub(super) fn bytes(self) -> u64 {
        (self.needs + self.adds) * (4 + 8)
            + self.operators * (2 * 8 + 4 + 8 + 4 + 12)
            + self.rows * 12
            + self.facts * 40
    }
}

/// Of each variable, how many of its values conditions want it not to have.
fn differing_values(task: &RowTask) -> HashMap<u32, u64> {
    let mut seen: HashSet<(u32, u32)> = HashSet::new();
    let whens = task.rows.iter().flat_map(|row| row.effects.iter().flat_map(|effect| &effect.when));
    let steps = task.monitors.iter().flat_map(|monitor| monitor.steps.iter().flat_map(|(_, needs, _)| needs));
    let bodies = task.rules.iter().flat_map(|rule| &rule.body);
    let needs = task.rows.iter().flat_map(|row| &row.needs);
    for need in needs.chain(whens).chain(bodies).chain(steps).chain(&task.goal) {
        if let Need::IsNot(variable, value) = *need {
            seen.insert((variable, value));
        }
    }
    let mut counts = HashMap::new();
    seen.into_iter().for_each(|(variable, _)| *counts.entry(variable).or_insert(0) += 1);
    counts
}

/// Of each number, how many comparisons read it.
fn readers(task: &RowTask) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    for comparison in &task.comparisons {
        for number in numbers_of(task, comparison.term) {
            *counts.entry(number).or_insert(0) += 1;
        }
    }
    counts
}
