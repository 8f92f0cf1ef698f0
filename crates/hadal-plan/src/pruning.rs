//! Stubborn sets for searches on disk. Whether they pay is found out on the first states, before the search begins: every
//! thread and every sitting must prune alike, because states are expanded again to rebuild a plan.

use crate::astar::PRUNING_SHARE;
use crate::states::States;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_guide::plan::{Pruned, Stubborn};
use hadal_system::StateSpace;

/// Prunes the transitions of one thread.
pub(crate) struct Pruning {
    stubborn: Stubborn,
    rows: Vec<u32>,
    next: Vec<u64>,
}

impl Pruning {
    /// For a task where pruning pays, on so many threads with so much memory.
    pub(crate) fn that_pays(space: &RowSpace, threads: usize, memory: u64) -> Option<Pruning> {
        let stubborn = Stubborn::new(space, memory / PRUNING_SHARE / threads.max(1) as u64)?;
        let mut pruning = Pruning { stubborn, rows: Vec::new(), next: vec![0; space.words()] };
        let mut pruned = Pruned::default();
        let mut worker = space.row_worker();
        let mut states = States::new(space.words());
        states.insert(space.initial());
        let mut at = 0;
        while at < states.len() && !pruned.is_tried() {
            let state = states.get(at).to_vec();
            pruning.prune(&mut worker, &state, &mut pruned);
            for &row in &pruning.rows {
                if let Firing::Reached(_) = worker.fire(&state, row, &mut pruning.next) {
                    states.insert(&pruning.next);
                }
            }
            at += 1;
        }
        pruned.pays().then_some(pruning)
    }

    /// The same for another thread.
    pub(crate) fn another(&self) -> Pruning {
        Pruning { stubborn: self.stubborn.another(), rows: Vec::new(), next: vec![0; self.next.len()] }
    }

    /// Calls `found` with every row that is left in `state`, and where it leads.
    pub(crate) fn expand(
        &mut self,
        worker: &mut RowWorker,
        state: &[u64],
        mut found: impl FnMut(u32, Firing, &[u64]),
    ) {
        self.prune(worker, state, &mut Pruned::default());
        for &row in &self.rows {
            let firing = worker.fire(state, row, &mut self.next);
            found(row, firing, &self.next);
        }
    }

    fn prune(&mut self, worker: &mut RowWorker, state: &[u64], pruned: &mut Pruned) {
        worker.applicable(state, &mut self.rows);
        self.stubborn.prune(state, &mut self.rows, pruned);
    }
}
