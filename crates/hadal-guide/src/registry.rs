//! Guides by name, as they are written on the command line.

use crate::estimate::active::{Active, Measure};
use crate::estimate::blind::Blind;
use crate::estimate::cached::Cached;
use crate::estimate::causal::{self, Causal};
use crate::estimate::combined::GreatestOf;
use crate::estimate::expression::Expression;
use crate::estimate::focused::Focused;
use crate::estimate::formula::{Combine, FormulaGuide, Graphs, Other, Shape};
use crate::estimate::hamming::Hamming;
use crate::estimate::pattern::Patterns;
use crate::estimate::relaxed::{Kind, Network, Relaxed, Supporter};
use crate::estimate::representative::Representative;
use crate::room::Room;
use crate::task::{Formula, Task};
use crate::{GuideError, Target};
use hadal_exec::Model;
use hadal_system::guide::Guide;
use hadal_system::guide::{Meter, Unmetered};
use std::cell::OnceCell;
use std::sync::Arc;

/// Every name with a line about it. `max(a, b)`, `expr:...` and `pdb:...` take what stands with them.
pub const NAMES: &[(&str, &str)] = &[
    ("auto", "chosen by what is known of the model"),
    ("blind", "0 everywhere"),
    ("hamming", "bits that differ from what is looked for"),
    ("formula", "unmet parts of what is looked for, added up; distances for locations"),
    ("formula:max", "the greatest of them"),
    ("dl", "greatest distance of a process to the location looked for (d^L)"),
    ("dl:all", "the same over all variables"),
    ("du", "sum of these distances (d^U)"),
    ("du:all", "the same over all variables"),
    ("control", "half of du, rounded up: a step of two processes counts for both (FSM distance)"),
    ("hl", "rounds until values that only accumulate contain it (h^L)"),
    ("hmax", "another name of hl"),
    ("hu", "transitions of a trace of that kind (h^U), first supporters"),
    ("hff", "another name of hu"),
    ("hu:sum", "the same with supporters whose needs appear earliest"),
    ("hff:add", "the same with the supporters of hadd"),
    ("hadd", "as hl, needs paid for one by one"),
    ("hcg", "each variable's own way, with what it needs of variables before it (causal graph)"),
    ("hcea", "the same for all variables at once, from where each step left the others"),
    (
        "pdb",
        "true distances in projections; `pdb:a,b;c` names the variables of each, `pdb=64M` says how large they may be",
    ),
    ("active", "processes that can do something: for deadlocks"),
    ("active:bound", "the same divided by what one step can block"),
];

/// What `auto` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name of a guide.
    pub name: &'static str,
    /// The name of the one to begin with, where steps down are followed at once.
    pub descent: &'static str,
    /// Why, in one line.
    pub reason: String,
}

/// A model and what is looked for in it, prepared to make guides.
pub struct Prepared<'m> {
    model: &'m Model,
    target: Target,
    /// Everything that is looked for.
    task: Arc<Task>,
    /// What is surely looked for, where that is less.
    focused: Option<Arc<Task>>,
    /// The relaxed networks of both, once asked for.
    network: OnceCell<Arc<Network>>,
    focused_network: OnceCell<Arc<Network>>,
    room: Room<'m>,
}

/// The guide of this name for a model and what is looked for in it.
pub fn build<'m>(name: &str, model: &'m Model, target: &Target) -> Result<Box<dyn Guide + 'm>, GuideError> {
    build_metered(name, model, target, &Unmetered)
}

/// The same, counting what it takes.
pub fn build_metered<'m>(
    name: &str,
    model: &'m Model,
    target: &Target,
    meter: &dyn Meter,
) -> Result<Box<dyn Guide + 'm>, GuideError> {
    if name.trim() == "blind" {
        return Ok(Box::new(Blind));
    }
    Prepared::metered(model, target, meter)?.guide(name)
}

/// What an effect of the task counts as while a guide is made of it, in nanoseconds, and the bytes that it takes there: about.
const EFFECT_WORK: u64 = 250;
const EFFECT_BYTES: u64 = 128;
/// Evaluating more relaxed operators than this for every state costs more than it helps.
const MANY_OPERATORS: usize = 400_000;

impl<'m> Prepared<'m> {
    /// Looks at the model once for any number of guides.
    pub fn new(model: &'m Model, target: &Target) -> Result<Self, GuideError> {
        Prepared::metered(model, target, &Unmetered)
    }

    /// The same, counting what it takes.
    pub fn metered(model: &'m Model, target: &Target, meter: &dyn Meter) -> Result<Self, GuideError> {
        let tasks = Task::of(model, target, meter)?;
        let (task, focused) = (Arc::new(tasks.whole), tasks.focused.map(Arc::new));
        let effects: usize = task.ways.iter().map(|way| way.effects.len()).sum();
        meter.spend(effects as u64 * EFFECT_WORK, effects as u64 * EFFECT_BYTES)?;
        let (network, focused_network, room) = (OnceCell::new(), OnceCell::new(), Room::default());
        Ok(Prepared { model, target: target.clone(), task, focused, network, focused_network, room })
    }

