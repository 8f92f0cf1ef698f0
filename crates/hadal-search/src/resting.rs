//! Searches written as one function that rests between pieces of its work.
//!
//! Depth-first searches and fixpoints keep their place in loops inside loops. As `async` functions they stay readable: the
//! compiler keeps the place, and [`Reins::rest`] gives way once the work of a step is done. Nothing waits for anything but
//! the next step, so no runtime is needed.

use crate::control::Control;
use crate::explore::{Explored, Explorer, Phase, Progress};
use crate::layered::Trouble;
use crate::report::{Proviso, StopReason, Verdict};
use hadal_store::Governor;
use hadal_store::error::ReadError;
use hadal_store::vfs::Turn;
pub(crate) use hadal_store::vfs::pause;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// How far a search that rests may go, and how it stands; its threads share it.
pub(crate) struct Reins<'a> {
    control: &'a Control,
    governor: Governor,
    /// How the search stood when it began to rest.
    before: Progress,
    states: AtomicU64,
    transitions: AtomicU64,
    turn: Arc<Turn>,
    /// Something wrong is known to be there; what is left is the way to it.
    found: AtomicBool,
}

impl<'a> Reins<'a> {
    /// Of a search that goes on from `before`.
    pub(crate) fn new(control: &'a Control, governor: &Governor, before: Progress) -> Arc<Self> {
        Arc::new(Reins {
            control,
            governor: governor.clone(),
            before,
            states: AtomicU64::new(before.states),
            transitions: AtomicU64::new(before.transitions),
            turn: Arc::new(Turn::after(before.work)),
            found: AtomicBool::new(false),
        })
    }

    /// Counts work, in units of about a nanosecond.
    #[inline]
    pub(crate) fn count(&self, work: u64) {
        self.turn.count(work);
    }

    /// How much work it has until it rests.
    pub(crate) fn turn(&self) -> &Arc<Turn> {
        &self.turn
    }

    /// Takes note of how many states and transitions there are.
    #[inline]
    pub(crate) fn note(&self, states: u64, transitions: u64) {
        self.states.store(states, Ordering::Relaxed);
        self.transitions.store(transitions, Ordering::Relaxed);
    }

    /// From now on no limit stops the search, only an interrupt: something wrong is known to be there, and an answer without
    /// the way to it would be none.
    pub(crate) fn found(&self) {
        self.found.store(true, Ordering::Relaxed);
    }

    /// What must be said beside a verdict: that something wrong is known to be there, where it stopped short of showing it.
    pub(crate) fn proviso(&self, verdict: &Verdict) -> Option<Proviso> {
        let stopped = matches!(verdict, Verdict::Stopped(_));
        (stopped && self.found.load(Ordering::Relaxed)).then_some(Proviso::RunSeen)
    }

    /// Lets the next step come, if this one's work is done; an error where the search must stop.
    pub(crate) async fn rest(&self) -> Result<(), StopReason> {
        self.turn.rest().await;
        if self.turn.ends() || self.control.is_interrupted() {
            return Err(StopReason::Interrupted);
        }
        if self.found.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.control.must_stop(self.states.load(Ordering::Relaxed)).map_or(Ok(()), Err)
    }

    /// How many pieces of this much work there are before the next rest; at most `most`, so that limits are looked at.
    pub(crate) fn allows(&self, piece: u64, most: u64) -> u64 {
        (self.turn.left() / piece).clamp(1, most)
    }

    fn progress(&self, phase: Phase) -> Progress {
        Progress {
            phase,
            states: self.states.load(Ordering::Relaxed),
            transitions: self.transitions.load(Ordering::Relaxed),
            work: self.turn.done(),
            ahead: 0,
            memory: self.governor.current(),
            ..self.before
        }
    }
}

/// Why a part of a search that rests did not come to its end.
pub(crate) enum Early {
    /// It must stop.
    Stopped(StopReason),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Early {
    fn from(trouble: T) -> Self {
        Early::Trouble(trouble.into())
    }
}

impl Early {
    /// For those who only tell that they stopped.
    pub(crate) fn trouble(self) -> Trouble {
        match self {
            Early::Stopped(_) => Trouble::Read(ReadError::Stopped),
            Early::Trouble(trouble) => trouble,
        }
    }
}

/// What work comes to, and the seconds that it was at it: not those in which it rested.
pub(crate) async fn busy<T>(work: impl Future<Output = T>) -> (T, f64) {
    let (mut work, mut seconds) = (std::pin::pin!(work), 0.0);
    let done = std::future::poll_fn(|context| {
        let begun = Instant::now();
        let polled = work.as_mut().poll(context);
        seconds += begun.elapsed().as_secs_f64();
        polled
    });
    (done.await, seconds)
}

/// One of several searches that go on together, on threads of their own.
pub(crate) type Share<'s> = Pin<Box<dyn Future<Output = ()> + Send + 's>>;

/// Goes on with all of them until each is over; rests when they do.
pub(crate) async fn together(mut shares: Vec<Share<'_>>) {
    loop {
        if let [only] = &mut shares[..] {
            return only.await;
        }
        let over: Vec<bool> = std::thread::scope(|scope| {
            let goes_on = |share| scope.spawn(move || go_on(share).is_ready());
            let threads: Vec<_> = shares.iter_mut().map(goes_on).collect();
            // A panic of a share goes on here.
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
                .collect()
        });
        let mut over = over.into_iter();
        shares.retain(|_| over.next() == Some(false));
        if shares.is_empty() {
            return;
        }
        pause().await;
    }
}

fn go_on<T>(future: &mut Pin<Box<dyn Future<Output = T> + Send + '_>>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// A search that rests, under way.
pub(crate) struct Resting<'a, T> {
    reins: Arc<Reins<'a>>,
    at: At<'a, T>,
}

enum At<'a, T> {
    Under(Pin<Box<dyn Future<Output = T> + 'a>>),
    Over(T),
}

impl<'a, T> Resting<'a, T> {
    pub(crate) fn new(reins: Arc<Reins<'a>>, search: impl Future<Output = T> + 'a) -> Self {
        Resting { reins, at: At::Under(Box::pin(search)) }
    }

    /// Goes on for this much work; whether it is over.
    pub(crate) fn go_on(&mut self, work: u64) -> bool {
        self.reins.turn.give(work);
        if let At::Under(search) = &mut self.at
            && let Poll::Ready(ended) = search.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            self.at = At::Over(ended);
        }
        matches!(self.at, At::Over(_))
    }

    /// The work done.
    pub(crate) fn done(&self) -> u64 {
        self.reins.turn.done()
    }

    pub(crate) fn progress(&self) -> Progress {
        self.reins.progress(match self.at {
            At::Under(_) => Phase::Within,
            At::Over(_) => Phase::Over,
        })
    }

    /// What it came to; a search that is not over ends where it is.
    pub(crate) fn end(mut self) -> T {
        self.reins.turn.end();
        loop {
            if let At::Over(ended) = self.at {
                return ended;
            }
            self.go_on(u64::MAX);
        }
    }
}

impl Explorer for Resting<'_, Result<Explored, Trouble>> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        self.go_on(work);
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        self.progress()
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        self.end()
    }
}
