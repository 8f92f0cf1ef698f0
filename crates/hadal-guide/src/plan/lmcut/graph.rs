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
        let (mut needs, mut adds, mut rows) = (Lists::default(), Lists::default(), Lists::default());
        let something = |own| if <[u32]>::is_empty(own) { std::slice::from_ref(&always) } else { own };
        for operator in 0..count as u32 {
            needs.push(something(task.needs.get(operator)));
            adds.push(task.adds.get(operator));
            let row = &task.rows[operator as usize];
            rows.push(if *row == NO_ROW { &[] } else { std::slice::from_ref(row) });
        }
        needs.push(something(&task.goal));
        adds.push(&[goal]);
        let counts = (0..=count as u32).map(|at| needs.get(at).len() as u32).collect();
        let (needed_by, added_by) = (needs.turned(facts + 2), adds.turned(facts + 2));
        Graph { goal, counts, needs, adds, needed_by, added_by, by_row: rows.turned(task.row_costs.len()) }
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
