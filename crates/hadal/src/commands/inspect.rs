//! `hadal inspect`: what hadal makes of a model.

use crate::args::{DotGraph, InspectArgs, ModelArgs};
use crate::failure::Failure;
use crate::inspect::{self, Format};
use crate::load::load;
use crate::output;

/// Prints the model in the format asked for.
pub fn run(args: &InspectArgs) -> Result<u8, Failure> {
    if args.expanded {
        return expanded(&args.model);
    }
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

/// Prints what macros make of the model.
fn expanded(args: &ModelArgs) -> Result<u8, Failure> {
    let (language, source) = hadal_lang::language::read(&args.model)?;
    let Some(expand) = language.expand else {
        return Err(Failure::Usage(format!(
            "--expanded: {} models are read as they are; families of DVE models (.mdve) expand to others",
            language.name
        )));
    };
    let text = expand(&source, &args.load_options()).map_err(hadal_lang::LoadError::from)?;
    output::line(text.trim_end())?;
    Ok(0)
}
