//! `hadal man` and `hadal completions`: what the command line says of itself.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output;
use clap::{Args, Command, CommandFactory};
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  hadal man check | man -l -\n  hadal man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The command; by default, `hadal` itself.
    pub verb: Option<String>,
    /// Write the pages of all commands to this folder, one file each.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub out: Option<PathBuf>,
}

/// `hadal man`: one manual page on standard output, or all of them in a folder.
pub fn run(args: &ManArgs) -> Result<u8, Failure> {
    // Every option, not only those of the short help; `help` repeats what the others say.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(|error| Failure::File { path: folder.clone(), error })?;
        for (name, command) in pages(&command, "hadal") {
            let path = folder.join(format!("{name}.1"));
            std::fs::write(&path, page(command, name)?).map_err(|error| Failure::File { path, error })?;
        }
        return Ok(0);
    }
    let (name, command) = match &args.verb {
        None => ("hadal".to_owned(), command),
        Some(name) => match command.find_subcommand(name) {
            Some(verb) => (format!("hadal-{}", verb.get_name()), verb.clone()),
            None => {
                let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
                return Err(Failure::Usage(format!("there is no `{name}`; there are {}", known.join(", "))));
            }
        },
    };
    output::raw(&page(command, name)?)?;
    Ok(0)
}

/// A command and everything below it, each with the name of its page.
fn pages(command: &Command, name: &str) -> Vec<(String, Command)> {
    let below = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    let below = below.flat_map(|verb| pages(verb, &format!("{name}-{}", verb.get_name())));
    std::iter::once((name.to_owned(), command.clone())).chain(below).collect()
}

/// A manual page. What stands below the help, examples for instance, keeps its lines.
fn page(command: Command, name: String) -> Result<Vec<u8>, Failure> {
    let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.name(name).after_help(""))
        .render(&mut text)
        .map_err(|error| Failure::Internal(format!("the page cannot be made: {error}")))?;
    let mut text = String::from_utf8_lossy(&text).replace(".SH EXTRA\n", "");
    for line in more.lines() {
        match line.strip_suffix(':').filter(|head| head.chars().all(|c| c.is_uppercase() || c == ' ')) {
            Some(head) => text.push_str(&format!("\n.SH {head}\n.nf\n")),
            // A line that begins with a full stop or a quotation mark would be a command.
            None => text.push_str(&format!("\\&{}\n", line.trim().replace('\\', "\\e").replace('-', "\\-"))),
        }
    }
    Ok(text.into_bytes())
}

/// A completion script.
pub fn complete(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::described(), "hadal", &mut script);
    output::raw(&script)?;
    Ok(0)
}
