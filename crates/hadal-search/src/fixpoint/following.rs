//! A search of all states, and behind it the questions about infinite runs: both in steps. What keeps its place in loops inside
//! loops, the layers on disk and those questions, rests between the pieces of its work.

use crate::explore::Progress;
use crate::layered::Trouble;
use crate::resting::{Reins, Resting};
use std::future::Future;
use std::sync::Arc;

/// A search of all states that may leave questions about infinite runs.
pub(crate) trait Seeing<'a>: Sized + 'a {
    /// Goes on for this much work; whether it is at its end.
    fn go_on(&mut self, work: u64) -> Result<bool, Trouble>;

    fn progress(&self) -> Progress;

    /// The work done, and what is ahead up to the end of the next layer.
    fn work(&self) -> (u64, u64) {
        let now = self.progress();
        (now.work, now.ahead)
    }

    /// Whether more is left than [`Seeing::go_on`] does: questions, or layers that rest.
    fn has_more(&self) -> bool;

    fn reins(&self) -> Arc<Reins<'a>>;

    /// Does what is left, or a layer of it.
    fn proceed(self: Box<Self>, reins: Arc<Reins<'a>>) -> impl Future<Output = Proceeded<Self>> + 'a;
}

type Proceeded<S> = Result<Box<S>, Trouble>;

/// Such a search with what follows it.
pub(crate) struct Following<'a, S> {
    at: At<'a, S>,
}

enum At<'a, S> {
    Seeing(Box<S>),
    Proceeding(Resting<'a, Proceeded<S>>),
    /// It failed.
    Nowhere,
}

impl<'a, S: Seeing<'a>> Following<'a, S> {
    pub(crate) fn new(search: S) -> Self {
        Following { at: At::Seeing(Box::new(search)) }
    }

    /// Goes on for this much work; whether it is at its end. A layer is not begun where its work would not be done by then.
    pub(crate) fn go_on(&mut self, work: u64) -> Result<bool, Trouble> {
        let until = self.done().saturating_add(work);
        loop {
            let left = until.saturating_sub(self.done());
            match std::mem::replace(&mut self.at, At::Nowhere) {
                At::Seeing(mut search) => match search.go_on(left)? {
                    true if search.has_more() => {
                        let reins = search.reins();
                        let proceeding = search.proceed(Arc::clone(&reins));
                        self.at = At::Proceeding(Resting::new(reins, proceeding));
                    }
                    is_over => {
                        self.at = At::Seeing(search);
                        return Ok(is_over);
                    }
                },
                At::Proceeding(mut proceeding) => {
                    if !proceeding.go_on(left) {
                        self.at = At::Proceeding(proceeding);
                        return Ok(false);
                    }
                    let search = proceeding.end()?;
                    let (has_more, (done, ahead)) = (search.has_more(), search.work());
                    self.at = At::Seeing(search);
                    if !has_more || done.saturating_add(ahead) >= until {
                        return Ok(!has_more);
                    }
                }
                At::Nowhere => return Ok(true),
            }
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        match &self.at {
            At::Seeing(search) => search.progress(),
            At::Proceeding(proceeding) => proceeding.progress(),
            At::Nowhere => Progress::NOTHING,
        }
    }

    fn done(&self) -> u64 {
        match &self.at {
            At::Seeing(search) => search.work().0,
            At::Proceeding(proceeding) => proceeding.done(),
            At::Nowhere => 0,
        }
    }

    /// The search, unless what follows it is under way.
    pub(crate) fn search(&mut self) -> Option<&mut S> {
        match &mut self.at {
            At::Seeing(search) => Some(search),
            At::Proceeding(_) | At::Nowhere => None,
        }
    }

    /// The search where it stands; answers that are not found yet are given up.
    pub(crate) fn end(self) -> Result<Box<S>, Trouble> {
        match self.at {
            At::Seeing(search) => Ok(search),
            At::Proceeding(proceeding) => proceeding.end(),
            At::Nowhere => Err(Trouble::NothingToResume),
        }
    }
}
