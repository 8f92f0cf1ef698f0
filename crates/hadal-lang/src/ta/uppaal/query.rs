//! Questions: about states, formulas in disjunctive form, each clause a condition on variables with bounds on clocks;
//! about runs (`A<>`, `E[]`, `-->`), automata over conditions on variables.

use super::ast::{Quantity as Range, Query, QueryKind, Term, TermKind};
use super::expr::{fold, negate};
use super::lower::{Code, Lowering};
use super::types::{Constant, Meaning, Ty};
use crate::diagnostic::{Diagnostic, Severity};
use hadal_ltl::{Ltl, translate};
use hadal_system::timed::{Bound, Clause, Extreme, GoingOn, Quantity, Side, TimedFormula, TimedSystem};
use hadal_system::{BinaryOp, Claim, Expr, Property, PropertyBody, PropertyKind, Span, UnaryOp};

/// The most clauses of a formula.
const MAX_CLAUSES: usize = 4096;

impl Lowering<'_> {
    /// Adds the question of a query; one that cannot be asked is left out with a warning.
    pub(super) fn query(&mut self, query: &Query, timed: &mut TimedSystem) {
        let (before, properties) = (self.findings.list.len(), self.system.properties.len());
        let asked = match query.kind {
            QueryKind::Possibly | QueryKind::Always => self.about_states(query, &mut timed.formulas),
            QueryKind::Eventually | QueryKind::ForEver | QueryKind::LeadsTo => {
                self.about_runs(query, &mut timed.wanted_runs)
            }
            QueryKind::Most => self.about_values(query, Side::Most).map(|it| timed.extremes.push(it)),
            QueryKind::Least => self.about_values(query, Side::Least).map(|it| timed.extremes.push(it)),
        };
        if asked.is_none() {
            let why = self.findings.list[before..].first();
            let at = why.map_or(query.span, |it| it.span);
            let why = why.map_or(String::new(), |it| format!(": {}", it.message));
            self.findings.list.truncate(before);
            let warning = Diagnostic::warning(at, format!("this query is left out{why}"));
            self.findings.push(Diagnostic { elsewhere: query.source.clone(), ..warning });
        }
        timed.formulas.resize(self.system.properties.len(), None);
        timed.asked.resize(self.system.properties.len(), None);
        if let Some(own) = timed.asked[properties..].last_mut() {
            *own = Some(self.asked(query));
        }
    }

    /// Adds an expression as a proposition.
    pub(super) fn proposition(&mut self, text: &str, term: &Term) -> Option<usize> {
        if self.is_timed(0, term) {
            self.error(
                term.span,
                "a formula about runs speaks of locations and variables, not of clocks or deadlock",
            );
            return None;
        }
        let errors = self.findings.list.len();
        let value = self.value(&mut Code::default(), term)?;
        if self.findings.list[errors..].iter().any(|it| it.severity == Severity::Error) {
            return None;
        }
        self.add(text, PropertyKind::Proposition, PropertyBody::State(value), term.span);
        Some(self.system.properties.len() - 1)
    }

    fn add(&mut self, name: &str, kind: PropertyKind, body: PropertyBody, span: Span) {
        let name = name.to_owned();
        self.system.properties.push(Property {
            name,
            kind,
            params: Vec::new(),
            locals: Vec::new(),
            body,
            span,
        });
    }

    /// Adds the claim of a query about runs: an automaton of the runs that break it, or of those it looks for.
    fn about_runs(&mut self, query: &Query, wanted_runs: &mut Vec<usize>) -> Option<()> {
        let first = self.system.properties.len();
        let mut propositions = vec![self.proposition(&query.text, &query.formula)?];
        if let Some(response) = &query.response {
            let Some(response) = self.proposition(&query.text, response) else {
                self.system.properties.truncate(first);
                return None;
            };
            propositions.push(response);
        }
        let is = Ltl::Atom;
        let accepted = match query.kind {
            QueryKind::ForEver => is(0).always(),
            QueryKind::LeadsTo => is(0).and(is(1).not().always()).eventually(),
            _ => is(0).not().always(),
        };
        // Formulas of this size are never too large.
        let automaton = translate(&accepted).ok()?.degeneralise();
        if query.kind == QueryKind::ForEver {
            wanted_runs.push(self.system.properties.len());
        }
        let text = query.text.clone();
        let claim = Claim { automaton, propositions, text, stutters: true, stutter_invariant: true };
        self.add(&query.text, PropertyKind::Formula, PropertyBody::Claim(claim), query.place());
        Some(())
    }

    /// Adds the question of a query about states.
    fn about_states(&mut self, query: &Query, formulas: &mut Vec<Option<TimedFormula>>) -> Option<()> {
        let before = self.findings.list.len();
        let mut code = Code::default();
        let always = query.kind == QueryKind::Always;
        let clauses = self.clauses(&mut code, &query.formula, !always)?;
        if self.findings.list[before..].iter().any(|it| it.severity == Severity::Error) {
            return None;
        }
        let kind = if always { PropertyKind::Invariant } else { PropertyKind::Goal };
        // Guides look at the discrete part of what is asked.
        let discrete = clauses
            .iter()
            .map(|clause| clause.when.clone())
            .reduce(|left, right| fold(BinaryOp::Or, left, right, query.span))
            .unwrap_or_else(|| Expr::constant(0));
        formulas.resize(self.system.properties.len(), None);
        formulas.push(Some(TimedFormula { clauses }));
        let body = PropertyBody::State(if always { negate(discrete) } else { discrete });
        self.add(&query.text, kind, body, query.place());
        Some(())
    }

    /// What a query for largest or least values asks.
    fn about_values(&mut self, query: &Query, side: Side) -> Option<Extreme> {
        let before = self.findings.list.len();
        let mut code = Code::default();
        let among = TimedFormula { clauses: self.clauses(&mut code, &query.formula, true)? };
        if among.asks_deadlock() {
            self.error(
                query.formula.span,
                "`sup` and `inf` are about locations, variables and clocks, not deadlock",
            );
        }
        let mut of = Vec::new();
        for (text, term) in &query.measured {
            let quantity = match self.mentions_clock(0, term) {
                true => Quantity::Clock(self.clock_of(&mut code, term)?),
                false => Quantity::Value(self.value(&mut code, term)?),
            };
            of.push((text.clone(), quantity));
        }
        let is_wrong = self.findings.list[before..].iter().any(|it| it.severity == Severity::Error);
        (!is_wrong).then(|| Extreme { name: query.text.clone(), side, among, of })
    }

    /// Whether a term speaks of clocks or deadlock.
    fn is_timed(&self, scope: usize, term: &Term) -> bool {
        match &term.kind {
            TermKind::Deadlock => true,
            TermKind::Unary(_, of) => self.is_timed(scope, of),
            TermKind::Binary(_, left, right) => self.is_timed(scope, left) || self.is_timed(scope, right),
            TermKind::If(a, b, c) => [a, b, c].iter().any(|part| self.is_timed(scope, part)),
            TermKind::Quantified(.., body) => self.is_timed(scope, body),
            _ => self.mentions_clock(scope, term),
        }
    }

    /// The clauses under which a term is `wanted`.
    pub(super) fn clauses(&mut self, code: &mut Code, term: &Term, wanted: bool) -> Option<Vec<Clause>> {
        let clause = |when: Expr, bounds: Vec<Bound>| Clause { when, bounds, going_on: None };
        let scope = code.scope;
        if !self.is_timed(scope, term) {
            let value = self.value(code, term)?;
            let when = if wanted { value } else { negate(value) };
            return Some(vec![clause(when, Vec::new())]);
        }
        match &term.kind {
            TermKind::Deadlock => {
                let going_on = Some(if wanted { GoingOn::Stuck } else { GoingOn::Possible });
                Some(vec![Clause { when: Expr::constant(1), bounds: Vec::new(), going_on }])
            }
            TermKind::Unary(UnaryOp::Not, of) => self.clauses(code, of, !wanted),
            TermKind::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Implies), left, right) => {
                let left = self.clauses(code, left, wanted != (*op == BinaryOp::Implies))?;
                let right = self.clauses(code, right, wanted)?;
                let together = (*op == BinaryOp::And) == wanted;
                self.combine(left, right, together, term)
            }
            TermKind::Quantified(quantity @ (Range::ForAll | Range::Exists), name, ty, body) => {
                let (low, high) = self.values(scope, ty)?;
                let together = (*quantity == Range::ForAll) == wanted;
                let mut all = vec![];
                if together {
                    all.push(clause(Expr::constant(1), Vec::new()));
                }
                let inner = self.scope(scope);
                for value in low..=high {
                    let meaning = Meaning::Constant(Constant::Int(value), Ty::Int(low, high));
                    self.bind(inner, name, meaning);
                    code.scope = inner;
                    let part = self.clauses(code, body, wanted);
                    code.scope = scope;
                    all = self.combine(all, part?, together, term)?;
                }
                Some(all)
            }
            TermKind::Binary(op, left, right) => {
                let ops: &[BinaryOp] = match (op, wanted) {
                    (op, true) if *op != BinaryOp::NotEqual => &[*op],
                    (BinaryOp::NotEqual, false) => &[BinaryOp::Equal],
                    (BinaryOp::NotEqual, _) | (BinaryOp::Equal, _) => &[BinaryOp::Less, BinaryOp::Greater],
                    (BinaryOp::Less, _) => &[BinaryOp::GreaterEqual],
                    (BinaryOp::LessEqual, _) => &[BinaryOp::Greater],
                    (BinaryOp::Greater, _) => &[BinaryOp::LessEqual],
                    (BinaryOp::GreaterEqual, _) => &[BinaryOp::Less],
                    _ => {
                        self.error(term.span, "clocks are compared, nothing else");
                        return None;
                    }
                };
                let mut all = Vec::new();
                for &op in ops {
                    let bounds = self.bounds(code, op, (left, right), term.span)?;
                    all.push(clause(Expr::constant(1), bounds));
                }
                Some(all)
            }
            _ => {
                self.error(term.span, "clocks are compared, nothing else");
                None
            }
        }
    }

    fn combine(
        &mut self,
        left: Vec<Clause>,
        right: Vec<Clause>,
        together: bool,
        term: &Term,
    ) -> Option<Vec<Clause>> {
        let mut all = Vec::new();
        if together {
            for a in &left {
                for b in &right {
                    let going_on = match (a.going_on, b.going_on) {
                        (Some(a), Some(b)) if a != b => continue,
                        (a, b) => a.or(b),
                    };
                    let when = fold(BinaryOp::And, a.when.clone(), b.when.clone(), term.span);
                    let bounds = a.bounds.iter().chain(&b.bounds).cloned().collect();
                    all.push(Clause { when, bounds, going_on });
                }
            }
        } else {
            all.extend(left);
            all.extend(right);
        }
        all.retain(|clause| clause.when.as_const() != Some(0));
        if all.len() > MAX_CLAUSES {
            self.error(term.span, format!("the formula has more than {MAX_CLAUSES} alternatives"));
            return None;
        }
        Some(all)
    }
}
