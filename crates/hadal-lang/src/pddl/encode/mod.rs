//! From a ground task over atoms to a [`RowTask`] over variables with several values.

mod effects;
mod invariant;
mod lower;
mod numbers;
mod prune;
mod values;
mod variables;

use super::ground::{GroundError, GroundTask};
use hadal_system::rows::RowTask;
use variables::Variables;

/// Encodes a ground task.
pub(crate) fn encode(mut task: GroundTask) -> Result<RowTask, GroundError> {
    let truth = prune::prune(&mut task);
    let groups = invariant::groups(&task, &truth);
    let variables = Variables::cover(&task, &truth, groups);
    let mut rows = lower::lower(&task, &variables).map_err(GroundError::Elsewhere)?;
    values::drop_unused(&mut rows);
    Ok(rows)
}
