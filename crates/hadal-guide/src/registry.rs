//! Guides by name, as they are written on the command line.

use crate::estimate::cached::Cached;
use crate::estimate::causal::{self, Causal};
use crate::estimate::focused::Focused;
use crate::estimate::formula::{Combine, FormulaGuide, Shape};
use crate::estimate::pattern::Patterns;
use crate::estimate::relaxed::{Kind, Network, Relaxed};
use crate::estimate::representative::Representative;
use crate::guides::{GuideInfo, Request, malformed, unknown};
use crate::room::Room;
use crate::task::{AbstractTask, Formula};
use crate::{Goal, GuideError};
use hadal_exec::Model;
use hadal_system::guide::{Blind, Guide};
use hadal_system::guide::{Meter, Unmetered};
use std::cell::OnceCell;
use std::sync::Arc;

/// What `auto` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name of a guide.
    pub name: &'static str,
    /// Why, in one line.
    pub reason: String,
}

/// A model and what is looked for in it, prepared to make guides.
pub struct Prepared<'m> {
    model: &'m Model,
    goal: Goal,
    /// Everything that is looked for.
    task: Arc<AbstractTask>,
    /// What is surely looked for, where that is less.
    focused: Option<Arc<AbstractTask>>,
    /// The relaxed networks of both, once asked for.
    network: OnceCell<Arc<Network>>,
    focused_network: OnceCell<Arc<Network>>,
    room: Room<'m>,
}

/// The guide of this name for a model and what is looked for in it.
pub fn build<'m>(name: &str, model: &'m Model, goal: &Goal) -> Result<Box<dyn Guide + 'm>, GuideError> {
    build_metered(name, model, goal, &Unmetered)
}

/// The same, counting what it takes.
pub fn build_metered<'m>(
    name: &str,
    model: &'m Model,
    goal: &Goal,
    meter: &dyn Meter,
) -> Result<Box<dyn Guide + 'm>, GuideError> {
    if name.trim() == "blind" {
        return Ok(Box::new(Blind));
    }
    Prepared::metered(model, goal, meter)?.guide(name)
}

/// What an effect of the task counts as while a guide is made of it, in nanoseconds, and the bytes that it takes there: about.
const EFFECT_WORK: u64 = 250;
const EFFECT_BYTES: u64 = 128;
/// Evaluating more relaxed operators than this for every state costs more than it helps.
const MANY_OPERATORS: usize = 400_000;

impl<'m> Prepared<'m> {
    /// Looks at the model once for any number of guides.
    pub fn new(model: &'m Model, goal: &Goal) -> Result<Self, GuideError> {
        Prepared::metered(model, goal, &Unmetered)
    }

    /// The same, counting what it takes.
    pub fn metered(model: &'m Model, goal: &Goal, meter: &dyn Meter) -> Result<Self, GuideError> {
        let tasks = AbstractTask::of(model, goal, meter)?;
        let (task, focused) = (Arc::new(tasks.whole), tasks.focused.map(Arc::new));
        let effects: usize = task.operators.iter().map(|operator| operator.effects.len()).sum();
        meter.spend(effects as u64 * EFFECT_WORK, effects as u64 * EFFECT_BYTES)?;
        let (network, focused_network, room) = (OnceCell::new(), OnceCell::new(), Room::default());
        Ok(Prepared { model, goal: goal.clone(), task, focused, network, focused_network, room })
    }

    /// Tables of guides take up this room, and no other.
    pub fn within(self, room: Room<'m>) -> Self {
        Prepared { room, ..self }
    }

