//! How states are visited and stored, as it is typed.

use clap::Args;
use hadal_check::{Detecting, Partitioning, Strategy};
use std::path::PathBuf;

/// How states are visited and stored.
#[derive(Args, Clone, Debug, Default)]
pub struct StoringArgs {
    /// How to visit and store states.
    #[arg(long, default_value_t = Strategy::default())]
    pub strategy: Strategy,
    /// Folder for runs, once a search needs the disk. If this option is given, a finished run is kept.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// How `--strategy part` works.
    #[command(flatten, next_help_heading = "Disk strategies")]
    pub partition: Partitioning,
    /// How the layered disk strategies work.
    #[command(flatten, next_help_heading = "Disk strategies")]
    pub detection: Detecting,
}
