//! Evaluating expressions.

use hadal_system::{BinaryOp, Expr, ExprKind, Quantifier, Range, Span, UnaryOp, Value};

use super::{Execution, Stop, with_stack};
use crate::fault::FaultKind;

impl Execution<'_, '_> {
    /// The value of an expression; operands are evaluated from left to right.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, Stop> {
        with_stack(|| match &expr.kind {
            ExprKind::Const(value) => Ok(*value),
            ExprKind::Read(place) => self.read(place),
            ExprKind::IsUndefined(place) => {
                let target = self.resolve(place)?;
                Ok(self.contents(target).contains(&None).into())
            }
            ExprKind::Unary(op, operand) => {
                let value = self.value(operand)?;
                op.apply(value).ok_or_else(|| self.unary_fault(*op, value, expr.span))
            }
            ExprKind::Binary(BinaryOp::And, left, right) => {
                Ok((self.holds(left)? && self.holds(right)?).into())
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => {
                Ok((self.holds(left)? || self.holds(right)?).into())
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) => {
                Ok((!self.holds(left)? || self.holds(right)?).into())
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                op.apply(left, right).ok_or_else(|| self.binary_fault(*op, left, right, expr.span))
            }
            ExprKind::If(condition, then, otherwise) => {
                if self.holds(condition)? {
                    self.value(then)
                } else {
                    self.value(otherwise)
                }
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                let decides = *quantifier == Quantifier::Exists;
                for value in self.range(range, expr.span)? {
                    self.frame().bind(*local, value);
                    if self.holds(body)? == decides {
                        return Ok(decides.into());
                    }
                }
                Ok((!decides).into())
            }
            ExprKind::Same(left, right) => {
                let left = self.resolve(left)?;
                let right = self.resolve(right)?;
                Ok((self.contents(left) == self.contents(right)).into())
            }
            ExprKind::Call(function, arguments) => {
                let result = self.call(*function, arguments, expr.span)?;
                // Only functions with a result are called in expressions, and `call` insists on the result.
                Ok(result.expect("a function called for its value has one"))
            }
            ExprKind::Wrap(operand, domain) => {
                let value = self.value(operand)?;
                Ok(self.code.system.domains[*domain].wrap(value))
            }
            ExprKind::InDomain(operand, domain) => {
                let value = self.value(operand)?;
                Ok(self.code.system.domains[*domain].contains(value).into())
            }
        })
    }

    /// Whether a condition is not 0.
    pub(super) fn holds(&mut self, condition: &Expr) -> Result<bool, Stop> {
        Ok(self.value(condition)? != 0)
    }

    /// The values of a range; bounds are evaluated now.
    pub(super) fn range(&mut self, range: &Range, span: Span) -> Result<Values, Stop> {
        match range {
            Range::Domain(domain) => {
                let mut intervals = self.code.system.domains[*domain].intervals.clone();
                intervals.reverse();
                Ok(Values { intervals, by: 1 })
            }
            Range::Steps { from, to, by } => {
                let (from, to) = (self.value(from)?, self.value(to)?);
                let by_value = self.value(by)?;
                if by_value == 0 {
                    let message = "a step of 0 never ends".to_owned();
                    let span = if by.span == Span::default() { span } else { by.span };
                    return Err(self.fault(FaultKind::ZeroStep, span, message));
                }
                let empty = if by_value > 0 { from > to } else { from < to };
                Ok(Values { intervals: if empty { vec![] } else { vec![(from, to)] }, by: by_value })
            }
        }
    }

    fn unary_fault(&self, op: UnaryOp, value: Value, span: Span) -> Stop {
        let sign = match op {
            UnaryOp::Negate => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        };
        self.fault(FaultKind::Overflow, span, format!("{sign}({value}) does not fit 64 bits"))
    }

    fn binary_fault(&self, op: BinaryOp, left: Value, right: Value, span: Span) -> Stop {
        let sign = match op {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Remainder => "%",
            // No other operator can fail.
            _ => "/",
        };
        if right == 0 && matches!(op, BinaryOp::Divide | BinaryOp::Remainder) {
            self.fault(FaultKind::Division, span, format!("{left} {sign} {right} divides by zero"))
        } else {
            self.fault(FaultKind::Overflow, span, format!("{left} {sign} {right} does not fit 64 bits"))
        }
    }
}

/// The values a loop or quantifier still has to go through.
pub(super) struct Values {
    /// What is left, the next interval last; each from its first value to the last allowed.
    intervals: Vec<(Value, Value)>,
    by: Value,
}

impl Iterator for Values {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let (from, to) = self.intervals.pop()?;
        // A step past the 64-bit integers is past `to` as well.
        if let Some(next) = from.checked_add(self.by)
            && (if self.by > 0 { next <= to } else { next >= to })
        {
            self.intervals.push((next, to));
        }
        Some(from)
    }
}
