//! What part of a table holds, in ascending order, as much at a time as there is memory for.

use crate::ram::layer::Range;
use hadal_store::shape::RecordShape;
use hadal_store::sort::{scratch_bytes, sort_records};
use hadal_store::table::StateTable;
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::Ascending;
use hadal_system::state::compare;
use std::cmp::Ordering;

/// Records copied from the table at a time.
const WINDOW: u64 = 512;
/// Records that there must be memory for.
const FEWEST: u64 = 256;

/// The records of parts of a table, each portion after the one before.
pub(super) struct Portions<'t> {
    table: &'t StateTable,
    ranges: &'t [Range],
    shape: RecordShape,
    /// Records of a portion, at most.
    most: usize,
    /// Records to come.
    left: u64,
    flat: Vec<u64>,
    /// The greatest state that was told.
    told: Vec<u64>,
    _memory: Reservation,
}

impl<'t> Portions<'t> {
    /// All of these parts, with as much memory as there is.
    pub(super) fn of(
        table: &'t StateTable,
        ranges: &'t [Range],
        governor: &Governor,
    ) -> Result<Self, OverBudget> {
        let shape = RecordShape::keeping(table.words(), table.payload());
        let left = states(ranges);
        let mut most = left;
        let memory = loop {
            let bytes = most * shape.bytes() as u64 + scratch_bytes(shape, most as usize);
            match governor.try_reserve(bytes, "sorting") {
                Ok(memory) => break memory,
                Err(full) if most <= FEWEST => return Err(full),
                Err(_) => most = (most / 4 * 3).max(FEWEST),
            }
        };
        let flat = Vec::with_capacity(most as usize * shape.stride());
        Ok(Portions {
            table,
            ranges,
            shape,
            most: most as usize,
            left,
            flat,
            told: Vec::new(),
            _memory: memory,
        })
    }

    /// The next ones.
    pub(super) fn next(&mut self) -> Option<Ascending<'_>> {
        if self.left == 0 {
            return None;
        }
        self.flat.clear();
        match self.left <= self.most as u64 && self.told.is_empty() {
            true => self.take_all(),
            false => self.take_least(),
        }
        sort_records(self.shape, &mut self.flat);
        self.left -= (self.flat.len() / self.shape.stride()) as u64;
        let last = self.flat.len().saturating_sub(self.shape.stride());
        self.told.clear();
        self.told.extend_from_slice(self.shape.state(&self.flat[last..]));
        Some(Ascending::new(self.shape.stride(), &self.flat))
    }

    fn take_all(&mut self) {
        for range in self.ranges {
            self.table.copy_records(range.writer, range.from, range.to, &mut self.flat);
        }
    }

    /// Takes the least of those not told: whenever there is no more memory, the greater half waits for its turn.
    fn take_least(&mut self) {
        let (shape, full) = (self.shape, self.most * self.shape.stride());
        let (mut window, mut bound) = (Vec::new(), Vec::new());
        for range in self.ranges {
            for from in (range.from..range.to).step_by(WINDOW as usize) {
                window.clear();
                self.table.copy_records(range.writer, from, range.to.min(from + WINDOW), &mut window);
                for record in window.chunks_exact(shape.stride()) {
                    let state = shape.state(record);
                    if !self.told.is_empty() && compare(state, &self.told) != Ordering::Greater {
                        continue;
                    }
                    if self.flat.len() == full {
                        sort_records(shape, &mut self.flat);
                        self.flat.truncate(self.most.div_ceil(2) * shape.stride());
                        bound.clear();
                        bound.extend_from_slice(shape.state(&self.flat[self.flat.len() - shape.stride()..]));
                    }
                    if bound.is_empty() || compare(state, &bound) == Ordering::Less {
                        self.flat.extend_from_slice(record);
                    }
                }
            }
        }
    }
}

/// How many states are in parts of a table.
pub(super) fn states(ranges: &[Range]) -> u64 {
    ranges.iter().map(|range| range.to - range.from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn portions_are_the_sorted_states_whatever_the_memory(
            drawn in proptest::collection::btree_set((0u64..1 << 40, 0u64..8), 1..4000),
            room in 1u64..3000,
        ) {
            let everything = Governor::unlimited();
            let mut table = StateTable::new(2, 0, 2, &everything).unwrap();
            let mut shuffled: Vec<_> = drawn.iter().map(|&(a, b)| [a, b]).collect();
            shuffled.sort_by_key(|state| state[0].wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let (_, mut writers) = table.share();
            let half = shuffled.len() / 2;
            writers[0].insert_all(shuffled[..half].as_flattened(), |_, _| {}, |_, _| {}).unwrap();
            writers[1].insert_all(shuffled[half..].as_flattened(), |_, _| {}, |_, _| {}).unwrap();
            let ranges = [
                Range { writer: 0, from: 0, to: half as u64 },
                Range { writer: 1, from: 0, to: (shuffled.len() - half) as u64 },
            ];
            let governor = Governor::new(16 * (FEWEST + room));
            let mut portions = Portions::of(&table, &ranges, &governor).unwrap();
            let mut told = Vec::new();
            while let Some(portion) = portions.next() {
                prop_assert!(portion.flat().len() as u64 * 8 <= governor.limit());
                told.extend(portion.flat().chunks(2).map(|state| [state[0], state[1]]));
            }
            prop_assert!(told.is_sorted_by(|a, b| compare(a, b) == Ordering::Less));
            prop_assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), shuffled.into_iter().collect());
        }
    }

    #[test]
    fn without_memory_for_a_few_states_there_are_no_portions() {
        let mut table = StateTable::new(1, 0, 1, &Governor::unlimited()).unwrap();
        let states: Vec<u64> = (0..1000).collect();
        table.insert_all(&states, |_, _| {}, |_, _| {}).unwrap();
        let all = [Range { writer: 0, from: 0, to: 1000 }];
        assert!(Portions::of(&table, &all, &Governor::new(8 * FEWEST - 1)).is_err());
        assert!(Portions::of(&table, &all, &Governor::new(8 * FEWEST)).is_ok());
    }
}
