//! Sets of scalars, as sorted ranges of slot numbers: a whole array is one range, a scattered set stays short.

use std::fmt;

/// A set of slots.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotSet {
    /// Half-open, ascending, never empty, never touching each other.
    ranges: Vec<(u32, u32)>,
}

impl SlotSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The slots `from..to`.
    pub fn range(from: u32, to: u32) -> Self {
        let mut set = Self::new();
        set.insert_range(from, to);
        set
    }

    /// Whether no slot is in the set.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many slots are in the set.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|&(from, to)| (to - from) as usize).sum()
    }

    /// The ranges that make up the set: half-open, ascending, apart from each other.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// The slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|&(from, to)| from..to)
    }

    /// Whether `slot` is in the set.
    pub fn contains(&self, slot: u32) -> bool {
        let after = self.ranges.partition_point(|&(from, _)| from <= slot);
        after > 0 && slot < self.ranges[after - 1].1
    }

    /// Adds one slot.
    pub fn insert(&mut self, slot: u32) {
        self.insert_range(slot, slot + 1);
    }

    /// Adds the slots `from..to`.
    pub fn insert_range(&mut self, from: u32, to: u32) {
        if from >= to {
            return;
        }
        let first = self.ranges.partition_point(|&(_, end)| end < from);
        let after = self.ranges.partition_point(|&(start, _)| start <= to);
        if first == after {
            self.ranges.insert(first, (from, to));
            return;
        }
        let merged = (self.ranges[first].0.min(from), self.ranges[after - 1].1.max(to));
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..after);
    }

    /// Removes the slots `from..to`.
    pub fn remove_range(&mut self, from: u32, to: u32) {
        if from >= to || !self.meets_range(from, to) {
            return;
        }
        let mut kept = Vec::with_capacity(self.ranges.len() + 1);
        for &(start, end) in &self.ranges {
            if start < from {
                kept.push((start, end.min(from)));
            }
            if end > to {
                kept.push((start.max(to), end));
            }
        }
        self.ranges = kept;
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &SlotSet) {
        if other.ranges.len() < 4 {
            for &(from, to) in &other.ranges {
                self.insert_range(from, to);
            }
            return;
        }
        let mut all: Vec<(u32, u32)> = self.ranges.iter().chain(&other.ranges).copied().collect();
        all.sort_unstable();
        self.ranges.clear();
        for (from, to) in all {
            match self.ranges.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => self.ranges.push((from, to)),
            }
        }
    }

    /// Whether some slot of `from..to` is in the set.
    pub fn meets_range(&self, from: u32, to: u32) -> bool {
        let first = self.ranges.partition_point(|&(_, end)| end <= from);
        from < to && self.ranges.get(first).is_some_and(|&(start, _)| start < to)
    }

    /// Whether the sets have a slot in common.
    pub fn meets(&self, other: &SlotSet) -> bool {
        let (mut i, mut j) = (0, 0);
        while let (Some(&(a, b)), Some(&(c, d))) = (self.ranges.get(i), other.ranges.get(j)) {
            if b <= c {
                i += 1;
            } else if d <= a {
                j += 1;
            } else {
                return true;
            }
        }
        false
    }

    /// Whether every slot is in `other` too.
    pub fn is_subset(&self, other: &SlotSet) -> bool {
        self.ranges.iter().all(|&(from, to)| {
            let after = other.ranges.partition_point(|&(start, _)| start <= from);
            after > 0 && to <= other.ranges[after - 1].1
        })
    }

    /// The slots that are in both.
    pub fn common(&self, other: &SlotSet) -> SlotSet {
        let (mut i, mut j) = (0, 0);
        let mut ranges = Vec::new();
        while let (Some(&(a, b)), Some(&(c, d))) = (self.ranges.get(i), other.ranges.get(j)) {
            let (from, to) = (a.max(c), b.min(d));
            if from < to {
                ranges.push((from, to));
            }
            if b <= d {
                i += 1;
            } else {
                j += 1;
            }
        }
        SlotSet { ranges }
    }
}

impl FromIterator<u32> for SlotSet {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        let mut set = SlotSet::new();
        for slot in slots {
            set.insert(slot);
        }
        set
    }
}

impl fmt::Debug for SlotSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.ranges.iter().map(|&(from, to)| from..to)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_tree_set_under_random_edits() {
        let mut random = Random::new(7);
        let mut next = |below: u32| random.below(below);
        let (mut sets, mut models) = (vec![SlotSet::new(); 2], vec![BTreeSet::new(); 2]);
        for _ in 0..2000 {
            let which = next(2) as usize;
            let from = next(60);
            let to = from + next(8);
            if next(3) > 0 {
                sets[which].insert_range(from, to);
                models[which].extend(from..to);
            } else {
                sets[which].remove_range(from, to);
                models[which].retain(|s| !(from..to).contains(s));
            }
            for (set, model) in sets.iter().zip(&models) {
                assert!(set.iter().eq(model.iter().copied()));
                assert_eq!(set.len(), model.len());
                assert!(set.ranges.windows(2).all(|w| w[0].1 < w[1].0));
                assert!((0..70).all(|s| set.contains(s) == model.contains(&s)));
            }
            let common: Vec<u32> = models[0].intersection(&models[1]).copied().collect();
            assert!(sets[0].common(&sets[1]).iter().eq(common.iter().copied()));
            assert_eq!(sets[0].meets(&sets[1]), !common.is_empty());
            assert_eq!(sets[0].is_subset(&sets[1]), models[0].is_subset(&models[1]));
            assert_eq!(sets[0].meets_range(from, to), models[0].range(from..to.max(from)).next().is_some());
            let mut union = sets[0].clone();
            union.extend(&sets[1]);
            assert!(union.iter().eq(models[0].union(&models[1]).copied()));
        }
    }
}
