//! Firing only some of the transitions that are enabled: guards are evaluated for all of them, bodies run for those that
//! were chosen.

use crate::compile::{Bodies, CompileError, Compiled};
use hadal_system::{Label, Layout, PropertyKind, Successors, System};

/// The guards and the bodies of a system, compiled apart.
pub(crate) struct Chosen {
    /// The system with bodies that do nothing: its transitions are those that are enabled.
    guards: Compiled,
    bodies: Bodies,
}

impl Chosen {
    /// Compiles them; `None` where a transition may vanish after its guard, or there are too many.
    pub(crate) fn new(system: &System, layout: &Layout) -> Result<Option<Self>, CompileError> {
        if system.properties.iter().any(|property| property.kind == PropertyKind::Assumption) {
            return Ok(None);
        }
        let Some(bodies) = Bodies::new(system, layout)? else { return Ok(None) };
        let mut guards = system.clone();
        guards.properties.clear();
        for action in &mut guards.actions {
            action.body.clear();
            action.then = None;
        }
        Ok(Some(Chosen { guards: Compiled::new(&guards, layout)?, bodies }))
    }

    /// Appends the labels of the transitions that are enabled, and faults of guards, in their order. The states that are
    /// appended with them are copies of this one.
    pub(crate) fn enabled(&self, state: &[u64], out: &mut Successors) {
        self.guards.successors(state, out, &mut []);
    }

    /// Appends what these transitions, all of them enabled, lead to; false, and nothing, where one meets an error.
    pub(crate) fn fire(&self, state: &[u64], labels: &[Label], out: &mut Successors) -> bool {
        self.bodies.fire(state, labels, out)
    }
}
