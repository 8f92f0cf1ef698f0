//! [`Diagram`]: sets of states under named roots in one arena, inside a budget.

use crate::{Governor, OverBudget};

use super::bits::Bits;
use super::build::Builder;
use super::cache::Cache;
use super::levels::Levels;
use super::node::{EMPTY, Ref};
use super::nodes::{Full, Nodes};
use super::operation::{Combine, Operation};

/// A named set in a [`Diagram`]. Only what a root reaches survives a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Root(pub(super) usize);

pub(super) struct Owner {
    pub(super) name: String,
    pub(super) node: Ref,
}

/// What a diagram holds and what it did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes in the arena, dead ones included.
    pub nodes: u64,
    /// Bytes of those nodes.
    pub node_bytes: u64,
    /// Bytes of the nodes that the last collection kept.
    pub live_bytes: u64,
    /// Everything held: arena with its reserve, unique table, cache.
    pub held_bytes: u64,
    /// Nodes made or found in the unique table.
    pub made: u64,
    /// Unions and other set operations between roots.
    pub unions: u64,
    /// Pairs of nodes met in those operations and looked up in the cache.
    pub union_steps: u64,
    /// Pairs that the cache knew.
    pub cache_hits: u64,
    /// Collections.
    pub collections: u64,
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.nodes += other.nodes;
        self.node_bytes += other.node_bytes;
        self.live_bytes += other.live_bytes;
        self.held_bytes += other.held_bytes;
        self.made += other.made;
        self.unions += other.unions;
        self.union_steps += other.union_steps;
        self.cache_hits += other.cache_hits;
        self.collections += other.collections;
    }
}

/// A diagram is collected between steps once it grew to twice what the last collection kept, and no
/// sooner than at this many bytes.
const COLLECT_FROM: usize = 1 << 20;

/// An arena of shared nodes and the sets that own them.
///
/// Every step that may need memory either succeeds, or fails with [`OverBudget`] after trying a
/// collection and leaves all sets as they were.
pub struct Diagram {
    pub(super) levels: Levels,
    pub(super) nodes: Nodes,
    pub(super) cache: Cache,
    pub(super) roots: Vec<Owner>,
    pub(super) governor: Governor,
    /// Counts collections: references of another epoch are void.
    pub(super) epoch: u64,
    pub(super) live: usize,
    unions: u64,
    builder: Builder,
}

impl Diagram {
    /// An empty diagram over states cut by `levels`, which reserves its memory from `governor`.
    pub fn new(levels: Levels, governor: &Governor) -> Result<Self, OverBudget> {
        let nodes = Nodes::new(levels.count(), governor).map_err(|Full| exhausted(governor))?;
        let live = nodes.used();
        Ok(Diagram {
            cache: Cache::new(governor),
            builder: Builder::default(),
            governor: governor.clone(),
            roots: Vec::new(),
            epoch: 0,
            unions: 0,
            levels,
            nodes,
            live,
        })
    }

    /// Adds an empty set of that name.
    pub fn add_root(&mut self, name: &str) -> Root {
        self.roots.push(Owner { name: name.to_owned(), node: EMPTY });
        Root(self.roots.len() - 1)
    }

    /// The root of that name, if there is one.
    pub fn root(&self, name: &str) -> Option<Root> {
        self.roots.iter().position(|owner| owner.name == name).map(Root)
    }

    /// How states are cut.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Whether the set has no states.
    pub fn is_empty(&self, root: Root) -> bool {
        self.node(root) == EMPTY
    }

    /// Whether the two sets are equal; takes no time.
    pub fn same(&self, left: Root, right: Root) -> bool {
        self.node(left) == self.node(right)
    }

    /// Makes the set empty.
    pub fn clear(&mut self, root: Root) {
        self.roots[root.0].node = EMPTY;
    }

    /// Makes `to` the same set as `from`; takes no time.
    pub fn assign(&mut self, to: Root, from: Root) {
        self.roots[to.0].node = self.node(from);
    }

    /// Makes `into` the set of the ascending, distinct states of `batch`, laid one after the other.
    pub fn build(&mut self, into: Root, batch: &[u64]) -> Result<(), OverBudget> {
        let words = self.levels.words();
        self.build_from(into, || batch.chunks_exact(words))
    }

