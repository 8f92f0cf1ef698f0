//! What is asked of a model besides formulas, as it is typed.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is asked of a model.
#[derive(Args, Clone, Debug, Default)]
pub struct AskedArgs {
    /// Check only this property (by name); may be repeated. Errors of the model itself are always reported. Goals of a
    /// BEEM description beside the model are searched for only if they are named.
    #[arg(long, value_name = "NAME")]
    pub property: Vec<String>,
    /// Whether and how to look for deadlocks. Default: on, or off if properties are named.
    #[arg(long, value_enum)]
    pub deadlock: Option<Deadlock>,
    /// Report one violation of each violated property, at most this many. Each violation has a search of its own; an
    /// error of the model itself ends the series.
    #[arg(id = "continue", long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub several: Option<u32>,
    /// Look for the last state of the trace in this file (`--trace json` or `--json` of an earlier check), and for
    /// nothing else, by a shortest way: as with --order astar, unless an order, --find or a strategy is given.
    #[arg(long, value_name = "TRAIL")]
    pub shorten: Option<PathBuf>,
    /// Properties that an earlier search of the same command answered.
    #[arg(skip)]
    pub settled: Vec<String>,
}

/// When a state is a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Deadlock {
    /// The language's own notion (docs/languages).
    On,
    /// Never.
    Off,
    /// No action can fire.
    Stuck,
    /// No action leads to another state.
    Stuttering,
}
