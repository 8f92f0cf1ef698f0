//! The baseline: an open-addressing table of whole states, linear probing, never grown.

pub struct Table<const W: usize> {
    slots: Vec<[u64; W]>,
    len: usize,
}

/// No state of the benchmark has all bits set.
const VACANT: u64 = !0;

impl<const W: usize> Table<W> {
    /// A table that is at most three quarters full with `states`.
    pub fn for_states(states: usize) -> Self {
        let slots = (states * 4 / 3 + 16).next_power_of_two();
        Table { slots: vec![[VACANT; W]; slots], len: 0 }
    }

    /// Adds a state; whether it is new.
    pub fn insert(&mut self, state: [u64; W]) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = hadal_system::state::hash(&state) as usize & mask;
        loop {
            if self.slots[at] == state {
                return false;
            }
            if self.slots[at] == [VACANT; W] {
                self.slots[at] = state;
                self.len += 1;
                return true;
            }
            at = (at + 1) & mask;
        }
    }

    pub fn is_crowded(&self) -> bool {
        self.len * 4 >= self.slots.len() * 3
    }

    /// Empties a table that holds exactly `states`.
    pub fn clear(&mut self, states: &[[u64; W]]) {
        if states.len() > self.slots.len() / 16 {
            self.slots.fill([VACANT; W]);
        } else {
            let mask = self.slots.len() - 1;
            for state in states {
                let mut at = hadal_system::state::hash(state) as usize & mask;
                // Everything up to the next vacancy goes: what stands there is in `states` too.
                while self.slots[at] != [VACANT; W] {
                    self.slots[at] = [VACANT; W];
                    at = (at + 1) & mask;
                }
            }
        }
        self.len = 0;
    }

    pub fn bytes(&self) -> usize {
        self.slots.len() * W * 8
    }
}
