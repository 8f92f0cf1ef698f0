//! `hadal runs` and `hadal resume`: what is kept on disk, and resuming it.

use crate::args::{CheckArgs, ResumeArgs, RunsArgs, RunsVerb};
use crate::commands::check;
use crate::failure::Failure;
use crate::output;
use crate::report::command::command;
use hadal_check::folder::{self, KnownRun, RunPlace};
use hadal_check::units::{counted, size, span};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `hadal runs [rm RUN...]`
pub fn run(args: &RunsArgs) -> Result<u8, Failure> {
    match &args.verb {
        Some(RunsVerb::Rm { runs, finished, older_than }) => {
            let mut chosen: Vec<PathBuf> = runs.iter().map(|run| found(run, &args.disk)).collect();
            if *finished || older_than.is_some() {
                chosen.extend(housekeeping(&args.disk, *finished, *older_than));
            }
            chosen.sort();
            chosen.dedup();
            chosen.iter().try_for_each(|path| remove(path))?;
            if runs.is_empty() {
                output::line(&format!("{} removed", counted(chosen.len() as u64, "run")))?;
            }
        }
        None if args.json => {
            let listed: Vec<_> = folder::list(&args.disk).iter().map(as_json).collect();
            // Plain data always serialises.
            output::line(&serde_json::to_string_pretty(&listed).unwrap_or_default())?;
        }
        None => output::line(&listing(&args.disk))?,
    }
    Ok(0)
}

/// A run by its path, or by its bare name where runs are kept.
fn found(run: &Path, disk: &Path) -> PathBuf {
    let kept = disk.join(run);
    if !run.exists() && kept.exists() { kept } else { run.to_owned() }
}

/// The runs that are finished, or have not been touched for so long: never one that is in use.
fn housekeeping(disk: &Path, finished: bool, older_than: Option<Duration>) -> Vec<PathBuf> {
    let is_old = |path: &Path| {
        older_than.is_none_or(|limit| {
            touched(path).is_some_and(|then| then.elapsed().is_ok_and(|age| age >= limit))
        })
    };
    let is_chosen = |run: &KnownRun| {
        (!finished || is_over(&run.record.status)) && is_old(&run.path) && !folder::is_in_use(&run.path)
    };
    let mut chosen: Vec<PathBuf> =
        folder::list(disk).into_iter().filter(is_chosen).map(|run| run.path).collect();
    chosen.extend(folder::left_over(disk).into_iter().filter(|path| is_old(path)));
    chosen
}

/// Whether a run with this status has nothing left to do. Older versions called every such run finished.
fn is_over(status: &str) -> bool {
    ["holds", "violated", "solved", "unsolvable", "finished"].contains(&status)
}

fn remove(path: &Path) -> Result<(), Failure> {
    // Only what is a run is removed: a mistyped path must not cost anybody a folder.
    if !folder::is_left_over(path) {
        folder::look_at(path)?;
    }
    if folder::is_in_use(path) {
        return Err(Failure::Usage(format!("{}: the run is in use by another process", path.display())));
    }
    RunPlace::existing(path).remove().map_err(|error| Failure::File { path: path.to_owned(), error })
}

/// When something was last written in the folder.
fn touched(path: &Path) -> Option<SystemTime> {
    let files = std::fs::read_dir(path).ok()?.flatten();
    files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}

fn listing(disk: &Path) -> String {
    let (runs, left_over) = (folder::list(disk), folder::left_over(disk));
    let mut lines = Vec::new();
    for path in &left_over {
        lines.push(format!("{}  ended before its first commit: nothing to resume", path.display()));
    }
    if runs.is_empty() && left_over.is_empty() {
        lines.push(format!("no runs in {}", disk.display()));
    }
    for run in &runs {
        lines.push(format!(
            "{}  {}  {}  {}, depth {}, {}, {} on disk\n    {}",
            run.path.display(),
            touched(&run.path).map_or("?".into(), date),
            run.record.status,
            counted(run.record.states(), "state"),
            run.record.depth(),
            span(run.record.seconds),
            size(run.bytes),
            command(&run.about).unwrap_or_else(|| "?".into()),
        ));
    }
    if runs.len() > 1 {
        let total = runs.iter().map(|run| run.bytes).sum();
        lines.push(format!("{}, {} on disk", counted(runs.len() as u64, "run"), size(total)));
    }
    lines.join("\n")
}

fn as_json(run: &KnownRun) -> serde_json::Value {
    serde_json::json!({
        "run": run.path.display().to_string(),
        "status": run.record.status,
        "touched": touched(&run.path).map(date),
        "command": command(&run.about),
        "model": run.about["model"],
        "states": run.record.states(),
        "depth": run.record.depth(),
        "seconds": run.record.seconds,
        "disk_bytes": run.bytes,
    })
}

/// Date and time, universal time, as `2026-01-31 23:59`.
fn date(moment: SystemTime) -> String {
    let minutes = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    // Howard Hinnant's civil-from-days: years begin in March, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", minute / 60, minute % 60)
}

/// `hadal resume RUN`: the command of the run, with the limits of this one.
pub fn resume(args: &ResumeArgs) -> Result<u8, Failure> {
    let run = found(&args.run, Path::new(".hadal"));
    let known = folder::look_at(&run)?;
    if let Some(planned) = super::plan::resume(args, &known.about) {
        return planned;
    }
    let mut original: CheckArgs = serde_json::from_value::<super::about::About>(known.about)
        .map_err(|error| Failure::Damaged(format!("{}: its command cannot be read: {error}", run.display())))?
        .into();
    original.limits = args.limits.clone();
    if let Some(bound) = args.cost_bound {
        if original.directed.external.cost_bound.is_none() {
            return Err(Failure::Usage("--cost-bound: the run has no bound that could be raised".into()));
        }
        original.directed.external.cost_bound = original.directed.external.cost_bound.max(Some(bound));
    }
    if args.cluster.cluster.is_some() && original.cluster.cluster.is_none() {
        return Err(Failure::Usage(
            "--cluster: one process began this run, so one process continues it".into(),
        ));
    }
    original.cluster.take_over(&args.cluster);
    original.output = args.output.clone();
    check::run(&original, Some(&run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00");
        assert_eq!(at(951_782_340), "2000-02-28 23:59");
        assert_eq!(at(951_868_800), "2000-03-01 00:00");
        assert_eq!(at(1_709_164_800), "2024-02-29 00:00");
        assert_eq!(at(4_102_444_799), "2099-12-31 23:59");
    }
}
