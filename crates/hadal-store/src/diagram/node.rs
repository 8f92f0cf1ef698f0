//! What a node looks like in the arena, byte by byte.
//!
//! | first byte (without bit 7) | rest |
//! |---|---|
//! | 0: *map* branch, 32 or more labels | 32 bytes of bitmap, then children |
//! | 2..=31: *list* branch of so many labels | labels ascending, one byte each, then children |
//! | 32..=126: chain of 1..=95 labels | labels, then one child |
//! | 127: long chain | `u16` length, labels, then one child |
//!
//! Bit 7 marks a *leaf*: all children are the terminal and none is stored. A child is a `u32`
//! reference, counted in units of 4 bytes from the start of the arena. Nodes are padded to a unit.
//! A chain of one to three labels that ends in the terminal is not stored at all: its reference holds the
//! labels. Most states end in such a chain, and making one costs nothing.
//!
//! Chains are as long as they can be (a chain's child is a branch or the terminal), and the
//! arrangement is decided by the content alone, so equal sets have equal bytes.

/// A node by its place in the arena, or [`EMPTY`] or [`TERMINAL`], or a short leaf chain itself.
pub(super) type Ref = u32;

/// No state at all.
pub(super) const EMPTY: Ref = 0;
/// The end of a state.
pub(super) const TERMINAL: Ref = 1;
/// References from here on are chains to the terminal: the number of labels less one in the highest byte,
/// from 0xfd on, and the labels below it, the first one lowest.
pub(super) const FIRST_INLINE: Ref = 0xfd00_0000;
/// The longest chain that a reference holds.
pub(super) const MAX_INLINE: usize = 3;
/// References count in units of this many bytes.
pub(super) const UNIT: usize = 4;
/// The first units stand for the two constants and hold no node.
pub(super) const FIRST: usize = 2 * UNIT;
/// The largest branch: header, bitmap, 256 children.
pub(super) const MAX_BRANCH_BYTES: usize = 1 + MAP_BYTES + 256 * 4;

const LEAF: u8 = 0x80;
const MAP_BYTES: usize = 32;
const MAX_LIST: usize = 31;
const MAX_SHORT_CHAIN: usize = 95;
const LONG_CHAIN: u8 = 127;

/// A node read in place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    Chain { labels: Labels<'a>, child: Ref },
    Branch(Branch<'a>),
}

/// The labels of a chain; dereferences to them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Labels<'a> {
    Stored(&'a [u8]),
    Inline([u8; MAX_INLINE], u8),
}

impl std::ops::Deref for Labels<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Labels::Stored(labels) => labels,
            Labels::Inline(labels, len) => &labels[..usize::from(*len)],
        }
    }
}

/// Whether the reference is to a place in the arena.
#[inline]
pub(super) fn is_stored(node: Ref) -> bool {
    node > TERMINAL && node < FIRST_INLINE
}

/// The reference that is a chain of one to [`MAX_INLINE`] labels to the terminal.
#[inline]
pub(super) fn inline(labels: &[u8]) -> Ref {
    debug_assert!((1..=MAX_INLINE).contains(&labels.len()));
    let labels_below = labels.iter().rev().fold(0, |sum, &label| sum << 8 | Ref::from(label));
    FIRST_INLINE + ((labels.len() as Ref - 1) << 24) + labels_below
}

/// The labels of a reference that is a chain itself.
#[inline]
pub(super) fn inline_labels(node: Ref) -> Labels<'static> {
    debug_assert!(node >= FIRST_INLINE);
    let [first, second, third, len] = (node - FIRST_INLINE).to_le_bytes();
    Labels::Inline([first, second, third], len + 1)
}

/// A node with two or more children.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch<'a> {
    /// The labels of a list, or the bitmap of a map.
    keys: &'a [u8],
    map: bool,
    /// Four bytes for each child; empty in a leaf.
    children: &'a [u8],
}

