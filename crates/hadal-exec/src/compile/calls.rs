//! Calls: small functions are inlined, so that constants and static offsets flow into them; others, and whatever may
//! call itself, become functions of the machine.
//!
//! A compiled function takes the context, the state, the nesting of calls (where some function of the system may call
//! itself), then per parameter: the code of a scalar, or address and bit offset of an aggregate or reference. It gives
//! a status (0 done, 1 fault, 2 dropped) and the code of its result.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlot, Value, types};
use cranelift_frontend::Variable;
use hadal_system::{Argument, Function, FunctionId, LocalKind, MAX_CALL_DEPTH, Place};

use super::emit::{Binding, Emitter};
use super::facts::Key;
use super::memory::{Mem, MemBase, StateMode};
use super::places::{Location, PackedPlace};
use super::plan::{Summary, argument_calls};
use super::stmts::bind;
use super::values::{Code, Val, max_code};

/// The largest function that is inlined.
const MAX_INLINE_COST: usize = 120;
/// How deep inlined calls may nest.
const MAX_INLINE_DEPTH: u32 = 8;

/// Status of a call that met an error.
pub(super) const FAULT: i64 = 1;
/// Status of a call that a failed assumption ended.
pub(super) const DROPPED: i64 = 2;

impl<'s> Emitter<'_, 's> {
    /// Calls a function; gives its result where it has one.
    pub fn call(&mut self, id: FunctionId, arguments: &'s [Argument]) -> Option<Val> {
        if self.dead {
            return Some(Val::Const(0));
        }
        let summary = self.unit.plan.function(id.0 as usize);
        self.check_depth();
        if !summary.recursive
            && summary.cost <= MAX_INLINE_COST
            && self.calls.inlined < MAX_INLINE_DEPTH
            && self.may_expand(1, summary.cost)
        {
            self.call_inline(id, summary, arguments)
        } else {
            self.call_compiled(id, summary, arguments)
        }
    }

    /// Meets a fault where calls nest too deep.
    fn check_depth(&mut self) {
        let Some(depth) = self.calls.depth else { return };
        let limit = i64::from(MAX_CALL_DEPTH) - i64::from(self.calls.inlined);
        let fits = self.is(IntCC::SignedLessThan, depth, limit);
        self.require(fits);
    }

    fn call_inline(&mut self, id: FunctionId, summary: Summary, arguments: &'s [Argument]) -> Option<Val> {
        let function = self.system.function(id);
        let mut bindings = Vec::with_capacity(arguments.len());
        for (n, argument) in arguments.iter().enumerate() {
            bindings.push(self.inline_argument(id, summary, n, argument));
        }
        let exit = self.b.create_block();
        self.open_frame(&function.locals, exit, function.result, |n| n >= function.parameters);
        for (n, binding) in bindings.into_iter().enumerate() {
            self.frame().bindings[n] = binding;
        }
        self.calls.inlined += 1;
        self.block(&function.body);
        self.calls.inlined -= 1;
        self.end_body(function);
        self.enter(exit);
        // The frame was pushed above.
        let frame = self.frames.pop().expect("the callee's frame is open");
        frame.result.map(|(domain, variable)| {
            let domain = &self.system.domains[domain];
            let (lo, hi) = self
                .facts
                .get(Key::Var(variable.as_u32()), 64)
                .unwrap_or((u64::from(domain.undefined), max_code(domain)));
            let code =
                if lo == hi { Code::Const(lo) } else { Code::Dyn { v: self.b.use_var(variable), lo, hi } };
            self.decode(code, domain)
        })
    }

    /// Running off the end of a function: a fault where a result was promised.
    fn end_body(&mut self, function: &Function) {
        if function.result.is_some() {
            self.goto(self.ends.fault);
        } else {
            let exit = self.frame().exit;
            self.goto(exit);
        }
    }

    fn inline_argument(
        &mut self,
        id: FunctionId,
        summary: Summary,
        n: usize,
        argument: &'s Argument,
    ) -> Binding {
        let parameter = &self.system.function(id).locals[n];
        let assigned = self.unit.plan.is_assigned(id.0 as usize, n);
        match argument {
            Argument::Value(expr) => {
                let value = self.value(expr);
                let (_, domain) = self.scalar_domain(parameter.shape);
                let code = self.encode(value, domain);
                if !assigned {
                    return Binding::Value(self.decode(code, domain));
                }
                self.scalar_variable(code, parameter.shape)
            }
            Argument::Copy(place) => {
                let target = self.resolve(place);
                if let Some(code) = self.scalar_argument(&target, parameter.shape) {
                    return self.scalar_variable(code, parameter.shape);
                }
                let Location::Memory(from) = target.location else {
                    unreachable!("aggregates are in memory")
                };
                if !assigned && !summary.writes {
                    return Binding::Memory(from, target.shape);
                }
                let bits = self.unit.layout.shape_bits(parameter.shape);
                let to = Mem::at(MemBase::Slot(self.stack_slot(bits)), 0);
                self.copy_memory(&to, &from, bits);
                Binding::Memory(to, parameter.shape)
            }
            Argument::Reference(place) => bind(&self.resolve(place)),
        }
    }

    fn scalar_variable(&mut self, code: Code, shape: hadal_system::ShapeId) -> Binding {
        let (lo, hi) = code.bounds();
        let v = self.raw_code(code);
        let variable = self.variable(v);
        self.facts.set(Key::Var(variable.as_u32()), 64, lo, hi);
        Binding::Scalar(variable, shape)
    }

    /// The code of a scalar that is passed by copy.
    fn scalar_argument(&mut self, target: &PackedPlace, parameter: hadal_system::ShapeId) -> Option<Code> {
        self.system.shapes.scalar(parameter)?;
        let code = self.load(target);
        Some(match target.location {
            Location::Value(value) => {
                let (_, domain) = self.scalar_domain(parameter);
                self.encode(value, domain)
            }
            _ => self.recode(code, target.shape, parameter),
        })
    }

    fn call_compiled(&mut self, id: FunctionId, summary: Summary, arguments: &'s [Argument]) -> Option<Val> {
        let function = self.system.function(id);
        let mut values = vec![self.context, self.context];
        if self.unit.plan.counts_depth {
            let base = match self.calls.depth {
                Some(depth) => depth,
                None => self.int(0),
            };
            let more = self.int(i64::from(self.calls.inlined) + 1);
            values.push(self.b.ins().iadd(base, more));
        }
        let mut lent: Vec<(Variable, StackSlot)> = Vec::new();
        for (n, argument) in arguments.iter().enumerate() {
            let parameter = function.locals[n].shape;
            match argument {
                Argument::Value(expr) => {
                    let value = self.value(expr);
                    let (_, domain) = self.scalar_domain(parameter);
                    let code = self.encode(value, domain);
                    values.push(self.raw_code(code));
                }
                Argument::Copy(place) => {
                    let target = self.resolve(place);
                    if let Some(code) = self.scalar_argument(&target, parameter) {
                        values.push(self.raw_code(code));
                        continue;
                    }
                    let Location::Memory(mut from) = target.location else {
                        unreachable!("aggregates are in memory")
                    };
                    // The callee copies when it starts: a later argument must not change the original before.
                    if arguments[n + 1..].iter().any(argument_calls) {
                        let bits = self.unit.layout.shape_bits(parameter);
                        let to = Mem::at(MemBase::Slot(self.stack_slot(bits)), 0);
                        self.copy_memory(&to, &from, bits);
                        from = to;
                    }
                    let (base, at) = self.address(&from);
                    values.extend([base, at]);
                }
                Argument::Reference(place) => {
                    let (base, at) = self.reference_argument(place, parameter, &mut lent);
                    values.extend([base, at]);
                }
            }
        }
        values[1] = self.state_address();
        let id = self.unit.compiled_function(id, self.covers);
        // Scalars that later arguments may have changed since they were lent.
        for &(variable, slot) in &lent {
            let v = self.b.use_var(variable);
            self.b.ins().stack_store(types::I64, v, slot, 0);
        }
        let results = self.call_id(id, &values);
        if summary.writes {
            self.reload_state();
            self.facts.forget_memory();
            for (variable, slot) in lent {
                let v = self.b.ins().stack_load(types::I64, types::I64, slot, 0);
                self.b.def_var(variable, v);
                self.facts.set(Key::Var(variable.as_u32()), 64, 0, u64::MAX);
            }
        }
        self.follow_status(results[0], summary.drops);
        function.result.map(|domain| {
            let domain = &self.system.domains[domain];
            let (lo, hi) = (u64::from(domain.undefined), max_code(domain));
            let code = if lo == hi { Code::Const(lo) } else { Code::Dyn { v: results[1], lo, hi } };
            self.decode(code, domain)
        })
    }

    /// Address and bit offset of what a reference stands for. A scalar in a register is lent to the callee in memory.
    fn reference_argument(
        &mut self,
        place: &'s Place,
        parameter: hadal_system::ShapeId,
        lent: &mut Vec<(Variable, StackSlot)>,
    ) -> (Value, Value) {
        let target = self.resolve(place);
        if !self.same_bits(target.shape, parameter) {
            self.unit.refuse("a reference to a place of another shape");
        }
        let slot = match target.location {
            Location::Memory(mem) => return self.address(&mem),
            Location::Register(variable) => match lent.iter().find(|(v, _)| *v == variable) {
                Some(&(_, slot)) => slot,
                None => {
                    let slot = self.stack_slot(64);
                    lent.push((variable, slot));
                    slot
                }
            },
            Location::Value(_) => {
                let slot = self.stack_slot(64);
                let code = self.load(&target);
                let v = self.raw_code(code);
                self.b.ins().stack_store(types::I64, v, slot, 0);
                slot
            }
        };
        let base = self.b.ins().stack_addr(types::I64, slot, 0);
        (base, self.int(0))
    }

    /// Goes on where a status is 0.
    pub fn follow_status(&mut self, status: Value, may_drop: bool) {
        let on = self.b.create_block();
        if may_drop {
            let bad = self.b.create_block();
            self.branch(status, bad, on);
            self.enter(bad);
            let faulty = self.is(IntCC::Equal, status, FAULT);
            self.branch(faulty, self.ends.fault, self.ends.dropped);
        } else {
            self.branch(status, self.ends.fault, on);
        }
        self.enter(on);
    }

    /// Emits the body of a compiled function.
    pub fn function_body(&mut self, id: FunctionId, parameters: &[Value]) {
        let function = self.system.function(id);
        let summary = self.unit.plan.function(id.0 as usize);
        let mut rest = parameters[2..].iter().copied();
        if self.unit.plan.counts_depth {
            self.calls.depth = rest.next();
        }
        if !summary.writes {
            self.state = StateMode::source(parameters[1]);
        }
        self.expands = !summary.recursive;
        let exit = self.b.create_block();
        self.open_frame(&function.locals, exit, function.result, |n| n >= function.parameters);
        for n in 0..function.parameters {
            let mut next = || rest.next().expect("the signature has a register per parameter word");
            let local = &function.locals[n];
            let binding =
                if local.kind != LocalKind::Reference && self.system.shapes.scalar(local.shape).is_some() {
                    let v = next();
                    Binding::Scalar(self.variable(v), local.shape)
                } else {
                    let (base, at) = (next(), next());
                    let there = Mem {
                        base: MemBase::Pointer(base),
                        fixed: 0,
                        moving: Some(at),
                        reach: u32::MAX,
                        grain: 0,
                    };
                    let own = local.kind != LocalKind::Reference
                        && (summary.writes || self.unit.plan.is_assigned(id.0 as usize, n));
                    if own {
                        let bits = self.unit.layout.shape_bits(local.shape);
                        let here = Mem::at(MemBase::Slot(self.stack_slot(bits)), 0);
                        self.copy_memory(&here, &there, bits);
                        Binding::Memory(here, local.shape)
                    } else {
                        Binding::Memory(there, local.shape)
                    }
                };
            self.frame().bindings[n] = binding;
        }
        self.block(&function.body);
        self.end_body(function);
        self.enter(exit);
        let result = self.frame().result;
        let v = match result {
            Some((_, variable)) => self.b.use_var(variable),
            None => self.int(0),
        };
        let done = self.int(0);
        self.b.ins().return_(&[done, v]);
        for (block, status) in [(self.ends.fault, FAULT), (self.ends.dropped, DROPPED)] {
            if self.reached(block) {
                self.b.set_cold_block(block);
                self.enter(block);
                let (status, zero) = (self.int(status), self.int(0));
                self.b.ins().return_(&[status, zero]);
            }
        }
    }

    /// How many registers a function's parameters take.
    pub fn parameter_words(function: &Function, system: &hadal_system::System) -> usize {
        function.locals[..function.parameters]
            .iter()
            .map(|local| {
                let scalar = system.shapes.scalar(local.shape).is_some();
                if scalar && local.kind != LocalKind::Reference { 1 } else { 2 }
            })
            .sum()
    }
}
