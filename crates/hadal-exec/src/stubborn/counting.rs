//! Scalars that an action only counts: they grow, or shrink, each time it fires.

use hadal_system::facts::{Footprint, ValueSet};
use hadal_system::visit::{self, Node};
use hadal_system::{Action, Base, BinaryOp, ExprKind, Place, StmtKind, System, VarId};

/// Which way something is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    Up,
    Down,
}

/// The slots that an action makes larger or smaller each time it fires.
pub(super) fn counts(system: &System, action: &Action, print: &Footprint) -> Vec<(u32, Counting)> {
    let first_slots = system.first_slots();
    let mut found = Vec::new();
    let (mut written, mut calls): (Vec<VarId>, bool) = (Vec::new(), false);
    visit::block(&action.body, &mut |node| match node {
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Assign(place, _)
            | StmtKind::Copy { to: place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::Bind { place, .. } => {
                written.extend(match place.base {
                    Base::Global(var) => Some(var),
                    Base::Local(_) => None,
                });
            }
            StmtKind::Call(..) => calls = true,
            _ => {}
        },
        Node::Expr(expr) => calls |= matches!(expr.kind, ExprKind::Call(..)),
        Node::Place(_) => {}
    });
    // A call may write anything.
    if calls {
        return found;
    }
    for stmt in &action.body {
        let StmtKind::Assign(Place { base: Base::Global(var), steps, .. }, value) = &stmt.kind else {
            continue;
        };
        if !steps.is_empty() || written.iter().filter(|it| *it == var).count() != 1 {
            continue;
        }
        let slot = first_slots[var.0 as usize] as u32;
        let (sum, within) = match &value.kind {
            ExprKind::Wrap(of, domain) => (&**of, Some(&system.domains[*domain])),
            _ => (value, None),
        };
        let ExprKind::Binary(op, left, right) = &sum.kind else { continue };
        let reads =
            matches!(&left.kind, ExprKind::Read(it) if it.base == Base::Global(*var) && it.steps.is_empty());
        let by = match (op, right.as_const()) {
            (BinaryOp::Add, Some(by)) if reads => by,
            (BinaryOp::Subtract, Some(by)) if reads => by.wrapping_neg(),
            _ => continue,
        };
        // It must not come out at the other end.
        let bounds = print.precondition(slot).and_then(ValueSet::bounds);
        let stays = within.is_none_or(|domain| {
            bounds.is_some_and(|(low, high)| {
                low.checked_add(by).is_some_and(|low| domain.min() <= low)
                    && high.checked_add(by).is_some_and(|high| high <= domain.max())
            })
        });
        if by != 0 && stays {
            found.push((slot, if by > 0 { Counting::Up } else { Counting::Down }));
        }
    }
    found
}
