//! Words that a search keeps beside a state. Equality does not look at them: a state that is reached twice keeps one payload,
//! made of both.

use crate::state::compare;
use std::cmp::Ordering;

/// What a search keeps beside every state of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// How many words.
    pub words: usize,
    /// What becomes of two payloads of one state.
    pub merge: Merge,
}

impl Payload {
    /// Nothing.
    pub const NONE: Payload = Payload { words: 0, merge: Merge::Least };
}

/// What becomes of two payloads of one state. It does not depend on their order, nor on which of several are merged first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Merge {
    /// The smaller one stays, as a number whose last word is most significant.
    #[default]
    Least,
    /// Words are added up one by one; what is too large for a word stays the largest.
    Sum,
    /// The bits that are set in either stay.
    Union,
}

impl Merge {
    /// Merges `other` into `kept`.
    #[inline]
    pub fn merge(self, kept: &mut [u64], other: &[u64]) {
        match self {
            Merge::Least => {
                if compare(other, kept) == Ordering::Less {
                    kept.copy_from_slice(other);
                }
            }
            Merge::Sum => {
                kept.iter_mut().zip(other).for_each(|(kept, other)| *kept = kept.saturating_add(*other));
            }
            Merge::Union => kept.iter_mut().zip(other).for_each(|(kept, other)| *kept |= *other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_of_merging_gives_the_same() {
        let payloads = [[3, 1], [u64::MAX - 2, 0], [7, 1], [1, 5]];
        let rules =
            [(Merge::Least, [u64::MAX - 2, 0]), (Merge::Sum, [u64::MAX, 7]), (Merge::Union, [u64::MAX, 5])];
        for (rule, expected) in rules {
            for first in 0..4 {
                let mut kept = payloads[first];
                (1..4).for_each(|n| rule.merge(&mut kept, &payloads[(first + n) % 4]));
                assert_eq!(kept, expected, "{rule:?} from {first}");
            }
        }
    }
}
