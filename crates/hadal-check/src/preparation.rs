//! A guided search and the preparing of its guide, within the limits of the search: both stop when they must, take their
//! turns where another search runs beside them, and count against the memory budget.

use crate::race::Pace;
use crate::searching::Watch;
use hadal_guide::{CalledOff, Meter};
use hadal_search::explore::{Explored, Explorer, Phase, to_the_end};
use hadal_search::layered::Trouble;
use hadal_search::{Control, StopReason};
use hadal_store::Governor;
use hadal_store::governor::Reservation;
use std::cell::{Cell, RefCell};

/// Bytes are claimed in steps of this, so that most calls only count.
const STEP: u64 = 64 << 10;

/// What preparing a guide goes by; what it claims is held as long as this is.
pub(crate) struct Preparation<'a> {
    control: &'a Control,
    pace: Option<&'a dyn Pace>,
    watch: Watch<'a>,
    held: RefCell<Held>,
}

struct Held {
    reservation: Reservation,
    bytes: u64,
    stopped: Option<StopReason>,
}

impl<'a> Preparation<'a> {
    /// For a search with these limits and this budget, which nothing runs beside.
    pub(crate) fn new(control: &'a Control, governor: &Governor, watch: Watch<'a>) -> Self {
        let reservation = governor.empty("what the guide knows of the model");
        let held = RefCell::new(Held { reservation, bytes: 0, stopped: None });
        Preparation { control, pace: None, watch, held }
    }

    /// For a search that takes turns with another.
    pub(crate) fn beside(self, pace: &'a dyn Pace) -> Self {
        Preparation { pace: Some(pace), ..self }
    }

    /// Whether the search takes turns.
    pub(crate) fn takes_turns(&self) -> bool {
        self.pace.is_some()
    }

    /// Steps a guided search until it has done this much, preparing its guide included, or the other search has the answer.
    pub(crate) fn drive_until(&self, explorer: &mut dyn Explorer, work: u64) -> Result<(), Trouble> {
        let Some(pace) = self.pace else { return Ok(()) };
        let mut now = explorer.progress();
        while now.phase != Phase::Over && pace.done(now.work) < work && pace.await_turn(now.work).is_none() {
            if pace.is_interrupted() {
                self.control.interrupt();
            }
            now = explorer.step(pace.allowance(now.work))?;
            (self.watch)(&now);
        }
        Ok(())
    }

    /// What a guided search has as its start, where another runs beside it.
    pub(crate) fn start(&self) -> Option<u64> {
        self.pace.map(Pace::start)
    }

    /// Steps a guided search to its end, or until the other one has the answer.
    pub(crate) fn drive(&self, mut explorer: Box<dyn Explorer + '_>) -> Result<Explored, Trouble> {
        let Some(pace) = self.pace else {
            return to_the_end(explorer, &mut |progress| (self.watch)(progress));
        };
        let mut now = explorer.progress();
        while now.phase != Phase::Over && pace.await_turn(now.work).is_none() {
            if pace.is_interrupted() {
                self.control.interrupt();
            }
            now = explorer.step(pace.allowance(now.work))?;
            (self.watch)(&now);
        }
        pace.begin_another(now.work);
        explorer.finish()
    }

    /// Why it was called off.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.held.borrow().stopped.clone()
    }

    fn claim(&self, bytes: u64) -> Option<StopReason> {
        let mut held = self.held.borrow_mut();
        held.bytes += bytes;
        let missing = held.bytes.checked_sub(held.reservation.bytes()).filter(|&missing| missing > 0)?;
        let full = held.reservation.try_grow(missing.next_multiple_of(STEP)).err()?;
        Some(StopReason::Memory { needed: full.limit.saturating_add(full.asked.max(full.limit / 2)) })
    }
}

impl Meter for Preparation<'_> {
    fn spend(&self, work: u64, bytes: u64) -> Result<(), CalledOff> {
        let must_stop = || self.control.must_stop(0);
        let stopped = self.claim(bytes).or_else(|| match self.pace {
            Some(pace) if pace.is_interrupted() => Some(StopReason::Interrupted),
            Some(pace) => pace.prepare(work).or_else(must_stop),
            None => must_stop(),
        });
        let Some(reason) = stopped else { return Ok(()) };
        self.held.borrow_mut().stopped = Some(reason);
        Err(CalledOff)
    }
}

/// Counts what is spent, and calls it off beyond so much.
pub(crate) struct Capped<'a> {
    meter: &'a dyn Meter,
    left: Cell<u64>,
}

impl<'a> Capped<'a> {
    pub(crate) fn new(meter: &'a dyn Meter, most: u64) -> Self {
        Capped { meter, left: Cell::new(most) }
    }
}

impl Meter for Capped<'_> {
    fn spend(&self, work: u64, bytes: u64) -> Result<(), CalledOff> {
        self.left.set(self.left.get().checked_sub(work).ok_or(CalledOff)?);
        self.meter.spend(work, bytes)
    }
}
