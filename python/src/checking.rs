//! `hadal.check`: a model in a language, checked.

use crate::failure::{of_checking, of_loading};
use hadal_check::options::parse_size;
use hadal_check::{Check, DeadlockNotion, Limits, Outcome, Report, StopReason, Strategy, Verdict};
use hadal_exec::model::Model;
use hadal_exec::replay::Trace;
use hadal_lang::{Given, LoadOptions, LoadedModel};
use hadal_search::explore::Progress;
use hadal_system::StateSpace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// What a search may take and how it goes, as Python gives it.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    memory: Option<String>,
    threads: Option<usize>,
    strategy: Option<String>,
    max_states: Option<u64>,
    max_depth: Option<u64>,
    time_limit: Option<f64>,
}

impl Settings {
    /// The memory budget in bytes.
    pub fn memory(&self) -> PyResult<Option<u64>> {
        self.memory.as_deref().map(parse_size).transpose().map_err(PyValueError::new_err)
    }

    /// When to stop.
    pub fn limits(&self) -> PyResult<Limits> {
        let time = self.time_limit.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| PyValueError::new_err(format!("time_limit: {error}")))?;
        Ok(Limits { max_states: self.max_states, max_depth: self.max_depth, time, ..Limits::default() })
    }

    /// How states are visited.
    pub fn strategy(&self) -> PyResult<Option<Strategy>> {
        self.strategy.as_deref().map(str::parse).transpose().map_err(PyValueError::new_err)
    }

    /// Threads.
    pub fn threads(&self) -> Option<usize> {
        self.threads
    }
}

/// What is asked of a model, as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    properties: Vec<String>,
    deadlock: bool,
    find: bool,
}

/// Checks the model in a file.
#[pyfunction]
pub fn check<'py>(
    py: Python<'py>,
    model: PathBuf,
    define: Vec<(String, Bound<'py, PyAny>)>,
    asked: Asked,
    settings: Settings,
) -> PyResult<Bound<'py, PyDict>> {
    let options = LoadOptions { define: definitions(define)?, ..LoadOptions::default() };
    let (language, loaded) = hadal_lang::load(&model, &options).map_err(of_loading)?;
    let LoadedModel::System(system) = loaded.model else {
        return Err(PyValueError::new_err(format!(
            "{}: check answers models of states and actions, which this {} model is not",
            model.display(),
            language.name
        )));
    };
    let mut question = Check::of(system).limits(settings.limits()?);
    question = asked.properties.into_iter().fold(question, Check::property);
    question = question.deadlock(match asked.deadlock {
        true => language.deadlock,
        false => DeadlockNotion::Off,
    });
    if asked.find {
        question = question.find();
    }
    if let Some(bytes) = settings.memory()? {
        question = question.memory(bytes);
    }
    if let Some(threads) = settings.threads() {
        question = question.threads(threads);
    }
    if let Some(strategy) = settings.strategy()? {
        question = question.strategy(strategy);
    }
    // Python's own threads go on meanwhile, and an interrupt is looked for after every step of the search.
    let (prepared, outcome) = py.detach(|| -> Result<_, PyErr> {
        let prepared = question.prepare().map_err(of_checking)?;
        let raised = Mutex::new(None);
        let outcome = {
            let run = prepared.begin().map_err(of_checking)?;
            let control = run.control().clone();
            let watch = |_: &Progress| {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    control.interrupt();
                    raised.lock().unwrap_or_else(|it| it.into_inner()).get_or_insert(error);
                }
            };
            run.finish_watched(&watch).map_err(of_checking)?
        };
        match raised.into_inner().unwrap_or_else(|it| it.into_inner()) {
            Some(error) => Err(error),
            None => Ok((prepared, outcome)),
        }
    })?;
    let result = of_report(py, &outcome.report)?;
    let coverage = prepared.coverage(&outcome.report, &outcome.answers).map_err(of_checking)?;
    let properties = PyDict::new(py);
    for answered in &coverage.properties {
        properties.set_item(&answered.name, answered.verdict)?;
    }
    result.set_item("properties", properties)?;
    result.set_item("never_fired", coverage.never_fired)?;
    let Outcome { trace, warnings, run, .. } = outcome;
    result.set_item("warnings", warnings)?;
    result.set_item("run", run)?;
    if let Some(trace) = trace {
        result.set_item("trace", steps(py, prepared.shown(), &trace)?)?;
    }
    if let Verdict::Violated(found) = &outcome.report.verdict {
        let name = found.kind.property().and_then(|id| prepared.model().properties().get(id.0 as usize));
        result.set_item("property", name.map(|info| info.name.clone()))?;
    }
    Ok(result)
}

/// Constants and parameters: numbers or text.
pub fn definitions(define: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Vec<(String, Given)>> {
    let given = |(name, value): (String, Bound<'_, PyAny>)| {
        let given = match value.extract::<i64>() {
            Ok(number) => Given::Number(number),
            Err(_) => Given::Text(value.str()?.extract()?),
        };
        Ok((name, given))
    };
    define.into_iter().map(given).collect()
}

/// The figures that every search has.
pub fn of_report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let (verdict, reason) = match &report.verdict {
        Verdict::Holds => ("holds", "every reachable state was visited and nothing is wrong".to_owned()),
        Verdict::Violated(_) => ("violated", "something is wrong in the last state of the trace".to_owned()),
        Verdict::Stopped(reason) => ("stopped", stopped(reason)),
    };
    result.set_item("verdict", verdict)?;
    result.set_item("reason", reason)?;
    result.set_item("states", report.states)?;
    result.set_item("transitions", report.transitions)?;
    result.set_item("depth", report.depth)?;
    result.set_item("property", py.None())?;
    result.set_item("trace", py.None())?;
    Ok(result)
}

/// Why a search ended before it knew.
pub fn stopped(reason: &StopReason) -> String {
    format!("stopped: {reason}")
}

/// The steps of a trace: action and state.
fn steps<'py>(py: Python<'py>, model: &Model, trace: &Trace) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for step in &trace.steps {
        let state = PyDict::new(py);
        for (name, value) in model.render_state(&step.state) {
            state.set_item(name, value)?;
        }
        list.append((&step.action, state))?;
    }
    Ok(list)
}
