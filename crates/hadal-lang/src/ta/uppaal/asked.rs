//! How a query was asked: where it stands, and the parts that its answer may hang on.

use super::ast::{Quantity, Query, QueryKind, Term, TermKind};
use super::lower::{Code, Lowering};
use super::types::{Constant, Meaning, Ty};
use hadal_system::timed::{Asked, Part, Says};
use hadal_system::{BinaryOp, UnaryOp};

impl Lowering<'_> {
    /// How a query that became a question was asked.
    pub(super) fn asked(&mut self, query: &Query) -> Asked {
        let about_states = matches!(query.kind, QueryKind::Possibly | QueryKind::Always);
        // The question itself was lowered without an error: nothing here is news, and nothing counts twice.
        let (before, work) = (self.findings.list.len(), self.work);
        let part = |_| self.part(&mut Code::default(), &query.formula);
        let condition = about_states.then_some(()).and_then(part);
        self.findings.list.truncate(before);
        self.work = work;
        let last = query.response.as_ref().unwrap_or(&query.formula);
        Asked { source: query.source.clone(), span: query.span.to(last.span), condition }
    }

    fn part(&mut self, code: &mut Code, term: &Term) -> Option<Part> {
        let says = match &term.kind {
            TermKind::Unary(UnaryOp::Not, of) => Says::Not(Box::new(self.part(code, of)?)),
            TermKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                let parts = vec![self.part(code, left)?, self.part(code, right)?];
                if *op == BinaryOp::And { Says::All(parts) } else { Says::Any(parts) }
            }
            TermKind::Binary(BinaryOp::Implies, left, right) => {
                Says::Implies(Box::new([self.part(code, left)?, self.part(code, right)?]))
            }
            TermKind::Quantified(quantity @ (Quantity::ForAll | Quantity::Exists), name, ty, body) => {
                let outer = code.scope;
                let (low, high) = self.values(outer, ty)?;
                let inner = self.scope(outer);
                let mut parts = Vec::new();
                for value in low..=high {
                    let meaning = Meaning::Constant(Constant::Int(value), Ty::Int(low, high));
                    self.bind(inner, name, meaning);
                    code.scope = inner;
                    let part = self.part(code, body);
                    code.scope = outer;
                    let says = Says::For(name.clone(), value, Box::new(part?));
                    parts.push(Part { span: body.span, says });
                }
                if *quantity == Quantity::ForAll { Says::All(parts) } else { Says::Any(parts) }
            }
            _ => Says::Some(self.clauses(code, term, true)?),
        };
        Some(Part { span: term.span, says })
    }
}
