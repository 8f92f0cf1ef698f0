//! Properties as functions: one that checks all invariants and goals, one that asks all assumptions, and one per
//! property that answers for given parameter values.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_module::FuncId;
use hadal_system::{Property, PropertyBody, PropertyKind, system};

use super::CompileError;
use super::calls::{DROPPED, FAULT};
use super::emit::{Binding, Covers, Emitter};
use super::firing::locals_of;
use super::jit::{AskFn, Code};
use super::memory::StateMode;
use super::plan::expr_cost;
use super::unit::Unit;
use super::values::Val;

/// Answers of [`ask_function`]: does not hold, holds, met an error.
pub(super) const NO: u64 = 0;
/// See [`NO`].
pub(super) const YES: u64 = 1;
/// See [`NO`].
pub(super) const ERROR: u64 = 2;

/// Instructions that all property instances together may take before they become loops.
const BUDGET: usize = 30_000;
/// Functions larger than this are split.
const MAX_FUNCTION: usize = 2_000;

/// What a function that checks several property instances says: nothing found.
pub(super) const FINE: u64 = 0;
/// The two low bits of what it says otherwise; the property's id stands above them.
pub(super) const HIT: u64 = 1;
/// See [`HIT`].
pub(super) const BROKEN: u64 = 2;

/// A property instance to check.
#[derive(Clone)]
struct Checked<'s> {
    property: &'s Property,
    id: u32,
    values: Vec<i64>,
}

/// A property and the values of its parameters.
struct Instance<'s, 'v> {
    property: &'s Property,
    values: &'v [Val],
}

/// Something that checks property instances; the first answer of a list of them counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Checker<F> {
    /// Checks the instances it was built for; answers [`FINE`], or an id with [`HIT`] or [`BROKEN`].
    Constants(F),
    /// Too many instances for code of their own: this property, from this id on, is asked instance by instance.
    Instances {
        property: usize,
        first: u32,
        count: u32,
        /// The answer that is fine.
        wanted: u64,
    },
}

impl Checker<FuncId> {
    /// The same with the function's address.
    pub fn callable(self, code: &Code) -> Checker<AskFn> {
        match self {
            Checker::Constants(func) => Checker::Constants(code.ask(func)),
            Checker::Instances { property, first, count, wanted } => {
                Checker::Instances { property, first, count, wanted }
            }
        }
    }
}

impl Checker<AskFn> {
    /// The function that checks, where it needs no values of parameters.
    pub fn without_parameters(&self) -> Option<AskFn> {
        match self {
            Checker::Constants(ask) => Some(*ask),
            Checker::Instances { .. } => None,
        }
    }
}

/// Builds what checks invariants and goals.
pub(super) fn checkers(unit: &mut Unit) -> Result<Vec<Checker<FuncId>>, CompileError> {
    let is_checked = |p: &Property| matches!(p.kind, PropertyKind::Invariant | PropertyKind::Goal);
    let mut checkers = Vec::new();
    let mut batch: Vec<Checked> = Vec::new();
    let mut size = 0;
    let (system, bases) = (unit.system, unit.property_bases.clone());
    let mut left = BUDGET;
    for (at, property) in system.properties.iter().enumerate().filter(|(_, p)| is_checked(p)) {
        let count = system::instance_count(&property.params, &system.domains);
        let cost = match &property.body {
            PropertyBody::State(condition) => expr_cost(condition) + 10,
            PropertyBody::Statements | PropertyBody::Claim(_) => 10,
        };
        let total = (count as usize).saturating_mul(cost);
        if count > 1 && total > left {
            flush(unit, &mut batch, &mut checkers)?;
            size = 0;
            let wanted = if property.kind == PropertyKind::Invariant { YES } else { NO };
            // Ids are 32-bit numbers, so counts of instances that have one are as well.
            let count = bases[at + 1] - bases[at];
            checkers.push(Checker::Instances { property: at, first: bases[at], count, wanted });
            continue;
        }
        left = left.saturating_sub(total);
        for n in 0..count {
            let values = system::instance_values(&property.params, &system.domains, n);
            batch.push(Checked { property, id: bases[at] + n as u32, values });
            size += cost;
            if size > MAX_FUNCTION {
                flush(unit, &mut batch, &mut checkers)?;
                size = 0;
            }
        }
    }
    flush(unit, &mut batch, &mut checkers)?;
    Ok(checkers)
}

fn flush<'s>(
    unit: &mut Unit<'s>,
    batch: &mut Vec<Checked<'s>>,
    checkers: &mut Vec<Checker<FuncId>>,
) -> Result<(), CompileError> {
    if batch.is_empty() {
        return Ok(());
    }
    let batch = std::mem::take(batch);
    let signature = unit.jit.signature(3, 1);
    let func = unit.build_now(signature, Covers::Ignore, |e, parameters| e.check_all(&batch, &parameters))?;
    checkers.push(Checker::Constants(func));
    Ok(())
}

