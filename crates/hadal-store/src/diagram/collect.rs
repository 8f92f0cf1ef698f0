//! Collection: nodes that no root reaches go, the others slide together.
//!
//! Children lie below parents, so marking is one downward sweep over a bitmap without a stack. Then
//! every unit of a live node has its bit set, and the new place of a unit is the number of set bits
//! below it (the idea of the Compressor collector, Kermany and Petrank 2006).

use super::bits::Bits;
use super::core::Diagram;
use super::node::{self, FIRST, Ref, UNIT};

/// Live nodes: a bit for each unit of the arena.
pub(super) struct Marks {
    bits: Bits,
    /// Set bits below each word of the bitmap.
    below: Vec<u32>,
}

impl Marks {
    /// Marks the first unit of every node that `roots` reach.
    pub(super) fn starts(arena: &[u8], roots: impl Iterator<Item = Ref>) -> Self {
        let mut bits = Bits::new(arena.len() / UNIT);
        for root in roots.filter(|&root| node::is_stored(root)) {
            bits.set(root as usize);
        }
        for index in (0..bits.words().len()).rev() {
            // Marking children may set lower bits of the same word: look again after each node.
            let mut pending = !0u64;
            loop {
                let word = bits.words()[index] & pending;
                if word == 0 {
                    break;
                }
                let bit = word.ilog2();
                pending = (1 << bit) - 1;
                let unit = index * 64 + bit as usize;
                node::each_child(arena, unit * UNIT, |child| {
                    if node::is_stored(child) {
                        bits.set(child as usize);
                    }
                });
            }
        }
        Marks { bits, below: Vec::new() }
    }

    /// Extends each mark from the first unit of a node to all of them; returns the number of nodes.
    fn cover(&mut self, arena: &[u8]) -> usize {
        let mut nodes = 0;
        let mut at = FIRST;
        while at < arena.len() {
            let size = node::size(arena, at);
            if self.bits.get(at / UNIT) {
                nodes += 1;
                (at / UNIT..(at + size) / UNIT).for_each(|unit| self.bits.set(unit));
            }
            at += size;
        }
        nodes
    }

    /// Prepares [`Marks::rank`].
    pub(super) fn index(&mut self) {
        let mut sum = 0;
        self.below = Vec::with_capacity(self.bits.words().len());
        for word in self.bits.words() {
            self.below.push(sum);
            sum += word.count_ones();
        }
    }

    /// How many marks lie below `unit`.
    #[inline]
    pub(super) fn rank(&self, unit: Ref) -> u32 {
        let (word, bit) = (unit as usize / 64, unit % 64);
        self.below[word] + (self.bits.words()[word] & ((1 << bit) - 1)).count_ones()
    }

    /// The marked units, ascending.
    pub(super) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.bits.ones()
    }

    /// The number of marks.
    pub(super) fn len(&self) -> usize {
        self.bits.count_ones()
    }

    fn slide(&self, arena: &mut Vec<u8>) {
        let base = (FIRST / UNIT) as Ref;
        let mut at = FIRST;
        let mut to = FIRST;
        while at < arena.len() {
            let size = node::size(arena, at);
            if self.bits.get(at / UNIT) {
                node::rewrite_children(arena, at, |child| {
                    if node::is_stored(child) { base + self.rank(child) } else { child }
                });
                arena.copy_within(at..at + size, to);
                to += size;
            }
            at += size;
        }
        arena.truncate(to);
    }
}

impl Diagram {
    /// Drops every node that no root reaches.
    ///
    /// Needs one bit and a half for each unit of the arena, which the arena's lease includes.
    pub fn collect(&mut self) {
        let Diagram { nodes, cache, roots, .. } = self;
        cache.clear();
        nodes.compact_with(|arena| {
            let mut marks = Marks::starts(arena, roots.iter().map(|owner| owner.node));
            let kept = marks.cover(arena);
            marks.index();
            marks.slide(arena);
            for owner in roots.iter_mut().filter(|owner| node::is_stored(owner.node)) {
                owner.node = (FIRST / UNIT) as Ref + marks.rank(owner.node);
            }
            kept
        });
        self.epoch += 1;
        self.live = self.nodes.used();
    }
}
