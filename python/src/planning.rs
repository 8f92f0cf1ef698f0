//! `hadal.plan`: a task in PDDL, planned for in RAM.

use crate::checking::{Settings, stopped};
use crate::failure::of_refusal;
use hadal_check::memory::{default_memory, default_threads};
use hadal_lang::pddl::{self, NotLoaded};
use hadal_plan::{Abstraction, Answer, Engine, Found, GuideChoice, Kept, OnDisk, Plan, PlanError, Planner};
use hadal_search::Control;
use hadal_search::layered::Trouble;
use hadal_store::Governor;
use hadal_system::Source;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// Plans for the problem of a domain, or of the same file.
#[pyfunction]
pub fn plan<'py>(
    py: Python<'py>,
    domain: PathBuf,
    problem: PathBuf,
    optimal: bool,
    settings: Settings,
) -> PyResult<Bound<'py, PyDict>> {
    let memory = settings.memory()?.unwrap_or_else(default_memory);
    let (domain, problem) = (read(&domain)?, read(&problem)?);
    let options = pddl::Options { memory: memory as usize / 2, ..pddl::Options::default() };
    let loaded = pddl::load(domain, problem, options).map_err(|error| match error {
        NotLoaded::Refused(refused) => of_refusal(&refused),
        stopped => PyRuntimeError::new_err(stopped.to_string()),
    })?;
    let control = Control::new(settings.limits()?);
    let threads = settings.threads().unwrap_or_else(default_threads);
    let outcome = py.detach(|| {
        let governor = Governor::new(memory);
        let open = |_: &Kept| Err(Trouble::NoFolder);
        let planner = Planner {
            control: &control,
            governor: &governor,
            disk: OnDisk { open: &open, overflowed: &|| {}, resumed: None, threads },
            optimal,
            external: false,
            first: false,
            engine: Engine::default(),
            guide: GuideChoice::default(),
            abstraction: Abstraction::default(),
            resident: || 0,
            announce: &|_: &Found| {},
        };
        planner.solve(loaded.task)
    });
    let result = PyDict::new(py);
    let outcome = match outcome {
        Err(PlanError::Disk(Trouble::NoFolder)) => {
            result.set_item("answer", "stopped")?;
            result.set_item("reason", "stopped: the memory budget is used up")?;
            result.set_item("steps", py.None())?;
            result.set_item("cost", py.None())?;
            result.set_item("optimal", false)?;
            result.set_item("expanded", 0)?;
            return Ok(result);
        }
        other => other.map_err(|error| PyRuntimeError::new_err(error.to_string()))?,
    };
    let (answer, reason) = match &outcome.answer {
        Answer::Solved => ("solved", String::new()),
        Answer::Unsolvable => ("unsolvable", "every state that can be reached was seen".to_owned()),
        Answer::Stopped(reason) => ("stopped", stopped(reason)),
    };
    result.set_item("answer", answer)?;
    result.set_item("reason", reason)?;
    let plan: Option<&Plan> = outcome.plan.as_ref();
    result.set_item("steps", plan.map(|plan| plan.steps(&outcome.task)))?;
    result.set_item("cost", plan.map(|plan| *plan.cost.numer() as f64 / *plan.cost.denom() as f64))?;
    result.set_item("optimal", outcome.optimal)?;
    result.set_item("expanded", outcome.figures.expanded)?;
    Ok(result)
}

fn read(path: &Path) -> PyResult<Source> {
    let text =
        std::fs::read(path).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?;
    Ok(Source::new(path.display().to_string(), String::from_utf8_lossy(&text).into_owned()))
}
