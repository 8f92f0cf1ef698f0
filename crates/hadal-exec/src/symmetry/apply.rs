//! Applies a permutation to a packed state.

use hadal_system::state::{get_bits, mask};

use super::blocks::{Blocks, Dim, Family, Line};

/// A line of a family in the state that it is read from.
#[derive(Clone, Copy)]
struct Read<'a> {
    line: &'a Line,
    family: &'a Family,
    from: &'a [u64],
}

impl Blocks {
    /// Writes to `to` the state in which every element `e` of `from` has become the element at `place[e]`, a
    /// position among the elements of all scalarsets. Multisets are left unsorted.
    pub fn apply(&self, from: &[u64], place: &[u16], to: &mut [u64]) {
        for ((to, from), fixed) in to.iter_mut().zip(from).zip(&self.fixed) {
            *to = from & fixed;
        }
        for line in &self.lines {
            let family = &self.families[line.family as usize];
            let read = Read { line, family, from };
            match family.span {
                Some(span) => self.apply_window(read, span, place, to),
                None => self.apply_wide(read, place, to),
            }
        }
    }

    /// For a line of at most 64 bits, `span` of them: permutes it in a register.
    #[inline]
    fn apply_window(&self, Read { line, family, from }: Read, span: u32, place: &[u16], to: &mut [u64]) {
        let window = get_bits(from, line.low, span) & family.lines;
        if window == 0 && family.zero_stays {
            return;
        }
        let Some((dim, outer)) = family.dims.split_last() else {
            or_bits(to, line.low, span, map_subs(family, window, place));
            return;
        };
        let mask = mask(family.width);
        let mut image = 0;
        let mut shift = u32::from(dim.size) * dim.stride;
        for &goes in &place[usize::from(dim.base)..usize::from(dim.base + dim.size)] {
            shift -= dim.stride;
            let bits = map_subs(family, window >> shift & mask, place);
            image |= bits << (u32::from(dim.base + dim.size - 1 - goes) * dim.stride);
        }
        or_bits(to, self.image_offset(line, outer, line.low, place), span, image);
    }

    /// For longer lines: block by block.
    fn apply_wide(&self, Read { line, family, from }: Read, place: &[u16], to: &mut [u64]) {
        let Some((dim, outer)) = family.dims.split_last() else { return };
        let low = self.image_offset(line, outer, line.low, place);
        let mut offset = line.low + u32::from(dim.size) * dim.stride;
        for &goes in &place[usize::from(dim.base)..usize::from(dim.base + dim.size)] {
            offset -= dim.stride;
            let bits = get_bits(from, offset, family.width);
            if bits != 0 || !family.zero_stays {
                let fall = u32::from(dim.base + dim.size - 1 - goes) * dim.stride;
                or_bits(to, low + fall, family.width, map_subs(family, bits, place));
            }
        }
    }

    /// Where a line goes: its outer indices change.
    #[inline]
    fn image_offset(&self, line: &Line, outer: &[Dim], mut low: u32, place: &[u16]) -> u32 {
        for (dim, &element) in outer.iter().zip(&self.indices[line.indices as usize..]) {
            low += u32::from(element) * dim.stride;
            low -= u32::from(place[usize::from(element)]) * dim.stride;
        }
        low
    }
}

/// Maps the elements a block holds.
#[inline]
fn map_subs(family: &Family, mut bits: u64, place: &[u16]) -> u64 {
    for sub in &family.subs {
        let code = sub.code(bits);
        if let Some((segment, element)) = sub.element(code) {
            let image = segment.first + u64::from(place[usize::from(element)] - segment.base);
            bits ^= (code ^ image) << sub.shift;
        }
    }
    bits
}

/// Sets the bits of `value` in words that are 0 there.
#[inline]
fn or_bits(words: &mut [u64], offset: u32, width: u32, value: u64) {
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    words[word] |= value << shift;
    if shift + width > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}
