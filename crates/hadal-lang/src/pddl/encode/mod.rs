//! From a ground task over atoms to a [`RowTask`] over variables with several values.

mod effects;
mod invariant;
mod lower;
mod numbers;
mod pairs;
mod prune;
mod relevance;
mod sharpen;
mod soft;
mod table;
mod values;
mod variables;

use super::SoftGoals;
use super::ground::{GroundError, GroundTask, RowError};
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

/// Groups of atoms of which at most one is true.
type Groups = Vec<Vec<u32>>;

/// Encodes a ground task.
pub(crate) fn encode(mut task: GroundTask, goals: SoftGoals, keep: Rows) -> Result<RowTask, GroundError> {
    task.has_room(prune::foreseen_bytes(&task))?;
    let mut truth = prune::prune(&mut task);
    let mut groups = invariant::groups(&task, &truth);
    if invariant::drop_excluded(&mut task, &groups) {
        truth = prune::prune(&mut task);
        for group in &mut groups {
            group.retain(|&atom| truth[atom as usize] == Truth::Open);
        }
    }
    let variables = Variables::cover(&task, &truth, groups);
    let (rows, wider) = lowered(&task, &variables, goals, keep)?;
    let Some(wider) = wider else { return Ok(rows) };
    let variables = Variables::cover(&task, &truth, wider);
    task.has_room(2 * rows.bytes())?;
    let (sharper, _) = lowered(&task, &variables, goals, keep)?;
    let (before, after) = (sharpen::size(&rows), sharpen::size(&sharper));
    Ok(if after.0 <= before.0 && after.1 < before.1 { sharper } else { rows })
}

/// The task over variables, without what no plan has; and groups that are wider than those behind the variables.
fn lowered(
    task: &GroundTask,
    variables: &Variables,
    goals: SoftGoals,
    keep: Rows,
) -> Result<(RowTask, Option<Groups>), GroundError> {
    let mut rows = lower::lower(task, variables, goals).map_err(|error| match error {
        RowError::Excess(excess) => GroundError::Excess(excess),
        error => GroundError::Elsewhere(error),
    })?;
    task.has_room(rows.bytes() + pairs::foreseen_bytes(&rows))?;
    values::drop_own_conditions(&mut rows);
    let mut wider = None;
    // Where steps are counted, one that changes nothing else may matter.
    if keep == Rows::Relevant && !task.soft.monitors.iter().any(|monitor| monitor.counts) {
        let number = relevance::drop_irrelevant(&mut rows);
        let before = rows.rows.len();
        if let Some(mutexes) = pairs::drop_useless(&mut rows) {
            wider = sharpen::wider(variables, &mutexes, &number);
        }
        if rows.rows.len() < before {
            relevance::drop_irrelevant(&mut rows);
        }
    }
    values::drop_unused(&mut rows);
    values::drop_own_conditions(&mut rows);
    Ok((rows, wider))
}
