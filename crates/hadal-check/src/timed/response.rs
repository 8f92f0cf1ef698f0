//! The response time of states: how long they may last at most, from entering them to leaving them.
//!
//! A clock that every step outside these states sets to zero measures the stay; the longest one is the largest value that
//! the clock shows there.

use super::extreme::{End, Reaches, extreme};
use hadal_system::timed::{ClockRef, Moment, Quantity, Reset, Side, TimedFormula, TimedSystem};
use hadal_system::{Expr, ExprKind, UnaryOp};

/// How long the states of `goal` last at most; `None` where it speaks of clocks or deadlock.
pub fn response<E>(timed: &TimedSystem, goal: &TimedFormula, reaches: Reaches<E>) -> Result<Option<End>, E> {
    if goal.clauses.iter().any(|it| it.going_on.is_some() || !it.bounds.is_empty()) {
        return Ok(None);
    }
    let mut measured = timed.clone();
    measured.clocks.push("response".into());
    let clock = ClockRef::One(measured.clocks.len() as u32);
    let outside = goal
        .clauses
        .iter()
        .map(|it| Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(it.when.clone())), it.when.span));
    let outside = Expr::all(outside);
    for timing in &mut measured.timing {
        timing.resets.push(Reset {
            when: Some(outside.clone()),
            clock: clock.clone(),
            from: ClockRef::Zero,
            value: Expr::constant(0),
            moment: Moment::Before,
        });
    }
    extreme(&measured, goal, (Side::Most, &Quantity::Clock(clock)), reaches).map(Some)
}
