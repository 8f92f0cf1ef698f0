//! The run folders of one command, and what stands in them for whoever resumes it.

use super::PlanArgs;
use hadal_check::RunPlace;
use hadal_check::folder::is_left_over;
use hadal_plan::{Kept, Opening, Resumed, Stage};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_store::Governor;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file with this name says that a number had no room in the run's states.
const OVERFLOWED: &str = "overflowed";

/// The part of a command that decides what is searched: kept in the run's folder, so that `resume` can repeat it.
#[derive(Serialize, Deserialize)]
pub(super) struct About {
    /// What lists of runs show.
    model: PathBuf,
    /// Tells it from a run of `check`.
    pub(super) plan: Asked,
    /// Rows of the best plan so far, or of the way that hill climbing has behind it.
    rows: Option<Vec<u32>>,
    /// What the run is for.
    stage: String,
    /// Whether a search in RAM was written down.
    in_ram: bool,
    /// How often numbers got more bits before.
    widened: u32,
    /// What guides the search for a best plan.
    #[serde(default)]
    guide: String,
}

/// What was asked.
#[derive(Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) domain: PathBuf,
    pub(super) problem: PathBuf,
    pub(super) optimal: bool,
    pub(super) first: bool,
    #[serde(default)]
    pub(super) safe_abstraction: bool,
    #[serde(default)]
    pub(super) external: bool,
    pub(super) engine: String,
    /// As it was typed; what guides the search stands beside.
    #[serde(default)]
    pub(super) guide: String,
    pub(super) plan: Option<PathBuf>,
    pub(super) html: Option<PathBuf>,
    /// How much it may take, for whoever reads the command.
    #[serde(default)]
    limits: serde_json::Map<String, serde_json::Value>,
}

impl About {
    /// What planning has to know of the run in this folder.
    pub(super) fn resumed(&self, run: &Path) -> Resumed {
        Resumed {
            rows: self.rows.clone(),
            stage: Stage::named(&self.stage).unwrap_or(Stage::Best),
            in_ram: self.in_ram,
            widened: self.widened,
            guide: self.guide.clone(),
            overflowed: run.join(OVERFLOWED).exists(),
        }
    }
}

/// How planning ended, as the run's folder says it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// With this answer.
    Over(&'static str),
    /// Before its end.
    Resumable,
}

/// A folder, and whether a search in RAM is kept there.
struct Place {
    place: RunPlace,
    in_ram: bool,
}

/// The run folders of one command: several searches may need one each.
pub(super) struct Places<'a> {
    args: &'a PlanArgs,
    resumed: Option<&'a Path>,
    places: Mutex<Vec<Place>>,
    overflowed: AtomicBool,
}

impl<'a> Places<'a> {
    pub(super) fn new(args: &'a PlanArgs, resumed: Option<&'a Path>) -> Self {
        Places { args, resumed, places: Mutex::default(), overflowed: AtomicBool::new(false) }
    }

    fn places(&self) -> std::sync::MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn about(&self, kept: &Kept) -> serde_json::Value {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let args = self.args;
        let problem = args.task.problem.as_deref().unwrap_or(&args.task.domain);
        let about = About {
            model: absolute(problem),
            plan: Asked {
                domain: absolute(&args.task.domain),
                problem: absolute(problem),
                optimal: args.search.optimal,
                first: args.search.first,
                safe_abstraction: args.search.safe_abstraction,
                external: args.search.external,
                engine: args.search.engine.info().name.to_owned(),
                guide: args.search.guide.name.to_owned(),
                plan: args.written.plan.as_deref().map(absolute),
                html: args.written.html.as_deref().map(absolute),
                limits: args.room.spelled(),
            },
            rows: kept.rows.clone(),
            stage: kept.stage.name().to_owned(),
            in_ram: kept.in_ram,
            widened: kept.widened,
            guide: kept.guide.clone(),
        };
        // Paths and numbers always serialise.
        serde_json::to_value(about).unwrap_or_default()
    }

