//! A symmetric table of pairs of facts, a row of bits per fact; the diagonal says which facts there are.

/// The table.
#[derive(Clone)]
pub(crate) struct Table {
    words: usize,
    bits: Vec<u64>,
    /// The diagonal as a set.
    reached: Vec<u64>,
    grew: bool,
}

impl Table {
    /// Without any pair of so many facts.
    pub(crate) fn empty(facts: usize) -> Self {
        let words = facts.div_ceil(64).max(1);
        Table { words, bits: vec![0; words * facts], reached: vec![0; words], grew: false }
    }

    /// With all pairs of so many facts.
    pub(crate) fn full(facts: usize) -> Self {
        let mut table = Table::empty(facts);
        table.bits.fill(u64::MAX);
        table.reached.fill(u64::MAX);
        table
    }

    /// Words of a set of facts.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The facts there are.
    pub(crate) fn reached(&self) -> &[u64] {
        &self.reached
    }

    pub(crate) fn grew(&self) -> bool {
        self.grew
    }

    pub(crate) fn forget_growth(&mut self) {
        self.grew = false;
    }

    fn row(&self, fact: u32) -> &[u64] {
        &self.bits[fact as usize * self.words..(fact as usize + 1) * self.words]
    }

    #[inline]
    pub(crate) fn has(&self, left: u32, right: u32) -> bool {
        self.bits[left as usize * self.words + right as usize / 64] >> (right % 64) & 1 == 1
    }

    /// Whether these facts go together, each with itself included.
    pub(crate) fn has_all(&self, facts: &[u32]) -> bool {
        facts.iter().enumerate().all(|(at, &left)| facts[at..].iter().all(|&right| self.has(left, right)))
    }

    pub(crate) fn add(&mut self, left: u32, right: u32) {
        if self.has(left, right) {
            return;
        }
        for (one, other) in [(left, right), (right, left)] {
            self.bits[one as usize * self.words + other as usize / 64] |= 1 << (other % 64);
        }
        if left == right {
            self.reached[left as usize / 64] |= 1 << (left % 64);
        }
        self.grew = true;
    }

    /// Leaves in `set` what goes with a fact.
    pub(crate) fn restrict(&self, set: &mut [u64], fact: u32) {
        set.iter_mut().zip(self.row(fact)).for_each(|(set, row)| *set &= row);
    }

    /// Pairs a fact with all of `set` that go with it in `within`.
    pub(crate) fn add_row(&mut self, fact: u32, set: &[u64], within: &Table) {
        for (word, &set) in set.iter().enumerate() {
            let at = fact as usize * self.words + word;
            let mut fresh = set & !self.bits[at] & within.bits[at];
            while fresh != 0 {
                self.add(fact, word as u32 * 64 + fresh.trailing_zeros());
                fresh &= fresh - 1;
            }
        }
    }
}
