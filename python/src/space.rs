//! `hadal.explore`: a state space written in Python, explored by hadal's searches.
//!
//! States are hashable Python values. Each gets a number when it is met first, and that number is the state that the search
//! sees: equality of values in Python decides, nothing else.

use crate::checking::{Settings, of_report};
use crate::failure::of_checking;
use hadal_check::{DeadlockNotion, SpaceCheck, Verdict, ViolationKind};
use hadal_search::{Control, Question};
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The objects that make a state space, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Parts {
    /// Returns the initial states.
    initial: Py<PyAny>,
    /// Returns the successors of a state: states, or pairs of a name and a state.
    successors: Py<PyAny>,
    /// Names with functions from a state to whether it is good.
    invariants: Vec<(String, Py<PyAny>)>,
    /// Names with functions from a state to whether it is looked for.
    goals: Vec<(String, Py<PyAny>)>,
    deadlock: bool,
}

/// Values and names by number.
#[derive(Default)]
struct Known {
    states: Vec<Py<PyAny>>,
    labels: Vec<String>,
    label_numbers: HashMap<String, u32>,
}

struct PythonSpace {
    parts: Parts,
    /// From states to their numbers.
    numbers: Py<PyDict>,
    known: Mutex<Known>,
    properties: Vec<PropertyInfo>,
    /// What Python raised first, and the reins to end the search with then.
    raised: Mutex<Option<PyErr>>,
    control: OnceLock<Arc<Control>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PythonSpace {
    fn new(py: Python<'_>, parts: Parts) -> Self {
        let named = |kind| {
            move |(name, _): &(String, Py<PyAny>)| PropertyInfo {
                name: name.clone(),
                kind,
                span: Span::default(),
            }
        };
        let invariants = parts.invariants.iter().map(named(PropertyKind::Invariant));
        let goals = parts.goals.iter().map(named(PropertyKind::Goal));
        PythonSpace {
            properties: invariants.chain(goals).collect(),
            parts,
            numbers: PyDict::new(py).unbind(),
            known: Mutex::default(),
            raised: Mutex::default(),
            control: OnceLock::new(),
        }
    }

    /// The number of a state, a new one where it was not met before.
    fn number(&self, state: &Bound<'_, PyAny>) -> PyResult<u64> {
        let numbers = self.numbers.bind(state.py());
        if let Some(known) = numbers.get_item(state)? {
            return known.extract();
        }
        let mut known = locked(&self.known);
        let number = known.states.len() as u64;
        numbers.set_item(state, number)?;
        known.states.push(state.clone().unbind());
        Ok(number)
    }

    fn state(&self, py: Python<'_>, number: u64) -> Option<Py<PyAny>> {
        locked(&self.known).states.get(number as usize).map(|state| state.clone_ref(py))
    }

    fn label(&self, name: &str) -> Label {
        let mut known = locked(&self.known);
        if let Some(&number) = known.label_numbers.get(name) {
            return Label(number);
        }
        let number = known.labels.len() as u32;
        known.labels.push(name.to_owned());
        known.label_numbers.insert(name.to_owned(), number);
        Label(number)
    }

    /// Appends what an iterable holds: states, or pairs of a name and a state.
    fn append(&self, found: &Bound<'_, PyAny>, named: bool, out: &mut Successors) -> PyResult<()> {
        for item in found.try_iter()? {
            let item = item?;
            let (label, state) = match named {
                false => (self.label("start"), item),
                true => {
                    let pair = item.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).cloned();
                    let pair = pair.ok_or_else(|| {
                        PyTypeError::new_err("successors() yields pairs of an action's name and a state")
                    })?;
                    (self.label(&pair.get_item(0)?.str()?.to_cow()?), pair.get_item(1)?)
                }
            };
            out.push(label, &[self.number(&state)?]);
        }
        Ok(())
    }

    /// Keeps what Python raised, and ends the search.
    fn noted<T>(&self, result: PyResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                locked(&self.raised).get_or_insert(error);
                if let Some(control) = self.control.get() {
                    control.interrupt();
                }
                None
            }
        }
    }

    fn has_raised(&self) -> bool {
        locked(&self.raised).is_some()
    }
}

impl StateSpace for PythonSpace {
    fn words(&self) -> usize {
        1
    }

    fn fingerprint(&self) -> u64 {
        // Numbers of states mean nothing in another process: such a run cannot be resumed.
        u64::from(std::process::id())
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(PythonWorker { space: self })
    }

