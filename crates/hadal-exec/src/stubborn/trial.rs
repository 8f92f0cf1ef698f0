//! Trying sets in the states near the initial ones, before the search: which of them pay?

use hadal_system::{StateSpace, Successors, Worker, state};

/// In so many states, or a layer more, the sets are tried.
const TRIED: usize = 3000;
/// Where more than this part of them is met with the sets, in per cent, everything is fired.
const MOST_MET: usize = 85;
/// The work of visiting a state, where finding out what can enable something is one.
const VISIT: f64 = 15.0;
/// So much work is spent on trying sets that are not those of processes.
const MOST_WORK: u64 = 60_000;

/// Sets that leave out nothing in any of so many states, and of as many of the first ones, are not tried further.
const LOOKED_AT: usize = 100;

/// The states of the first layers.
pub(super) struct Near {
    /// How many there are in the layers up to each.
    layers: Vec<usize>,
    seen: Seen,
}

/// States one after the other, found by their hashes.
struct Seen {
    words: usize,
    states: Vec<u64>,
    /// Numbers of states, from 1; 0 is free.
    places: Vec<u32>,
}

impl Seen {
    fn new(words: usize) -> Self {
        Seen { words: words.max(1), states: Vec::new(), places: vec![0; 1 << 13] }
    }

    fn len(&self) -> usize {
        self.states.len() / self.words
    }

    fn state(&self, n: usize) -> &[u64] {
        &self.states[n * self.words..][..self.words]
    }

    fn place(&self, state: &[u64]) -> usize {
        let last = self.places.len() - 1;
        let mut at = state::hash(state) as usize & last;
        while self.places[at] != 0 && self.state(self.places[at] as usize - 1) != state {
            at = (at + 1) & last;
        }
        at
    }

    /// Whether the state is new.
    fn add(&mut self, state: &[u64]) -> bool {
        let at = self.place(state);
        if self.places[at] != 0 {
            return false;
        }
        self.states.extend_from_slice(state);
        self.places[at] = self.len() as u32;
        if self.len() * 2 > self.places.len() {
            self.places = vec![0; self.places.len() * 2];
            for n in 0..self.len() {
                let at = self.place(&self.states[n * self.words..][..self.words]);
                self.places[at] = n as u32 + 1;
            }
        }
        true
    }
}

impl Near {
    /// Explores the layers of at most `depth` steps, up to the one that has the last of [`TRIED`] states, while `goes_on`;
    /// shows each new state to `met`.
    pub(super) fn explore<W: Worker + ?Sized>(
        space: &dyn StateSpace,
        worker: &mut W,
        depth: usize,
        goes_on: impl Fn(&W) -> bool,
        mut met: impl FnMut(&[u64]),
    ) -> Self {
        let mut out = Successors::new(space.words());
        worker.initial(&mut out);
        let mut seen = Seen::new(space.words());
        let mut layers = Vec::new();
        let mut from = 0;
        loop {
            for (_, state) in out.iter() {
                if seen.add(state) {
                    met(state);
                }
            }
            let to = seen.len();
            layers.push(to);
            let enough = to >= TRIED && depth == usize::MAX;
            if from == to || layers.len() > depth || enough {
                return Near { layers, seen };
            }
            out.clear();
            for n in from..to {
                worker.successors(seen.state(n), &mut out);
                if !goes_on(worker) {
                    return Near { layers, seen };
                }
            }
            from = to;
        }
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.layers.last().copied().unwrap_or(0)
    }

    /// How many steps lead to the last ones.
    pub(super) fn depth(&self) -> usize {
        self.layers.len() - 1
    }

    /// Whether a worker with sets leaves out nothing in the first states and in some of the others: then those sets are not
    /// worth the time, whatever they are.
    pub(super) fn shows_nothing(&self, all: &mut dyn Worker, with_sets: &mut dyn Worker) -> bool {
        let others = (LOOKED_AT..self.seen.len()).step_by((self.seen.len() / LOOKED_AT).max(1));
        let (mut one, mut other) = (Successors::new(self.seen.words), Successors::new(self.seen.words));
        (0..LOOKED_AT.min(self.seen.len())).chain(others).all(|n| {
            one.clear();
            other.clear();
            all.successors(self.seen.state(n), &mut one);
            with_sets.successors(self.seen.state(n), &mut other);
            one.len() == other.len()
        })
    }

    /// Whether there were enough states to say anything.
    pub(super) fn is_telling(&self) -> bool {
        self.states() >= TRIED
    }

    /// Whether so many states are met with sets, too, that those are not worth the time.
    pub(super) fn is_idle(&self, whole: &Near) -> bool {
        self.states() * 100 > whole.states() * MOST_MET
    }

    /// Whether sets that took so much `work` pay in comparison with those that take next to none, and have met `others`.
    /// Further on the difference grows, so twice as much work is worth 1.26 times fewer states.
    pub(super) fn pays(&self, work: u64, others: &Near) -> bool {
        let last = self.layers.len().min(others.layers.len()) - 1;
        let (met, other) = (self.layers[last] as f64, others.layers[last] as f64);
        let visits = VISIT * met;
        (other / met).powi(3) > (visits + work as f64) / visits
    }
}

/// Whether no more work is spent on trying.
pub(super) fn is_enough(work: u64) -> bool {
    work > MOST_WORK
}
