//! A set of groups that grows until it is stubborn.

/// A set on its way to being stubborn.
#[derive(Clone)]
pub(super) struct Growing {
    pub(super) set: Vec<u64>,
    /// Disabled groups for which the set has all that can enable them.
    pub(super) settled: Vec<u64>,
    /// Enabled members that have not brought anything along yet.
    pub(super) open: Vec<u32>,
    /// No word before this one has disabled members that are not settled.
    from: usize,
    /// How many enabled groups the set has.
    pub(super) count: u32,
}

impl Growing {
    pub(super) fn new(words: usize) -> Self {
        let empty = vec![0; words];
        Growing { set: empty.clone(), settled: empty, open: Vec::new(), from: 0, count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.set.fill(0);
        self.settled.fill(0);
        self.open.clear();
        self.from = 0;
        self.count = 0;
    }

    pub(super) fn copy_from(&mut self, other: &Growing) {
        self.set.copy_from_slice(&other.set);
        self.settled.copy_from_slice(&other.settled);
        self.open.clear();
        self.from = 0;
        self.count = other.count;
    }

    pub(super) fn add(&mut self, row: &[u64], enabled: &[u64]) {
        for (at, &word) in row.iter().enumerate() {
            let fresh = word & !self.set[at];
            if fresh != 0 {
                let enabled = enabled[at];
                self.set[at] |= fresh;
                self.from = self.from.min(at);
                let mut fresh = fresh & enabled;
                self.count += fresh.count_ones();
                while fresh != 0 {
                    self.open.push(at as u32 * 64 + fresh.trailing_zeros());
                    fresh &= fresh - 1;
                }
            }
        }
    }

    /// A disabled member that is not settled.
    pub(super) fn unsettled(&mut self, enabled: &[u64]) -> Option<usize> {
        while self.from < self.set.len() {
            let at = self.from;
            let rest = self.set[at] & !enabled[at] & !self.settled[at];
            if rest != 0 {
                return Some(at * 64 + rest.trailing_zeros() as usize);
            }
            self.from += 1;
        }
        None
    }
}
