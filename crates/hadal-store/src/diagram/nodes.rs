//! All nodes of a diagram: the arena, the unique table, and the making of nodes.
//!
//! A node is written at the end of the arena first; when the unique table knows its bytes already,
//! the end moves back. So making a node never allocates, and children lie below their parents.

use crate::{Governor, Reservation};

use super::levels::MAX_LEVELS;
use super::node::{
    self, EMPTY, FIRST, FIRST_INLINE, Labels, MAX_BRANCH_BYTES, MAX_INLINE, Node, Ref, TERMINAL, UNIT,
};
use super::unique::{self, UniqueTable};

/// No room for one more node: collect, then try again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Full;

/// Bytes of the arena's lease: its capacity, and the mark bits a collection will need.
pub(super) fn leased_for(capacity: usize) -> usize {
    capacity + capacity / 16 + 1024
}

const MIN_CAPACITY: usize = 1 << 14;
const MAX_CAPACITY: usize = FIRST_INLINE as usize * UNIT;

pub(super) struct Nodes {
    bytes: Vec<u8>,
    table: UniqueTable,
    arena_lease: Reservation,
    table_lease: Reservation,
    /// No node of this diagram is longer.
    max_node: usize,
    /// Nodes in the arena, live or not.
    count: usize,
    /// Calls that made or found a node.
    pub(super) made: u64,
}

impl Nodes {
    pub(super) fn new(levels: usize, governor: &Governor) -> Result<Self, Full> {
        debug_assert!(levels <= MAX_LEVELS);
        let mut nodes = Nodes {
            bytes: Vec::new(),
            table: UniqueTable::new(0),
            arena_lease: governor.empty("nodes of the diagram"),
            table_lease: governor.empty("unique table of the diagram"),
            max_node: MAX_BRANCH_BYTES.max(levels + 7).next_multiple_of(UNIT),
            count: 0,
            made: 0,
        };
        nodes.grow_arena()?;
        nodes.bytes.resize(FIRST, 0);
        nodes.rebuild_table(UniqueTable::buckets_for(64))?;
        Ok(nodes)
    }

    /// The arena, to read nodes from.
    #[inline]
    pub(super) fn arena(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    pub(super) fn read(&self, node: Ref) -> Node<'_> {
        if node >= FIRST_INLINE {
            return Node::Chain { labels: node::inline_labels(node), child: TERMINAL };
        }
        node::read(&self.bytes, node as usize * UNIT)
    }

