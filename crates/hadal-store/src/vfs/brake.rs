//! Ends long readings from outside: whoever reads runs looks at it between two blocks, so that a merge of many need not come
//! to its end before a search does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Whether reading goes on. It does, unless somebody has armed the brake and it was pulled.
#[derive(Debug, Default)]
pub struct Brake {
    armed: Mutex<Option<When>>,
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

    pub(crate) fn is_pulled(&self) -> bool {
        let armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.as_ref().is_some_and(|when| {
            when.flag.load(Ordering::Relaxed)
                || when.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        })
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
