//! Values known at compile time, or held in a register with bounds: interval analysis that rides along.

use cranelift_codegen::ir;
use hadal_system::{BinaryOp, Domain, Value};

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

/// The bounds of an operator's result that fit 64 bits; `None` where some result might not, or the operator can fail.
pub(super) fn binary_bounds(op: BinaryOp, l: (Value, Value), r: (Value, Value)) -> Option<(Value, Value)> {
    let exact = |corners: &[i128]| {
        let lo = corners.iter().min().copied()?;
        let hi = corners.iter().max().copied()?;
        Some((i64::try_from(lo).ok()?, i64::try_from(hi).ok()?))
    };
    let (a, b) = (l.0 as i128, l.1 as i128);
    let (c, d) = (r.0 as i128, r.1 as i128);
    match op {
        BinaryOp::Add => exact(&[a + c, b + d]),
        BinaryOp::Subtract => exact(&[a - d, b - c]),
        BinaryOp::Multiply => exact(&[a * c, a * d, b * c, b * d]),
        BinaryOp::Divide if c > 0 || d < 0 => exact(&[a / c, a / d, b / c, b / d]),
        BinaryOp::Remainder if c > 0 || d < 0 => {
            let magnitude = c.abs().max(d.abs()) - 1;
            let lo = if a >= 0 { 0 } else { (-magnitude).max(a) };
            let hi = if b <= 0 { 0 } else { magnitude.min(b) };
            exact(&[lo, hi])
        }
        BinaryOp::BitAnd if a >= 0 && c >= 0 => exact(&[0, b.min(d)]),
        BinaryOp::BitAnd if a >= 0 => exact(&[0, b]),
        BinaryOp::BitAnd if c >= 0 => exact(&[0, d]),
        BinaryOp::BitOr | BinaryOp::BitXor if a >= 0 && c >= 0 => {
            let top = b.max(d) as u64;
            let all = if top == 0 { 0 } else { u64::MAX >> top.leading_zeros() };
            exact(&[0, all as i128])
        }
        BinaryOp::ShiftRight if (0..64).contains(&c) && d < 64 => exact(&[a >> c, a >> d, b >> c, b >> d]),
        BinaryOp::ShiftLeft if (0..64).contains(&c) && d < 64 => exact(&[a << c, a << d, b << c, b << d]),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => Some((i64::MIN, i64::MAX)),
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Implies => Some((0, 1)),
        BinaryOp::Divide | BinaryOp::Remainder => None,
    }
}

/// What a comparison gives wherever its operands lie in these bounds, if that is one answer.
pub(super) fn decided(op: BinaryOp, l: (Value, Value), r: (Value, Value)) -> Option<bool> {
    match op {
        BinaryOp::Equal if l.1 < r.0 || r.1 < l.0 => Some(false),
        BinaryOp::NotEqual if l.1 < r.0 || r.1 < l.0 => Some(true),
        BinaryOp::Less if l.1 < r.0 => Some(true),
        BinaryOp::Less if l.0 >= r.1 => Some(false),
        BinaryOp::LessEqual if l.1 <= r.0 => Some(true),
        BinaryOp::LessEqual if l.0 > r.1 => Some(false),
        BinaryOp::Greater | BinaryOp::GreaterEqual => decided(swapped(op), r, l),
        _ => None,
    }
}

/// The comparison that gives the same with its operands exchanged.
pub(super) fn swapped(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_for_every_pair_of_small_operands() {
        use BinaryOp::*;
        let ops = [Add, Subtract, Multiply, Divide, Remainder, ShiftLeft, ShiftRight, BitAnd, BitOr, BitXor];
        let ranges: Vec<(i64, i64)> = (-4..5).flat_map(|lo| (lo..5).map(move |hi| (lo, hi))).collect();
        for op in ops {
            for &l in &ranges {
                for &r in &ranges {
                    let Some((lo, hi)) = binary_bounds(op, l, r) else { continue };
                    for x in l.0..=l.1 {
                        for y in r.0..=r.1 {
                            let got = op.apply(x, y).unwrap_or_else(|| panic!("{op:?} {x} {y} fails"));
                            assert!(lo <= got && got <= hi, "{op:?} {x} {y} = {got} outside {lo}..{hi}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_greatest_code_counts_undefined() {
        assert_eq!(max_code(&Domain::range(5, 7, true)), 3);
        assert_eq!(max_code(&Domain::range(5, 7, false)), 2);
        assert_eq!(max_code(&Domain::range(5, 5, false)), 0);
        assert_eq!(max_code(&Domain::range(i64::MIN, i64::MAX, false)), u64::MAX);
    }
}
