//! What is wrong with the input becomes an exception.

use hadal_check::CheckError;
use hadal_lang::{LoadError, Refused};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    hadal,
    ModelError,
    PyValueError,
    "A model was refused; the message shows every finding with its place."
);

/// A model that cannot be read.
pub fn of_loading(error: LoadError) -> PyErr {
    match error {
        LoadError::File { .. } => PyOSError::new_err(error.to_string()),
        _ => ModelError::new_err(error.to_string()),
    }
}

/// A model that was refused.
pub fn of_refusal(refused: &Refused) -> PyErr {
    ModelError::new_err(hadal_lang::language::render_refusal(refused))
}

/// A question that makes no sense, or a run that cannot be used.
pub fn of_checking(error: CheckError) -> PyErr {
    match error {
        CheckError::Question(why) => PyValueError::new_err(why),
        CheckError::File { path, error } => PyOSError::new_err(format!("{}: {error}", path.display())),
        CheckError::Damaged(why) | CheckError::Internal(why) => PyRuntimeError::new_err(why),
    }
}
