//! Path formulas with several temporal operators: formulas of temporal logic over formulas about states.

use super::super::ast::{Bound, Expr, Kind, Op, Path};
use super::names::Placed;
use super::objective::Asking;
use hadal_ltl::Ltl;
use hadal_system::Span;
use hadal_system::chance::{Formula, Limit};

/// Steps of a bound are written out one by one.
const MOST_STEPS: u64 = 64;
/// Letters are words of so many bits.
const MOST_ATOMS: usize = 64;

impl Asking<'_> {
    /// The formula behind a path; `atoms` grows by what it asks of states.
    pub(super) fn temporal(&mut self, path: &Path, atoms: &mut Vec<Formula>) -> Placed<Ltl> {
        Ok(match path {
            Path::State(expr) => self.temporal_expr(expr, atoms)?,
            Path::Next(of, _) => self.temporal(of, atoms)?.next(),
            Path::Finally(of, bounds, span) => {
                let of = self.temporal(of, atoms)?;
                self.until(Ltl::True, of, (bounds, *span))?
            }
            Path::Globally(of, bounds, span) => {
                let of = self.temporal(of, atoms)?;
                self.until(Ltl::True, of.not(), (bounds, *span))?.not()
            }
            Path::Until(left, right, bounds, span) => {
                let (left, right) = (self.temporal(left, atoms)?, self.temporal(right, atoms)?);
                self.until(left, right, (bounds, *span))?
            }
            Path::WeakUntil(left, right, bounds, span) => {
                let (left, right) = (self.temporal(left, atoms)?, self.temporal(right, atoms)?);
                let fails = left.not().and(right.not());
                self.until(right.not(), fails, (bounds, *span))?.not()
            }
            Path::Release(left, right, bounds, span) => {
                let (left, right) = (self.temporal(left, atoms)?, self.temporal(right, atoms)?);
                self.until(left.not(), right.not(), (bounds, *span))?.not()
            }
        })
    }

    fn temporal_expr(&mut self, expr: &Expr, atoms: &mut Vec<Formula>) -> Placed<Ltl> {
        if !expr.is_temporal() {
            return match self.formula(expr)? {
                Formula::Constant(true) => Ok(Ltl::True),
                Formula::Constant(false) => Ok(Ltl::False),
                formula => atom(formula, atoms, expr.span),
            };
        }
        match &expr.kind {
            Kind::Path(path) => self.temporal(path, atoms),
            Kind::Not(operand) => Ok(self.temporal_expr(operand, atoms)?.not()),
            Kind::Binary(op, left, right) => {
                let (left, right) = (self.temporal_expr(left, atoms)?, self.temporal_expr(right, atoms)?);
                match op {
                    Op::And => Ok(left.and(right)),
                    Op::Or => Ok(left.or(right)),
                    Op::Implies => Ok(left.implies(right)),
                    Op::Iff => Ok(left.equivalent(right)),
                    _ => Err((expr.span, "formulas about runs are joined by &, |, => and <=>".into())),
                }
            }
            Kind::If(condition, then, otherwise) => {
                let condition = self.temporal_expr(condition, atoms)?;
                let then = self.temporal_expr(then, atoms)?;
                let otherwise = self.temporal_expr(otherwise, atoms)?;
                Ok(condition.clone().and(then).or(condition.not().and(otherwise)))
            }
            _ => Err((expr.span, "a formula about runs is not allowed here".into())),
        }
    }

    /// `left U right` within a bound, which is written out step by step.
    fn until(&mut self, left: Ltl, right: Ltl, (bounds, span): (&[Bound], Span)) -> Placed<Ltl> {
        let (low, high) = match self.limit(bounds)? {
            Limit::None => return Ok(left.until(right)),
            Limit::Steps(low, high) => (low, high),
            Limit::Time(..) => {
                return Err((span, "a bound on time goes with one temporal operator only".into()));
            }
            Limit::Reward(..) => {
                return Err((span, "a bound on rewards goes with one temporal operator only".into()));
            }
        };
        if low.max(high.unwrap_or(0)) > MOST_STEPS {
            return Err((
                span,
                format!("among several temporal operators a bound has at most {MOST_STEPS} steps"),
            ));
        }
        let mut formula = match high {
            None => left.clone().until(right),
            Some(high) if high < low => return Ok(Ltl::False),
            Some(high) => {
                let mut formula = right.clone();
                for _ in low..high {
                    formula = right.clone().or(left.clone().and(formula.next()));
                }
                formula
            }
        };
        for _ in 0..low {
            formula = left.clone().and(formula.next());
        }
        Ok(formula)
    }
}

/// The atom that asks this of states, a new one where there is none yet.
fn atom(formula: Formula, atoms: &mut Vec<Formula>, span: Span) -> Placed<Ltl> {
    let same = |other: &Formula| match (other, &formula) {
        (Formula::Proposition(one), Formula::Proposition(two)) => one == two,
        (Formula::Initial, Formula::Initial) | (Formula::Deadlock, Formula::Deadlock) => true,
        _ => false,
    };
    let at = atoms.iter().position(same).unwrap_or(atoms.len());
    if at == MOST_ATOMS {
        return Err((span, format!("a formula asks at most {MOST_ATOMS} things of states")));
    }
    if at == atoms.len() {
        atoms.push(formula);
    }
    Ok(Ltl::Atom(at as u32))
}
