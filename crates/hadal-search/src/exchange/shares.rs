//! Who owns which states: by hash, in proportion to weights.

use crate::layered::Trouble;
use hadal_system::StateSpace;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Most workers.
const MOST: usize = 1024;
/// Words that are hashed together.
const AT_ONCE: usize = 16;

/// Weights that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnershipError {
    /// None, or too many.
    #[error("a cluster has 1 to {MOST} workers, not {0}")]
    Workers(usize),
    /// A worker that would own nothing.
    #[error("the weight of a worker is a whole number from 1 to 1000000")]
    Weight,
    /// A scalar that the model does not have.
    #[error("the states have no `{0}`")]
    Name(String),
}

/// Who owns which states. The same weights give the same owners everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Where each worker's part of the weights ends.
    ends: Vec<u64>,
    /// What of a state decides, where it is not all of it.
    mask: Vec<u64>,
}

impl Shares {
    pub(super) const ALONE: &'static Shares = &Shares { ends: Vec::new(), mask: Vec::new() };

    /// In proportion to these weights, one for each worker.
    pub fn weighted(weights: &[u64]) -> Result<Self, OwnershipError> {
        if weights.is_empty() || weights.len() > MOST {
            return Err(OwnershipError::Workers(weights.len()));
        }
        if weights.iter().any(|weight| !(1..=1_000_000).contains(weight)) {
            return Err(OwnershipError::Weight);
        }
        let ends = weights.iter().scan(0, |end, weight| {
            *end += weight;
            Some(*end)
        });
        Ok(Shares { ends: ends.collect(), mask: Vec::new() })
    }

    /// The same by some bits of a state only: successors that differ elsewhere stay with their owner. An empty mask stands
    /// for all bits.
    pub fn masked(self, mask: Vec<u64>) -> Self {
        Shares { mask, ..self }
    }

    /// The same for a space, by the scalars of these names where there are some. States that may cover each other have one
    /// owner: that of their key.
    pub fn suiting(self, space: &dyn StateSpace, names: &[String]) -> Result<Self, OwnershipError> {
        let mut mask = match names {
            [] => Vec::new(),
            names => Shares::mask_of(space, names)?,
        };
        if let Some(cover) = space.cover() {
            mask.resize(space.words(), u64::MAX);
            mask[..space.words() - cover.key_words()].fill(0);
        }
        Ok(self.masked(mask))
    }

    /// Refuses shares in which states of the space that may cover each other have several owners.
    pub(crate) fn must_suit(&self, space: &dyn StateSpace) -> Result<(), Trouble> {
        let others = space.cover().map_or(0, |cover| space.words() - cover.key_words());
        match self.workers() == 1 || (0..others).all(|word| self.mask.get(word) == Some(&0)) {
            true => Ok(()),
            false => {
                Err(Trouble::NotShared("states that may cover each other need one owner: Shares::suiting"))
            }
        }
    }

