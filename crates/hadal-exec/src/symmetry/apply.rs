//! Applies a permutation to a packed state.

use hadal_system::state::get_bits;

use super::blocks::Blocks;

impl Blocks {
    /// Writes to `to` the state in which every element `e` of `from` has become the element at `place[e]`, a
    /// position among the elements of all scalarsets. Multisets are left unsorted.
    pub fn apply(&self, from: &[u64], place: &[u16], to: &mut [u64]) {
        for ((to, from), fixed) in to.iter_mut().zip(from).zip(&self.fixed) {
            *to = from & fixed;
        }
        for block in &self.all {
            let family = &self.families[block.family as usize];
            let mut bits = get_bits(from, block.offset, family.width);
            if bits == 0 && family.zero_stays {
                continue;
            }
            for sub in &family.subs {
                let code = sub.code(bits);
                if let Some((segment, element)) = sub.element(code) {
                    let image = segment.first + u64::from(place[usize::from(element)] - segment.base);
                    bits ^= (code ^ image) << sub.shift;
                }
            }
            let mut offset = family.offset;
            for (dim, &element) in family.dims.iter().zip(self.indices(block)) {
                offset -= u32::from(place[usize::from(element)] - dim.base) * dim.stride;
            }
            or_bits(to, offset, family.width, bits);
        }
    }
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
