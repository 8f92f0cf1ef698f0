//! The interpreter: written to be obviously right, it *defines* what a [`System`] means.
//!
//! It works on unpacked scalars and knows no bit position: states go in and out through [`Layout`]. Multisets come
//! out as the body left them; [`crate::model::Model`] brings them into their normal form, whatever the engine.
//!
//! Where the doc comments of `hadal-system` leave a choice, it is made here:
//! * A guard is a question: what functions called in it write is forgotten before the body runs. The same goes for
//!   properties. Each starts with fresh locals.
//! * A guard, body or assumption that meets an error is an error of that action instance. A failed assumption
//!   statement met in a guard drops the transition too.
//! * [`Interpreter::fire`] takes one step, whatever its rank and whoever goes on alone after it; [`Interpreter::successors`]
//!   obeys ranks. [`crate::passing`] follows those who go on alone.
//! * Assumption properties are evaluated in order after the body; the first that is false or faulty decides.
//! * A cover statement counts when it runs, whatever becomes of the transition.
//! * A property in whose evaluation an assumption statement fails asks nothing of the state: an invariant holds, any
//!   other property does not.

mod call;
mod culprit;
mod expr;
mod memory;
mod place;
mod print;
mod stmt;

pub use culprit::Culprit;
use hadal_system::system::{instance_count, instance_values};
use hadal_system::{
    Action, Check, Expr, Label, Layout, Local, LocalId, MOST_COST, ProcessId, PropertyBody, PropertyId,
    PropertyKind, Span, Successors, System, Value,
};

use crate::fault::{Fault, FaultKind};
use memory::{Frame, FramePlan, Scalar};

/// Runs a system on packed states of a layout.
#[derive(Debug)]
pub struct Interpreter<'a> {
    system: &'a System,
    layout: &'a Layout,
    first_slots: Vec<usize>,
    /// By place among starts, actions, functions, properties.
    starts: Vec<FramePlan<'a>>,
    actions: Vec<FramePlan<'a>>,
    functions: Vec<FramePlan<'a>>,
    properties: Vec<FramePlan<'a>>,
    /// The first label of each start and action, and the total.
    start_bases: Vec<u64>,
    action_bases: Vec<u64>,
    property_bases: Vec<u32>,
    /// Property and parameter values behind each id that [`Interpreter::check`] looks at.
    checked: Vec<PropertyInstance>,
    assumptions: Vec<PropertyInstance>,
}

/// What came of one action instance in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its guard does not hold.
    Disabled,
    /// An assumption rules the transition out.
    Dropped,
    /// It leads to this state; multisets are not normalised yet.
    Reached(Vec<u64>),
    /// It meets an error of the model.
    Fault(Fault),
}

/// What was seen on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The cover properties hit by statements, once per hit.
    pub covered: Vec<PropertyId>,
    /// What was printed; nothing is collected unless this is `Some`.
    pub printed: Option<String>,
    /// The slots of the state that were read, in order; nothing is collected unless this is `Some`.
    pub read: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct PropertyInstance {
    id: PropertyId,
    /// Place among the system's properties.
    at: usize,
    values: Vec<Value>,
}

/// Which list a label counts in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Starts,
    Actions,
}

impl<'a> Interpreter<'a> {
    /// Prepares to run `system`, whose states `layout` packs.
    pub fn new(system: &'a System, layout: &'a Layout) -> Self {
        let plan = |locals: &'a Vec<Local>| FramePlan::new(system, locals);
        let mut interpreter = Interpreter {
            system,
            layout,
            first_slots: system.first_slots(),
            starts: system.starts.iter().map(|a| plan(&a.locals)).collect(),
            actions: system.actions.iter().map(|a| plan(&a.locals)).collect(),
            functions: system.functions.iter().map(|f| plan(&f.locals)).collect(),
            properties: system.properties.iter().map(|p| plan(&p.locals)).collect(),
            start_bases: system.label_bases(&system.starts),
            action_bases: system.label_bases(&system.actions),
            property_bases: system.property_bases(),
            checked: Vec::new(),
            assumptions: Vec::new(),
        };
        for (at, property) in system.properties.iter().enumerate() {
            let list = match property.kind {
                PropertyKind::Invariant | PropertyKind::Goal => &mut interpreter.checked,
                PropertyKind::Assumption => &mut interpreter.assumptions,
                PropertyKind::Cover
                | PropertyKind::Liveness
                | PropertyKind::Proposition
                | PropertyKind::Rest
                | PropertyKind::Formula
                | PropertyKind::Acceptance => continue,
            };
            for n in 0..instance_count(&property.params, &system.domains) {
                let values = instance_values(&property.params, &system.domains, n);
                list.push(PropertyInstance {
                    id: PropertyId(interpreter.property_bases[at] + n as u32),
                    at,
                    values,
                });
            }
        }
        interpreter
    }

