//! The largest and the least value that something has in reachable states, by asking whether larger ones are reachable: first
//! further and further away, then between.
//!
//! Every answer is a search of its own, with the constants that it compares with, so abstractions lose nothing.

use hadal_system::timed::{Bound, Clause, ClockRef, Quantity, Side, Strictness, TimedFormula, TimedSystem};
use hadal_system::{BinaryOp, Expr, Property, PropertyBody, PropertyKind, Span};

/// The furthest that is looked for what a clock shows.
const FURTHEST_TIME: i64 = 1 << 20;
/// The furthest that is looked for numbers.
const FURTHEST_NUMBER: i64 = 1 << 32;

/// The end of the values that something has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No state counts.
    Nowhere,
    /// This value, which some state has.
    Taken(i64),
    /// As near to this value as one likes, but not the value itself.
    Approached(i64),
    /// Beyond this value, perhaps without end.
    Beyond(i64),
}

impl End {
    /// As people read it.
    pub fn told(self, side: Side) -> String {
        let (nearly, beyond) = match side {
            Side::Most => ("less than", "more than"),
            Side::Least => ("more than", "less than"),
        };
        match self {
            End::Nowhere => "none (no such state is reachable)".to_owned(),
            End::Taken(value) => value.to_string(),
            End::Approached(value) => format!("{nearly} {value}, as near to it as one likes"),
            End::Beyond(value) => format!("{beyond} {value}, perhaps without end"),
        }
    }
}

/// Says whether the goal of this number is reachable in a system.
pub type Reaches<'r, E> = &'r mut dyn FnMut(TimedSystem, usize) -> Result<bool, E>;

/// Where on one side the values of `quantity` end, in the states of `among`.
pub fn extreme<E>(
    timed: &TimedSystem,
    among: &TimedFormula,
    (side, quantity): (Side, &Quantity),
    reaches: Reaches<E>,
) -> Result<End, E> {
    let mut measuring = Measuring { timed, among, quantity, side, reaches };
    if !measuring.reaches(None)? {
        return Ok(End::Nowhere);
    }
    // Values times the sign: some are larger than `low`, none larger than `high`.
    let sign = if side == Side::Most { 1 } else { -1 };
    let (is_clock, furthest) = match quantity {
        Quantity::Clock(_) => (true, FURTHEST_TIME),
        Quantity::Value(_) => (false, FURTHEST_NUMBER),
    };
    let is_past_zero = match (is_clock, side) {
        // No clock shows less than zero.
        (true, Side::Most) => true,
        (true, Side::Least) => false,
        (false, _) => measuring.passes(0)?,
    };
    let (mut low, mut high) = (if is_clock { -1 } else { 0 }, 0);
    let mut step = 1;
    match is_past_zero {
        true => loop {
            high = step;
            if !measuring.passes(high)? {
                break;
            }
            if step >= furthest {
                return Ok(End::Beyond(sign * high));
            }
            low = high;
            step *= 4;
        },
        false => loop {
            low = -step;
            if measuring.passes(low)? {
                break;
            }
            if step >= furthest {
                return Ok(End::Beyond(sign * low));
            }
            high = low;
            step *= 4;
        },
    }
    while high - low > 1 {
        let between = low + (high - low) / 2;
        match measuring.passes(between)? {
            true => low = between,
            false => high = between,
        }
    }
    match !is_clock || measuring.reaches(Some((high, Strictness::Weak)))? {
        true => Ok(End::Taken(sign * high)),
        false => Ok(End::Approached(sign * high)),
    }
}

struct Measuring<'r, E> {
    timed: &'r TimedSystem,
    among: &'r TimedFormula,
    quantity: &'r Quantity,
    side: Side,
    reaches: Reaches<'r, E>,
}

