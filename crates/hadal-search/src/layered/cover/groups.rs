//! Closed states in RAM: for each key the antichain of those that nothing covers, as a list through one array.

use super::super::Trouble;
use crate::report::CoverFigures;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::vfs::Disk;
use hadal_store::{Governor, Reservation};
use hadal_system::state::{compare, hash};
use hadal_system::{Cover, Matcher};

/// The end of a list, and an empty slot.
const NONE: u32 = u32::MAX;

/// Antichains by key.
pub(super) struct Groups<'a> {
    key_words: usize,
    words: usize,
    /// All states that were added; those that were covered later stay until there is no room.
    states: Vec<u64>,
    /// The next state of the same key, by state.
    next: Vec<u32>,
    /// The first state of each key, by hash of the key.
    slots: Vec<u32>,
    keys: usize,
    live: usize,
    matcher: Box<dyn Matcher + 'a>,
    small: Box<dyn Matcher + 'a>,
    governor: Governor,
    memory: Reservation,
    /// States for which memory is reserved.
    room: usize,
}

impl<'a> Groups<'a> {
    pub(super) fn new(cover: &'a dyn Cover, words: usize, governor: &Governor) -> Self {
        Groups {
            key_words: cover.key_words(),
            words,
            states: Vec::new(),
            next: Vec::new(),
            slots: vec![NONE; 1 << 10],
            keys: 0,
            live: 0,
            matcher: cover.matcher(),
            small: cover.matcher(),
            governor: governor.clone(),
            memory: governor.empty("antichains"),
            room: 0,
        }
    }

    fn state(&self, n: u32) -> &[u64] {
        &self.states[n as usize * self.words..(n as usize + 1) * self.words]
    }

    /// The slot of a key: its own, or the empty one where it belongs.
    fn slot(&self, state: &[u64]) -> usize {
        let (first, mask) = (self.words - self.key_words, self.slots.len() - 1);
        let key = &state[first..];
        let mut at = hash(key) as usize & mask;
        while self.slots[at] != NONE && &self.state(self.slots[at])[first..] != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Whether a closed state covers this one.
    pub(super) fn covers(&mut self, state: &[u64]) -> bool {
        let mut at = self.slots[self.slot(state)];
        if at == NONE {
            return false;
        }
        self.matcher.choose(state);
        let words = self.words;
        while at != NONE {
            let from = at as usize * words;
            if self.matcher.is_covered_by(&self.states[from..from + words]) {
                return true;
            }
            at = self.next[at as usize];
        }
        false
    }

    /// Adds a state that nothing covers, and lets go of what it covers; false where there is no room.
    pub(super) fn add(&mut self, state: &[u64]) -> bool {
        if self.next.len() >= self.room && !self.grow() {
            return false;
        }
        let slot = self.slot(state);
        let (new, words) = (self.next.len() as u32, self.words);
        let mut at = self.slots[slot];
        self.keys += usize::from(at == NONE);
        let mut before = NONE;
        while at != NONE {
            let following = self.next[at as usize];
            let from = at as usize * words;
            self.small.choose(&self.states[from..from + words]);
            if self.small.is_covered_by(state) {
                match before {
                    NONE => self.slots[slot] = following,
                    _ => self.next[before as usize] = following,
                }
                self.live -= 1;
            } else {
                before = at;
            }
            at = following;
        }
        self.states.extend_from_slice(state);
        self.next.push(self.slots[slot]);
        self.slots[slot] = new;
        self.live += 1;
        true
    }

    /// Makes room for more states: by half, or for a few where memory is short.
    fn grow(&mut self) -> bool {
        let more = (self.room / 2).max(1 << 10);
        let room = self.room + more;
        if room > NONE as usize / 2 {
            return false;
        }
        let slots = (room * 3 / 2).next_power_of_two();
        // Both arrays are copied when they grow, and writing them out needs their order.
        let bytes = (room * (self.words * 8 + 4) + slots * 4 + room * 4) as u64;
        let copied = (self.room * (self.words * 8 + 4)) as u64;
        if self.governor.available() < copied || self.memory.try_resize(bytes).is_err() {
            return false;
        }
        self.states.reserve_exact(more * self.words);
        self.next.reserve_exact(more);
        self.room = room;
        if slots > self.slots.len() {
            self.rehash(slots);
        }
        true
    }

    fn rehash(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![NONE; slots]);
        for head in old.into_iter().filter(|&head| head != NONE) {
            let from = head as usize * self.words;
            let (first, mask) = (self.words - self.key_words, slots - 1);
            let mut at = hash(&self.states[from + first..from + self.words]) as usize & mask;
            while self.slots[at] != NONE {
                at = (at + 1) & mask;
            }
            self.slots[at] = head;
        }
    }

    pub(super) fn figures(&self) -> CoverFigures {
        CoverFigures { discrete: self.keys as u64, maximal: self.live as u64 }
    }

    /// Writes all antichains to a run and forgets them.
    pub(super) fn write(&mut self, disk: &Disk, options: &RunOptions) -> Result<RunFile, Trouble> {
        let mut order: Vec<u32> = Vec::with_capacity(self.live);
        for &head in &self.slots {
            let mut at = head;
            while at != NONE {
                order.push(at);
                at = self.next[at as usize];
            }
        }
        self.slots = Vec::new();
        order.sort_unstable_by(|&a, &b| compare(self.state(a), self.state(b)));
        let mut run = RunWriter::create(disk, RunKind::Closed, options)?;
        for &n in &order {
            run.push(self.state(n))?;
        }
        let run = run.finish()?;
        (self.states, self.next) = (Vec::new(), Vec::new());
        Ok(run)
    }
}
