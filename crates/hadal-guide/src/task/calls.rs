//! Whether evaluating a condition can change what later parts of it see.

use hadal_system::visit::{self, Node};
use hadal_system::{Base, Expr, ExprKind, FunctionId, Local, LocalKind, Place, StmtKind, System};
use std::collections::HashSet;

/// Whether evaluating the expression may call a function that writes more than its own variables.
pub fn calls_writer(system: &System, expr: &Expr) -> bool {
    let mut called: Vec<FunctionId> = Vec::new();
    visit::expr(expr, &mut |node| called.extend(call(node)));
    let mut seen: HashSet<FunctionId> = HashSet::new();
    let mut writes = false;
    while let Some(id) = called.pop() {
        if writes {
            break;
        }
        if seen.insert(id) {
            let function = system.function(id);
            visit::block(&function.body, &mut |node| {
                writes |= written(node).is_some_and(|place| is_foreign(&function.locals, place));
                called.extend(call(node));
            });
        }
    }
    writes
}

/// The function that is called here.
fn call(node: Node) -> Option<FunctionId> {
    match node {
        Node::Expr(expr) => match &expr.kind {
            ExprKind::Call(id, _) => Some(*id),
            _ => None,
        },
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Call(id, _) => Some(*id),
            _ => None,
        },
        Node::Place(_) => None,
    }
}

/// The place that a statement writes by itself.
fn written(node: Node<'_>) -> Option<&Place> {
    let Node::Stmt(stmt) = node else { return None };
    match &stmt.kind {
        StmtKind::Assign(to, _) | StmtKind::Copy { to, .. } => Some(to),
        StmtKind::Clear(place) | StmtKind::Undefine(place) => Some(place),
        _ => None,
    }
}

/// Whether a place may lie outside the function's own variables.
fn is_foreign(locals: &[Local], place: &Place) -> bool {
    match place.base {
        Base::Global(_) => true,
        Base::Local(local) => locals[local.0 as usize].kind == LocalKind::Reference,
    }
}
