//! Looking for the predecessor of a state in a layer, nearest states first.
//!
//! A step changes little of a state, so one that leads to another differs from it in few bits. Comparing bits is much cheaper
//! than firing: the few nearest states of the layer are fired first, and mostly one of them leads on. Of all predecessors the
//! nearest counts, and of those as near the least in packed order: the same for any number of threads and workers, in RAM and
//! on disk.

use crate::lane::SearchTask;
use hadal_system::state::compare;
use hadal_system::{Successors, Worker};
use std::cmp::Ordering;

/// What a look at a state counts as: about nanoseconds.
pub(crate) const LOOK_WORK: u64 = 4;
/// Bytes of states that are kept as the nearest.
const KEPT_BYTES: usize = 32 << 10;

/// How many bits differ.
#[inline]
pub(crate) fn distance(state: &[u64], target: &[u64]) -> u32 {
    state.iter().zip(target).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// A predecessor, and how far it is from the state that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Predecessor {
    pub(crate) distance: u32,
    pub(crate) state: Vec<u64>,
}

impl Predecessor {
    fn order(&self, distance: u32, state: &[u64]) -> Ordering {
        self.distance.cmp(&distance).then_with(|| compare(&self.state, state))
    }

    /// Whether a state so far away would count instead of it.
    #[inline]
    pub(crate) fn yields_to(held: &Option<Predecessor>, distance: u32, state: &[u64]) -> bool {
        held.as_ref().is_none_or(|held| held.order(distance, state) == Ordering::Greater)
    }

    /// Keeps the one of two that counts.
    pub(crate) fn offer(held: &mut Option<Predecessor>, other: Predecessor) {
        if Predecessor::yields_to(held, other.distance, &other.state) {
            *held = Some(other);
        }
    }
}

/// The nearest of the states that it is offered.
pub(crate) struct Nearest<'t> {
    target: &'t [u64],
    most: usize,
    /// Distance and number of each.
    keys: Vec<(u32, usize)>,
    states: Vec<u64>,
    /// Farther ones are not among the nearest.
    farthest: u32,
}

impl<'t> Nearest<'t> {
    pub(crate) fn to(target: &'t [u64]) -> Self {
        let most = (KEPT_BYTES / (8 * target.len().max(1))).clamp(32, 1024);
        Nearest { target, most, keys: Vec::new(), states: Vec::new(), farthest: u32::MAX }
    }

    #[inline]
    pub(crate) fn offer(&mut self, state: &[u64]) {
        let distance = distance(state, self.target);
        if distance <= self.farthest {
            self.keys.push((distance, self.keys.len()));
            self.states.extend_from_slice(state);
            if self.keys.len() >= 2 * self.most {
                self.shorten();
            }
        }
    }

    /// Keeps the nearest only, in order.
    fn shorten(&mut self) {
        let (words, states) = (self.target.len(), &self.states);
        let state = |number: usize| &states[number * words..(number + 1) * words];
        self.keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(state(a.1), state(b.1))));
        self.keys.truncate(self.most);
        let mut kept = Vec::with_capacity(2 * self.most * words);
        for (number, key) in self.keys.iter_mut().enumerate() {
            kept.extend_from_slice(state(key.1));
            key.1 = number;
        }
        if let Some(last) = self.keys.last().filter(|_| self.keys.len() == self.most) {
            self.farthest = last.0;
        }
        self.states = kept;
    }

    /// The first in order that leads on.
    pub(crate) fn first(mut self, mut leads_on: impl FnMut(&[u64]) -> bool) -> Option<Predecessor> {
        self.shorten();
        let words = self.target.len().max(1);
        let mut each = self.keys.iter().zip(self.states.chunks_exact(words));
        each.find_map(|(&(distance, _), state)| {
            leads_on(state).then(|| Predecessor { distance, state: state.to_vec() })
        })
    }
}

/// Fires from states to see whether they lead to one.
pub(crate) struct Firing<'a> {
    worker: Box<dyn Worker + 'a>,
    out: Successors,
    fired: u64,
    /// The predecessor that counts, of those looked at.
    best: Option<Predecessor>,
}

impl<'a> Firing<'a> {
    pub(crate) fn new(task: SearchTask<'a>) -> Self {
        let (worker, out) = (task.space.worker(), Successors::new(task.space.words()));
        Firing { worker, out, fired: 0, best: None }
    }

    /// One for each thread.
    pub(crate) fn each(task: SearchTask<'a>, threads: usize) -> Vec<Self> {
        (0..threads.max(1)).map(|_| Firing::new(task)).collect()
    }

    pub(crate) fn leads_on(&mut self, state: &[u64], target: &[u64]) -> bool {
        self.out.clear();
        self.worker.successors(state, &mut self.out);
        self.fired += self.out.len() as u64;
        self.out.iter().any(|(_, successor)| successor == target)
    }

    /// Looks for a predecessor that counts among these states.
    pub(crate) fn look(&mut self, states: &[u64], target: &[u64]) {
        for state in states.chunks_exact(target.len()) {
            let distance = distance(state, target);
            if Predecessor::yields_to(&self.best, distance, state) && self.leads_on(state, target) {
                self.best = Some(Predecessor { distance, state: state.to_vec() });
            }
        }
    }

    /// The one that counts of what all have looked at; they begin anew.
    pub(crate) fn take_best(all: &mut [Firing<'_>]) -> Option<Vec<u64>> {
        let mut best = None;
        let found = all.iter_mut().filter_map(|one| one.best.take());
        found.for_each(|found| Predecessor::offer(&mut best, found));
        best.map(|found| found.state)
    }

    /// Transitions fired since it was asked last.
    pub(crate) fn take_fired(&mut self) -> u64 {
        std::mem::take(&mut self.fired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_and_of_those_as_near_the_least() {
        let target = [0b1011u64];
        let mut nearest = Nearest::to(&target);
        let states: Vec<u64> = (0..50_000u64).map(|n| n * 7919 % 50_021).collect();
        states.iter().for_each(|&state| nearest.offer(&[state]));
        let mut order = states.clone();
        order.sort_unstable_by_key(|state| ((state ^ target[0]).count_ones(), *state));
        let mut asked = Vec::new();
        let found = nearest.first(|state| {
            asked.push(state[0]);
            asked.len() == 1000
        });
        assert_eq!(asked, order[..1000]);
        assert_eq!(found.map(|found| found.state), Some(vec![order[999]]));
    }

    #[test]
    fn what_counts_does_not_depend_on_the_order_of_offers() {
        let all = [(3, 9u64), (2, 8), (2, 7), (4, 1)];
        for turn in 0..all.len() {
            let mut held = None;
            for n in 0..all.len() {
                let (distance, state) = all[(n + turn) % all.len()];
                Predecessor::offer(&mut held, Predecessor { distance, state: vec![state] });
            }
            assert_eq!(held, Some(Predecessor { distance: 2, state: vec![7] }));
        }
    }
}
