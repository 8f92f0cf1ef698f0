//! The command: `hadal check MODEL` and its companions.

mod args;
mod commands;
mod explore;
mod export;
mod failure;
mod formulas;
mod inspect;
mod load;
mod lsp;
mod outcome;
mod output;
mod progress;
mod reading;
mod report;
mod stepping;
mod timed;
mod trace;
mod violation;

use args::Cli;
use clap::FromArgMatches;
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

/// The command line, or the end of the process where it asks for help or cannot be understood.
fn read() -> Cli {
    let matches = Cli::described().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
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

fn main() -> ExitCode {
    tame_allocator();
    let verb = read().verb;
    die_of_closed_pipes(&verb);
    match commands::run(&verb) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            match failure {
                // What was found in the text says itself what it is.
                failure::Failure::Refused { .. } => eprintln!("{failure}"),
                _ => eprintln!("error: {failure}"),
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
