//! One shard of a closed set: the states of one range, in a diagram of their own.
//!
//! A shard touches nothing outside itself but the governor, so that threads work on different shards
//! without locks. Additions are *staged* and count only when committed: a batch that runs out of memory
//! in one shard is taken back in all.

use crate::{Governor, OverBudget};

use super::bits::Bits;
use super::core::{Diagram, Root};
use super::levels::Levels;

/// The sets of a closed diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Every state seen.
    Closed,
    /// The layer being expanded.
    Frontier,
    /// The layer being found.
    Next,
}

impl Set {
    /// All of them.
    pub(super) const ALL: [Set; 3] = [Set::Closed, Set::Frontier, Set::Next];

    /// The name of the root.
    pub(super) fn name(self) -> &'static str {
        match self {
            Set::Closed => "closed",
            Set::Frontier => "frontier",
            Set::Next => "next",
        }
    }
}

/// Which sets take the fresh states of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The closed set only.
    Closed,
    /// The closed set and the next layer.
    ClosedAndNext,
}

pub(super) struct Shard {
    pub(super) diagram: Diagram,
    /// States closed.
    pub(super) len: u64,
    /// Candidates seen, older ones counting less: where threads have their work.
    pub(super) work: u64,
    /// Which states of the staged batch are fresh.
    pub(super) fresh: Bits,
    sets: [Root; 3],
    layer: Root,
    staged_closed: Root,
    staged_next: Root,
    staged: Option<Keep>,
}

/// Words of the states moved at a time when a shard is split.
const MOVED_WORDS: usize = 1 << 14;

impl Shard {
    pub(super) fn new(levels: Levels, governor: &Governor) -> Result<Self, OverBudget> {
        Ok(Self::over(Diagram::new(levels, governor)?, 0))
    }

    /// A shard over a diagram that has some of the sets already, with `len` closed states.
    pub(super) fn over(mut diagram: Diagram, len: u64) -> Self {
        let mut root = |name| diagram.root(name).unwrap_or_else(|| diagram.add_root(name));
        let sets = Set::ALL.map(|set| root(set.name()));
        let [layer, staged_closed, staged_next] = ["layer", "staged closed", "staged next"].map(root);
        let fresh = Bits::default();
        Shard { diagram, len, work: 0, fresh, sets, layer, staged_closed, staged_next, staged: None }
    }

    pub(super) fn root(&self, set: Set) -> Root {
        self.sets[set as usize]
    }

    /// Finds the fresh states of an ascending batch and prepares to add them.
    pub(super) fn stage(&mut self, batch: &[u64], keep: Keep) -> Result<(), OverBudget> {
        let (closed, next) = (self.root(Set::Closed), self.root(Set::Next));
        self.fresh.reset(batch.len() / self.diagram.levels().words());
        self.diagram.each_present(closed, batch, |at| self.fresh.set(at));
        self.fresh.invert();
        self.staged = Some(keep);
        self.diagram.build_chosen(self.layer, batch, &self.fresh)?;
        self.diagram.unite(self.staged_closed, closed, self.layer)?;
        if keep == Keep::ClosedAndNext {
            self.diagram.unite(self.staged_next, next, self.layer)?;
        }
        Ok(())
    }

    /// Makes what was staged part of the sets; returns how many states were fresh.
    pub(super) fn commit(&mut self) -> usize {
        let Some(keep) = self.staged else { return 0 };
        self.diagram.assign(self.root(Set::Closed), self.staged_closed);
        if keep == Keep::ClosedAndNext {
            self.diagram.assign(self.root(Set::Next), self.staged_next);
        }
        let fresh = self.fresh.count_ones();
        self.len += fresh as u64;
        self.work += self.fresh.len() as u64;
        self.unstage();
        fresh
    }

    /// Forgets what was staged.
    pub(super) fn unstage(&mut self) {
        for root in [self.layer, self.staged_closed, self.staged_next] {
            self.diagram.clear(root);
        }
        self.staged = None;
    }

    /// Makes the next layer the frontier, and the next layer empty.
    pub(super) fn turn_layer(&mut self) {
        self.diagram.assign(self.root(Set::Frontier), self.root(Set::Next));
        self.diagram.clear(self.root(Set::Next));
    }

    /// Takes the next layer out of the closed set, and forgets it.
    pub(super) fn forget_next(&mut self) -> Result<(), OverBudget> {
        let (closed, next) = (self.root(Set::Closed), self.root(Set::Next));
        self.len -= self.diagram.count(next)?;
        self.diagram.subtract(closed, closed, next)?;
        self.diagram.clear(next);
        Ok(())
    }

    /// Takes states that are there out of the closed set.
    pub(super) fn remove(&mut self, batch: &[u64]) -> Result<(), OverBudget> {
        let closed = self.root(Set::Closed);
        self.diagram.build(self.layer, batch)?;
        self.diagram.subtract(closed, closed, self.layer)?;
        self.diagram.clear(self.layer);
        self.len -= (batch.len() / self.diagram.levels().words()) as u64;
        Ok(())
    }

    /// Copies of the lower and the upper half, and the first state of the upper.
    pub(super) fn halves(&self, governor: &Governor) -> Result<(Shard, Shard, Vec<u64>), OverBudget> {
        let levels = self.diagram.levels();
        let words = levels.words();
        let moved = (MOVED_WORDS / words).max(1);
        let mut lower = Shard::new(levels.clone(), governor)?;
        let mut upper = Shard::new(levels.clone(), governor)?;
        let mut pivot: Option<Vec<u64>> = None;
        let mut batch = Vec::new();
        for set in Set::ALL {
            let mut position = self.diagram.enumerate(self.root(set));
            loop {
                batch.clear();
                if position.next_batch(&self.diagram, moved, &mut batch) == 0 {
                    break;
                }
                let count = batch.len() / words;
                let below = match &pivot {
                    Some(pivot) => first_not_below(&batch, words, pivot),
                    None => ((self.len / 2 - lower.len) as usize).min(count),
                };
                if pivot.is_none() && below < count {
                    pivot = Some(batch[below * words..][..words].to_vec());
                }
                lower.insert(set, &batch[..below * words])?;
                upper.insert(set, &batch[below * words..])?;
            }
        }
        for half in [&mut lower, &mut upper] {
            half.work = self.work / 2;
            half.diagram.clear(half.layer);
        }
        // A shard of fewer than two states has no halves, and is never split.
        Ok((lower, upper, pivot.unwrap_or_default()))
    }

    fn insert(&mut self, set: Set, batch: &[u64]) -> Result<(), OverBudget> {
        let root = self.root(set);
        self.diagram.build(self.layer, batch)?;
        self.diagram.unite(root, root, self.layer)?;
        if set == Set::Closed {
            self.len += (batch.len() / self.diagram.levels().words()) as u64;
        }
        Ok(())
    }
}

/// The index of the first state of the ascending `batch` that is not below `bound`.
pub(super) fn first_not_below(batch: &[u64], words: usize, bound: &[u64]) -> usize {
    let (mut low, mut high) = (0, batch.len() / words);
    while low < high {
        let middle = low + (high - low) / 2;
        if hadal_system::state::compare(&batch[middle * words..][..words], bound).is_lt() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
