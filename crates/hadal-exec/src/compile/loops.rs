//! Ranges: unrolled where that makes code short and indices static, else loops.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use hadal_system::{Domain, LocalId, ParamValues, Range};

use super::emit::{Binding, Emitter};
use super::values::{Code, Val, max_code};

/// `from`, `from + by`, ... as long as it does not pass `to`.
#[derive(Clone, Copy)]
struct Steps {
    from: Val,
    to: Val,
    by: Val,
}

impl<'s> Emitter<'_, 's> {
    /// Emits `body` for each value of the range, bound to the local. `cost` estimates the body.
    pub fn each(&mut self, local: LocalId, range: &'s Range, cost: usize, body: &mut dyn FnMut(&mut Self)) {
        let at = local.0 as usize;
        let before = self.frame().bindings[at];
        match range {
            Range::Domain(id) => {
                let domain = &self.system.domains[*id];
                if self.may_expand(domain.size(), cost) {
                    for value in domain.values() {
                        self.turn(at, Val::Const(value), body);
                    }
                } else if let [(first, last)] = domain.intervals[..] {
                    let (from, to, by) = (Val::Const(first), Val::Const(last), Val::Const(1));
                    self.steps(at, Steps { from, to, by }, body);
                } else {
                    self.positions(at, domain, body);
                }
            }
            Range::Steps { from, to, by } => {
                let steps = Steps { from: self.value(from), to: self.value(to), by: self.value(by) };
                self.stepped(at, steps, cost, body);
            }
        }
        self.frame().bindings[at] = before;
    }

    fn turn(&mut self, at: usize, value: Val, body: &mut dyn FnMut(&mut Self)) {
        if !self.dead {
            self.frame().bindings[at] = Binding::Value(value);
            body(self);
        }
    }

    fn stepped(&mut self, at: usize, steps: Steps, cost: usize, body: &mut dyn FnMut(&mut Self)) {
        let Steps { from, to, by } = steps;
        match by.bounds() {
            (0, 0) => return self.always_fault(),
            (..=0, 0..) => {
                let v = self.raw(by);
                let moves = self.is(IntCC::NotEqual, v, 0);
                self.require(moves);
            }
            _ => {}
        }
        if let (Some(from), Some(to), Some(by)) = (from.known(), to.known(), by.known()) {
            let values = ParamValues::Steps { from, to, by };
            let count = values.count(&self.system.domains);
            if count == 0 {
                return;
            }
            if self.may_expand(count, cost) {
                for n in 0..count {
                    let value = values.at(&self.system.domains, n);
                    self.turn(at, Val::Const(value), body);
                }
                return;
            }
        }
        self.steps(at, steps, body);
    }

    /// A loop; `by` is not 0.
    fn steps(&mut self, at: usize, steps: Steps, body: &mut dyn FnMut(&mut Self)) {
        let Steps { from, to, by } = steps;
        let (first, last, step) = (self.raw(from), self.raw(to), self.raw(by));
        let upwards = match by.bounds() {
            (1.., _) => Some(true),
            (_, ..=-1) => Some(false),
            _ => None,
        };
        let (head, next, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let counter = self.variable(first);
        let (enters, lo, hi) = match upwards {
            Some(true) => {
                let enters = self.compare(IntCC::SignedLessThanOrEqual, first, last);
                (enters, from.bounds().0, to.bounds().1)
            }
            Some(false) => {
                let enters = self.compare(IntCC::SignedGreaterThanOrEqual, first, last);
                (enters, to.bounds().0, from.bounds().1)
            }
            None => {
                let up = self.compare(IntCC::SignedLessThanOrEqual, first, last);
                let down = self.compare(IntCC::SignedGreaterThanOrEqual, first, last);
                let positive = self.is(IntCC::SignedGreaterThan, step, 0);
                let enters = self.b.ins().select(positive, up, down);
                let (a, b) = (from.bounds(), to.bounds());
                (enters, a.0.min(b.0), a.1.max(b.1))
            }
        };
        self.branch(enters, head, end);
        self.enter_loop(head);
        let v = self.b.use_var(counter);
        let value = if lo == hi { Val::Const(lo) } else { Val::Dyn { v, lo, hi } };
        self.turn(at, value, body);
        // What is left, as an unsigned number, decides: no step can then leave the 64-bit integers.
        let (up, down) = (self.b.ins().isub(last, v), self.b.ins().isub(v, last));
        let back = self.b.ins().ineg(step);
        let (left, size) = match upwards {
            Some(true) => (up, step),
            Some(false) => (down, back),
            None => {
                let positive = self.is(IntCC::SignedGreaterThan, step, 0);
                (self.b.ins().select(positive, up, down), self.b.ins().select(positive, step, back))
            }
        };
        let done = self.compare(IntCC::UnsignedLessThan, left, size);
        self.branch(done, end, next);
        self.enter(next);
        let following = self.b.ins().iadd(v, step);
        self.b.def_var(counter, following);
        self.goto(head);
        self.seal(head);
        self.enter(end);
    }

    /// Every value of a domain of several intervals, by position.
    fn positions(&mut self, at: usize, domain: &'s Domain, body: &mut dyn FnMut(&mut Self)) {
        let (head, next, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let first = u64::from(domain.undefined);
        let start = self.int(first as i64);
        let counter = self.variable(start);
        self.goto(head);
        self.enter_loop(head);
        let code = self.b.use_var(counter);
        let value = self.decode(Code::Dyn { v: code, lo: first, hi: max_code(domain) }, domain);
        self.turn(at, value, body);
        let done = self.is(IntCC::Equal, code, max_code(domain) as i64);
        self.branch(done, end, next);
        self.enter(next);
        let one = self.int(1);
        let following = self.b.ins().iadd(code, one);
        self.b.def_var(counter, following);
        self.goto(head);
        self.seal(head);
        self.enter(end);
    }
}