    /// Nodes in the arena, live or not.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of the arena in use.
    pub(super) fn used(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn arena_bytes(&self) -> usize {
        self.arena_lease.bytes() as usize
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.table_lease.bytes() as usize
    }

    /// A branch over two or more ascending labels.
    #[inline]
    pub(super) fn make_branch(&mut self, labels: &[u8], children: &[Ref]) -> Result<Ref, Full> {
        let start = self.open()?;
        node::write_branch(&mut self.bytes, labels, children);
        Ok(self.close(start))
    }

    /// The node that reads `labels` and goes on as `child`.
    #[inline]
    pub(super) fn make_chain(&mut self, labels: &[u8], child: Ref) -> Result<Ref, Full> {
        if labels.is_empty() || child == EMPTY {
            return Ok(child);
        }
        let tail = self.tail(child);
        if tail.end == TERMINAL && labels.len() + tail.len() <= MAX_INLINE {
            return Ok(self.make_inline(labels, &tail));
        }
        let start = self.open()?;
        node::write_chain_head(&mut self.bytes, labels.len() + tail.len(), tail.end);
        self.bytes.extend_from_slice(labels);
        Ok(self.close_chain(start, tail))
    }

    /// The node that reads the labels `from..to` of the chain `chain`, and goes on as `child`.
    pub(super) fn make_part_of_chain(
        &mut self,
        chain: Ref,
        from: usize,
        to: usize,
        child: Ref,
    ) -> Result<Ref, Full> {
        let part = match self.tail(chain) {
            Tail { inline: Some(labels), .. } => return self.make_chain(&labels[from..to], child),
            Tail { stored, .. } => stored.start + from..stored.start + to,
        };
        if part.is_empty() || child == EMPTY {
            return Ok(child);
        }
        let tail = self.tail(child);
        if tail.end == TERMINAL && part.len() + tail.len() <= MAX_INLINE {
            return Ok(self.make_inline(&self.bytes[part], &tail));
        }
        let start = self.open()?;
        node::write_chain_head(&mut self.bytes, part.len() + tail.len(), tail.end);
        self.bytes.extend_from_within(part);
        Ok(self.close_chain(start, tail))
    }

    /// The labels with which a node begins, if it is a chain, and what follows them.
    #[inline]
    fn tail(&self, node: Ref) -> Tail {
        if node >= FIRST_INLINE {
            return Tail { inline: Some(node::inline_labels(node)), stored: 0..0, end: TERMINAL };
        }
        if node != TERMINAL
            && let Node::Chain { labels, child } = self.read(node)
        {
            let from = node as usize * UNIT + node::chain_head_size(labels.len());
            Tail { inline: None, stored: from..from + labels.len(), end: child }
        } else {
            Tail { inline: None, stored: 0..0, end: node }
        }
    }

    #[inline]
    fn make_inline(&self, labels: &[u8], tail: &Tail) -> Ref {
        match &tail.inline {
            // A stored chain to the terminal is too long to become part of a short one.
            None => node::inline(labels),
            Some(rest) => {
                let mut all = [0; MAX_INLINE];
                all[..labels.len()].copy_from_slice(labels);
                all[labels.len()..labels.len() + rest.len()].copy_from_slice(rest);
                node::inline(&all[..labels.len() + rest.len()])
            }
        }
    }

    /// Ends a chain with the labels and the child of what follows it.
    #[inline]
    fn close_chain(&mut self, start: usize, tail: Tail) -> Ref {
        match tail.inline {
            Some(labels) => self.bytes.extend_from_slice(&labels),
            None => self.bytes.extend_from_within(tail.stored),
        }
        node::write_chain_child(&mut self.bytes, tail.end);
        self.close(start)
    }

    /// Makes sure that one node fits, and returns where it will start.
    #[inline]
    fn open(&mut self) -> Result<usize, Full> {
        if self.bytes.capacity() - self.bytes.len() < self.max_node {
            self.grow_arena()?;
        }
        if self.table.wants_growth() {
            self.grow_table()?;
        }
        Ok(self.bytes.len())
    }

    /// Pads the node begun at `start`; returns it, or its elder twin.
    #[inline]
    fn close(&mut self, start: usize) -> Ref {
        self.made += 1;
        self.bytes.resize(self.bytes.len().next_multiple_of(UNIT), 0);
        let (older, new) = self.bytes.split_at(start);
        let found = self.table.find(unique::hash(new), |node| {
            let at = node as usize * UNIT;
            older.get(at..at + new.len()) == Some(new)
        });
        match found {
            Ok(twin) => {
                self.bytes.truncate(start);
                twin
            }
            Err(place) => {
                let node = (start / UNIT) as Ref;
                self.table.fill(place, node);
                self.count += 1;
                node
            }
        }
    }

    /// Grows the arena by half, or by what the budget still gives.
    fn grow_arena(&mut self) -> Result<(), Full> {
        let used = self.bytes.len();
        let capacity = self.bytes.capacity();
        let least = (used + self.max_node).max(MIN_CAPACITY);
        for wanted in [capacity + capacity / 2, capacity + capacity / 8, capacity + 65536, least] {
            let wanted = wanted.max(least).min(MAX_CAPACITY);
            if wanted >= least && self.arena_lease.try_resize(leased_for(wanted) as u64).is_ok() {
                self.bytes.reserve_exact(wanted - used);
                return Ok(());
            }
        }
        Err(Full)
    }

    fn grow_table(&mut self) -> Result<(), Full> {
        let buckets = self.table.buckets();
        if buckets == 0 {
            return self.rebuild_table(UniqueTable::buckets_for(self.count));
        }
        for wanted in [buckets * 2, buckets + buckets / 2, buckets + (buckets / 8).max(1)] {
            if self.rebuild_table(wanted).is_ok() {
                return Ok(());
            }
        }
        if self.table.is_full() { Err(Full) } else { Ok(()) }
    }

    /// Builds the table anew with `buckets`, from the arena: old and new never exist together.
    fn rebuild_table(&mut self, buckets: usize) -> Result<(), Full> {
        if u32::try_from(buckets).is_err() {
            return Err(Full);
        }
        self.table_lease.try_resize(UniqueTable::bytes_of(buckets) as u64).map_err(|_| Full)?;
        if buckets == self.table.buckets() {
            self.table.clear();
        } else {
            self.table = UniqueTable::new(0);
            self.table = UniqueTable::new(buckets);
        }
        let mut group = [(0, 0); 16];
        let mut at = FIRST;
        while at < self.bytes.len() {
            let mut filled = 0;
            while at < self.bytes.len() && filled < group.len() {
                let size = node::size(&self.bytes, at);
                group[filled] = (unique::hash(&self.bytes[at..at + size]), (at / UNIT) as Ref);
                filled += 1;
                at += size;
            }
            self.table.add_new(&group[..filled]);
        }
        Ok(())
    }

    /// Hands the arena to `compact`, which returns how many nodes it kept; then fits the capacity and
    /// the table to what is left.
    pub(super) fn compact_with(&mut self, compact: impl FnOnce(&mut Vec<u8>) -> usize) {
        self.count = compact(&mut self.bytes);
        let roomy = (self.bytes.len() * 2 + self.max_node).max(MIN_CAPACITY);
        if roomy < self.bytes.capacity() / 2 {
            self.bytes.shrink_to(roomy);
            self.arena_lease.shrink_to(leased_for(self.bytes.capacity()) as u64);
        }
        let buckets = self.table.buckets();
        if buckets > 0 {
            // The buckets held all these nodes and more, and are leased already.
            let wanted = UniqueTable::buckets_for(self.count);
            let rebuilt = self.rebuild_table(if wanted < buckets / 2 { wanted } else { buckets });
            debug_assert!(rebuilt.is_ok());
        }
    }

    /// Gives back the arena's spare capacity.
    pub(super) fn trim(&mut self) {
        self.bytes.shrink_to(self.bytes.len() + self.max_node);
        self.arena_lease.shrink_to(leased_for(self.bytes.capacity()) as u64);
    }

    /// Gives up the unique table; the next node to be made builds it anew.
    pub(super) fn drop_table(&mut self) {
        self.table = UniqueTable::new(0);
        self.table_lease.shrink_to(0);
    }
}

/// The labels with which a node begins, wherever they stand, and what follows them.
struct Tail {
    inline: Option<Labels<'static>>,
    stored: std::ops::Range<usize>,
    end: Ref,
}

impl Tail {
    #[inline]
    fn len(&self) -> usize {
        self.inline.map_or(self.stored.len(), |labels| labels.len())
    }
}
