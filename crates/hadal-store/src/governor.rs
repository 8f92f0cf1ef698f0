//! The memory governor: one budget, and every large allocation asks it first.
//!
//! A [`Reservation`] is a claim on the budget that ends when it is dropped. The governor does not allocate; it
//! counts, so a part that wants memory reserves first, allocates after, and gives both back together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A memory budget shared by everything that allocates for one run. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Governor {
    account: Arc<Account>,
}

#[derive(Debug)]
struct Account {
    /// The budget this one is a part of.
    whole: Option<Arc<Account>>,
    limit: AtomicU64,
    current: AtomicU64,
    peak: AtomicU64,
}

/// A request that does not fit the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs {asked} bytes of memory, but only {available} of the budget of {limit} bytes are left")]
pub struct OverBudget {
    /// What the memory was for.
    pub what: &'static str,
    /// Bytes asked for.
    pub asked: u64,
    /// Bytes that were free at that moment.
    pub available: u64,
    /// The whole budget.
    pub limit: u64,
}

impl Governor {
    /// A budget of `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Governor::with_whole(limit_bytes, None)
    }

    fn with_whole(limit_bytes: u64, whole: Option<Arc<Account>>) -> Self {
        let account = Account {
            whole,
            limit: AtomicU64::new(limit_bytes),
            current: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        };
        Governor { account: Arc::new(account) }
    }

    /// A part of this budget with a limit of its own: what it grants counts here too.
    pub fn part(&self, limit_bytes: u64) -> Governor {
        Governor::with_whole(limit_bytes, Some(Arc::clone(&self.account)))
    }

    /// A budget that refuses nothing, and still counts.
    pub fn unlimited() -> Self {
        Governor::new(u64::MAX)
    }

    /// Claims `bytes` for `what`, or says how much is left.
    pub fn try_reserve(&self, bytes: u64, what: &'static str) -> Result<Reservation, OverBudget> {
        self.account.claim(bytes, what)?;
        Ok(Reservation { account: Arc::clone(&self.account), bytes, what })
    }

    /// A claim of nothing, to be grown later.
    pub fn empty(&self, what: &'static str) -> Reservation {
        Reservation { account: Arc::clone(&self.account), bytes: 0, what }
    }

    /// The whole budget in bytes.
    pub fn limit(&self) -> u64 {
        self.account.limit.load(Ordering::Relaxed)
    }

    /// Changes the budget. Claims already granted stay, even above a lowered limit.
    pub fn set_limit(&self, limit_bytes: u64) {
        self.account.limit.store(limit_bytes, Ordering::Relaxed);
    }

    /// Bytes claimed now.
    pub fn current(&self) -> u64 {
        self.account.current.load(Ordering::Relaxed)
    }

    /// Most bytes ever claimed at once.
    pub fn peak(&self) -> u64 {
        self.account.peak.load(Ordering::Relaxed)
    }

    /// Bytes still free.
    pub fn available(&self) -> u64 {
        self.limit().saturating_sub(self.current())
    }
}

impl Account {
    fn claim(&self, bytes: u64, what: &'static str) -> Result<(), OverBudget> {
        let limit = self.limit.load(Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.claim(bytes, what)?;
        }
        let claimed = self.current.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |current| {
            current.checked_add(bytes).filter(|&wanted| wanted <= limit)
        });
        match claimed {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(current) => {
                if let Some(whole) = &self.whole {
                    whole.release(bytes);
                }
                Err(OverBudget { what, asked: bytes, available: limit.saturating_sub(current), limit })
            }
        }
    }

    fn release(&self, bytes: u64) {
        if let Some(whole) = &self.whole {
            whole.release(bytes);
        }
        self.current.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A claim on a [`Governor`]'s budget, given back on drop.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<Account>,
    bytes: u64,
    what: &'static str,
}

impl Reservation {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Claims `more` bytes on top; unchanged when refused.
    pub fn try_grow(&mut self, more: u64) -> Result<(), OverBudget> {
        self.account.claim(more, self.what)?;
        self.bytes += more;
        Ok(())
    }

    /// Grows or shrinks to exactly `bytes`; unchanged when refused.
    pub fn try_resize(&mut self, bytes: u64) -> Result<(), OverBudget> {
        if bytes > self.bytes {
            self.try_grow(bytes - self.bytes)
        } else {
            self.shrink_to(bytes);
            Ok(())
        }
    }

    /// Gives back what is held above `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        if bytes < self.bytes {
            self.account.release(self.bytes - bytes);
            self.bytes = bytes;
        }
    }

    /// Cuts `bytes` (at most what is held) off into a claim of its own.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation { account: Arc::clone(&self.account), bytes, what: self.what }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.release(self.bytes);
    }
}

/// Gives memory that was freed in pieces back to the system, which the allocator keeps otherwise: no budget counts it.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: asks the allocator to return free memory; it touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_above_the_budget_is_refused_and_changes_nothing() {
        let governor = Governor::new(100);
        let mut held = governor.try_reserve(60, "table").unwrap();
        let refused = governor.try_reserve(41, "index").unwrap_err();
        assert_eq!(refused, OverBudget { what: "index", asked: 41, available: 40, limit: 100 });
        assert!(held.try_grow(u64::MAX).is_err());
        assert_eq!((held.bytes(), governor.current()), (60, 60));
    }

    #[test]
    fn dropping_gives_back_and_the_peak_stays() {
        let governor = Governor::new(100);
        let mut held = governor.try_reserve(80, "table").unwrap();
        let part = held.split(30);
        held.shrink_to(10);
        assert_eq!(governor.current(), 40);
        drop(part);
        drop(held);
        assert_eq!((governor.current(), governor.peak()), (0, 80));
    }

    #[test]
    fn a_part_counts_in_the_whole_and_obeys_both_limits() {
        let whole = Governor::new(100);
        let part = whole.part(60);
        let held = part.try_reserve(50, "table").unwrap();
        assert_eq!((part.current(), whole.current()), (50, 50));
        assert!(part.try_reserve(20, "table").is_err());
        assert_eq!(whole.current(), 50, "a refused claim leaves nothing in the whole");
        let _rest = whole.try_reserve(45, "index").unwrap();
        assert!(part.try_reserve(8, "table").is_err(), "the part has room, the whole has not");
        drop(held);
        assert_eq!((part.current(), whole.current()), (0, 45));
    }

    #[test]
    fn threads_never_hold_more_than_the_budget_together() {
        let governor = Governor::new(1000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for size in 0..2000u64 {
                        let _ = governor.try_reserve(size % 400, "work");
                    }
                });
            }
        });
        assert_eq!(governor.current(), 0);
        assert!(governor.peak() <= 1000);
    }
}
