//! What a term can be at all: minC and maxC of Jabbar 2008, sec. 9.4.2, by intervals, whatever the signs of its factors.

use hadal_system::rows::{Rational, RowTask, Term};
use num_traits::{CheckedAdd, CheckedMul, CheckedSub};

/// The least and the greatest value; `None` where there is no bound, or none that is known.
pub(crate) type Bounds = (Option<Rational>, Option<Rational>);

/// Bounds of a term over all states.
pub(crate) fn bounds(task: &RowTask, term: u32) -> Bounds {
    let mut known: Vec<Bounds> = Vec::with_capacity(term as usize + 1);
    let zero = Rational::from_integer(0);
    for at in &task.terms[..=term as usize] {
        let of = |part: u32| known[part as usize];
        known.push(match *at {
            Term::Constant(value) => (Some(value), Some(value)),
            Term::Number(number) => number_bounds(task, number),
            Term::Holds(_) => (Some(zero), Some(Rational::from_integer(1))),
            Term::Add(a, b) => {
                let (a, b) = (of(a), of(b));
                (both(a.0, b.0, |a, b| a.checked_add(b)), both(a.1, b.1, |a, b| a.checked_add(b)))
            }
            Term::Subtract(a, b) => {
                let (a, b) = (of(a), of(b));
                (both(a.0, b.1, |a, b| a.checked_sub(b)), both(a.1, b.0, |a, b| a.checked_sub(b)))
            }
            Term::Multiply(a, b) => product(of(a), of(b)),
            Term::Divide(a, b) => match of(b) {
                (Some(least), Some(most)) if least == most && least != zero => {
                    let inverse = Some(least.recip());
                    product(of(a), (inverse, inverse))
                }
                _ => (None, None),
            },
        });
    }
    known[term as usize]
}

/// A number that no row changes is what it was at the start.
fn number_bounds(task: &RowTask, number: u32) -> Bounds {
    use hadal_system::rows::Change;
    let changes = task.rows.iter().flat_map(|row| &row.effects).any(|effect| match effect.change {
        Change::Set(..) => false,
        Change::Assign(changed, _) | Change::Increase(changed, _) => changed == number,
    });
    let initial = task.numbers[number as usize].initial;
    if changes { (None, None) } else { (initial, initial) }
}

fn both(
    a: Option<Rational>,
    b: Option<Rational>,
    with: impl Fn(&Rational, &Rational) -> Option<Rational>,
) -> Option<Rational> {
    with(&a?, &b?)
}

/// Of a product: among those of the ends, or a half line where one factor is fixed.
fn product(a: Bounds, b: Bounds) -> Bounds {
    let zero = Rational::from_integer(0);
    let fixed = |bounds: Bounds| bounds.0.filter(|_| bounds.0 == bounds.1);
    let scaled = |factor: Rational, (least, most): Bounds| {
        let times = |end: Option<Rational>| end.and_then(|end| end.checked_mul(&factor));
        match factor {
            _ if factor == zero => (Some(zero), Some(zero)),
            _ if factor > zero => (times(least), times(most)),
            _ => (times(most), times(least)),
        }
    };
    if let Some(factor) = fixed(a) {
        return scaled(factor, b);
    }
    if let Some(factor) = fixed(b) {
        return scaled(factor, a);
    }
    let (Some(a0), Some(a1), Some(b0), Some(b1)) = (a.0, a.1, b.0, b.1) else { return (None, None) };
    let ends = [(a0, b0), (a0, b1), (a1, b0), (a1, b1)].map(|(a, b)| a.checked_mul(&b));
    if ends.iter().any(Option::is_none) {
        return (None, None);
    }
    (ends.iter().flatten().min().copied(), ends.iter().flatten().max().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_system::rows::{Need, NumberVariable};

    #[test]
    fn weights_of_either_sign_and_fixed_numbers_are_bounded_and_changing_ones_are_not() {
        let of = |n| Rational::from_integer(n);
        let mut task = RowTask {
            terms: vec![
                Term::Holds(Need::Is(0, 0)),
                Term::Constant(of(-5)),
                Term::Multiply(0, 1),
                Term::Number(0),
                Term::Add(2, 3),
                Term::Subtract(3, 2),
            ],
            ..RowTask::default()
        };
        task.numbers.push(NumberVariable { name: "n".into(), initial: Some(of(7)) });
        assert_eq!(bounds(&task, 2), (Some(of(-5)), Some(of(0))));
        assert_eq!(bounds(&task, 4), (Some(of(2)), Some(of(7))));
        assert_eq!(bounds(&task, 5), (Some(of(7)), Some(of(12))));
        let change = hadal_system::rows::Change::Increase(0, 1);
        task.rows.push(hadal_system::rows::Row {
            effects: vec![hadal_system::rows::Effect { when: Vec::new(), change }],
            ..Default::default()
        });
        assert_eq!(bounds(&task, 4), (None, None));
        assert_eq!(bounds(&task, 2), (Some(of(-5)), Some(of(0))));
    }
}