    /// Makes the initial state of a start instance.
    pub fn start(&self, label: Label) -> Outcome {
        self.start_noting(label, &mut Notes::default())
    }

    /// [`Interpreter::start`], noting what was seen.
    pub fn start_noting(&self, label: Label, notes: &mut Notes) -> Outcome {
        match self.instance(List::Starts, label) {
            Some((at, values)) => {
                let fired = Fired { list: List::Starts, at, values: &values };
                self.run(fired, &self.blank_state(), notes)
            }
            None => Outcome::Disabled,
        }
    }

    /// Fires an action instance in a state.
    pub fn fire(&self, state: &[u64], label: Label) -> Outcome {
        self.fire_noting(state, label, &mut Notes::default())
    }

    /// [`Interpreter::fire`], noting what was seen.
    pub fn fire_noting(&self, state: &[u64], label: Label, notes: &mut Notes) -> Outcome {
        match self.instance(List::Actions, label) {
            Some((at, values)) => {
                let before = self.layout.unpack(self.system, state);
                self.run(Fired { list: List::Actions, at, values: &values }, &before, notes)
            }
            None => Outcome::Disabled,
        }
    }

    /// What it costs to fire an action instance in a state: a whole number that fits, or an error of the model.
    pub fn cost(&self, state: &[u64], label: Label) -> Result<u32, Fault> {
        let Some((at, values)) = self.instance(List::Actions, label) else { return Ok(1) };
        let action = &self.system.actions[at];
        let Some(cost) = &action.cost else { return Ok(1) };
        let mut frame = self.actions[at].frame();
        action.params.iter().zip(values).for_each(|(param, value)| frame.bind(param.local, value));
        let (state, notes) = (self.layout.unpack(self.system, state), &mut Notes::default());
        let mut execution = Execution { code: self, state, frames: vec![frame], notes };
        let wrong = |kind, what: String| Fault::new(kind, cost.span, what);
        match execution.value(cost) {
            Ok(value) => match u32::try_from(value).ok().filter(|&value| value <= MOST_COST) {
                Some(value) => Ok(value),
                None => {
                    let what = format!("the cost of `{}` is {value}, not from 0 to {MOST_COST}", action.name);
                    Err(wrong(FaultKind::Range, what))
                }
            },
            Err(Stop::Fault(fault)) => Err(*fault),
            Err(Stop::Dropped) => Err(wrong(FaultKind::Assertion, "an assumption fails here".into())),
        }
    }

    /// The value of an expression over the state alone.
    pub fn evaluate(&self, state: &[u64], expr: &hadal_system::Expr) -> Result<Value, Fault> {
        let plan = FramePlan::new(self.system, &[]);
        let mut notes = Notes::default();
        let state = self.layout.unpack(self.system, state);
        let mut execution = Execution { code: self, state, frames: vec![plan.frame()], notes: &mut notes };
        execution.value(expr).map_err(|stop| match stop {
            Stop::Fault(fault) => *fault,
            Stop::Dropped => Fault::new(FaultKind::Assertion, expr.span, "an assumption fails here"),
        })
    }

    /// Whether a property's predicate holds in a state. Properties without a predicate never do.
    pub fn holds(&self, state: &[u64], property: PropertyId) -> Result<bool, Fault> {
        self.holds_noting(state, property, &mut Notes::default())
    }

    /// [`Interpreter::holds`], noting what was seen.
    pub fn holds_noting(
        &self,
        state: &[u64],
        property: PropertyId,
        notes: &mut Notes,
    ) -> Result<bool, Fault> {
        let Some((at, values)) = self.system.property_instance(property) else { return Ok(false) };
        self.predicate(at, &values, &self.layout.unpack(self.system, state), notes)
    }

    /// Appends every initial state and fault in label order; counts cover hits by [`PropertyId`].
    pub fn initial(&self, out: &mut Successors, covers: &mut [u64]) {
        self.generate(List::Starts, &self.blank_state(), out, covers);
    }

    /// Appends every successor and fault in label order; counts cover hits by [`PropertyId`].
    pub fn successors(&self, state: &[u64], out: &mut Successors, covers: &mut [u64]) {
        self.generate(List::Actions, &self.layout.unpack(self.system, state), out, covers);
    }

