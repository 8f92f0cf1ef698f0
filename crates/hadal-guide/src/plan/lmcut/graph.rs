//! The relaxed task as landmark cuts see it, in flat arrays.

use crate::plan::relaxed::{Lists, NO_ROW, Relaxed};

/// The task with one goal fact, behind an operator that needs the goal, and one fact that everything may need.
pub(super) struct Graph {
    /// The goal fact, the last of all.
    pub(super) goal: u32,
    /// How many facts each operator needs.
    pub(super) counts: Vec<u32>,
    needs: Lists,
    adds: Lists,
    needed_by: Lists,
    added_by: Lists,
    by_row: Lists,
}

impl Graph {
    pub(super) fn new(task: &Relaxed) -> Self {
        let facts = task.facts();
        let (always, goal) = (facts as u32, facts as u32 + 1);
        let count = task.operators();
        let mut needs: Vec<Vec<u32>> = Vec::with_capacity(count + 1);
        let mut adds: Vec<Vec<u32>> = Vec::with_capacity(count + 1);
        for operator in 0..count as u32 {
            let own = task.needs.get(operator);
            needs.push(if own.is_empty() { vec![always] } else { own.to_vec() });
            adds.push(task.adds.get(operator).to_vec());
        }
        needs.push(if task.goal.is_empty() { vec![always] } else { task.goal.clone() });
        adds.push(vec![goal]);
        let mut by_row = vec![Vec::new(); task.row_costs.len()];
        for (operator, &row) in task.rows.iter().enumerate() {
            if row != NO_ROW {
                by_row[row as usize].push(operator as u32);
            }
        }
        let counts = needs.iter().map(|needs| needs.len() as u32).collect();
        let (needs, adds) = (Lists::of(&needs), Lists::of(&adds));
        let (needed_by, added_by) = (needs.turned(facts + 2), adds.turned(facts + 2));
        Graph { goal, counts, needs, adds, needed_by, added_by, by_row: Lists::of(&by_row) }
    }

    /// How many operators there are; the last one reaches the goal.
    pub(super) fn operators(&self) -> usize {
        self.counts.len()
    }

    #[inline]
    pub(super) fn needs(&self, operator: u32) -> &[u32] {
        self.needs.get(operator)
    }

    #[inline]
    pub(super) fn adds(&self, operator: u32) -> &[u32] {
        self.adds.get(operator)
    }

    #[inline]
    pub(super) fn needed_by(&self, fact: u32) -> &[u32] {
        self.needed_by.get(fact)
    }

    #[inline]
    pub(super) fn added_by(&self, fact: u32) -> &[u32] {
        self.added_by.get(fact)
    }

    /// The operators of a row.
    #[inline]
    pub(super) fn by_row(&self, row: u32) -> &[u32] {
        self.by_row.get(row)
    }
}
