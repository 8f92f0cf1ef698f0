//! The unique table: from the bytes of a node to its place.
//!
//! Buckets of one cache line hold twelve references and a byte of each hash, so that a lookup
//! touches one line of the table and, nearly always, no node but the right one. Nothing is ever
//! removed: a collection builds the table anew from the arena, and so does growth.

use super::node::Ref;

const SLOTS: usize = 12;

/// Entries per 16 slots at which the table wants to grow.
const FULL_SIXTEENTHS: usize = 13;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Bucket {
    /// One byte of the hash, never 0; filled from the front, 0 from there on.
    tags: [u8; SLOTS],
    nodes: [Ref; SLOTS],
}

const VACANT: Bucket = Bucket { tags: [0; SLOTS], nodes: [0; SLOTS] };

/// A one for each tag, and nothing above them.
const EACH: u128 = u128::from_le_bytes([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);

impl Bucket {
    /// The tags in one number, ones above them.
    #[inline]
    fn all_tags(&self) -> u128 {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.tags;
        let low = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        u128::from(low) | u128::from(u32::from_le_bytes(rest)) << 64 | u128::from(u32::MAX) << 96
    }
}

/// The highest bit of every byte that is zero.
#[inline]
fn zero_bytes(bytes: u128) -> u128 {
    const BELOW: u128 = u128::from_le_bytes([0x7F; 16]);
    !(((bytes & BELOW) + BELOW) | bytes | BELOW)
}

pub(super) struct UniqueTable {
    buckets: Vec<Bucket>,
    len: usize,
}

/// A free place found by a failed search.
#[derive(Clone, Copy)]
pub(super) struct Place {
    bucket: u32,
    slot: u8,
    tag: u8,
}

impl UniqueTable {
    pub(super) fn new(buckets: usize) -> Self {
        UniqueTable { buckets: vec![VACANT; buckets], len: 0 }
    }

    /// The bytes of a table with that many buckets.
    pub(super) fn bytes_of(buckets: usize) -> usize {
        buckets * size_of::<Bucket>()
    }

    /// The buckets with which `nodes` entries fill the table by half.
    pub(super) fn buckets_for(nodes: usize) -> usize {
        (nodes * 2).div_ceil(SLOTS).max(4)
    }

    /// Empties the table.
    pub(super) fn clear(&mut self) {
        self.buckets.fill(VACANT);
        self.len = 0;
    }

    /// Adds nodes that are not there, by their hashes; several together, so that the memory of one
    /// bucket is waited for while others are on their way.
    pub(super) fn add_new(&mut self, group: &[(u64, Ref)]) {
        let touched = group.iter().fold(0, |sum, &(hash, _)| sum ^ self.buckets[self.home(hash)].tags[0]);
        std::hint::black_box(touched);
        for &(hash, node) in group {
            if let Err(place) = self.find(hash, |_| false) {
                self.fill(place, node);
            }
        }
    }

    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Whether one more entry would make searches long.
    #[inline]
    pub(super) fn wants_growth(&self) -> bool {
        self.len * 16 >= self.buckets.len() * (SLOTS * FULL_SIXTEENTHS)
    }

    /// Whether one more entry would leave no free slot to end a search.
    pub(super) fn is_full(&self) -> bool {
        self.len + self.len / 32 + 1 >= self.buckets.len() * SLOTS
    }

    /// The node with this hash that satisfies `same`, or the place to put it.
    #[inline]
    pub(super) fn find(&self, hash: u64, same: impl Fn(Ref) -> bool) -> Result<Ref, Place> {
        let tag = (hash as u8).max(1);
        let mut index = self.home(hash);
        loop {
            let bucket = &self.buckets[index];
            let tags = bucket.all_tags();
            let mut fits = zero_bytes(tags ^ (EACH * u128::from(tag)));
            while fits != 0 {
                let node = bucket.nodes[fits.trailing_zeros() as usize / 8];
                if same(node) {
                    return Ok(node);
                }
                fits &= fits - 1;
            }
            let free = zero_bytes(tags);
            if free != 0 {
                return Err(Place { bucket: index as u32, slot: (free.trailing_zeros() / 8) as u8, tag });
            }
            index += 1;
            if index == self.buckets.len() {
                index = 0;
            }
        }
    }

    /// Puts a node into the place that [`UniqueTable::find`] returned for it.
    #[inline]
    pub(super) fn fill(&mut self, place: Place, node: Ref) {
        let bucket = &mut self.buckets[place.bucket as usize];
        bucket.tags[place.slot as usize] = place.tag;
        bucket.nodes[place.slot as usize] = node;
        self.len += 1;
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        (((hash >> 32) * self.buckets.len() as u64) >> 32) as usize
    }
}

/// Hashes a padded node: a whole number of 4-byte units.
#[inline]
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = fold(state ^ u64::from_le_bytes(word), 0xd1b5_4a32_d192_ed03);
    }
    if let [a, b, c, d] = *chunks.remainder() {
        state = fold(state ^ u64::from(u32::from_le_bytes([a, b, c, d])), 0xa24b_aed4_963e_e407);
    }
    fold(state, 0x8cb9_2ba7_2f3d_8dd7)
}

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}
