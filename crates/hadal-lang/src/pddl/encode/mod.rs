//! From a ground task over atoms to a [`RowTask`] over variables with several values.

mod effects;
mod invariant;
mod lower;
mod numbers;
mod pairs;
mod prune;
mod relevance;
mod soft;
mod values;
mod variables;

use super::SoftGoals;
use super::ground::{GroundError, GroundTask};
use hadal_system::rows::RowTask;
use prune::Truth;
use variables::Variables;

/// Which rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Those that may help to reach the goal.
    Relevant,
    /// All that can fire: where rows are outcomes of chance, the bad ones count, too.
    All,
}

/// Encodes a ground task.
pub(crate) fn encode(mut task: GroundTask, goals: SoftGoals, keep: Rows) -> Result<RowTask, GroundError> {
    let mut truth = prune::prune(&mut task);
    let mut groups = invariant::groups(&task, &truth);
    if invariant::drop_excluded(&mut task, &groups) {
        truth = prune::prune(&mut task);
        for group in &mut groups {
            group.retain(|&atom| truth[atom as usize] == Truth::Open);
        }
    }
    let variables = Variables::cover(&task, &truth, groups);
    let mut rows = lower::lower(&task, &variables, goals).map_err(GroundError::Elsewhere)?;
    // Where steps are counted, one that changes nothing else may matter.
    if keep == Rows::Relevant && !task.soft.monitors.iter().any(|monitor| monitor.counts) {
        relevance::drop_irrelevant(&mut rows);
        if pairs::drop_unreachable(&mut rows) {
            relevance::drop_irrelevant(&mut rows);
        }
    }
    values::drop_unused(&mut rows);
    Ok(rows)
}