    fn may_fault(&self) -> bool {
        false
    }

    fn render_label(&self, label: Label) -> String {
        locked(&self.known).labels.get(label.0 as usize).cloned().unwrap_or_default()
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        Python::attach(|py| {
            let shown = self.state(py, state[0]).map(|state| state.bind(py).to_string());
            vec![("state".to_owned(), shown.unwrap_or_default())]
        })
    }
}

struct PythonWorker<'s> {
    space: &'s PythonSpace,
}

impl Worker for PythonWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let space = self.space;
        Python::attach(|py| {
            let found = space.parts.initial.bind(py).call0();
            space.noted(found.and_then(|found| space.append(&found, false, out)))
        });
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let space = self.space;
        if space.has_raised() {
            return;
        }
        Python::attach(|py| {
            let Some(value) = space.state(py, state[0]) else { return };
            let found = py.check_signals().and_then(|()| space.parts.successors.bind(py).call1((value,)));
            space.noted(found.and_then(|found| space.append(&found, true, out)));
        });
    }

    fn check(&mut self, state: &[u64]) -> Check {
        let space = self.space;
        if space.has_raised() {
            return Check::Fine;
        }
        Python::attach(|py| {
            let Some(value) = space.state(py, state[0]) else { return Check::Fine };
            let is = |function: &Py<PyAny>| {
                let answer = function.bind(py).call1((value.bind(py),)).and_then(|answer| answer.is_truthy());
                space.noted(answer)
            };
            let invariants = space.parts.invariants.iter().map(|(_, function)| (function, false));
            let goals = space.parts.goals.iter().map(|(_, function)| (function, true));
            for (n, (function, wanted)) in invariants.chain(goals).enumerate() {
                match is(function) {
                    Some(answer) if answer == wanted => return Check::Hit(PropertyId(n as u32)),
                    Some(_) => {}
                    None => return Check::Fine,
                }
            }
            Check::Fine
        })
    }
}

/// Explores a state space written in Python.
#[pyfunction]
pub fn explore<'py>(py: Python<'py>, parts: Parts, settings: Settings) -> PyResult<Bound<'py, PyDict>> {
    let notion = if parts.deadlock { DeadlockNotion::Stuck } else { DeadlockNotion::Off };
    let space = PythonSpace::new(py, parts);
    let (memory, limits, strategy) = (settings.memory()?, settings.limits()?, settings.strategy()?);
    let explored = py.detach(|| {
        let mut options = hadal_check::Options::default();
        // One interpreter runs one thread at a time.
        options.budget.threads = Some(1);
        options.budget.memory = memory;
        options.budget.limits = limits;
        if let Some(strategy) = strategy {
            options.strategy = strategy;
        }
        let question = Question::everything(&space.properties, notion);
        let run = SpaceCheck::of(&space).question(question).options(options).begin()?;
        let _ = space.control.set(Arc::clone(run.control()));
        run.finish()
    });
    if let Some(error) = locked(&space.raised).take() {
        return Err(error);
    }
    let outcome = explored.map_err(of_checking)?;
    if let Some(run) = &outcome.run {
        // Nobody can resume it.
        let _ = std::fs::remove_dir_all(run);
    }
    let result = of_report(py, &outcome.report)?;
    if let Verdict::Violated(found) = &outcome.report.verdict {
        let name = match found.kind {
            ViolationKind::Deadlock => Some("deadlock".to_owned()),
            kind => kind.property().map(|id| space.properties[id.0 as usize].name.clone()),
        };
        result.set_item("property", name)?;
        result.set_item("trace", trace(py, &space, &found.path)?)?;
    }
    Ok(result)
}

/// The way along a path: the name of each action, and the state after it.
fn trace<'py>(py: Python<'py>, space: &PythonSpace, path: &[Vec<u64>]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let mut worker = space.worker();
    for (n, state) in path.iter().enumerate() {
        let mut out = Successors::new(1);
        match n {
            0 => worker.initial(&mut out),
            _ => worker.successors(&path[n - 1], &mut out),
        }
        let label = out.iter().find(|(_, next)| *next == state.as_slice()).map(|(label, _)| label);
        let action = label.map_or_else(String::new, |label| space.render_label(label));
        list.append((action, space.state(py, state[0])))?;
    }
    match locked(&space.raised).take() {
        Some(error) => Err(error),
        None => Ok(list),
    }
}
