//! The search for the least image where refinement alone does not order the elements.
//!
//! Individualisation and refinement (McKay & Piperno, "Practical graph isomorphism II", 2014): pick a cell, put each
//! of its elements in front in turn, refine, go on; every leaf is a permutation, the least permuted state is the
//! canonical one. Three cuts keep it short, all by automorphisms of the state: a cell whose elements may be swapped
//! freely needs one order only; an element that may be swapped with one already tried need not be tried; a leaf equal
//! to the best one so far means that the branch it lies in repeats an earlier one.

use std::cmp::Ordering;

use hadal_system::state::{compare, get_bits};

use super::blocks::{Blocks, Family};
use super::group::Group;
use super::multiset::{Bags, Which};
use super::partition::Partition;
use super::refine::{Signatures, refine};

/// What the search looks at: a state with normal multisets, and how to permute it.
pub(super) struct Search<'a> {
    pub group: &'a Group,
    pub blocks: &'a Blocks,
    pub bags: &'a Bags,
    pub state: &'a [u64],
}

/// Buffers of the search.
#[derive(Clone, Debug)]
pub(super) struct SearchBuffers {
    /// The partition at each branching; the first is where the search starts.
    levels: Vec<Partition>,
    /// The elements of the cells being branched on, one stretch per level.
    branches: Vec<u16>,
    /// The elements put in front on the way to here, and to the best leaf.
    path: Vec<u16>,
    best_path: Vec<u16>,
    found: bool,
    best: Vec<u64>,
    candidate: Vec<u64>,
    /// Room for sorting a multiset.
    pub bag: Vec<u64>,
    /// Every element at its own place, but for a swap being tried.
    identity: Vec<u16>,
}

impl SearchBuffers {
    pub fn new(elements: usize, words: usize, bags: &Bags) -> SearchBuffers {
        SearchBuffers {
            levels: Vec::new(),
            branches: Vec::new(),
            path: Vec::new(),
            best_path: Vec::new(),
            found: false,
            best: vec![0; words],
            candidate: vec![0; words],
            bag: bags.buffer(),
            identity: (0..elements as u16).collect(),
        }
    }

    /// The least image found.
    pub fn best(&self) -> &[u64] {
        &self.best
    }

    /// Copies the partition of a level to the next.
    fn copy_level(&mut self, depth: usize) -> &mut Partition {
        if self.levels.len() == depth + 1 {
            self.levels.push(self.levels[depth].clone());
        }
        let (levels, next) = self.levels.split_at_mut(depth + 1);
        next[0].copy_from(&levels[depth]);
        &mut next[0]
    }
}

