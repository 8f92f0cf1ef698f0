//! Generated sets of states for the tests of the decision diagram.
#![allow(dead_code)] // each test binary uses a part

use std::cmp::Ordering;
use std::collections::BTreeSet;

use proptest::prelude::*;

/// A state in the order that hadal sorts by: one big integer, word 0 least significant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State(pub Vec<u64>);

impl Ord for State {
    fn cmp(&self, other: &Self) -> Ordering {
        hadal_system::state::compare(&self.0, &other.0)
    }
}

impl PartialOrd for State {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub type Set = BTreeSet<State>;

/// The states of a set one after the other, as batches are.
pub fn flat(set: &Set) -> Vec<u64> {
    set.iter().flat_map(|state| state.0.iter().copied()).collect()
}

/// A shape of state: words, and bits in use.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub words: usize,
    pub bits: usize,
}

impl Shape {
    /// Clears what lies above the used bits.
    pub fn trim(self, mut state: Vec<u64>) -> State {
        for (word, value) in state.iter_mut().enumerate() {
            let used = self.bits.saturating_sub(word * 64).min(64);
            *value &= if used == 64 { !0 } else { (1 << used) - 1 };
        }
        State(state)
    }
}

/// The widths asked for: 1, 2, 5 and 20 words, full and not full.
pub fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(1usize), Just(2), Just(5), Just(20)].prop_flat_map(|words| {
        prop_oneof![Just(words * 64), (words - 1) * 64 + 1..=words * 64]
            .prop_map(move |bits| Shape { words, bits })
    })
}

/// Few distinct words in few places: long chains, shared tails, dense last levels.
fn structured(shape: Shape, most: usize) -> impl Strategy<Value = Set> {
    let words = shape.words;
    let alphabet = prop::collection::vec(prop_oneof![0..40u64, any::<u64>(), Just(0), Just(!0)], 1..5);
    let picks = prop::collection::vec((prop::collection::vec(0..5usize, words), 0..300u64), 0..most);
    (alphabet, picks).prop_map(move |(alphabet, picks)| {
        picks
            .into_iter()
            .map(|(pick, low)| {
                let mut state: Vec<u64> = pick.iter().map(|&at| alphabet[at % alphabet.len()]).collect();
                state[0] ^= low;
                shape.trim(state)
            })
            .collect()
    })
}

fn random(shape: Shape, most: usize) -> impl Strategy<Value = Set> {
    prop::collection::vec(prop::collection::vec(any::<u64>(), shape.words), 0..most)
        .prop_map(move |states| states.into_iter().map(|state| shape.trim(state)).collect())
}

/// A set of at most `most` states.
pub fn sets(shape: Shape, most: usize) -> impl Strategy<Value = Set> {
    prop_oneof![3 => structured(shape, most), 1 => random(shape, most)]
}

/// A shape and some sets of it.
pub fn families(sets_of: usize, most: usize) -> impl Strategy<Value = (Shape, Vec<Set>)> {
    shapes().prop_flat_map(move |shape| (Just(shape), prop::collection::vec(sets(shape, most), 1..=sets_of)))
}
