//! Emitting expressions, as values and as branches.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use hadal_system::interval::decided;
use hadal_system::{BinaryOp, Expr, ExprKind, Quantifier, UnaryOp};

use super::emit::Emitter;
use super::places::PackedPlace;
use super::values::{Code, Val};

/// Runs `step` with enough native stack below it, however deep the model nests.
pub(super) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(128 << 10, 1 << 20, step)
}

impl<'s> Emitter<'_, 's> {
    /// The value of an expression; control leaves for the fault block where it has none.
    pub fn value(&mut self, expr: &'s Expr) -> Val {
        if self.dead {
            return Val::Const(0);
        }
        with_stack(|| match &expr.kind {
            ExprKind::Const(value) => Val::Const(*value),
            ExprKind::Read(place) => self.read(place),
            ExprKind::IsUndefined(place) => {
                let target = self.resolve(place);
                self.is_undefined(&target)
            }
            ExprKind::Unary(UnaryOp::Not, _)
            | ExprKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Implies, ..)
            | ExprKind::Quantified { .. } => self.truth_value(expr),
            ExprKind::Unary(op, operand) => {
                let value = self.value(operand);
                self.unary(*op, value)
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.value(left);
                let right = self.value(right);
                self.binary(*op, left, right)
            }
            ExprKind::If(condition, then, otherwise) => self.choice(condition, then, otherwise),
            ExprKind::Same(left, right) => {
                let left = self.resolve(left);
                let right = self.resolve(right);
                self.same(&left, &right)
            }
            ExprKind::Call(function, arguments) => {
                // Only functions with a result are called in expressions.
                self.call(*function, arguments).unwrap_or(Val::Const(0))
            }
            ExprKind::Wrap(operand, domain) => {
                let value = self.value(operand);
                self.wrap(value, &self.system.domains[*domain])
            }
            ExprKind::InDomain(operand, domain) => {
                let value = self.value(operand);
                self.in_domain(value, &self.system.domains[*domain])
            }
        })
    }

    /// Branches on a condition: to `yes` where it is not 0, else to `no`.
    pub fn condition(&mut self, expr: &'s Expr, yes: Block, no: Block) {
        if self.dead {
            return self.goto(no);
        }
        with_stack(|| match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.condition(operand, no, yes),
            ExprKind::Binary(BinaryOp::And, left, right) => {
                let both = self.b.create_block();
                self.condition(left, both, no);
                self.condition_in(both, right, yes, no);
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => {
                let neither = self.b.create_block();
                self.condition(left, yes, neither);
                self.condition_in(neither, right, yes, no);
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) => {
                let premise = self.b.create_block();
                self.condition(left, premise, yes);
                self.condition_in(premise, right, yes, no);
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                let decides = *quantifier == Quantifier::Exists;
                let (hit, end) = if decides { (yes, no) } else { (no, yes) };
                self.each(*local, range, super::plan::expr_cost(body), &mut |e| {
                    let next = e.b.create_block();
                    let (yes, no) = if decides { (hit, next) } else { (next, hit) };
                    e.condition(body, yes, no);
                    e.enter(next);
                });
                self.goto(end);
            }
            ExprKind::Binary(op @ (BinaryOp::Equal | BinaryOp::NotEqual), left, right) => {
                let (equal, different) = if *op == BinaryOp::Equal { (yes, no) } else { (no, yes) };
                self.equality(left, right, equal, different);
            }
            ExprKind::Read(place) => {
                let target = self.resolve(place);
                let value = self.read_target(&target);
                self.branch_on_scalar(&target, value, yes, no);
            }
            _ => {
                let value = self.value(expr);
                self.branch_on(value, yes, no);
            }
        })
    }

    /// Branches on a scalar that was just read; where it is a boolean, each branch knows it.
    fn branch_on_scalar(&mut self, target: &PackedPlace, value: Val, yes: Block, no: Block) {
        let Val::Dyn { v, lo: 0, hi: 1 } = value else { return self.branch_on(value, yes, no) };
        if self.dead {
            return self.goto(no);
        }
        let codes = self.system.shapes.scalar(target.shape).map(|id| {
            let domain = &self.system.domains[id];
            (domain.encode(Some(1)), domain.encode(Some(0)))
        });
        let before = self.facts.clone();
        let (one, zero) = codes.unwrap_or((None, None));
        for (block, code) in [(yes, one), (no, zero)] {
            if let Some(code) = code {
                self.learn(target, code, code);
            }
            self.note_edge(block);
            self.facts = before.clone();
        }
        self.b.ins().brif(v, yes, &[], no, &[]);
    }

    /// [`Emitter::condition`] emitted in `block`, if anything leads there.
    fn condition_in(&mut self, block: Block, expr: &'s Expr, yes: Block, no: Block) {
        if self.reached(block) {
            self.enter(block);
            self.condition(expr, yes, no);
        }
    }

    /// An equality test; what it says about a scalar is known on the branch where it holds.
    fn equality(&mut self, left: &'s Expr, right: &'s Expr, equal: Block, different: Block) {
        let (left_value, left_place) = self.value_and_place(left);
        let (right_value, right_place) = self.value_and_place(right);
        if self.dead {
            return self.goto(different);
        }
        if let (Some(l), Some(r)) = (left_value.known(), right_value.known()) {
            return self.goto(if l == r { equal } else { different });
        }
        if decided(BinaryOp::Equal, left_value.bounds(), right_value.bounds()) == Some(false) {
            return self.goto(different);
        }
        let (l, r) = (self.raw(left_value), self.raw(right_value));
        let test = self.compare(IntCC::Equal, l, r);
        let before = self.facts.clone();
        let learnt = match (left_place, right_value.known(), right_place, left_value.known()) {
            (Some(place), Some(value), _, _) | (_, _, Some(place), Some(value)) => Some((place, value)),
            _ => None,
        };
        self.note_edge(different);
        if let Some((place, value)) = learnt
            && let Some(domain) = self.system.shapes.scalar(place.shape)
            && let Some(code) = self.system.domains[domain].encode(Some(value))
        {
            self.learn(&place, code, code);
        }
        self.note_edge(equal);
        self.b.ins().brif(test, equal, &[], different, &[]);
        self.facts = before;
    }

    /// The value, and the place it was read from where the expression is a plain read.
    fn value_and_place(&mut self, expr: &'s Expr) -> (Val, Option<PackedPlace>) {
        match &expr.kind {
            ExprKind::Read(place) if !self.dead => {
                let target = self.resolve(place);
                (self.read_target(&target), Some(target))
            }
            _ => (self.value(expr), None),
        }
    }

    /// Branches on a value.
    pub fn branch_on(&mut self, value: Val, yes: Block, no: Block) {
        let (lo, hi) = value.bounds();
        if lo > 0 || hi < 0 {
            self.goto(yes);
        } else if lo == 0 && hi == 0 {
            self.goto(no);
        } else {
            let v = self.raw(value);
            self.branch(v, yes, no);
        }
    }

    /// A machine truth value as a value of the model.
    pub fn truth(&mut self, flag: Value) -> Val {
        let v = self.b.ins().uextend(types::I64, flag);
        Val::Dyn { v, lo: 0, hi: 1 }
    }

    /// 0 or 1 for a condition.
    fn truth_value(&mut self, expr: &'s Expr) -> Val {
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.condition(expr, yes, no);
        match (self.reached(yes), self.reached(no)) {
            (false, false) => {
                self.die();
                Val::Const(0)
            }
            (true, false) => {
                self.enter(yes);
                Val::Const(1)
            }
            (false, true) => {
                self.enter(no);
                Val::Const(0)
            }
            (true, true) => {
                let end = self.b.create_block();
                let v = self.b.append_block_param(end, types::I64);
                for (block, truth) in [(yes, 1), (no, 0)] {
                    self.enter(block);
                    let truth = self.int(truth);
                    self.goto_with(end, &[truth]);
                }
                self.enter(end);
                Val::Dyn { v, lo: 0, hi: 1 }
            }
        }
    }

    fn choice(&mut self, condition: &'s Expr, then: &'s Expr, otherwise: &'s Expr) -> Val {
        let (yes, no, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.condition(condition, yes, no);
        match (self.reached(yes), self.reached(no)) {
            (false, false) => {
                self.die();
                return Val::Const(0);
            }
            (true, false) => {
                self.enter(yes);
                return self.value(then);
            }
            (false, true) => {
                self.enter(no);
                return self.value(otherwise);
            }
            (true, true) => {}
        }
        let v = self.b.append_block_param(end, types::I64);
        let mut bounds: Option<(i64, i64)> = None;
        for (block, branch) in [(yes, then), (no, otherwise)] {
            self.enter(block);
            let value = self.value(branch);
            if !self.dead {
                let (lo, hi) = value.bounds();
                bounds = Some(bounds.map_or((lo, hi), |(l, h)| (l.min(lo), h.max(hi))));
            }
            let value = self.raw(value);
            self.goto_with(end, &[value]);
        }
        self.enter(end);
        let (lo, hi) = bounds.unwrap_or((0, 0));
        Val::Dyn { v, lo, hi }
    }

    /// 1 where a scalar, or any scalar of an aggregate, is undefined.
    fn is_undefined(&mut self, target: &PackedPlace) -> Val {
        if let super::places::Location::Value(_) = target.location {
            return Val::Const(0);
        }
        let Some(domain) = self.system.shapes.scalar(target.shape) else {
            return self.any_undefined(target);
        };
        if !self.system.domains[domain].undefined {
            return Val::Const(0);
        }
        let code = self.load(target);
        match code.bounds() {
            (_, 0) => Val::Const(1),
            (1.., _) => Val::Const(0),
            _ => {
                let v = self.raw_code(code);
                let undefined = self.is(IntCC::Equal, v, 0);
                self.truth(undefined)
            }
        }
    }

    /// The code as a value, for comparing codes.
    pub fn same_codes(&mut self, left: Code, right: Code) -> Val {
        if let (Code::Const(l), Code::Const(r)) = (left, right) {
            return Val::Const((l == r).into());
        }
        let (l, r) = (self.raw_code(left), self.raw_code(right));
        let test = self.compare(IntCC::Equal, l, r);
        self.truth(test)
    }
}
