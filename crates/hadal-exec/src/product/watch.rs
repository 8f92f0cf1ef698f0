//! What watches the system: a claim of its own, or a process that is part of the system.

use crate::model::Model;
use hadal_ltl::components::components;
use hadal_ltl::{Edge, Strength};
use hadal_system::state::{get_bits, mask};
use hadal_system::{Claim, PropertyId};

#[derive(Debug)]
pub(super) enum Watch {
    Claim(Table),
    /// The property is a predicate on states; a process may tell which of them can lie on a cycle together.
    States(Located),
}

/// A claim, ready to be asked.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) edges: Vec<Vec<Edge>>,
    pub(super) initial: u32,
    pub(super) propositions: Vec<PropertyId>,
    pub(super) stutters: bool,
    /// Where the location lies in a state.
    pub(super) offset: u32,
    pub(super) width: u32,
    /// The most edges out of one location.
    pub(super) factor: u32,
    sets: u32,
    on_states: bool,
    weak: bool,
    /// The component of each location; `None` where no accepted run stays in it.
    pub(super) components: Vec<Option<u32>>,
    /// Locations from which every run is accepted.
    pub(super) terminal: Vec<bool>,
}

impl Table {
    pub(super) fn new(claim: &Claim, propositions: Vec<PropertyId>, offset: u32) -> Self {
        let automaton = &claim.automaton;
        let strengths = automaton.component_strengths();
        let found = components(&automaton.graph());
        let states = automaton.len();
        Table {
            initial: automaton.initial,
            propositions,
            // Runs that end are no runs: then reaching a place does not show that a run goes on.
            terminal: strengths.iter().map(|s| *s == Some(Strength::Terminal) && claim.stutters).collect(),
            stutters: claim.stutters,
            offset,
            width: usize::BITS - (states - 1).leading_zeros(),
            factor: automaton.edges.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32,
            sets: automaton.sets,
            on_states: automaton.is_state_based(),
            weak: !strengths.contains(&Some(Strength::Strong)),
            components: found.of.iter().zip(&strengths).map(|(of, strength)| strength.map(|_| *of)).collect(),
            edges: automaton.edges.clone(),
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.components
            .iter()
            .zip(&self.terminal)
            .all(|(component, &terminal)| component.is_none() || terminal)
    }
}

/// Where a process of the system is, and what that says about cycles.
#[derive(Debug, Default)]
pub(super) struct Located {
    offset: u32,
    width: u32,
    /// By location; empty where nothing is known.
    components: Vec<Option<u32>>,
    weak: bool,
}

impl Located {
    /// Of the process with accepting locations, where the model has one such.
    pub(super) fn of(model: &Model) -> Self {
        let system = model.system();
        let mut watching = system.processes.iter().filter(|p| p.locations.iter().any(|l| l.accepting));
        let (Some(process), None) = (watching.next(), watching.next()) else { return Located::default() };
        let slot = system.first_slots()[process.location.0 as usize];
        let slot = &model.layout().slots()[slot];
        let domain = &system.domains[slot.domain];
        let plain = !domain.undefined && domain.min() == 0 && domain.size() == process.locations.len() as u64;
        if !plain || slot.width > 32 {
            return Located::default();
        }
        let mut graph = vec![Vec::new(); process.locations.len()];
        for edge in &process.edges {
            // `validate` has made sure that edges stay within the locations.
            graph[edge.from as usize].push(edge.to as u32);
        }
        let found = components(&graph);
        let (mut some, mut all) = (vec![false; found.count as usize], vec![true; found.count as usize]);
        for (location, component) in process.locations.iter().zip(&found.of) {
            some[*component as usize] |= location.accepting;
            all[*component as usize] &= location.accepting;
        }
        let accepting = |&of: &u32| (some[of as usize] && found.cyclic[of as usize]).then_some(of);
        let components: Vec<Option<u32>> = found.of.iter().map(accepting).collect();
        let weak = components.iter().flatten().all(|&of| all[of as usize]);
        Located { offset: slot.offset, width: slot.width, components, weak }
    }

    pub(super) fn component(&self, state: &[u64]) -> Option<u32> {
        match self.components.is_empty() {
            true => Some(0),
            false => {
                let location = get_bits(state, self.offset, self.width) & mask(self.width);
                self.components.get(location as usize).copied().flatten()
            }
        }
    }
}

impl Watch {
    pub(super) fn sets(&self) -> u32 {
        match self {
            Watch::Claim(table) => table.sets,
            Watch::States(_) => 1,
        }
    }

    pub(super) fn factor(&self) -> u32 {
        match self {
            Watch::Claim(table) => table.factor,
            Watch::States(_) => 1,
        }
    }

    pub(super) fn width(&self) -> u32 {
        match self {
            Watch::Claim(table) => table.width,
            Watch::States(_) => 0,
        }
    }

    pub(super) fn on_states(&self) -> bool {
        match self {
            Watch::Claim(table) => table.on_states,
            Watch::States(_) => true,
        }
    }

    pub(super) fn is_weak(&self) -> bool {
        match self {
            Watch::Claim(table) => table.weak,
            Watch::States(located) => located.weak,
        }
    }
}
