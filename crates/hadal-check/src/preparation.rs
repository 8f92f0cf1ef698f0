//! Preparing a guide within the limits of its search: it stops when the search must, takes its turns, and counts against the
//! memory budget.

use hadal_guide::{CalledOff, Meter};
use hadal_search::directed::GuidedPace;
use hadal_search::{Control, StopReason};
use hadal_store::Governor;
use hadal_store::governor::Reservation;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes are claimed in steps of this, so that most calls only count.
const STEP: u64 = 64 << 10;

/// What preparing a guide goes by; what it claims is held as long as this is.
pub(crate) struct Preparation<'a> {
    control: &'a Control,
    pace: Option<Arc<GuidedPace>>,
    held: Mutex<Held>,
}

struct Held {
    reservation: Reservation,
    bytes: u64,
    stopped: Option<StopReason>,
}

impl<'a> Preparation<'a> {
    /// For a search with these limits and this budget, which takes turns where it has a pace.
    pub(crate) fn new(control: &'a Control, governor: &Governor, pace: Option<Arc<GuidedPace>>) -> Self {
        let reservation = governor.empty("what the guide knows of the model");
        Preparation { control, pace, held: Mutex::new(Held { reservation, bytes: 0, stopped: None }) }
    }

    /// Told that another search follows with the same guide.
    pub(crate) fn begin_another(&self) {
        if let Some(pace) = &self.pace {
            pace.begin_another();
        }
    }

    /// Why it was called off.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).stopped.clone()
    }

    fn claim(&self, bytes: u64) -> Option<StopReason> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.bytes += bytes;
        let missing = held.bytes.checked_sub(held.reservation.bytes()).filter(|&missing| missing > 0)?;
        let full = held.reservation.try_grow(missing.next_multiple_of(STEP)).err()?;
        Some(StopReason::Memory { needed: full.limit.saturating_add(full.asked.max(full.limit / 2)) })
    }
}

impl Meter for Preparation<'_> {
    fn spend(&self, work: u64, bytes: u64) -> Result<(), CalledOff> {
        let must_stop = || self.control.must_stop(0);
        let stopped = self.claim(bytes).or_else(|| match &self.pace {
            Some(pace) => pace.prepare(work, &must_stop).or_else(must_stop),
            None => must_stop(),
        });
        let Some(reason) = stopped else { return Ok(()) };
        self.held.lock().unwrap_or_else(PoisonError::into_inner).stopped = Some(reason);
        Err(CalledOff)
    }
}
