//! What a search looks for.

use crate::meter::CalledOff;
use hadal_system::{PropertyId, PropertyInfo, PropertyKind};

/// What a search looks for: a state that is any of these.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// Invariants to be broken; goals and other predicates to be met.
    pub properties: Vec<PropertyId>,
    /// A state without a way out.
    pub deadlock: bool,
    /// A state in which an action, or evaluating one of the properties, meets an error of the model.
    pub faults: bool,
}

impl Target {
    /// Every invariant and goal of a model, and nothing else.
    pub fn of_properties(properties: &[PropertyInfo]) -> Self {
        let asked = properties
            .iter()
            .enumerate()
            .filter(|(_, property)| matches!(property.kind, PropertyKind::Invariant | PropertyKind::Goal));
        let properties = asked.map(|(n, _)| PropertyId(n as u32)).collect();
        Target { properties, ..Target::default() }
    }
}

/// Why there is no guide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuideError {
    /// Nothing of that name.
    #[error("no guide is called `{name}`; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The name is right, what stands with it is not.
    #[error("guide `{name}`: {reason}")]
    Malformed {
        /// What was asked for.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// An expression that cannot be read; with the place.
    #[error("{0}")]
    Expression(String),
    /// A table that does not fit, or cannot be written or read.
    #[error("a pattern database cannot be made: {0}")]
    Storage(String),
    /// The model has no such property.
    #[error("the model has no property number {0}")]
    NoProperty(u32),
    /// Preparing it was called off: it took too long or too much memory.
    #[error("preparing the guide was called off")]
    CalledOff,
}

impl From<CalledOff> for GuideError {
    fn from(_: CalledOff) -> Self {
        GuideError::CalledOff
    }
}
