//! What compiled code calls back into: faults, and whole-aggregate operations too long to unroll.

use hadal_system::Label;

/// What one call of compiled code shares with the caller. Compiled code knows the field offsets.
#[repr(C)]
pub(super) struct Context {
    /// Where faulting labels go.
    pub faults: *mut Vec<Label>,
    /// Cover counts by property.
    pub covers: *mut u64,
    /// Instances `first..last` of a loop over instances.
    pub first: u64,
    /// See `first`.
    pub last: u64,
}

impl Context {
    /// Byte offset of `covers`.
    pub const COVERS: i32 = std::mem::offset_of!(Context, covers) as i32;
    /// Byte offset of `first`.
    pub const FIRST: i32 = std::mem::offset_of!(Context, first) as i32;
    /// Byte offset of `last`.
    pub const LAST: i32 = std::mem::offset_of!(Context, last) as i32;
}

/// Where a scalar lies in an aggregate, for [`any_zero`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Offset of its least significant bit.
    pub offset: u32,
    /// Its width.
    pub width: u32,
}

/// Notes that the instance with this label met an error.
///
/// # Safety
/// `context` is the context of the running call and its `faults` point to a list nobody else uses meanwhile.
pub(super) unsafe extern "C" fn note_fault(context: *mut Context, label: u64) {
    // SAFETY: see above; labels fit 32 bits because `Compiled::new` refuses more instances.
    unsafe { (*(*context).faults).push(Label(label as u32)) }
}

/// Reads `width` (1 to 64) bits at `offset`.
///
/// # Safety
/// The words that hold these bits are readable.
unsafe fn get(words: *const u64, offset: u64, width: u64) -> u64 {
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    // SAFETY: the first word holds the first bit; the second is read only where bits reach into it.
    let mut bits = unsafe { *words.add(word) } >> shift;
    if shift + width > 64 {
        // SAFETY: as above.
        bits |= unsafe { *words.add(word + 1) } << (64 - shift);
    }
    bits & (u64::MAX >> (64 - width))
}

/// Writes `width` (1 to 64) bits at `offset`.
///
/// # Safety
/// The words that hold these bits are readable and writable.
unsafe fn put(words: *mut u64, offset: u64, width: u64, bits: u64) {
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    let mask = u64::MAX >> (64 - width);
    // SAFETY: the first word holds the first bit; the second is touched only where bits reach into it.
    unsafe {
        let low = words.add(word);
        *low = *low & !(mask << shift) | bits << shift;
        if shift + width > 64 {
            let high = words.add(word + 1);
            *high = *high & !(mask >> (64 - shift)) | bits >> (64 - shift);
        }
    }
}

/// Copies `bits` bits; the places are the same or do not overlap.
///
/// # Safety
/// Both ranges of bits lie in readable memory, the first in writable memory.
pub(super) unsafe extern "C" fn copy_bits(
    to: *mut u64,
    to_at: u64,
    from: *const u64,
    from_at: u64,
    bits: u64,
) {
    let mut done = 0;
    while done < bits {
        let width = (bits - done).min(64);
        // SAFETY: `done + width <= bits`.
        unsafe { put(to, to_at + done, width, get(from, from_at + done, width)) };
        done += width;
    }
}

/// 1 where `bits` bits are equal.
///
/// # Safety
/// Both ranges of bits lie in readable memory.
pub(super) unsafe extern "C" fn same_bits(
    left: *const u64,
    left_at: u64,
    right: *const u64,
    right_at: u64,
    bits: u64,
) -> u64 {
    let mut done = 0;
    while done < bits {
        let width = (bits - done).min(64);
        // SAFETY: `done + width <= bits`.
        if unsafe { get(left, left_at + done, width) != get(right, right_at + done, width) } {
            return 0;
        }
        done += width;
    }
    1
}

/// Clears `bits` bits.
///
/// # Safety
/// The bits lie in readable and writable memory.
pub(super) unsafe extern "C" fn zero_bits(to: *mut u64, to_at: u64, bits: u64) {
    let mut done = 0;
    while done < bits {
        let width = (bits - done).min(64);
        // SAFETY: `done + width <= bits`.
        unsafe { put(to, to_at + done, width, 0) };
        done += width;
    }
}

/// 1 where one of `count` scalars of the aggregate at `at` has code 0.
///
/// # Safety
/// `fields` points to `count` fields whose bits lie in readable memory.
pub(super) unsafe extern "C" fn any_zero(
    words: *const u64,
    at: u64,
    fields: *const Field,
    count: u64,
) -> u64 {
    for n in 0..count as usize {
        // SAFETY: `n < count`.
        let field = unsafe { *fields.add(n) };
        // SAFETY: the caller vouches for every field's bits.
        if unsafe { get(words, at + u64::from(field.offset), u64::from(field.width)) } == 0 {
            return 1;
        }
    }
    0
}

/// Copies a whole state.
///
/// # Safety
/// `words` words are readable at `from` and writable at `to`, and do not overlap.
pub(super) unsafe extern "C" fn copy_words(to: *mut u64, from: *const u64, words: u64) {
    // SAFETY: see above.
    unsafe { std::ptr::copy_nonoverlapping(from, to, words as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_copy_between_any_offsets() {
        let from = [0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, 0x1111_2222_3333_4444u64, 7];
        for (from_at, to_at, bits) in [(0, 0, 192), (3, 61, 100), (63, 1, 65), (5, 5, 1), (64, 0, 64)] {
            let mut to = [u64::MAX; 5];
            // SAFETY: every range ends before bit 192 of arrays of at least 4 words.
            let same = unsafe {
                copy_bits(to.as_mut_ptr(), to_at, from.as_ptr(), from_at, bits);
                same_bits(to.as_ptr(), to_at, from.as_ptr(), from_at, bits)
            };
            assert_eq!(same, 1, "{from_at} {to_at} {bits}");
            // SAFETY: as above.
            unsafe { zero_bits(to.as_mut_ptr(), to_at, bits) };
            let ones: u32 = to.iter().map(|w| w.count_ones()).sum();
            assert_eq!(u64::from(ones), 5 * 64 - bits, "neighbours stay as they are");
        }
    }
}
