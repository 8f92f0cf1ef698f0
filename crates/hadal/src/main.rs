//! The command: `hadal check MODEL` and its companions.

mod args;
mod bench;
mod check;
mod detection;
mod directed;
mod failure;
mod folder;
mod inspect;
mod load;
mod outcome;
mod partition;
mod plan;
mod preparation;
mod progress;
mod race;
mod reduction;
mod report;
mod runs;
mod simulate;
mod trace;
mod violation;

use args::{Cli, Verb};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::io::Write;
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

fn main() -> ExitCode {
    tame_allocator();
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: &Cli) -> Result<u8, Failure> {
    match &cli.verb {
        Verb::Check(args) => check::run(args, None),
        Verb::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "hadal", &mut std::io::stdout());
            Ok(0)
        }
        Verb::Resume(args) => runs::resume(args),
        Verb::Runs(args) => runs::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Inspect(args) => show_model(args),
        Verb::Man => print_manual(),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Bench(args) => bench::run(args),
    }
}

/// The manual page of `hadal`, then one for each verb.
fn print_manual() -> Result<u8, Failure> {
    let command = Cli::command();
    let mut page = Vec::new();
    let mut render = |command: clap::Command| clap_mangen::Man::new(command).render(&mut page);
    let rendered = render(command.clone()).and_then(|()| {
        command
            .get_subcommands()
            .try_for_each(|verb| render(verb.clone().name(format!("hadal-{}", verb.get_name()))))
    });
    rendered
        .and_then(|()| std::io::stdout().write_all(&page))
        .map_err(|error| Failure::File { path: "standard output".into(), error })?;
    Ok(0)
}

/// `hadal inspect`: what hadal makes of a model.
fn show_model(args: &args::InspectArgs) -> Result<u8, Failure> {
    let loaded = load::load(&args.model)?;
    let layout = hadal_system::Layout::natural(&loaded.system);
    let format = match (args.json, args.dot) {
        (true, _) => inspect::Format::Json,
        (false, Some(args::DotGraph::Causal)) => inspect::Format::DotCausal,
        (false, Some(args::DotGraph::Control)) => inspect::Format::DotControl,
        (false, None) => inspect::Format::Text,
    };
    println!("{}", inspect::render(&loaded.system, &layout, format));
    Ok(0)
}
