//! Constant folding and specialisation: an expression or body rewritten for known values of some locals.
//!
//! The result means exactly the same wherever the locals have those values, errors of the model included: an
//! operand that may meet an error is never dropped, an operation that does is left in place.

mod held;

use std::collections::HashMap;

use crate::domain::Value;
use crate::expr::{Base, BinaryOp, Expr, ExprKind, Place, Quantifier, Range, Step, UnaryOp};
use crate::stmt::{Argument, PrintItem, Stmt, StmtKind, SwitchArm};
use crate::system::{LocalId, System, VarId};

/// Rewrites expressions and statements for known values of bound locals.
#[derive(Clone, Debug)]
pub struct Fold<'a> {
    system: &'a System,
    known: HashMap<LocalId, Value>,
    held: HashMap<VarId, Vec<Value>>,
    unroll: u64,
}

impl<'a> Fold<'a> {
    /// A folder for the given values; nothing is unrolled.
    pub fn new(system: &'a System, known: impl IntoIterator<Item = (LocalId, Value)>) -> Self {
        Fold { system, known: known.into_iter().collect(), held: HashMap::new(), unroll: 0 }
    }

    /// Takes these scalar variables of the state for fixed, too: nothing that is folded may write them.
    pub fn fixing(self, fixed: impl IntoIterator<Item = (VarId, Value)>) -> Self {
        self.holding(fixed.into_iter().map(|(var, value)| (var, vec![value])))
    }

    /// Takes the scalars of these variables of the state for known, slot by slot: nothing that is folded may write them, and
    /// every index into them must be in its domain. What reads a whole array or record still names it.
    pub fn holding(mut self, held: impl IntoIterator<Item = (VarId, Vec<Value>)>) -> Self {
        self.held = held.into_iter().collect();
        self
    }

    /// Unrolls loops and quantifiers over at most this many values that are known.
    pub fn unrolling(mut self, turns: u64) -> Self {
        self.unroll = turns;
        self
    }

    /// The folded expression.
    pub fn expr(&self, expr: &Expr) -> Expr {
        let kind = match &expr.kind {
            ExprKind::Const(value) => ExprKind::Const(*value),
            ExprKind::Read(place) => match self.known_place(place) {
                Some(value) => ExprKind::Const(value),
                None => match self.held(place) {
                    Some(value) => return value,
                    None => ExprKind::Read(Box::new(self.place(place))),
                },
            },
            ExprKind::IsUndefined(place)
                if self.known_place(place).is_some() || self.held(place).is_some() =>
            {
                ExprKind::Const(0)
            }
            ExprKind::IsUndefined(place) => ExprKind::IsUndefined(Box::new(self.place(place))),
            ExprKind::Unary(op, of) => {
                let of = self.expr(of);
                match of.as_const().and_then(|v| op.apply(v)) {
                    Some(value) => ExprKind::Const(value),
                    None => ExprKind::Unary(*op, Box::new(of)),
                }
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::If(condition, yes, no) => {
                let condition = self.expr(condition);
                match condition.as_const() {
                    Some(0) => return self.expr(no),
                    Some(_) => return self.expr(yes),
                    None => {
                        ExprKind::If(Box::new(condition), Box::new(self.expr(yes)), Box::new(self.expr(no)))
                    }
                }
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                self.quantified(*quantifier, *local, range, body)
            }
            ExprKind::Same(left, right) => {
                ExprKind::Same(Box::new(self.place(left)), Box::new(self.place(right)))
            }
            ExprKind::Call(id, arguments) => {
                ExprKind::Call(*id, arguments.iter().map(|a| self.argument(a)).collect())
            }
            ExprKind::Wrap(of, domain) => {
                let of = self.expr(of);
                match of.as_const() {
                    Some(value) => ExprKind::Const(self.system.domains[*domain].wrap(value)),
                    None => ExprKind::Wrap(Box::new(of), *domain),
                }
            }
            ExprKind::InDomain(of, domain) => {
                let of = self.expr(of);
                match of.as_const() {
                    Some(value) => ExprKind::Const(self.system.domains[*domain].contains(value).into()),
                    None => ExprKind::InDomain(Box::new(of), *domain),
                }
            }
        };
        Expr { kind, span: expr.span }
    }

    /// The place with its indices folded.
    pub fn place(&self, place: &Place) -> Place {
        let steps = place.steps.iter().map(|step| match step {
            Step::Field(n) => Step::Field(*n),
            Step::Index(index) => Step::Index(self.expr(index)),
        });
        Place { base: place.base, steps: steps.collect(), shape: place.shape, span: place.span }
    }

    /// The folded statements. What stands after a sure end is dropped.
    pub fn stmts(&self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut folded = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            self.stmt(stmt, &mut folded);
            if folded.last().is_some_and(|s: &Stmt| matches!(s.kind, StmtKind::Return(_) | StmtKind::Fail(_)))
            {
                break;
            }
        }
        folded
    }

