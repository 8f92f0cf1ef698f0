//! One factor of a task in merge-and-shrink (Helmert, Haslum, Hoffmann and Nissim 2014, "Merge-and-shrink abstraction"): an
//! explicit graph over some of the variables, in which every row is a set of transitions.
//!
//! Rows with the same transitions form a class; rows that leave every state as it is have none.

use super::fence::{Fence, wanted};
use super::merge::Tree;
use super::{Abstraction, Mapping, Transition};
use crate::plan::additive::{INFINITE, add};
use crate::plan::queue::Queue;
use hadal_system::rows::Change;
use std::collections::HashMap;

/// The class of rows that leave every state as it is.
pub(super) const IDLE: u32 = u32::MAX;
/// A state that cannot be reached, or from which no goal can.
pub(super) const DEAD: u32 = u32::MAX;

/// A graph over some variables.
pub(super) struct Factor {
    pub(super) tree: Tree,
    pub(super) states: u32,
    initial: u32,
    goals: Vec<bool>,
    /// The class of each row.
    pub(super) class_of: Vec<u32>,
    /// From and to, ascending.
    pub(super) classes: Vec<Vec<(u32, u32)>>,
    /// Distances to the goal.
    pub(super) distances: Vec<u32>,
}

impl Factor {
    /// The projection on one variable.
    pub(super) fn atomic(fence: &Fence, variable: u32, costs: &[u32]) -> Factor {
        let task = fence.space.task();
        let size = fence.sizes[variable as usize];
        let mut classes = Classes::new(size);
        let class_of = task.rows.iter().map(|row| {
            let needs: Vec<_> =
                wanted(&row.needs).filter(|need| need.0 == variable).map(|need| need.1).collect();
            let effects: Vec<_> = row
                .effects
                .iter()
                .filter_map(|effect| match effect.change {
                    Change::Set(of, value) if of == variable => {
                        let own: Vec<_> = wanted(&effect.when)
                            .filter(|need| need.0 == variable)
                            .map(|need| need.1)
                            .collect();
                        let certain = own.len() == effect.when.len();
                        Some((value, own, certain))
                    }
                    _ => None,
                })
                .collect();
            if needs.is_empty() && effects.is_empty() {
                return IDLE;
            }
            let mut transitions = Vec::new();
            for value in (0..size).filter(|&value| needs.iter().all(|need| need.allows(value))) {
                let mut ends = vec![value];
                for (set, when, certain) in &effects {
                    if when.iter().all(|need| need.allows(value)) {
                        if *certain {
                            ends.clear();
                        }
                        ends.push(*set);
                    }
                }
                transitions.extend(ends.into_iter().map(|end| (value, end)));
            }
            transitions.sort_unstable();
            transitions.dedup();
            classes.number(transitions)
        });
        let class_of = class_of.collect();
        let place = fence.space.layout().finite[variable as usize];
        let goals = (0..size)
            .map(|value| fence.goal.iter().all(|&(of, need)| of != variable || need.allows(value)))
            .collect();
        Factor {
            tree: Tree::leaf(place, size),
            states: size,
            initial: place.get(fence.space.initial()) as u32,
            goals,
            class_of,
            classes: classes.list,
            distances: Vec::new(),
        }
        .pruned(costs)
    }

