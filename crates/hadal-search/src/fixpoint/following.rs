//! A search of all states, and behind it the questions about infinite runs: both in steps.

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

    /// Whether every state is known and questions are left.
    fn has_questions(&self) -> bool;

    fn reins(&self) -> Arc<Reins<'a>>;

    /// Answers what is left, and is at its end.
    fn answer(self: Box<Self>, reins: Arc<Reins<'a>>) -> impl Future<Output = Answered<Self>> + 'a;
}

type Answered<S> = Result<Box<S>, Trouble>;

/// Such a search with what follows it.
pub(crate) struct Following<'a, S> {
    at: At<'a, S>,
}

enum At<'a, S> {
    Seeing(Box<S>),
    Answering(Resting<'a, Answered<S>>),
    /// It failed.
    Nowhere,
}

impl<'a, S: Seeing<'a>> Following<'a, S> {
    pub(crate) fn new(search: S) -> Self {
        Following { at: At::Seeing(Box::new(search)) }
    }

    /// Goes on for this much work; whether it is at its end.
    pub(crate) fn go_on(&mut self, work: u64) -> Result<bool, Trouble> {
        let (at, is_over) = match std::mem::replace(&mut self.at, At::Nowhere) {
            At::Seeing(mut search) => match search.go_on(work)? {
                true if search.has_questions() => {
                    let reins = search.reins();
                    let answering = search.answer(Arc::clone(&reins));
                    (At::Answering(Resting::new(reins, answering)), false)
                }
                is_over => (At::Seeing(search), is_over),
            },
            At::Answering(mut answering) => match answering.go_on(work) {
                true => (At::Seeing(answering.end()?), true),
                false => (At::Answering(answering), false),
            },
            At::Nowhere => (At::Nowhere, true),
        };
        self.at = at;
        Ok(is_over)
    }

    pub(crate) fn progress(&self) -> Progress {
        match &self.at {
            At::Seeing(search) => search.progress(),
            At::Answering(answering) => answering.progress(),
            At::Nowhere => Progress::NOTHING,
        }
    }

    /// The search, unless what follows it is under way.
    pub(crate) fn search(&mut self) -> Option<&mut S> {
        match &mut self.at {
            At::Seeing(search) => Some(search),
            At::Answering(_) | At::Nowhere => None,
        }
    }

    /// The search where it stands; answers that are not found yet are given up.
    pub(crate) fn end(self) -> Result<Box<S>, Trouble> {
        match self.at {
            At::Seeing(search) => Ok(search),
            At::Answering(answering) => answering.end(),
            At::Nowhere => Err(Trouble::NothingToResume),
        }
    }
}
