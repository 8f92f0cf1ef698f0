//! The successor function as machine code, made by Cranelift inside the process.
//!
//! Agrees with [`crate::interpret`] on every system and state: same successors in the same order, same faults. It works
//! on packed words, specialises actions for their parameters, and dispatches them by a decision tree ([`dispatch`]).
//! Compiled code only says *that* an instance meets an error; the interpreter says which.

mod aggregates;
mod arith;
mod calls;
mod costs;
mod dispatch;
mod driver;
mod emit;
mod exprs;
mod facts;
mod firing;
mod guards;
mod jit;
mod loops;
mod memory;
mod places;
mod plan;
mod properties;
mod runtime;
mod segments;
mod single;
mod stmts;
#[cfg(test)]
mod tests;
mod unit;
mod values;

use std::collections::{BTreeSet, HashMap};

use hadal_system::visit as walk;
use hadal_system::{Check, Layout, ProcessId, PropertyId, Successors, System};

use costs::Cost;
use driver::Driver;
pub use jit::code_bytes;
use jit::{AskFn, Code, Jit};
use properties::Checker;
use runtime::Field;
use segments::{Manner, Segment, SegmentKind};
pub use single::Bodies;
use unit::Unit;

/// Why a system could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The machine is none that code can be generated for.
    #[error("cannot generate code for this machine: {0}")]
    Host(String),
    /// Labels are 32-bit numbers.
    #[error("{0} action instances are more than the {max} that labels can tell apart", max = u32::MAX)]
    TooManyInstances(u64),
    /// The system uses something that no front end produces.
    #[error("the system has {0}")]
    Unsupported(&'static str),
    /// The code generator failed: a defect of hadal.
    #[error("code generation failed: {0}")]
    Codegen(String),
}

impl From<cranelift_module::ModuleError> for CompileError {
    fn from(error: cranelift_module::ModuleError) -> Self {
        CompileError::Codegen(format!("{error:?}"))
    }
}

/// A compiled system.
pub struct Compiled {
    driver: Driver,
    starts: Vec<Segment>,
    actions: Vec<Segment>,
    /// What each process can do alone, for those that go on alone.
    alone: HashMap<ProcessId, Segment>,
    checks: Vec<Checker<AskFn>>,
    /// The same where none of them has parameters.
    quick_checks: Option<Vec<AskFn>>,
    /// By place among the properties.
    asks: Vec<AskFn>,
    /// By place among the actions, where some have a cost of their own.
    costs: Vec<Cost<AskFn>>,
    /// The property and parameter values of each property instance.
    instances: Vec<(usize, Vec<i64>)>,
    // What compiled code points into.
    _words: Vec<Box<[u64]>>,
    _fields: Vec<Box<[Field]>>,
    _code: Code,
}

impl Compiled {
    /// Compiles `system`, whose states `layout` packs.
    pub fn new(system: &System, layout: &Layout) -> Result<Compiled, CompileError> {
        let mut unit = Unit::new(system, layout, Jit::new()?);
        unit.assumptions = properties::assumption_function(&mut unit)?;
        let actions = segments::plan(&mut unit, &system.actions, Manner::Dispatch)?;
        let mut alone = Vec::new();
        for process in system.actions.iter().filter_map(|action| action.then).collect::<BTreeSet<_>>() {
            alone.push((process, segments::plan_alone(&mut unit, process)?));
        }
        let starts = segments::plan(&mut unit, &system.starts, Manner::Loops)?;
        let checks = properties::checkers(&mut unit)?;
        let mut asks = Vec::with_capacity(system.properties.len());
        for property in &system.properties {
            asks.push(properties::ask_function(&mut unit, property)?);
        }
        let priced = if system.has_costs() { &system.actions[..] } else { &[] };
        let mut costs = Vec::with_capacity(priced.len());
        for action in priced {
            costs.push(costs::cost(&mut unit, action)?);
        }
        unit.run_jobs()?;

        let calls = if unit.plan.counts_depth { hadal_system::MAX_CALL_DEPTH as usize + 1 } else { 0 };
        let stack = unit.jit.all_frames + calls * unit.jit.largest_frame;
        let Unit { jit, words, fields, padded, .. } = unit;
        let code = jit.finish()?;
        let property_count = system.property_infos().len();
        let checks: Vec<Checker<AskFn>> = checks.into_iter().map(|checker| checker.callable(&code)).collect();
        let driver = Driver { words: layout.words(), properties: property_count, padded, stack };
        Ok(Compiled {
            driver,
            starts: starts.into_iter().map(|planned| planned.callable(&code)).collect(),
            actions: actions.into_iter().map(|planned| planned.callable(&code)).collect(),
            alone: alone.into_iter().map(|(process, planned)| (process, planned.callable(&code))).collect(),
            quick_checks: checks.iter().map(Checker::without_parameters).collect(),
            checks,
            asks: asks.into_iter().map(|func| code.ask(func)).collect(),
            costs: costs.into_iter().map(|cost| cost.callable(&code)).collect(),
            instances: (0..property_count as u32)
                .filter_map(|id| system.property_instance(PropertyId(id)))
                .collect(),
            _words: words,
            _fields: fields,
            _code: code,
        })
    }