    /// What was found out of the same model, for other tables in other room.
    pub fn again<'s>(&self, room: Room<'s>) -> Prepared<'s>
    where
        'm: 's,
    {
        let (network, focused_network) = (self.network.clone(), self.focused_network.clone());
        let (task, focused) = (Arc::clone(&self.task), self.focused.clone());
        Prepared { model: self.model, goal: self.goal.clone(), task, focused, network, focused_network, room }
    }

    /// The room that tables take up.
    pub fn room(&self) -> &Room<'m> {
        &self.room
    }

    /// The task for guides that are no lower bounds anyway.
    fn focus(&self) -> &Arc<AbstractTask> {
        self.focused.as_ref().unwrap_or(&self.task)
    }

    /// The relaxed network of one of the tasks.
    fn network_of(&self, task: &Arc<AbstractTask>) -> Arc<Network> {
        let place = if Arc::ptr_eq(task, &self.task) { &self.network } else { &self.focused_network };
        Arc::clone(place.get_or_init(|| Arc::new(Network::of(task))))
    }

    /// What is known of the model, in one line.
    pub fn summary(&self) -> String {
        let task = self.focus();
        let values: usize = task.variables.iter().map(|v| v.values.len()).sum();
        let (coarse, all) = task.coarse;
        let known = match task.goal {
            Formula::True => "the goal could not be expressed",
            Formula::False => "the goal is unreachable",
            _ => "the goal could be expressed",
        };
        format!(
            "{} variables with {values} values matter, {} operators to fire, {coarse} of {all} action instances only roughly; {known}",
            task.variables.len(),
            task.operators.len()
        )
    }

    /// What `auto` stands for.
    pub fn choose(&self) -> Choice {
        let task = self.focus();
        let operators: usize = task.operators.iter().map(|operator| operator.effects.len()).sum();
        let (coarse, all) = task.coarse;
        let choice = |name, reason: String| Choice { name, reason };
        let only_deadlock = self.goal.deadlock && self.goal.properties.is_empty() && !self.goal.faults;
        match &task.goal {
            Formula::False => choice("hl", "no goal is reachable, which it proves at once".into()),
            Formula::True if only_deadlock => {
                choice("active", "what blocks the model could not be expressed".into())
            }
            Formula::True => choice("blind", "the goal could not be expressed".into()),
            _ if coarse * 2 > all => {
                choice("formula", format!("{coarse} of {all} action instances are understood only roughly"))
            }
            _ if operators > MANY_OPERATORS => {
                choice("du:all", format!("{operators} effects are too many to follow in every state"))
            }
            _ => choice(
                "hff",
                format!(
                    "{} of {all} action instances are understood, {operators} effects matter",
                    all - coarse
                ),
            ),
        }
    }

    /// The guide of this name.
    pub fn guide(&self, name: &str) -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Representative::wrap(self.make(name, true)?, self.model, &self.goal))
    }

    /// The guide of this name without a cache of its values; they are the same.
    pub fn guide_without_cache(&self, name: &str) -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Representative::wrap(self.make(name, false)?, self.model, &self.goal))
    }

    pub(crate) fn make(&self, name: &str, cache: bool) -> Result<Box<dyn Guide + 'm>, GuideError> {
        let name = name.trim();
        let (info, argument) = GuideInfo::named(name).ok_or_else(|| unknown(name))?;
        info.make(Request { prepared: self, name, argument, cache })
    }

    /// The model.
    pub(crate) fn model(&self) -> &'m Model {
        self.model
    }

    /// What is looked for.
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// Everything that is looked for.
    pub(crate) fn task(&self) -> &Arc<AbstractTask> {
        &self.task
    }

    /// By distances in control graphs.
    pub(crate) fn structural(&self, shape: Shape) -> Result<Box<dyn Guide + 'm>, GuideError> {
        let guide = |task: &Arc<AbstractTask>| FormulaGuide::new(self.model.system(), task.clone(), shape);
        match shape.combine {
            Combine::Greatest => Ok(Box::new(guide(&self.task))),
            Combine::Sum => Ok(self.focusing(|task| Box::new(guide(task)))),
        }
    }

    /// By the relaxed task.
    pub(crate) fn relaxed(
        &self,
        name: &'static str,
        kind: Kind,
        cache: bool,
    ) -> Result<Box<dyn Guide + 'm>, GuideError> {
        match kind {
            Kind::Rounds => {
                let guide = Relaxed::new(name, self.network_of(&self.task), kind);
                Ok(self.cached(Box::new(guide), &self.task, cache))
            }
            _ => Ok(self.focusing(|task| {
                let guide = Relaxed::new(name, self.network_of(task), kind);
                self.cached(Box::new(guide), task, cache)
            })),
        }
    }

    /// By the graphs of variables.
    pub(crate) fn causal(
        &self,
        name: &str,
        kind: causal::Kind,
        cache: bool,
    ) -> Result<Box<dyn Guide + 'm>, GuideError> {
        match Causal::new(self.focus().clone(), kind) {
            Some(guide) => Ok(self.cached(Box::new(guide), self.focus(), cache)),
            None => Err(malformed(name, "the graphs of this model's variables are too large for it")),
        }
    }

    /// A guide that looks only at what is surely looked for, where that is less: it proves nothing then.
    pub(crate) fn focusing(
        &self,
        make: impl Fn(&Arc<AbstractTask>) -> Box<dyn Guide + 'm>,
    ) -> Box<dyn Guide + 'm> {
        match &self.focused {
            Some(task) => Box::new(Focused::new(make(task))),
            None => make(&self.task),
        }
    }

    /// By true distances in projections, of at most this many states.
    pub(crate) fn patterns(&self, states: Option<u64>) -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Box::new(Patterns::automatic(self.model, self.task.clone(), states, &self.room)?))
    }

    fn cached(&self, guide: Box<dyn Guide + 'm>, task: &AbstractTask, cache: bool) -> Box<dyn Guide + 'm> {
        if cache { Box::new(Cached::new(guide, task)) } else { guide }
    }
}
