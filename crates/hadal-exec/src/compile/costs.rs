//! What actions cost, as functions: one per action whose cost is no constant, for given parameter values.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use cranelift_module::FuncId;
use hadal_system::{Action, COST_ERROR, Expr, MOST_COST};

use super::CompileError;
use super::emit::{Binding, Covers};
use super::firing::locals_of;
use super::jit::{AskFn, Code};
use super::memory::StateMode;
use super::unit::Unit;
use super::values::Val;

/// How the cost of an action is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cost<F> {
    /// It is always this.
    Always(u32),
    /// By a function of the state and the parameters.
    Ask(F),
}

impl Cost<FuncId> {
    /// The same with the function's address.
    pub fn callable(self, code: &Code) -> Cost<AskFn> {
        match self {
            Cost::Always(cost) => Cost::Always(cost),
            Cost::Ask(func) => Cost::Ask(code.ask(func)),
        }
    }
}

/// Builds what tells the cost of an action.
pub(super) fn cost<'s>(unit: &mut Unit<'s>, action: &'s Action) -> Result<Cost<FuncId>, CompileError> {
    match &action.cost {
        None => Ok(Cost::Always(1)),
        Some(cost) => match cost.as_const() {
            Some(value) => Ok(Cost::Always(u32::try_from(value).unwrap_or(COST_ERROR))),
            None => cost_function(unit, action, cost).map(Cost::Ask),
        },
    }
}

/// A function that gives the cost, or [`COST_ERROR`].
fn cost_function<'s>(
    unit: &mut Unit<'s>,
    action: &'s Action,
    cost: &'s Expr,
) -> Result<FuncId, CompileError> {
    let signature = unit.jit.signature(3, 1);
    unit.build_now(signature, Covers::Ignore, |e, parameters| {
        let (state, values) = (parameters[1], parameters[2]);
        let error = e.b.create_block();
        (e.ends.fault, e.ends.dropped) = (error, error);
        e.state = if e.unit.plan.expr_writes(cost) {
            let slot = e.stack_slot(e.unit.layout.words() as u32 * 64);
            let scratch = e.b.ins().stack_addr(types::I64, slot, 0);
            e.copy_state(scratch, state);
            StateMode::unknown(scratch)
        } else {
            StateMode::source(state)
        };
        let exit = e.b.create_block();
        let used = locals_of(cost, action.locals.len());
        e.open_frame(&action.locals, exit, None, |n| used[n]);
        for (n, param) in action.params.iter().enumerate() {
            let v = e.b.ins().load(types::I64, MemFlagsData::trusted(), values, n as i32 * 8);
            let value = Val::Dyn { v, lo: i64::MIN, hi: i64::MAX };
            e.frame().bindings[param.local.0 as usize] = Binding::Value(value);
        }
        let value = e.value(cost);
        if !e.dead {
            let value = e.raw(value);
            let most = e.int(i64::from(MOST_COST));
            // Below 0 is large without a sign.
            let fits = e.compare(IntCC::UnsignedLessThanOrEqual, value, most);
            e.require(fits);
            e.b.ins().return_(&[value]);
        }
        e.frames.pop();
        if e.reached(error) {
            e.enter(error);
            let answer = e.int(i64::from(COST_ERROR));
            e.b.ins().return_(&[answer]);
        }
    })
}
