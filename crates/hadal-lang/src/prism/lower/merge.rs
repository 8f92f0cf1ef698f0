//! Commands of one module that exclude each other become one, where synchronisation would otherwise multiply them: a module
//! with ten ways to let time pass and three like it would have ten thousand joint commands.

use super::super::ast::Module;
use super::command::{Lowered, Write};
use super::term::{self, Term};
use hadal_system::rows::Rational;
use hadal_system::{Base, BinaryOp, Expr, ExprKind, Place, System, VarId};
use std::collections::{BTreeMap, HashMap};

/// A label with more joint commands than this is merged.
const FEW: u64 = 64;

/// Merges commands in place; commands and what they mean stay in step.
pub(super) fn merge(modules: &mut [Module], lowered: &mut [Vec<Option<Lowered>>], system: &System) {
    let mut joint: HashMap<String, u64> = HashMap::new();
    for module in modules.iter() {
        let mut own: HashMap<&str, u64> = HashMap::new();
        for action in module.commands.iter().filter_map(|c| c.action.as_deref()) {
            *own.entry(action).or_default() += 1;
        }
        for (action, count) in own {
            let product = joint.entry(action.to_owned()).or_insert(1);
            *product = product.saturating_mul(count);
        }
    }
    for (module, lowered) in modules.iter_mut().zip(lowered) {
        let mut merged: Vec<(usize, Lowered, Vec<Box<Bounds>>)> = Vec::new();
        let commands = std::mem::take(&mut module.commands);
        let mut kept: Vec<Option<Lowered>> = Vec::new();
        for (command, meaning) in commands.into_iter().zip(std::mem::take(lowered)) {
            let many = command.action.as_ref().is_some_and(|a| joint.get(a).is_some_and(|&n| n > FEW));
            let meaning = match meaning {
                Some(meaning) if many && is_certain(&meaning) => meaning,
                other => {
                    module.commands.push(command);
                    kept.push(other);
                    continue;
                }
            };
            let bounds = Box::new(bounds_of(&meaning.guard));
            let fits = |(at, _, members): &&mut (usize, Lowered, Vec<Box<Bounds>>)| {
                module.commands[*at].action == command.action && members.iter().all(|b| excludes(b, &bounds))
            };
            match merged.iter_mut().find(fits) {
                Some((_, into, members)) => {
                    join(into, &meaning, system);
                    members.push(bounds);
                }
                None => {
                    merged.push((kept.len(), meaning, vec![bounds]));
                    module.commands.push(command);
                    kept.push(None);
                }
            }
        }
        for (at, meaning, _) in merged {
            kept[at] = Some(meaning);
        }
        *lowered = kept;
    }
}

fn is_certain(command: &Lowered) -> bool {
    let one = Rational::from_integer(1);
    matches!(&command.updates[..], [(weight, _)] if weight.constant() == Some(one))
}

/// Where `more` is enabled, `into` does what it does; otherwise what it did.
fn join(into: &mut Lowered, more: &Lowered, system: &System) {
    let none: Vec<Write> = Vec::new();
    let theirs = more.updates.first().map_or(&none, |u| &u.1);
    let ours = into.updates.first().map_or(&none, |u| &u.1);
    let mut writes = Vec::new();
    let mut vars: Vec<VarId> = ours.iter().chain(theirs).map(|w| w.var).collect();
    vars.sort_unstable();
    vars.dedup();
    for var in vars {
        let of = |list: &[Write]| list.iter().find(|w| w.var == var).cloned();
        let span = of(ours).or_else(|| of(theirs)).map(|w| w.span).unwrap_or_default();
        let old = || Place::global(var, system.variable(var).shape, span).read();
        let then = of(theirs).map_or_else(old, |w| w.value);
        let otherwise = of(ours).map_or_else(old, |w| w.value);
        writes.push(Write::new(var, term::choose(more.guard.clone(), then, otherwise), span));
    }
    into.updates = vec![(Term::int(1), writes)];
    into.guard = term::fold(BinaryOp::Or, into.guard.clone(), more.guard.clone());
}

/// Between what a condition holds variables.
type Bounds = BTreeMap<VarId, (i64, i64)>;

fn excludes(left: &Bounds, right: &Bounds) -> bool {
    left.iter().any(|(var, (low, high))| right.get(var).is_some_and(|(l, h)| high < l || h < low))
}

fn bounds_of(guard: &Expr) -> Bounds {
    let mut bounds = Bounds::new();
    narrow(guard, &mut bounds);
    bounds
}

fn narrow(guard: &Expr, bounds: &mut Bounds) {
    let mut meet = |var: VarId, low: i64, high: i64| {
        let entry = bounds.entry(var).or_insert((i64::MIN, i64::MAX));
        *entry = (entry.0.max(low), entry.1.min(high));
    };
    match &guard.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            narrow(left, bounds);
            narrow(right, bounds);
        }
        ExprKind::Binary(op, left, right) => {
            let (var, value, op) = match (variable(left), right.as_const(), variable(right), left.as_const())
            {
                (Some(var), Some(value), ..) => (var, value, *op),
                (_, _, Some(var), Some(value)) => {
                    let turned = match op {
                        BinaryOp::Less => BinaryOp::Greater,
                        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
                        BinaryOp::Greater => BinaryOp::Less,
                        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
                        other => *other,
                    };
                    (var, value, turned)
                }
                _ => return,
            };
            match op {
                BinaryOp::Equal => meet(var, value, value),
                BinaryOp::Less => meet(var, i64::MIN, value.saturating_sub(1)),
                BinaryOp::LessEqual => meet(var, i64::MIN, value),
                BinaryOp::Greater => meet(var, value.saturating_add(1), i64::MAX),
                BinaryOp::GreaterEqual => meet(var, value, i64::MAX),
                _ => {}
            }
        }
        ExprKind::Unary(hadal_system::UnaryOp::Not, operand) => {
            if let Some(var) = variable(operand) {
                meet(var, 0, 0);
            }
        }
        ExprKind::Read(_) => {
            if let Some(var) = variable(guard) {
                meet(var, 1, 1);
            }
        }
        _ => {}
    }
}

fn variable(expr: &Expr) -> Option<VarId> {
    match &expr.kind {
        ExprKind::Read(place) => match place.base {
            Base::Global(var) if place.steps.is_empty() => Some(var),
            _ => None,
        },
        _ => None,
    }
}
