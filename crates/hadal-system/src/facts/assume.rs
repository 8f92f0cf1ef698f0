//! What follows from a condition being true or false: the values of the scalars it tests.

use super::values::ValueSet;
use super::walk::{AbstractWalk, MaySlots};
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Quantifier, UnaryOp};
use crate::machine::{AbstractMachine, has_call, resolve, value};

impl<'a> AbstractWalk<'a> {
    /// Adds what follows from `condition` having been evaluated to `holds`; false where that cannot be.
    ///
    /// Only for what was just evaluated here. Conditions with calls teach nothing: what they read may have
    /// changed since.
    pub fn assume(&mut self, condition: &'a Expr, holds: bool) -> bool {
        if self.frozen > 0 || self.fuel.left == 0 || has_call(condition) {
            return true;
        }
        self.quiet += 1;
        let possible = self.learn_inside(condition, holds);
        self.quiet -= 1;
        possible
    }

    fn learn_inside(&mut self, condition: &'a Expr, holds: bool) -> bool {
        match &condition.kind {
            ExprKind::Const(value) => (*value != 0) == holds,
            ExprKind::Read(place) => {
                let op = if holds { BinaryOp::NotEqual } else { BinaryOp::Equal };
                self.restrict(place, op, &ValueSet::one(0))
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.learn_inside(of, !holds),
            ExprKind::Binary(BinaryOp::And, left, right) => {
                self.learn_both((left, true), (right, true), holds)
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => {
                self.learn_both((left, false), (right, false), !holds)
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) => {
                self.learn_both((left, true), (right, false), !holds)
            }
            ExprKind::Binary(op, left, right) => {
                let Some(op) = (if holds { compared(*op) } else { compared(*op).map(negated) }) else {
                    return true;
                };
                let (Ok(left_values), Ok(right_values)) = (value(self, left), value(self, right)) else {
                    return false;
                };
                self.learn_operand(left, op, &right_values)
                    && self.learn_operand(right, mirrored(op), &left_values)
            }
            ExprKind::IsUndefined(place) => {
                let undefined = if holds { ValueSet::undefined() } else { ValueSet::any() };
                match resolve(self, place) {
                    Ok((target, shape)) if self.system.shapes.scalar(shape).is_some() => {
                        self.keep(&target, &undefined)
                    }
                    _ => true,
                }
            }
            ExprKind::InDomain(of, domain) if holds => {
                let inside = ValueSet::defined_of(&self.system.domains[*domain]);
                self.learn_operand(of, BinaryOp::Equal, &inside)
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                // Only where every turn must have had the same outcome.
                if (*quantifier == Quantifier::ForAll) != holds {
                    return true;
                }
                let Ok(turns) = self.turns(range) else { return true };
                let Some(list) = turns.list.filter(|_| self.fuel.left > 0) else { return true };
                let slot = self.local_slot(*local);
                for value in list {
                    self.point.values.insert(slot, ValueSet::one(value));
                    if !self.learn_inside(body, holds) {
                        return false;
                    }
                }
                self.point.values.remove(&slot);
                true
            }
            _ => true,
        }
    }

    /// `both`: both operands have the given truth; else at least one of them has not, looked at left to right.
    fn learn_both(&mut self, left: (&'a Expr, bool), right: (&'a Expr, bool), both: bool) -> bool {
        if both {
            return self.learn_inside(left.0, left.1) && self.learn_inside(right.0, right.1);
        }
        let one = self.fork();
        let other = self.fork();
        let before = std::mem::replace(&mut self.point, one);
        let one_possible = self.learn_inside(left.0, !left.1);
        let mut one = std::mem::replace(&mut self.point, other);
        let other_possible = self.learn_inside(left.0, left.1) && self.learn_inside(right.0, !right.1);
        let other = std::mem::replace(&mut self.point, before);
        match (one_possible, other_possible) {
            (true, true) => {
                one.join(&other);
                self.point = one;
            }
            (true, false) => self.point = one,
            (false, true) => self.point = other,
            (false, false) => return false,
        }
        true
    }

    /// What follows from `operand op w` for some `w` of `values`.
    pub fn learn_operand(&mut self, operand: &'a Expr, op: BinaryOp, values: &ValueSet) -> bool {
        match &operand.kind {
            ExprKind::Read(place) => self.restrict(place, op, values),
            ExprKind::Const(value) => !ValueSet::one(*value).satisfying(op, values).is_empty(),
            _ => true,
        }
    }

    fn restrict(&mut self, place: &'a Place, op: BinaryOp, values: &ValueSet) -> bool {
        let Ok((target, _)) = resolve(self, place) else { return false };
        let allowed = ValueSet::any().satisfying(op, values);
        self.keep(&target, &allowed)
    }

    /// Keeps the allowed values of the scalar at the target; false where there are none.
    fn keep(&mut self, target: &MaySlots, allowed: &ValueSet) -> bool {
        match target {
            MaySlots::Starts(starts) if starts.len() == 1 => {
                let kept = self.known(starts[0]).intersection(allowed);
                let possible = !kept.is_empty();
                self.point.values.insert(starts[0], kept);
                possible
            }
            MaySlots::Starts(starts) => starts.iter().any(|&slot| !self.known(slot).is_disjoint(allowed)),
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
