//! Ends long readings from outside, or lets them give way: whoever reads runs looks at it between two blocks, so that a merge
//! of many need not come to its end before a search does.

use super::Turn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Whether reading goes on. It does, unless somebody has armed the brake and it was pulled.
#[derive(Debug, Default)]
pub struct Brake {
    armed: Mutex<Option<When>>,
    turn: Mutex<Option<Arc<Turn>>>,
    /// Bytes that the turn has counted.
    counted: AtomicU64,
}

/// When an armed brake is pulled.
#[derive(Debug)]
struct When {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Brake {
    /// Until the result is dropped, reading ends with [`crate::ReadError::Stopped`] once the flag is set or the moment is past.
    pub fn arm(&self, flag: Arc<AtomicBool>, deadline: Option<Instant>) -> Armed<'_> {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(When { flag, deadline });
        Armed(self)
    }

    /// Until the result is dropped, [`super::Disk::rest`] gives way when the turn is over. Bytes beyond the `moved` ones count
    /// as its work.
    pub fn take_turns(self: &Arc<Self>, turn: &Arc<Turn>, moved: u64) -> InTurns {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(turn));
        self.counted.store(moved, Ordering::Relaxed);
        InTurns(Arc::clone(self))
    }

    /// The turn, after so many bytes were moved in all.
    pub(super) fn turn_at(&self, moved: u64) -> Option<Arc<Turn>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        turn.count(moved.saturating_sub(self.counted.swap(moved, Ordering::Relaxed)));
        Some(turn)
    }

    pub(super) fn is_armed(&self) -> bool {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn is_pulled(&self) -> bool {
        let armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.as_ref().is_some_and(|when| {
            when.flag.load(Ordering::Relaxed)
                || when.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        })
    }
}

/// Work on the disk goes on in turns until this is dropped.
#[derive(Debug)]
pub struct InTurns(Arc<Brake>);

impl Drop for InTurns {
    fn drop(&mut self) {
        *self.0.turn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A brake that may be pulled.
#[derive(Debug)]
pub struct Armed<'b>(&'b Brake);

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        *self.0.armed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