    /// Appends every initial state and fault in label order; counts cover hits by [`PropertyId`].
    pub fn initial(&self, out: &mut Successors, covers: &mut [u64]) {
        let blank = vec![0; self.driver.words];
        self.driver.expand(&self.starts, &blank, out, covers);
    }

    /// Appends every successor of `state` and fault in label order; counts cover hits by [`PropertyId`].
    pub fn successors(&self, state: &[u64], out: &mut Successors, covers: &mut [u64]) {
        self.driver.expand(&self.actions, state, out, covers);
    }

    /// As [`hadal_system::Worker::successors_of_each`]; false, and nothing, where states are better expanded one by one.
    pub fn successors_of_each(
        &self,
        states: &[u64],
        enough: usize,
        found: (&mut Successors, &mut Vec<usize>, &mut [u64]),
    ) -> bool {
        let [segment] = &self.actions[..] else { return false };
        let SegmentKind::Tree { most, .. } = segment.kind else { return false };
        self.driver.expand_each((segment, most), states, enough, found);
        true
    }

    /// Appends what `process` can do alone in `state`: see [`hadal_system::Action::then`].
    pub fn alone(&self, process: ProcessId, state: &[u64], out: &mut Successors, covers: &mut [u64]) {
        if let Some(segment) = self.alone.get(&process) {
            self.driver.expand(std::slice::from_ref(segment), state, out, covers);
        }
    }

    /// Looks for the first broken invariant, met goal, or fault in one of them.
    pub fn check(&self, state: &[u64]) -> Check {
        for check in &self.checks {
            match *check {
                Checker::Constants(ask) => {
                    let answer = self.driver.ask(ask, state, &[]);
                    let id = PropertyId((answer >> 2) as u32);
                    match answer & 3 {
                        properties::FINE => {}
                        properties::HIT => return Check::Hit(id),
                        _ => return Check::Fault(id),
                    }
                }
                Checker::Instances { property, first, count, wanted } => {
                    for id in first..first + count {
                        let values = &self.instances[id as usize].1;
                        match self.driver.ask(self.asks[property], state, values) {
                            properties::ERROR => return Check::Fault(PropertyId(id)),
                            answer if answer == wanted => {}
                            _ => return Check::Hit(PropertyId(id)),
                        }
                    }
                }
            }
        }
        Check::Fine
    }

    /// As [`hadal_system::Worker::check_each`].
    pub fn check_each(&self, out: &Successors, numbers: &[usize]) -> Option<(usize, Check)> {
        let place = match &self.quick_checks {
            Some(asks) => self.driver.ask_each(asks, properties::FINE, out.states(), numbers)?,
            None => numbers.iter().position(|&number| self.check(out.state(number)) != Check::Fine)?,
        };
        Some((place, self.check(out.state(numbers[place]))))
    }

    /// What the instance of an action with these parameter values costs in a state; [`hadal_system::COST_ERROR`] where
    /// evaluating that meets an error.
    pub fn cost(&self, state: &[u64], action: usize, values: &[i64]) -> u32 {
        match self.costs.get(action) {
            None => 1,
            Some(Cost::Always(cost)) => *cost,
            Some(Cost::Ask(ask)) => self.driver.ask(*ask, state, values) as u32,
        }
    }

    /// Whether a state has a property; `None` where evaluating it meets an error.
    pub fn satisfies(&self, state: &[u64], property: PropertyId) -> Option<bool> {
        let Some((at, values)) = self.instances.get(property.0 as usize) else { return Some(false) };
        match self.driver.ask(self.asks[*at], state, values) {
            properties::ERROR => None,
            answer => Some(answer == properties::YES),
        }
    }
}
