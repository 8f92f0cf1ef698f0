//! The partitions in RAM (Evangelista and Kristensen 2011, sec. 2 and 7): one table for the states of all of them, so that
//! transitions between them are found out at once.
//!
//! States stand in the table in the order of arrival. What was read from files was expanded before; of the rest,
//! everything before one position is expanded and everything after it is still to be. No other queue is needed in RAM.

use hadal_store::table::{StateRef, StateTable};
use hadal_store::{Governor, OverBudget, Reservation};

/// States that arrived in the same way, from a position up to the next segment.
#[derive(Clone, Copy)]
struct Segment {
    from: u64,
    origin: Origin,
}

/// How states came into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// From a file that still holds them: expanded before.
    File,
    /// Found now: numbered one by one from here.
    Found(u64),
    /// Found in an earlier visit that had no time to expand them: their numbers are kept, from here on.
    Reopened(usize),
}

/// Bytes beside a state: a number if it was reopened, and its partition.
const BESIDE: u64 = 8 + 4;

/// What is in RAM.
pub(super) struct Resident {
    table: StateTable,
    segments: Vec<Segment>,
    numbers: Vec<u64>,
    /// The partition of each state, which says more cheaply than the diagram where it goes.
    owners: Vec<u32>,
    /// Everything before this position is expanded.
    pub(super) expanded: u64,
    /// Which partitions.
    pub(super) partitions: Vec<u32>,
    /// Whether a partition is one of them, by its number.
    here: Vec<bool>,
    /// Most states.
    pub(super) bound: u64,
    /// Most states that the memory has room for.
    fits: u64,
    memory: Reservation,
}

impl Resident {
    /// A table within `bytes`; it never takes more than `most` states.
    pub(super) fn new(words: usize, bytes: u64, most: u64, governor: &Governor) -> Result<Self, OverBudget> {
        // The table needs at most 20 bytes for a state besides the state: its index grows by doubling, up to 19.7.
        let fits = bytes / 20 * 19 / (words as u64 * 8 + 20 + BESIDE);
        let fits = fits.max(4);
        let bound = fits.min(most).max(4);
        let memory = governor.try_reserve(bound * BESIDE, "numbers of states")?;
        Ok(Resident {
            table: StateTable::new(words, 0, 1, &governor.part(bytes - bound * BESIDE))?,
            segments: Vec::new(),
            numbers: Vec::new(),
            owners: Vec::new(),
            expanded: 0,
            partitions: Vec::new(),
            here: Vec::new(),
            bound,
            fits,
            memory,
        })
    }

    /// Bytes that it takes when it is full.
    pub(super) fn bytes(&self) -> u64 {
        self.bound * (8 * self.table.words() as u64 + 20 + BESIDE)
    }

    /// Raises the bound so that more than this many states fit; `false` where memory has no room for them.
    pub(super) fn enlarge(&mut self, states: u64) -> bool {
        let bound = states.saturating_mul(2).max(self.bound).min(self.fits);
        let is_larger = bound > states && self.memory.try_resize(bound * BESIDE).is_ok();
        if is_larger {
            self.bound = bound;
        }
        is_larger
    }

    /// Makes room for a partition.
    pub(super) fn join(&mut self, partition: u32) {
        self.partitions.push(partition);
        self.here.resize(self.here.len().max(partition as usize + 1), false);
        self.here[partition as usize] = true;
    }

    /// Whether a partition is in RAM.
    pub(super) fn has(&self, partition: u32) -> bool {
        self.here.get(partition as usize).copied().unwrap_or(false)
    }

    /// States in it.
    pub(super) fn len(&self) -> u64 {
        self.table.added_by(0)
    }

    /// States that can still be added.
    pub(super) fn room(&self) -> u64 {
        self.bound.saturating_sub(self.len())
    }

    /// The state at a position.
    pub(super) fn state(&self, at: u64) -> &[u64] {
        self.table.nth(0, at)
    }

    /// From here on states arrive in this way.
    pub(super) fn begin(&mut self, origin: Origin) {
        let from = self.len();
        if self.segments.last().is_some_and(|last| last.from == from) {
            self.segments.pop();
        }
        self.segments.push(Segment { from, origin });
    }

    /// Prepares for this many further states, as far as there may be so many.
    pub(super) fn expect(&mut self, states: u64) -> Result<(), OverBudget> {
        self.table.expect(states.min(self.room()))
    }

    /// Adds states that are not there yet; `added` is told which, and says of what partition they are.
    pub(super) fn insert(
        &mut self,
        states: &[u64],
        mut added: impl FnMut(usize) -> u32,
    ) -> Result<(), OverBudget> {
        let owners = &mut self.owners;
        self.table.insert_all(states, |_, _| {}, |n, _| owners.push(added(n)))
    }

    /// Adds states of a partition that an earlier visit found, each behind its number.
    pub(super) fn reopen_all(&mut self, records: &[u64], partition: u32) -> Result<(), OverBudget> {
        let (numbers, owners) = (&mut self.numbers, &mut self.owners);
        for record in records.chunks_exact(self.table.words() + 1) {
            let added = |_, _| {
                numbers.push(record[0]);
                owners.push(partition);
            };
            self.table.insert_all(&record[1..], |_, _| {}, added)?;
        }
        Ok(())
    }

    /// The partition of the state at a position, as it was when the state arrived.
    pub(super) fn owner(&self, at: u64) -> u32 {
        self.owners[at as usize]
    }

    /// How many reopened states there are.
    pub(super) fn reopened(&self) -> usize {
        self.numbers.len()
    }

    fn segment(&self, at: u64) -> Segment {
        self.segments[self.segments.partition_point(|segment| segment.from <= at) - 1]
    }

    /// How the state at a position arrived.
    pub(super) fn origin(&self, at: u64) -> Origin {
        self.segment(at).origin
    }

    /// The number of the state at a position; `None` of one that was expanded in an earlier visit.
    pub(super) fn number(&self, at: u64) -> Option<u64> {
        let Segment { from, origin } = self.segment(at);
        match origin {
            Origin::File => None,
            Origin::Found(first) => Some(first + (at - from)),
            Origin::Reopened(first) => Some(self.numbers[first + (at - from) as usize]),
        }
    }

    /// Where a state is.
    pub(super) fn find(&self, state: &[u64]) -> Option<u64> {
        self.table.find(state).map(StateRef::number)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) -> Result<(), OverBudget> {
        self.segments.clear();
        self.numbers.clear();
        self.owners.clear();
        self.expanded = 0;
        self.partitions.clear();
        self.here.clear();
        self.table.clear()
    }
}
