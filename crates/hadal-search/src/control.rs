//! What bounds a search from outside, and what can be read of it while it goes on.

use crate::estimate::{Estimate, remaining};
use crate::report::StopReason;
use hadal_store::Disk;
use hadal_store::vfs::Armed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Where a search must stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Distinct states.
    pub max_states: Option<u64>,
    /// Layers are expanded up to, not including, this depth.
    pub max_depth: Option<u64>,
    /// Wall-clock time from the start of the search; of one that is resumed, from the moment its first new state is due.
    pub time: Option<Duration>,
    /// What to do when the disk is full.
    pub when_full: WhenFull,
}

/// What to do when the disk is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Stop; the run can be resumed when there is room.
    #[default]
    Pause,
    /// Delete the oldest layers and go on. States in them may be explored and counted again, which the answer says.
    DeleteLayers,
}

/// Figures of a running search, written by its threads and read by whoever shows progress.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Distinct states.
    pub states: AtomicU64,
    /// Transitions fired.
    pub transitions: AtomicU64,
    /// Depth of the layer being expanded.
    pub depth: AtomicU64,
    /// States of the layer being expanded (or open states, for orders without layers).
    pub frontier: AtomicU64,
    /// How many of them are done.
    pub expanded: AtomicU64,
    /// Bytes of states on disk.
    pub disk: AtomicU64,
    /// States of each layer found so far, of searches in layers.
    widths: Mutex<Vec<u64>>,
}

impl Gauges {
    /// Tells that a layer of so many states begins to be expanded.
    pub fn begin_layer(&self, depth: u64, width: u64) {
        self.depth.store(depth, Ordering::Relaxed);
        self.frontier.store(width, Ordering::Relaxed);
        let mut widths = self.widths.lock().unwrap_or_else(PoisonError::into_inner);
        widths.resize(depth as usize, 0);
        widths.push(width);
    }

    /// Tells how wide all layers are that are known.
    pub fn set_widths(&self, known: Vec<u64>) {
        *self.widths.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// What is left, guessed from the layers so far, at this many states per second; nothing for searches without layers.
    pub fn estimate(&self, rate: Option<f64>) -> Option<Estimate> {
        remaining(&self.widths.lock().unwrap_or_else(PoisonError::into_inner), rate)
    }
}

/// The reins of one search: limits, figures, and a flag that asks it to stop.
#[derive(Debug)]
pub struct Control {
    /// Where to stop.
    pub limits: Limits,
    /// What to show.
    pub gauges: Gauges,
    interrupt: Arc<AtomicBool>,
    warnings: Mutex<Vec<String>>,
    started: Instant,
    resumed: bool,
    /// Where the time limit is counted from.
    limited_from: OnceLock<Instant>,
    /// What is done is not new: it does not count against the time limit.
    held: AtomicBool,
    /// Nothing but the number of states ends the search for now.
    goes_on: AtomicBool,
}

impl Control {
    /// A search that starts now.
    pub fn new(limits: Limits) -> Self {
        let control = Control { resumed: false, ..Control::resumed(limits) };
        control.limited_from.get_or_init(|| control.started);
        control
    }

    /// A search that reads back what it did before: the time for that does not count against its limit, or a run with a
    /// short limit would never get any further.
    pub fn resumed(limits: Limits) -> Self {
        Control {
            limits,
            gauges: Gauges::default(),
            interrupt: Arc::default(),
            warnings: Mutex::default(),
            started: Instant::now(),
            resumed: true,
            limited_from: OnceLock::new(),
            held: AtomicBool::new(false),
            goes_on: AtomicBool::new(false),
        }
    }

    /// The reins of a search that is a part of this one: it starts now, with limits of its own, and stops when this one is
    /// asked to.
    pub fn part(&self, limits: Limits) -> Self {
        Control { interrupt: Arc::clone(&self.interrupt), ..Control::new(limits) }
    }

    /// What follows was done before and must be done again: it does not count against the time limit, or a run whose limit is
    /// shorter than that would never get any further.
    pub(crate) fn hold_time(&self) {
        self.held.store(self.limited_from.get().is_none(), Ordering::Relaxed);
    }

    /// From now on time counts.
    pub(crate) fn count_time(&self) {
        if self.held.swap(false, Ordering::Relaxed) {
            self.limited_from.get_or_init(Instant::now);
        }
    }

    /// Lets the search go on to where others are that stop with it, whatever time it is and whoever asks it to stop; or not any
    /// more.
    pub(crate) fn let_go_on(&self, goes_on: bool) {
        self.goes_on.store(goes_on, Ordering::Relaxed);
    }

    /// Whether it reads back what it did before.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Asks the search to stop at the next good moment.
    pub fn interrupt(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Tells whoever watches about something that does not stop the search.
    pub fn warn(&self, message: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// What was to be told so far.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Lets long readings from this disk end at the time limit, or when the search is asked to stop, until the result is
    /// dropped.
    pub(crate) fn brake<'d>(&self, disk: &'d Disk) -> Armed<'d> {
        if self.goes_on.load(Ordering::Relaxed) {
            return disk.brake.arm(Arc::default(), None);
        }
        let from = self.limited_from.get();
        let deadline = self.limits.time.and_then(|time| from?.checked_add(time));
        disk.brake.arm(Arc::clone(&self.interrupt), deadline)
    }

    /// Lets a run that is read back be left when the search is asked to stop: that takes as long as it takes, whatever the time
    /// limit.
    pub(crate) fn brake_reading_back<'d>(&self, disk: &'d Disk) -> Armed<'d> {
        disk.brake.arm(Arc::clone(&self.interrupt), None)
    }

    /// Whether a limit is reached, given the number of distinct states. Looked at every few hundred expansions.
    pub fn must_stop(&self, states: u64) -> Option<StopReason> {
        let goes_on = self.goes_on.load(Ordering::Relaxed);
        if self.is_interrupted() && !goes_on {
            return Some(StopReason::Interrupted);
        }
        if self.limits.max_states.is_some_and(|max| states >= max) {
            return Some(StopReason::StateLimit);
        }
        if goes_on || self.held.load(Ordering::Relaxed) {
            return None;
        }
        // Looked at for the first time when there is something new to expand.
        if self.limits.time.is_some_and(|max| self.limited_from.get_or_init(Instant::now).elapsed() >= max) {
            return Some(StopReason::TimeLimit);
        }
        None
    }
}
