//! What a directed search remembers of each state beside the state itself, by the state's number in the table.

use hadal_store::governor::Reservation;
use hadal_store::{Governor, OverBudget};
use hadal_system::Label;
use hadal_system::guide::Distance;

/// No node: the parent of an initial state.
pub(super) const NONE: u32 = u32::MAX;
/// Records per chunk; chunks never move.
const CHUNK: usize = 4096;

/// How a state was reached, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The state it was reached from, or [`NONE`].
    pub(super) parent: u32,
    /// By which transition (or as which initial state).
    pub(super) label: Label,
    /// At which cost.
    pub(super) g: u32,
    /// The estimate.
    pub(super) h: Distance,
    /// The best queue that an entry of it is in.
    pub(super) queue: u32,
    flags: u32,
}

/// A yes or no about a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Flag {
    /// It was expanded and is not open.
    Closed = 1,
    /// A property looks at it: something is broken or met here.
    Hit = 2,
    /// Seen in the pass that is going on (climbing, shortening, breadth-first turns).
    Marked = 4,
    /// Its estimate is known.
    Estimated = 8,
    /// Some of its successors were not looked at yet.
    Unfinished = 16,
}

/// Bits of flags below the number of successors that were looked at.
const FLAG_BITS: u32 = 8;

impl Node {
    pub(super) fn new(parent: u32, label: Label, g: u32) -> Self {
        Node { parent, label, g, h: Distance::ZERO, queue: u32::MAX, flags: 0 }
    }

    pub(super) fn is(&self, flag: Flag) -> bool {
        self.flags & flag as u32 != 0
    }

    pub(super) fn set(&mut self, flag: Flag) {
        self.flags |= flag as u32;
    }

    pub(super) fn clear(&mut self, flag: Flag) {
        self.flags &= !(flag as u32);
    }

    /// How many of its successors were looked at, where it is unfinished.
    pub(super) fn looked_at(&self) -> usize {
        (self.flags >> FLAG_BITS) as usize
    }

    /// Notes that so many of its successors were looked at, and not all; false where that number is too large.
    pub(super) fn leave_unfinished(&mut self, looked_at: usize) -> bool {
        if looked_at >= 1 << (u32::BITS - FLAG_BITS) {
            return false;
        }
        self.finish();
        self.flags |= Flag::Unfinished as u32 | (looked_at as u32) << FLAG_BITS;
        true
    }

    /// Notes that all of its successors were looked at, or none.
    pub(super) fn finish(&mut self) {
        self.flags &= (1 << FLAG_BITS) - 1 - Flag::Unfinished as u32;
    }
}

/// The nodes of all states of a table, by number.
pub(super) struct Nodes {
    chunks: Vec<Box<[Node]>>,
    len: usize,
    reservation: Reservation,
}

impl Nodes {
    pub(super) fn new(governor: &Governor) -> Self {
        Nodes { chunks: Vec::new(), len: 0, reservation: governor.empty("open and closed states") }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for `more` nodes.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), OverBudget> {
        while self.len + more > self.chunks.len() * CHUNK {
            self.reservation.try_grow((CHUNK * size_of::<Node>()) as u64)?;
            self.chunks.push(vec![Node::new(NONE, Label(0), 0); CHUNK].into_boxed_slice());
        }
        Ok(())
    }

    /// Appends a node, for which there is room.
    pub(super) fn push(&mut self, node: Node) {
        self.chunks[self.len / CHUNK][self.len % CHUNK] = node;
        self.len += 1;
    }

    pub(super) fn get(&self, at: u32) -> &Node {
        &self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut Node {
        &mut self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }

    /// Forgets all nodes, keeps the memory.
    pub(super) fn forget(&mut self) {
        self.len = 0;
    }

    /// Takes a flag from every node.
    pub(super) fn clear_all(&mut self, flag: Flag) {
        for chunk in &mut self.chunks {
            chunk.iter_mut().for_each(|node| node.clear(flag));
        }
    }

    /// The numbers from an initial state to `at`.
    pub(super) fn path(&self, at: u32) -> Vec<u32> {
        let mut path = vec![at];
        let mut here = self.get(at).parent;
        while here != NONE {
            path.push(here);
            here = self.get(here).parent;
        }
        path.reverse();
        path
    }
}