    fn known_place(&self, place: &Place) -> Option<Value> {
        match place.base {
            Base::Local(local) if place.steps.is_empty() => self.known.get(&local).copied(),
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> ExprKind {
        let left = self.expr(left);
        // The right operand is not evaluated when the left decides.
        match (op, left.as_const()) {
            (BinaryOp::And, Some(0)) => return ExprKind::Const(0),
            (BinaryOp::Or, Some(l)) if l != 0 => return ExprKind::Const(1),
            (BinaryOp::Implies, Some(0)) => return ExprKind::Const(1),
            _ => {}
        }
        let right = self.expr(right);
        if let (Some(l), Some(r)) = (left.as_const(), right.as_const())
            && let Some(value) = op.apply(l, r)
        {
            return ExprKind::Const(value);
        }
        // Otherwise a known left operand leaves the right one to decide, as 0 or 1.
        let lazy = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Implies);
        match left.as_const() {
            Some(_) if lazy => truth(right),
            _ => ExprKind::Binary(op, Box::new(left), Box::new(right)),
        }
    }

    fn quantified(&self, quantifier: Quantifier, local: LocalId, range: &Range, body: &Expr) -> ExprKind {
        let inner = self.without(local);
        let range = self.range(range);
        let (op, empty) = match quantifier {
            Quantifier::ForAll => (BinaryOp::And, 1),
            Quantifier::Exists => (BinaryOp::Or, 0),
        };
        if let Some(values) = self.turns(&range) {
            let each: Vec<Expr> = values.iter().map(|&v| inner.with(local, v).expr(body)).collect();
            if !each.iter().any(|e| mentions_expr(e, local)) {
                let all = each.into_iter().rev().reduce(|rest, first| {
                    let kind = self.binary(op, &first, &rest);
                    Expr { kind, span: body.span }
                });
                // A single turn is not yet 0 or 1.
                return all.map_or(ExprKind::Const(empty), truth);
            }
        }
        ExprKind::Quantified { quantifier, local, range: Box::new(range), body: Box::new(inner.expr(body)) }
    }

    /// The values of a range, where they are known and few enough to unroll.
    fn turns(&self, range: &Range) -> Option<Vec<Value>> {
        match range {
            Range::Domain(id) => {
                let domain = &self.system.domains[*id];
                (domain.size() <= self.unroll).then(|| domain.values().collect())
            }
            Range::Steps { from, to, by } => {
                let (from, to, by) = (from.as_const()?, to.as_const()?, by.as_const()?);
                if by == 0 {
                    return None;
                }
                let span = if by > 0 {
                    i128::from(to) - i128::from(from)
                } else {
                    i128::from(from) - i128::from(to)
                };
                if span < 0 {
                    return (self.unroll > 0).then(Vec::new);
                }
                let last = span / i128::from(by.unsigned_abs());
                (last < i128::from(self.unroll))
                    .then(|| (0..=last).map(|n| (i128::from(from) + n * i128::from(by)) as Value).collect())
            }
        }
    }

    fn with(&self, local: LocalId, value: Value) -> Fold<'a> {
        let mut inner = self.clone();
        inner.known.insert(local, value);
        inner
    }

