//! Where a model begins: the state that its variables name, or every state that satisfies a condition.

use super::names::{Names, Placed};
use crate::prism::ast;
use hadal_system::{
    Action, Base, BinaryOp, Expr, ExprKind, Local, LocalId, LocalKind, Param, ParamValues, Place, Span, Stmt,
    StmtKind, System, UnaryOp, VarId,
};

pub(super) fn start_at(inits: &[(VarId, i64)], system: &System) -> Action {
    let body = inits.iter().map(|&(var, value)| {
        Stmt::new(StmtKind::Assign(system.whole(var), Expr::constant(value)), Span::default())
    });
    Action { name: "start".into(), body: body.collect(), ..Action::default() }
}

/// Every state that satisfies `states` is initial. All values of the variables are tried, but those of a variable that parts of
/// the condition rule out by themselves.
pub(super) fn start_anywhere(states: &ast::Expr, names: &mut Names, system: &System) -> Placed<Action> {
    let mut start = Action { name: "start".into(), span: states.span, ..Action::default() };
    for (n, variable) in system.variables.iter().enumerate() {
        let local = LocalId(n as u32);
        let Some(domain) = system.shapes.scalar(variable.shape) else { continue };
        start.locals.push(Local {
            name: variable.name.clone(),
            shape: variable.shape,
            kind: LocalKind::Bound,
        });
        start.params.push(Param { local, values: ParamValues::Domain(domain) });
        let value = Place::local(local, variable.shape, variable.span).read();
        names.instead.insert(variable.name.clone(), value.clone());
        let to = system.whole(VarId(n as u32));
        start.body.push(Stmt::new(StmtKind::Assign(to, value), variable.span));
    }
    let guard = names.condition(states);
    names.instead.clear();
    start.guard = guard?;
    for param in &mut start.params {
        let ParamValues::Domain(domain) = param.values else { continue };
        let (least, most) = (system.domains[domain].min(), system.domains[domain].max());
        let mut within = (least, most);
        narrow(&start.guard, param.local, &mut within);
        if within != (least, most) {
            param.values = ParamValues::Steps { from: within.0, to: within.1, by: 1 };
        }
    }
    Ok(start)
}

/// Leaves out values of a local that a condition rules out at its ends, as far as comparisons with numbers say so.
fn narrow(condition: &Expr, local: LocalId, within: &mut (i64, i64)) {
    let is_it = |expr: &Expr| matches!(&expr.kind, ExprKind::Read(place) if place.base == Base::Local(local) && place.steps.is_empty());
    let (op, bound) = match &condition.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            narrow(left, local, within);
            narrow(right, local, within);
            return;
        }
        ExprKind::Binary(op, left, right) => match (left.as_const(), right.as_const()) {
            (None, Some(bound)) if is_it(left) => (*op, bound),
            (Some(bound), None) if is_it(right) => (turned(*op), bound),
            _ => return,
        },
        ExprKind::Unary(UnaryOp::Not, operand) if is_it(operand) => (BinaryOp::Equal, 0),
        _ if is_it(condition) => (BinaryOp::Equal, 1),
        _ => return,
    };
    let (low, high) = match op {
        BinaryOp::Equal => (bound, bound),
        BinaryOp::Less => (i64::MIN, bound.saturating_sub(1)),
        BinaryOp::LessEqual => (i64::MIN, bound),
        BinaryOp::Greater => (bound.saturating_add(1), i64::MAX),
        BinaryOp::GreaterEqual => (bound, i64::MAX),
        _ => return,
    };
    let narrower = (within.0.max(low), within.1.min(high));
    // Where nothing is left the condition itself says so.
    if narrower.0 <= narrower.1 {
        *within = narrower;
    }
}

/// The comparison with its sides changed.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        same => same,
    }
}
