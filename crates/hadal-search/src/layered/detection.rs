//! How a strategy finds duplicates, as data: each detector's file has an entry of this kind, and the table of strategies
//! names it.

use super::Trouble;
use super::detector::Detector;
pub(crate) use crate::explore::Payloads;
use crate::strategy::Strategy;
use hadal_store::Governor;
use hadal_store::run::RunOptions;
use hadal_store::vfs::Disk;
use hadal_system::StateSpace;

/// Shares of the budget for the cache, in percent. Sorting what is in it takes about as much again.
pub(crate) const CACHE_SHARE: u64 = 28;
/// Beside what is left of states up to covering.
pub(crate) const SMALL_CACHE_SHARE: u64 = 14;
/// Beside buckets.
pub(crate) const BUCKET_CACHE_SHARE: u64 = 27;
/// Where only initial states pass through it.
pub(crate) const LEAST_CACHE_SHARE: u64 = 3;
/// The share of a table for detection; what one bucket takes besides is about as much.
pub(crate) const TABLE_SHARE: u64 = 6;
/// The share of the candidates of a phase.
pub(crate) const PHASE_SHARE: u64 = 6;

/// A way of finding duplicates.
pub struct Detection {
    /// The share of the budget that its cache has, in percent.
    pub(crate) cache_share: u64,
    /// What becomes of payloads beside states.
    pub(crate) payloads: Payloads,
    /// Makes a detector that knows no layer yet.
    pub(crate) make: Make,
}

/// Makes a detector.
pub(crate) type Make = for<'m, 'a> fn(&Making<'m, 'a>) -> Result<Box<dyn Detector + 'a>, Trouble>;

/// What a detector is made from.
pub(crate) struct Making<'m, 'a> {
    pub(crate) disk: &'m Disk,
    pub(crate) options: RunOptions,
    pub(crate) space: &'a dyn StateSpace,
    pub(crate) governor: &'m Governor,
    pub(crate) threads: usize,
    pub(crate) strategy: &'m Strategy,
}

impl Making<'_, '_> {
    /// Bytes of a share of the budget.
    pub(crate) fn share(&self, percent: u64) -> u64 {
        self.governor.limit() / 100 * percent
    }
}

impl std::fmt::Debug for Detection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detection").field("cache_share", &self.cache_share).finish_non_exhaustive()
    }
}
