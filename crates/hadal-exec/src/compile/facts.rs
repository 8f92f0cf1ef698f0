//! What is known, while emitting, about the codes of scalars at one point of the control flow.
//!
//! A fact bounds the packed code of a scalar at a statically known position. Facts make undefined checks, range
//! checks and whole branches disappear. They are joined where control flow joins.

use cranelift_codegen::ir::StackSlot;

/// A scalar at a position known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// In the current state, by bit offset.
    State(u32),
    /// In a local aggregate, by bit offset.
    Slot(StackSlot, u32),
    /// A scalar local.
    Var(u32),
}

#[derive(Clone, Copy, Debug)]
struct Fact {
    key: Key,
    width: u32,
    lo: u64,
    hi: u64,
}

/// Bounds of codes, sorted by key.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    list: Vec<Fact>,
    /// Words of a state held in registers that may differ from the source state.
    pub dirty: u64,
}

impl Facts {
    /// The least and greatest code the scalar may have.
    pub fn get(&self, key: Key, width: u32) -> Option<(u64, u64)> {
        let at = self.list.binary_search_by(|f| f.key.cmp(&key)).ok()?;
        let fact = &self.list[at];
        (fact.width == width).then_some((fact.lo, fact.hi))
    }

    /// Notes that the scalar's code lies in `lo..=hi` from here on.
    pub fn set(&mut self, key: Key, width: u32, lo: u64, hi: u64) {
        if width == 0 {
            return;
        }
        let fact = Fact { key, width, lo, hi };
        match self.list.binary_search_by(|f| f.key.cmp(&key)) {
            Ok(at) => self.list[at] = fact,
            Err(at) => self.list.insert(at, fact),
        }
    }

    /// Forgets what is known about bits `from..to` of the state.
    pub fn forget_state(&mut self, from: u32, to: u32) {
        self.list.retain(|f| match f.key {
            Key::State(at) => at + f.width <= from || at >= to,
            _ => true,
        });
    }

    /// Forgets what is known about bits `from..to` of a local aggregate.
    pub fn forget_slot(&mut self, slot: StackSlot, from: u32, to: u32) {
        self.list.retain(|f| match f.key {
            Key::Slot(s, at) => s != slot || at + f.width <= from || at >= to,
            _ => true,
        });
    }

    /// Forgets everything a write through a pointer could change.
    pub fn forget_memory(&mut self) {
        self.list.retain(|f| matches!(f.key, Key::Var(_)));
    }

    /// Forgets everything but the state.
    pub fn forget_locals(&mut self) {
        self.list.retain(|f| matches!(f.key, Key::State(_)));
    }

    /// Forgets everything.
    pub fn forget_all(&mut self) {
        self.list.clear();
    }

    /// Keeps what holds on both of two paths.
    pub fn join(&mut self, other: &Facts) {
        self.dirty |= other.dirty;
        let mut at = 0;
        self.list.retain_mut(|fact| {
            while at < other.list.len() && other.list[at].key < fact.key {
                at += 1;
            }
            match other.list.get(at) {
                Some(o) if o.key == fact.key && o.width == fact.width => {
                    fact.lo = fact.lo.min(o.lo);
                    fact.hi = fact.hi.max(o.hi);
                    true
                }
                _ => false,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_keeps_what_both_paths_know() {
        let mut left = Facts::default();
        left.set(Key::State(0), 4, 1, 1);
        left.set(Key::State(4), 4, 2, 2);
        let mut right = Facts::default();
        right.set(Key::State(4), 4, 5, 6);
        right.set(Key::State(8), 4, 5, 6);
        left.join(&right);
        assert_eq!(left.get(Key::State(0), 4), None);
        assert_eq!(left.get(Key::State(4), 4), Some((2, 6)));
        assert_eq!(left.get(Key::State(8), 4), None);
    }

    #[test]
    fn a_write_forgets_every_scalar_it_overlaps() {
        let mut facts = Facts::default();
        for at in [0, 4, 8] {
            facts.set(Key::State(at), 4, 1, 1);
        }
        facts.forget_state(5, 8);
        assert!(facts.get(Key::State(0), 4).is_some());
        assert!(facts.get(Key::State(4), 4).is_none());
        assert!(facts.get(Key::State(8), 4).is_some());
    }
}
