//! When a directed search must stop, and what it has done by then, counted.

use super::Counting;
use super::core::Core;
use crate::report::StopReason;
use std::sync::atomic::Ordering;

/// Expansions between two looks at the limits.
const STRIDE: u64 = 256;
/// What firing a transition counts as, and what a state that is kept adds, estimates apart: about nanoseconds.
const TRANSITION_WORK: u64 = 150;
const STATE_WORK: u64 = 300;
/// What an estimate counts as besides what the guide says.
const ESTIMATE_WORK: u64 = 200;
/// Limits are looked at once more when estimates have taken this much since the last look.
const LOOK_WORK: u64 = 20_000_000;

/// Why a search does not go on at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The work of the step is done.
    Pause,
    /// A limit is met.
    Stop(StopReason),
}

impl Core<'_> {
    /// Asked before each expansion: whether the step's work is done, or, now and then, whether a limit is met. After a pause
    /// it is asked about the same expansion once more, which then goes ahead.
    pub(super) fn halts(&mut self) -> Option<Halt> {
        if !std::mem::take(&mut self.pace.is_paused) {
            self.pace.expansions += 1;
            if let Some(reason) = self.pace.stopped.take() {
                return Some(Halt::Stop(reason));
            }
            if self.search.options.most_states.is_some_and(|most| self.states() > most) {
                return Some(Halt::Stop(StopReason::StateLimit));
            }
            let looks = self.pace.expansions.is_multiple_of(STRIDE)
                || self.search.options.counting == Counting::EveryExpansion;
            if looks {
                self.pace.seen = self.work();
                if self.pace.seen >= self.pace.until {
                    self.pace.is_paused = true;
                    return Some(Halt::Pause);
                }
            }
        }
        if !self.pace.expansions.is_multiple_of(STRIDE) {
            return None;
        }
        let control = self.search.task.control;
        control.gauges.states.store(self.states(), Ordering::Relaxed);
        control.gauges.frontier.store(self.open.len(), Ordering::Relaxed);
        control.must_stop(self.states()).map(Halt::Stop)
    }

    /// Looks at the limits between the estimates of one state's successors, where these take long. Once it must stop, no
    /// estimate is made any more, and [`Core::halts`] says why.
    pub(super) fn look_between_estimates(&mut self) {
        let work = self.guiding.estimator.work();
        if work.saturating_sub(self.pace.work_at_look) > LOOK_WORK {
            self.pace.work_at_look = work;
            self.pace.stopped = self.search.task.control.must_stop(self.states());
        }
    }

    /// What was done so far.
    pub(super) fn work(&self) -> u64 {
        (self.figures.work.generated + self.regenerated) * TRANSITION_WORK
            + self.states() * STATE_WORK
            + (self.figures.work.evaluated + self.pace.expansions) * ESTIMATE_WORK
            + self.guiding.estimator.work()
    }
}
