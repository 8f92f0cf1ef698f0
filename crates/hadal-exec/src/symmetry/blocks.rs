//! The state seen by permutations: *blocks* of up to 64 neighbouring bits that move and change as one.
//!
//! A [`Family`] is a block with all its images: one per combination of the scalarset indices on its path
//! (`cache[p].line[a]` has two). Within a family all blocks have the same content: plain bits, and [`Sub`] fields
//! that hold scalarset elements. A permutation moves each block to the place of the permuted indices and maps its
//! subs. Bits in no block are the same in every permuted state.
//!
//! Blocks inside a multiset belong to an [`Instance`], one element of one multiset. Families that differ only in
//! their place within a multiset have equal tags, because that order means nothing.

use hadal_system::state::mask;

use super::group::{Group, Segment};
use super::hash::fold;

/// Where a family's blocks stand along one scalarset index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dim {
    /// Which set, an index into the group's.
    pub set: u16,
    /// Its first element.
    pub base: u16,
    /// How many elements.
    pub size: u16,
    /// By how many bits the offset falls from one element to the next.
    pub stride: u32,
}

/// A field of a block that holds elements of scalarsets.
#[derive(Clone, Debug)]
pub(super) struct Sub {
    /// Where its least significant bit stands in the block.
    pub shift: u32,
    /// Its bits, at the low end.
    pub mask: u64,
    /// Whether code 0 is "undefined" and not an element.
    pub undefined: bool,
    /// Tells the subs of a family apart.
    pub tag: u64,
    /// The first segment of its domain; most have one.
    pub segment: Segment,
    /// The others.
    pub more: Box<[Segment]>,
}

impl Sub {
    /// Its code in a block's bits.
    #[inline]
    pub fn code(&self, bits: u64) -> u64 {
        bits >> self.shift & self.mask
    }

    /// The segment and element a code stands for, if any.
    #[inline]
    pub fn element(&self, code: u64) -> Option<(&Segment, u16)> {
        if let Some(element) = self.segment.element(code) {
            return Some((&self.segment, element));
        }
        self.more.iter().find_map(|segment| Some((segment, segment.element(code)?)))
    }
}

/// A block and its images.
#[derive(Clone, Debug)]
pub(super) struct Family {
    /// Offset of the block at the first element of every dimension.
    pub offset: u32,
    /// How many bits, 1 to 64.
    pub width: u32,
    /// The scalarset indices on the path, outermost first.
    pub dims: Vec<Dim>,
    /// The bits that are in no sub.
    pub plain: u64,
    /// The fields that hold elements.
    pub subs: Vec<Sub>,
    /// From the lowest to the highest bit of the blocks along the last index, where that is at most 64 bits.
    pub span: Option<u32>,
    /// The family's bits in such a window.
    pub lines: u64,
    /// A block of only zeros stays so under every permutation.
    pub zero_stays: bool,
    /// Equal only for families that differ in places within a multiset.
    pub tag: u64,
    /// The multiset element it is part of: an index into the walk's list of them.
    pub inside: Option<usize>,
}

impl Family {
    /// Whether exactly one index is of this set, so that "its own element" has one meaning.
    pub fn has_one_index_of(&self, set: u16) -> bool {
        self.dims.iter().filter(|dim| dim.set == set).count() == 1
    }
}

/// The elements of multisets at one slot, with all their images.
#[derive(Clone, Debug)]
pub(super) struct InstanceFamily {
    /// Number of the first instance.
    pub first: u32,
    /// The scalarset indices outside the multiset.
    pub dims: Vec<Dim>,
    /// The multiset element around it.
    pub inside: Option<usize>,
    /// Offset of the bit that says whether the element is present.
    pub present: u32,
    /// Equal for all slots of a multiset.
    pub tag: u64,
}

/// One block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its offset.
    pub offset: u32,
    /// Its family.
    pub family: u32,
    /// Where its indices start in [`Blocks::indices`]; as many as the family has dimensions.
    pub indices: u32,
}

