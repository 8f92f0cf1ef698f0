//! `hadal runs` and `hadal resume`: what is kept on disk, and going on with it.

use crate::args::{CheckArgs, ResumeArgs, RunsArgs, RunsVerb};
use crate::commands::check;
use crate::failure::Failure;
use hadal_check::folder::{self, RunPlace};
use hadal_check::units::{grouped, size};

/// `hadal runs [rm RUN...]`
pub fn run(args: &RunsArgs) -> Result<u8, Failure> {
    match &args.verb {
        Some(RunsVerb::Rm { runs }) => {
            for path in runs {
                // Only what is a run is removed: a mistyped path must not cost anybody a folder.
                if !folder::is_left_over(path) {
                    folder::look_at(path)?;
                }
                if folder::is_in_use(path) {
                    return Err(Failure::Usage(format!(
                        "{}: the run is in use by another process",
                        path.display()
                    )));
                }
                RunPlace::existing(path)
                    .remove()
                    .map_err(|error| Failure::File { path: path.clone(), error })?;
            }
        }
        None => {
            let (runs, left_over) = (folder::list(&args.disk), folder::left_over(&args.disk));
            for path in &left_over {
                println!("{}  ended before its first commit: nothing to resume", path.display());
            }
            if runs.is_empty() && left_over.is_empty() {
                println!("no runs in {}", args.disk.display());
            }
            for run in runs {
                println!(
                    "{}  {}  {} states, depth {}, {:.0} s, {} on disk  ({})",
                    run.path.display(),
                    run.record.status,
                    grouped(run.record.states()),
                    run.record.layers.len(),
                    run.record.seconds,
                    size(run.bytes),
                    run.about["model"].as_str().unwrap_or("?"),
                );
            }
        }
    }
    Ok(0)
}

/// `hadal resume RUN`: the command of the run, with the limits of this one.
pub fn resume(args: &ResumeArgs) -> Result<u8, Failure> {
    let known = folder::look_at(&args.run)?;
    if let Some(planned) = super::plan::resume(args, &known.about) {
        return planned;
    }
    let mut original: CheckArgs = serde_json::from_value::<check::About>(known.about)
        .map_err(|error| {
            Failure::Damaged(format!("{}: its command cannot be read: {error}", args.run.display()))
        })?
        .into();
    original.limits = args.limits.clone();
    if let Some(bound) = args.cost_bound {
        if original.directed.cost_bound.is_none() {
            return Err(Failure::Usage("--cost-bound: the run has no bound that could be raised".into()));
        }
        original.directed.cost_bound = original.directed.cost_bound.max(Some(bound));
    }
    original.output = args.output.clone();
    check::run(&original, Some(&args.run))
}