    /// How many transitions the product of two factors has before it is pruned.
    pub(super) fn product_size(&self, other: &Factor) -> usize {
        let count = |factor: &Factor, class: u32| match class {
            IDLE => factor.states as usize,
            class => factor.classes[class as usize].len(),
        };
        let mut pairs: Vec<(u32, u32)> =
            self.class_of.iter().copied().zip(other.class_of.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let moving = pairs.into_iter().filter(|&pair| pair != (IDLE, IDLE));
        moving
            .fold(0, |sum, (one, two)| sum.saturating_add(count(self, one).saturating_mul(count(other, two))))
    }

    /// The product of two factors.
    pub(super) fn merge(self, other: &Factor, costs: &[u32]) -> Factor {
        let width = other.states;
        let mut pairs: HashMap<(u32, u32), u32> = HashMap::new();
        let mut kinds: Vec<(u32, u32)> = Vec::new();
        let class_of: Vec<u32> = self
            .class_of
            .iter()
            .zip(&other.class_of)
            .map(|(&one, &two)| {
                if one == IDLE && two == IDLE {
                    return IDLE;
                }
                *pairs.entry((one, two)).or_insert_with(|| {
                    kinds.push((one, two));
                    kinds.len() as u32 - 1
                })
            })
            .collect();
        let each = |factor: &Factor, class: u32| -> Vec<(u32, u32)> {
            match class {
                IDLE => (0..factor.states).map(|state| (state, state)).collect(),
                class => factor.classes[class as usize].clone(),
            }
        };
        let classes = kinds.iter().map(|&(one, two)| {
            let (left, right) = (each(&self, one), each(other, two));
            let mut all = Vec::with_capacity(left.len() * right.len());
            for &(from, to) in &left {
                all.extend(right.iter().map(|&(f, t)| (from * width + f, to * width + t)));
            }
            all.sort_unstable();
            all
        });
        let classes = classes.collect();
        let goals =
            self.goals.iter().flat_map(|&one| other.goals.iter().map(move |&two| one && two)).collect();
        let made = Factor {
            states: self.states * width,
            initial: self.initial * width + other.initial,
            goals,
            class_of,
            classes,
            distances: Vec::new(),
            tree: self.tree.merged(other.tree.clone(), width),
        };
        made.pruned(costs)
    }

    /// Without states that cannot be reached or do not reach a goal; with distances.
    fn pruned(mut self, costs: &[u32]) -> Factor {
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); self.states as usize];
        for &(from, to) in self.classes.iter().flatten().filter(|(from, to)| from != to) {
            out[from as usize].push(to);
        }
        let mut reached = vec![false; self.states as usize];
        reached[self.initial as usize] = true;
        let mut open = vec![self.initial];
        while let Some(at) = open.pop() {
            for &to in &out[at as usize] {
                if !std::mem::replace(&mut reached[to as usize], true) {
                    open.push(to);
                }
            }
        }
        let distances = self.measure(costs);
        // The state of the start stays, so that there is always one.
        let keeps =
            |state: usize| reached[state] && distances[state] != INFINITE || state == self.initial as usize;
        let mut place = vec![DEAD; self.states as usize];
        let mut next = 0;
        for (state, place) in place.iter_mut().enumerate() {
            if keeps(state) {
                *place = next;
                next += 1;
            }
        }
        self.distances = distances;
        self.renumber(&place, next);
        self
    }

    /// Gives states new numbers; several may get the same one, and those that are [`DEAD`] go.
    pub(super) fn renumber(&mut self, place: &[u32], states: u32) {
        let (mut goals, mut distances) = (vec![false; states as usize], vec![INFINITE; states as usize]);
        for (at, &to) in place.iter().enumerate().filter(|&(_, &to)| to != DEAD) {
            goals[to as usize] |= self.goals[at];
            distances[to as usize] = distances[to as usize].min(self.distances[at]);
        }
        let mut numbers = Classes::new(states);
        let old = std::mem::take(&mut self.classes);
        let of: Vec<u32> = old
            .into_iter()
            .map(|class| {
                let mut class: Vec<(u32, u32)> = class
                    .into_iter()
                    .map(|(from, to)| (place[from as usize], place[to as usize]))
                    .filter(|&(from, to)| from != DEAD && to != DEAD)
                    .collect();
                class.sort_unstable();
                class.dedup();
                numbers.number(class)
            })
            .collect();
        for class in self.class_of.iter_mut().filter(|class| **class != IDLE) {
            *class = of[*class as usize];
        }
        self.classes = numbers.list;
        self.initial = place[self.initial as usize];
        (self.states, self.goals, self.distances) = (states, goals, distances);
        self.tree.renumber(place);
    }

    fn prices(&self, costs: &[u32]) -> Vec<u32> {
        let mut prices = vec![INFINITE; self.classes.len()];
        for (&class, &cost) in self.class_of.iter().zip(costs).filter(|(class, _)| **class != IDLE) {
            let price = &mut prices[class as usize];
            *price = cost.min(*price);
        }
        prices
    }

    fn measure(&self, costs: &[u32]) -> Vec<u32> {
        let prices = self.prices(costs);
        let mut into: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.states as usize];
        for (class, &price) in self.classes.iter().zip(&prices) {
            for &(from, to) in class.iter().filter(|(from, to)| from != to) {
                into[to as usize].push((from, price));
            }
        }
        let mut distances = vec![INFINITE; self.states as usize];
        let mut queue = Queue::default();
        for state in (0..self.states).filter(|&state| self.goals[state as usize]) {
            distances[state as usize] = 0;
            queue.push(0, state);
        }
        while let Some((distance, at)) = queue.pop() {
            if distances[at as usize] != distance {
                continue;
            }
            for &(from, price) in &into[at as usize] {
                let there = add(distance, price);
                if there < distances[from as usize] {
                    distances[from as usize] = there;
                    queue.push(there, from);
                }
            }
        }
        distances
    }

    /// Brings states together that are bisimilar, and others with the same distance where more than `most` would be left
    /// (Nissim, Hoffmann and Helmert 2011).
    pub(super) fn shrink(&mut self, most: u32) {
        let mut levels: Vec<u32> = self.distances.clone();
        levels.sort_unstable();
        levels.dedup();
        if levels.len() > most as usize {
            return;
        }
        let mut block: Vec<u32> = self
            .distances
            .iter()
            .map(|distance| levels.binary_search(distance).map_or(0, |level| level as u32))
            .collect();
        let mut count = levels.len() as u32;
        let mut out: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.states as usize];
        for (class, number) in self.classes.iter().zip(0..) {
            class.iter().for_each(|&(from, to)| out[from as usize].push((number, to)));
        }
        loop {
            let mut numbers: HashMap<(u32, Vec<(u32, u32)>), u32> = HashMap::new();
            let mut next = vec![0; self.states as usize];
            for ((next, out), &own) in next.iter_mut().zip(&out).zip(&block) {
                let mut signature: Vec<(u32, u32)> =
                    out.iter().map(|&(class, to)| (class, block[to as usize])).collect();
                signature.sort_unstable();
                signature.dedup();
                let fresh = numbers.len() as u32;
                *next = *numbers.entry((own, signature)).or_insert(fresh);
            }
            let found = numbers.len() as u32;
            if found > most || found == count {
                break;
            }
            (block, count) = (next, found);
        }
        if count < self.states {
            self.renumber(&block, count);
        }
    }

    /// For partitions of costs; `None` where it says nothing.
    pub(super) fn finish(self) -> Option<Abstraction> {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.classes.len()];
        for (&class, row) in self.class_of.iter().zip(0..) {
            if class != IDLE {
                rows[class as usize].push(row);
            }
        }
        let mut transitions = Vec::new();
        for (class, number) in self.classes.iter().zip(0..) {
            transitions.extend(class.iter().map(|&(from, to)| Transition { to, from, class: number }));
        }
        let goals: Vec<u32> = (0..self.states).filter(|&state| self.goals[state as usize]).collect();
        // One state more for those that are dead: nothing leads from it to a goal.
        let (dead, initial) = (self.states, self.initial);
        if goals.len() as u32 == dead && !self.tree.may_be_dead() {
            return None;
        }
        let mapping = Mapping::Merged(self.tree, dead);
        Abstraction::new(mapping, (dead + 1, initial), goals, rows, transitions)
    }
}

/// Classes by what they do.
struct Classes {
    idle: Vec<(u32, u32)>,
    list: Vec<Vec<(u32, u32)>>,
    numbers: HashMap<Vec<(u32, u32)>, u32>,
}

impl Classes {
    fn new(states: u32) -> Self {
        let idle = (0..states).map(|state| (state, state)).collect();
        Classes { idle, list: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, transitions: Vec<(u32, u32)>) -> u32 {
        if transitions == self.idle {
            return IDLE;
        }
        let fresh = self.list.len() as u32;
        let number = *self.numbers.entry(transitions.clone()).or_insert(fresh);
        if number == fresh {
            self.list.push(transitions);
        }
        number
    }
}
