//! What is asked of a timed model: its own properties, labels, deadlock.

use super::Deadlocks;
use crate::coverage::Answered;
use crate::error::CheckError;
use hadal_system::timed::{Clause, Extreme, GoingOn, TimedFormula, TimedSystem};
use hadal_system::{Expr, ExprKind, Property, PropertyBody, PropertyKind, Span, UnaryOp};

/// The question about deadlocks.
pub const DEADLOCK: &str = "deadlock";
/// The question about timelocks.
pub const TIMELOCK: &str = "timelock";

/// What somebody asks of a timed model.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names of properties; all of the model's where none is named.
    pub names: Vec<String>,
    /// Labels, separated by commas, that hold together in some state.
    pub labels: Option<String>,
    /// Whether the properties come from a file of queries: then goals are asked without being named.
    pub from_queries: bool,
    /// Whether every state leads on.
    pub deadlock: bool,
    /// Whether some state stops time.
    pub timelock: bool,
}

/// Adds what is asked to the model's properties; says which are asked about, by property.
pub fn ask(timed: &mut TimedSystem, what: &Wanted) -> Result<Vec<bool>, CheckError> {
    let own = timed.system.properties.len();
    timed.formulas.resize(own, None);
    for name in &what.names {
        let names = || {
            let properties = timed.system.properties.iter().map(|property| &property.name);
            properties.chain(timed.extremes.iter().map(|extreme| &extreme.name))
        };
        if !names().any(|known| known == name) {
            let known: Vec<_> = names().map(|known| format!("`{known}`")).collect();
            let known = match known.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", known.join(", ")),
            };
            return Err(CheckError::Question(format!("the model has no property `{name}`; {known}")));
        }
    }
    let named = !what.names.is_empty() || what.labels.is_some();
    let mut asked: Vec<bool> = timed
        .system
        .properties
        .iter()
        .map(|property| match property.kind {
            PropertyKind::Assumption => true,
            PropertyKind::Goal => what.names.contains(&property.name) || (!named && what.from_queries),
            _ => !named || what.names.contains(&property.name),
        })
        .collect();
    if !what.from_queries {
        // A run that is looked for is a goal.
        let is_named = |n: usize| what.names.contains(&timed.system.properties[n].name);
        timed.wanted_runs.iter().filter(|&&n| !is_named(n)).for_each(|&n| asked[n] = false);
    }
    if let Some(labels) = &what.labels {
        add_labels(timed, labels)?;
        asked.push(true);
    }
    if what.deadlock {
        let everywhere = Expr::constant(1);
        add(timed, (DEADLOCK.into(), PropertyKind::Invariant), everywhere, Some(GoingOn::Stuck));
        asked.push(true);
    }
    if what.timelock {
        let everywhere = Expr::constant(1);
        add(timed, (TIMELOCK.into(), PropertyKind::Invariant), everywhere, Some(GoingOn::StuckInTime));
        asked.push(true);
    }
    Ok(asked)
}

/// The questions for largest and least values that are asked: those that are named, or all of a file of queries.
pub fn extremes<'t>(timed: &'t TimedSystem, what: &Wanted) -> Vec<&'t Extreme> {
    let all = what.names.is_empty() && what.labels.is_none() && what.from_queries;
    timed.extremes.iter().filter(|extreme| all || what.names.contains(&extreme.name)).collect()
}

/// Adds the answers of another search: what is answered stays so.
pub(super) fn add_answers(all: &mut Vec<Answered>, more: &[Answered]) {
    for answer in more {
        match all.iter_mut().find(|known| known.name == answer.name) {
            Some(known) if known.verdict == "open" => *known = answer.clone(),
            Some(_) => {}
            None => all.push(answer.clone()),
        }
    }
}

/// Whether something that is asked is about deadlock.
pub(super) fn asks_deadlock(timed: &TimedSystem, asked: &[bool]) -> Deadlocks {
    let formulas = timed.formulas.iter().zip(asked).filter(|(_, asked)| **asked);
    match formulas.flat_map(|(formula, _)| formula).any(TimedFormula::asks_deadlock) {
        true => Deadlocks::Asked,
        false => Deadlocks::NotAsked,
    }
}

/// The properties that are asked about infinite runs.
pub fn about_runs(timed: &TimedSystem, asked: &[bool]) -> Vec<usize> {
    let is_asked = |&n: &usize| asked[n] && timed.system.properties[n].kind == PropertyKind::Formula;
    (0..timed.system.properties.len()).filter(is_asked).collect()
}

/// What is asked about states, by property.
pub(super) fn without_runs(timed: &TimedSystem, asked: &[bool]) -> Vec<bool> {
    let about_states = |(n, &asked): (usize, &bool)| {
        asked && timed.system.properties.get(n).is_none_or(|it| it.kind != PropertyKind::Formula)
    };
    asked.iter().enumerate().map(about_states).collect()
}

/// Whether anything that is asked is about states.
pub fn asks_states(timed: &TimedSystem, asked: &[bool]) -> bool {
    let about = |kind| matches!(kind, PropertyKind::Invariant | PropertyKind::Goal);
    timed.system.properties.iter().zip(asked).any(|(property, asked)| *asked && about(property.kind))
}

fn add(timed: &mut TimedSystem, (name, kind): (String, PropertyKind), when: Expr, going_on: Option<GoingOn>) {
    // Guides look at the discrete part of what is asked.
    let body = match kind {
        PropertyKind::Invariant => {
            Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(when.clone())), when.span)
        }
        _ => when.clone(),
    };
    timed.system.properties.push(Property {
        name,
        kind,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(body),
        span: Span::default(),
    });
    let clauses = vec![Clause { when, bounds: Vec::new(), going_on }];
    timed.formulas.push(Some(TimedFormula { clauses }));
}

/// Adds the goal that all of these labels, parted by commas, hold together.
pub fn add_labels(timed: &mut TimedSystem, labels: &str) -> Result<(), CheckError> {
    let when = labels_hold(timed, labels)?;
    add(timed, (labels.to_owned(), PropertyKind::Goal), when, None);
    Ok(())
}

/// The condition that every one of the labels is there.
fn labels_hold(timed: &TimedSystem, labels: &str) -> Result<Expr, CheckError> {
    let mut all = Vec::new();
    for name in labels.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some(label) = timed.labels.iter().find(|label| label.name == name) else {
            let known: Vec<_> = timed.labels.iter().map(|label| format!("`{}`", label.name)).collect();
            let known = match known.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", known.join(", ")),
            };
            return Err(CheckError::Question(format!("the model has no label `{name}`; {known}")));
        };
        all.push(timed.label_holds(label));
    }
    Ok(Expr::all(all))
}
