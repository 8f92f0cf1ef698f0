//! What bounds a search in RAM: the memory budget, the limits of the user, and work counted in evaluations.

use hadal_search::{Control, StopReason};
use hadal_store::{Governor, Reservation};

/// Expansions between two looks at clock and budget.
const EVERY: u64 = 64;

/// Watches over one search.
pub(crate) struct Watch<'a> {
    control: &'a Control,
    memory: Reservation,
    limit: u64,
    /// Most evaluations, or other work, where it is counted.
    most_evaluations: u64,
    most_states: u64,
    ticks: u64,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(control: &'a Control, governor: &Governor, most_evaluations: u64) -> Self {
        let memory = governor.empty("states of a plan search");
        Watch { control, memory, limit: governor.limit(), most_evaluations, most_states: u64::MAX, ticks: 0 }
    }

    /// For a search that may take so much work and so many states.
    pub(crate) fn trial(control: &'a Control, governor: &Governor, work: u64, states: u64) -> Self {
        Watch { most_states: states, ..Watch::new(control, governor, work) }
    }

    /// The memory budget.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether the search must stop. `bytes` tells what it holds; asked only now and then.
    #[inline]
    pub(crate) fn must_stop(
        &mut self,
        evaluations: u64,
        states: u64,
        bytes: impl FnOnce() -> u64,
    ) -> Option<StopReason> {
        self.ticks += 1;
        if evaluations >= self.most_evaluations || states >= self.most_states {
            return Some(StopReason::Incomplete);
        }
        if !self.ticks.is_multiple_of(EVERY) {
            return None;
        }
        self.look(states, bytes())
    }

    #[cold]
    fn look(&mut self, states: u64, bytes: u64) -> Option<StopReason> {
        self.control.gauges.states.store(states, std::sync::atomic::Ordering::Relaxed);
        if let Some(reason) = self.control.must_stop(states) {
            return Some(reason);
        }
        match self.memory.try_resize(bytes) {
            Ok(()) => None,
            Err(_) => Some(StopReason::Memory { needed: self.limit.saturating_mul(2) }),
        }
    }
}
