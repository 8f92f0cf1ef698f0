//! `hadal.solve`: values of a decision process in PRISM's language.

use crate::checking::{Settings, definitions};
use crate::failure::{of_loading, of_refusal};
use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::Source;
use hadal_system::chance::Objective;
use hadal_value::values::Exact;
use hadal_value::{Options, Precision};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::{Path, PathBuf};

/// What is asked of a model, as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    formula: Option<String>,
    properties: Option<PathBuf>,
    names: Vec<String>,
    precision: f64,
    exact: bool,
}

/// Answers a formula, or properties of the file that is given.
#[pyfunction]
pub fn solve<'py>(
    py: Python<'py>,
    model: PathBuf,
    define: Vec<(String, Bound<'py, PyAny>)>,
    asked: Asked,
    settings: Settings,
) -> PyResult<Bound<'py, PyList>> {
    let define = prism::definitions(&definitions(define)?).map_err(of_loading)?;
    let mut loaded = prism::load(read(&model)?, &define).map_err(|refused| of_refusal(&refused))?;
    if let Some(path) = &asked.properties {
        loaded.add_properties(read(path)?).map_err(|refused| of_refusal(&refused))?;
    }
    loaded.must_declare_given().map_err(|refused| of_refusal(&refused))?;
    let names = if asked.names.is_empty() { loaded.properties() } else { asked.names.clone() };
    let mut objectives: Vec<Objective> = Vec::new();
    match &asked.formula {
        Some(text) => objectives.push(loaded.formula(text).map_err(|refused| of_refusal(&refused))?),
        None => {
            for name in &names {
                let found = loaded.property(name).ok_or_else(|| {
                    let known = loaded.properties().join(", ");
                    PyValueError::new_err(format!("there is no property `{name}`; there are: {known}"))
                })?;
                objectives.push(found.map_err(|refused| of_refusal(&refused))?);
            }
        }
    }
    if objectives.is_empty() {
        return Err(PyValueError::new_err("there is no question: give a formula or a file of properties"));
    }
    let limits = settings.limits()?;
    let options = Options {
        precision: Precision { relative: asked.precision, exact: asked.exact, ..Precision::default() },
        memory: settings.memory()?,
        max_states: limits.max_states,
    };
    let answers = py.detach(|| -> Result<Vec<_>, String> {
        let model = Model::new(loaded.into_system(), ModelOptions::default()).map_err(|e| e.to_string())?;
        let one = |objective: &Objective| {
            let answer = hadal_value::answer(&model, model.system(), objective, options);
            answer.map_err(|error| format!("{}: {error}", objective.text))
        };
        objectives.iter().map(one).collect()
    });
    let list = PyList::empty(py);
    for (objective, answer) in objectives.iter().zip(answers.map_err(PyRuntimeError::new_err)?) {
        let result = PyDict::new(py);
        result.set_item("name", &objective.name)?;
        result.set_item("formula", &objective.text)?;
        result.set_item("lower", answer.value.map(|value| value.0))?;
        result.set_item("upper", answer.value.map(|value| value.1))?;
        result.set_item("exact", answer.exact.as_ref().map(text))?;
        result.set_item("holds", answer.verdict)?;
        result.set_item("states", answer.size.states)?;
        result.set_item("choices", answer.size.choices)?;
        list.append(result)?;
    }
    Ok(list)
}

/// A fraction, or `Infinity`.
fn text(exact: &Exact) -> String {
    match exact {
        Exact::Finite(value) => value.to_string(),
        Exact::Infinite => "Infinity".into(),
    }
}

fn read(path: &Path) -> PyResult<Source> {
    let text =
        std::fs::read(path).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?;
    Ok(Source::new(path.display().to_string(), String::from_utf8_lossy(&text).into_owned()))
}
