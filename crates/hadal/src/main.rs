//! The command: `hadal check MODEL` and its companions.

mod args;
mod cluster;
mod commands;
mod explore;
mod export;
mod failure;
mod inspect;
mod load;
mod lsp;
mod outcome;
mod output;
mod paint;
mod progress;
mod reading;
mod report;
mod settings;
mod stepping;
mod timed;
mod trace;
mod violation;

use failure::Failure;
use std::process::ExitCode;

/// Blocks of at least this many bytes go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: libc::c_int = 1 << 20;

/// Keeps the allocator from holding on to large buffers, and from one heap per thread: what it keeps is not under the
/// memory budget.
fn tame_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets parameters of the allocator before anything else runs.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, RETURNED_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// The command line with the settings beside its model, or the end of the process where it asks for help or cannot be
/// understood.
fn read() -> Result<commands::Verb, Failure> {
    let (cli, settings) = settings::read(std::env::args_os().collect())?;
    let mut verb = cli.verb;
    if let Some(settings) = settings {
        let quiet = verb.output().is_some_and(|output| output.quiet || output.json);
        if !quiet {
            crate::output::note!("{settings}");
        }
        if let Some(output) = verb.output() {
            output.settings = Some(settings);
        }
    }
    Ok(verb)
}

/// Whoever reads the output and has seen enough ends the command, as with other programs. `check` and `resume` go on: their
/// exit code is an answer.
fn die_of_closed_pipes(verb: &commands::Verb) {
    #[cfg(unix)]
    if !matches!(verb, commands::Verb::Check(_) | commands::Verb::Resume(_)) {
        // SAFETY: gives a signal the meaning that it has for other programs, before there are threads.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
    }
}

fn run() -> Result<u8, Failure> {
    let verb = read()?;
    die_of_closed_pipes(&verb);
    commands::run(&verb)
}

fn main() -> ExitCode {
    tame_allocator();
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            match failure {
                // What was found in the text says itself what it is.
                Failure::Refused { .. } => crate::output::note!("{failure}"),
                _ => crate::output::note!("error: {failure}"),
            }
            if std::env::args_os().any(|word| word == "--json") {
                // The exit code says the same where nobody reads.
                let _ = output::line(&serde_json::to_string_pretty(&failure.json()).unwrap_or_default());
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
