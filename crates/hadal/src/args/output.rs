//! What is printed, and how.

use crate::paint::{Color, Paint};
use crate::settings::Settings;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How a trace is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// For reading.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// A self-contained page for the browser.
    Html,
    /// A message sequence chart: who sends what to whom.
    Msc,
}

/// What a search prints.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Print one JSON object on standard output (docs/json.md).
    #[arg(long)]
    pub json: bool,
    /// Write progress as JSON lines to this file.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// How to write the trace of a violation.
    #[arg(long, value_enum, default_value_t = TraceFormat::Text)]
    pub trace: TraceFormat,
    /// Show whole states in the trace, not only what changed.
    #[arg(long)]
    pub full_states: bool,
    /// Say how states were stored, and why.
    #[arg(long)]
    pub explain: bool,
    /// Write the graph of a small state space to this file: .dot, .aut (Aldebaran) or .json.
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
    /// Write a page about the run to this file: layers, rates, firings (docs/report.md).
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Show no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Stop as on Ctrl-C when standard input ends: for a process that is started by another one and must not outlive it.
    #[arg(long, hide = true)]
    pub until_input_ends: bool,
    /// What a file of settings beside the model said.
    #[arg(skip)]
    pub settings: Option<Settings>,
}

impl OutputArgs {
    /// Whether what is printed is coloured.
    pub fn paint(&self) -> Paint {
        self.color.paint()
    }
}
