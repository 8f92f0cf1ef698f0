//! Directed search in RAM: estimates of a [`Guide`] and queues of a [`Priority`] decide what is expanded next.
//!
//! One engine serves every order: states lie in a table, what is remembered of each in an array beside it, open states
//! in one family of [bucket queues](open). Everything counts against the memory budget. What the answer may claim follows
//! from the order and from what the guide promises: a trace is called shortest, or a state left out, only where a proof
//! stands behind it.

mod alternate;
mod answer;
mod aside;
mod audit;
mod beam;
mod best_first;
mod climb;
mod core;
mod counted;
mod deepening;
mod figures;
mod freeing;
mod limits;
mod nodes;
mod open;
mod order;
pub mod orders;
mod shorten;
mod trail;

pub use audit::AuditFigures;
pub use figures::{DirectedFigures, Manner, QueueFigures, WorkFigures};
pub use order::{Order, Tie};
pub use trail::{Shortened, Trail};

use self::core::{Core, Course, End};
use crate::explore::{Explored, Explorer, Method, Over, Phase, Progress, Setting};
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::ram::breadth::TABLE;
use crate::report::{Report, StopReason, Verdict, ViolationKind};
use crate::run::out_of_memory;
use crate::strategies::Resumes;
use hadal_store::Governor;
use hadal_system::guide::{Goal, Guide, Priority};
use hadal_system::{PropertyId, PropertyKind};

/// Directed search in RAM, on one thread whatever their number. Liveness properties need breadth-first layers: ask about them
/// there.
pub struct Directed<'g> {
    /// Estimates.
    pub guide: &'g dyn Guide,
    /// What the guide looks for: the part of the question that its promises are about.
    pub goal: &'g Goal,
    /// Which transitions first.
    pub priority: &'g dyn Priority,
    /// How.
    pub options: DirectedOptions,
}

impl Directed<'_> {
    /// Whether states may be left out from which the guide proves nothing it aims at can be reached: only where it aims at
    /// everything that is asked and at errors of the model, and nothing is asked about all states.
    pub fn may_prune(&self, task: SearchTask) -> bool {
        self.options.trust == Trust::Believed && may_prune(task, self.guide, self.goal)
    }
}

/// What a directed search works on.
#[derive(Clone, Copy)]
struct DirectedSearch<'a> {
    task: SearchTask<'a>,
    governor: &'a Governor,
    guide: &'a dyn Guide,
    goal: &'a Goal,
    priority: &'a dyn Priority,
    options: &'a DirectedOptions,
    may_prune: bool,
}

/// How a directed search goes about it.
#[derive(Clone, Debug)]
pub struct DirectedOptions {
    /// The order.
    pub order: Order,
    /// How ties are broken; by default as suits the order.
    pub tie: Option<Tie>,
    /// When a state is inserted again.
    pub insertion: Insertion,
    /// Transitions of a state are taken in ascending order of this, by label; else as the space gives them.
    pub ranks: Option<Vec<u32>>,
    /// Takes the transitions of a state in another order, drawn by this seed.
    pub seed: Option<u64>,
    /// What becomes of a trace that need not be short.
    pub traces: Traces,
    /// Whether all successors of a state are looked at before another is expanded.
    pub expansion: Expansion,
    /// Stop as soon as there are more states than this.
    pub most_states: Option<u64>,
    /// Of [`Order::BreadthHeuristic`]: states of more cost plus estimate are left out, and the bound is not raised.
    pub bound: Option<u64>,
    /// Beside the bound, where all transitions cost 1: so many layers are kept, at least two: the one being found, and those before it.
    pub keep_layers: Option<u64>,
    /// Whether what the guide promises is checked on the way.
    pub trust: Trust,
    /// How closely steps keep to their work.
    pub counting: Counting,
}

/// How closely the steps of a search keep to their work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// It is looked at now and then.
    #[default]
    NowAndThen,
    /// It is looked at before every expansion: of a search that takes turns with another, every turn ends where it must.
    EveryExpansion,
}

/// Whether what a guide promises is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// It is.
    #[default]
    Believed,
    /// It is held against every transition and every finding, and no state is left out for it. (Not with
    /// [`Order::IterativeDeepening`], which keeps no states.)
    Audited,
}

/// When a known state is inserted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// When it would come earlier than it does now.
    WhenBetter,
    /// Unless it is closed, and what is wrong is noticed only when a state is taken out: the rules behind the published
    /// figures of Wehrle (2011).
    UnlessClosed,
}

