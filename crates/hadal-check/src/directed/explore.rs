//! A directed search as planned: the guide, the priority layer, a short descent where no order is named, then the search
//! proper, in RAM or on disk.

use super::{Calibration, DirectedPlan, EXTERNAL};
use crate::by::{By, Chosen};
use crate::error::CheckError;
use crate::preparation::Preparation;
use crate::race::Guiding;
use crate::searching::Explored;
use hadal_exec::model::Model;
use hadal_guide::{Goal, Guide, GuideError, Meter, OpenDisk, Priced, Room, Use, priority, registry};
use hadal_search::directed::{
    self, Counting, Directed, DirectedOptions, Expansion, Insertion, Order, Traces,
};
use hadal_search::explore::{Method, Run, Setting};
use hadal_search::external::{External, ExternalFigures, ExternalOptions, TraceBy};
use hadal_search::{DeadlockNotion, Question, Report, SearchTask, StopReason, Verdict};
use hadal_store::Governor;
use hadal_system::units::size;
use hadal_system::{PropertyId, PropertyKind, StateSpace};

/// The priority layer unless the user says, and where the guide knows nothing.
const DEFAULT_PRIORITY: &str = "preferred";
const BLIND_PRIORITY: &str = "context";
/// States of the descent that a search begins with unless an order is named.
const DESCENT_STATES: u64 = 125;
/// The share of the budget that tables of guides may use.
const TABLE_SHARE: u64 = 4;

/// Nothing was looked at, and nothing found.
pub(crate) fn nothing_yet(task: SearchTask, governor: &Governor) -> Explored {
    let report = directed::not_begun(task, governor, StopReason::Incomplete);
    Explored { report: Report { verdict: Verdict::Holds, ..report }, decisions: Vec::new() }
}

/// What is asked without liveness properties, which need all of the states at once; none where there are none.
pub(crate) fn safety_part(question: &Question, space: &dyn StateSpace) -> Option<Question> {
    question.asks_about_runs(space).then_some(())?;
    let mut asked = question.asked.clone();
    for (asked, property) in asked.iter_mut().zip(space.properties()) {
        *asked &= !property.kind.is_about_runs();
    }
    Some(Question { asked, ..question.clone() })
}

/// The disk of a directed search, which is used where RAM is not enough.
pub(crate) struct OnDisk<'a> {
    /// The run folder.
    pub run: Run<'a>,
    /// Opens the folder of tables that guides look up.
    pub tables: &'a OpenDisk<'a>,
    /// Whether there is a run in it that goes on.
    pub resumed: bool,
    /// Threads.
    pub threads: usize,
    /// Who searches, where that is not this process alone, and the number of the search.
    pub by: Option<(By<'a>, usize)>,
}

/// Explores as planned, without anything beside it.
pub(crate) fn explore(
    plan: &DirectedPlan,
    guiding: Guiding,
    preparation: &Preparation,
    disk: Option<OnDisk>,
) -> Result<Explored, CheckError> {
    let Guiding { model, task, asked, governor, .. } = guiding;
    let goal = goal(task.space, task.question, asked);
    let mut decisions = vec![format!("  looking for {}", describe(&goal, model))];
    let stop = || task.control.interrupt();
    let threads = disk.as_ref().map_or(1, |disk| disk.threads);
    let mut room = Room::new(governor.part(governor.limit() / TABLE_SHARE), threads)
        .with_alarm(&stop)
        .with_meter(preparation);
    if let Some(disk) = &disk {
        room = room.with_disk(disk.tables);
    }
    let guides =
        match guides(&plan.guide, Sought { model, goal: &goal, meter: preparation }, room, &mut decisions) {
            Ok(guides) => guides,
            Err(GuideError::CalledOff) => {
                decisions.push("  preparing the guide was called off".into());
                let reason = preparation.stopped().unwrap_or(StopReason::Interrupted);
                return Ok(Explored { report: directed::not_begun(task, governor, reason), decisions });
            }
            Err(error) => return Err(CheckError::Question(format!("--guide {}: {error}", plan.guide))),
        };
    let guides = guides.priced(task.space, plan.use_of_guide(), &mut decisions);
    // What the guide holds is not there for the search.
    let held = governor.current();
    let left = governor.part(governor.limit().saturating_sub(held));
    let guided = Guided {
        plan,
        guiding: Guiding { governor: &left, ..guiding },
        guides: &guides,
        goal: &goal,
        preparation,
    };
    let explored = guided.explore(disk, decisions);
    if let Some(why) = guides.guide.failure() {
        return Err(CheckError::Damaged(format!("a table of the guide cannot be read: {why}")));
    }
    let mut explored = explored?;
    explored.report.peak_memory += held;
    Ok(explored)
}

/// A guided search whose guide is there.
#[derive(Clone, Copy)]
struct Guided<'a> {
    plan: &'a DirectedPlan,
    guiding: Guiding<'a>,
    guides: &'a Guides<'a>,
    goal: &'a Goal,
    preparation: &'a Preparation<'a>,
}

