//! The searches of one command, one after the other.
//!
//! Each has a run of its own, whose folder remembers the folders of those before it. So whoever resumes one of them gets all
//! answers: searches that were done are read back, the one that was stopped goes on, and the others follow. A search that needed
//! no disk is made again.

use crate::args::CheckArgs;
use crate::commands::about::About;
use crate::failure::Failure;
use crate::timed::TimedArgs;
use hadal_check::Options;
use hadal_check::folder::{self, DEFAULT_DISK, RunPlace};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Gives every search its options, and remembers its folder.
pub struct Stages<'a> {
    args: &'a CheckArgs,
    /// What all searches have in common.
    options: Options,
    /// The folders to go on with, by search.
    known: Vec<Option<PathBuf>>,
    /// Those of the searches so far.
    made: RefCell<Vec<Option<PathBuf>>>,
    begun: Instant,
}

impl<'a> Stages<'a> {
    /// Of a command, or of one that was interrupted in the run `resumed`.
    pub fn new(args: &'a CheckArgs, options: Options, resumed: Option<&Path>, begun: Instant) -> Self {
        let mut known = args.timed.earlier.clone();
        known.extend(resumed.map(|path| Some(path.to_owned())));
        Stages { args, options, known, made: RefCell::default(), begun }
    }

    /// The options of the next search.
    pub fn next(&self) -> Result<Options, Failure> {
        let made = self.made.borrow();
        let mut options = self.options.clone();
        let place = &mut options.place;
        let known = self.known.get(made.len()).cloned().flatten();
        place.resumed = known.filter(|path| folder::look_at(path).is_ok());
        // Nothing is thrown away before everything is answered.
        let beside = self.known.iter().flatten().next_back().and_then(|path| path.parent());
        let parent = self.args.storing.disk.as_deref().or(beside).unwrap_or(Path::new(DEFAULT_DISK));
        place.disk = Some(parent.to_owned());
        let timed =
            TimedArgs { earlier: made.clone(), several: self.args.asked.several, ..self.args.timed.clone() };
        let about = About::of(&CheckArgs { timed, ..self.args.clone() });
        place.about = serde_json::to_value(about)
            .map_err(|error| Failure::Usage(format!("a run cannot remember this command: {error}")))?;
        if let (Some(limit), false) = (&mut options.budget.limits.time, made.is_empty()) {
            *limit = limit.saturating_sub(self.begun.elapsed());
        }
        Ok(options)
    }

    /// Takes note that the search ended, and where its run is.
    pub fn ended(&self, run: Option<&Path>) {
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
