//! A directed search as planned: the guide, the priority layer, then the search proper, in RAM or on disk. Where no order is
//! named, the search rests once for an attempt to prove that there is nothing to find.

use super::{Calibration, DirectedPlan, EXTERNAL};
use crate::by::{By, Chosen};
use crate::error::CheckError;
use crate::preparation::{Capped, Preparation};
use crate::race::Guiding;
use crate::searching::Explored;
use hadal_exec::model::Model;
use hadal_guide::{Goal, Guide, GuideError, Meter, OpenDisk, Priced, Room, Use, priority, registry};
use hadal_search::directed::{self, Counting, Directed, DirectedOptions, Insertion, Order, Traces};
use hadal_search::explore::{Method, Phase, Run, Setting, to_the_end};
use hadal_search::external::{External, ExternalFigures, ExternalOptions, TraceBy};
use hadal_search::{DeadlockNotion, Question, Report, SearchTask, StopReason, Verdict};
use hadal_store::Governor;
use hadal_system::guide::{Blind, NoPriority, Priority};
use hadal_system::units::size;
use hadal_system::{PropertyId, PropertyKind, StateSpace};

/// The priority layer unless the user says, and where the guide knows nothing.
const DEFAULT_PRIORITY: &str = "preferred";
const BLIND_PRIORITY: &str = "context";
/// The work after which a search that found nothing tries to prove that there is nothing, in starts, and what it may take, in
/// percent of one.
const PROOF_AFTER: u64 = 1;
const PROOF_PERCENT: u64 = 30;
/// Combinations of values in the projections that may prove it.
const PROOF_STATES: u64 = 1 << 12;
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
        let priority = priority::build(priority, model, &sorted_by, guide).map_err(no_layer)?;
        let search = Directed { guide, goal, priority: &*priority, options: self.options() };
        let setting = Setting::in_ram(task, governor, 1);
        decisions.push(if search.may_prune(task) {
            "  states from which, as the guide proves, no goal is reachable are pruned".into()
        } else {
            "  no state is pruned: the guide cannot prove that a goal is unreachable".into()
        });
        let mut explorer = search.explorer(setting)?;
        if let Some(start) = preparation.start() {
            preparation.drive_until(&mut *explorer, PROOF_AFTER * start)?;
            if explorer.progress().phase != Phase::Over
                && let Some(report) = self.prove(start / 100 * PROOF_PERCENT, &mut decisions)?
            {
                return Ok(Explored { report, decisions });
            }
        }
        let report = preparation.drive(explorer)?.report;
        if let Some(audit) = report.particular.directed.as_ref().and_then(|figures| figures.audit.as_ref()) {
            if let Some(broken) = &audit.broken {
                return Err(CheckError::Internal(format!(
                    "guide {} breaks its word: {broken}",
                    guide.name()
                )));
            }
            decisions.push(format!("  {} transitions agree with what the guide promises", audit.transitions));
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
            bound: plan.bound,
            keep_layers: plan.keep_layers,
            trust: plan.trust,
            counting: match preparation.takes_turns() {
                true => Counting::EveryExpansion,
                false => Counting::NowAndThen,
            },
        }
    }

    /// Tries to prove, by distances in small projections, that nothing asked about can be reached from the start. A guide that
    /// finds nothing out costs its share of the work, like the search.
    fn prove(&self, most_work: u64, decisions: &mut Vec<String>) -> Result<Option<Report>, CheckError> {
        let Guiding { model, task, governor, .. } = self.guiding;
        // Errors of the model are reported unasked, so they must be impossible, too.
        let goal = Goal { faults: self.goal.faults || task.space.may_fault(), ..self.goal.clone() };
        let aimed = Directed {
            guide: &Blind,
            goal: &goal,
            priority: &NoPriority,
            options: DirectedOptions::default(),
        };
        if !aimed.may_prune(task) {
            return Ok(None);
        }
        let meter = Capped::new(self.preparation, most_work);
        let room = Room::new(governor.part(governor.limit() / TABLE_SHARE), 1).with_meter(&meter);
        let prepared = match &self.guides.prepared {
            Some(prepared) if *prepared.goal() == goal => Ok(prepared.again(room)),
            _ => registry::Prepared::metered(model, &goal, &meter).map(|prepared| prepared.within(room)),
        };
        let made = prepared.and_then(|prepared| prepared.guide(&format!("pdb={PROOF_STATES}")));
        // Without room for it, or once another search has the answer, there is no proof.
        let Ok(guide) = made else { return Ok(None) };
        let options = DirectedOptions { most_states: Some(0), ..DirectedOptions::default() };
        let start = Directed { guide: &*guide, goal: &goal, priority: &NoPriority, options };
        if !start.may_prune(task) {
            return Ok(None);
        }
        let report = start.explorer(Setting::in_ram(task, governor, 1))?;
        let report = to_the_end(report, &mut |_| {})?.report;
        let is_proved = report.verdict == Verdict::Holds;
        decisions.push(format!(
            "  projections to a few variables {}",
            if is_proved { "prove that nothing can be reached" } else { "prove nothing" }
        ));
        Ok(is_proved.then_some(report))
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

/// The layer of transitions that interfere with the step before.
pub(crate) fn interfering_first(
    model: &Model,
    space: &dyn StateSpace,
    goal: &Goal,
) -> Result<Box<dyn Priority>, CheckError> {
    let reduced = space.fingerprint() != model.fingerprint();
    let sorted_by = Goal { faults: goal.faults || reduced, ..goal.clone() };
    priority::build(BLIND_PRIORITY, model, &sorted_by, &Blind).map_err(no_layer)
}

fn no_layer(why: priority::PriorityError) -> CheckError {
    CheckError::Question(why.to_string())
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
pub(crate) fn goal(space: &dyn StateSpace, question: &Question, asked: Asked) -> Goal {
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

/// The guide of a search.
pub(super) struct Guides<'m> {
    pub(super) guide: Box<dyn Guide + 'm>,
    /// What it was made from.
    prepared: Option<registry::Prepared<'m>>,
}

impl<'m> Guides<'m> {
    /// The same where paths are measured in costs: guides count steps.
    fn priced(self, space: &dyn StateSpace, use_for: Use, decisions: &mut Vec<String>) -> Self {
        let costs = space.costs();
        if costs.is_steps() {
            return self;
        }
        let Guides { guide, prepared } = self;
        let guide = Priced::new(guide, costs, use_for);
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
        Guides { guide: Box::new(guide), prepared }
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
        return Ok(Guides { guide: registry::build(name, model, goal)?, prepared: None });
    }
    let prepared = registry::Prepared::metered(model, goal, meter)?.within(room);
    let mut chosen = name;
    if name == "auto" {
        let choice = prepared.choose();
        decisions.push(format!("  {}", prepared.summary()));
        decisions.push(format!("  guide {}: {}", choice.name, choice.reason));
        chosen = choice.name;
    }
    let guide = prepared.guide(chosen)?;
    if let Some(disk) = prepared.room().opened_disk() {
        let written = disk.traffic.bytes_written();
        decisions.push(format!("  tables of the guide are on disk: {} written", size(written)));
    }
    Ok(Guides { guide, prepared: Some(prepared) })
}
