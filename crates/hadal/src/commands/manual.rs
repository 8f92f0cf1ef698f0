//! `hadal man` and `hadal completions`: what the command line says of itself.

use crate::args::Cli;
use crate::failure::Failure;
use clap::CommandFactory;
use std::io::Write;

/// The manual page of `hadal`, then one for each verb.
pub fn print() -> Result<u8, Failure> {
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

/// A completion script.
pub fn complete(shell: clap_complete::Shell) -> Result<u8, Failure> {
    clap_complete::generate(shell, &mut Cli::command(), "hadal", &mut std::io::stdout());
    Ok(0)
}
