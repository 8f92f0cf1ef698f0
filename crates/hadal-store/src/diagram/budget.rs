//! The bytes a diagram may hold: one pool, shared by the shards of a set, leased part by part.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The diagram cannot take this step inside its budget, even after a collection.
///
/// Nothing was lost: every root is as it was before the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the decision diagram needs more than its budget of {limit_bytes} bytes")]
pub struct OverBudget {
    /// The limit that was met.
    pub limit_bytes: usize,
}

/// A pool of bytes with a hard limit.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    /// A pool of `limit_bytes`, all free.
    pub fn new(limit_bytes: usize) -> Arc<Self> {
        Arc::new(Budget { limit: limit_bytes, used: AtomicUsize::new(0) })
    }

    /// The size of the pool in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes leased now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn exhausted(&self) -> OverBudget {
        OverBudget { limit_bytes: self.limit }
    }
}

/// Bytes taken from a [`Budget`], given back when dropped.
#[derive(Debug)]
pub(super) struct Lease {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Lease {
    pub(super) fn empty(budget: &Arc<Budget>) -> Self {
        Lease { budget: Arc::clone(budget), bytes: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the lease to `bytes`; growing fails, with no effect, when the pool is too small.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), OverBudget> {
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            let limit = self.budget.limit;
            self.budget
                .used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    used.checked_add(more).filter(|&sum| sum <= limit)
                })
                .map_err(|_| self.budget.exhausted())?;
        } else {
            self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
