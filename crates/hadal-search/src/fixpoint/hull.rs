//! Accepted cycles: the states from which runs can go on for ever and meet every acceptance set again and again.

use super::bits::Bits;
use super::closed::Closed;
use super::pass::{Early, Pass, Seen};
use super::{Answer, lasso};
use crate::layered::Trouble;
use hadal_system::Acceptance;

impl<'a, C: Closed> Pass<'a, C> {
    /// Whether the space has an accepted run, and one where it has.
    pub(crate) fn cycle(&self, acceptance: Acceptance) -> Result<Answer, Trouble> {
        let found = self.hull(acceptance).and_then(|hull| match hull {
            Some(hull) => lasso::find(self, acceptance, &hull),
            None => Ok(Answer::Holds),
        });
        match found {
            Ok(answer) => Ok(answer),
            Err(Early::Stopped(reason)) => Ok(Answer::Stopped(reason)),
            Err(Early::Trouble(trouble)) => Err(trouble),
        }
    }

    /// The states with accepted runs that stay among them; `None` where there are none.
    fn hull(&self, acceptance: Acceptance) -> Result<Option<Bits>, Early> {
        let hull = self.bits()?;
        for group in 0..self.closed.groups() {
            self.over_group(group, &|look, state, at| {
                if look.worker.component(state).is_some() {
                    hull.set(at.number);
                }
                false
            })?;
        }
        let mut left = hull.count();
        loop {
            self.trim(&hull)?;
            let trimmed = hull.count();
            if trimmed == 0 {
                return Ok(None);
            }
            if acceptance.weak {
                return Ok(Some(hull));
            }
            for set in 0..acceptance.sets {
                self.keep_reaching(&hull, set)?;
            }
            let now = hull.count();
            if now == 0 {
                return Ok(None);
            }
            if now == trimmed && trimmed == left {
                return Ok(Some(hull));
            }
            left = now;
        }
    }

    /// Drops states without a successor in the hull and the same component, until all have one.
    fn trim(&self, hull: &Bits) -> Result<(), Early> {
        self.to_fixpoint(&|look, state, number| {
            if !hull.get(number) {
                return Seen::Done;
            }
            let own = look.worker.component(state);
            look.expand(state);
            let stays = look.out.iter().any(|(_, to)| {
                look.worker.component(to) == own && self.closed.number(to).is_some_and(|to| hull.get(to))
            });
            if stays {
                return Seen::Open;
            }
            hull.clear(number);
            Seen::Changed
        })?;
        Ok(())
    }

    /// Keeps the states that reach, inside the hull, a transition of an acceptance set.
    fn keep_reaching(&self, hull: &Bits, set: u32) -> Result<(), Early> {
        let reaching = self.bits()?;
        self.to_fixpoint(&|look, state, number| {
            if !hull.get(number) || reaching.get(number) {
                return Seen::Done;
            }
            let own = look.worker.component(state);
            look.expand(state);
            let mut marks = std::mem::take(&mut look.marks);
            look.worker.marks(state, &look.out, &mut marks);
            let reaches = look.out.iter().zip(&marks).any(|((_, to), marks)| {
                look.worker.component(to) == own
                    && self
                        .closed
                        .number(to)
                        .is_some_and(|to| hull.get(to) && (marks >> set & 1 == 1 || reaching.get(to)))
            });
            look.marks = marks;
            if !reaches {
                return Seen::Open;
            }
            reaching.set(number);
            Seen::Changed
        })?;
        for group in 0..self.closed.groups() {
            self.over_group(group, &|_, _, at| {
                if !reaching.get(at.number) {
                    hull.clear(at.number);
                }
                false
            })?;
        }
        Ok(())
    }
}