impl Search<'_> {
    /// Splits cells of elements that nothing but their own row refers to and whose rows are equal bit by bit, an
    /// element's own number aside: swapping two of them changes nothing, so their order does not matter. Most cells
    /// that plain data leaves open are of this kind, and it takes no refinement to see.
    pub fn settle_idle(&self, partition: &mut Partition) {
        if partition.colours().len() > 64 {
            return;
        }
        let mut held = None;
        for (number, (set, rows)) in (0..).zip(self.group.sets.iter().zip(&self.blocks.rows)) {
            let (mut at, end) = (usize::from(set.base), usize::from(set.base + set.size));
            while let Some(start) = partition.open_cell(at, end) {
                let cell = partition.cell(start);
                at = start + cell.len();
                let equal = rows.iter().all(|(part, family)| {
                    let family = &self.blocks.families[*family as usize];
                    let own = !family.subs.is_empty() && family.has_one_index_of(number);
                    let row = |element: u16| {
                        let fall = u32::from(element - set.base) * part.stride;
                        let bits = get_bits(self.state, part.offset - fall, part.width);
                        if own && bits != 0 { without_own(family, bits, element) } else { (bits, 0) }
                    };
                    let first = row(cell[0]);
                    cell[1..].iter().all(|&element| row(element) == first)
                });
                if !equal {
                    continue;
                }
                let held = *held.get_or_insert_with(|| self.held_elements());
                if cell.iter().all(|&element| held >> element & 1 == 0) {
                    partition.scatter(start);
                }
            }
        }
    }

    /// The elements that occur as values in the rows of others or in multisets, one bit each. (Those in variables
    /// without indices are already alone.)
    fn held_elements(&self) -> u64 {
        let mut held = 0;
        for block in &self.blocks.linked {
            let family = &self.blocks.families[block.family as usize];
            if family.subs.is_empty() {
                continue;
            }
            let bits = get_bits(self.state, block.offset, family.width);
            if bits == 0 && family.zero_stays {
                continue;
            }
            for sub in &family.subs {
                if let Some((segment, element)) = sub.element(sub.code(bits)) {
                    let own = self.blocks.indices(block).contains(&element);
                    held |= u64::from(!own || !family.has_one_index_of(segment.set)) << element;
                }
            }
        }
        held
    }

    /// Follows one branch to its end: a representative that depends on the order in which the elements stood
    /// wherever the state is not symmetric in them.
    pub fn first_leaf(&self, partition: &mut Partition, signatures: &mut Signatures) {
        let end = partition.colours().len();
        while let Some(start) = partition.open_cell(0, end) {
            let element = partition.cell(start)[0];
            partition.individualise(element);
            refine(self.blocks, self.state, partition, signatures);
        }
    }

    /// Finds the least image over all leaves below `partition`, which is refined; leaves it in `buffers.best`.
    pub fn least_leaf(
        &self,
        partition: &Partition,
        signatures: &mut Signatures,
        buffers: &mut SearchBuffers,
    ) {
        buffers.found = false;
        buffers.path.clear();
        buffers.branches.clear();
        match buffers.levels.first_mut() {
            Some(level) => level.copy_from(partition),
            None => buffers.levels.push(partition.clone()),
        }
        self.explore(0, signatures, buffers);
    }

    /// Explores below level `depth`. Some(level): go back there, what lies between repeats something explored.
    fn explore(
        &self,
        depth: usize,
        signatures: &mut Signatures,
        buffers: &mut SearchBuffers,
    ) -> Option<usize> {
        let end = buffers.identity.len();
        let first = buffers.branches.len();
        let cell = loop {
            let Some(start) = buffers.levels[depth].open_cell(0, end) else {
                return self.leaf(depth, buffers);
            };
            buffers.branches.extend_from_slice(buffers.levels[depth].cell(start));
            let cell = first..buffers.branches.len();
            if !cell.clone().skip(1).all(|n| self.swappable(n - 1, n, buffers)) {
                break cell;
            }
            buffers.branches.truncate(first);
            buffers.levels[depth].scatter(start);
            refine(self.blocks, self.state, &mut buffers.levels[depth], signatures);
        };
        let mut back = None;
        for n in cell {
            if (first..n).any(|tried| self.swappable(tried, n, buffers)) {
                continue;
            }
            let element = buffers.branches[n];
            let next = buffers.copy_level(depth);
            next.individualise(element);
            refine(self.blocks, self.state, next, signatures);
            buffers.path.truncate(depth);
            buffers.path.push(element);
            back = self.explore(depth + 1, signatures, buffers).filter(|&level| level < depth);
            if back.is_some() {
                break;
            }
        }
        buffers.branches.truncate(first);
        back
    }

    /// Compares the image at a leaf with the best one.
    fn leaf(&self, depth: usize, buffers: &mut SearchBuffers) -> Option<usize> {
        let SearchBuffers { levels, path, best_path, found, best, candidate, bag, .. } = buffers;
        path.truncate(depth);
        self.blocks.apply(self.state, levels[depth].colours(), candidate);
        self.bags.normalise(candidate, Which::Permuted, bag);
        let order = if *found { compare(candidate, best) } else { Ordering::Less };
        if order == Ordering::Less {
            *found = true;
            std::mem::swap(best, candidate);
            best_path.clone_from(path);
        }
        (order == Ordering::Equal).then(|| path.iter().zip(best_path).take_while(|(a, b)| a == b).count())
    }

    /// Whether swapping two elements of the branches leaves the state as it is.
    fn swappable(&self, a: usize, b: usize, buffers: &mut SearchBuffers) -> bool {
        let (a, b) = (usize::from(buffers.branches[a]), usize::from(buffers.branches[b]));
        buffers.identity.swap(a, b);
        self.blocks.apply(self.state, &buffers.identity, &mut buffers.candidate);
        buffers.identity.swap(a, b);
        self.bags.normalise(&mut buffers.candidate, Which::Permuted, &mut buffers.bag);
        buffers.candidate == self.state
    }
}

/// A row's bits with the row's own element taken out, and where it was.
fn without_own(family: &Family, mut bits: u64, element: u16) -> (u64, u64) {
    let mut own = 0;
    for sub in &family.subs {
        let code = sub.code(bits);
        if sub.element(code).is_some_and(|(_, held)| held == element) {
            bits ^= code << sub.shift;
            own |= 1 << sub.shift;
        }
    }
    (bits, own)
}
