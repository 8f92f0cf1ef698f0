//! Which action instances interfere, and how far apart they are (Wehrle 2011, sec. 4.2).
//!
//! Two instances interfere when one may write what the other reads or writes. Only the pair of sets counts, so
//! instances with equal sets share a *class*, and classes meet through slots: nothing of the size of all pairs is
//! ever made. The location of a process counts as read and written by every action it takes part in.

use std::collections::HashMap;

use super::{Facts, Footprint, SlotSet};
use crate::system::{ActionId, System};

/// The interference relation between the footprints of a system's actions.
#[derive(Clone, Debug)]
pub struct Interference {
    classes: Vec<Class>,
    /// Class of each footprint of each action, in the order of [`super::ActionFacts::footprints`].
    class_of: Vec<Vec<u32>>,
    /// Per slot, the classes that touch it and those that write it.
    touching: Vec<Vec<u32>>,
    writing: Vec<Vec<u32>>,
    components: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Class {
    touched: SlotSet,
    written: SlotSet,
}

impl Interference {
    /// The relation between all footprints of the actions.
    pub fn of(system: &System, facts: &Facts) -> Self {
        let first_slots = system.first_slots();
        let mut numbers: HashMap<Class, u32> = HashMap::new();
        let mut classes = Vec::new();
        let mut class_of = Vec::new();
        for (action, facts) in system.actions.iter().zip(&facts.actions) {
            let own = facts.footprints().map(|(_, print)| {
                let mut written = print.may_write.clone();
                for process in &action.processes {
                    let location = system.processes[process.0 as usize].location;
                    written.insert(first_slots[location.0 as usize] as u32);
                }
                let mut touched = print.reads.clone();
                touched.extend(&written);
                let class = Class { touched, written };
                *numbers.entry(class).or_insert_with_key(|class| {
                    classes.push(class.clone());
                    classes.len() as u32 - 1
                })
            });
            class_of.push(own.collect());
        }
        let mut touching = vec![Vec::new(); facts.slots as usize];
        let mut writing = vec![Vec::new(); facts.slots as usize];
        for (n, class) in classes.iter().enumerate() {
            class.touched.iter().for_each(|slot| touching[slot as usize].push(n as u32));
            class.written.iter().for_each(|slot| writing[slot as usize].push(n as u32));
        }
        let mut all = Interference { classes, class_of, touching, writing, components: Vec::new() };
        all.components = all.find_components();
        all
    }

    /// How many classes of equal read and write sets there are.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// The class of an action's n-th instance.
    pub fn class(&self, action: ActionId, n: u64) -> u32 {
        let own = &self.class_of[action.0 as usize];
        // Instances that are not told apart share the only footprint.
        usize::try_from(n).ok().and_then(|n| own.get(n)).copied().unwrap_or(own[0])
    }

    /// Whether two classes interfere. A class interferes with itself when it writes anything.
    pub fn interfere(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.classes[a as usize], &self.classes[b as usize]);
        a.written.meets(&b.touched) || b.written.meets(&a.touched)
    }

    /// The connected component of a class: instances of different components touch disjoint parts of the state.
    pub fn component(&self, class: u32) -> u32 {
        self.components[class as usize]
    }

    /// How many connected components there are.
    pub fn component_count(&self) -> usize {
        self.components.iter().max().map_or(0, |&c| c as usize + 1)
    }

    /// Steps of interference from one class to every other: 0 to itself, 1 to those it interferes with, `None` to
    /// those of other components. (Between two different instances of one class the level is 1 when it interferes
    /// with itself.)
    pub fn levels(&self, from: u32) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.classes.len()];
        levels[from as usize] = Some(0);
        // A slot passes the wave on at most twice: from a class that only reads it, and from one that writes it.
        let mut by_read = vec![false; self.touching.len()];
        let mut by_write = vec![false; self.touching.len()];
        let mut wave = vec![from];
        let mut level = 0;
        while !wave.is_empty() {
            level += 1;
            let mut next = Vec::new();
            let mut reach = |classes: &[u32]| {
                for &class in classes {
                    if levels[class as usize].is_none() {
                        levels[class as usize] = Some(level);
                        next.push(class);
                    }
                }
            };
            for class in wave {
                let class = &self.classes[class as usize];
                for slot in class.touched.iter().map(|s| s as usize) {
                    if !std::mem::replace(&mut by_read[slot], true) {
                        reach(&self.writing[slot]);
                    }
                }
                for slot in class.written.iter().map(|s| s as usize) {
                    if !std::mem::replace(&mut by_write[slot], true) {
                        reach(&self.touching[slot]);
                    }
                }
            }
            wave = next;
        }
        levels
    }

    fn find_components(&self) -> Vec<u32> {
        let mut components = vec![u32::MAX; self.classes.len()];
        let mut found = 0;
        for class in 0..self.classes.len() {
            if components[class] == u32::MAX {
                for (other, level) in self.levels(class as u32).into_iter().enumerate() {
                    if level.is_some() {
                        components[other] = found;
                    }
                }
                found += 1;
            }
        }
        components
    }
}

impl Footprint {
    /// Whether one may write what the other reads or writes.
    pub fn interferes(&self, other: &Footprint) -> bool {
        self.may_write.meets(&other.may_write)
            || self.may_write.meets(&other.reads)
            || other.may_write.meets(&self.reads)
    }

    /// Whether there may be a state in which both guards are true.
    pub fn may_be_enabled_with(&self, other: &Footprint) -> bool {
        !self
            .preconditions
            .iter()
            .any(|(slot, ours)| other.precondition(*slot).is_some_and(|theirs| ours.is_disjoint(theirs)))
    }

    /// Whether firing this may make the other able to fire where it was not.
    pub fn may_enable(&self, other: &Footprint) -> bool {
        self.may_write.meets(&other.tests) && !self.ends(other)
    }

    /// Whether firing this may make the other unable to fire where it was able to.
    pub fn may_disable(&self, other: &Footprint) -> bool {
        self.may_write.meets(&other.tests) && self.may_be_enabled_with(other)
    }

    /// Whether the other surely cannot fire right after this.
    pub fn ends(&self, other: &Footprint) -> bool {
        other.preconditions.iter().any(|(slot, wanted)| {
            let after = match self.result(*slot) {
                Some(after) => Some(after),
                // What is tested and not written stays.
                None if !self.may_write.contains(*slot) => self.precondition(*slot),
                None => None,
            };
            after.is_some_and(|after| after.is_disjoint(wanted))
        })
    }
}
