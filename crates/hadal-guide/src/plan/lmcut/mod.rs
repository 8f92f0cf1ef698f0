//! LM-cut (Helmert and Domshlak 2009): disjunctive action landmarks, found as cuts in the justification graph of h^max, each
//! counted by its cheapest row, whose cost it uses up.
//!
//! Conditional effects are operators of one row and share its cost, so a cut lowers all of them: every landmark is a set of
//! rows of which each plan has one, and no cost is counted twice (Keyder, Hoffmann and Haslum 2012 discuss the splitting).
//! Rules and monitors cost nothing. A comparison of numbers that a row brings nearer by a fixed amount counts the row as
//! often as it takes (Kuroiwa et al. 2022, "LM-cut heuristics for optimal linear numeric planning"). Admissible and safe; not
//! consistent.

mod cuts;
mod graph;

pub use cuts::Cuts;

use super::relaxed::Relaxed;
use graph::Graph;
use hadal_system::guide::{Estimator, Guide, Promises};
use hadal_system::rows::RowTask;

/// The cheapest rows of numeric tasks count as so many units, so that parts of costs are not lost.
const UNITS: u32 = 240;
/// The dearest row counts as at most so many units.
const MOST_UNITS: u32 = 1 << 22;

/// LM-cut of a ground task.
pub struct LmCut<'s> {
    task: Relaxed<'s>,
    graph: Graph,
    /// What each operator costs, in units.
    costs: Vec<u32>,
    /// Units of a cost of one.
    units: u32,
}

impl<'s> LmCut<'s> {
    /// Of this relaxed task.
    pub fn new(task: Relaxed<'s>) -> Self {
        let graph = Graph::new(&task);
        let dearest = task.row_costs.iter().copied().max().unwrap_or(0).max(1);
        let units = if task.gains.is_empty() { 1 } else { (MOST_UNITS / dearest).clamp(1, UNITS) };
        let cost = |at: usize| task.costs.get(at).copied().unwrap_or(0).saturating_mul(units);
        let costs = (0..graph.operators()).map(cost).collect();
        LmCut { task, graph, costs, units }
    }

    /// Bytes that relaxing a task and finding cuts take, about: cuts have lists and arrays of their own.
    pub fn foreseen_bytes(task: &RowTask) -> u64 {
        Relaxed::foreseen_bytes(task).saturating_mul(2)
    }

    /// Something that estimates, for callers that know what they have.
    pub fn cuts(&self) -> Cuts<'_> {
        Cuts::new(self)
    }
}

impl Guide for LmCut<'_> {
    fn name(&self) -> String {
        "lmcut".to_owned()
    }

    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: false, safe: true, monotone: false }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(self.cuts())
    }
}
