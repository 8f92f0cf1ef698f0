//! From a ground task over atoms to a [`RowTask`] over variables with several values.

mod effects;
mod lower;
mod numbers;
mod prune;
mod variables;

use super::ground::{GroundError, GroundTask};
use hadal_system::rows::RowTask;
use variables::Variables;

/// Encodes a ground task.
pub(crate) fn encode(mut task: GroundTask) -> Result<RowTask, GroundError> {
    let truth = prune::prune(&mut task);
    let variables = Variables::cover(&task, &truth, Vec::new());
    lower::lower(&task, &variables).map_err(GroundError::Elsewhere)
}
