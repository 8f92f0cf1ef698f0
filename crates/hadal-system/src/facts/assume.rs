//! What follows from a condition being true or false: the values of the scalars it tests.

use super::eval::has_call;
use super::point::Point;
use super::values::ValueSet;
use super::walk::{AbstractWalk, MaySlots};
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Quantifier, UnaryOp};

impl<'a> AbstractWalk<'a> {
    /// Adds to `point` what follows from `condition` having been evaluated to `holds`; false where that cannot be.
    ///
    /// Only for what was just evaluated at `point`. Conditions with calls teach nothing: what they read may have
    /// changed since.
    pub fn assume(&mut self, point: &mut Point, condition: &'a Expr, holds: bool) -> bool {
        if self.frozen > 0 || self.fuel == 0 || has_call(condition) {
            return true;
        }
        self.quiet += 1;
        let possible = self.learn(point, condition, holds);
        self.quiet -= 1;
        possible
    }

    fn learn(&mut self, point: &mut Point, condition: &'a Expr, holds: bool) -> bool {
        match &condition.kind {
            ExprKind::Const(value) => (*value != 0) == holds,
            ExprKind::Read(place) => {
                let op = if holds { BinaryOp::NotEqual } else { BinaryOp::Equal };
                self.restrict(point, place, op, &ValueSet::one(0))
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.learn(point, of, !holds),
            ExprKind::Binary(BinaryOp::And, left, right) => {
                self.learn_both(point, (left, true), (right, true), holds)
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => {
                self.learn_both(point, (left, false), (right, false), !holds)
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) => {
                self.learn_both(point, (left, true), (right, false), !holds)
            }
            ExprKind::Binary(op, left, right) => {
                let Some(op) = (if holds { compared(*op) } else { compared(*op).map(negated) }) else {
                    return true;
                };
                let left_values = self.eval(point, left);
                let right_values = self.eval(point, right);
                self.learn_operand(point, left, op, &right_values)
                    && self.learn_operand(point, right, mirrored(op), &left_values)
            }
            ExprKind::IsUndefined(place) => {
                let undefined = if holds { ValueSet::undefined() } else { ValueSet::any() };
                match self.resolve(point, place) {
                    Some(target) if self.system.shapes.scalar(place.shape).is_some() => {
                        self.keep(point, &target, &undefined)
                    }
                    _ => true,
                }
            }
            ExprKind::InDomain(of, domain) if holds => {
                let inside = ValueSet::defined_of(&self.system.domains[*domain]);
                self.learn_operand(point, of, BinaryOp::Equal, &inside)
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                // Only where every turn must have had the same outcome.
                if (*quantifier == Quantifier::ForAll) != holds {
                    return true;
                }
                let Some(turns) = self.turns(point, range) else { return true };
                let Some(list) = turns.list.filter(|_| self.fuel > 0) else { return true };
                let slot = self.local_slot(*local);
                for value in list {
                    point.values.insert(slot, ValueSet::one(value));
                    if !self.learn(point, body, holds) {
                        return false;
                    }
                }
                point.values.remove(&slot);
                true
            }
            _ => true,
        }
    }

    /// `both`: both operands have the given truth; else at least one of them has not, looked at left to right.
    fn learn_both(
        &mut self,
        point: &mut Point,
        left: (&'a Expr, bool),
        right: (&'a Expr, bool),
        both: bool,
    ) -> bool {
        if both {
            return self.learn(point, left.0, left.1) && self.learn(point, right.0, right.1);
        }
        let mut one = self.fork(point);
        let mut other = self.fork(point);
        let one_possible = self.learn(&mut one, left.0, !left.1);
        let other_possible =
            self.learn(&mut other, left.0, left.1) && self.learn(&mut other, right.0, !right.1);
        match (one_possible, other_possible) {
            (true, true) => {
                one.join(&other);
                *point = one;
            }
            (true, false) => *point = one,
            (false, true) => *point = other,
            (false, false) => return false,
        }
        true
    }

    /// What follows from `operand op w` for some `w` of `values`.
    pub fn learn_operand(
        &mut self,
        point: &mut Point,
        operand: &'a Expr,
        op: BinaryOp,
        values: &ValueSet,
    ) -> bool {
        match &operand.kind {
            ExprKind::Read(place) => self.restrict(point, place, op, values),
            ExprKind::Const(value) => !ValueSet::one(*value).satisfying(op, values).is_empty(),
            _ => true,
        }
    }

    fn restrict(&mut self, point: &mut Point, place: &'a Place, op: BinaryOp, values: &ValueSet) -> bool {
        let Some(target) = self.resolve(point, place) else { return false };
        let allowed = ValueSet::any().satisfying(op, values);
        self.keep(point, &target, &allowed)
    }

    /// Keeps the allowed values of the scalar at the target; false where there are none.
    fn keep(&mut self, point: &mut Point, target: &MaySlots, allowed: &ValueSet) -> bool {
        match target {
            MaySlots::Starts(starts) if starts.len() == 1 => {
                let kept = self.value(point, starts[0]).intersection(allowed);
                let possible = !kept.is_empty();
                point.values.insert(starts[0], kept);
                possible
            }
            MaySlots::Starts(starts) => {
                starts.iter().any(|&slot| !self.value(point, slot).is_disjoint(allowed))
            }
            MaySlots::Within(..) => true,
        }
    }
}

fn compared(op: BinaryOp) -> Option<BinaryOp> {
    use BinaryOp::*;
    matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual).then_some(op)
}

fn negated(op: BinaryOp) -> BinaryOp {
    use BinaryOp::*;
    match op {
        Equal => NotEqual,
        NotEqual => Equal,
        Less => GreaterEqual,
        LessEqual => Greater,
        Greater => LessEqual,
        GreaterEqual => Less,
        other => other,
    }
}

/// The operator with its operands exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    use BinaryOp::*;
    match op {
        Less => Greater,
        LessEqual => GreaterEqual,
        Greater => Less,
        GreaterEqual => LessEqual,
        other => other,
    }
}
