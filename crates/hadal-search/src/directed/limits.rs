//! When a directed search must stop, and what it has done by then, counted.

use super::core::Core;
use crate::control::Done;
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

impl Core<'_> {
    /// Looks at the limits now and then.
    pub(super) fn must_stop(&mut self) -> Option<StopReason> {
        self.expansions += 1;
        if let Some(reason) = self.stopped.take() {
            return Some(reason);
        }
        if self.search.options.most_states.is_some_and(|most| self.table.len() > most) {
            return Some(StopReason::StateLimit);
        }
        if let Some(pace) = &self.pace {
            let done = self.done();
            let control = self.search.task.control;
            if let Some(reason) = pace.go_on(done, &|| control.must_stop(done.states)) {
                return Some(reason);
            }
        }
        if !self.expansions.is_multiple_of(STRIDE) {
            return None;
        }
        let control = self.search.task.control;
        control.gauges.states.store(self.table.len(), Ordering::Relaxed);
        control.gauges.frontier.store(self.open.len(), Ordering::Relaxed);
        control.must_stop(self.table.len())
    }

    /// Looks at the limits between the estimates of one state's successors, where these take long. Once it must stop, no
    /// estimate is made any more, and [`Core::must_stop`] says why.
    pub(super) fn look_between_estimates(&mut self) {
        let work = self.estimator.work();
        if work.saturating_sub(self.work_at_look) > LOOK_WORK {
            self.work_at_look = work;
            self.stopped = self.search.task.control.must_stop(self.table.len());
        }
    }

    /// What was done so far.
    fn done(&self) -> Done {
        let (states, transitions) = (self.table.len(), self.figures.generated);
        let fired = transitions + self.regenerated;
        let work = fired * TRANSITION_WORK
            + states * STATE_WORK
            + (self.figures.evaluated + self.expansions) * ESTIMATE_WORK
            + self.estimator.work();
        Done { work, ahead: 0, states, transitions }
    }
}