    /// Tables of guides take up this room, and no other.
    pub fn within(self, room: Room<'m>) -> Self {
        Prepared { room, ..self }
    }

    /// The room that tables take up.
    pub fn room(&self) -> &Room<'m> {
        &self.room
    }

    /// The task for guides that are no lower bounds anyway.
    fn aim(&self) -> &Arc<Task> {
        self.focused.as_ref().unwrap_or(&self.task)
    }

    /// The relaxed network of one of the tasks.
    fn network_of(&self, task: &Arc<Task>) -> Arc<Network> {
        let place = if Arc::ptr_eq(task, &self.task) { &self.network } else { &self.focused_network };
        Arc::clone(place.get_or_init(|| Arc::new(Network::of(task))))
    }

    /// What is known of the model, in one line.
    pub fn summary(&self) -> String {
        let task = self.aim();
        let values: usize = task.variables.iter().map(|v| v.values.len()).sum();
        let (coarse, all) = task.coarse;
        let known = match task.goal {
            Formula::True => "what is looked for could not be expressed",
            Formula::False => "what is looked for cannot be reached",
            _ => "what is looked for is understood",
        };
        format!(
            "{} variables with {values} values matter, {} ways to fire, {coarse} of {all} action instances only roughly; {known}",
            task.variables.len(),
            task.ways.len()
        )
    }

    /// What `auto` stands for.
    pub fn choose(&self) -> Choice {
        let task = self.aim();
        let operators: usize = task.ways.iter().map(|way| way.effects.len()).sum();
        let (coarse, all) = task.coarse;
        let choice = |name, reason: String| {
            let descent = if name == "hadd" { "hff" } else { name };
            Choice { name, descent, reason }
        };
        let only_deadlock = self.target.deadlock && self.target.properties.is_empty() && !self.target.faults;
        match &task.goal {
            Formula::False => choice("blind", "nothing that is looked for can be reached".into()),
            Formula::True if only_deadlock => {
                choice("active", "what blocks the model could not be expressed".into())
            }
            Formula::True => choice("blind", "what is looked for could not be expressed".into()),
            _ if coarse * 2 > all => {
                choice("formula", format!("{coarse} of {all} action instances are understood only roughly"))
            }
            _ if operators > MANY_OPERATORS => {
                choice("du:all", format!("{operators} effects are too many to follow in every state"))
            }
            _ => choice(
                "hadd",
                format!(
                    "{} of {all} action instances are understood, {operators} effects matter",
                    all - coarse
                ),
            ),
        }
    }

    /// The guide of this name.
    pub fn guide(&self, name: &str) -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Representative::wrap(self.make(name, true)?, self.model, &self.target))
    }

    /// The guide of this name without a cache of its values; they are the same.
    pub fn guide_without_cache(&self, name: &str) -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Representative::wrap(self.make(name, false)?, self.model, &self.target))
    }

    fn make(&self, name: &str, cache: bool) -> Result<Box<dyn Guide + 'm>, GuideError> {
        use {Combine::*, Graphs::*, Other::*};
        let name = name.trim();
        let shape = |name, other, graphs, combine| Shape { name, other, graphs, combine, divisor: 1 };
        let structural = |shape: Shape| -> Result<Box<dyn Guide + 'm>, GuideError> {
            let guide = |task: &Arc<Task>| FormulaGuide::new(self.model.system(), task.clone(), shape);
            match shape.combine {
                Greatest => Ok(Box::new(guide(&self.task))),
                Sum => Ok(self.aiming(|task| Box::new(guide(task)))),
            }
        };
        let relaxed = |name, kind| match kind {
            Kind::Rounds => {
                let guide = Relaxed::new(name, self.network_of(&self.task), kind);
                Ok(self.cached(Box::new(guide), &self.task, cache))
            }
            _ => Ok(self.aiming(|task| {
                let guide = Relaxed::new(name, self.network_of(task), kind);
                self.cached(Box::new(guide), task, cache)
            })),
        };
        let causal = |kind| match Causal::new(self.aim().clone(), kind) {
            Some(guide) => Ok(self.cached(Box::new(guide), self.aim(), cache)),
            None => Err(malformed(name, "the graphs of this model's variables are too large for it")),
        };
        match name {
            "auto" => self.make(self.choose().name, cache),
            "blind" => Ok(Box::new(Blind)),
            "hamming" => Ok(self.aiming(|task| Box::new(Hamming::new(task.clone())))),
            "formula" => structural(shape("formula", One, Locations, Sum)),
            "formula:max" => structural(shape("formula:max", One, Locations, Greatest)),
            "dl" => structural(shape("dl", Nothing, Locations, Greatest)),
            "dl:all" => structural(shape("dl:all", Nothing, All, Greatest)),
            "du" => structural(shape("du", Nothing, Locations, Sum)),
            "du:all" => structural(shape("du:all", Nothing, All, Sum)),
            "control" => structural(Shape { divisor: 2, ..shape("control", Nothing, Locations, Sum) }),
            "hl" => relaxed("hl", Kind::Rounds),
            "hmax" => relaxed("hmax", Kind::Rounds),
            "hu" => relaxed("hu", Kind::Trace(Supporter::First)),
            "hff" => relaxed("hff", Kind::Trace(Supporter::First)),
            "hu:sum" => relaxed("hu:sum", Kind::Trace(Supporter::Cheapest)),
            "hff:add" => relaxed("hff:add", Kind::SumTrace),
            "hadd" => relaxed("hadd", Kind::Sum),
            "hcg" => causal(causal::Kind::CausalGraph),
            "hcea" => causal(causal::Kind::ContextEnhanced),
            "active" => Ok(Box::new(Active::new(self.model, &self.target, Measure::Count))),
            "active:bound" => Ok(Box::new(Active::new(self.model, &self.target, Measure::Bound))),
            "pdb" => self.patterns(None),
            _ => self.make_with(name, cache),
        }
    }

    /// A guide that looks only at what is surely looked for, where that is less: it proves nothing then.
    fn aiming(&self, make: impl Fn(&Arc<Task>) -> Box<dyn Guide + 'm>) -> Box<dyn Guide + 'm> {
        match &self.focused {
            Some(task) => Box::new(Focused::new(make(task))),
            None => make(&self.task),
        }
    }

    /// Guides that take something with them.
    fn make_with(&self, name: &str, cache: bool) -> Result<Box<dyn Guide + 'm>, GuideError> {
        if let Some(list) = name.strip_prefix("pdb:") {
            return Ok(Box::new(Patterns::given(self.model, self.task.clone(), list, &self.room)?));
        }
        if let Some(size) = name.strip_prefix("pdb=") {
            let states = count(size).ok_or_else(|| malformed(name, "a number of states is wanted: 64M"))?;
            return self.patterns(Some(states));
        }
        if let Some(text) = name.strip_prefix("expr:") {
            return Ok(Box::new(Expression::parse(self.model, text)?));
        }
        let Some(inside) = name.strip_prefix("max(").and_then(|rest| rest.strip_suffix(')')) else {
            return Err(unknown(name));
        };
        let parts = split(inside).ok_or_else(|| malformed(name, "a bracket is not closed"))?;
        let guides: Result<Vec<_>, _> = parts.into_iter().map(|part| self.make(part, cache)).collect();
        Ok(Box::new(GreatestOf::new(guides?)))
    }

    fn patterns(&self, states: Option<u64>) -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Box::new(Patterns::automatic(self.model, self.task.clone(), states, &self.room)?))
    }

    fn cached(&self, guide: Box<dyn Guide + 'm>, task: &Task, cache: bool) -> Box<dyn Guide + 'm> {
        if cache { Box::new(Cached::new(guide, task)) } else { guide }
    }
}

