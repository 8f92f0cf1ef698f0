//! Costs given beside a model: `ACTION=EXPR` for the actions of that name, `EXPR` for all others.

use crate::error::CheckError;
use hadal_system::{Expr, System, text};

/// Gives the actions of a system the costs that are written here. What is said of an action by name counts more than what is
/// said of all.
pub(crate) fn give_costs(system: &mut System, costs: &[String]) -> Result<(), CheckError> {
    if costs.is_empty() {
        return Ok(());
    }
    if system.actions.iter().any(|action| action.then.is_some()) {
        return Err(CheckError::Question(
            "--cost needs steps that are single actions, and some of this model's are sequences of several"
                .into(),
        ));
    }
    let mut given: Vec<(Option<&str>, &str)> = Vec::new();
    for cost in costs {
        given.push(match named(system, cost) {
            Some((name, expr)) => (Some(name), expr),
            None => (None, cost.as_str()),
        });
    }
    let mut parsed: Vec<Option<Expr>> = Vec::with_capacity(system.actions.len());
    for action in &system.actions {
        let by_name = given.iter().rfind(|(name, _)| *name == Some(action.name.as_str()));
        let general = || given.iter().rfind(|(name, _)| name.is_none());
        parsed.push(match by_name.or_else(general) {
            None => None,
            Some((name, expr)) => {
                let expr = text::parse(system, &action.locals, expr, action.span).map_err(|why| {
                    let of = if name.is_some() { format!(" of `{}`", action.name) } else { String::new() };
                    let hint = if name.is_none() { actions(system) } else { String::new() };
                    CheckError::Question(format!("the cost{of}: {why}{hint}"))
                })?;
                Some(expr)
            }
        });
    }
    let names: Vec<String> = given.iter().filter_map(|(name, _)| name.map(str::to_owned)).collect();
    debug_assert!(names.iter().all(|name| system.actions.iter().any(|action| action.name == *name)));
    for (action, cost) in system.actions.iter_mut().zip(parsed) {
        action.cost = cost.or(action.cost.take());
    }
    Ok(())
}

/// The action that a cost is of, and its expression: the longest name that stands before a single `=`.
fn named<'t>(system: &System, cost: &'t str) -> Option<(&'t str, &'t str)> {
    let trimmed = cost.trim_start();
    let names = system.actions.iter().filter_map(|action| {
        let rest = trimmed.strip_prefix(action.name.as_str())?.trim_start().strip_prefix('=')?;
        (!rest.starts_with('=') && !action.name.is_empty()).then_some((action.name.len(), rest))
    });
    let (length, rest) = names.max_by_key(|&(length, _)| length)?;
    Some((&trimmed[..length], rest))
}

/// Some names of actions, for who mistyped one.
fn actions(system: &System) -> String {
    let mut names: Vec<&str> = system.actions.iter().map(|action| action.name.as_str()).collect();
    names.dedup();
    let more = if names.len() > 8 { ", ..." } else { "" };
    names.truncate(8);
    format!("\n  (write ACTION=EXPR for one action; the actions are {}{more})", names.join(", "))
}
