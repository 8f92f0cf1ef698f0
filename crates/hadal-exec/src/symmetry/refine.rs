//! Colour refinement: orders the elements by what the state says about them, as far as that tells them apart.
//!
//! Every key is computed from things that a permutation of the elements carries along (plain bits under an index,
//! colours, and order-free sums over these), so equivalent states get the same ordered partition up to the
//! permutation between them. That is all that exactness needs; a weak or colliding key only leaves larger cells.

use hadal_system::state::get_bits;

use super::blocks::{Block, Blocks, KeyWord, RowPart};
use super::group::Group;
use super::hash::{K, fold};
use super::partition::{KeyBuffer, Partition};

/// Buffers of refinement.
#[derive(Clone, Debug)]
pub(super) struct Signatures {
    /// What this round learned about each element.
    of: Vec<u64>,
    /// Hash of each element's colour.
    colour: Vec<u64>,
    /// Per instance: sum of the hashes of what it holds, then what it adds to them.
    instance: Vec<u64>,
    /// Elements in the subs of the block at hand with the hash of their role.
    held: Vec<(u16, u64)>,
    keys: KeyBuffer,
}

impl Signatures {
    pub fn new(elements: usize, instances: usize) -> Signatures {
        Signatures {
            of: vec![0; elements],
            colour: vec![0; elements],
            instance: vec![0; instances],
            held: Vec::with_capacity(64),
            keys: Vec::with_capacity(elements),
        }
    }
}

/// Splits by the plain bits in each element's own rows, then by the variables that hold elements.
pub(super) fn split_by_rows(
    group: &Group,
    blocks: &Blocks,
    state: &[u64],
    partition: &mut Partition,
    signatures: &mut Signatures,
) {
    for (set, words) in group.sets.iter().zip(&blocks.keys) {
        let (start, end) = (usize::from(set.base), usize::from(set.base + set.size));
        for word in words {
            if partition.open_cell(start, end).is_none() {
                break;
            }
            let rows = &mut signatures.of[start..end];
            gather(state, word, rows);
            let rows = &*rows;
            partition
                .split(start, end, &mut signatures.keys, |element| rows[usize::from(element - set.base)]);
        }
    }
    if partition.is_discrete() {
        return;
    }
    for block in &blocks.globals {
        let family = &blocks.families[block.family as usize];
        let bits = get_bits(state, block.offset, family.width);
        if bits == 0 && family.zero_stays {
            continue;
        }
        for sub in &family.subs {
            if let Some((_, element)) = sub.element(sub.code(bits)) {
                partition.individualise(element);
            }
        }
    }
}

/// Reads the key word of every row.
#[inline]
fn gather(state: &[u64], word: &KeyWord, rows: &mut [u64]) {
    rows.fill(0);
    for &(RowPart { offset, stride, width }, plain) in &word.parts {
        let fall = (rows.len() as u32 - 1) * stride;
        if fall + width <= 64 {
            let window = get_bits(state, offset - fall, fall + width);
            let mut shift = fall + stride;
            for row in rows.iter_mut() {
                shift -= stride;
                *row = *row << (width % 64) | window >> shift & plain;
            }
        } else {
            let mut at = offset + stride;
            for row in rows.iter_mut() {
                at -= stride;
                // A part of 64 bits is alone in its word: nothing has to make room for it.
                *row = *row << (width % 64) | get_bits(state, at, width) & plain;
            }
        }
    }
}

/// Refines by the blocks that relate elements to each other until nothing splits any more.
pub(super) fn refine(blocks: &Blocks, state: &[u64], partition: &mut Partition, signatures: &mut Signatures) {
    while !partition.is_discrete() {
        for (hash, &colour) in signatures.colour.iter_mut().zip(partition.colours()) {
            *hash = fold(u64::from(colour), K[2]);
        }
        signatures.of.fill(0);
        blocks.sign(state, signatures);
        let Signatures { of, keys, .. } = signatures;
        let end = of.len();
        if !partition.split(0, end, keys, |element| of[usize::from(element)]) {
            return;
        }
    }
}