/// A number, in thousands, millions or thousands of millions where a letter says so.
fn count(text: &str) -> Option<u64> {
    let (digits, unit) = match text.trim().char_indices().last()? {
        (at, 'k' | 'K') => (&text.trim()[..at], 1_000),
        (at, 'M') => (&text.trim()[..at], 1_000_000),
        (at, 'G') => (&text.trim()[..at], 1_000_000_000),
        _ => (text.trim(), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&count| count > 0)
}

/// The parts between commas outside brackets.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    (depth == 0).then_some(parts)
}

fn malformed(name: &str, reason: &str) -> GuideError {
    GuideError::Malformed { name: name.into(), reason: reason.into() }
}

fn unknown(name: &str) -> GuideError {
    let known =
        NAMES.iter().map(|(name, _)| *name).chain(["pdb:NAMES", "pdb=SIZE", "expr:TEXT", "max(a, b)"]);
    GuideError::Unknown { name: name.into(), known: known.collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/guides.md has a row for every name but `auto`, and names none that does not exist.
    #[test]
    fn the_document_has_a_row_for_every_guide() {
        let text = include_str!("../../../docs/guides.md");
        let rows = text.lines().skip_while(|line| !line.starts_with("| name |")).skip(2);
        let mut told = std::collections::BTreeSet::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            told.extend(row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2));
        }
        // These take what stands with them.
        for pattern in ["pdb:...", "pdb=SIZE", "expr:...", "max(a, b)"] {
            assert!(told.remove(pattern), "{pattern}");
        }
        assert_eq!(told, NAMES.iter().map(|(name, _)| *name).filter(|name| *name != "auto").collect());
    }
}
