//! Long work on disk in turns: it gives way between two blocks once its turn is over, and goes on where it was.
//!
//! Merges keep their place in loops inside loops. As `async` functions they stay readable: the compiler keeps the place.
//! Nothing waits for anything but the next turn, so no runtime is needed: whoever polls gives a turn, and [`at_once`] gives
//! as many as it takes.

use super::Disk;
use crate::error::ReadError;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// How much work a turn has; threads may share it. Work is counted in units of about a nanosecond.
#[derive(Debug, Default)]
pub struct Turn {
    done: AtomicU64,
    until: AtomicU64,
    ends: AtomicBool,
}

impl Turn {
    /// After so much work, and over until it is [given](Turn::give) more.
    pub fn after(done: u64) -> Self {
        Turn { done: AtomicU64::new(done), ..Turn::default() }
    }

    /// Counts work.
    #[inline]
    pub fn count(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    /// Takes note that at least so much work is done in all.
    pub fn reach(&self, done: u64) {
        self.done.fetch_max(done, Ordering::Relaxed);
    }

    /// The work done in all.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The work that is left.
    pub fn left(&self) -> u64 {
        self.until.load(Ordering::Relaxed).saturating_sub(self.done())
    }

    /// Gives this much more work.
    pub fn give(&self, work: u64) {
        self.until.store(self.done().saturating_add(work), Ordering::Relaxed);
    }

    /// What is under way is to end where it is.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Gives way if the work is done.
    pub async fn rest(&self) {
        if self.left() == 0 {
            pause().await;
        }
    }
}

impl Disk {
    /// Gives way between two blocks, where the turn that is [taken](super::Brake::take_turns) is over; an error where the brake
    /// is [armed](super::Brake::arm), and pulled or the work to end.
    pub async fn rest(&self) -> Result<(), ReadError> {
        if let Some(turn) = self.brake.turn_at(self.traffic.bytes_moved()) {
            turn.rest().await;
            if turn.ends() && self.brake.is_armed() {
                return Err(ReadError::Stopped);
            }
        }
        match self.brake.is_pulled() {
            true => Err(ReadError::Stopped),
            false => Ok(()),
        }
    }
}

/// Gives way once.
pub async fn pause() {
    let mut is_back = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut is_back, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Goes on with work to its end, however many turns it takes.
pub fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        if let Poll::Ready(ended) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_gives_way_when_its_turn_is_over_and_not_before() {
        let turn = Turn::after(5);
        let mut work = std::pin::pin!(async {
            for _ in 0..10 {
                turn.count(1);
                turn.rest().await;
            }
        });
        let mut polls = 0;
        loop {
            polls += 1;
            turn.give(4);
            if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                break;
            }
        }
        assert_eq!((polls, turn.done()), (3, 15));
    }
}