impl Blocks {
    /// Sums up for each element the hashes of the blocks it is an index of or is held in.
    fn sign(&self, state: &[u64], signatures: &mut Signatures) {
        let [whole, inner @ ..] = &self.instances[..] else { return };
        for block in &self.linked[whole.blocks.clone()] {
            if let Some(hash) = self.hash_block(state, block, signatures) {
                self.credit(block, hash, signatures);
            }
        }
        if !inner.is_empty() {
            self.sign_multisets(state, signatures);
        }
    }

    /// A multiset's element is one thing: what is said of it includes everything it holds, and what holds it.
    fn sign_multisets(&self, state: &[u64], signatures: &mut Signatures) {
        signatures.instance.fill(0);
        for (number, instance) in self.instances.iter().enumerate().skip(1).rev() {
            if get_bits(state, instance.present, 1) == 0 {
                continue;
            }
            let mut sum = signatures.instance[number];
            for block in &self.linked[instance.blocks.clone()] {
                sum = sum.wrapping_add(self.hash_block(state, block, signatures).unwrap_or(0));
            }
            signatures.instance[number] = sum;
            let outer = &mut signatures.instance[instance.parent as usize];
            *outer = outer.wrapping_add(fold(sum, instance.tag));
        }
        signatures.instance[0] = 0;
        for (number, instance) in self.instances.iter().enumerate().skip(1) {
            if get_bits(state, instance.present, 1) == 0 {
                continue;
            }
            let around = signatures.instance[instance.parent as usize];
            let context = fold(signatures.instance[number] ^ instance.tag, around);
            signatures.instance[number] = context;
            for block in &self.linked[instance.blocks.clone()] {
                if let Some(hash) = self.hash_block(state, block, signatures) {
                    self.credit(block, fold(hash, context), signatures);
                }
            }
        }
    }

    /// The hash of one block under the current colours; leaves the elements it holds in `signatures.held`.
    /// Nothing for a block without content.
    #[inline]
    fn hash_block(&self, state: &[u64], block: &Block, signatures: &mut Signatures) -> Option<u64> {
        let family = &self.families[block.family as usize];
        signatures.held.clear();
        let bits = get_bits(state, block.offset, family.width);
        if bits == 0 && family.zero_stays {
            return None;
        }
        let indices = self.indices(block);
        let mut hash = fold(bits & family.plain, family.tag);
        for (n, &element) in (1..).zip(indices) {
            hash = hash.wrapping_add(signatures.colour[usize::from(element)].rotate_left(7 * n));
        }
        if let [first, .., last] = indices
            && first == last
        {
            hash ^= K[3];
        }
        for sub in &family.subs {
            let code = sub.code(bits);
            if code == 0 && sub.undefined {
                continue;
            }
            match sub.element(code) {
                Some((_, element)) => {
                    let own = if indices.contains(&element) { K[3] } else { 0 };
                    let colour = signatures.colour[usize::from(element)];
                    hash = hash.wrapping_add(fold(colour ^ own, sub.tag));
                    signatures.held.push((element, sub.tag));
                }
                None => hash = hash.wrapping_add(fold(code, sub.tag)),
            }
        }
        Some(fold(hash, K[1]))
    }

    /// Adds a block's hash to the elements it is an index of and to those it holds, each in its role.
    #[inline]
    fn credit(&self, block: &Block, hash: u64, signatures: &mut Signatures) {
        for (n, &element) in (1..).zip(self.indices(block)) {
            let sum = &mut signatures.of[usize::from(element)];
            *sum = sum.wrapping_add(hash.rotate_left(11 * n));
        }
        for &(element, role) in &signatures.held {
            let sum = &mut signatures.of[usize::from(element)];
            *sum = sum.wrapping_add(fold(hash, role));
        }
    }
}
