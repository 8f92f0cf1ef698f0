//! Who owns which states: by hash, in proportion to weights.

use hadal_system::StateSpace;
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

    /// The bits of the scalars of these names in states of the space.
    pub fn mask_of(space: &dyn StateSpace, names: &[String]) -> Result<Vec<u64>, OwnershipError> {
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

    /// The owner of a state.
    #[inline]
    pub fn owner(&self, state: &[u64]) -> usize {
        let Some(&total) = self.ends.last() else { return 0 };
        let mut hash = 0;
        for (n, words) in state.chunks(AT_ONCE).enumerate() {
            let mut bytes = [0; 8 * AT_ONCE];
            for (at, (into, word)) in bytes.chunks_exact_mut(8).zip(words).enumerate() {
                let mask = self.mask.get(n * AT_ONCE + at).copied().unwrap_or(u64::MAX);
                into.copy_from_slice(&(word & mask).to_le_bytes());
            }
            hash = xxh3_64_with_seed(&bytes[..8 * words.len()], hash);
        }
        let at = ((u128::from(hash) * u128::from(total)) >> 64) as u64;
        self.ends.partition_point(|&end| end <= at)
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
    fn bits_outside_the_mask_do_not_move_a_state() {
        let shares = Shares::weighted(&[1; 5]).expect("weights").masked(vec![0, 0xFF]);
        for n in 0..100 {
            assert_eq!(shares.owner(&[n, 7]), shares.owner(&[3, 7 | n << 8]));
        }
    }
}
