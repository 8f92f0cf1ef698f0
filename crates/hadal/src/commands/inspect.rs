//! `hadal inspect`: what hadal makes of a model.

use crate::args::{DotGraph, InspectArgs};
use crate::failure::Failure;
use crate::inspect::{self, Format};
use crate::load::load;
use crate::output;

/// Prints the model in the format asked for.
pub fn run(args: &InspectArgs) -> Result<u8, Failure> {
    let loaded = load(&args.model)?;
    let layout = hadal_system::Layout::natural(&loaded.system);
    let format = match (args.json, args.dot) {
        (true, _) => Format::Json,
        (false, Some(DotGraph::Causal)) => Format::DotCausal,
        (false, Some(DotGraph::Control)) => Format::DotControl,
        (false, None) => Format::Text,
    };
    output::line(&inspect::render(&loaded.system, &layout, format))?;
    Ok(0)
}
