//! Searches that this process does not make alone: it lets others make them, or is one of several.

use crate::error::CheckError;
use crate::searching::Explored;
use hadal_search::cycles::external as cycles;
use hadal_search::{Report, SearchTask, external};
use hadal_store::Governor;

/// Lets others make the search of a number.
pub type Launch<'a> = Work<'a>;

/// Takes part in the search of a number.
pub type Work<'a> = dyn Fn(usize, SearchTask, &Governor, Chosen) -> Result<Report, CheckError> + 'a;

/// Who searches, where that is not this process alone.
#[derive(Clone, Copy)]
pub enum By<'a> {
    /// Others: nothing is prepared for it here.
    Others(&'a Launch<'a>),
    /// This process, as one of several.
    Worker(&'a Work<'a>),
}

impl By<'_> {
    /// Makes the search of this number.
    pub(crate) fn search(
        self,
        number: usize,
        (task, governor): (SearchTask, &Governor),
        chosen: Chosen,
    ) -> Result<Explored, CheckError> {
        let report = match self {
            By::Others(by) => by(number, task, governor, chosen),
            By::Worker(by) => by(number, task, governor, chosen),
        };
        Ok(Explored { report: report?, decisions: Vec::new() })
    }
}

/// How one of several processes is to search.
pub enum Chosen<'a> {
    /// By the strategy that was named.
    Strategy,
    /// With this guide.
    External(&'a external::External<'a>),
    /// For accepted cycles.
    Cycles(cycles::External),
}