#[inline]
fn read_ref(bytes: &[u8]) -> Ref {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// What a node that comes from a file claims to be, not yet believed.
pub(super) struct Claim {
    pub(super) chain: bool,
    pub(super) leaf: bool,
    pub(super) labels: Vec<u8>,
}

/// Takes the front of a node as [`without_children`] gives it off `bytes`; `None` if no node of any
/// diagram looks like that.
pub(super) fn parse(bytes: &mut &[u8]) -> Option<Claim> {
    let &head = bytes.split_off_first()?;
    let leaf = head & LEAF != 0;
    let kind = (head & !LEAF) as usize;
    if kind == 0 {
        let map = bytes.split_off(..MAP_BYTES)?;
        let labels: Vec<u8> =
            (0..=255).filter(|&label| map[label as usize / 8] >> (label % 8) & 1 == 1).collect();
        return (labels.len() > MAX_LIST).then_some(Claim { chain: false, leaf, labels });
    }
    let chain = kind > MAX_LIST;
    let len = if kind == LONG_CHAIN as usize {
        let len = bytes.split_off(..2)?;
        usize::from(u16::from_le_bytes([len[0], len[1]]))
    } else if chain {
        kind - MAX_LIST
    } else {
        kind
    };
    let labels = bytes.split_off(..len)?.to_vec();
    let proper = match kind {
        1 => false,
        _ if !chain => labels.is_sorted_by(|a, b| a < b),
        _ => (kind == LONG_CHAIN as usize) == (len > MAX_SHORT_CHAIN),
    };
    proper.then_some(Claim { chain, leaf, labels })
}

/// Reads the node that starts at byte `at`.
#[inline]
pub(super) fn read(arena: &[u8], at: usize) -> Node<'_> {
    let head = arena[at];
    let leaf = head & LEAF != 0;
    let kind = head & !LEAF;
    if kind > MAX_LIST as u8 {
        let (from, len) = if kind == LONG_CHAIN {
            (at + 3, u16::from_le_bytes([arena[at + 1], arena[at + 2]]) as usize)
        } else {
            (at + 1, kind as usize - MAX_LIST)
        };
        let labels = &arena[from..from + len];
        let child = if leaf { TERMINAL } else { read_ref(&arena[from + len..from + len + 4]) };
        return Node::Chain { labels: Labels::Stored(labels), child };
    }
    let (map, width) = if kind == 0 { (true, MAP_BYTES) } else { (false, kind as usize) };
    let keys = &arena[at + 1..at + 1 + width];
    let children = if leaf {
        &[]
    } else {
        let count = if map { ones(keys) } else { width };
        &arena[at + 1 + width..at + 1 + width + 4 * count]
    };
    Node::Branch(Branch { keys, map, children })
}

/// The padded size in bytes of the node that starts at byte `at`.
#[inline]
pub(super) fn size(arena: &[u8], at: usize) -> usize {
    let head = arena[at];
    let kind = head & !LEAF;
    let (fixed, count) = match kind as usize {
        0 => (1 + MAP_BYTES, if head & LEAF == 0 { ones(&arena[at + 1..at + 1 + MAP_BYTES]) } else { 0 }),
        n if n <= MAX_LIST => (1 + n, n),
        n if kind < LONG_CHAIN => (1 + n - MAX_LIST, 1),
        _ => (3 + u16::from_le_bytes([arena[at + 1], arena[at + 2]]) as usize, 1),
    };
    let children = if head & LEAF == 0 { 4 * count } else { 0 };
    (fixed + children).next_multiple_of(UNIT)
}

/// Calls `each` with every child of the node at `at` but the terminal.
#[inline]
pub(super) fn each_child(arena: &[u8], at: usize, mut each: impl FnMut(Ref)) {
    match read(arena, at) {
        Node::Chain { child: TERMINAL, .. } => {}
        Node::Chain { child, .. } => each(child),
        Node::Branch(branch) => branch.children.chunks_exact(4).for_each(|child| each(read_ref(child))),
    }
}

/// Replaces every child of the node at `at` but the terminal by what `change` makes of it.
pub(super) fn rewrite_children(arena: &mut [u8], at: usize, mut change: impl FnMut(Ref) -> Ref) {
    let children = match read(arena, at) {
        Node::Chain { child: TERMINAL, .. } => 0,
        Node::Chain { .. } => 1,
        Node::Branch(branch) => branch.children.len() / 4,
    };
    let from = at + without_children(arena, at).len();
    for child in arena[from..from + 4 * children].chunks_exact_mut(4) {
        let changed = change(read_ref(child));
        child.copy_from_slice(&changed.to_le_bytes());
    }
}

/// Appends a branch of two or more ascending labels; padding is left to the caller.
#[inline]
pub(super) fn write_branch(arena: &mut Vec<u8>, labels: &[u8], children: &[Ref]) {
    debug_assert!(labels.len() >= 2 && labels.is_sorted());
    // Children of one node have one height: all are terminal or none is.
    let leaf = children[0] == TERMINAL;
    let mark = if leaf { LEAF } else { 0 };
    if labels.len() <= MAX_LIST {
        arena.push(mark | labels.len() as u8);
        arena.extend_from_slice(labels);
    } else {
        let mut map = [0u8; MAP_BYTES];
        for &label in labels {
            map[label as usize / 8] |= 1 << (label % 8);
        }
        arena.push(mark);
        arena.extend_from_slice(&map);
    }
    if !leaf {
        arena.extend(children.iter().flat_map(|child| child.to_le_bytes()));
    }
}

