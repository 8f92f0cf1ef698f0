//! Firing one action instance: guard on the source state, body on a copy, then the successor is appended.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use cranelift_module::FuncId;
use hadal_system::{Action, Base, BinaryOp, Expr, ExprKind, ParamValues};

use super::calls::{DROPPED, FAULT};
use super::emit::{Binding, Emitter};
use super::jit::Helper;
use super::memory::StateMode;
use super::runtime::Context;
use super::unit::Job;
use super::values::{Code, Val, max_code};
use super::walk::{self, Node};

/// States of at most this many words are kept in registers while a body runs.
const REGISTER_WORDS: usize = 6;

/// Where successors go.
#[derive(Clone, Copy)]
pub(super) struct Outputs {
    pub source: Value,
    pub states: Variable,
    pub labels: Variable,
}

/// How the body of an instance is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyStyle {
    /// In place, for these parameter values.
    Inline,
    /// As a function that all instances of the action share.
    Shared(FuncId),
}

/// The body of an action as a function of its parameters.
pub(super) struct SharedBody<'s> {
    pub action: &'s Action,
}

/// Which instance fires.
pub(super) struct Firing<'s> {
    pub action: &'s Action,
    pub values: Vec<Val>,
    pub label: Val,
    pub style: BodyStyle,
}

