//! Which symbols a part of a checked model mentions.

use super::hir::{Binder, Expr, ExprKind, Pick, Place, Step, Stmt, StmtKind, SymbolId, Values};

/// Calls `visit` for every symbol in an expression, bound ones included.
pub fn symbols_of_expr(expr: &Expr, visit: &mut dyn FnMut(SymbolId)) {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Undefined | ExprKind::Error => {}
        ExprKind::Place(place) | ExprKind::IsUndefined(place) => symbols_of_place(place, visit),
        ExprKind::Unary(_, operand) | ExprKind::IsMember(operand, _) => symbols_of_expr(operand, visit),
        ExprKind::Binary(_, left, right) => {
            symbols_of_expr(left, visit);
            symbols_of_expr(right, visit);
        }
        ExprKind::All(list) | ExprKind::Any(list) | ExprKind::Call(_, list) => {
            list.iter().for_each(|e| symbols_of_expr(e, visit));
        }
        ExprKind::If(condition, yes, no) => {
            symbols_of_expr(condition, visit);
            symbols_of_expr(yes, visit);
            symbols_of_expr(no, visit);
        }
        ExprKind::Quantified(_, binders, body) => {
            binders.iter().for_each(|b| symbols_of_binder(b, visit));
            symbols_of_expr(body, visit);
        }
        ExprKind::Count(pick) => symbols_of_pick(pick, visit),
    }
}

/// Calls `visit` for every symbol in a place.
pub fn symbols_of_place(place: &Place, visit: &mut dyn FnMut(SymbolId)) {
    visit(place.base);
    for step in &place.steps {
        match step {
            Step::Field(_) => {}
            Step::Index(index) | Step::Element(index) => symbols_of_expr(index, visit),
        }
    }
}

fn symbols_of_binder(binder: &Binder, visit: &mut dyn FnMut(SymbolId)) {
    if let Values::Steps(from, to, by) = &binder.values {
        for bound in [from, to, by] {
            symbols_of_expr(bound, visit);
        }
    }
}

fn symbols_of_pick(pick: &Pick, visit: &mut dyn FnMut(SymbolId)) {
    symbols_of_place(&pick.set, visit);
    symbols_of_expr(&pick.condition, visit);
}

/// Calls `visit` for every symbol in statements.
pub fn symbols_of_stmts(stmts: &[Stmt], visit: &mut dyn FnMut(SymbolId)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Assign(place, value)
            | StmtKind::MultisetAdd(value, place)
            | StmtKind::MultisetRemove(value, place) => {
                symbols_of_place(place, visit);
                symbols_of_expr(value, visit);
            }
            StmtKind::Call(_, arguments) => arguments.iter().for_each(|a| symbols_of_expr(a, visit)),
            StmtKind::Clear(place) | StmtKind::Undefine(place) => symbols_of_place(place, visit),
            StmtKind::If(branches, otherwise) => {
                for (condition, body) in branches {
                    symbols_of_expr(condition, visit);
                    symbols_of_stmts(body, visit);
                }
                symbols_of_stmts(otherwise, visit);
            }
            StmtKind::Switch(subject, arms, otherwise) => {
                symbols_of_expr(subject, visit);
                for (values, body) in arms {
                    values.iter().for_each(|v| symbols_of_expr(v, visit));
                    symbols_of_stmts(body, visit);
                }
                symbols_of_stmts(otherwise, visit);
            }
            StmtKind::For(binders, body) => {
                binders.iter().for_each(|b| symbols_of_binder(b, visit));
                symbols_of_stmts(body, visit);
            }
            StmtKind::While(condition, body) => {
                symbols_of_expr(condition, visit);
                symbols_of_stmts(body, visit);
            }
            StmtKind::Alias(_, value, body) => {
                symbols_of_expr(value, visit);
                symbols_of_stmts(body, visit);
            }
            StmtKind::Return(value) => value.iter().for_each(|v| symbols_of_expr(v, visit)),
            StmtKind::Fail(_) | StmtKind::PutText(_) => {}
            StmtKind::Put(value) | StmtKind::Property(_, value, _) => symbols_of_expr(value, visit),
            StmtKind::MultisetRemovePred(pick) => symbols_of_pick(pick, visit),
        }
    }
}
