//! `hadal runs` and `hadal resume`: what is kept on disk, and going on with it.

use crate::args::{CheckArgs, ResumeArgs, RunsArgs, RunsVerb};
use crate::check;
use crate::failure::Failure;
use crate::folder::{self, RunPlace};
use crate::progress::{grouped, size};

/// `hadal runs [rm RUN...]`
pub fn run(args: &RunsArgs) -> Result<u8, Failure> {
    match &args.verb {
        Some(RunsVerb::Rm { runs }) => {
            for path in runs {
                // Only what is a run is removed: a mistyped path must not cost anybody a folder.
                folder::look_at(path)?;
                RunPlace::existing(path).remove();
            }
        }
        None => {
            let runs = folder::list(&args.disk);
            if runs.is_empty() {
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
    let mut original: CheckArgs = serde_json::from_value::<check::About>(known.about)
        .map_err(|error| {
            Failure::Damaged(format!("{}: its command cannot be read: {error}", args.run.display()))
        })?
        .into();
    original.limits = args.limits.clone();
    original.output = args.output.clone();
    check::run(&original, Some(&args.run))
}