    /// Looks for the first broken invariant, met goal, or fault in one of them.
    pub fn check(&self, state: &[u64]) -> Check {
        let slots = self.layout.unpack(self.system, state);
        for it in &self.checked {
            let wanted = self.system.properties[it.at].kind == PropertyKind::Invariant;
            match self.predicate(it.at, &it.values, &slots, &mut Notes::default()) {
                Ok(holds) if holds == wanted => {}
                Ok(_) => return Check::Hit(it.id),
                Err(_) => return Check::Fault(it.id),
            }
        }
        Check::Fine
    }

    /// The value of an expression that stands outside the system's actions and properties, with these locals of which
    /// some are bound; `None` where evaluating it meets an error.
    pub fn value_with(
        &self,
        state: &[u64],
        locals: &[Local],
        bound: &[(LocalId, Value)],
        expr: &Expr,
    ) -> Option<Value> {
        let plan = FramePlan::new(self.system, locals);
        let mut frame = plan.frame();
        bound.iter().for_each(|&(local, value)| frame.bind(local, value));
        let (state, notes) = (self.layout.unpack(self.system, state), &mut Notes::default());
        let mut execution = Execution { code: self, state, frames: vec![frame], notes };
        execution.value(expr).ok()
    }

    /// Whether a state has a property; `None` where evaluating it meets an error.
    pub fn satisfies(&self, state: &[u64], property: PropertyId) -> Option<bool> {
        self.holds(state, property).ok()
    }

    /// Appends what `process` can do alone in `state`: see [`Action::then`].
    pub fn alone(&self, process: ProcessId, state: &[u64], out: &mut Successors, covers: &mut [u64]) {
        let before = self.layout.unpack(self.system, state);
        self.generate_some(Which::LedBy(process), &before, out, covers);
    }

    fn generate(&self, list: List, before: &[Scalar], out: &mut Successors, covers: &mut [u64]) {
        let first = (out.len(), out.faults().len());
        let ranks: std::collections::BTreeSet<u8> = self.list(list).iter().map(|a| a.rank).collect();
        for rank in ranks {
            self.generate_some(Which::OfRank(list, rank), before, out, covers);
            if (out.len(), out.faults().len()) != first {
                return;
            }
        }
    }

    fn generate_some(&self, which: Which, before: &[Scalar], out: &mut Successors, covers: &mut [u64]) {
        let mut notes = Notes::default();
        let list = which.list();
        let bases = match list {
            List::Starts => &self.start_bases,
            List::Actions => &self.action_bases,
        };
        for (at, action) in self.list(list).iter().enumerate().filter(|(_, action)| which.includes(action)) {
            let instances = 0..instance_count(&action.params, &self.system.domains);
            for (label, n) in (bases[at] as u32..).zip(instances) {
                let values = instance_values(&action.params, &self.system.domains, n);
                match self.run(Fired { list, at, values: &values }, before, &mut notes) {
                    Outcome::Disabled | Outcome::Dropped => {}
                    Outcome::Reached(state) => out.push(Label(label), &state),
                    Outcome::Fault(_) => out.push_fault(Label(label)),
                }
                for covered in notes.covered.drain(..) {
                    covers[covered.0 as usize] += 1;
                }
            }
        }
    }

    /// Guard, body, assumptions.
    fn run(&self, fired: Fired<'_>, before: &[Scalar], notes: &mut Notes) -> Outcome {
        match self.try_run(fired, before, notes) {
            Ok(Some(after)) => {
                let mut state = vec![0; self.layout.words()];
                // Whatever writes a scalar checks its domain first.
                self.layout.pack(self.system, &after, &mut state).expect("every scalar is in its domain");
                Outcome::Reached(state)
            }
            Ok(None) => Outcome::Disabled,
            Err(Stop::Dropped) => Outcome::Dropped,
            Err(Stop::Fault(fault)) => Outcome::Fault(*fault),
        }
    }

