//! Numbers for a fixed set of states without storing them: a minimal perfect hash function.
//!
//! Limasset et al., "Fast and scalable minimal perfect hashing for massive key sets" (SEA 2017): at each level a state that
//! shares its place with no other keeps it; the others go on to the next level. About three bits a state. A state outside
//! the set gets any number: this numbers and decides nothing.

use crate::resting::Early;
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::state::hash;

/// Places for each state left at a level.
const SPREAD: u64 = 2;
/// Words between two counts of the ones before.
const STRIDE: usize = 8;
/// States left after so many levels would mean that a hash function has failed.
const MOST_LEVELS: usize = 64;

struct Level {
    bits: Vec<u64>,
    places: u64,
    /// Ones of this level before each stride, the numbers of earlier levels included.
    ranks: Vec<u64>,
}

/// A numbering of a set of states.
pub(super) struct Perfect {
    levels: Vec<Level>,
    states: u64,
    _memory: Reservation,
}

impl Perfect {
    /// Numbers the `count` states that `scan` reads, in any order, always the same ones.
    pub(super) async fn new(
        count: u64,
        governor: &Governor,
        scan: &impl AsyncFn(&mut dyn FnMut(&[u64])) -> Result<(), Early>,
    ) -> Result<Perfect, Early> {
        let mut memory = governor.empty("numbers of states");
        let mut built =
            Perfect { levels: Vec::new(), states: 0, _memory: governor.empty("numbers of states") };
        let mut left = count;
        while left > 0 {
            if built.levels.len() == MOST_LEVELS {
                // Two states that no hash tells apart do not exist in a set: the scan repeats one.
                return Err(OverBudget { asked: u64::MAX, ..over(governor) }.into());
            }
            let places = (left * SPREAD).next_multiple_of(64);
            let words = (places / 64) as usize;
            // The places, those that are shared, and the counts.
            memory.try_grow(8 * (2 * words + words / STRIDE + 1) as u64)?;
            let (mut once, mut shared) = (vec![0u64; words], vec![0u64; words]);
            let level = built.levels.len();
            scan(&mut |state| {
                let seed = hash(state);
                if built.place_before(seed, level).is_some() {
                    return;
                }
                let at = place(seed, level, places);
                let (word, mask) = ((at / 64) as usize, 1u64 << (at % 64));
                if once[word] & mask != 0 {
                    shared[word] |= mask;
                }
                once[word] |= mask;
            })
            .await?;
            once.iter_mut().zip(&shared).for_each(|(once, shared)| *once &= !shared);
            drop(shared);
            memory.shrink_to(memory.bytes() - 8 * words as u64);
            let mut ranks = Vec::with_capacity(words / STRIDE + 1);
            let mut before = built.states;
            for stride in once.chunks(STRIDE) {
                ranks.push(before);
                before += stride.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            }
            left -= before - built.states;
            built.states = before;
            built.levels.push(Level { bits: once, places, ranks });
        }
        built._memory = memory;
        Ok(built)
    }

    /// The level and place of a state, where one of the first `levels` has it.
    #[inline]
    fn place_before(&self, seed: u64, levels: usize) -> Option<(usize, u64)> {
        self.levels[..levels].iter().enumerate().find_map(|(n, level)| {
            let at = place(seed, n, level.places);
            (level.bits[(at / 64) as usize] >> (at % 64) & 1 == 1).then_some((n, at))
        })
    }

    /// The number of a state.
    #[inline]
    pub(super) fn number(&self, state: &[u64]) -> Option<u64> {
        let (level, at) = self.place_before(hash(state), self.levels.len())?;
        let level = &self.levels[level];
        let (word, bit) = ((at / 64) as usize, at % 64);
        let stride = word / STRIDE;
        let whole = level.bits[stride * STRIDE..word].iter().map(|word| u64::from(word.count_ones()));
        let part = (level.bits[word] & ((1 << bit) - 1)).count_ones();
        Some(level.ranks[stride] + whole.sum::<u64>() + u64::from(part))
    }

    pub(super) fn states(&self) -> u64 {
        self.states
    }
}

fn over(governor: &Governor) -> OverBudget {
    match governor.try_reserve(u64::MAX / 2, "numbers of states") {
        Err(over) => over,
        Ok(_) => unreachable!("no budget is that large"),
    }
}

#[inline]
fn place(seed: u64, level: usize, places: u64) -> u64 {
    let mut h = seed ^ (level as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h = (h ^ (h >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    h = (h ^ (h >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    h ^= h >> 32;
    ((u128::from(h) * u128::from(places)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_store::vfs::at_once;

    #[test]
    fn every_state_has_a_number_of_its_own() {
        for count in [0u64, 1, 2, 63, 1000, 50_000] {
            let state = |n: u64| [n.wrapping_mul(0x1234_5678_9ABC_DEF1), n / 3];
            let scan = async |take: &mut dyn FnMut(&[u64])| {
                (0..count).for_each(|n| take(&state(n)));
                Ok(())
            };
            let numbers = at_once(Perfect::new(count, &Governor::unlimited(), &scan));
            let Ok(numbers) = numbers else { panic!("there is room") };
            assert_eq!(numbers.states(), count);
            let mut seen = vec![false; count as usize];
            for n in 0..count {
                let number = numbers.number(&state(n)).expect("it is in the set") as usize;
                assert!(!std::mem::replace(&mut seen[number], true), "{number} twice");
            }
        }
    }
}