    fn without(&self, local: LocalId) -> Fold<'a> {
        let mut inner = self.clone();
        inner.known.remove(&local);
        inner
    }

    fn range(&self, range: &Range) -> Range {
        match range {
            Range::Domain(id) => Range::Domain(*id),
            Range::Steps { from, to, by } => {
                Range::Steps { from: self.expr(from), to: self.expr(to), by: self.expr(by) }
            }
        }
    }

    fn argument(&self, argument: &Argument) -> Argument {
        match argument {
            Argument::Value(expr) => Argument::Value(self.expr(expr)),
            Argument::Copy(place) => Argument::Copy(self.place(place)),
            Argument::Reference(place) => Argument::Reference(self.place(place)),
        }
    }

    fn stmt(&self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let kind = match &stmt.kind {
            StmtKind::Assign(to, value) => StmtKind::Assign(self.place(to), self.expr(value)),
            StmtKind::Copy { to, from } => StmtKind::Copy { to: self.place(to), from: self.place(from) },
            StmtKind::Clear(place) => StmtKind::Clear(self.place(place)),
            StmtKind::Undefine(place) => StmtKind::Undefine(self.place(place)),
            StmtKind::If { branches, otherwise } => return self.fold_if(stmt, branches, otherwise, out),
            StmtKind::Switch { subject, arms, otherwise } => {
                match self.fold_switch(subject, arms, otherwise) {
                    Folded::Kept(kind) => kind,
                    Folded::Inline(body) => return out.extend(body),
                }
            }
            StmtKind::For { local, range, body } => match self.fold_for(*local, range, body) {
                Folded::Kept(kind) => kind,
                Folded::Inline(body) => return out.extend(body),
            },
            StmtKind::While(condition, body) => {
                let condition = self.expr(condition);
                if condition.as_const() == Some(0) {
                    return;
                }
                StmtKind::While(condition, self.stmts(body))
            }
            StmtKind::Call(id, arguments) => {
                StmtKind::Call(*id, arguments.iter().map(|a| self.argument(a)).collect())
            }
            StmtKind::Return(value) => StmtKind::Return(value.as_ref().map(|v| self.expr(v))),
            StmtKind::Bind { local, place, body } => {
                StmtKind::Bind { local: *local, place: self.place(place), body: self.stmts(body) }
            }
            StmtKind::Check { kind, condition, message } => {
                let condition = self.expr(condition);
                if condition.as_const().is_some_and(|v| v != 0) {
                    return;
                }
                StmtKind::Check { kind: *kind, condition, message: message.clone() }
            }
            StmtKind::Fail(message) => StmtKind::Fail(message.clone()),
            StmtKind::Cover(property, condition) => {
                let condition = self.expr(condition);
                if condition.as_const() == Some(0) {
                    return;
                }
                StmtKind::Cover(*property, condition)
            }
            StmtKind::Print(items) => StmtKind::Print(items.iter().map(|i| self.print(i)).collect()),
        };
        out.push(Stmt { kind, span: stmt.span });
    }

    fn print(&self, item: &PrintItem) -> PrintItem {
        match item {
            PrintItem::Text(text) => PrintItem::Text(text.clone()),
            PrintItem::Value(expr, domain) => PrintItem::Value(self.expr(expr), *domain),
            PrintItem::Whole(place) => PrintItem::Whole(self.place(place)),
        }
    }

    fn fold_if(&self, stmt: &Stmt, branches: &[(Expr, Vec<Stmt>)], otherwise: &[Stmt], out: &mut Vec<Stmt>) {
        let mut kept = Vec::new();
        let mut last = otherwise;
        for (condition, body) in branches {
            let condition = self.expr(condition);
            match condition.as_const() {
                Some(0) => {}
                Some(_) => {
                    last = body;
                    break;
                }
                None => kept.push((condition, self.stmts(body))),
            }
        }
        let otherwise = self.stmts(last);
        if kept.is_empty() {
            out.extend(otherwise);
        } else {
            out.push(Stmt { kind: StmtKind::If { branches: kept, otherwise }, span: stmt.span });
        }
    }

    fn fold_switch(&self, subject: &Expr, arms: &[SwitchArm], otherwise: &[Stmt]) -> Folded {
        let subject = self.expr(subject);
        let arms: Vec<SwitchArm> = (arms.iter())
            .map(|arm| SwitchArm {
                values: arm.values.iter().map(|v| self.expr(v)).collect(),
                body: self.stmts(&arm.body),
            })
            .collect();
        let otherwise = self.stmts(otherwise);
        if let Some(value) = subject.as_const() {
            // Values are compared in order: up to the one that matches, all must be known.
            let labels = arms
                .iter()
                .enumerate()
                .flat_map(|(n, arm)| arm.values.iter().map(move |v| (n, v.as_const())));
            let mut chosen = Some(&otherwise);
            for (n, label) in labels {
                match label {
                    None => chosen = None,
                    Some(label) if label == value => chosen = Some(&arms[n].body),
                    Some(_) => continue,
                }
                break;
            }
            if let Some(body) = chosen {
                return Folded::Inline(body.clone());
            }
        }
        Folded::Kept(StmtKind::Switch { subject, arms, otherwise })
    }

    fn fold_for(&self, local: LocalId, range: &Range, body: &[Stmt]) -> Folded {
        let inner = self.without(local);
        let range = self.range(range);
        if let Some(values) = self.turns(&range) {
            let unrolled: Vec<Stmt> = values.iter().flat_map(|&v| inner.with(local, v).stmts(body)).collect();
            if !unrolled.iter().any(|s| mentions(s, local)) {
                return Folded::Inline(unrolled);
            }
        }
        Folded::Kept(StmtKind::For { local, range, body: inner.stmts(body) })
    }
}

