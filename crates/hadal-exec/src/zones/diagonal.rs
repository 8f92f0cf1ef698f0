//! Differences of clocks in guards, invariants and questions: zones are split along them before they are extrapolated, and
//! what held of each piece is put back afterwards (Bengtsson and Yi 2003, "On clock difference constraints and
//! termination in reachability analysis of timed automata"). Extrapolation alone would be unsound (Bouyer 2003).

use hadal_system::System;
use hadal_system::timed::{Bound, ClockRef, Reset, Strictness, TimedSystem};

use super::bounds::{ClockBounds, clocks};
use super::code::range;
use super::dbm::{LARGEST_CONSTANT, Zone, add, strict, weak};
use super::options::ZoneError;

/// The most constraints that zones are split along: each may double their number.
const MOST: usize = 64;

/// `x_left - x_minus` bounded so, with the smaller clock on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Diagonal {
    left: usize,
    minus: usize,
    bound: i32,
}

impl Diagonal {
    fn new(left: usize, minus: usize, bound: i32) -> Self {
        match left < minus {
            true => Diagonal { left, minus, bound },
            // x - y <= c is not (y - x < -c).
            false => Diagonal { left: minus, minus: left, bound: 1 - bound },
        }
    }
}

/// The differences that a model compares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diagonals {
    all: Vec<Diagonal>,
}

/// Whether a bound compares two clocks.
pub(crate) fn is_diagonal(bound: &Bound) -> bool {
    !matches!(bound.left, ClockRef::Zero) && !matches!(bound.minus, ClockRef::Zero)
}

impl Diagonals {
    /// Of everything that is tested in the model, and of these questions.
    pub(crate) fn of<'b>(
        timed: &'b TimedSystem,
        questions: impl Iterator<Item = &'b Bound>,
    ) -> Result<Self, ZoneError> {
        let guards = timed.timing.iter().flat_map(|timing| &timing.guard);
        let stays = timed.processes.iter().flat_map(|process| &process.stays);
        let tested = guards.chain(stays.flat_map(|stay| &stay.invariant)).chain(questions);
        let mut found = Diagonals::default();
        let mut place = None;
        for bound in tested.filter(|bound| is_diagonal(bound)) {
            place.get_or_insert(bound.span);
            found.add(&timed.system, bound)?;
        }
        found.all.sort_unstable();
        found.all.dedup();
        let copies = |reset: &Reset| !matches!(reset.from, ClockRef::Zero);
        match place {
            Some(span) if timed.timing.iter().flat_map(|timing| &timing.resets).any(copies) => {
                Err(ZoneError::DiagonalCopies { span })
            }
            Some(span) if found.all.len() > MOST => Err(ZoneError::ManyDiagonals { span }),
            _ => Ok(found),
        }
    }

    fn add(&mut self, system: &System, bound: &Bound) -> Result<(), ZoneError> {
        let span = bound.span;
        let (least, most) = range(system, &bound.value).ok_or(ZoneError::Unbounded { span })?;
        if least.abs().max(most.abs()) > LARGEST_CONSTANT {
            return Err(ZoneError::Unbounded { span });
        }
        if most - least >= MOST as i64 {
            return Err(ZoneError::ManyDiagonals { span });
        }
        for left in clocks(&bound.left) {
            for minus in clocks(&bound.minus).filter(|&minus| minus != left) {
                for value in least..=most {
                    let bound = match bound.strictness {
                        Strictness::Strict => strict(value as i32),
                        Strictness::Weak => weak(value as i32),
                    };
                    self.all.push(Diagonal::new(left, minus, bound));
                }
            }
        }
        if self.all.len() > 16 * MOST {
            return Err(ZoneError::ManyDiagonals { span });
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// After a reset, a difference compares one clock: its constants matter for both, moved by what clocks are set to.
    pub(crate) fn note(&self, timed: &TimedSystem, into: &mut ClockBounds) -> Result<(), ZoneError> {
        let mut largest = 0;
        for reset in timed.timing.iter().flat_map(|timing| &timing.resets) {
            let span = reset.value.span;
            let (_, most) = range(&timed.system, &reset.value).ok_or(ZoneError::Unbounded { span })?;
            if most > LARGEST_CONSTANT {
                return Err(ZoneError::Unbounded { span });
            }
            largest = largest.max(most as i32);
        }
        for it in &self.all {
            let constant = (it.bound >> 1).abs() + 1 + largest;
            for clock in [it.left, it.minus] {
                into.lower[clock] = into.lower[clock].max(constant);
                into.upper[clock] = into.upper[clock].max(constant);
            }
        }
        Ok(())
    }

    /// The zone in pieces that each difference holds in wholly or nowhere, extrapolated by largest constants.
    pub(crate) fn extrapolated(&self, zone: &Zone, max: &[i32]) -> Vec<Zone> {
        let mut pieces = vec![zone.clone()];
        for it in &self.all {
            let mut split = Vec::with_capacity(pieces.len());
            for piece in pieces {
                let holds = piece.entry(it.left, it.minus) <= it.bound;
                let fails = add(piece.entry(it.minus, it.left), it.bound) < weak(0);
                if holds || fails {
                    split.push(piece);
                    continue;
                }
                let (mut inside, mut outside) = (piece.clone(), piece);
                let parts = [
                    inside.constrain(it.left, it.minus, it.bound),
                    outside.constrain(it.minus, it.left, 1 - it.bound),
                ];
                split.extend(
                    parts.into_iter().zip([inside, outside]).filter(|(left, _)| *left).map(|(_, it)| it),
                );
            }
            pieces = split;
        }
        for piece in &mut pieces {
            let held: Vec<bool> =
                self.all.iter().map(|it| piece.entry(it.left, it.minus) <= it.bound).collect();
            piece.extrapolate_max(max);
            for (it, held) in self.all.iter().zip(held) {
                // The piece itself satisfies it, so something is left.
                match held {
                    true => piece.constrain(it.left, it.minus, it.bound),
                    false => piece.constrain(it.minus, it.left, 1 - it.bound),
                };
            }
        }
        pieces
    }
}