/// The blocks of a family along its last index, or its only block where it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Offset of the block at the last element, the least significant.
    pub low: u32,
    /// The family.
    pub family: u32,
    /// The first block's indices in [`Blocks::indices`].
    pub indices: u32,
}

/// One element of one multiset; number 0 is the state around all multisets.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// The instance around it; comes earlier in the list.
    pub parent: u32,
    /// Offset of its `present` bit.
    pub present: u32,
    /// Equal for all slots of a multiset.
    pub tag: u64,
    /// Its blocks that refinement has to look at, a range of [`Blocks::linked`].
    pub blocks: std::ops::Range<usize>,
}

/// Everything permutations touch.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The families.
    pub families: Vec<Family>,
    /// Every block of every family, in lines.
    pub lines: Vec<Line>,
    /// How many blocks.
    pub count: usize,
    /// The elements each block is indexed by.
    pub indices: Vec<u16>,
    /// Blocks outside multisets without indices: variables that hold elements.
    pub globals: Vec<Block>,
    /// Blocks that relate several elements, grouped by instance.
    pub linked: Vec<Block>,
    /// Instances, outer before inner; the first is the state itself.
    pub instances: Vec<Instance>,
    /// Per set: what stands under a single index of that set and holds no elements, gathered into few words.
    pub keys: Vec<Vec<KeyWord>>,
    /// Per set: everything under an index of that set, other indices spelt out, with its family. A family with
    /// several indices of the set stands here once for each of them.
    pub rows: Vec<Vec<(RowPart, u32)>>,
    /// The bits that no permutation touches.
    pub fixed: Vec<u64>,
}

/// A part of the rows of one scalarset.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPart {
    /// Its offset in the first row.
    pub offset: u32,
    /// By how much the offset falls from row to row.
    pub stride: u32,
    /// How many bits.
    pub width: u32,
}

/// Plain bits of each row, side by side in one word.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyWord {
    /// The parts with their plain bits, the most significant first.
    pub parts: Vec<(RowPart, u64)>,
    /// How many bits together.
    pub width: u32,
}

impl Blocks {
    /// Spells out the blocks of all families.
    pub fn new(families: Vec<Family>, inside: &[InstanceFamily], group: &Group, words: usize) -> Blocks {
        let mut blocks = Blocks {
            lines: Vec::new(),
            count: 0,
            indices: Vec::new(),
            globals: Vec::new(),
            linked: Vec::new(),
            instances: instances(inside),
            keys: vec![Vec::new(); group.sets.len()],
            rows: vec![Vec::new(); group.sets.len()],
            fixed: vec![u64::MAX; words],
            families,
        };
        let mut linked: Vec<(u32, Block)> = Vec::new();
        for (number, family) in blocks.families.iter().enumerate() {
            let outer = family.inside.map(|at| &inside[at]);
            for_each_index(&family.dims, |index, offset| {
                let indices = blocks.indices.len() as u32;
                let elements = index.iter().zip(&family.dims).map(|(&n, dim)| dim.base + n);
                blocks.indices.extend(elements);
                let block = Block { offset: family.offset - offset, family: number as u32, indices };
                blocks.count += 1;
                if index.last().is_none_or(|&n| n == 0) {
                    let along = family.dims.last().map_or(0, |dim| u32::from(dim.size - 1) * dim.stride);
                    blocks.lines.push(Line { low: block.offset - along, family: number as u32, indices });
                }
                for bit in block.offset..block.offset + family.width {
                    blocks.fixed[(bit / 64) as usize] &= !(1 << (bit % 64));
                }
                match outer {
                    Some(outer) => linked.push((outer.instance(index), block)),
                    None if family.dims.is_empty() => blocks.globals.push(block),
                    None if family.dims.len() > 1 || !family.subs.is_empty() => linked.push((0, block)),
                    None => {}
                }
            });
            if let (None, [dim]) = (family.inside, &family.dims[..])
                && family.plain != 0
            {
                add_key(
                    &mut blocks.keys[usize::from(dim.set)],
                    RowPart::of(family, dim, family.offset),
                    family.plain,
                );
            }
            add_rows(number as u32, family, &mut blocks.rows);
        }
        linked.sort_by_key(|&(instance, _)| instance);
        for (number, instance) in blocks.instances.iter_mut().enumerate() {
            let at = |number: u32| linked.partition_point(|&(instance, _)| instance < number);
            instance.blocks = at(number as u32)..at(number as u32 + 1);
        }
        blocks.linked = linked.into_iter().map(|(_, block)| block).collect();
        blocks
    }

