//! Packed states, one after the other: the type that travels between generators, sets and files.

use crate::state::compare;
use std::cmp::Ordering;
use std::ops::{Deref, Range};

/// A borrowed list of packed states, all of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States<'a> {
    words: usize,
    flat: &'a [u64],
}

impl<'a> States<'a> {
    /// Views `flat` as states of `words` words each. Panics where one is cut off.
    #[inline]
    pub fn new(words: usize, flat: &'a [u64]) -> Self {
        assert!(words > 0 && flat.len().is_multiple_of(words), "a state is cut off");
        States { words, flat }
    }

    /// Words of a state.
    #[inline]
    pub fn words(self) -> usize {
        self.words
    }

    /// All words.
    #[inline]
    pub fn flat(self) -> &'a [u64] {
        self.flat
    }

    /// How many.
    #[inline]
    pub fn len(self) -> usize {
        self.flat.len() / self.words
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.flat.is_empty()
    }

    /// The one numbered `at`.
    #[inline]
    pub fn state(self, at: usize) -> &'a [u64] {
        &self.flat[at * self.words..(at + 1) * self.words]
    }

    /// Those numbered `range`.
    #[inline]
    pub fn slice(self, range: Range<usize>) -> States<'a> {
        States { words: self.words, flat: &self.flat[range.start * self.words..range.end * self.words] }
    }

    /// One after the other.
    #[inline]
    pub fn iter(self) -> std::slice::ChunksExact<'a, u64> {
        self.flat.chunks_exact(self.words)
    }
}

/// States in strictly ascending order: sorted, and each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ascending<'a>(States<'a>);

impl<'a> Ascending<'a> {
    /// Views `flat`, whose states of `words` words ascend strictly: debug builds look, others trust the caller.
    #[inline]
    pub fn new(words: usize, flat: &'a [u64]) -> Self {
        let states = States::new(words, flat);
        debug_assert!(
            (1..states.len()).all(|n| compare(states.state(n - 1), states.state(n)) == Ordering::Less),
            "states ascend strictly"
        );
        Ascending(states)
    }

    /// Those numbered `range`.
    #[inline]
    pub fn slice(self, range: Range<usize>) -> Ascending<'a> {
        Ascending(self.0.slice(range))
    }

    /// The list without the promise.
    #[inline]
    pub fn states(self) -> States<'a> {
        self.0
    }

    /// How many lie before `state`: doubling steps, then halving, as it is usually near.
    pub fn first_not_below(self, state: &[u64]) -> usize {
        let below = |at: usize| compare(self.state(at), state) == Ordering::Less;
        let (mut low, mut step) = (0, 1);
        while low + step <= self.len() && below(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = self.len().min(low + step - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if below(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl<'a> Deref for Ascending<'a> {
    type Target = States<'a>;
    fn deref(&self) -> &States<'a> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_state_not_below_is_found_from_anywhere() {
        let flat: Vec<u64> = (0..100).flat_map(|n| [3 * n % 2, n]).collect();
        let states = Ascending::new(2, &flat);
        for from in [0, 1, 50, 99, 100] {
            let rest = states.slice(from..100);
            for n in 0..=100 {
                let bound = [0, n];
                let expected = rest.iter().take_while(|s| compare(s, &bound) == Ordering::Less).count();
                assert_eq!(rest.first_not_below(&bound), expected);
            }
        }
    }

    #[test]
    #[should_panic(expected = "a state is cut off")]
    fn a_list_holds_whole_states() {
        States::new(2, &[1, 2, 3]);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "states ascend strictly")]
    fn equal_neighbours_do_not_ascend() {
        Ascending::new(1, &[1, 2, 2]);
    }
}