    fn try_run(
        &self,
        Fired { list, at, values }: Fired<'_>,
        before: &[Scalar],
        notes: &mut Notes,
    ) -> Result<Option<Vec<Scalar>>, Stop> {
        let action = &self.list(list)[at];
        let plan = match list {
            List::Starts => &self.starts[at],
            List::Actions => &self.actions[at],
        };
        let frame = || {
            let mut frame = plan.frame();
            for (param, &value) in action.params.iter().zip(values) {
                frame.bind(param.local, value);
            }
            frame
        };
        let mut execution = Execution { code: self, state: before.to_vec(), frames: vec![frame()], notes };
        if !execution.holds(&action.guard)? {
            return Ok(None);
        }
        execution.state.copy_from_slice(before);
        execution.frames = vec![frame()];
        execution.block(&action.body)?;
        let after = execution.state;
        for it in &self.assumptions {
            // Cover statements in the functions of a property are not on the way to a state.
            match self.predicate(it.at, &it.values, &after, &mut Notes::default()) {
                Ok(true) => {}
                Ok(false) => return Err(Stop::Dropped),
                Err(fault) => return Err(Stop::Fault(Box::new(fault))),
            }
        }
        Ok(Some(after))
    }

    fn predicate(
        &self,
        at: usize,
        values: &[Value],
        state: &[Scalar],
        notes: &mut Notes,
    ) -> Result<bool, Fault> {
        let property = &self.system.properties[at];
        let PropertyBody::State(condition) = &property.body else { return Ok(false) };
        let mut frame = self.properties[at].frame();
        for (param, &value) in property.params.iter().zip(values) {
            frame.bind(param.local, value);
        }
        let mut execution = Execution { code: self, state: state.to_vec(), frames: vec![frame], notes };
        match execution.holds(condition) {
            Ok(holds) => Ok(holds),
            Err(Stop::Dropped) => Ok(property.kind == PropertyKind::Invariant),
            Err(Stop::Fault(fault)) => Err(*fault),
        }
    }

    fn blank_state(&self) -> Vec<Scalar> {
        let mut blank = Vec::with_capacity(self.system.slot_count());
        for variable in &self.system.variables {
            memory::push_blank(self.system, variable.shape, &mut blank);
        }
        blank
    }

    /// The action behind a label, by its place in the list, and its parameter values.
    fn instance(&self, list: List, label: Label) -> Option<(usize, Vec<Value>)> {
        let (bases, label) = match list {
            List::Starts => (&self.start_bases, u64::from(label.0)),
            List::Actions => (&self.action_bases, u64::from(label.0)),
        };
        // Actions without instances share their base with the next one, which is found after them.
        let at = bases.partition_point(|&base| base <= label).checked_sub(1)?;
        let action = self.list(list).get(at)?;
        Some((at, instance_values(&action.params, &self.system.domains, label - bases[at])))
    }

    fn list(&self, list: List) -> &'a [Action] {
        match list {
            List::Starts => &self.system.starts,
            List::Actions => &self.system.actions,
        }
    }

    /// The id of a cover property counted by statements; it has one instance.
    fn cover_id(&self, property: usize) -> PropertyId {
        PropertyId(self.property_bases[property])
    }
}

/// An instance of a start or an action: its place in the list and its parameter values.
#[derive(Clone, Copy)]
struct Fired<'v> {
    list: List,
    at: usize,
    values: &'v [Value],
}

/// Some of the starts or actions.
#[derive(Clone, Copy)]
enum Which {
    /// Those of a list that have this rank.
    OfRank(List, u8),
    /// What this process can do alone.
    LedBy(ProcessId),
}

impl Which {
    fn list(self) -> List {
        match self {
            Which::OfRank(list, _) => list,
            Which::LedBy(_) => List::Actions,
        }
    }

    fn includes(self, action: &Action) -> bool {
        match self {
            Which::OfRank(_, rank) => action.rank == rank,
            Which::LedBy(process) => action.rank == 0 && action.processes.first() == Some(&process),
        }
    }
}

/// Why an execution ended early.
enum Stop {
    /// An assumption failed.
    Dropped,
    Fault(Box<Fault>),
}

/// One guard, body or predicate being run.
struct Execution<'i, 'a> {
    code: &'i Interpreter<'a>,
    state: Vec<Scalar>,
    /// The action or property first, then the running calls, innermost last. Never empty.
    frames: Vec<Frame<'i>>,
    notes: &'i mut Notes,
}

impl<'i> Execution<'i, '_> {
    fn frame(&mut self) -> &mut Frame<'i> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn fault(&self, kind: FaultKind, span: Span, message: String) -> Stop {
        Stop::Fault(Box::new(Fault::new(kind, span, message)))
    }
}

/// Runs `step` with enough native stack below it: expressions, statements and calls of the model nest as deep as the
/// front ends and [`hadal_system::MAX_CALL_DEPTH`] allow, whatever stack the calling thread has.
fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    const RED_ZONE: usize = 64 << 10;
    const SEGMENT: usize = 1 << 20;
    stacker::maybe_grow(RED_ZONE, SEGMENT, step)
}
