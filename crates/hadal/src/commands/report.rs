//! `hadal report RUN`: one page about a run, or its figures.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::report;
use std::io::{ErrorKind, Write};

/// Writes the page, or the figures, where the command says.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let text = if args.json { report::json(&args.run)? } else { report::page(&args.run)? };
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
