//! What bounds a search in RAM: the memory budget, the limits of the user, and work counted in evaluations.

use hadal_search::{Control, StopReason};
use hadal_store::{Governor, Reservation};
use std::time::{Duration, Instant};

/// Expansions or estimates between two looks at clock and budget, at most.
const MOST_BETWEEN: u64 = 64;
/// States between two looks, at most: one expansion may make thousands.
const MOST_STATES_BETWEEN: u64 = 1 << 12;
/// Looks lie closer together where they turn out to lie further apart than this.
const PATIENCE: Duration = Duration::from_millis(20);

/// Watches over one search.
pub(crate) struct Watch<'a> {
    control: &'a Control,
    memory: Reservation,
    limit: u64,
    /// Most evaluations, or other work, where it is counted.
    most_evaluations: u64,
    most_states: u64,
    /// What is left until the next look, how many lie between two, and when and with how many states the last one was.
    left: u64,
    between: u64,
    looked: (Instant, u64),
}

impl<'a> Watch<'a> {
    pub(crate) fn new(control: &'a Control, governor: &Governor, most_evaluations: u64) -> Self {
        let memory = governor.empty("states of a plan search");
        Watch {
            control,
            memory,
            limit: governor.limit(),
            most_evaluations,
            most_states: u64::MAX,
            left: MOST_BETWEEN,
            between: MOST_BETWEEN,
            looked: (Instant::now(), 0),
        }
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
        self.left = self.left.saturating_sub(1);
        if evaluations >= self.most_evaluations || states >= self.most_states {
            return Some(StopReason::Incomplete);
        }
        if self.left > 0 && states < self.looked.1 + MOST_STATES_BETWEEN {
            return None;
        }
        self.look(states, bytes())
    }

    /// The limit of the user's that was reached, if one was: for loops of long estimates between two looks.
    #[inline]
    pub(crate) fn is_late(&mut self) -> Option<StopReason> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return None;
        }
        self.space_looks();
        self.control.must_stop(self.looked.1)
    }

    /// Notes when this look is and decides when the next one shall be.
    fn space_looks(&mut self) {
        let now = Instant::now();
        self.between = match now.duration_since(self.looked.0) > PATIENCE {
            true => self.between.div_ceil(4),
            false => (2 * self.between).min(MOST_BETWEEN),
        };
        (self.left, self.looked.0) = (self.between, now);
    }

    #[cold]
    fn look(&mut self, states: u64, bytes: u64) -> Option<StopReason> {
        self.space_looks();
        self.looked.1 = states;
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
