//! Accepted cycles: the states from which runs can go on for ever and meet every acceptance set again and again.
//!
//! With pairs of strong fairness: Kesten, Pnueli and Raviv, "Algorithmic verification of linear temporal logic
//! specifications" (ICALP 1998). A state stays if the pairs able in it can be served from it inside the set. What is left
//! is empty exactly if there is no fair cycle: fair components stay whole, and a component of what is left that nothing
//! leaves is fair.

use super::bits::Bits;
use super::closed::Closed;
use super::kept::{Due, Point};
use super::pass::{Early, Pass, Seen};
use super::{Answer, lasso};
use crate::layered::Trouble;
use hadal_system::Acceptance;
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps of the fixpoint, as they are kept.
const BEGIN: u32 = 0;
const TRIM: u32 = 1;
const REACH: u32 = 2;
pub(super) const LOOP: u32 = 3;

impl<'a, C: Closed> Pass<'a, C> {
    /// Whether the space has an accepted run, and one where it has.
    pub(crate) async fn cycle(&self, acceptance: Acceptance) -> Result<Answer, Trouble> {
        let found = match self.hull(acceptance).await {
            Ok(Some(hull)) => {
                self.reins.found();
                lasso::find(self, acceptance, &hull).await
            }
            Ok(None) => Ok(Answer::Holds),
            Err(early) => Err(early),
        };
        match found {
            Ok(answer) => Ok(answer),
            Err(Early::Stopped(reason)) => Ok(Answer::Stopped(reason)),
            Err(Early::Trouble(trouble)) => Err(trouble),
        }
    }

    /// The states with accepted runs that stay among them; `None` where there are none.
    async fn hull(&self, acceptance: Acceptance) -> Result<Option<Bits>, Early> {
        let hull = self.bits()?;
        let mut point = match self.take_up(acceptance.property, &hull)? {
            Some(point) => point,
            None => Point::of(acceptance.property),
        };
        if point.step == BEGIN {
            for group in 0..self.closed.groups() {
                self.over_group(group, &|look, state, at| {
                    if look.worker.component(state).is_some() {
                        hull.set(at.number);
                    }
                    false
                })
                .await?;
            }
            if !acceptance.weak && !self.all_occur(acceptance).await? {
                return Ok(None);
            }
            point.step = TRIM;
        }
        while point.step != LOOP {
            if point.step == TRIM {
                point.before = hull.count();
                self.trim(&hull, point).await?;
                if hull.count() == 0 {
                    return Ok(None);
                }
                (point.step, point.set) = if acceptance.weak { (LOOP, 0) } else { (REACH, 0) };
                self.keep(point, &[&hull], Due::Always)?;
                continue;
            }
            while point.set < acceptance.sets + acceptance.pairs {
                self.keep_reaching(&hull, acceptance, point).await?;
                point.set += 1;
            }
            let now = hull.count();
            if now == 0 {
                return Ok(None);
            }
            point.step = if now == point.before { LOOP } else { TRIM };
            self.keep(point, &[&hull], Due::Always)?;
        }
        Ok(Some(hull))
    }

    /// Whether some transition inside a component belongs to each acceptance set; otherwise no cycle is accepted. The states of
    /// components are all reachable, so this takes no look-ups.
    async fn all_occur(&self, acceptance: Acceptance) -> Result<bool, Early> {
        let all = (0..acceptance.sets).fold(0, |all, set| all | 1u64 << set);
        if all == 0 {
            return Ok(true);
        }
        let met = AtomicU64::new(0);
        for group in 0..self.closed.groups() {
            self.over_group(group, &|look, state, _| {
                let own = look.worker.component(state);
                if own.is_none() {
                    return false;
                }
                look.expand(state);
                let mut marks = std::mem::take(&mut look.marks);
                look.worker.marks(state, &look.out, &mut marks);
                let inside =
                    look.out.iter().zip(&marks).filter(|((_, to), _)| look.worker.component(to) == own);
                let here = inside.fold(0, |here, (_, marks)| here | marks);
                look.marks = marks;
                met.fetch_or(here, Ordering::Relaxed);
                false
            })
            .await?;
            // Between groups, so that the work is the same for any number of threads.
            if met.load(Ordering::Relaxed) & all == all {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Drops states without a successor in the hull and the same component, until all have one.
    async fn trim(&self, hull: &Bits, point: Point) -> Result<(), Early> {
        self.to_fixpoint((point, &[hull]), &|look, state, number| {
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
        })
        .await?;
        Ok(())
    }

    /// Keeps the states that reach, inside the hull, a transition of an acceptance set; of a pair's set, also those in
    /// which the pair is not able.
    async fn keep_reaching(&self, hull: &Bits, acceptance: Acceptance, point: Point) -> Result<(), Early> {
        let (set, is_pair) = (point.set, point.set >= acceptance.sets);
        let reaching = self.bits()?;
        self.take_up_further(point, &reaching)?;
        self.to_fixpoint((point, &[hull, &reaching]), &|look, state, number| {
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
        })
        .await?;
        for group in 0..self.closed.groups() {
            self.over_group(group, &|look, state, at| {
                if !hull.get(at.number) || reaching.get(at.number) {
                    return false;
                }
                let able = is_pair && {
                    look.expand(state);
                    look.worker.able(state, &look.out) >> set & 1 == 1
                };
                if !is_pair || able {
                    hull.clear(at.number);
                }
                false
            })
            .await?;
        }
        Ok(())
    }
}
