//! Which constants matter for a clock in a location: static guard analysis (Behrmann, Bouyer, Fleury and Larsen 2003),
//! for lower and upper bounds apart, per process.

use hadal_system::System;
use hadal_system::timed::{Bound, ClockRef, Reset, TimedSystem};

use super::code::range;
use super::dbm::{LARGEST_CONSTANT, NONE};
use super::diagonal::is_diagonal;
use super::options::ZoneError;

/// The largest constants that clocks are compared with from below (`x > c`) and above (`x < c`), by clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockBounds {
    /// Of lower bounds; [`NONE`] where there is none.
    pub lower: Vec<i32>,
    /// Of upper bounds.
    pub upper: Vec<i32>,
}

impl ClockBounds {
    /// None at all, for so many clocks and the reference.
    pub(crate) fn none(size: usize) -> Self {
        let mut bounds = ClockBounds { lower: vec![NONE; size], upper: vec![NONE; size] };
        (bounds.lower[0], bounds.upper[0]) = (0, 0);
        bounds
    }

    /// Takes the larger of both; says whether anything grew.
    pub(crate) fn join(&mut self, other: &ClockBounds) -> bool {
        let mut grew = false;
        let mine = self.lower.iter_mut().chain(&mut self.upper);
        for (mine, &theirs) in mine.zip(other.lower.iter().chain(&other.upper)) {
            grew |= theirs > *mine;
            *mine = theirs.max(*mine);
        }
        grew
    }

    /// Lower and upper bounds become the same: what keeps every region apart that the model tells apart.
    pub(crate) fn unite(&mut self) {
        for (lower, upper) in self.lower.iter_mut().zip(&mut self.upper) {
            *lower = (*lower).max(*upper);
            *upper = *lower;
        }
    }
}

/// Which entries of the matrix a reference may mean.
pub(crate) fn clocks(clock: &ClockRef) -> std::ops::Range<usize> {
    match clock {
        ClockRef::Zero => 0..0,
        ClockRef::One(n) => *n as usize..*n as usize + 1,
        ClockRef::Among { first, count, .. } => *first as usize..(*first + *count) as usize,
    }
}

/// Adds what a constraint compares clocks with; differences of clocks are [`super::diagonal`]'s.
pub(crate) fn note(system: &System, bound: &Bound, into: &mut ClockBounds) -> Result<(), ZoneError> {
    let (least, most) = range(system, &bound.value).ok_or(ZoneError::Unbounded { span: bound.value.span })?;
    if least.abs().max(most.abs()) > LARGEST_CONSTANT {
        return Err(ZoneError::Unbounded { span: bound.value.span });
    }
    if is_diagonal(bound) {
        return Ok(());
    }
    for clock in clocks(&bound.left) {
        into.upper[clock] = into.upper[clock].max(most.max(-1) as i32);
    }
    for clock in clocks(&bound.minus) {
        into.lower[clock] = into.lower[clock].max((-least).max(-1) as i32);
    }
    Ok(())
}

/// The bounds of each location of each process.
pub(crate) fn by_location(timed: &TimedSystem) -> Result<Vec<Vec<ClockBounds>>, ZoneError> {
    let size = timed.clocks.len() + 1;
    let mut all = Vec::with_capacity(timed.processes.len());
    for process in &timed.processes {
        let mut bounds = vec![ClockBounds::none(size); process.stays.len()];
        for (stay, into) in process.stays.iter().zip(&mut bounds) {
            stay.invariant.iter().try_for_each(|bound| note(&timed.system, bound, into))?;
        }
        for edge in &process.edges {
            edge.guard.iter().try_for_each(|bound| note(&timed.system, bound, &mut bounds[edge.from]))?;
        }
        loop {
            let mut grew = false;
            for edge in &process.edges {
                let mut behind = bounds[edge.to].clone();
                for reset in edge.resets.iter().rev() {
                    before_reset(&timed.system, reset, &mut behind)?;
                }
                grew |= bounds[edge.from].join(&behind);
            }
            if !grew {
                break;
            }
        }
        all.push(bounds);
    }
    Ok(all)
}

/// What must be known before the reset for what must be known after it.
fn before_reset(system: &System, reset: &Reset, bounds: &mut ClockBounds) -> Result<(), ZoneError> {
    let span = reset.value.span;
    let (least, most) = range(system, &reset.value).ok_or(ZoneError::Unbounded { span })?;
    if most > LARGEST_CONSTANT || least.abs() > LARGEST_CONSTANT {
        return Err(ZoneError::Unbounded { span });
    }
    let ClockRef::One(clock) = reset.clock else { return Ok(()) };
    let clock = clock as usize;
    let (lower, upper) = (bounds.lower[clock], bounds.upper[clock]);
    if reset.when.is_none() {
        (bounds.lower[clock], bounds.upper[clock]) = (NONE, NONE);
    }
    for from in clocks(&reset.from) {
        let shift = |bound: i32| if bound < 0 { NONE } else { (bound - least as i32).max(NONE) };
        bounds.lower[from] = bounds.lower[from].max(shift(lower));
        bounds.upper[from] = bounds.upper[from].max(shift(upper));
    }
    Ok(())
}