/// Builds the function that answers for one property; its parameters come as a list of values.
pub(super) fn ask_function<'s>(unit: &mut Unit<'s>, property: &'s Property) -> Result<FuncId, CompileError> {
    let signature = unit.jit.signature(3, 1);
    unit.build_now(signature, Covers::Ignore, |e, parameters| {
        let flags = MemFlagsData::trusted();
        let values: Vec<Val> = (0..property.params.len())
            .map(|n| {
                let v = e.b.ins().load(types::I64, flags, parameters[2], n as i32 * 8);
                Val::Dyn { v, lo: i64::MIN, hi: i64::MAX }
            })
            .collect();
        let (yes, no) = (e.b.create_block(), e.b.create_block());
        e.predicate(Instance { property, values: &values }, parameters[1], yes, no);
        let fault = e.ends.fault;
        for (block, answer) in [(yes, YES), (no, NO), (fault, ERROR)] {
            if e.reached(block) {
                e.enter(block);
                let answer = e.int(answer as i64);
                e.b.ins().return_(&[answer]);
            }
        }
    })
}

/// Builds the function that evaluates all assumptions and gives a status.
pub(super) fn assumption_function(unit: &mut Unit) -> Result<Option<FuncId>, CompileError> {
    let system = unit.system;
    let assumptions: Vec<&Property> =
        system.properties.iter().filter(|p| p.kind == PropertyKind::Assumption).collect();
    if assumptions.is_empty() {
        return Ok(None);
    }
    let signature = unit.jit.signature(3, 1);
    let func = unit.build_now(signature, Covers::Ignore, |e, parameters| {
        let (fault, dropped) = (e.ends.fault, e.ends.dropped);
        for property in assumptions {
            for n in 0..system::instance_count(&property.params, &system.domains) {
                let values = system::instance_values(&property.params, &system.domains, n);
                let values: Vec<Val> = values.into_iter().map(Val::Const).collect();
                let on = e.b.create_block();
                e.predicate(Instance { property, values: &values }, parameters[1], on, dropped);
                e.enter(on);
            }
        }
        let done = e.int(0);
        e.b.ins().return_(&[done]);
        for (block, status) in [(fault, FAULT), (dropped, DROPPED)] {
            if e.reached(block) {
                e.enter(block);
                let status = e.int(status);
                e.b.ins().return_(&[status]);
            }
        }
    })?;
    Ok(Some(func))
}

impl<'s> Emitter<'_, 's> {
    /// Branches on a property's predicate. A failed assumption statement makes an invariant hold and others not.
    fn predicate(
        &mut self,
        Instance { property, values }: Instance<'s, '_>,
        state: Value,
        yes: cranelift_codegen::ir::Block,
        no: cranelift_codegen::ir::Block,
    ) {
        let PropertyBody::State(condition) = &property.body else { return self.goto(no) };
        let outer = self.ends.dropped;
        self.ends.dropped = self.b.create_block();
        let before = self.facts.clone();
        let writes = self.unit.plan.expr_writes(condition);
        self.state = if writes {
            let slot = self.stack_slot(self.unit.layout.words() as u32 * 64);
            let scratch = self.b.ins().stack_addr(types::I64, slot, 0);
            self.copy_state(scratch, state);
            StateMode::unknown(scratch)
        } else {
            StateMode::source(state)
        };
        let exit = self.b.create_block();
        let used = locals_of(condition, property.locals.len());
        self.open_frame(&property.locals, exit, None, |n| used[n]);
        for (param, &value) in property.params.iter().zip(values) {
            self.frame().bindings[param.local.0 as usize] = Binding::Value(value);
        }
        let (holds, fails) = (self.b.create_block(), self.b.create_block());
        self.condition(condition, holds, fails);
        self.frames.pop();
        let invariant = property.kind == PropertyKind::Invariant;
        let dropped = std::mem::replace(&mut self.ends.dropped, outer);
        let to_dropped = if invariant { yes } else { no };
        for (block, to) in [(holds, yes), (fails, no), (dropped, to_dropped)] {
            if self.reached(block) {
                self.enter(block);
                if writes || block == dropped {
                    self.facts = before.clone();
                }
                self.facts.forget_locals();
                self.goto(to);
            }
        }
        self.state = StateMode::source(state);
    }

    fn check_all(&mut self, batch: &[Checked<'s>], parameters: &[Value]) {
        for it in batch {
            if self.dead {
                break;
            }
            let values: Vec<Val> = it.values.iter().copied().map(Val::Const).collect();
            let (on, hit) = (self.b.create_block(), self.b.create_block());
            let fault = self.b.create_block();
            self.ends.fault = fault;
            let (yes, no) = if it.property.kind == PropertyKind::Invariant { (on, hit) } else { (hit, on) };
            let instance = Instance { property: it.property, values: &values };
            self.predicate(instance, parameters[1], yes, no);
            for (block, answer) in [(hit, HIT), (fault, BROKEN)] {
                if self.reached(block) {
                    self.b.set_cold_block(block);
                    self.enter(block);
                    let answer = self.int((u64::from(it.id) << 2 | answer) as i64);
                    self.b.ins().return_(&[answer]);
                }
            }
            self.enter(on);
        }
        let fine = self.int(FINE as i64);
        self.b.ins().return_(&[fine]);
    }
}