/// What is left of a statement that chooses or repeats others.
enum Folded {
    /// Such a statement still.
    Kept(StmtKind),
    /// What is done is known, and stands in its place.
    Inline(Vec<Stmt>),
}

/// `expr` as 0 or 1.
fn truth(expr: Expr) -> ExprKind {
    match &expr.kind {
        ExprKind::Const(value) => ExprKind::Const((*value != 0).into()),
        ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::IsUndefined(_)
        | ExprKind::Quantified { .. }
        | ExprKind::Same(..)
        | ExprKind::InDomain(..) => expr.kind,
        ExprKind::Binary(op, ..) if is_truth(*op) => expr.kind,
        _ => ExprKind::Binary(BinaryOp::NotEqual, Box::new(expr), Box::new(Expr::constant(0))),
    }
}

/// Whether the operator always gives 0 or 1.
fn is_truth(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | And | Or | Implies)
}

/// Whether a local still stands somewhere in a statement.
fn mentions(stmt: &Stmt, local: LocalId) -> bool {
    let expr = |e: &Expr| mentions_expr(e, local);
    let place = |p: &Place| mentions_place(p, local);
    let body = |stmts: &[Stmt]| stmts.iter().any(|s| mentions(s, local));
    match &stmt.kind {
        StmtKind::Assign(to, value) => place(to) || expr(value),
        StmtKind::Copy { to, from } => place(to) || place(from),
        StmtKind::Clear(at) | StmtKind::Undefine(at) => place(at),
        StmtKind::If { branches, otherwise } => {
            branches.iter().any(|(c, b)| expr(c) || body(b)) || body(otherwise)
        }
        StmtKind::Switch { subject, arms, otherwise } => {
            expr(subject)
                || arms.iter().any(|arm| arm.values.iter().any(expr) || body(&arm.body))
                || body(otherwise)
        }
        StmtKind::For { range, body: inside, .. } => mentions_range(range, local) || body(inside),
        StmtKind::While(condition, inside) => expr(condition) || body(inside),
        StmtKind::Call(_, arguments) => arguments.iter().any(|a| mentions_argument(a, local)),
        StmtKind::Return(value) => value.as_ref().is_some_and(expr),
        StmtKind::Bind { place: at, body: inside, .. } => place(at) || body(inside),
        StmtKind::Check { condition, .. } | StmtKind::Cover(_, condition) => expr(condition),
        StmtKind::Fail(_) => false,
        StmtKind::Print(items) => items.iter().any(|item| match item {
            PrintItem::Text(_) => false,
            PrintItem::Value(value, _) => expr(value),
            PrintItem::Whole(at) => place(at),
        }),
    }
}

fn mentions_expr(expr: &Expr, local: LocalId) -> bool {
    let inside = |e: &Expr| mentions_expr(e, local);
    match &expr.kind {
        ExprKind::Const(_) => false,
        ExprKind::Read(place) | ExprKind::IsUndefined(place) => mentions_place(place, local),
        ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => inside(of),
        ExprKind::Binary(_, left, right) => inside(left) || inside(right),
        ExprKind::If(condition, yes, no) => inside(condition) || inside(yes) || inside(no),
        ExprKind::Quantified { range, body, .. } => mentions_range(range, local) || inside(body),
        ExprKind::Same(left, right) => mentions_place(left, local) || mentions_place(right, local),
        ExprKind::Call(_, arguments) => arguments.iter().any(|a| mentions_argument(a, local)),
    }
}

fn mentions_place(place: &Place, local: LocalId) -> bool {
    place.base == Base::Local(local)
        || place.steps.iter().any(|step| matches!(step, Step::Index(index) if mentions_expr(index, local)))
}

fn mentions_range(range: &Range, local: LocalId) -> bool {
    match range {
        Range::Domain(_) => false,
        Range::Steps { from, to, by } => [from, to, by].into_iter().any(|e| mentions_expr(e, local)),
    }
}

fn mentions_argument(argument: &Argument, local: LocalId) -> bool {
    match argument {
        Argument::Value(expr) => mentions_expr(expr, local),
        Argument::Copy(place) | Argument::Reference(place) => mentions_place(place, local),
    }
}