impl<E> Measuring<'_, E> {
    /// Whether some value, times the sign, is larger.
    fn passes(&mut self, than: i64) -> Result<bool, E> {
        self.reaches(Some((than, Strictness::Strict)))
    }

    /// Whether a state counts, and its value, times the sign, is larger than this.
    fn reaches(&mut self, than: Option<(i64, Strictness)>) -> Result<bool, E> {
        let mut timed = self.timed.clone();
        let mut clauses = self.among.clauses.clone();
        if let Some((value, strictness)) = than {
            clauses.iter_mut().for_each(|clause| self.demand(clause, value, strictness));
        }
        let discrete = clauses.iter().map(|clause| clause.when.clone());
        let body = discrete.reduce(|left, right| Expr::binary(BinaryOp::Or, left, right));
        let goal = timed.system.properties.len();
        timed.formulas.resize(goal, None);
        timed.formulas.push(Some(TimedFormula { clauses }));
        timed.system.properties.push(Property {
            name: "value".into(),
            kind: PropertyKind::Goal,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(body.unwrap_or_else(|| Expr::constant(0))),
            span: Span::default(),
        });
        (self.reaches)(timed, goal)
    }

    fn demand(&self, clause: &mut Clause, value: i64, strictness: Strictness) {
        match (self.quantity, self.side) {
            (Quantity::Clock(clock), side) => {
                let (left, minus) = match side {
                    Side::Most => (ClockRef::Zero, clock.clone()),
                    Side::Least => (clock.clone(), ClockRef::Zero),
                };
                // `x > v` is `0 - x < -v`; of the least value the sign is in `value` already.
                let value = Expr::constant(-value);
                let bound = Bound { when: None, left, minus, strictness, value, span: Span::default() };
                clause.bounds.push(bound);
            }
            (Quantity::Value(expr), Side::Most) => {
                let larger = Expr::binary(BinaryOp::Greater, expr.clone(), Expr::constant(value));
                clause.when = Expr::all([clause.when.clone(), larger]);
            }
            (Quantity::Value(expr), Side::Least) => {
                let smaller = Expr::binary(BinaryOp::Less, expr.clone(), Expr::constant(-value));
                clause.when = Expr::all([clause.when.clone(), smaller]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of the values that a made-up space has, which only knows how far they go.
    fn end(side: Side, quantity: &Quantity, holds: impl Fn(i64, Strictness) -> bool) -> End {
        let when = Expr::constant(1);
        let among = TimedFormula { clauses: vec![Clause { when, bounds: Vec::new(), going_on: None }] };
        let mut reaches = |timed: TimedSystem, goal: usize| {
            let clause = &timed.formulas[goal].as_ref().expect("a formula").clauses[0];
            Ok::<_, ()>(match clause.bounds.first() {
                Some(bound) => {
                    let value = bound.value.as_const().expect("a constant");
                    holds(if side == Side::Most { -value } else { value }, bound.strictness)
                }
                None => true,
            })
        };
        extreme(&TimedSystem::default(), &among, (side, quantity), &mut reaches).expect("it answers")
    }

    #[test]
    fn ends_are_found_exactly() {
        let clock = Quantity::Clock(ClockRef::One(1));
        for value in [0, 1, 2, 3, 4, 5, 15, 16, 17, 1000] {
            let up_to =
                |at: i64, strictness| if strictness == Strictness::Weak { at <= value } else { at < value };
            assert_eq!(end(Side::Most, &clock, up_to), End::Taken(value));
            let from =
                |at: i64, strictness| if strictness == Strictness::Weak { at >= value } else { at > value };
            assert_eq!(end(Side::Least, &clock, from), End::Taken(value));
            if value > 0 {
                assert_eq!(end(Side::Most, &clock, |at, _| at < value), End::Approached(value));
                assert_eq!(end(Side::Least, &clock, |at, _| at > value), End::Approached(value));
            }
        }
        assert_eq!(end(Side::Most, &clock, |_, _| true), End::Beyond(FURTHEST_TIME));
    }
}
