//! `hadal report RUN`: one page about a run, made from its folder, also while it is going.
//!
//! [`record`] reads the folder, [`figures`] turns it into figures (what `--json` prints), [`page`] draws them.
//! `docs/report.md` describes both. What a folder does not say is absent, never zero.

mod actions;
mod chart;
mod charts;
mod command;
mod figures;
mod page;
mod record;

use crate::args::ReportArgs;
use crate::failure::Failure;
use figures::Figures;
use std::io::{ErrorKind, Write};

/// Writes the page, or the figures, where the command says.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let record = record::read(&args.run)?;
    let figures = Figures::of(&record);
    let text = if args.json {
        // Numbers, strings and lists of them always serialise.
        serde_json::to_string_pretty(&figures).unwrap_or_default() + "\n"
    } else {
        page::render(&figures)
    };
    match &args.out {
        Some(path) => {
            std::fs::write(path, text).map_err(|error| Failure::File { path: path.clone(), error })?;
        }
        None => match std::io::stdout().write_all(text.as_bytes()) {
            // Whoever reads has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.map_err(|error| Failure::File { path: "standard output".into(), error })?,
        },
    }
    Ok(0)
}
