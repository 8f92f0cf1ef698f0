//! The cone of influence: variables that can influence what is asked, errors of the model included.
//!
//! Every action that may write a variable of the cone reads only variables of the cone, so the system without the others
//! has the same traces, label by label.

use super::Stage;
use super::remove::{Body, clear_after, clears, disable, forget_processes, returns_early};
use hadal_system::facts::{Facts, Footprint, SlotSet};
use hadal_system::{PropertyKind, System, VarId};

/// The system without what cannot influence its invariants, goals, assumptions and errors; `None` where that is
/// everything. Properties that are not asked about must have been made trivial.
pub fn cone(system: &System) -> Option<Stage> {
    let facts = Facts::of(system);
    let mut roots = SlotSet::new();
    for (property, facts) in system.properties.iter().zip(&facts.properties) {
        if !matches!(property.kind, PropertyKind::Cover | PropertyKind::Liveness | PropertyKind::Proposition)
        {
            roots.extend(&facts.reads);
        }
    }
    restrict(system, &facts, roots, |_| true)
}

/// The system without what cannot influence these slots, or errors of the actions for which `matters` says so.
pub(super) fn restrict(
    system: &System,
    facts: &Facts,
    roots: SlotSet,
    matters: impl Fn(usize) -> bool,
) -> Option<Stage> {
    let slots = Slots::of(system);
    let mut kept = vec![false; system.variables.len()];
    slots.mark(&roots, &mut kept);
    let may_fail: Vec<bool> =
        facts.actions.iter().enumerate().map(|(n, a)| a.whole.may_fault && matters(n)).collect();
    for (action, _) in facts.actions.iter().zip(&may_fail).filter(|(_, fails)| **fails) {
        slots.mark(&action.whole.reads, &mut kept);
    }
    loop {
        let before = kept.iter().filter(|k| **k).count();
        for (n, facts) in facts.actions.iter().enumerate() {
            let print = &facts.whole;
            if may_fail[n] || moves(print, &kept, &slots) {
                slots.mark(&print.reads, &mut kept);
                if returns_early(&system.actions[n]) {
                    // Nothing can be done after its body.
                    slots.mark(&print.may_write, &mut kept);
                }
            }
        }
        for (start, facts) in system.starts.iter().zip(&facts.starts) {
            if returns_early(start) {
                slots.mark(&facts.whole.may_write, &mut kept);
            }
        }
        if kept.iter().filter(|k| **k).count() == before {
            break;
        }
    }
    let removed: Vec<VarId> = (0..kept.len()).filter(|&n| !kept[n]).map(|n| VarId(n as u32)).collect();
    if removed.is_empty() {
        return None;
    }
    let mut smaller = system.clone();
    let mut disabled = 0;
    for (n, facts) in facts.actions.iter().enumerate() {
        let print = &facts.whole;
        if may_fail[n] || moves(print, &kept, &slots) {
            let body = if print.body_may_fault { Body::MayFail } else { Body::Safe };
            smaller.actions[n].body = clear_after(system, &system.actions[n], &removed, body);
        } else {
            disable(&mut smaller.actions[n]);
            disabled += 1;
        }
    }
    for start in smaller.starts.iter_mut().filter(|start| !returns_early(start)) {
        start.body.extend(clears(system, &removed));
    }
    forget_processes(&mut smaller, &removed);
    Some(Stage { system: smaller, removed, disabled, local: None, copies: Vec::new() })
}

/// Whether an action may write what is kept.
fn moves(print: &Footprint, kept: &[bool], slots: &Slots) -> bool {
    print.can_fire && slots.variables(&print.may_write).any(|var| kept[var])
}

/// Which slots belong to which variable.
pub(super) struct Slots {
    of: Vec<u32>,
}

impl Slots {
    pub(super) fn of(system: &System) -> Self {
        let variables = system.variables.iter().enumerate();
        let of = variables.flat_map(|(n, v)| std::iter::repeat_n(n as u32, system.shapes.slots(v.shape)));
        Slots { of: of.collect() }
    }

    /// The variables of these slots; some more than once.
    pub(super) fn variables<'a>(&'a self, slots: &'a SlotSet) -> impl Iterator<Item = usize> + 'a {
        let mut last = None;
        slots
            .iter()
            .map(|slot| self.of[slot as usize] as usize)
            .filter(move |&var| last.replace(var) != Some(var))
    }

    fn mark(&self, slots: &SlotSet, kept: &mut [bool]) {
        self.variables(slots).for_each(|var| kept[var] = true);
    }
}
