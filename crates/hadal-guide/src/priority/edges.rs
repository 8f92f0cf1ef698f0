//! The edges that transitions are made of, and the reduced systems that lose some (Wehrle 2011, sec. 3.2 and 3.4).
//!
//! A transition of a process language consists of one edge per process that takes part. Where there are no processes, each
//! action instance is one edge of its own.

use hadal_system::facts::{Facts, SlotSet};
use hadal_system::guide::Mask;
use hadal_system::{Label, System, Value};
use std::collections::HashMap;

/// Which edges a reduced system loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Those of the transition.
    Plain,
    /// Also all that read a variable the transition writes, and all that lead where its edges lead.
    Strong,
}

/// Which clocks actions test and reset, by action, in a model in real time; clocks are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct ClockUse {
    /// How many clocks there are.
    pub clocks: u32,
    /// Tested in the guard.
    pub reads: Vec<Vec<u32>>,
    /// Reset.
    pub resets: Vec<Vec<u32>>,
}

/// The edges of a system's transitions.
pub struct Edges {
    /// The edges of each label.
    of_label: Vec<Vec<u32>>,
    /// The labels of each edge.
    labels: Vec<Vec<Label>>,
    /// The process of each edge with its destination, where it has one.
    destinations: Vec<Option<(u32, Value)>>,
    /// Edges with the same destination.
    arriving: HashMap<(u32, Value), Vec<u32>>,
    /// For each slot, the edges that read it.
    reading: Vec<Vec<u32>>,
    /// The slots that a label may write, locations left out.
    written: Vec<SlotSet>,
}

impl Edges {
    /// The edges of a system.
    pub fn of(system: &System, facts: &Facts) -> Self {
        let bases = system.label_bases(&system.actions);
        let labels = bases.last().copied().unwrap_or(0) as usize;
        let mut edges = Edges {
            of_label: vec![Vec::new(); labels],
            labels: Vec::new(),
            destinations: Vec::new(),
            arriving: HashMap::new(),
            reading: vec![Vec::new(); facts.slots as usize],
            written: Vec::with_capacity(labels),
        };
        for (n, process) in system.processes.iter().enumerate() {
            let mut numbers: HashMap<u32, u32> = HashMap::new();
            for control in &process.edges {
                let edge =
                    *numbers.entry(control.number).or_insert_with(|| edges.add(Some((n as u32, control.to))));
                let action = control.action.0 as usize;
                for label in bases[action]..bases[action + 1] {
                    edges.join(Label(label as u32), edge);
                }
            }
        }
        for label in 0..labels {
            if edges.of_label[label].is_empty() {
                let own = edges.add(None);
                edges.join(Label(label as u32), own);
            }
        }
        edges.note_variables(system, facts);
        edges
    }

    /// The same with clocks, which are treated like variables: an edge reads a clock that all transitions with it test.
    pub fn with_clocks(mut self, system: &System, clocks: &ClockUse) -> Self {
        let bases = system.label_bases(&system.actions);
        let action = |label: u32| bases.partition_point(|&base| base <= u64::from(label)) - 1;
        let of = |lists: &'_ [Vec<u32>], label: u32| lists.get(action(label)).cloned().unwrap_or_default();
        let first = self.reading.len() as u32;
        self.reading.resize((first + clocks.clocks) as usize, Vec::new());
        for (label, written) in self.written.iter_mut().enumerate() {
            of(&clocks.resets, label as u32).into_iter().for_each(|clock| written.insert(first + clock));
        }
        for (edge, labels) in self.labels.iter().enumerate() {
            let mut tested = labels.iter().map(|label| of(&clocks.reads, label.0));
            let Some(mut common) = tested.next() else { continue };
            tested.for_each(|own| common.retain(|clock| own.contains(clock)));
            common.sort_unstable();
            common.dedup();
            for clock in common {
                self.reading[(first + clock) as usize].push(edge as u32);
            }
        }
        self
    }

    fn add(&mut self, destination: Option<(u32, Value)>) -> u32 {
        let edge = self.labels.len() as u32;
        self.labels.push(Vec::new());
        self.destinations.push(destination);
        if let Some(destination) = destination {
            self.arriving.entry(destination).or_default().push(edge);
        }
        edge
    }

    fn join(&mut self, label: Label, edge: u32) {
        self.of_label[label.0 as usize].push(edge);
        self.labels[edge as usize].push(label);
    }

    /// An edge reads what all transitions with it read: what only some read is read by their other edges.
    fn note_variables(&mut self, system: &System, facts: &Facts) {
        let first_slots = system.first_slots();
        let mut locations = SlotSet::new();
        for process in &system.processes {
            locations.insert(first_slots[process.location.0 as usize] as u32);
        }
        let none = SlotSet::new();
        let print = |label: Label| facts.footprint(label);
        for label in 0..self.of_label.len() {
            let mut written =
                print(Label(label as u32)).map_or(none.clone(), |print| print.may_write.clone());
            locations.iter().for_each(|slot| written.remove_range(slot, slot + 1));
            self.written.push(written);
        }
        for (edge, labels) in self.labels.iter().enumerate() {
            let mut reads: Option<SlotSet> = None;
            for &label in labels {
                let own = print(label).map_or(&none, |print| &print.reads);
                reads = Some(reads.map_or_else(|| own.clone(), |held| held.common(own)));
            }
            for slot in reads.unwrap_or_default().iter().filter(|slot| !locations.contains(*slot)) {
                self.reading[slot as usize].push(edge as u32);
            }
        }
    }

    /// How many edges there are.
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// How many transitions there are.
    pub fn labels(&self) -> usize {
        self.of_label.len()
    }

    /// The edges of a transition.
    pub fn of_label(&self, label: Label) -> &[u32] {
        self.of_label.get(label.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The edges that the system reduced by a transition loses, ascending.
    pub fn removed(&self, label: Label, reduction: Reduction) -> Vec<u32> {
        let mut removed = self.of_label(label).to_vec();
        if reduction == Reduction::Strong {
            for &edge in self.of_label(label) {
                if let Some(same) = self.destinations[edge as usize].and_then(|to| self.arriving.get(&to)) {
                    removed.extend(same);
                }
            }
            if let Some(written) = self.written.get(label.0 as usize) {
                written.iter().for_each(|slot| removed.extend(&self.reading[slot as usize]));
            }
        }
        removed.sort_unstable();
        removed.dedup();
        removed
    }

    /// The transitions that use one of these edges.
    pub fn users(&self, removed: &[u32]) -> Mask {
        removed.iter().flat_map(|&edge| self.labels[edge as usize].iter().copied()).collect()
    }
}
