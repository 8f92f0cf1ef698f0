//! Values without a small domain: whole numbers, or multiples of one unit, packed exactly into as many bits as they seem to
//! need.
//!
//! A code is the distance from a least value, plus one: codes ascend with values, and 0 stands for undefined. Where the
//! packing ends there is no code, which is no error of the model: whoever runs it says so, or begins again with
//! [more bits](WideCode::widened). Codes never depend on the order in which values are met.

use crate::state::mask;

/// Bits of a value whose bounds are not known, at first.
const FIRST: u32 = 16;
/// Most bits of a value.
pub const MOST_BITS: u32 = 63;

/// How one wide value is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideCode {
    bits: u32,
    low: i128,
}

impl WideCode {
    /// As few bits as hold every value from `low` to `high` and undefined; `None` where that takes more than there are.
    pub fn spanning(low: i128, high: i128) -> Option<Self> {
        // One code more for undefined.
        let codes = high.checked_sub(low)?.checked_add(1)?;
        let bits = (codes >= 1).then(|| 128 - codes.leading_zeros())?;
        (bits <= MOST_BITS).then_some(WideCode { bits, low })
    }

    /// Few bits around a value, where nothing is known of the others.
    pub fn around(value: i128) -> Self {
        WideCode { bits: FIRST, low: value.saturating_sub(1 << (FIRST - 1)) }
    }

    /// Exactly this many bits, up to 64, from `low` on.
    pub fn with_bits(bits: u32, low: i128) -> Self {
        WideCode { bits: bits.min(64), low }
    }

    /// Bits of a code.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// The least value that has a code.
    pub fn low(self) -> i128 {
        self.low
    }

    /// The code of a value; `None` where the packing ends. Code 0 is undefined.
    #[inline]
    pub fn encode(self, value: i128) -> Option<u64> {
        let code = u64::try_from(value.checked_sub(self.low)?.checked_add(1)?).ok()?;
        (code > 0 && code <= mask(self.bits)).then_some(code)
    }

    /// The value of a code; `None` of code 0, which is undefined.
    #[inline]
    pub fn decode(self, code: u64) -> Option<i128> {
        (code > 0).then(|| i128::from(code) - 1 + self.low)
    }

    /// Twice the bits, with as much room below as above; the same where there are no more.
    pub fn widened(self) -> Self {
        let bits = (self.bits * 2).clamp(FIRST, MOST_BITS);
        let below = (1i128 << (bits - 1)) - (1i128 << self.bits.saturating_sub(1));
        WideCode { bits, low: self.low.saturating_sub(below) }
    }

    /// Whether it has all the bits there are.
    pub fn is_widest(self) -> bool {
        self.bits >= MOST_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_the_edges_of_a_packing_have_codes_and_their_neighbours_have_none() {
        let codes = [
            WideCode::spanning(-3, 3).expect("eight codes"),
            WideCode::spanning(7, 7).expect("two codes"),
            WideCode::around(1_000_000_000_000),
            WideCode::around(-5).widened(),
            WideCode::around(0).widened().widened(),
        ];
        for code in codes {
            let high = code.low() + i128::from(mask(code.bits())) - 1;
            assert_eq!((code.encode(code.low()), code.encode(high)), (Some(1), Some(mask(code.bits()))));
            assert_eq!((code.encode(code.low() - 1), code.encode(high + 1)), (None, None));
            for value in [code.low(), code.low() + 1, high - 1, high] {
                let packed = code.encode(value).filter(|_| value >= code.low() && value <= high);
                assert_eq!(packed.and_then(|packed| code.decode(packed)), packed.map(|_| value));
            }
            assert_eq!(code.decode(0), None);
        }
        assert_eq!(WideCode::spanning(-3, 3).map(WideCode::bits), Some(3), "seven values and undefined");
        assert_eq!(WideCode::spanning(0, 7).map(WideCode::bits), Some(4));
        assert_eq!(WideCode::spanning(0, i128::from(u64::MAX)), None);
        assert_eq!(WideCode::spanning(1, 0), None);
        assert_eq!(WideCode::around(0).encode(i128::MAX), None);
        assert_eq!(WideCode::around(0).encode(i128::MIN), None);
    }

    #[test]
    fn widening_keeps_every_value_and_ends() {
        let mut code = WideCode::spanning(10, 12).expect("few");
        let mut held: Vec<i128> = (10..=12).collect();
        while !code.is_widest() {
            let wider = code.widened();
            assert!(wider.bits() > code.bits());
            assert!(held.iter().all(|&value| wider.encode(value).is_some()), "{code:?} to {wider:?}");
            held.extend([wider.low(), wider.low() + i128::from(mask(wider.bits())) - 1]);
            code = wider;
        }
        assert_eq!(code.bits(), MOST_BITS);
    }
}
