//! Symmetry reduction: one representative for all states that differ only in the names of scalarset elements and in
//! the order of multiset elements.
//!
//! A permutation of a scalarset renames its elements wherever they stand as values and moves the array elements
//! indexed by them. [`mod@reference`] says so in plain code; [`Canonicaliser`] does it on packed words: it orders the
//! elements by colour refinement (`refine`) and, where that leaves a choice, searches for the least image
//! (`search`). See `docs/symmetry.md`.

mod apply;
mod blocks;
mod group;
mod hash;
mod multiset;
mod partition;
pub mod reference;
mod refine;
mod search;
mod walk;

use std::fmt;

use hadal_system::{Layout, System};

use blocks::Blocks;
use group::Group;
use multiset::{Bags, Which};
use partition::Partition;
use refine::{Signatures, refine, split_by_rows};
use search::{Search, SearchBuffers};

/// How much symmetry to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SymmetryMode {
    /// None: only the order of multiset elements is normalised, because it is not part of the state.
    Off,
    /// One representative for most states of an orbit, at a cost that is bounded by a polynomial for every state.
    Heuristic,
    /// Exactly one representative per orbit.
    Exact,
    /// Exact where that is affordable for this system, else heuristic.
    #[default]
    Auto,
}

/// Maps every state to a representative of its orbit.
#[derive(Clone, Debug)]
pub struct Canonicaliser {
    group: Group,
    blocks: Blocks,
    bags: Bags,
    unit: Partition,
    mode: SymmetryMode,
    words: usize,
}

/// Buffers of one thread's canonicalisation.
#[derive(Clone, Debug)]
pub struct Scratch {
    partition: Partition,
    signatures: Signatures,
    search: SearchBuffers,
    image: Vec<u64>,
}

/// Above this estimate (elements squared times blocks, what a search of moderate depth costs) `Auto` is heuristic.
const AFFORDABLE: u128 = 20_000_000;

impl Canonicaliser {
    /// A canonicaliser for the system's states, or none where every state is its own representative: there is no
    /// multiset, and no scalarset of two or more elements or [`SymmetryMode::Off`] was asked for.
    pub fn new(system: &System, layout: &Layout, mode: SymmetryMode) -> Option<Canonicaliser> {
        let group = match mode {
            SymmetryMode::Off => Group { sets: Vec::new() },
            _ => Group::of(system),
        };
        let walk::Walked { blocks, bags } = walk::walk(system, layout, &group);
        if group.sets.is_empty() && bags.is_empty() {
            return None;
        }
        let elements = group.elements() as u128;
        let mode = match mode {
            _ if group.sets.is_empty() => SymmetryMode::Off,
            SymmetryMode::Auto if elements * elements * blocks.count as u128 <= AFFORDABLE => {
                SymmetryMode::Exact
            }
            SymmetryMode::Auto => SymmetryMode::Heuristic,
            asked => asked,
        };
        let unit = Partition::unit(group.sets.iter().map(|set| (set.base, set.size)));
        Some(Canonicaliser { group, blocks, bags, unit, mode, words: layout.words() })
    }

    /// Whether the system has symmetric states that a mode makes one.
    pub fn applies(system: &System, mode: SymmetryMode) -> bool {
        mode != SymmetryMode::Off && !Group::of(system).sets.is_empty()
    }

    /// The mode in force: `Auto` has become one of the others, and all are `Off` without a scalarset.
    pub fn mode(&self) -> SymmetryMode {
        self.mode
    }

    /// Buffers for one thread.
    pub fn scratch(&self) -> Scratch {
        Scratch {
            partition: self.unit.clone(),
            signatures: Signatures::new(self.group.elements(), self.blocks.instances.len()),
            search: SearchBuffers::new(self.group.elements(), self.words, &self.bags),
            image: vec![0; self.words],
        }
    }

    /// Puts every multiset of the state into its normal form and changes nothing else.
    pub fn normalise_multisets(&self, state: &mut [u64], scratch: &mut Scratch) {
        self.bags.normalise(state, Which::All, &mut scratch.search.bag);
    }

    /// Whether every multiset of the state is in its normal form.
    pub fn is_normal(&self, state: &[u64], scratch: &mut Scratch) -> bool {
        if self.bags.is_empty() {
            return true;
        }
        let Scratch { search: buffers, image, .. } = scratch;
        image.copy_from_slice(state);
        self.bags.normalise(image, Which::All, &mut buffers.bag);
        image == state
    }

    /// Replaces the state by the representative of its orbit.
    pub fn canonicalise(&self, state: &mut [u64], scratch: &mut Scratch) {
        self.normalise_multisets(state, scratch);
        self.choose_representative(state, scratch);
    }

    /// The same for a successor of a `source` whose multisets [are in normal form](Canonicaliser::is_normal): only those that
    /// have changed are looked at.
    pub fn canonicalise_successor(&self, state: &mut [u64], source: &[u64], scratch: &mut Scratch) {
        self.bags.normalise_changed(state, source, &mut scratch.search.bag);
        self.choose_representative(state, scratch);
    }

    /// The same for a state whose multisets are in normal form.
    fn choose_representative(&self, state: &mut [u64], scratch: &mut Scratch) {
        if self.mode == SymmetryMode::Off {
            return;
        }
        let Scratch { partition, signatures, search: buffers, image } = scratch;
        partition.copy_from(&self.unit);
        split_by_rows(&self.group, &self.blocks, state, partition, signatures);
        if !partition.is_discrete() {
            let search = Search { group: &self.group, blocks: &self.blocks, bags: &self.bags, state };
            search.settle_idle(partition);
            refine(&self.blocks, state, partition, signatures);
            if !partition.is_discrete() {
                if self.mode == SymmetryMode::Exact {
                    search.least_leaf(partition, signatures, buffers);
                    state.copy_from_slice(buffers.best());
                    return;
                }
                search.first_leaf(partition, signatures);
            }
        }
        if partition.is_identity() {
            return;
        }
        self.blocks.apply(state, partition.colours(), image);
        self.bags.normalise(image, Which::Permuted, &mut buffers.bag);
        state.copy_from_slice(image);
    }
}

impl fmt::Display for SymmetryMode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            SymmetryMode::Off => "off",
            SymmetryMode::Heuristic => "heuristic",
            SymmetryMode::Exact => "exact",
            SymmetryMode::Auto => "auto",
        })
    }
}

/// One line for people: the mode in force and what is permuted.
impl fmt::Display for Canonicaliser {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.mode)?;
        for (n, set) in self.group.sets.iter().enumerate() {
            write!(f, "{} {} ({} elements)", if n == 0 { ":" } else { "," }, set.name, set.size)?;
        }
        Ok(())
    }
}