    /// The bits of the scalars of these names in states of the space.
    fn mask_of(space: &dyn StateSpace, names: &[String]) -> Result<Vec<u64>, OwnershipError> {
        let mut mask = vec![0; space.words()];
        for name in names {
            let mut known = false;
            for scalar in space.fields() {
                let rest = scalar.name.strip_prefix(name.as_str());
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '('])) {
                    known = true;
                    for bit in scalar.offset..scalar.offset + scalar.width {
                        mask[bit as usize / 64] |= 1 << (bit % 64);
                    }
                }
            }
            if !known {
                return Err(OwnershipError::Name(name.clone()));
            }
        }
        Ok(mask)
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.ends.len().max(1)
    }

    /// A worker's part of so many things in a row.
    pub fn part(&self, worker: usize, count: u64) -> Range<u64> {
        let begin = worker.checked_sub(1).map_or(0, |before| self.part_end(before, count));
        begin..self.part_end(worker, count)
    }

    /// Whose part one of so many things in a row is.
    pub fn part_of(&self, at: u64, count: u64) -> usize {
        let workers = self.workers();
        (0..workers - 1).find(|&worker| at < self.part_end(worker, count)).unwrap_or(workers - 1)
    }

    /// Where a worker's part of so many things in a row ends.
    fn part_end(&self, worker: usize, count: u64) -> u64 {
        match (self.ends.get(worker), self.ends.last()) {
            // It is at most `count`.
            (Some(&end), Some(&total)) => (u128::from(count) * u128::from(end) / u128::from(total)) as u64,
            _ => count,
        }
    }

    /// The owner of a state.
    #[inline]
    pub fn owner(&self, state: &[u64]) -> usize {
        let Some(&total) = self.ends.last() else { return 0 };
        let hash = match state {
            [word] if self.mask.is_empty() => xxh3_64_with_seed(&word.to_le_bytes(), 0),
            [low, high] if self.mask.is_empty() => {
                let both = u128::from(*low) | u128::from(*high) << 64;
                xxh3_64_with_seed(&both.to_le_bytes(), 0)
            }
            _ => self.hash(state),
        };
        let at = ((u128::from(hash) * u128::from(total)) >> 64) as u64;
        self.ends.partition_point(|&end| end <= at)
    }

    fn hash(&self, state: &[u64]) -> u64 {
        let mut hash = 0;
        for (n, words) in state.chunks(AT_ONCE).enumerate() {
            let mut bytes = [0; 8 * AT_ONCE];
            for (at, (into, word)) in bytes.chunks_exact_mut(8).zip(words).enumerate() {
                let mask = self.mask.get(n * AT_ONCE + at).copied().unwrap_or(u64::MAX);
                into.copy_from_slice(&(word & mask).to_le_bytes());
            }
            hash = xxh3_64_with_seed(&bytes[..8 * words.len()], hash);
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_in_proportion_to_weights() {
        let shares = Shares::weighted(&[1, 3, 4]).expect("weights");
        let mut owned = [0u32; 3];
        (0..8000u64).for_each(|n| owned[shares.owner(&[n << 20, n])] += 1);
        for (owned, expected) in owned.into_iter().zip([1000, 3000, 4000]) {
            assert!(owned.abs_diff(expected) < 200, "{owned} of {expected}");
        }
        assert_eq!(Shares::weighted(&[]), Err(OwnershipError::Workers(0)));
        assert_eq!(Shares::weighted(&[1, 0]), Err(OwnershipError::Weight));
    }

    #[test]
    fn parts_in_a_row_are_in_proportion_and_leave_nothing_out() {
        let shares = Shares::weighted(&[1, 3, 4]).expect("weights");
        for count in [0, 1, 2, 7, 8000] {
            let parts: Vec<_> = (0..3).map(|worker| shares.part(worker, count)).collect();
            assert_eq!((parts[0].start, parts[0].end, parts[1].end), (0, parts[1].start, parts[2].start));
            assert_eq!(parts[2].end, count);
            for at in 0..count {
                assert!(parts[shares.part_of(at, count)].contains(&at), "{at} of {count}");
            }
        }
        assert_eq!(shares.part(1, 8000), 1000..4000);
        assert_eq!((Shares::ALONE.part(0, 9), Shares::ALONE.part_of(3, 9)), (0..9, 0));
    }

    #[test]
    fn bits_outside_the_mask_do_not_move_a_state() {
        let shares = Shares::weighted(&[1; 5]).expect("weights").masked(vec![0, 0xFF]);
        for n in 0..100 {
            assert_eq!(shares.owner(&[n, 7]), shares.owner(&[3, 7 | n << 8]));
        }
    }

    #[test]
    fn short_states_have_the_owner_that_any_number_of_words_gives() {
        let shares = Shares::weighted(&[1; 7]).expect("weights");
        let by_bits = shares.clone().masked(vec![u64::MAX; 2]);
        for n in 0..500u64 {
            let words = [n.wrapping_mul(0x9E37_79B9_7F4A_7C15), n << 9 | 5];
            assert_eq!(shares.owner(&words[..1]), by_bits.owner(&words[..1]));
            assert_eq!(shares.owner(&words), by_bits.owner(&words));
        }
    }
}
