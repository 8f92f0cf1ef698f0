//! Intervals of values: the one place that knows what operators make of them. Static facts, the compiler, stubborn sets and
//! front ends that look for ranges all ask here.

use crate::domain::Value;
use crate::expr::BinaryOp;

/// The least and the greatest result of a sum, difference or product, whether it fits 64 bits or not; nothing of others.
pub fn corners(op: BinaryOp, l: (Value, Value), r: (Value, Value)) -> Option<(i128, i128)> {
    let (a, b) = (i128::from(l.0), i128::from(l.1));
    let (c, d) = (i128::from(r.0), i128::from(r.1));
    match op {
        BinaryOp::Add => Some((a + c, b + d)),
        BinaryOp::Subtract => Some((a - d, b - c)),
        BinaryOp::Multiply => {
            let products = [a * c, a * d, b * c, b * d];
            Some((products.into_iter().min()?, products.into_iter().max()?))
        }
        _ => None,
    }
}

/// The bounds of an operator's result that fit 64 bits; `None` where some result might not, or the operator can fail.
pub fn binary(op: BinaryOp, l: (Value, Value), r: (Value, Value)) -> Option<(Value, Value)> {
    let exact = |(low, high): (i128, i128)| Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?));
    let of = |values: &[i128]| exact((values.iter().min().copied()?, values.iter().max().copied()?));
    let (a, b) = (l.0 as i128, l.1 as i128);
    let (c, d) = (r.0 as i128, r.1 as i128);
    match op {
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => exact(corners(op, l, r)?),
        BinaryOp::Divide if c > 0 || d < 0 => of(&[a / c, a / d, b / c, b / d]),
        BinaryOp::Remainder if c > 0 || d < 0 => {
            let magnitude = c.abs().max(d.abs()) - 1;
            let lo = if a >= 0 { 0 } else { (-magnitude).max(a) };
            let hi = if b <= 0 { 0 } else { magnitude.min(b) };
            of(&[lo, hi])
        }
        BinaryOp::BitAnd if a >= 0 && c >= 0 => of(&[0, b.min(d)]),
        BinaryOp::BitAnd if a >= 0 => of(&[0, b]),
        BinaryOp::BitAnd if c >= 0 => of(&[0, d]),
        BinaryOp::BitOr | BinaryOp::BitXor if a >= 0 && c >= 0 => {
            let top = b.max(d) as u64;
            let all = if top == 0 { 0 } else { u64::MAX >> top.leading_zeros() };
            of(&[0, all as i128])
        }
        BinaryOp::ShiftRight if (0..64).contains(&c) && d < 64 => of(&[a >> c, a >> d, b >> c, b >> d]),
        BinaryOp::ShiftLeft if (0..64).contains(&c) && d < 64 => of(&[a << c, a << d, b << c, b << d]),
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
pub fn decided(op: BinaryOp, l: (Value, Value), r: (Value, Value)) -> Option<bool> {
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
pub fn swapped(op: BinaryOp) -> BinaryOp {
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
                    let Some((lo, hi)) = binary(op, l, r) else { continue };
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
    fn what_does_not_fit_has_no_bounds() {
        let all = (i64::MIN, i64::MAX);
        assert_eq!(binary(BinaryOp::Add, all, (1, 1)), None);
        assert_eq!(corners(BinaryOp::Add, all, (1, 1)).map(|(_, high)| high), Some(1 << 63));
        assert_eq!(binary(BinaryOp::Subtract, (0, 0), (i64::MIN, 0)), None);
        assert_eq!(binary(BinaryOp::Multiply, all, all), None);
        assert_eq!(binary(BinaryOp::Divide, all, (-1, -1)), None);
        assert_eq!(binary(BinaryOp::Divide, all, (-1, 1)), None);
        assert_eq!(decided(BinaryOp::GreaterEqual, (5, 9), (0, 5)), Some(true));
    }
}
