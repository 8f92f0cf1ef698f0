//! Which of a model's properties a question is about.

use crate::error::CheckError;
use hadal_system::{Expr, Property, PropertyBody, PropertyKind, System};

/// Leaves only the named properties, or all but goals where none is named, without those that are `settled` (and all
/// assumptions, which are part of the model): the others become trivial.
pub fn select_properties(
    system: &mut System,
    names: &[String],
    settled: &[String],
) -> Result<Vec<bool>, CheckError> {
    for name in names {
        if !system.properties.iter().any(|p| p.name == *name) {
            let states = system.properties.iter().map(|property| &property.name);
            let known: Vec<_> =
                states.chain(&system.besides.unanswered).map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            };
            return Err(CheckError::Question(format!("the model has no property `{name}`; {known}")));
        }
    }
    let mut asked = Vec::new();
    let bases = system.property_bases();
    for (n, property) in system.properties.iter_mut().enumerate() {
        // A goal is a question of its own: meeting it would end the search for everything else.
        let selected = match names {
            [] => !matches!(property.kind, PropertyKind::Goal | PropertyKind::Proposition),
            names => names.contains(&property.name),
        };
        let selected = selected && !settled.contains(&property.name);
        asked.extend(std::iter::repeat_n(selected, (bases[n + 1] - bases[n]) as usize));
        if !selected {
            match property.kind {
                PropertyKind::Invariant => property.body = PropertyBody::State(Expr::constant(1)),
                PropertyKind::Goal => property.body = PropertyBody::State(Expr::constant(0)),
                PropertyKind::Assumption
                | PropertyKind::Cover
                | PropertyKind::Liveness
                | PropertyKind::Proposition
                | PropertyKind::Formula
                | PropertyKind::Acceptance
                | PropertyKind::Rest => {}
            }
        }
    }
    Ok(asked)
}

/// Whether the model asks about infinite runs what no property says: that no state is wrong does not answer it.
pub(crate) fn has_unanswered(system: &System) -> bool {
    let accepting =
        system.processes.iter().any(|process| process.locations.iter().any(|location| location.accepting));
    let about_runs = |kind| matches!(kind, PropertyKind::Acceptance | PropertyKind::Formula);
    let answered = system.properties.iter().any(|property| about_runs(property.kind));
    !system.besides.unanswered.is_empty() || accepting && !answered
}

/// Whether naming these properties, or none, asks about infinite runs, which seeing every state does not answer.
pub(crate) fn asks_liveness(names: &[String], settled: &[String], system: &System) -> bool {
    let by_reaching = |p: &Property| matches!(&p.body, PropertyBody::Claim(claim) if claim.is_reachability());
    let mut liveness = system.properties.iter().filter(|p| p.kind.is_about_runs() && !by_reaching(p));
    liveness.any(|p| (names.is_empty() || names.contains(&p.name)) && !settled.contains(&p.name))
}

/// Whether runs are asked about that a claim accepts.
pub(crate) fn asks_acceptance(system: &System, asked: &[bool]) -> bool {
    let about = |kind| matches!(kind, PropertyKind::Formula | PropertyKind::Acceptance);
    system.property_infos().iter().zip(asked).any(|(property, asked)| *asked && about(property.kind))
}
