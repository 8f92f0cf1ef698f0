//! Iterative context bounding (Musuvathi and Qadeer 2007, as in Wehrle 2011, sec. 4.3): traces with fewer switches between
//! contexts come first. The queue is the number of switches; the active context is part of a state.

use super::Step;
use super::context::Contexts;
use hadal_system::{Label, System};
use std::collections::HashMap;

/// What a context is.
pub enum Bound {
    /// The processes of a transition: a switch is a transition without any of them.
    Process(ProcessContexts),
    /// What a transition interferes with, over this many steps: a switch is a transition outside.
    Interference(Contexts, u32),
}

/// The processes that take part in each transition, equal sets numbered alike.
pub struct ProcessContexts {
    of_label: Vec<u32>,
    sets: Vec<Vec<u32>>,
}

impl ProcessContexts {
    /// The contexts of a system's labels; `None` where it has no processes.
    pub fn of(system: &System) -> Option<Self> {
        if system.processes.is_empty() {
            return None;
        }
        let bases = system.label_bases(&system.actions);
        let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut contexts = ProcessContexts { of_label: Vec::new(), sets: Vec::new() };
        for (n, action) in system.actions.iter().enumerate() {
            let mut set: Vec<u32> = action.processes.iter().map(|process| process.0).collect();
            set.sort_unstable();
            set.dedup();
            let number = *numbers.entry(set.clone()).or_insert_with(|| {
                contexts.sets.push(set);
                contexts.sets.len() as u32 - 1
            });
            contexts.of_label.resize(bases[n + 1] as usize, number);
        }
        Some(contexts)
    }
}

impl Bound {
    /// The context a transition makes active, as a number above 0.
    pub(super) fn context(&self, label: Label) -> u64 {
        1 + u64::from(match self {
            Bound::Process(contexts) => contexts.of_label[label.0 as usize],
            Bound::Interference(contexts, _) => contexts.class(label),
        })
    }

    /// Whether a step leaves the active context.
    pub(super) fn switches(&self, step: &Step) -> bool {
        if step.context == 0 {
            return false;
        }
        match self {
            Bound::Process(contexts) => {
                let active = &contexts.sets[(step.context - 1) as usize];
                let moving = &contexts.sets[contexts.of_label[step.label.0 as usize] as usize];
                !moving.iter().any(|process| active.contains(process))
            }
            Bound::Interference(contexts, steps) => {
                let active = (step.context - 1) as u32;
                contexts.class_level(active, contexts.class(step.label)).is_none_or(|level| level > *steps)
            }
        }
    }
}
