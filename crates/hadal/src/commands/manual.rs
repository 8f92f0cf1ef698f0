//! `hadal man` and `hadal completions`: what the command line says of itself.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  hadal man check | man -l -\n  hadal man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Whose page; that of `hadal` itself unless it is given.
    pub verb: Option<String>,
    /// Write the pages of all verbs into this folder, one file each.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub out: Option<PathBuf>,
}

/// `hadal man`: one manual page on standard output, or all of them in a folder.
pub fn run(args: &ManArgs) -> Result<u8, Failure> {
    let mut command = Cli::described();
    command.build();
    if let Some(folder) = &args.out {
        let written =
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
        written.map_err(|error| Failure::File { path: folder.clone(), error })?;
        return Ok(0);
    }
    let page = match &args.verb {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(verb) => verb.clone().name(format!("hadal-{}", verb.get_name())),
            None => {
                let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Failure::Usage(format!("there is no `{name}`; there are {}", known.join(", "))));
            }
        },
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::Internal(format!("the page cannot be made: {error}")))?;
    output::raw(&text)?;
    Ok(0)
}

/// A completion script.
pub fn complete(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::described(), "hadal", &mut script);
    output::raw(&script)?;
    Ok(0)
}
