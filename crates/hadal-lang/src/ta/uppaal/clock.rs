//! Guards and invariants: conjunctions of conditions on variables and bounds on clocks.

use super::ast::{Quantity, Term, TermKind};
use super::expr::{fold, negate};
use super::lower::{Code, Lowering};
use super::types::{Constant, Meaning, Ty};
use crate::ta::tck::compare_clock;
use hadal_system::timed::{Bound, ClockRef};
use hadal_system::{BinaryOp, Expr, Span, UnaryOp};

/// A guard or invariant in its parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) conditions: Vec<Expr>,
    pub(super) bounds: Vec<Bound>,
    /// What `cost'` is compared with.
    pub(super) rate: Option<Expr>,
}

impl Parts {
    pub(super) fn condition(&self) -> Option<Expr> {
        (!self.conditions.is_empty()).then(|| Expr::all(self.conditions.clone()))
    }
}

/// Two terms compared.
#[derive(Clone, Copy)]
struct Comparison<'t> {
    op: BinaryOp,
    left: &'t Term,
    right: &'t Term,
    span: Span,
}

impl Lowering<'_> {
    pub(super) fn parts(&mut self, code: &mut Code, term: &Term) -> Parts {
        let mut parts = Parts::default();
        self.conjunct(code, term, None, &mut parts);
        parts
    }

    /// Whether a term speaks of clocks.
    pub(super) fn mentions_clock(&self, scope: usize, term: &Term) -> bool {
        let any = |list: &[&Term]| list.iter().any(|part| self.mentions_clock(scope, part));
        match &term.kind {
            TermKind::Name(name) => matches!(self.lookup(scope, name), Some(Meaning::Clock(..))),
            TermKind::Index(of, _) => any(&[of]),
            TermKind::Field(of, name) => match &of.kind {
                // A process's own name.
                TermKind::Name(_) | TermKind::Call(..) => {
                    let process = match &of.kind {
                        TermKind::Name(process) => self.lookup(scope, process),
                        TermKind::Call(process, _) => match &process.kind {
                            TermKind::Name(process) => self.lookup(scope, process),
                            _ => None,
                        },
                        _ => None,
                    };
                    let process = match process {
                        Some(Meaning::Process(process)) => Some(*process),
                        Some(Meaning::Family(family)) => family.values().next().copied(),
                        _ => None,
                    };
                    process.is_some_and(|process| {
                        let inside = self.process_scopes[process];
                        let is_location = self.automata[process].locations.iter().any(|it| it.name == *name);
                        !is_location && matches!(self.lookup(inside, name), Some(Meaning::Clock(..)))
                    })
                }
                _ => any(&[of]),
            },
            TermKind::Unary(_, of) => any(&[of]),
            TermKind::Rate(_) => true,
            TermKind::Binary(_, left, right) | TermKind::Least(left, right) | TermKind::Most(left, right) => {
                any(&[left, right])
            }
            TermKind::If(condition, yes, no) => any(&[condition, yes, no]),
            TermKind::Quantified(.., body) => any(&[body]),
            _ => false,
        }
    }

    fn conjunct(&mut self, code: &mut Code, term: &Term, when: Option<&Expr>, parts: &mut Parts) {
        let scope = code.scope;
        if !self.mentions_clock(scope, term) {
            if let Some(value) = self.value(code, term) {
                parts.conditions.push(match when {
                    Some(when) => fold(BinaryOp::Implies, when.clone(), value, term.span),
                    None => value,
                });
            }
            return;
        }
        let both = |when: Option<&Expr>, more: Expr| match when {
            Some(when) => fold(BinaryOp::And, when.clone(), more, term.span),
            None => more,
        };
        match &term.kind {
            TermKind::Binary(BinaryOp::And, left, right) => {
                self.conjunct(code, left, when, parts);
                self.conjunct(code, right, when, parts);
            }
            TermKind::Binary(BinaryOp::Implies, left, right) if !self.mentions_clock(scope, left) => {
                let Some(left) = self.value(code, left) else { return };
                self.conjunct(code, right, Some(&both(when, left)), parts);
            }
            TermKind::Binary(BinaryOp::Or, left, right) => {
                let (condition, timed) = match self.mentions_clock(scope, left) {
                    false => (left, right),
                    true => (right, left),
                };
                if self.mentions_clock(scope, condition) {
                    return self.error(
                        term.span,
                        "a disjunction of clock constraints is not convex: split the edge",
                    );
                }
                let Some(condition) = self.value(code, condition) else { return };
                self.conjunct(code, timed, Some(&both(when, negate(condition))), parts);
            }
            TermKind::If(condition, yes, no) if !self.mentions_clock(scope, condition) => {
                let Some(condition) = self.value(code, condition) else { return };
                self.conjunct(code, yes, Some(&both(when, condition.clone())), parts);
                self.conjunct(code, no, Some(&both(when, negate(condition))), parts);
            }
            TermKind::Quantified(Quantity::ForAll, name, ty, body) => {
                let Some((low, high)) = self.values(scope, ty) else { return };
                code.scope = self.scope(scope);
                for value in low..=high {
                    let meaning = Meaning::Constant(Constant::Int(value), Ty::Int(low, high));
                    self.bind(code.scope, name, meaning);
                    self.conjunct(code, body, when, parts);
                }
                code.scope = scope;
            }
            TermKind::Binary(op, left, right) => {
                let comparison = Comparison { op: *op, left, right, span: term.span };
                self.comparison(code, comparison, when, parts)
            }
            _ => self.error(term.span, "clocks are compared, nothing else"),
        }
    }

    fn comparison(
        &mut self,
        code: &mut Code,
        comparison: Comparison,
        when: Option<&Expr>,
        parts: &mut Parts,
    ) {
        let Comparison { op, left, right, span } = comparison;
        if let (TermKind::Rate(of), BinaryOp::Equal) = (&left.kind, op) {
            let cost = matches!(&of.kind, TermKind::Name(name) if name == "cost");
            let Some(rate) = self.value(code, right) else { return };
            match (cost, rate.as_const()) {
                (true, _) if when.is_none() => parts.rate = Some(rate),
                (false, Some(1)) => {}
                _ => self.error(span, "stopwatches and rates of clocks are not supported"),
            }
            return;
        }
        let Some(bounds) = self.bounds(code, op, (left, right), span) else { return };
        for mut bound in bounds {
            bound.when = when.cloned();
            parts.bounds.push(bound);
        }
    }

    /// The bounds of a comparison of clocks.
    pub(super) fn bounds(
        &mut self,
        code: &mut Code,
        op: BinaryOp,
        (left, right): (&Term, &Term),
        span: Span,
    ) -> Option<Vec<Bound>> {
        let scope = code.scope;
        let (left_clock, right_clock) = (self.mentions_clock(scope, left), self.mentions_clock(scope, right));
        let mirrored = match op {
            BinaryOp::Less => BinaryOp::Greater,
            BinaryOp::LessEqual => BinaryOp::GreaterEqual,
            BinaryOp::Greater => BinaryOp::Less,
            BinaryOp::GreaterEqual => BinaryOp::LessEqual,
            op => op,
        };
        let (clocks, value, op) = match (left_clock, right_clock) {
            (true, true) => {
                // `x < y + c` is `x - y < c`.
                let (x, x_plus) = self.shifted(code, left)?;
                let (y, y_plus) = self.shifted(code, right)?;
                ((x, y), fold(BinaryOp::Subtract, y_plus, x_plus, span), op)
            }
            (true, false) => (self.clock_pair(code, left)?, self.value(code, right)?, op),
            _ => (self.clock_pair(code, right)?, self.value(code, left)?, mirrored),
        };
        let bounds = compare_clock(op, clocks, value, span);
        if bounds.is_none() {
            self.error(span, "a clock is compared by <, <=, ==, >= or >");
        }
        bounds
    }

    /// `x`, `x + c` or `c + x`.
    fn shifted(&mut self, code: &mut Code, term: &Term) -> Option<(ClockRef, Expr)> {
        match &term.kind {
            TermKind::Binary(BinaryOp::Add, left, right) => {
                let (clock, more) =
                    if self.mentions_clock(code.scope, left) { (left, right) } else { (right, left) };
                Some((self.clock_of(code, clock)?, self.value(code, more)?))
            }
            TermKind::Binary(BinaryOp::Subtract, left, right) => {
                let less = self.value(code, right)?;
                let minus = fold(BinaryOp::Subtract, Expr::constant(0), less, term.span);
                Some((self.clock_of(code, left)?, minus))
            }
            _ => Some((self.clock_of(code, term)?, Expr::constant(0))),
        }
    }

    /// `x` or `x - y`.
    fn clock_pair(&mut self, code: &mut Code, term: &Term) -> Option<(ClockRef, ClockRef)> {
        match &term.kind {
            TermKind::Binary(BinaryOp::Subtract, x, y) => {
                Some((self.clock_of(code, x)?, self.clock_of(code, y)?))
            }
            TermKind::Unary(UnaryOp::Negate, x) => Some((ClockRef::Zero, self.clock_of(code, x)?)),
            _ => Some((self.clock_of(code, term)?, ClockRef::Zero)),
        }
    }
}
