//! Progress: the question whether every infinite run passes progress locations again and again.

use crate::claim::Claim;
use crate::expr::{BinaryOp, Expr, Place};
use crate::source::Span;
use crate::space::PropertyKind;
use crate::system::{Property, PropertyBody, System};
use hadal_ltl::{Ltl, translate};

/// The name of the property.
pub const PROGRESS: &str = "progress";

/// There is nothing that progress could mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgress {
    /// No location is marked.
    #[error(
        "--progress asks about cycles without progress, and no process of the model has a progress label (Promela has \
         them; in other languages, say with --ltl '[] <> (...)' what progress is)"
    )]
    NoLabels,
    /// The name is taken.
    #[error("--progress: the model has a property `progress` of its own")]
    NameTaken,
}

/// Adds the property [`PROGRESS`]: from no time on is a run for ever outside progress locations. A run that ends makes no
/// cycle and is not asked about.
pub fn ask_progress(system: &mut System) -> Result<(), NoProgress> {
    if system.properties.iter().any(|property| property.name == PROGRESS) {
        return Err(NoProgress::NameTaken);
    }
    let mut outside = Vec::new();
    for process in &system.processes {
        let shape = system.variables[process.location.0 as usize].shape;
        for (value, _) in process.locations.iter().enumerate().filter(|(_, location)| location.progress) {
            let at = Place::global(process.location, shape, Span::default()).read();
            outside.push(Expr::binary(BinaryOp::NotEqual, at, Expr::constant(value as i64)));
        }
    }
    if outside.is_empty() {
        return Err(NoProgress::NoLabels);
    }
    let property = |name: &str, kind, body| Property {
        name: name.to_owned(),
        kind,
        params: Vec::new(),
        locals: Vec::new(),
        body,
        span: Span::default(),
    };
    let proposition = system.properties.len();
    system.properties.push(property(
        "np_",
        PropertyKind::Proposition,
        PropertyBody::State(Expr::all(outside)),
    ));
    // Two locations: no formula is too large that is so small.
    let never = Ltl::Atom(0).always().eventually();
    let automaton =
        translate(&never).map(|automaton| automaton.degeneralise()).map_err(|_| NoProgress::NoLabels)?;
    let claim = Claim {
        automaton,
        propositions: vec![proposition],
        text: "[] <> !np_".into(),
        stutters: false,
        stutter_invariant: true,
    };
    system.properties.push(property(PROGRESS, PropertyKind::Formula, PropertyBody::Claim(claim)));
    Ok(())
}