    /// The elements a block is indexed by.
    #[inline]
    pub fn indices(&self, block: &Block) -> &[u16] {
        let first = block.indices as usize;
        &self.indices[first..first + self.families[block.family as usize].dims.len()]
    }
}

/// The window that holds a family's blocks along its last index, and its bits in it.
pub(super) fn window(width: u32, dims: &[Dim]) -> (Option<u32>, u64) {
    let Some(dim) = dims.last() else { return (Some(width), mask(width)) };
    let span = u32::from(dim.size - 1) * dim.stride + width;
    if span > 64 {
        return (None, 0);
    }
    let lines = (0..u32::from(dim.size)).fold(0, |bits, n| bits | mask(width) << (n * dim.stride));
    (Some(span), lines)
}

impl RowPart {
    fn of(family: &Family, dim: &Dim, offset: u32) -> RowPart {
        RowPart { offset, stride: dim.stride, width: family.width }
    }
}

impl InstanceFamily {
    /// The instance at an index; inner families pass longer ones.
    fn instance(&self, index: &[u16]) -> u32 {
        let place =
            self.dims.iter().zip(index).fold(0, |n, (dim, &at)| n * u32::from(dim.size) + u32::from(at));
        self.first + place
    }
}

fn instances(families: &[InstanceFamily]) -> Vec<Instance> {
    let mut list = vec![Instance { parent: 0, present: 0, tag: 0, blocks: 0..0 }];
    for family in families {
        for_each_index(&family.dims, |index, offset| {
            debug_assert_eq!(list.len() as u32, family.instance(index));
            let parent = family.inside.map_or(0, |at| families[at].instance(index));
            let present = family.present - offset;
            list.push(Instance { parent, present, tag: fold(family.tag, 0x1D), blocks: 0..0 });
        });
    }
    list
}

/// Adds a part to the last word it fits in.
fn add_key(keys: &mut Vec<KeyWord>, part: RowPart, plain: u64) {
    if keys.last().is_none_or(|word| word.width + part.width > 64) {
        keys.push(KeyWord::default());
    }
    if let Some(word) = keys.last_mut() {
        word.width += part.width;
        word.parts.push((part, plain));
    }
}

/// Adds what a family puts under the rows of each set.
fn add_rows(number: u32, family: &Family, rows: &mut [Vec<(RowPart, u32)>]) {
    for (at, dim) in family.dims.iter().enumerate() {
        let mut others = family.dims.clone();
        others.remove(at);
        let parts = &mut rows[usize::from(dim.set)];
        for_each_index(&others, |_, fall| {
            parts.push((RowPart::of(family, dim, family.offset - fall), number));
        });
    }
}

/// Calls `visit` with every combination of indices and the fall in offset that it means.
pub(super) fn for_each_index(dims: &[Dim], mut visit: impl FnMut(&[u16], u32)) {
    let mut index = vec![0u16; dims.len()];
    loop {
        let fall = index.iter().zip(dims).map(|(&n, dim)| u32::from(n) * dim.stride).sum();
        visit(&index, fall);
        let Some(at) = (0..dims.len()).rev().find(|&at| index[at] + 1 < dims[at].size) else { return };
        index[at] += 1;
        index[at + 1..].fill(0);
    }
}