impl Guided<'_> {
    fn explore(&self, disk: Option<OnDisk>, mut decisions: Vec<String>) -> Result<Explored, CheckError> {
        let &Guided { plan, guiding, guides, goal, preparation } = self;
        let Guiding { model, task, governor, .. } = guiding;
        let guide = &*guides.guide;
        let disk = match disk {
            Some(disk) if plan.external || disk.resumed => return self.external(disk, decisions),
            disk => disk,
        };
        // Where the guide knows nothing, what interferes with the step before is at least likely to matter.
        let priority = match plan.priority.as_deref() {
            Some(name) => name,
            None if guide.name() == "blind" => BLIND_PRIORITY,
            None => DEFAULT_PRIORITY,
        };
        // What a stubborn set leaves for later must not be left out by contexts: with errors among what it looks for, a
        // layer leaves nothing out.
        let reduced = task.space.fingerprint() != model.fingerprint();
        let sorted_by = Goal { faults: goal.faults || reduced, ..goal.clone() };
        let priority = priority::build(priority, model, &sorted_by, guide)
            .map_err(|why| CheckError::Question(why.to_string()))?;
        let search = Directed { guide, goal, priority: &*priority, options: self.options() };
        let setting = Setting::in_ram(task, governor, 1);
        let mut before = (0, 0);
        if plan.race && guide.name() != "blind" {
            let report = self.descend(&search, setting, &mut decisions)?;
            if report.verdict != Verdict::Stopped(StopReason::StateLimit) {
                return Ok(Explored { report, decisions });
            }
            before = (report.states, report.transitions);
        }
        decisions.push(if search.may_prune(task) {
            "  states from which, as the guide proves, no goal is reachable are pruned".into()
        } else {
            "  no state is pruned: the guide cannot prove that a goal is unreachable".into()
        });
        let mut report = preparation.drive(search.explorer(setting)?)?.report;
        if let Some(audit) = report.particular.directed.as_ref().and_then(|figures| figures.audit.as_ref()) {
            if let Some(broken) = &audit.broken {
                return Err(CheckError::Internal(format!(
                    "guide {} breaks its word: {broken}",
                    guide.name()
                )));
            }
            decisions.push(format!("  {} transitions agree with what the guide promises", audit.transitions));
        }
        if report.verdict != Verdict::Holds {
            report.states += before.0;
            report.transitions += before.1;
        }
        let plain = plan.priority.as_deref() == Some("none")
            && plan.tie.is_none()
            && plan.seed.is_none()
            && plan.calibration.is_none();
        if matches!(report.verdict, Verdict::Stopped(StopReason::Memory { .. }))
            && plan.order == Order::AStar
            && plain
            && let Some(disk) = disk
        {
            decisions.push(format!(
                "  the memory budget was used up after {} states: searched again as {EXTERNAL}, on disk",
                report.states
            ));
            return self.external(disk, decisions);
        }
        Ok(Explored { report, decisions })
    }

    fn options(&self) -> DirectedOptions {
        let Guided { plan, guiding, preparation, .. } = self;
        DirectedOptions {
            order: plan.order,
            tie: plan.tie,
            insertion: match plan.calibration {
                Some(Calibration::Seed) => Insertion::UnlessClosed,
                None => Insertion::WhenBetter,
            },
            ranks: plan
                .calibration
                .map(|Calibration::Seed| priority::published_order(guiding.model.system())),
            seed: plan.seed,
            traces: if plan.calibration.is_some() { Traces::AsFound } else { Traces::Shortened },
            expansion: plan.expansion,
            most_states: None,
            trust: plan.trust,
            counting: match preparation.takes_turns() {
                true => Counting::EveryExpansion,
                false => Counting::NowAndThen,
            },
        }
    }

    /// A short search that follows every step down at once, before the one proper.
    fn descend(
        &self,
        search: &Directed,
        setting: Setting,
        decisions: &mut Vec<String>,
    ) -> Result<Report, CheckError> {
        let guide = self.guides.descent.as_deref().unwrap_or(search.guide);
        let options = DirectedOptions {
            order: Order::Greedy,
            expansion: Expansion::Partial,
            most_states: Some(DESCENT_STATES),
            ..search.options.clone()
        };
        let descent = Directed { guide, goal: search.goal, priority: search.priority, options };
        let report = self.preparation.drive(descent.explorer(setting)?)?.report;
        let ended = report.verdict != Verdict::Stopped(StopReason::StateLimit);
        decisions.push(format!(
            "  a descent by guide {} saw {} states{}",
            guide.name(),
            report.states,
            if ended { "" } else { " and did not end" }
        ));
        Ok(report)
    }

    /// External A*.
    fn external(&self, disk: OnDisk, mut decisions: Vec<String>) -> Result<Explored, CheckError> {
        let Guiding { task, governor, .. } = self.guiding;
        let trace_by = self.plan.trace_by.map(TraceBy::from).unwrap_or_default();
        let options = ExternalOptions { trace_by, ..self.plan.writing.clone() };
        let search = External { guide: &*self.guides.guide, goal: self.goal, options };
        let setting = Setting { task, governor, threads: disk.threads, run: disk.run };
        let report = match disk.by {
            Some((by, number)) => by.search(number, (task, governor), Chosen::External(&search))?.report,
            None => self.preparation.drive(search.explorer(setting)?)?.report,
        };
        if let Some(figures) = report.external() {
            explain(figures, &mut decisions);
        }
        Ok(Explored { report, decisions })
    }
}

