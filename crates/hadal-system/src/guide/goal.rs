//! What a search looks for.

use crate::space::{PropertyId, PropertyInfo, PropertyKind};

/// What a search looks for: a state that is any of these.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Goal {
    /// Invariants to be broken; goals and other predicates to be met.
    pub properties: Vec<PropertyId>,
    /// A state without a way out.
    pub deadlock: bool,
    /// A state in which an action, or evaluating one of the properties, meets an error of the model.
    pub faults: bool,
}

impl Goal {
    /// Every invariant and goal of a model, and nothing else.
    pub fn of_properties(properties: &[PropertyInfo]) -> Self {
        let asked = properties
            .iter()
            .enumerate()
            .filter(|(_, property)| matches!(property.kind, PropertyKind::Invariant | PropertyKind::Goal));
        let properties = asked.map(|(n, _)| PropertyId(n as u32)).collect();
        Goal { properties, ..Goal::default() }
    }
}
