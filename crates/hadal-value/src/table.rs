//! Numbers states in the order of discovery: an open-addressed index over states kept one after the other.

/// Distinct states and their numbers.
#[derive(Debug)]
pub struct StateNumbers {
    words: usize,
    states: Vec<u64>,
    /// Number + 1 of a state, 0 where empty; a power of two of them.
    index: Vec<u32>,
}

impl StateNumbers {
    /// An empty table for states of this many words.
    pub fn new(words: usize) -> Self {
        StateNumbers { words, states: Vec::new(), index: vec![0; 1 << 10] }
    }

    /// Words of a state.
    pub fn words(&self) -> usize {
        self.words
    }

    /// How many states.
    pub fn len(&self) -> usize {
        self.states.len() / self.words
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The state with this number.
    pub fn state(&self, number: usize) -> &[u64] {
        &self.states[number * self.words..(number + 1) * self.words]
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> u64 {
        self.states.capacity() as u64 * 8 + self.index.len() as u64 * 4
    }

    /// The number of a state; `None` where there are no numbers left.
    pub fn number(&mut self, state: &[u64]) -> Option<u32> {
        self.insert(state, hash(state))
    }

    /// The numbers of several states that stand one after the other; `None` where there are no numbers left.
    pub fn numbers(&mut self, states: &[u64], hashes: &mut Vec<u64>, out: &mut Vec<u32>) -> Option<()> {
        hashes.clear();
        let mask = self.index.len() - 1;
        for state in states.chunks_exact(self.words) {
            let h = hash(state);
            prefetch(&self.index, (h >> 32) as usize & mask);
            hashes.push(h);
        }
        // Entries are near by now; the states that they stand for are fetched side by side as well.
        for &h in hashes.iter() {
            if let Some(number) = self.index[(h >> 32) as usize & mask].checked_sub(1) {
                prefetch(&self.states, number as usize * self.words);
            }
        }
        for (state, &h) in states.chunks_exact(self.words).zip(hashes.iter()) {
            out.push(self.insert(state, h)?);
        }
        Some(())
    }

    /// The number of a state that is there.
    pub fn find(&self, state: &[u64]) -> Option<u32> {
        let mask = self.index.len() - 1;
        let mut at = (hash(state) >> 32) as usize & mask;
        loop {
            match self.index[at] {
                0 => return None,
                entry if self.is(entry as usize - 1, state) => return Some(entry - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Whether this is the state with a number. States are short: word by word is faster than a call.
    #[inline]
    fn is(&self, number: usize, state: &[u64]) -> bool {
        self.state(number).iter().zip(state).all(|(one, other)| one == other)
    }

    fn insert(&mut self, state: &[u64], h: u64) -> Option<u32> {
        let mask = self.index.len() - 1;
        let mut at = (h >> 32) as usize & mask;
        loop {
            match self.index[at] {
                0 => break,
                entry if self.is(entry as usize - 1, state) => return Some(entry - 1),
                _ => at = (at + 1) & mask,
            }
        }
        let number = u32::try_from(self.len()).ok().filter(|&n| n < u32::MAX - 2)?;
        self.states.extend_from_slice(state);
        self.index[at] = number + 1;
        if (number as usize + 1) * 8 > self.index.len() * 5 {
            self.grow();
        }
        Some(number)
    }

    fn grow(&mut self) {
        let mask = self.index.len() * 2 - 1;
        self.index = vec![0; mask + 1];
        for number in 0..self.len() {
            let mut at = (hash(self.state(number)) >> 32) as usize & mask;
            while self.index[at] != 0 {
                at = (at + 1) & mask;
            }
            self.index[at] = number as u32 + 1;
        }
    }
}

fn hash(state: &[u64]) -> u64 {
    let mut h = 0x9E37_79B9_7F4A_7C15u64;
    for &word in state {
        let wide = u128::from(h ^ word) * u128::from(0xA076_1D64_78BD_642Fu64);
        h = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(0xE703_7ED1_A0B4_28DB);
    }
    let wide = u128::from(h) * u128::from(0x8EBC_6AF0_9C88_C6E3u64);
    wide as u64 ^ (wide >> 64) as u64
}

#[inline]
fn prefetch<T>(list: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching reads nothing; the address lies in the list.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(list.as_ptr().add(at).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, at);
}