/// Appends the head of a chain of `len` labels; the labels and [`write_chain_child`] follow.
#[inline]
pub(super) fn write_chain_head(arena: &mut Vec<u8>, len: usize, child: Ref) {
    let mark = if child == TERMINAL { LEAF } else { 0 };
    if len <= MAX_SHORT_CHAIN {
        arena.push(mark | (len + MAX_LIST) as u8);
    } else {
        arena.push(mark | LONG_CHAIN);
        arena.extend_from_slice(&(len as u16).to_le_bytes());
    }
}

/// Appends the child that ends a chain.
#[inline]
pub(super) fn write_chain_child(arena: &mut Vec<u8>, child: Ref) {
    if child != TERMINAL {
        arena.extend_from_slice(&child.to_le_bytes());
    }
}

fn quarter(map: &[u8], index: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&map[index * 8..index * 8 + 8]);
    u64::from_le_bytes(bytes)
}

fn ones(map: &[u8]) -> usize {
    (0..4).map(|index| quarter(map, index).count_ones() as usize).sum()
}

impl<'a> Branch<'a> {
    /// The number of labels.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.map { ones(self.keys) } else { self.keys.len() }
    }

    /// Whether all children are the terminal.
    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// The child of the label at `index`.
    #[inline]
    pub(super) fn child(&self, index: usize) -> Ref {
        if self.is_leaf() { TERMINAL } else { read_ref(&self.children[4 * index..4 * index + 4]) }
    }

    /// The first label that is at least `label`, with its index; all labels before index `from` are
    /// known to be smaller.
    #[inline]
    pub(super) fn seek(&self, from: usize, label: u8) -> Option<(usize, u8)> {
        if !self.map {
            let rest = &self.keys[from..];
            let skipped = rest.iter().position(|&key| key >= label)?;
            return Some((from + skipped, rest[skipped]));
        }
        let first = label as usize / 64;
        let mut word = quarter(self.keys, first) & (!0 << (label % 64));
        let mut at = first;
        while word == 0 {
            at += 1;
            if at == 4 {
                return None;
            }
            word = quarter(self.keys, at);
        }
        let bit = word.trailing_zeros();
        let before: u32 = (0..at).map(|index| quarter(self.keys, index).count_ones()).sum();
        let index = before + (quarter(self.keys, at) & ((1 << bit) - 1)).count_ones();
        Some((index as usize, (at * 64) as u8 + bit as u8))
    }

    /// The index of `label`, if it is there; `from` as in [`Branch::seek`].
    #[inline]
    pub(super) fn find(&self, from: usize, label: u8) -> Option<usize> {
        self.seek(from, label).and_then(|(index, found)| (found == label).then_some(index))
    }

    /// The label that follows `label`, which stands at `index`.
    #[inline]
    pub(super) fn next(&self, index: usize, label: u8) -> Option<(usize, u8)> {
        if !self.map {
            return self.keys.get(index + 1).map(|&key| (index + 1, key));
        }
        self.seek(index, label.checked_add(1)?)
    }

    /// The smallest label.
    #[inline]
    pub(super) fn first(&self) -> u8 {
        if !self.map {
            return self.keys[0];
        }
        // A branch has two labels or more, so the search from 0 finds one.
        self.seek(0, 0).map_or(0, |(_, label)| label)
    }

    /// Appends labels and children, ascending.
    #[inline]
    pub(super) fn list_into(&self, labels: &mut Vec<u8>, children: &mut Vec<Ref>) {
        if self.map {
            for index in 0..4 {
                let mut word = quarter(self.keys, index);
                while word != 0 {
                    labels.push((index * 64) as u8 + word.trailing_zeros() as u8);
                    word &= word - 1;
                }
            }
        } else {
            labels.extend_from_slice(self.keys);
        }
        if self.is_leaf() {
            children.resize(labels.len(), TERMINAL);
        } else {
            children.extend(self.children.chunks_exact(4).map(read_ref));
        }
    }
}

/// The bytes of the node at `at` in front of its children: what it is, and its labels.
pub(super) fn without_children(arena: &[u8], at: usize) -> &[u8] {
    let head = arena[at] & !LEAF;
    let size = match head as usize {
        0 => 1 + MAP_BYTES,
        n if n <= MAX_LIST => 1 + n,
        n if head < LONG_CHAIN => 1 + n - MAX_LIST,
        _ => 3 + u16::from_le_bytes([arena[at + 1], arena[at + 2]]) as usize,
    };
    &arena[at..at + size]
}

/// Bytes in front of the labels of a chain of `len` labels.
#[inline]
pub(super) fn chain_head_size(len: usize) -> usize {
    if len <= MAX_SHORT_CHAIN { 1 } else { 3 }
}
