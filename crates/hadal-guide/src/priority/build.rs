//! Priority layers by name, as they are written on the command line.

use super::bound::{Bound, ProcessContexts};
use super::context::{Contexts, Index};
use super::edges::{Edges, Reduction};
use super::layer::{First, Layer, Named};
use super::useless::{Shortcuts, Useless};
use super::{NoPriority, Priority};
use hadal_exec::Model;
use hadal_system::facts::Facts;
use hadal_system::guide::Guide;
use hadal_system::guide::Target;
use std::cell::LazyCell;

/// Every name with a line about it.
pub const NAMES: &[(&str, &str)] = &[
    ("none", "one queue"),
    ("useless", "transitions that the guide finds relatively useless are put off"),
    ("useless-plain", "the same; the reduced system loses the transition's own edges only"),
    (
        "useless-strong",
        "the same; it also loses edges that read what the transition writes or lead where it leads",
    ),
    ("context", "transitions that interfere with the one before come first"),
    ("context-literal", "the same, directly interfering ones one queue later"),
    ("useless+context", "useless ones after all others, then by interference"),
    ("context+useless", "by interference, then useless ones"),
    ("preferred", "transitions that the guide would take, in turns with all"),
    ("preferred+useless", "the same, useless ones last"),
    ("bound-process", "traces with few switches between processes first"),
    ("bound-interference:N", "traces with few steps outside the context of N steps of interference first"),
];

/// Why there is no such layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriorityError {
    /// Nothing of that name.
    #[error("no priority is called `{name}`; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The model has no processes to switch between.
    #[error("the model has no processes: bound-process has nothing to count")]
    NoProcesses,
}

/// The layer of this name.
pub fn build(
    name: &str,
    model: &Model,
    target: &Target,
    guide: &dyn Guide,
) -> Result<Box<dyn Priority>, PriorityError> {
    let name = name.trim();
    if name == "none" {
        return Ok(Box::new(NoPriority));
    }
    let system = model.system();
    // Looked at only by layers that need them: in a large model they take long.
    let facts = LazyCell::new(|| Facts::of(system));
    let useless = |reduction| {
        Useless::new(Edges::of(system, &facts), reduction, guide.promises().monotone, Shortcuts::Taken)
    };
    // Without processes an action is one edge, and what reads what it writes is nearly everything.
    let usual = if system.processes.is_empty() { Reduction::Plain } else { Reduction::Strong };
    let contexts = || Contexts::of(model, &facts, target);
    let layer = match name {
        "useless" => Layer::Useless(useless(usual)),
        "useless-plain" => Layer::Useless(useless(Reduction::Plain)),
        "useless-strong" => Layer::Useless(useless(Reduction::Strong)),
        "context" => Layer::Context(contexts(), Index::Shifted),
        "context-literal" => Layer::Context(contexts(), Index::Literal),
        "useless+context" => Layer::Both(useless(usual), contexts(), First::Useless),
        "context+useless" => Layer::Both(useless(usual), contexts(), First::Context),
        "preferred" => Layer::Preferred(None),
        "preferred+useless" => Layer::Preferred(Some(useless(usual))),
        "bound-process" => {
            Layer::Bound(Bound::Process(ProcessContexts::of(system).ok_or(PriorityError::NoProcesses)?))
        }
        _ => match interference_steps(name) {
            Some(steps) => Layer::Bound(Bound::Interference(contexts(), steps)),
            None => {
                let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                return Err(PriorityError::Unknown { name: name.into(), known: known.join(", ") });
            }
        },
    };
    Ok(Box::new(Named { name: name.into(), layer }))
}

/// The N of `bound-interference:N`, 2 where it is left out.
fn interference_steps(name: &str) -> Option<u32> {
    match name.strip_prefix("bound-interference")? {
        "" => Some(2),
        rest => rest.strip_prefix(':')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/directed.md has a row for every name, and names none that does not exist.
    #[test]
    fn the_document_has_a_row_for_every_priority() {
        let text = include_str!("../../../../docs/directed.md");
        let rows = text.lines().skip_while(|line| !line.starts_with("| `--priority` |")).skip(2);
        let mut told = std::collections::BTreeSet::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            told.extend(row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2));
        }
        assert_eq!(told, NAMES.iter().map(|(name, _)| *name).collect());
    }
}
