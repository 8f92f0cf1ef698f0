//! Commands that act together become one action: guards joined, outcomes multiplied, assignments all at once.

use super::super::ast::{Assignment, Command, Module};
use super::modules::Joint;
use super::names::{Names, Placed};
use super::term::{self, Term};
use crate::{Diagnostic, Diagnostics};
use hadal_system::rows::Rational;
use hadal_system::{
    Action, Amount, Base, BinaryOp, Domain, Expr, ExprKind, Local, LocalId, LocalKind, Outcomes, Param,
    ParamValues, Place, Shape, Stmt, StmtKind, SwitchArm, System, VarId,
};
use std::collections::HashMap;

/// More outcomes of one choice than this are refused.
const MAX_OUTCOMES: usize = 1 << 16;

/// A command with its names looked up.
#[derive(Clone, Debug)]
pub(super) struct Lowered {
    pub guard: Expr,
    pub updates: Vec<(Term, Vec<Write>)>,
}

/// One assignment.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub var: VarId,
    pub value: Expr,
    pub span: hadal_system::Span,
    reads: Vec<VarId>,
}

/// Looks up the names of every command, module by module.
pub(super) fn lower_commands(
    modules: &[Module],
    names: &mut Names,
    owner: &HashMap<String, Option<usize>>,
    diagnostics: &mut Diagnostics,
) -> Vec<Vec<Option<Lowered>>> {
    let mut all = Vec::new();
    for (n, module) in modules.iter().enumerate() {
        let mut list = Vec::new();
        for command in &module.commands {
            list.push(match lower_command(command, n, names, owner) {
                Ok(lowered) => Some(lowered),
                Err((span, wrong)) => {
                    diagnostics.push(Diagnostic::error(span, wrong));
                    None
                }
            });
        }
        all.push(list);
    }
    all
}

fn lower_command(
    command: &Command,
    module: usize,
    names: &mut Names,
    owner: &HashMap<String, Option<usize>>,
) -> Placed<Lowered> {
    let guard = names.condition(&command.guard)?;
    let mut updates = Vec::new();
    for (probability, assignments) in &command.updates {
        let weight = match probability {
            Some(expr) => match names.term(expr)? {
                Term::Bool(_) => return Err((expr.span, "a probability is a number".into())),
                weight => weight,
            },
            None => Term::int(1),
        };
        let mut writes: Vec<Write> = Vec::new();
        for assignment in assignments {
            let write = lower_write(assignment, module, names, owner)?;
            if writes.iter().any(|w| w.var == write.var) {
                return Err((assignment.span, format!("`{}` is assigned twice", assignment.name)));
            }
            writes.push(write);
        }
        if weight.constant().is_some_and(|w| *w.numer() < 0) {
            return Err((command.span, "a probability is negative".into()));
        }
        if weight.constant() != Some(Rational::from_integer(0)) {
            updates.push((weight, writes));
        }
    }
    Ok(Lowered { guard, updates })
}

fn lower_write(
    assignment: &Assignment,
    module: usize,
    names: &mut Names,
    owner: &HashMap<String, Option<usize>>,
) -> Placed<Write> {
    let span = assignment.span;
    let Some(known) = names.variables.get(&assignment.name).cloned() else {
        return Err((span, format!("`{}` is not a variable", assignment.name)));
    };
    if let Some(Some(by)) = owner.get(&assignment.name)
        && *by != module
    {
        return Err((span, format!("`{}` belongs to another module", assignment.name)));
    }
    let value = names.term(&assignment.value)?;
    let value = if known.is_bool { value.into_bool() } else { value.into_int() };
    let value = value.map_err(|wrong| (assignment.value.span, wrong))?;
    Ok(Write::new(known.var, value, span))
}

impl Write {
    /// Gives `var` this value.
    pub fn new(var: VarId, value: Expr, span: hadal_system::Span) -> Self {
        let mut reads = Vec::new();
        variables_in(&value, &mut reads);
        Write { var, value, span, reads }
    }
}

