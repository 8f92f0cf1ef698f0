//! Closed states in RAM: for each key the antichain of those that nothing covers, as a list through one array.

use super::super::Trouble;
use super::antichain::Antichain;
use crate::report::CoverFigures;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::vfs::Disk;
use hadal_store::{Governor, Reservation};
use hadal_system::state::{compare, hash};
use hadal_system::{Cover, Matcher};

/// The end of a list, and an empty slot.
const NONE: u32 = u32::MAX;

/// A list is thinned when it has grown by half, and is at least so long.
const THINNED_FROM: u32 = 8;

/// The states of one key.
#[derive(Clone, Copy)]
struct Key {
    first: u32,
    length: u32,
    /// How long it was when nothing in it covered anything else.
    thinned: u32,
}

/// Antichains by key. What a new state covers is let go of now and then: preparing a comparison costs more than making it.
pub(super) struct Groups<'a> {
    key_words: usize,
    words: usize,
    /// All states that were added; those that were covered later stay until there is no room.
    states: Vec<u64>,
    /// The next state of the same key, by state.
    next: Vec<u32>,
    keys: Vec<Key>,
    /// The number of each key, by its hash.
    slots: Vec<u32>,
    /// Where only equal states cover each other: the number of each state, by its hash.
    equals: Option<Vec<u32>>,
    live: usize,
    matcher: Box<dyn Matcher + 'a>,
    antichain: Antichain<'a>,
    /// A list being thinned: its states, and their numbers in the order of states.
    group: Vec<u64>,
    numbers: Vec<u32>,
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
            keys: Vec::new(),
            slots: vec![NONE; 1 << 10],
            equals: cover.only_equal().then(|| vec![NONE; 1 << 10]),
            live: 0,
            matcher: cover.matcher(),
            antichain: Antichain::new(cover, words),
            group: Vec::new(),
            numbers: Vec::new(),
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
        while self.slots[at] != NONE && &self.state(self.keys[self.slots[at] as usize].first)[first..] != key
        {
            at = (at + 1) & mask;
        }
        at
    }

    /// Where a state is among those that are equal or not: its own place, or the empty one where it belongs.
    fn equal(&self, equals: &[u32], state: &[u64]) -> usize {
        let mask = equals.len() - 1;
        let mut at = hash(state) as usize & mask;
        while equals[at] != NONE && self.state(equals[at]) != state {
            at = (at + 1) & mask;
        }
        at
    }

    /// Whether a closed state covers this one.
    pub(super) fn covers(&mut self, state: &[u64]) -> bool {
        if let Some(equals) = &self.equals {
            return equals[self.equal(equals, state)] != NONE;
        }
        let key = self.slots[self.slot(state)];
        if key == NONE {
            return false;
        }
        let mut at = self.keys[key as usize].first;
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

    /// Adds a state that nothing covers; false where there is no room.
    pub(super) fn add(&mut self, state: &[u64]) -> bool {
        if self.next.len() >= self.room && !self.grow() {
            return false;
        }
        let slot = self.slot(state);
        let new = self.next.len() as u32;
        if let Some(mut equals) = self.equals.take() {
            let at = self.equal(&equals, state);
            if equals[at] != NONE {
                // A layer that is read back may hold what is here already.
                self.equals = Some(equals);
                return true;
            }
            equals[at] = new;
            self.equals = Some(equals);
        }
        self.states.extend_from_slice(state);
        self.live += 1;
        if self.slots[slot] == NONE {
            self.slots[slot] = self.keys.len() as u32;
            self.keys.push(Key { first: new, length: 1, thinned: 1 });
            self.next.push(NONE);
            return true;
        }
        let number = self.slots[slot] as usize;
        let key = &mut self.keys[number];
        self.next.push(key.first);
        (key.first, key.length) = (new, key.length + 1);
        if self.equals.is_none() && key.length >= THINNED_FROM && key.length >= key.thinned + key.thinned / 2
        {
            self.thin(number);
        }
        true
    }

    /// Lets go of what other states of the key cover.
    fn thin(&mut self, number: usize) {
        let words = self.words;
        self.numbers.clear();
        let mut at = self.keys[number].first;
        while at != NONE {
            self.numbers.push(at);
            at = self.next[at as usize];
        }
        let states = &self.states;
        let state = |n: u32| &states[n as usize * words..(n as usize + 1) * words];
        self.numbers.sort_unstable_by(|&a, &b| compare(state(a), state(b)));
        self.group.clear();
        self.numbers.iter().for_each(|&n| self.group.extend_from_slice(state(n)));
        let before = self.numbers.len();
        self.antichain.keep_maximal(&mut self.group);
        // What is left is in the same order.
        let mut left = self.group.chunks_exact(words).peekable();
        self.numbers.retain(|&n| left.next_if(|&kept| kept == state(n)).is_some());
        for pair in self.numbers.windows(2) {
            self.next[pair[0] as usize] = pair[1];
        }
        if let (Some(&first), Some(&last)) = (self.numbers.first(), self.numbers.last()) {
            self.next[last as usize] = NONE;
            let length = self.numbers.len() as u32;
            self.keys[number] = Key { first, length, thinned: length };
        }
        self.live -= before - self.numbers.len();
    }

    fn thin_all(&mut self) {
        if self.equals.is_some() {
            return;
        }
        for number in 0..self.keys.len() {
            if self.keys[number].length > self.keys[number].thinned {
                self.thin(number);
            }
        }
    }

    /// Makes room for more states: by half, or for a few where memory is short.
    fn grow(&mut self) -> bool {
        let more = (self.room / 2).max(1 << 10);
        let room = self.room + more;
        if room > NONE as usize / 2 {
            return false;
        }
        let slots = (room * 3 / 2).next_power_of_two();
        let tables = if self.equals.is_some() { 2 } else { 1 };
        // Both arrays are copied when they grow, and writing them out needs their order.
        let bytes = (room * (self.words * 8 + 4 + size_of::<Key>()) + tables * slots * 4 + room * 4) as u64;
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
        self.slots = vec![NONE; slots];
        let (first, mask) = (self.words - self.key_words, slots - 1);
        for number in 0..self.keys.len() {
            let from = self.keys[number].first as usize * self.words;
            let mut at = hash(&self.states[from + first..from + self.words]) as usize & mask;
            while self.slots[at] != NONE {
                at = (at + 1) & mask;
            }
            self.slots[at] = number as u32;
        }
        if self.equals.is_some() {
            let mut equals = vec![NONE; slots];
            for number in 0..self.next.len() as u32 {
                let at = self.equal(&equals, self.state(number));
                equals[at] = number;
            }
            self.equals = Some(equals);
        }
    }

    pub(super) fn figures(&mut self) -> CoverFigures {
        self.thin_all();
        CoverFigures { discrete: self.keys.len() as u64, maximal: self.live as u64 }
    }

    /// Writes all antichains to a run and forgets them.
    pub(super) fn write(&mut self, disk: &Disk, options: &RunOptions) -> Result<RunFile, Trouble> {
        self.thin_all();
        let mut order: Vec<u32> = Vec::with_capacity(self.live);
        for key in &self.keys {
            let mut at = key.first;
            while at != NONE {
                order.push(at);
                at = self.next[at as usize];
            }
        }
        (self.slots, self.equals) = (Vec::new(), None);
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
