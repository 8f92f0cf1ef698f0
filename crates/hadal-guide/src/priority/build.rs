//! Priority layers by name, as they are written on the command line.

use super::bound::{Bound, ProcessContexts};
use super::context::{Contexts, Index};
use super::edges::{ClockUse, Edges, Reduction};
use super::layer::{First, Layer, Named};
use super::useless::{Shortcuts, Useless};
use super::{NoPriority, Priority};
use hadal_exec::Model;
use hadal_system::facts::Facts;
use hadal_system::guide::Goal;
use hadal_system::guide::Guide;
use std::cell::OnceCell;

/// What is known of a priority layer.
#[derive(Debug)]
pub struct PriorityInfo {
    /// As it is typed.
    pub name: &'static str,
    /// How it is typed with what it takes, where it takes something.
    pub spelling: Option<&'static str>,
    /// What it does, in one line.
    pub help: &'static str,
    make: Make,
}

type Made = Result<Box<dyn Priority>, PriorityError>;
type Make = fn(&Making) -> Made;

/// What a layer is made from.
struct Making<'m> {
    model: &'m Model,
    goal: &'m Goal,
    guide: &'m dyn Guide,
    /// What stood with the name.
    argument: &'m str,
    name: &'m str,
    /// Clocks, of a model in real time.
    clocks: Option<&'m ClockUse>,
    /// Looked at only by layers that need them: in a large model they take long.
    facts: OnceCell<Facts>,
}

/// Every layer, in the order of docs/directed.md.
pub static PRIORITIES: &[PriorityInfo] = &[
    plain("none", "one queue", |_| Ok(Box::new(NoPriority))),
    plain("useless", "transitions that the guide finds relatively useless are put off", |it| {
        it.layer(Layer::Useless(it.useless(it.usual())))
    }),
    plain("useless-plain", "the same; the reduced system loses the transition's own edges only", |it| {
        it.layer(Layer::Useless(it.useless(Reduction::Plain)))
    }),
    plain(
        "useless-strong",
        "the same; it also loses edges that read what the transition writes or lead where it leads",
        |it| it.layer(Layer::Useless(it.useless(Reduction::Strong))),
    ),
    plain("context", "transitions that interfere with the one before come first", |it| {
        it.layer(Layer::Context(it.contexts(), Index::Shifted))
    }),
    plain("context-literal", "the same, directly interfering ones one queue later", |it| {
        it.layer(Layer::Context(it.contexts(), Index::Literal))
    }),
    plain("useless+context", "useless ones after all others, then by interference", |it| {
        it.layer(Layer::Both(it.useless(it.usual()), it.contexts(), First::Useless))
    }),
    plain("context+useless", "by interference, then useless ones", |it| {
        it.layer(Layer::Both(it.useless(it.usual()), it.contexts(), First::Context))
    }),
    plain("preferred", "transitions that the guide would take, in turns with all", |it| {
        it.layer(Layer::Preferred(None))
    }),
    plain("preferred+useless", "the same, useless ones last", |it| {
        it.layer(Layer::Preferred(Some(it.useless(it.usual()))))
    }),
    plain("bound-process", "traces with few switches between processes first", |it| {
        let contexts = ProcessContexts::of(it.model.system()).ok_or(PriorityError::NoProcesses)?;
        it.layer(Layer::Bound(Bound::Process(contexts)))
    }),
    PriorityInfo {
        name: "bound-interference",
        spelling: Some("bound-interference:N"),
        help: "traces with few steps outside the context of N steps of interference first",
        make: |it| {
            // 2 where it is left out.
            let steps = match it.argument {
                "" => Some(2),
                rest => rest.strip_prefix(':').and_then(|steps| steps.parse().ok()),
            };
            let steps = steps.ok_or_else(|| unknown(it.name))?;
            it.layer(Layer::Bound(Bound::Interference(it.contexts(), steps)))
        },
    },
];

/// A layer that takes nothing.
const fn plain(name: &'static str, help: &'static str, make: Make) -> PriorityInfo {
    PriorityInfo { name, spelling: None, help, make }
}

impl PriorityInfo {
    /// The layer that a name begins with, and what stands with it.
    pub fn named(text: &str) -> Option<(&'static PriorityInfo, &str)> {
        let whole = PRIORITIES.iter().find(|info| info.name == text);
        let begins = |info: &&PriorityInfo| info.spelling.is_some() && text.starts_with(info.name);
        whole.or_else(|| PRIORITIES.iter().find(begins)).map(|info| (info, &text[info.name.len()..]))
    }

    /// As it is typed, with what it takes.
    pub fn spelling(&self) -> &'static str {
        self.spelling.unwrap_or(self.name)
    }
}

/// All names, with what they take.
pub fn list() -> String {
    PRIORITIES.iter().map(PriorityInfo::spelling).collect::<Vec<_>>().join(", ")
}

fn unknown(name: &str) -> PriorityError {
    PriorityError::Unknown { name: name.into(), known: list() }
}

impl Making<'_> {
    fn layer(&self, layer: Layer) -> Made {
        Ok(Box::new(Named { name: self.name.into(), layer }))
    }

    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::of(self.model.system()))
    }

    fn useless(&self, reduction: Reduction) -> Useless {
        let mut edges = Edges::of(self.model.system(), self.facts());
        if let Some(clocks) = self.clocks {
            edges = edges.with_clocks(self.model.system(), clocks);
        }
        Useless::new(edges, reduction, self.guide.promises().monotone, Shortcuts::Taken)
    }

    /// Without processes an action is one edge, and what reads what it writes is nearly everything.
    fn usual(&self) -> Reduction {
        if self.model.system().processes.is_empty() { Reduction::Plain } else { Reduction::Strong }
    }

    fn contexts(&self) -> Contexts {
        Contexts::of(self.model, self.facts(), self.goal)
    }
}

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
    /// Interference through time.
    #[error(
        "{name}: interference contexts do not see clocks, and time couples all processes: use useless or preferred"
    )]
    Timed {
        /// What was asked for.
        name: String,
    },
    /// The model has no processes to switch between.
    #[error("the model has no processes: bound-process has nothing to count")]
    NoProcesses,
}

/// The layer of this name.
pub fn build(
    name: &str,
    model: &Model,
    goal: &Goal,
    guide: &dyn Guide,
) -> Result<Box<dyn Priority>, PriorityError> {
    make(name, (model, goal, guide), None)
}

/// The layer of this name for the discrete part of a model in real time. Layers that look at interference are refused: they
/// do not see what processes do to each other through time.
pub fn build_timed(
    name: &str,
    model: &Model,
    goal: &Goal,
    guide: &dyn Guide,
    clocks: &ClockUse,
) -> Result<Box<dyn Priority>, PriorityError> {
    if name.contains("context") || name.contains("interference") {
        return Err(PriorityError::Timed { name: name.trim().into() });
    }
    make(name, (model, goal, guide), Some(clocks))
}

fn make(name: &str, (model, goal, guide): (&Model, &Goal, &dyn Guide), clocks: Option<&ClockUse>) -> Made {
    let name = name.trim();
    let (info, argument) = PriorityInfo::named(name).ok_or_else(|| unknown(name))?;
    let making = Making { model, goal, guide, argument, name, clocks, facts: OnceCell::new() };
    (info.make)(&making)
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
        assert_eq!(told, PRIORITIES.iter().map(PriorityInfo::spelling).collect());
    }
}
