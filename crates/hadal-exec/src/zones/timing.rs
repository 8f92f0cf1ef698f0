//! Guards, resets and invariants made ready to be applied to zones.

use hadal_system::timed::{Bound, ClockRef, Moment, Reset, Strictness};

use super::code::{Code, Compiler, Context};
use super::dbm::{LARGEST_CONSTANT, Zone, strict, weak};

/// An error of the model met on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Faulty;

#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Fixed(usize),
    Among { first: usize, count: i64, least: i64, index: Code },
}

impl Clock {
    fn new(compiler: Compiler, clock: &ClockRef) -> Self {
        match clock {
            ClockRef::Zero => Clock::Fixed(0),
            ClockRef::One(n) => Clock::Fixed(*n as usize),
            ClockRef::Among { first, count, least, index } => Clock::Among {
                first: *first as usize,
                count: i64::from(*count),
                least: *least,
                index: compiler.code(index),
            },
        }
    }

    fn number(&self, context: &Context) -> Result<usize, Faulty> {
        match self {
            Clock::Fixed(n) => Ok(*n),
            Clock::Among { first, count, least, index } => {
                let at = index.value(context).and_then(|value| value.checked_sub(*least)).ok_or(Faulty)?;
                if at < 0 || at >= *count { Err(Faulty) } else { Ok(first + at as usize) }
            }
        }
    }
}

/// A bound made ready.
#[derive(Clone, Debug)]
pub(crate) struct ReadyBound {
    when: Option<Code>,
    left: Clock,
    minus: Clock,
    strictness: Strictness,
    value: Code,
}

/// A bound with its numbers: `x_left - x_minus` bounded so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) left: usize,
    pub(crate) minus: usize,
    pub(crate) bound: i32,
}

impl ReadyBound {
    pub(crate) fn new(compiler: Compiler, bound: &Bound) -> Self {
        ReadyBound {
            when: bound.when.as_ref().map(|when| compiler.code(when)),
            left: Clock::new(compiler, &bound.left),
            minus: Clock::new(compiler, &bound.minus),
            strictness: bound.strictness,
            value: compiler.code(&bound.value),
        }
    }

    pub(crate) fn all(compiler: Compiler, bounds: &[Bound]) -> Vec<Self> {
        bounds.iter().map(|bound| ReadyBound::new(compiler, bound)).collect()
    }

    /// Its numbers, where it applies.
    #[inline]
    pub(crate) fn entry(&self, context: &Context) -> Result<Option<Entry>, Faulty> {
        if let Some(when) = &self.when
            && !when.holds(context).ok_or(Faulty)?
        {
            return Ok(None);
        }
        let value = self.value.value(context).ok_or(Faulty)?;
        if value.abs() > LARGEST_CONSTANT {
            return Err(Faulty);
        }
        let bound = match self.strictness {
            Strictness::Strict => strict(value as i32),
            Strictness::Weak => weak(value as i32),
        };
        Ok(Some(Entry { left: self.left.number(context)?, minus: self.minus.number(context)?, bound }))
    }

    /// Keeps what satisfies it; false where nothing is left.
    #[inline]
    pub(crate) fn apply(&self, context: &Context, zone: &mut Zone) -> Result<bool, Faulty> {
        Ok(match self.entry(context)? {
            Some(Entry { left, minus, bound }) => zone.constrain(left, minus, bound),
            None => true,
        })
    }
}

/// Applies all of them; false where nothing is left.
#[inline]
pub(crate) fn apply_all(bounds: &[ReadyBound], context: &Context, zone: &mut Zone) -> Result<bool, Faulty> {
    for bound in bounds {
        if !bound.apply(context, zone)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A reset made ready.
#[derive(Clone, Debug)]
pub(crate) struct ReadyReset {
    when: Option<Code>,
    clock: Clock,
    from: Clock,
    value: Code,
    moment: Moment,
}

/// A reset with its numbers: clock, the clock it is set to, what is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) clock: usize,
    pub(crate) from: usize,
    pub(crate) value: i32,
}

impl ReadyReset {
    pub(crate) fn new(compiler: Compiler, reset: &Reset) -> Self {
        ReadyReset {
            when: reset.when.as_ref().map(|when| compiler.code(when)),
            clock: Clock::new(compiler, &reset.clock),
            from: Clock::new(compiler, &reset.from),
            value: compiler.code(&reset.value),
            moment: reset.moment,
        }
    }

    /// Its numbers, where it happens.
    pub(crate) fn set(&self, before: &Context, after: &Context) -> Result<Option<Set>, Faulty> {
        if let Some(when) = &self.when
            && !when.holds(before).ok_or(Faulty)?
        {
            return Ok(None);
        }
        let context = match self.moment {
            Moment::Before => before,
            Moment::After => after,
        };
        let value = self.value.value(context).ok_or(Faulty)?;
        let (clock, from) = (self.clock.number(before)?, self.from.number(before)?);
        if value.abs() > LARGEST_CONSTANT || (from == 0 && value < 0) {
            return Err(Faulty);
        }
        Ok(Some(Set { clock, from, value: value as i32 }))
    }

    /// Applies it; false where a clock would become negative.
    pub(crate) fn apply(&self, before: &Context, after: &Context, zone: &mut Zone) -> Result<bool, Faulty> {
        let Some(Set { clock, from, value }) = self.set(before, after)? else { return Ok(true) };
        if from == 0 {
            zone.reset(clock, value);
            return Ok(true);
        }
        // A clock that would become negative has no such step.
        if value < 0 && !zone.constrain(0, from, weak(value)) {
            return Ok(false);
        }
        zone.copy_clock(clock, from, value);
        Ok(true)
    }
}