/// The action of a joint command; `None` where it can never happen.
pub(super) fn action(
    joint: &Joint,
    modules: &[Module],
    lowered: &[Vec<Option<Lowered>>],
    system: &mut System,
    diagnostics: &mut Diagnostics,
) -> Option<Action> {
    let (first_module, first_command) = *joint.parts.first()?;
    let span = modules[first_module].commands[first_command].span;
    let mut guard = Expr::constant(1);
    let mut updates: Vec<(Term, Vec<Write>)> = vec![(Term::int(1), Vec::new())];
    for &(m, c) in &joint.parts {
        let part = lowered[m][c].as_ref()?;
        guard = term::fold(BinaryOp::And, guard, part.guard.clone());
        let mut product = Vec::with_capacity(updates.len() * part.updates.len());
        for (weight, writes) in &updates {
            for (other, more) in &part.updates {
                let weight = match (weight.constant(), other.constant()) {
                    (Some(one), _) if one == Rational::from_integer(1) => Ok(other.clone()),
                    (_, Some(one)) if one == Rational::from_integer(1) => Ok(weight.clone()),
                    _ => term::arithmetic(BinaryOp::Multiply, weight.clone(), other.clone()),
                };
                let weight = match weight {
                    Ok(weight) => weight,
                    Err(wrong) => {
                        diagnostics.push(Diagnostic::error(span, wrong));
                        return None;
                    }
                };
                if let Some(twice) = more.iter().find(|w| writes.iter().any(|o| o.var == w.var)) {
                    let name = &system.variable(twice.var).name;
                    diagnostics.push(Diagnostic::error(
                        twice.span,
                        format!("commands that act together both assign `{name}`"),
                    ));
                    return None;
                }
                product.push((weight, writes.iter().chain(more).cloned().collect()));
            }
        }
        updates = product;
        if updates.len() > MAX_OUTCOMES {
            diagnostics
                .push(Diagnostic::error(span, format!("a choice has more than {MAX_OUTCOMES} outcomes")));
            return None;
        }
    }
    if guard.as_const() == Some(0) || updates.is_empty() {
        return None;
    }
    let name = match &joint.action {
        Some(action) => action.clone(),
        None => modules[first_module].name.clone(),
    };
    let mut action = Action { name, guard, span, ..Action::default() };
    let certain = updates.len() == 1 && updates[0].0.constant() == Some(Rational::from_integer(1));
    if certain {
        action.body = block(&updates[0].1, system, &mut action.locals);
        return Some(action);
    }
    outcomes(&mut action, &updates, system);
    Some(action)
}

/// Gives the action one instance per outcome.
fn outcomes(action: &mut Action, updates: &[(Term, Vec<Write>)], system: &mut System) {
    let domain = system.domains.add(Domain::range(0, updates.len() as i64 - 1, false));
    let Ok(shape) = system.shapes.add(Shape::Scalar(domain), &system.domains) else { return };
    action.locals.push(Local { name: "outcome".into(), shape, kind: LocalKind::Bound });
    action.params.push(Param { local: LocalId(0), values: ParamValues::Domain(domain) });
    let chosen = Place::local(LocalId(0), shape, action.span).read();
    let mut weights = Vec::new();
    let mut arms = Vec::new();
    let mut possible = Expr::constant(1);
    for (n, (weight, writes)) in updates.iter().enumerate() {
        let body = block(writes, system, &mut action.locals);
        arms.push(SwitchArm { values: vec![Expr::constant(n as i64)], body });
        weights.push(match weight {
            Term::Ratio(above, below) => {
                // An outcome that a state makes impossible is not there.
                let here = term::fold(BinaryOp::Equal, chosen.clone(), Expr::constant(n as i64));
                let zero = term::fold(BinaryOp::Equal, above.clone(), Expr::constant(0));
                let excluded = term::fold(BinaryOp::And, here, zero);
                possible = term::fold(BinaryOp::And, possible, term::not(excluded));
                Amount::Ratio { numerator: above.clone(), denominator: below.clone() }
            }
            weight => Amount::Constant(weight.constant().unwrap_or(Rational::from_integer(0))),
        });
    }
    action.guard = term::fold(BinaryOp::And, action.guard.clone(), possible);
    action.body =
        vec![Stmt::new(StmtKind::Switch { subject: chosen, arms, otherwise: Vec::new() }, action.span)];
    action.outcomes = Some(Outcomes { weights });
}

/// Assignments that all read the state before: what reads something assigned earlier goes through a local.
fn block(writes: &[Write], system: &System, locals: &mut Vec<Local>) -> Vec<Stmt> {
    let mut first = Vec::new();
    let mut direct = Vec::new();
    let mut last = Vec::new();
    for (n, write) in writes.iter().enumerate() {
        let to = Place::global(write.var, system.variable(write.var).shape, write.span);
        if write.value == to.clone().read() || is_read_of(&write.value, write.var) {
            continue;
        }
        let assign = |to: Place, value: Expr| Stmt::new(StmtKind::Assign(to, value), write.span);
        if writes[..n].iter().any(|earlier| write.reads.contains(&earlier.var)) {
            let local = LocalId(locals.len() as u32);
            let shape = system.variable(write.var).shape;
            locals.push(Local {
                name: format!("next {}", system.variable(write.var).name),
                shape,
                kind: LocalKind::Variable,
            });
            let held = Place::local(local, shape, write.span);
            first.push(assign(held.clone(), write.value.clone()));
            last.push(assign(to, held.read()));
        } else {
            direct.push(assign(to, write.value.clone()));
        }
    }
    first.extend(direct);
    first.extend(last);
    first
}

fn is_read_of(expr: &Expr, var: VarId) -> bool {
    matches!(&expr.kind, ExprKind::Read(place) if place.base == Base::Global(var))
}

fn variables_in(expr: &Expr, found: &mut Vec<VarId>) {
    match &expr.kind {
        ExprKind::Read(place) => {
            if let Base::Global(var) = place.base {
                found.push(var);
            }
        }
        ExprKind::Unary(_, operand) => variables_in(operand, found),
        ExprKind::Binary(_, left, right) => {
            variables_in(left, found);
            variables_in(right, found);
        }
        ExprKind::If(condition, then, otherwise) => {
            for part in [condition, then, otherwise] {
                variables_in(part, found);
            }
        }
        _ => {}
    }
}
