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
mod limits;
mod nodes;
mod open;
mod order;
pub mod orders;
mod shorten;
mod turns;

pub use audit::AuditFigures;
pub use figures::{DirectedFigures, QueueFigures};
pub use order::{Order, Tie};
pub use turns::{GuidedPace, Running, Turns};

use self::core::{Core, End};
use crate::lane::Task;
use crate::ram::breadth::TABLE;
use crate::report::{Report, StopReason, Verdict, ViolationKind};
use crate::run::out_of_memory;
use hadal_store::Governor;
use hadal_system::guide::{Guide, Priority, Target};
use hadal_system::{PropertyId, PropertyKind};

/// A directed search to be done.
pub struct DirectedSearch<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: Task<'a>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// Estimates.
    pub guide: &'a dyn Guide,
    /// What the guide looks for: the part of the question that its promises are about.
    pub aim: &'a Target,
    /// Which transitions first.
    pub priority: &'a dyn Priority,
    /// How.
    pub options: DirectedOptions,
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
    /// Whether what the guide promises is checked on the way.
    pub trust: Trust,
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
            trust: Trust::Believed,
        }
    }
}

impl DirectedSearch<'_> {
    /// Whether states may be left out from which the guide proves nothing it aims at can be reached: only where it aims at
    /// everything that is asked and at errors of the model, and nothing is asked about all states.
    pub fn may_prune(&self) -> bool {
        self.options.trust == Trust::Believed && may_prune(self.task, self.guide, self.aim)
    }
}

/// Whether states may be left out that `guide`, which looks for `aim`, proves hopeless.
pub(crate) fn may_prune(task: Task, guide: &dyn Guide, aim: &Target) -> bool {
    guide.promises().safe && aims_at_all(task, aim)
}

/// Whether the aim is everything that is asked and everything that is reported unasked, and nothing is asked about all
/// states.
pub(crate) fn aims_at_all(task: Task, aim: &Target) -> bool {
    let (properties, question) = (task.space.properties(), task.question);
    let properties = properties.iter().enumerate().all(|(n, property)| {
        let asked = question.asked.get(n).copied().unwrap_or(false);
        match property.kind {
            PropertyKind::Assumption | PropertyKind::Proposition | PropertyKind::Rest => true,
            PropertyKind::Invariant | PropertyKind::Goal => {
                !asked || aim.properties.contains(&PropertyId(n as u32))
            }
            PropertyKind::Cover
            | PropertyKind::Liveness
            | PropertyKind::Formula
            | PropertyKind::Acceptance => !asked,
        }
    });
    let deadlocks = question.deadlock != crate::report::DeadlockNotion::Off;
    // Last, because it may have to be worked out.
    properties && (aim.deadlock || !deadlocks) && (aim.faults || !task.space.may_fault())
}

/// Whether a guide with this target looks for this.
pub(crate) fn aims_at(target: &Target, kind: ViolationKind) -> bool {
    match kind {
        ViolationKind::Deadlock => target.deadlock,
        ViolationKind::Invariant(id) | ViolationKind::Goal(id) => target.properties.contains(&id),
        ViolationKind::Fault(_) | ViolationKind::PropertyFault(_) => target.faults,
        _ => false,
    }
}

/// Explores until something is wrong, everything that can matter is seen, or a limit is met.
///
/// Liveness properties need breadth-first layers: ask about them there.
pub fn explore(search: &DirectedSearch) -> Report {
    let mut core = match Core::new(search) {
        Ok(core) => core,
        Err(full) => {
            let reason = out_of_memory(full);
            return not_begun(search.task, search.governor, reason);
        }
    };
    let end = match search.options.order {
        Order::HillClimbing => climb::run(&mut core),
        Order::Beam(width) => beam::run(&mut core, width),
        Order::IterativeDeepening => deepening::run(&mut core),
        Order::Alternating => alternate::run(&mut core),
        _ => best_first::run(&mut core),
    };
    let end = match end {
        Ok(end) => end,
        Err(full) => End::Full(full),
    };
    core.report(end)
}

/// The answer of a search that was stopped before it began.
pub fn not_begun(task: Task, governor: &Governor, reason: StopReason) -> Report {
    Report::of_nothing(task, governor, Verdict::Stopped(reason), TABLE)
}