impl<'s> Emitter<'_, 's> {
    /// Emits guard, body and hand-over of an instance; goes on behind it whatever came of it.
    pub fn fire(&mut self, firing: &Firing<'s>, outputs: &Outputs) {
        if self.dead {
            return;
        }
        let before = self.facts.clone();
        let outer = (self.ends.fault, self.ends.dropped);
        let next = self.b.create_block();
        self.ends.fault = self.b.create_block();
        self.ends.dropped = self.b.create_block();

        let enabled = self.b.create_block();
        self.guard(firing, outputs.source, enabled, next);
        if self.reached(enabled) {
            self.enter(enabled);
            let source_facts = self.facts.clone();
            match firing.style {
                BodyStyle::Inline => {
                    let home = self.b.use_var(outputs.states);
                    self.body(firing.action, &firing.values, outputs.source, home);
                }
                BodyStyle::Shared(id) => self.call_body(id, firing, outputs),
            }
            if !self.dead {
                self.append(firing.label, outputs);
            }
            self.facts = source_facts;
            self.facts.forget_locals();
            self.state = StateMode::source(outputs.source);
            self.goto(next);
        }
        for block in [self.ends.fault, self.ends.dropped] {
            if self.reached(block) {
                if block == self.ends.fault {
                    self.b.set_cold_block(block);
                }
                self.enter(block);
                self.facts = before.clone();
                if block == self.ends.fault {
                    let label = self.raw(firing.label);
                    self.call_helper(Helper::NoteFault, &[self.context, label]);
                }
                self.goto(next);
            }
        }
        (self.ends.fault, self.ends.dropped) = outer;
        self.enter(next);
    }

    /// Branches on the guard. What functions called in it write is forgotten: they work on a copy of the state, which is made
    /// once the conjuncts before them hold.
    fn guard(&mut self, firing: &Firing<'s>, source: Value, enabled: Block, next: Block) {
        let guard = &firing.action.guard;
        let used = locals_of(guard, firing.action.locals.len());
        if !self.unit.plan.expr_writes(guard) {
            self.open_instance(firing, &used);
            self.condition(guard, enabled, next);
            self.frames.pop();
            return;
        }
        let conjuncts = conjuncts_of(guard);
        let reading = conjuncts.iter().take_while(|part| !self.unit.plan.expr_writes(part)).count();
        let (reading, writing) = conjuncts.split_at(reading);
        if !reading.is_empty() {
            let copied = self.b.create_block();
            self.open_instance(firing, &used);
            self.all_hold(reading, copied, next);
            self.frames.pop();
            if !self.reached(copied) {
                return;
            }
            self.enter(copied);
            self.facts.forget_locals();
        }
        let before = self.facts.clone();
        let slot = self.stack_slot(self.unit.layout.words() as u32 * 64);
        let scratch = self.b.ins().stack_addr(types::I64, slot, 0);
        self.copy_state(scratch, source);
        self.state = StateMode::unknown(scratch);
        self.open_instance(firing, &used);
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.all_hold(writing, yes, no);
        self.frames.pop();
        self.state = StateMode::source(source);
        for (block, to) in [(yes, enabled), (no, next)] {
            if self.reached(block) {
                self.enter(block);
                self.facts = before.clone();
                self.goto(to);
            }
        }
    }

    /// Branches on whether all of at least one condition hold, the first first.
    fn all_hold(&mut self, conditions: &[&'s Expr], yes: Block, no: Block) {
        for (n, condition) in conditions.iter().enumerate() {
            let more = if n + 1 < conditions.len() { self.b.create_block() } else { yes };
            self.condition(condition, more, no);
            if n + 1 < conditions.len() {
                if !self.reached(more) {
                    return;
                }
                self.enter(more);
            }
        }
    }

    fn open_instance(&mut self, firing: &Firing<'s>, used: &[bool]) {
        self.open_params(firing.action, &firing.values, used);
    }

    fn open_params(&mut self, action: &'s Action, values: &[Val], used: &[bool]) {
        let exit = self.b.create_block();
        self.open_frame(&action.locals, exit, None, |n| used[n]);
        for (param, &value) in action.params.iter().zip(values) {
            self.frame().bindings[param.local.0 as usize] = Binding::Value(value);
        }
    }

    /// Emits the body on a copy of the source that ends, complete, at `home`.
    fn body(&mut self, action: &'s Action, values: &[Val], source: Value, home: Value) {
        let words = self.unit.layout.words();
        self.facts.dirty = 0;
        if words <= REGISTER_WORDS {
            let flags = MemFlagsData::trusted().with_readonly().with_can_move();
            let words = (0..words)
                .map(|word| {
                    let value = self.b.ins().load(types::I64, flags, source, word as i32 * 8);
                    self.variable(value)
                })
                .collect();
            self.state = StateMode::Registers { words, source, home };
        } else {
            self.copy_state(home, source);
            self.state = StateMode::unknown(home);
        }
        let mut used = vec![false; action.locals.len()];
        walk::block(&action.body, &mut |node| note_local(node, &mut used));
        self.open_params(action, values, &used);
        self.block(&action.body);
        let exit = self.frame().exit;
        self.goto(exit);
        self.enter(exit);
        self.frames.pop();
        if self.dead {
            return;
        }
        self.spill_state();
        self.state = StateMode::unknown(home);
        if let Some(assumptions) = self.unit.assumptions {
            let zero = self.int(0);
            let status = self.call_id(assumptions, &[self.context, home, zero])[0];
            self.follow_status(status, true);
        }
    }

    fn call_body(&mut self, id: FuncId, firing: &Firing<'s>, outputs: &Outputs) {
        let home = self.b.use_var(outputs.states);
        let mut arguments = vec![self.context, outputs.source, home];
        for &value in &firing.values {
            arguments.push(self.raw(value));
        }
        let status = self.call_id(id, &arguments)[0];
        self.follow_status(status, true);
    }

    /// The function of a shared body: context, source, where to, parameters; gives a status.
    pub fn shared_body(&mut self, body: &SharedBody<'s>, parameters: &[Value]) {
        let values = self.values(body.action, |_, n| parameters[3 + n]);
        self.whole_body(body.action, &values, parameters);
    }

    /// The function of one action's body: context, source, where to, the address of the parameters; gives a status.
    pub fn single_body(&mut self, action: &'s Action, parameters: &[Value]) {
        let flags = MemFlagsData::trusted().with_readonly();
        let values =
            self.values(action, |e, n| e.b.ins().load(types::I64, flags, parameters[3], n as i32 * 8));
        self.whole_body(action, &values, parameters);
    }

    /// Parameters of an action, found one by one.
    fn values(&mut self, action: &Action, mut find: impl FnMut(&mut Self, usize) -> Value) -> Vec<Val> {
        let numbered = action.params.iter().enumerate();
        let values = numbered.map(|(n, param)| {
            let (lo, hi) = self.param_bounds(&param.values);
            Val::Dyn { v: find(self, n), lo, hi }
        });
        values.collect()
    }

    fn whole_body(&mut self, action: &'s Action, values: &[Val], parameters: &[Value]) {
        self.body(action, values, parameters[1], parameters[2]);
        let done = self.int(0);
        self.b.ins().return_(&[done]);
        for (block, status) in [(self.ends.fault, FAULT), (self.ends.dropped, DROPPED)] {
            if self.reached(block) {
                self.b.set_cold_block(block);
                self.enter(block);
                let status = self.int(status);
                self.b.ins().return_(&[status]);
            }
        }
    }

    fn param_bounds(&self, values: &ParamValues) -> (i64, i64) {
        match *values {
            ParamValues::Domain(id) => (self.system.domains[id].min(), self.system.domains[id].max()),
            ParamValues::Steps { from, to, .. } => (from.min(to), from.max(to)),
        }
    }

    /// The successor at the end of the states is complete: it gets its label.
    fn append(&mut self, label: Val, outputs: &Outputs) {
        let label = self.raw(label);
        let labels = self.b.use_var(outputs.labels);
        self.b.ins().istore32(MemFlagsData::new().with_notrap(), label, labels, 0);
        let four = self.int(4);
        let labels = self.b.ins().iadd(labels, four);
        self.b.def_var(outputs.labels, labels);
        let states = self.b.use_var(outputs.states);
        let bytes = self.int(self.unit.layout.words() as i64 * 8);
        let states = self.b.ins().iadd(states, bytes);
        self.b.def_var(outputs.states, states);
    }

    /// Fires instances `first..last` of an action one after the other; `base` is the label of instance 0.
    pub fn fire_range(
        &mut self,
        action: &'s Action,
        (first, last): (Value, Value),
        base: u32,
        outputs: &Outputs,
    ) {
        let (head, end) = (self.b.create_block(), self.b.create_block());
        let number = self.variable(first);
        let counts: Vec<u64> = action.params.iter().map(|p| p.values.count(&self.system.domains)).collect();
        let digits = self.odometer(first, &counts);
        let some = self.compare(IntCC::UnsignedLessThan, first, last);
        self.branch(some, head, end);
        self.enter_loop(head);
        let n = self.b.use_var(number);
        let values: Vec<Val> = action
            .params
            .iter()
            .zip(&digits)
            .map(|(param, &digit)| {
                let digit = self.b.use_var(digit);
                self.param_value(&param.values, digit)
            })
            .collect();
        let base_value = self.int(i64::from(base));
        let v = self.b.ins().iadd(n, base_value);
        let label = Val::Dyn { v, lo: 0, hi: i64::from(u32::MAX) };
        self.fire(&Firing { action, values, label, style: BodyStyle::Inline }, outputs);
        let one = self.int(1);
        let n = self.b.ins().iadd(n, one);
        self.b.def_var(number, n);
        self.turn_odometer(&digits, &counts);
        let more = self.compare(IntCC::UnsignedLessThan, n, last);
        self.branch(more, head, end);
        self.seal(head);
        self.enter(end);
    }

    /// The positions of each parameter's value in instance `n`.
    fn odometer(&mut self, n: Value, counts: &[u64]) -> Vec<Variable> {
        let mut rest = n;
        let mut digits = Vec::with_capacity(counts.len());
        for &count in counts.iter().rev() {
            let count = self.int(count.max(1) as i64);
            let digit = self.b.ins().urem(rest, count);
            rest = self.b.ins().udiv(rest, count);
            digits.push(self.variable(digit));
        }
        digits.reverse();
        digits
    }

    fn turn_odometer(&mut self, digits: &[Variable], counts: &[u64]) {
        let mut carry = self.int(1);
        for (&digit, &count) in digits.iter().zip(counts).rev() {
            let value = self.b.use_var(digit);
            let value = self.b.ins().iadd(value, carry);
            let wraps = self.is(IntCC::Equal, value, count as i64);
            let zero = self.int(0);
            let value = self.b.ins().select(wraps, zero, value);
            self.b.def_var(digit, value);
            carry = self.b.ins().uextend(types::I64, wraps);
        }
    }

    fn param_value(&mut self, values: &ParamValues, position: Value) -> Val {
        let (lo, hi) = self.param_bounds(values);
        match *values {
            ParamValues::Domain(id) => {
                let domain = &self.system.domains[id];
                let first = u64::from(domain.undefined);
                let start = self.int(first as i64);
                let v = self.b.ins().iadd(position, start);
                self.decode(Code::Dyn { v, lo: first, hi: max_code(domain) }, domain)
            }
            ParamValues::Steps { from, by, .. } => {
                let (from, by) = (self.int(from), self.int(by));
                let offset = self.b.ins().imul(position, by);
                let v = self.b.ins().iadd(from, offset);
                Val::Dyn { v, lo, hi }
            }
        }
    }

    /// The function of an action's shared body.
    pub fn shared(unit: &mut super::unit::Unit<'s>, action: &'s Action) -> FuncId {
        let signature = unit.jit.signature(3 + action.params.len(), 1);
        unit.announce(signature, Job::Body(SharedBody { action }))
    }

    /// Starts a function that appends successors.
    pub fn open_outputs(&mut self, parameters: &[Value]) -> Outputs {
        let (states, labels) = (self.variable(parameters[2]), self.variable(parameters[3]));
        self.state = StateMode::source(parameters[1]);
        Outputs { source: parameters[1], states, labels }
    }

    /// Ends a function that appends successors.
    pub fn close_outputs(&mut self, outputs: &Outputs) {
        let (states, labels) = (self.b.use_var(outputs.states), self.b.use_var(outputs.labels));
        self.b.ins().return_(&[states, labels]);
    }

    /// Instances to fire, as the caller of a looping function asks for them.
    pub fn asked_range(&mut self) -> (Value, Value) {
        let flags = MemFlagsData::trusted();
        let first = self.b.ins().load(types::I64, flags, self.context, Context::FIRST);
        let last = self.b.ins().load(types::I64, flags, self.context, Context::LAST);
        (first, last)
    }
}

/// Which locals an expression names.
pub(super) fn locals_of(expr: &Expr, count: usize) -> Vec<bool> {
    let mut used = vec![false; count];
    walk::expr(expr, &mut |node| note_local(node, &mut used));
    used
}

fn note_local(node: Node, used: &mut [bool]) {
    if let Node::Place(place) = node
        && let Base::Local(local) = place.base
    {
        used[local.0 as usize] = true;
    }
}

/// What a conjunction asks for, in the order in which it is evaluated.
fn conjuncts_of(guard: &Expr) -> Vec<&Expr> {
    let (mut list, mut left) = (Vec::new(), vec![guard]);
    while let Some(expr) = left.pop() {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And, first, second) => left.extend([&**second, &**first]),
            _ => list.push(expr),
        }
    }
    list
}
