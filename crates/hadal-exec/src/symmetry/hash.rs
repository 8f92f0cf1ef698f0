//! Mixing for refinement. Hashes here only order cells: a collision leaves a cell coarser and costs time, no more.

/// Odd constants with bits in no pattern.
pub(super) const K: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03, 0xA24B_AED4_963E_E407, 0x8EBC_6AF0_9C88_C6E3];

/// Folds the 128-bit product of two mixed numbers.
#[inline]
pub(super) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ K[0]) * u128::from(b ^ K[1]);
    (product as u64) ^ ((product >> 64) as u64)
}
