//! `hadal landing`: aircraft landing as a model, from a file of the OR-Library.

use crate::failure::Failure;
use clap::Args;
use hadal_lang::ta::landing;
use std::path::PathBuf;

/// Arguments of `landing`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "EXAMPLES:\n  hadal landing airland1.txt --runways 2 > landing.tck && hadal plan landing.tck"
)]
pub struct LandingArgs {
    /// A file of the OR-Library: planes with times, penalties and separations.
    pub file: PathBuf,
    /// Number of runways.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub runways: u8,
    /// Number of independent copies, each with its own runways.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub copies: u8,
}

/// `hadal landing FILE`: prints the model.
pub fn run(args: &LandingArgs) -> Result<u8, Failure> {
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Failure::File { path: args.file.clone(), error })?;
    let model = landing::model(&text, args.runways, args.copies)
        .map_err(|what| Failure::Usage(format!("{}: {what}", args.file.display())))?;
    crate::output::raw(model.to_string().as_bytes())?;
    Ok(0)
}