    /// Opens the folder of a search.
    pub(super) fn open(&self, kept: &Kept, governor: &Governor) -> Result<Ledger, Trouble> {
        let about = self.about(kept);
        let mut places = self.places();
        if kept.opening == Opening::Again
            && let Some(last) = places.last()
        {
            return last.place.open(governor, kept.fingerprint, &about);
        }
        if let (Opening::Resumed, Some(path)) = (kept.opening, self.resumed) {
            let ours = places.iter().position(|it| it.place.path == path);
            let at = ours.unwrap_or_else(|| {
                let place = RunPlace::existing(path).limited_to(self.args.room.disk_limit);
                places.insert(0, Place { place, in_ram: kept.in_ram });
                0
            });
            return places[at].place.open(governor, kept.fingerprint, &about);
        }
        // Hill climbing has a run for each segment: only the last complete one may still be needed, should this one be
        // killed before its first commit.
        while places.len() > 1 {
            forget(&places.remove(0).place);
        }
        let place = match (places.last(), self.resumed) {
            (Some(last), _) => unused_beside(&last.place),
            (None, Some(path)) => unused_beside(&RunPlace::existing(path)),
            (None, None) => {
                let parent =
                    self.args.room.disk.as_deref().unwrap_or(Path::new(hadal_check::folder::DEFAULT_DISK));
                let problem = self.args.task.problem.as_deref().unwrap_or(&self.args.task.domain);
                RunPlace::new(parent, &problem.file_stem().unwrap_or_default().to_string_lossy())
            }
        }
        .limited_to(self.args.room.disk_limit);
        let ledger = place.create(governor, kept.fingerprint, &about);
        if ledger.is_ok() && self.overflowed.load(Ordering::Relaxed) {
            mark(&place.path);
        }
        places.push(Place { place, in_ram: kept.in_ram });
        ledger
    }

    /// Notes in the folder that a number had no room: whoever resumes the run begins again with more bits.
    pub(super) fn note_overflow(&self) {
        if self.overflowed.swap(true, Ordering::Relaxed) {
            return;
        }
        let places = self.places();
        let used = places.iter().filter(|it| it.place.is_used());
        used.for_each(|it| mark(&it.place.path));
        if let Some(path) = self.resumed.filter(|_| places.is_empty()) {
            mark(path);
        }
    }

    /// Removes folders that nobody needs; the path of the one that stays.
    pub(super) fn finish(&self, ending: Ending) -> Option<String> {
        let mut places = std::mem::take(&mut *self.places());
        if let Some(path) = self.resumed
            && !places.iter().any(|it| it.place.path == path)
            && !places.is_empty()
        {
            // What was done since took another folder.
            forget(&RunPlace::existing(path));
        }
        let Place { place: last, in_ram } = places.pop()?;
        places.iter().filter(|it| it.place.is_used()).for_each(|it| forget(&it.place));
        // A search in RAM that has its answer leaves nothing to look at.
        let wanted = ending == Ending::Resumable
            || !in_ram && (self.resumed.is_some() || self.args.room.disk.is_some());
        let kept = last.is_used() && !is_left_over(&last.path) && wanted;
        match ending {
            _ if !kept && last.is_used() => forget(&last),
            Ending::Over(status) if kept => {
                if let Err(error) = last.say_ended(status) {
                    crate::output::note!("warning: the run's folder does not say that it ended: {error}");
                }
            }
            _ => {}
        }
        kept.then(|| last.path.display().to_string())
    }
}

/// A folder beside that of a run which nobody has made, an earlier sitting that was killed included. However many follow each
/// other, all are named after the first.
fn unused_beside(place: &RunPlace) -> RunPlace {
    let name = place.path.file_name().unwrap_or_default().to_string_lossy();
    let first = name.split(".again").next().unwrap_or_default();
    let first = RunPlace::existing(&place.path.with_file_name(first));
    let mut number = 1;
    loop {
        let beside = first.beside(&format!("again{number}"));
        if !beside.path.exists() {
            return beside;
        }
        number += 1;
    }
}

/// Leaves a mark that outlives a crash.
fn mark(folder: &Path) {
    let made = std::fs::File::create(folder.join(OVERFLOWED)).and_then(|file| file.sync_all());
    if let Err(error) = made.and_then(|()| std::fs::File::open(folder)?.sync_all()) {
        crate::output::note!("warning: {}: cannot note that a number had no room: {error}", folder.display());
    }
}

/// Removes a folder that nobody needs.
fn forget(place: &RunPlace) {
    if let Err(error) = place.remove() {
        crate::output::note!("warning: cannot remove {}: {error}", place.path.display());
    }
}
