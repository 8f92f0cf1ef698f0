//! Values known at compile time, or held in a register with bounds: interval analysis that rides along.

use cranelift_codegen::ir;
use hadal_system::{Domain, Value};

/// A value of the model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Val {
    /// Known.
    Const(Value),
    /// Computed at run time, within bounds.
    Dyn {
        /// Where it is.
        v: ir::Value,
        /// Least possible.
        lo: Value,
        /// Greatest possible.
        hi: Value,
    },
}

/// The packed code of a scalar.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code {
    /// Known.
    Const(u64),
    /// Computed at run time, within unsigned bounds.
    Dyn {
        /// Where it is.
        v: ir::Value,
        /// Least possible.
        lo: u64,
        /// Greatest possible.
        hi: u64,
    },
}

impl Val {
    /// Least and greatest possible value.
    pub fn bounds(self) -> (Value, Value) {
        match self {
            Val::Const(c) => (c, c),
            Val::Dyn { lo, hi, .. } => (lo, hi),
        }
    }

    /// The value, where it is known.
    pub fn known(self) -> Option<Value> {
        match self {
            Val::Const(c) => Some(c),
            Val::Dyn { .. } => None,
        }
    }
}

impl Code {
    /// Least and greatest possible code.
    pub fn bounds(self) -> (u64, u64) {
        match self {
            Code::Const(c) => (c, c),
            Code::Dyn { lo, hi, .. } => (lo, hi),
        }
    }
}

/// The greatest code of a domain; 0 for a domain of one value that is never undefined.
pub(super) fn max_code(domain: &Domain) -> u64 {
    // `size` saturates only at 2^64 values, where undefined is impossible and the last position is `u64::MAX`.
    let last = domain
        .intervals
        .iter()
        .fold(0u128, |n, &(lo, hi)| n + (hi as i128 - lo as i128) as u128 + 1)
        .saturating_sub(1);
    (last + u128::from(domain.undefined)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_code_counts_undefined() {
        assert_eq!(max_code(&Domain::range(5, 7, true)), 3);
        assert_eq!(max_code(&Domain::range(5, 7, false)), 2);
        assert_eq!(max_code(&Domain::range(5, 5, false)), 0);
        assert_eq!(max_code(&Domain::range(i64::MIN, i64::MAX, false)), u64::MAX);
    }
}