/// Whether all successors of a state are looked at before another is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expansion {
    /// They are.
    Whole,
    /// Not where one of them is better than the state itself: the others wait, in the state's place in the order (partial
    /// expansion, Yoshizumi et al. 2000). Those that the guide would take come first. Spaces with cover properties, which
    /// count every expansion, are expanded as a whole.
    Partial,
}

/// What becomes of a trace that need not be short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// It is replaced by a shortest one through the states seen.
    Shortened,
    /// It is reported as found.
    AsFound,
}

impl Default for DirectedOptions {
    fn default() -> Self {
        DirectedOptions {
            order: Order::Greedy,
            tie: None,
            insertion: Insertion::WhenBetter,
            ranks: None,
            seed: None,
            traces: Traces::Shortened,
            expansion: Expansion::Whole,
            most_states: None,
            bound: None,
            keep_layers: None,
            trust: Trust::Believed,
            counting: Counting::NowAndThen,
        }
    }
}

/// Whether states may be left out that `guide`, which looks for `goal`, proves hopeless.
pub(crate) fn may_prune(task: SearchTask, guide: &dyn Guide, goal: &Goal) -> bool {
    guide.promises().safe && aims_at_all(task, goal)
}

/// Whether the goal is everything that is asked and everything that is reported unasked, and nothing is asked about all
/// states.
pub(crate) fn aims_at_all(task: SearchTask, goal: &Goal) -> bool {
    let (properties, question) = (task.space.properties(), task.question);
    let properties = properties.iter().enumerate().all(|(n, property)| {
        let asked = question.asked.get(n).copied().unwrap_or(false);
        match property.kind {
            PropertyKind::Assumption | PropertyKind::Proposition | PropertyKind::Rest => true,
            PropertyKind::Invariant | PropertyKind::Goal => {
                !asked || goal.properties.contains(&PropertyId(n as u32))
            }
            PropertyKind::Cover
            | PropertyKind::Liveness
            | PropertyKind::Formula
            | PropertyKind::Acceptance => !asked,
        }
    });
    let deadlocks = question.deadlock != crate::report::DeadlockNotion::Off;
    // Last, because it may have to be worked out.
    properties && (goal.deadlock || !deadlocks) && (goal.faults || !task.space.may_fault())
}

/// Whether a guide with this target looks for this.
pub(crate) fn aims_at(target: &Goal, kind: ViolationKind) -> bool {
    match kind {
        ViolationKind::Deadlock => target.deadlock,
        ViolationKind::Invariant(id) | ViolationKind::Goal(id) => target.properties.contains(&id),
        ViolationKind::Fault(_) | ViolationKind::PropertyFault(_) => target.faults,
        _ => false,
    }
}

impl Method for Directed<'_> {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let Setting { task, governor, .. } = setting;
        let search = DirectedSearch {
            task,
            governor,
            guide: self.guide,
            goal: self.goal,
            priority: self.priority,
            options: &self.options,
            may_prune: self.may_prune(task),
        };
        Ok(match Core::new(search) {
            Ok(core) => {
                let course = self.options.order.course(&core);
                Box::new(DirectedExplorer { core, course, end: None })
            }
            Err(full) => Box::new(Over::new(not_begun(task, governor, out_of_memory(full)))),
        })
    }
}

/// A directed search under way.
struct DirectedExplorer<'a> {
    core: Core<'a>,
    course: Box<dyn Course>,
    end: Option<End>,
}

impl Explorer for DirectedExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        if self.end.is_none() {
            self.core.pace.until = self.core.pace.seen.saturating_add(work);
            self.end = match self.course.go_on(&mut self.core) {
                Ok(end) => end,
                Err(full) => Some(End::Full(full)),
            };
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let core = &self.core;
        Progress {
            phase: if self.end.is_some() { Phase::Over } else { Phase::Within },
            depth: None,
            states: core.states(),
            transitions: core.figures.work.generated,
            work: core.pace.seen,
            ahead: 0,
            memory: core.search.governor.current(),
            disk: 0,
        }
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        let DirectedExplorer { core, course, end } = *self;
        // Its memory is needed to shorten the trace.
        drop(course);
        let end = end.unwrap_or(End::Stopped(StopReason::Interrupted));
        Ok(Explored::leaving(core.report(end), Resumes::Nothing))
    }
}

/// The answer of a search that was stopped before it began.
pub fn not_begun(task: SearchTask, governor: &Governor, reason: StopReason) -> Report {
    Report::of_nothing(task, governor, Verdict::Stopped(reason), TABLE)
}