/// What External A* did, line by line.
fn explain(figures: &ExternalFigures, decisions: &mut Vec<String>) {
    decisions.push(format!(
        "  {} buckets by cost and estimate, {} states expanded of {} generated; duplicates up to {} rows back",
        figures.buckets.len(),
        figures.states.expanded,
        figures.states.generated,
        figures.locality
    ));
    if figures.expanded_again > 0 {
        decisions.push(format!(
            "  {} states were expanded again for successors beyond the earlier bound",
            figures.expanded_again
        ));
    }
    if let (None, Some(least)) = (figures.path.cost, figures.least_beyond) {
        decisions
            .push(format!("  what lies beyond the bound costs {least} at least, as far as the guide knows"));
    }
    if let Some(cost) = figures.path.cost {
        decisions.push(if figures.path.optimal {
            format!("  the trace costs {cost}, and nothing is cheaper: the guide never overestimates")
        } else {
            format!("  the trace costs {cost}; that nothing is cheaper is not proved")
        });
    }
}

/// Whether the user names properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Only those are asked about.
    Named,
    /// Everything is.
    Everything,
}

/// What a guide is to look for: the asked invariants and goals, and errors of the model where no property is named;
/// deadlocks where no property is asked about.
pub(super) fn goal(space: &dyn StateSpace, question: &Question, asked: Asked) -> Goal {
    let properties: Vec<PropertyId> = (space.properties().iter().enumerate())
        .filter(|(_, property)| matches!(property.kind, PropertyKind::Invariant | PropertyKind::Goal))
        .map(|(n, _)| PropertyId(n as u32))
        .filter(|&id| question.asks(id))
        .collect();
    let deadlock = question.deadlock != DeadlockNotion::Off && properties.is_empty();
    Goal { deadlock, faults: asked == Asked::Everything, properties }
}

fn describe(goal: &Goal, model: &Model) -> String {
    let mut parts: Vec<String> = match goal.properties.as_slice() {
        [] => Vec::new(),
        [only] => vec![format!("`{}`", model.properties()[only.0 as usize].name)],
        many => vec![format!("any of {} properties", many.len())],
    };
    parts.extend(goal.deadlock.then(|| "deadlocks".to_owned()));
    parts.extend(goal.faults.then(|| "errors of the model".to_owned()));
    if parts.is_empty() { "nothing in particular".into() } else { parts.join(", ") }
}

/// The guide of a search, and the one to begin with where that is another.
pub(super) struct Guides<'m> {
    pub(super) guide: Box<dyn Guide + 'm>,
    descent: Option<Box<dyn Guide + 'm>>,
}

impl<'m> Guides<'m> {
    /// The same where paths are measured in costs: guides count steps.
    fn priced(self, space: &dyn StateSpace, use_for: Use, decisions: &mut Vec<String>) -> Self {
        let costs = space.costs();
        if costs.is_steps() {
            return self;
        }
        let guide = Priced::new(self.guide, costs, use_for);
        decisions.push(match (costs.least, guide.factor()) {
            (0, 0) => {
                "  some steps cost nothing: of the guide, which counts steps, only 0 and infinity are used"
                    .into()
            }
            (0, _) => {
                "  some steps cost nothing: the guide counts steps and promises nothing about costs".into()
            }
            (_, factor) => format!("  a step costs {factor} at least: the guide's steps count as much"),
        });
        let descent =
            self.descent.map(|guide| Box::new(Priced::new(guide, costs, Use::Hint)) as Box<dyn Guide + 'm>);
        Guides { guide: Box::new(guide), descent }
    }
}

/// What a guide is made for, and who looks at the time that takes.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a, 'm> {
    pub(super) model: &'m Model,
    pub(super) goal: &'a Goal,
    pub(super) meter: &'a dyn Meter,
}

/// The guide of this name.
pub(super) fn guides<'m>(
    name: &str,
    Sought { model, goal, meter }: Sought<'_, 'm>,
    room: Room<'m>,
    decisions: &mut Vec<String>,
) -> Result<Guides<'m>, GuideError> {
    if name == "blind" {
        return Ok(Guides { guide: registry::build(name, model, goal)?, descent: None });
    }
    let prepared = registry::Prepared::metered(model, goal, meter)?.within(room);
    let (mut chosen, mut descent) = (name, None);
    if name == "auto" {
        let choice = prepared.choose();
        decisions.push(format!("  {}", prepared.summary()));
        decisions.push(format!("  guide {}: {}", choice.name, choice.reason));
        chosen = choice.name;
        if choice.descent != choice.name {
            descent = Some(prepared.guide(choice.descent)?);
        }
    }
    let guide = prepared.guide(chosen)?;
    if let Some(disk) = prepared.room().opened_disk() {
        let written = disk.traffic.bytes_written();
        decisions.push(format!("  tables of the guide are on disk: {} written", size(written)));
    }
    Ok(Guides { guide, descent })
}
