//! The scalars of a model's states, and how often they are written as far as the model's text tells.

use hadal_system::facts::{ControlGraph, Facts};
use hadal_system::{Layout, StateField, System};

/// What an action inside a loop of its process counts.
const IN_A_LOOP: u64 = 4;

/// How often each scalar of the layout may be written, in slot order.
pub fn writers(system: &System, layout: &Layout, facts: &Facts) -> Vec<u64> {
    let weights = action_weights(system);
    let mut writers = vec![0u64; layout.slots().len()];
    for (action, _, footprint) in facts.footprints() {
        for slot in footprint.may_write.iter() {
            writers[slot as usize] += weights[action.0 as usize];
        }
    }
    writers
}

/// Every scalar of the layout, in slot order.
pub fn fields(system: &System, layout: &Layout) -> Vec<StateField> {
    let mut group_of = Vec::with_capacity(layout.slots().len());
    for (group, variable) in system.variables.iter().enumerate() {
        let slots = system.shapes.slots(variable.shape);
        group_of.extend(std::iter::repeat_n(group, slots));
    }
    let owner = |group: usize| {
        let location = system.processes.iter().position(|process| process.location.0 as usize == group);
        system.variables[group].owner.map(|id| id.0).or(location.map(|n| n as u32))
    };
    let named = system.slots().into_iter().zip(layout.slots());
    let placed = named.zip(group_of);
    placed
        .map(|(((name, _), slot), group)| StateField {
            name,
            offset: slot.offset,
            width: slot.width,
            group: group as u32,
            owner: owner(group),
        })
        .collect()
}

/// Actions on a cycle of some process's control graph fire again and again; others at most once per run of it.
fn action_weights(system: &System) -> Vec<u64> {
    let mut weights = vec![if system.processes.is_empty() { IN_A_LOOP } else { 1 }; system.actions.len()];
    for process in &system.processes {
        let graph = ControlGraph::of_process(process);
        let mut reached = vec![None; graph.values.len()];
        for edge in &graph.edges {
            let from_here = reached[edge.to as usize].get_or_insert_with(|| graph.distances_from(&[edge.to]));
            if from_here[edge.from as usize].is_some() {
                weights[edge.action.0 as usize] = IN_A_LOOP;
            }
        }
    }
    weights
}
