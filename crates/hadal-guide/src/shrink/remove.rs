//! Taking variables out of a system without renumbering anything.

use hadal_system::visit::{self, Node};
use hadal_system::{Action, Base, Expr, ExprKind, Stmt, StmtKind, System, VarId};

/// Whether the body may end before its last statement.
pub(super) fn returns_early(action: &Action) -> bool {
    let mut early = false;
    visit::block(&action.body, &mut |node| {
        early |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return(_), .. }));
    });
    early
}

/// Whether the statements name one of the variables, or call anything.
fn concerns(body: &[Stmt], removed: &[VarId]) -> bool {
    let mut concerned = false;
    visit::block(body, &mut |node| {
        concerned |= match node {
            Node::Place(place) => matches!(place.base, Base::Global(var) if removed.contains(&var)),
            Node::Expr(expr) => matches!(expr.kind, ExprKind::Call(..)),
            Node::Stmt(stmt) => matches!(stmt.kind, StmtKind::Call(..)),
        };
    });
    concerned
}

/// Makes an action impossible.
pub(super) fn disable(action: &mut Action) {
    action.guard = Expr::constant(0);
    action.body.clear();
}

/// Whether the body can meet an error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    MayFail,
    Safe,
}

/// Makes the action leave the variables at their least values. It must not return early.
pub(super) fn clear_after(system: &System, action: &Action, removed: &[VarId], body: Body) -> Vec<Stmt> {
    let mut stmts = action.body.clone();
    if body == Body::Safe {
        // What only sets a removed variable need not be done at all.
        stmts.retain(|stmt| match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let calls = concerns(&[Stmt::new(StmtKind::Return(Some(value.clone())), stmt.span)], &[]);
                calls || !matches!(place.base, Base::Global(var) if removed.contains(&var))
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => {
                !matches!(place.base, Base::Global(var) if removed.contains(&var))
            }
            _ => true,
        });
    }
    if concerns(&stmts, removed) {
        stmts.extend(clears(system, removed));
    }
    stmts
}

/// Statements that give each variable its least values.
pub(super) fn clears<'a>(system: &'a System, removed: &'a [VarId]) -> impl Iterator<Item = Stmt> + 'a {
    removed.iter().map(|&var| {
        let place = system.whole(var);
        let span = place.span;
        Stmt::new(StmtKind::Clear(place), span)
    })
}

/// Processes whose location was removed no longer move.
pub(super) fn forget_processes(system: &mut System, removed: &[VarId]) {
    let mut gone = Vec::new();
    for (n, process) in system.processes.iter_mut().enumerate() {
        if removed.contains(&process.location) {
            process.edges.clear();
            gone.push(n as u32);
        }
    }
    for action in &mut system.actions {
        action.processes.retain(|process| !gone.contains(&process.0));
    }
    let disabled: Vec<bool> = system.actions.iter().map(|a| a.guard.as_const() == Some(0)).collect();
    for process in &mut system.processes {
        process.edges.retain(|edge| !disabled[edge.action.0 as usize]);
    }
}
