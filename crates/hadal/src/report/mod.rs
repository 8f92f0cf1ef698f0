//! One page about a run, made from its folder, also while it is going.
//!
//! [`record`] reads the folder, [`figures`] turns it into figures (what `--json` prints), [`page`] draws them.
//! `docs/report.md` describes both. What a folder does not say is absent, never zero.

mod actions;
mod chart;
mod charts;
pub mod command;
mod figures;
mod page;
mod record;
mod workers;

use crate::failure::Failure;
use crate::outcome::Outcome;
use figures::Figures;
use record::Record;
use std::path::Path;

/// The page about the run in this folder.
pub fn page(run: &Path) -> Result<String, Failure> {
    Ok(page::render(&Figures::of(&record::read(run)?)))
}

/// The figures of the run in this folder, as one JSON object.
pub fn json(run: &Path) -> Result<String, Failure> {
    // Numbers, strings and lists of them always serialise.
    Ok(serde_json::to_string_pretty(&Figures::of(&record::read(run)?)).unwrap_or_default() + "\n")
}

/// The page about a search that left no folder, from what it counted; `about` is its command.
pub fn page_of(outcome: &Outcome, about: serde_json::Value) -> String {
    page::render(&Figures::of(&Record::of(outcome, about)))
}
