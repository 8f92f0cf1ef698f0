//! `hadal report RUN`: one page about a run, or its figures.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output;
use crate::report;

/// Writes the page, or the figures, where the command says.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let text = if args.json { report::json(&args.run)? } else { report::page(&args.run)? };
    match &args.out {
        Some(path) => {
            std::fs::write(path, text).map_err(|error| Failure::File { path: path.clone(), error })?;
        }
        None => output::raw(text.as_bytes())?,
    }
    Ok(0)
}
