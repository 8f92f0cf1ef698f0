//! hadal for Python: the libraries that the command runs on, as functions that return plain data. The Python side of the
//! package turns it into dataclasses.

mod checking;
mod failure;
mod planning;
mod solving;
mod space;

use pyo3::prelude::*;

/// What `hadal/__init__.py` calls.
#[pymodule]
fn _hadal(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ModelError", module.py().get_type::<failure::ModelError>())?;
    module.add_function(wrap_pyfunction!(checking::check, module)?)?;
    module.add_function(wrap_pyfunction!(planning::plan, module)?)?;
    module.add_function(wrap_pyfunction!(solving::solve, module)?)?;
    module.add_function(wrap_pyfunction!(space::explore, module)?)
}
