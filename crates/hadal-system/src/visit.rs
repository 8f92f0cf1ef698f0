//! Visiting every expression, place and statement below another.

use crate::{Argument, Expr, ExprKind, Place, Range, Step, Stmt, StmtKind};

/// What a visit meets.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A place, wherever it stands.
    Place(&'a Place),
    /// A statement.
    Stmt(&'a Stmt),
}

/// Visits `expr` and everything below it.
pub fn expr<'a>(expr_: &'a Expr, visit: &mut dyn FnMut(Node<'a>)) {
    stacker::maybe_grow(64 << 10, 1 << 20, || {
        visit(Node::Expr(expr_));
        match &expr_.kind {
            ExprKind::Const(_) => {}
            ExprKind::Read(p) | ExprKind::IsUndefined(p) => place(p, visit),
            ExprKind::Unary(_, operand) | ExprKind::InDomain(operand, _) | ExprKind::Wrap(operand, _) => {
                expr(operand, visit)
            }
            ExprKind::Binary(_, l, r) => {
                expr(l, visit);
                expr(r, visit);
            }
            ExprKind::If(c, t, e) => {
                expr(c, visit);
                expr(t, visit);
                expr(e, visit);
            }
            ExprKind::Quantified { range: r, body, .. } => {
                range(r, visit);
                expr(body, visit);
            }
            ExprKind::Same(l, r) => {
                place(l, visit);
                place(r, visit);
            }
            ExprKind::Call(_, list) => arguments(list, visit),
        }
    })
}

/// Visits `place` and its index expressions.
pub fn place<'a>(place_: &'a Place, visit: &mut dyn FnMut(Node<'a>)) {
    visit(Node::Place(place_));
    for step in &place_.steps {
        if let Step::Index(index) = step {
            expr(index, visit);
        }
    }
}

fn range<'a>(range_: &'a Range, visit: &mut dyn FnMut(Node<'a>)) {
    if let Range::Steps { from, to, by } = range_ {
        expr(from, visit);
        expr(to, visit);
        expr(by, visit);
    }
}

fn arguments<'a>(list: &'a [Argument], visit: &mut dyn FnMut(Node<'a>)) {
    for argument in list {
        match argument {
            Argument::Value(e) => expr(e, visit),
            Argument::Copy(p) | Argument::Reference(p) => place(p, visit),
        }
    }
}

/// Visits statements and everything below them, but nothing that is only printed.
pub fn block<'a>(body: &'a [Stmt], visit: &mut dyn FnMut(Node<'a>)) {
    for stmt in body {
        stacker::maybe_grow(64 << 10, 1 << 20, || statement(stmt, visit));
    }
}

fn statement<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(Node<'a>)) {
    visit(Node::Stmt(stmt));
    match &stmt.kind {
        StmtKind::Assign(p, e) => {
            place(p, visit);
            expr(e, visit);
        }
        StmtKind::Copy { to, from } => {
            place(to, visit);
            place(from, visit);
        }
        StmtKind::Clear(p) | StmtKind::Undefine(p) => place(p, visit),
        StmtKind::If { branches, otherwise } => {
            for (condition, body) in branches {
                expr(condition, visit);
                block(body, visit);
            }
            block(otherwise, visit);
        }
        StmtKind::Switch { subject, arms, otherwise } => {
            expr(subject, visit);
            for arm in arms {
                for value in &arm.values {
                    expr(value, visit);
                }
                block(&arm.body, visit);
            }
            block(otherwise, visit);
        }
        StmtKind::For { range: r, body, .. } => {
            range(r, visit);
            block(body, visit);
        }
        StmtKind::While(condition, body) => {
            expr(condition, visit);
            block(body, visit);
        }
        StmtKind::Call(_, list) => arguments(list, visit),
        StmtKind::Return(Some(e)) | StmtKind::Cover(_, e) | StmtKind::Check { condition: e, .. } => {
            expr(e, visit);
        }
        StmtKind::Bind { place: p, body, .. } => {
            place(p, visit);
            block(body, visit);
        }
        StmtKind::Return(None) | StmtKind::Fail(_) | StmtKind::Print(_) => {}
    }
}
