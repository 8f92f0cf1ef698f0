//! Conjuncts of a guard that can be evaluated on a packed state, without faults, calls or memory.
//!
//! A conjunct that is false has to become true before the guard can: then only what writes what it reads can enable
//! the action. Those that compare one scalar with constants are known to the facts already; these are the others
//! (`slot[place] == 1`, `number[i] < number[j]`).

use hadal_system::facts::SlotSet;
use hadal_system::state::get_bits;
use hadal_system::visit::{self, Node};
use hadal_system::{
    Base, BinaryOp, Expr, ExprKind, Layout, Place, Shape, Step, System, UnaryOp, Value, VarId,
};

/// A condition, and the scalars it may read.
pub(super) struct Condition {
    term: Term,
    pub(super) reads: SlotSet,
}

enum Term {
    Const(Value),
    Read(Box<Scalar>),
    Unary(UnaryOp, Box<Term>),
    Binary(BinaryOp, Box<(Term, Term)>),
}

/// A scalar at an offset that may depend on other scalars.
struct Scalar {
    offset: u32,
    width: u32,
    /// The least value, and whether code 0 is undefined.
    least: Value,
    undefined: bool,
    indices: Vec<Index>,
}

struct Index {
    at: Term,
    least: Value,
    length: u64,
    stride: u32,
}

impl Condition {
    /// Whether it surely is false.
    pub(super) fn fails(&self, state: &[u64]) -> bool {
        self.term.value(state) == Some(0)
    }
}

/// The conjuncts of `guard` that can be evaluated, parameters having been replaced by their values.
pub(super) fn conjuncts(system: &System, layout: &Layout, guard: &Expr) -> Vec<Condition> {
    // A call may write what later conjuncts read.
    let mut calls = false;
    visit::expr(guard, &mut |node| {
        calls |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(..), .. }))
    });
    if calls {
        return Vec::new();
    }
    let make = Make { system, layout, first_slots: system.first_slots() };
    let mut found = Vec::new();
    make.collect(guard, true, &mut found);
    found
}

impl Term {
    /// The value; `None` where evaluating it would meet an error.
    fn value(&self, state: &[u64]) -> Option<Value> {
        match self {
            Term::Const(value) => Some(*value),
            Term::Read(scalar) => scalar.value(state),
            Term::Unary(op, of) => op.apply(of.value(state)?),
            Term::Binary(op, sides) => {
                let left = sides.0.value(state)?;
                match (op, left) {
                    (BinaryOp::And, 0) => Some(0),
                    (BinaryOp::Or, 1..) | (BinaryOp::Implies, 0) => Some(1),
                    (BinaryOp::Or, _) if left != 0 => Some(1),
                    _ => op.apply(left, sides.1.value(state)?),
                }
            }
        }
    }
}

impl Scalar {
    fn value(&self, state: &[u64]) -> Option<Value> {
        let mut offset = self.offset;
        for index in &self.indices {
            let position = index.at.value(state)?.checked_sub(index.least)?;
            let position = u64::try_from(position).ok().filter(|&position| position < index.length)?;
            // The first element is the most significant.
            offset += (index.length - 1 - position) as u32 * index.stride;
        }
        let code = get_bits(state, offset, self.width);
        let position = if self.undefined { code.checked_sub(1)? } else { code };
        Some(self.least.wrapping_add(position as Value))
    }
}

struct Make<'a> {
    system: &'a System,
    layout: &'a Layout,
    first_slots: Vec<usize>,
}

impl Make<'_> {
    /// Adds conditions that all are true where `expr` is `truth`.
    fn collect(&self, expr: &Expr, truth: bool, out: &mut Vec<Condition>) {
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => self.collect(of, !truth, out),
            ExprKind::Binary(BinaryOp::And, left, right) if truth => {
                self.collect(left, true, out);
                self.collect(right, true, out);
            }
            ExprKind::Binary(BinaryOp::Or, left, right) if !truth => {
                self.collect(left, false, out);
                self.collect(right, false, out);
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) if !truth => {
                self.collect(left, true, out);
                self.collect(right, false, out);
            }
            _ => {
                let Some(term) = self.term(expr) else { return };
                let term = if truth { term } else { Term::Unary(UnaryOp::Not, Box::new(term)) };
                out.push(Condition { term, reads: self.reads(expr) });
            }
        }
    }

    fn term(&self, expr: &Expr) -> Option<Term> {
        Some(match &expr.kind {
            ExprKind::Const(value) => Term::Const(*value),
            ExprKind::Read(place) => Term::Read(Box::new(self.scalar(place)?)),
            ExprKind::Unary(op, of) => Term::Unary(*op, Box::new(self.term(of)?)),
            ExprKind::Binary(op, left, right) => {
                Term::Binary(*op, Box::new((self.term(left)?, self.term(right)?)))
            }
            _ => return None,
        })
    }

    fn scalar(&self, place: &Place) -> Option<Scalar> {
        let Base::Global(var) = place.base else { return None };
        let mut indices = Vec::new();
        let (offset, shape) =
            self.layout.follow(self.system, (var, &place.steps), |at, domain, stride| {
                let &[(least, _)] = domain.intervals.as_slice() else { return None };
                indices.push(Index { at: self.term(at)?, least, length: domain.size(), stride });
                Some(0)
            })?;
        let domain = &self.system.domains[self.system.shapes.scalar(shape)?];
        let &[(least, _)] = domain.intervals.as_slice() else { return None };
        Some(Scalar { offset, width: domain.bits(), least, undefined: domain.undefined, indices })
    }

    fn reads(&self, expr: &Expr) -> SlotSet {
        let mut reads = SlotSet::new();
        visit::expr(expr, &mut |node| {
            if let Node::Place(place @ Place { base: Base::Global(var), .. }) = node {
                let (from, to) = slots(self.system, &self.first_slots, *var, place);
                reads.insert_range(from, to);
            }
        });
        reads
    }
}

/// The slots of a place as far as its indices are constants, else of everything it may be.
pub(super) fn slots(system: &System, first_slots: &[usize], var: VarId, place: &Place) -> (u32, u32) {
    let mut shape = system.variable(var).shape;
    let mut first = first_slots[var.0 as usize];
    for step in &place.steps {
        match (step, &system.shapes[shape]) {
            (Step::Field(n), Shape::Record(fields)) => {
                first += fields[..*n].iter().map(|f| system.shapes.slots(f.shape)).sum::<usize>();
                shape = fields[*n].shape;
            }
            (Step::Index(at), Shape::Array { index, element }) => {
                let position = at.as_const().and_then(|at| system.domains[*index].position(at));
                let Some(position) = position else { break };
                first += position as usize * system.shapes.slots(*element);
                shape = *element;
            }
            _ => break,
        }
    }
    (first as u32, (first + system.shapes.slots(shape)) as u32)
}