    /// Like [`Diagram::build`], of the states of `batch` marked in `chosen`.
    pub(super) fn build_chosen(
        &mut self,
        into: Root,
        batch: &[u64],
        chosen: &Bits,
    ) -> Result<(), OverBudget> {
        let words = self.levels.words();
        self.build_from(into, || chosen.ones().map(|at| &batch[at * words..][..words]))
    }

    fn build_from<'b, I: Iterator<Item = &'b [u64]>>(
        &mut self,
        into: Root,
        states: impl Fn() -> I,
    ) -> Result<(), OverBudget> {
        let built =
            self.with_room(|diagram| diagram.builder.build(&diagram.levels, &mut diagram.nodes, states()))?;
        self.roots[into.0].node = built;
        Ok(())
    }

    /// Makes `into` the union of `left` and `right`.
    pub fn unite(&mut self, into: Root, left: Root, right: Root) -> Result<(), OverBudget> {
        self.operate(Operation::Union, into, left, right)
    }

    /// Makes `into` what `left` has and `right` has not.
    pub fn subtract(&mut self, into: Root, left: Root, right: Root) -> Result<(), OverBudget> {
        self.operate(Operation::Difference, into, left, right)
    }

    /// Makes `into` what `left` and `right` have in common.
    pub fn intersect(&mut self, into: Root, left: Root, right: Root) -> Result<(), OverBudget> {
        self.operate(Operation::Intersection, into, left, right)
    }

    fn operate(
        &mut self,
        operation: Operation,
        into: Root,
        left: Root,
        right: Root,
    ) -> Result<(), OverBudget> {
        self.cache
            .adapt((self.nodes.arena_bytes() / 4).max(1 << 16).min((self.governor.limit() / 16) as usize));
        self.unions += 1;
        let result = self.with_room(|diagram| {
            let (left, right) = (diagram.node(left), diagram.node(right));
            Combine::new(&mut diagram.nodes, &mut diagram.cache, operation).run(left, right)
        })?;
        self.roots[into.0].node = result;
        Ok(())
    }

    /// Runs a step that makes nodes, if need be once more after a collection. The step must take
    /// its references from the roots each time.
    fn with_room(&mut self, mut step: impl FnMut(&mut Self) -> Result<Ref, Full>) -> Result<Ref, OverBudget> {
        if self.nodes.used() > (2 * self.live).max(COLLECT_FROM) {
            self.collect();
        }
        if let Ok(done) = step(self) {
            return Ok(done);
        }
        let before = self.nodes.used();
        self.cache.release();
        self.collect();
        // A collection at every step is worse than leaving.
        if before - self.nodes.used() < before / 16 {
            return Err(self.exhausted());
        }
        step(self).map_err(|Full| self.exhausted())
    }

    /// What a step that found no room reports.
    pub(super) fn exhausted(&self) -> OverBudget {
        exhausted(&self.governor)
    }

    #[inline]
    pub(super) fn node(&self, root: Root) -> Ref {
        self.roots[root.0].node
    }

    /// All bytes held: arena with the reserve for its collection, unique table, cache, scratch.
    pub fn bytes(&self) -> usize {
        self.nodes.arena_bytes() + self.nodes.table_bytes() + self.cache.bytes() + self.builder.bytes()
    }

    /// Collects, and gives back what capacity the live nodes do not need.
    pub fn trim(&mut self) {
        self.cache.release();
        self.collect();
        self.nodes.trim();
    }

    /// Gives back unique table and cache, so that the sets can be streamed out in less memory. The
    /// diagram stays usable: the next step that makes nodes builds them anew.
    pub fn release_tables(&mut self) {
        self.cache.release();
        self.nodes.drop_table();
    }

    /// What is held and what was done.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.nodes.count() as u64,
            node_bytes: self.nodes.used() as u64,
            live_bytes: self.live as u64,
            held_bytes: self.bytes() as u64,
            made: self.nodes.made,
            unions: self.unions,
            union_steps: self.cache.hits + self.cache.misses,
            cache_hits: self.cache.hits,
            collections: self.epoch,
        }
    }
}

fn exhausted(governor: &Governor) -> OverBudget {
    let (available, limit) = (governor.available(), governor.limit());
    OverBudget { what: "decision diagram", asked: available + 1, available, limit }
}
