//! The place of a state among all states of a closed set, ascending: a number that nothing need be stored for.
//!
//! Beside every inner branch stands how many states lie before each of its children. Sets that are equal number their
//! states alike, however they are cut into shards.

use crate::{Governor, OverBudget, Reservation};

use super::closed::ClosedDiagram;
use super::collect::Marks;
use super::core::{Diagram, Root};
use super::node::{self, EMPTY, Node, Ref, TERMINAL, UNIT};
use super::shard::Set;

/// States with at most so many levels are looked up without memory of their own.
const LEVELS_AT_HAND: usize = 256;

/// The states before each child of a diagram's branches.
struct Ranks {
    root: Ref,
    marks: Marks,
    /// By node, where its sums begin.
    starts: Vec<u32>,
    sums: Vec<u64>,
}

impl Ranks {
    fn of(diagram: &Diagram, root: Root, memory: &mut Reservation) -> Result<Self, OverBudget> {
        let root = diagram.node(root);
        let arena = diagram.nodes.arena();
        let mut marks = Marks::starts(arena, std::iter::once(root));
        marks.index();
        let mut ranks = Ranks { root, marks, starts: Vec::new(), sums: Vec::new() };
        let nodes = ranks.marks.len();
        let mut counts: Vec<u64> = Vec::new();
        memory.try_grow((nodes * (size_of::<u64>() + size_of::<u32>())) as u64)?;
        counts.reserve_exact(nodes);
        ranks.starts.reserve_exact(nodes);
        let mut inner = 0;
        for unit in ranks.marks.ones() {
            if let Node::Branch(branch) = node::read(arena, unit * UNIT)
                && !branch.is_leaf()
            {
                inner += branch.len();
            }
        }
        memory.try_grow((inner * size_of::<u64>()) as u64)?;
        ranks.sums.reserve_exact(inner);
        for unit in ranks.marks.ones() {
            let of = |child: Ref| match node::is_stored(child) {
                true => counts[ranks.marks.rank(child) as usize],
                false => 1,
            };
            ranks.starts.push(ranks.sums.len() as u32);
            let count = match node::read(arena, unit * UNIT) {
                Node::Chain { child, .. } => of(child),
                Node::Branch(branch) if branch.is_leaf() => branch.len() as u64,
                Node::Branch(branch) => {
                    let mut sum = 0;
                    for index in 0..branch.len() {
                        ranks.sums.push(sum);
                        sum += of(branch.child(index));
                    }
                    sum
                }
            };
            counts.push(count);
        }
        drop(counts);
        memory.shrink_to(memory.bytes() - (nodes * size_of::<u64>()) as u64);
        Ok(ranks)
    }

    fn number(&self, diagram: &Diagram, labels: &[u8]) -> Option<u64> {
        let (mut node, mut level, mut before) = (self.root, 0, 0);
        while node != TERMINAL {
            if node == EMPTY {
                return None;
            }
            match diagram.nodes.read(node) {
                Node::Chain { labels: chain, child } => {
                    if labels[level..level + chain.len()] != *chain {
                        return None;
                    }
                    level += chain.len();
                    node = child;
                }
                Node::Branch(branch) => {
                    let index = branch.find(0, labels[level])?;
                    level += 1;
                    before += match branch.is_leaf() {
                        true => index as u64,
                        false => {
                            let start = self.starts[self.marks.rank(node) as usize] as usize;
                            self.sums[start + index]
                        }
                    };
                    node = branch.child(index);
                }
            }
        }
        Some(before)
    }
}

/// A closed set whose states have numbers.
pub struct RankedDiagram {
    closed: ClosedDiagram,
    /// Of each shard, and how many states lie in those before.
    shards: Vec<(Ranks, u64)>,
    memory: Reservation,
}

impl RankedDiagram {
    /// Numbers the closed states of a set; what else it holds is given up.
    pub fn new(mut closed: ClosedDiagram, governor: &Governor) -> Result<Self, OverBudget> {
        closed.release_tables();
        let mut memory = governor.empty("numbers of states");
        let (mut shards, mut before) = (Vec::new(), 0);
        for shard in &closed.shards {
            shards.push((Ranks::of(&shard.diagram, shard.root(Set::Closed), &mut memory)?, before));
            before += shard.len;
        }
        Ok(RankedDiagram { closed, shards, memory })
    }

    /// The number of a state: how many states are smaller. `None` where it is none of the set.
    #[inline]
    pub fn number(&self, state: &[u64]) -> Option<u64> {
        let shard = self.closed.shard_of(state);
        let (ranks, before) = &self.shards[shard];
        let diagram = &self.closed.shards[shard].diagram;
        let levels = &self.closed.levels;
        let number = if levels.count() <= LEVELS_AT_HAND {
            let mut labels = [0; LEVELS_AT_HAND];
            levels.fill(state, 0, &mut labels[..levels.count()]);
            ranks.number(diagram, &labels[..levels.count()])
        } else {
            let mut labels = vec![0; levels.count()];
            levels.fill(state, 0, &mut labels);
            ranks.number(diagram, &labels)
        };
        number.map(|number| before + number)
    }

    /// How many states it has.
    pub fn len(&self) -> u64 {
        self.closed.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> u64 {
        self.closed.bytes() as u64 + self.memory.bytes()
    }
}
