//! Which scalars decide whether a guard or a body meets an error.
//!
//! `slot[place] == 1` meets one or not by `place` alone; what else the action reads does not matter. Sites of possible
//! errors are looked for in the text: what cannot be followed (calls, loops, scalars written on the way) counts as
//! depending on everything.

use super::condition::slots;
use hadal_system::facts::SlotSet;
use hadal_system::interval;
use hadal_system::visit::{self, Node};
use hadal_system::{
    Action, Base, BinaryOp, Expr, ExprKind, LocalKind, Place, Range, Shape, Step, StmtKind, System, UnaryOp,
    Value, VarId,
};

/// The scalars that decide whether the guard meets an error, those that decide it for the body where the guard is true;
/// `None` where they cannot be told from the others.
pub(super) fn sites(system: &System, action: &Action) -> (Option<SlotSet>, Option<SlotSet>) {
    let mut guard = Sites::new(system, action);
    let in_guard = guard.expr(&action.guard, &SlotSet::new()).map(|()| guard.found);
    let mut body = Sites::new(system, action);
    let in_body = body.body().map(|()| body.found);
    (in_guard, in_body)
}

struct Sites<'a> {
    system: &'a System,
    action: &'a Action,
    first_slots: Vec<usize>,
    found: SlotSet,
    written: Vec<VarId>,
}

impl<'a> Sites<'a> {
    fn new(system: &'a System, action: &'a Action) -> Self {
        let first_slots = system.first_slots();
        Sites { system, action, first_slots, found: SlotSet::new(), written: Vec::new() }
    }

    fn body(&mut self) -> Option<()> {
        for stmt in &self.action.body {
            let StmtKind::Assign(place, value) = &stmt.kind else { return None };
            let Base::Global(var) = place.base else { return None };
            self.indices(place, &SlotSet::new())?;
            self.expr(value, &SlotSet::new())?;
            let domain = &self.system.domains[self.system.shapes.scalar(place.shape)?];
            let fits = self.range(value).is_some_and(|(low, high)| {
                domain.intervals.iter().any(|&(from, to)| from <= low && high <= to)
            });
            if !fits {
                self.note(value, &SlotSet::new())?;
            }
            self.written.push(var);
        }
        Some(())
    }

    /// Finds the sites of an expression that is reached where `context` says so.
    fn expr(&mut self, expr: &Expr, context: &SlotSet) -> Option<()> {
        match &expr.kind {
            ExprKind::Const(_) => {}
            ExprKind::Read(place) => {
                self.indices(place, context)?;
                let domain = self.system.shapes.scalar(place.shape)?;
                if self.system.domains[domain].undefined && matches!(place.base, Base::Global(_)) {
                    self.note(expr, context)?;
                }
            }
            ExprKind::IsUndefined(place) => self.indices(place, context)?,
            ExprKind::Unary(op, of) => {
                self.expr(of, context)?;
                if *op == UnaryOp::Negate && self.range(of).is_none_or(|(low, _)| low == i64::MIN) {
                    self.note(of, context)?;
                }
            }
            ExprKind::Binary(op, left, right) => {
                self.expr(left, context)?;
                if matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Implies) {
                    let mut context = context.clone();
                    context.extend(&self.reads(left)?);
                    return self.expr(right, &context);
                }
                self.expr(right, context)?;
                let safe = match op {
                    BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => self.range(expr).is_some(),
                    BinaryOp::Divide | BinaryOp::Remainder => right.as_const().is_some_and(|by| by > 0),
                    _ => true,
                };
                if !safe {
                    self.note(expr, context)?;
                }
            }
            ExprKind::If(condition, then, otherwise) => {
                self.expr(condition, context)?;
                let mut context = context.clone();
                context.extend(&self.reads(condition)?);
                self.expr(then, &context)?;
                self.expr(otherwise, &context)?;
            }
            ExprKind::Quantified { range, body, .. } => {
                let Range::Domain(_) = **range else { return None };
                // Turns before this one decide whether it is reached.
                let mut context = context.clone();
                context.extend(&self.reads(body)?);
                self.expr(body, &context)?;
            }
            ExprKind::Same(left, right) => {
                self.indices(left, context)?;
                self.indices(right, context)?;
            }
            ExprKind::Call(..) => return None,
            ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => self.expr(of, context)?,
        }
        Some(())
    }

    /// Finds the sites of a place: indices that may be outside.
    fn indices(&mut self, place: &Place, context: &SlotSet) -> Option<()> {
        let mut shape = self.system.base_shape(&self.action.locals, place.base);
        for step in &place.steps {
            shape = match (step, &self.system.shapes[shape]) {
                (Step::Field(n), Shape::Record(fields)) => fields[*n].shape,
                (
                    Step::Index(at),
                    Shape::Array { index, element } | Shape::Multiset { slots: index, element },
                ) => {
                    self.expr(at, context)?;
                    let domain = &self.system.domains[*index];
                    let inside = self.range(at).is_some_and(|(low, high)| {
                        domain.min() <= low && high <= domain.max() && domain.intervals.len() == 1
                    });
                    if !inside {
                        self.note(at, context)?;
                    }
                    *element
                }
                _ => return None,
            };
        }
        Some(())
    }

    /// An error here depends on what the expression reads and on what decides whether it is reached.
    fn note(&mut self, expr: &Expr, context: &SlotSet) -> Option<()> {
        let reads = self.reads(expr)?;
        self.found.extend(&reads);
        self.found.extend(context);
        Some(())
    }

    /// The scalars of the state that an expression may read.
    fn reads(&self, expr: &Expr) -> Option<SlotSet> {
        let (mut reads, mut followed) = (SlotSet::new(), true);
        visit::expr(expr, &mut |node| match node {
            Node::Expr(expr) => followed &= !matches!(expr.kind, ExprKind::Call(..)),
            Node::Place(place) => match place.base {
                Base::Global(var) => {
                    followed &= !self.written.contains(&var);
                    let (from, to) = slots(self.system, &self.first_slots, var, place);
                    reads.insert_range(from, to);
                }
                Base::Local(local) => {
                    followed &= self.action.locals[local.0 as usize].kind == LocalKind::Bound;
                }
            },
            Node::Stmt(_) => {}
        });
        followed.then_some(reads)
    }

    /// The values an expression can have, where they and all on the way fit 64 bits.
    fn range(&self, expr: &Expr) -> Option<(Value, Value)> {
        match &expr.kind {
            ExprKind::Const(value) => Some((*value, *value)),
            ExprKind::Read(place) => {
                let domain = match place.base {
                    // A parameter may step outside the domain it is shown with.
                    Base::Local(_) => return None,
                    Base::Global(_) => &self.system.domains[self.system.shapes.scalar(place.shape)?],
                };
                Some((domain.min(), domain.max()))
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.range(left)?, self.range(right)?);
                match op {
                    BinaryOp::Divide
                    | BinaryOp::ShiftLeft
                    | BinaryOp::ShiftRight
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor => None,
                    BinaryOp::Remainder if right.0 != right.1 => None,
                    _ => interval::binary(*op, left, right),
                }
            }
            ExprKind::If(_, then, otherwise) => {
                let ((a, b), (c, d)) = (self.range(then)?, self.range(otherwise)?);
                Some((a.min(c), b.max(d)))
            }
            _ => None,
        }
    }
}
