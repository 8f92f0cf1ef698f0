//! The searches of one command, one after the other.
//!
//! Each has a run of its own, whose folder remembers the folders of those before it. So whoever resumes one of them gets all
//! answers: searches that were done are read back, the one that was stopped goes on, and the others follow. A search that needed
//! no disk is made again.

use crate::by::By;
use crate::error::CheckError;
use crate::folder::{self, DEFAULT_DISK, RunPlace};
use crate::options::Options;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a run's folder keeps of a command whose earlier searches have these folders; none of those that needed no disk.
pub type AboutStage<'a> = &'a dyn Fn(&[Option<PathBuf>]) -> Result<serde_json::Value, CheckError>;

/// Gives every search its options, and remembers its folder.
pub struct Stages<'a> {
    /// What all searches have in common.
    options: Options,
    /// The folders to go on with, by search.
    known: Vec<Option<PathBuf>>,
    /// Those of the searches so far.
    made: RefCell<Vec<Option<PathBuf>>>,
    about: AboutStage<'a>,
    begun: Instant,
    by: Option<By<'a>>,
}

impl<'a> Stages<'a> {
    /// Of a command that began then, by these options. One that is resumed had searches with the folders `earlier` before the
    /// one that goes on.
    pub fn new(
        begun: Instant,
        options: Options,
        mut earlier: Vec<Option<PathBuf>>,
        about: AboutStage<'a>,
    ) -> Self {
        earlier.extend(options.place.resumed.iter().cloned().map(Some));
        Stages { options, known: earlier, made: RefCell::default(), about, begun, by: None }
    }

    /// Lets others make the searches, or takes part in them.
    pub fn made_by(self, by: Option<By<'a>>) -> Self {
        Stages { by, ..self }
    }

    /// Who makes the next search, and its number, where that is not this process alone.
    pub(super) fn by(&self) -> Option<(By<'a>, usize)> {
        self.by.map(|by| (by, self.made.borrow().len()))
    }

    /// How long the command has been running.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The options of the next search.
    pub(super) fn next(&self) -> Result<Options, CheckError> {
        let made = self.made.borrow();
        let mut options = self.options.clone();
        let place = &mut options.place;
        let known = self.known.get(made.len()).cloned().flatten();
        place.resumed = known.filter(|path| folder::look_at(path).is_ok());
        // Nothing is thrown away before everything is answered.
        let beside = self.known.iter().flatten().next_back().and_then(|path| path.parent());
        let parent = place.disk.as_deref().or(beside).unwrap_or(Path::new(DEFAULT_DISK));
        place.disk = Some(parent.to_owned());
        place.about = (self.about)(&made)?;
        if let (Some(limit), false) = (&mut options.budget.limits.time, made.is_empty()) {
            *limit = limit.saturating_sub(self.begun.elapsed());
        }
        Ok(options)
    }

    /// Takes note that the search ended, and where its run is.
    pub(super) fn ended(&self, run: Option<&Path>) {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.made.borrow_mut().push(run.map(absolute));
    }

    /// Throws the runs of all searches away; says of which that is not possible.
    pub fn discard(&self) -> Vec<String> {
        let made = self.made.borrow();
        let left = made.iter().flatten().filter(|path| RunPlace::existing(path).remove().is_err());
        left.map(|path| format!("cannot remove {}", path.display())).collect()
    }
}
