//! Sets that were chosen before. The choice asks little of a state: what can fire, where processes stand, whether some
//! scalars are as guards demand. Where all that was asked is answered as it was, the set is the same.

use super::relation::Relation;

/// How many places there are, by what can fire.
const PLACES: usize = 512;
/// How many choices a place holds.
const WAYS: usize = 4;

/// After so many states it is known whether choices repeat.
const TRIED: u32 = 8192;
/// Where fewer than one in so many was made before, choices are no longer kept.
const RARE: u32 = 16;

/// The choices of one thread.
pub(super) struct Memo {
    entries: Vec<Option<Entry>>,
    next: usize,
    /// How often a choice was looked for, and found.
    asked: u32,
    found: u32,
}

/// What was asked and answered, and what was chosen.
pub(super) struct Entry {
    pub(super) enabled: Box<[u64]>,
    pub(super) effective: Box<[u64]>,
    /// The set that was known before.
    pub(super) known: Box<[u64]>,
    /// Bits of words of the state that are the same: number of the word, which bits, and what they are.
    pub(super) places: Box<[(u32, u64, u64)]>,
    /// Tests, and whether each fails.
    pub(super) tests: Box<[(u32, bool)]>,
    /// Conjuncts of guards, and whether each is false.
    pub(super) conditions: Box<[(u32, bool)]>,
    pub(super) set: Box<[u64]>,
}

impl Memo {
    pub(super) fn new() -> Self {
        Memo { entries: Vec::new(), next: 0, asked: 0, found: 0 }
    }

    /// Whether it is worth looking. What is chosen does not depend on it.
    pub(super) fn pays(&self) -> bool {
        self.asked < TRIED || self.found > TRIED / RARE
    }

    fn place(enabled: &[u64]) -> usize {
        let mixed = enabled
            .iter()
            .fold(0u64, |all, word| (all ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
        (mixed >> 20) as usize % PLACES * WAYS
    }

    /// The choice that was made where everything asked was as in this state.
    pub(super) fn find(
        &mut self,
        relation: &Relation,
        state: &[u64],
        (enabled, effective, known): (&[u64], &[u64], &[u64]),
    ) -> Option<usize> {
        let place = Self::place(enabled);
        let found = (place..place + WAYS).find(|&at| {
            self.entries.get(at).and_then(Option::as_ref).is_some_and(|entry| {
                *entry.enabled == *enabled
                    && entry.places.iter().all(|&(word, bits, value)| state[word as usize] & bits == value)
                    && *entry.effective == *effective
                    && *entry.known == *known
                    && entry.tests.iter().all(|&(n, fails)| relation.tests[n as usize].passes(state) != fails)
                    && entry
                        .conditions
                        .iter()
                        .all(|&(n, fails)| relation.conditions[n as usize].0.fails(state) == fails)
            })
        });
        if self.asked < TRIED {
            self.asked += 1;
            self.found += u32::from(found.is_some());
        }
        found
    }

    /// The set of a choice.
    pub(super) fn set(&self, at: usize) -> &[u64] {
        self.entries[at].as_ref().map_or(&[], |entry| &entry.set)
    }

    /// Keeps a choice.
    pub(super) fn keep(&mut self, entry: Entry) {
        let at = Self::place(&entry.enabled) + self.next % WAYS;
        self.next += 1;
        if self.entries.is_empty() {
            self.entries.resize_with(PLACES * WAYS, || None);
        }
        self.entries[at] = Some(entry);
    }
}
