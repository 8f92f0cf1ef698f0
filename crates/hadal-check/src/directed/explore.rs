//! A directed search as planned: the guide, the priority layer, a short descent where no order is named, then the search
//! proper, in RAM or on disk.

use super::{Calibration, DirectedPlan, EXTERNAL};
use crate::error::CheckError;
use crate::preparation::Preparation;
use crate::race::Setting;
use crate::searching::Explored;
use hadal_exec::model::Model;
use hadal_guide::{Guide, GuideError, Meter, OpenDisk, Room, Target, priority, registry};
use hadal_search::directed::{self, DirectedOptions, DirectedSearch, Expansion, Insertion, Order, Traces};
use hadal_search::external::{self, ExternalOptions, ExternalSearch, TraceBy};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{DeadlockNotion, Question, Report, StopReason, Task, Verdict};
use hadal_store::Governor;
use hadal_system::{PropertyId, PropertyKind, StateSpace};

/// The priority layer unless the user says, and where the guide knows nothing.
const DEFAULT_PRIORITY: &str = "preferred";
const BLIND_PRIORITY: &str = "context";
/// States of the descent that a search begins with unless an order is named.
const DESCENT_STATES: u64 = 125;
/// The share of the budget that tables of guides may use.
const TABLE_SHARE: u64 = 4;

/// Nothing was looked at, and nothing found.
pub(crate) fn nothing_yet(task: Task, governor: &Governor) -> Explored {
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
    /// Opens the run folder.
    pub ledger: &'a dyn Fn() -> Result<Ledger, Trouble>,
    /// Opens the folder of tables that guides look up.
    pub tables: &'a OpenDisk<'a>,
    /// Whether there is a run in it that goes on.
    pub resumed: bool,
    /// Threads.
    pub threads: usize,
}

/// Explores as planned, without anything beside it.
pub(crate) fn explore(
    plan: &DirectedPlan,
    setting: Setting,
    preparation: &Preparation,
    disk: Option<OnDisk>,
) -> Result<Explored, CheckError> {
    let Setting { model, task, asked, governor, .. } = setting;
    let target = target(task.space, task.question, asked);
    let mut decisions = vec![format!("  looking for {}", describe(&target, model))];
    let stop = || task.control.interrupt();
    let threads = disk.as_ref().map_or(1, |disk| disk.threads);
    let mut room = Room::new(governor.part(governor.limit() / TABLE_SHARE), threads)
        .with_alarm(&stop)
        .with_meter(preparation);
    if let Some(disk) = &disk {
        room = room.with_disk(disk.tables);
    }
    let guides = match guides(&plan.guide, model, &target, preparation, room, &mut decisions) {
        Ok(guides) => guides,
        Err(GuideError::CalledOff) => {
            decisions.push("  preparing the guide was called off".into());
            let reason = preparation.stopped().unwrap_or(StopReason::Interrupted);
            return Ok(Explored { report: directed::not_begun(task, governor, reason), decisions });
        }
        Err(error) => return Err(CheckError::Question(format!("--guide {}: {error}", plan.guide))),
    };
    // What the guide holds is not there for the search.
    let held = governor.current();
    let left = governor.part(governor.limit().saturating_sub(held));
    let setting = Setting { governor: &left, ..setting };
    let explored = explore_with(plan, setting, (&guides, &target), preparation, disk, decisions);
    if let Some(why) = guides.guide.failure() {
        return Err(CheckError::Damaged(format!("a table of the guide cannot be read: {why}")));
    }
    let mut explored = explored?;
    explored.report.peak_memory += held;
    Ok(explored)
}

fn explore_with(
    plan: &DirectedPlan,
    setting: Setting,
    (guides, target): (&Guides, &Target),
    preparation: &Preparation,
    disk: Option<OnDisk>,
    mut decisions: Vec<String>,
) -> Result<Explored, CheckError> {
    let Setting { model, task, governor, .. } = setting;
    let guide = &*guides.guide;
    let disk = match disk {
        Some(disk) if plan.external || disk.resumed => {
            return external(plan, task, (guide, target), governor, disk, decisions);
        }
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
    let sorted_by = Target { faults: target.faults || reduced, ..target.clone() };
    let priority = priority::build(priority, model, &sorted_by, guide)
        .map_err(|why| CheckError::Question(why.to_string()))?;
    let options = DirectedOptions {
        order: plan.order,
        tie: plan.tie,
        insertion: match plan.calibration {
            Some(Calibration::Seed) => Insertion::UnlessClosed,
            None => Insertion::WhenBetter,
        },
        ranks: plan.calibration.map(|Calibration::Seed| priority::published_order(model.system())),
        seed: plan.seed,
        traces: if plan.calibration.is_some() { Traces::AsFound } else { Traces::Shortened },
        expansion: plan.expansion,
        most_states: None,
        trust: plan.trust,
    };
    let search = DirectedSearch { task, governor, guide, aim: target, priority: &*priority, options };
    let mut before = (0, 0);
    if plan.race && guide.name() != "blind" {
        let report = descend(&search, guides.descent.as_deref().unwrap_or(guide), &mut decisions);
        if report.verdict != Verdict::Stopped(StopReason::StateLimit) {
            return Ok(Explored { report, decisions });
        }
        before = (report.states, report.transitions);
        preparation.begin_another();
    }
    decisions.push(if search.may_prune() {
        "  states from which the guide proves that nothing asked about can be reached are left out".into()
    } else {
        "  no state is left out: the guide does not prove that what is asked about cannot be reached".into()
    });
    let mut report = directed::explore(&search);
    if let Some(audit) = report.directed.as_ref().and_then(|figures| figures.audit.as_ref()) {
        if let Some(broken) = &audit.broken {
            return Err(CheckError::Internal(format!("guide {} breaks its word: {broken}", guide.name())));
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
        return external(plan, task, (guide, target), governor, disk, decisions);
    }
    Ok(Explored { report, decisions })
}

/// A short search that follows every step down at once, before the one proper.
fn descend(search: &DirectedSearch, guide: &dyn Guide, decisions: &mut Vec<String>) -> Report {
    let options = DirectedOptions {
        order: Order::Greedy,
        expansion: Expansion::Partial,
        most_states: Some(DESCENT_STATES),
        ..search.options.clone()
    };
    let report = directed::explore(&DirectedSearch { guide, options, ..*search });
    let ended = report.verdict != Verdict::Stopped(StopReason::StateLimit);
    decisions.push(format!(
        "  a descent by guide {} saw {} states{}",
        guide.name(),
        report.states,
        if ended { "" } else { " and did not end" }
    ));
    report
}

/// External A*.
fn external(
    plan: &DirectedPlan,
    task: Task,
    (guide, aim): (&dyn Guide, &Target),
    governor: &Governor,
    disk: OnDisk,
    mut decisions: Vec<String>,
) -> Result<Explored, CheckError> {
    let trace_by = plan.trace_by.map(TraceBy::from).unwrap_or_default();
    let options = ExternalOptions { trace_by, ..plan.writing.clone() };
    let (ledger, threads) = (disk.ledger, disk.threads);
    let search = ExternalSearch { task, guide, aim, ledger, governor, threads, options };
    let explored = if disk.resumed { external::resume(&search)? } else { external::search(&search)? };
    let figures = &explored.figures;
    decisions.push(format!(
        "  {} buckets by cost and estimate, {} states expanded of {} generated; duplicates up to {} rows back",
        figures.buckets.len(),
        figures.expanded,
        figures.generated,
        figures.locality
    ));
    if figures.expanded_again > 0 {
        decisions
            .push(format!("  {} states were expanded again for successors left out", figures.expanded_again));
    }
    if let (None, Some(least)) = (figures.cost, figures.least_beyond) {
        decisions
            .push(format!("  what lies beyond the bound costs {least} at least, as far as the guide knows"));
    }
    if let Some(cost) = figures.cost {
        decisions.push(if figures.optimal {
            format!("  the trace costs {cost}, and nothing is cheaper: the guide never overestimates")
        } else {
            format!("  the trace costs {cost}; that nothing is cheaper is not proved")
        });
    }
    Ok(Explored { report: explored.report, decisions })
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
pub(super) fn target(space: &dyn StateSpace, question: &Question, asked: Asked) -> Target {
    let properties: Vec<PropertyId> = (space.properties().iter().enumerate())
        .filter(|(_, property)| matches!(property.kind, PropertyKind::Invariant | PropertyKind::Goal))
        .map(|(n, _)| PropertyId(n as u32))
        .filter(|&id| question.asks(id))
        .collect();
    let deadlock = question.deadlock != DeadlockNotion::Off && properties.is_empty();
    Target { deadlock, faults: asked == Asked::Everything, properties }
}

fn describe(target: &Target, model: &Model) -> String {
    let mut parts: Vec<String> = match target.properties.as_slice() {
        [] => Vec::new(),
        [only] => vec![format!("`{}`", model.properties()[only.0 as usize].name)],
        many => vec![format!("any of {} properties", many.len())],
    };
    parts.extend(target.deadlock.then(|| "deadlocks".to_owned()));
    parts.extend(target.faults.then(|| "errors of the model".to_owned()));
    if parts.is_empty() { "nothing in particular".into() } else { parts.join(", ") }
}

/// The guide of a search, and the one to begin with where that is another.
pub(super) struct Guides<'m> {
    pub(super) guide: Box<dyn Guide + 'm>,
    descent: Option<Box<dyn Guide + 'm>>,
}

/// The guide of this name.
pub(super) fn guides<'m>(
    name: &str,
    model: &'m Model,
    target: &Target,
    meter: &dyn Meter,
    room: Room<'m>,
    decisions: &mut Vec<String>,
) -> Result<Guides<'m>, GuideError> {
    if name == "blind" {
        return Ok(Guides { guide: registry::build(name, model, target)?, descent: None });
    }
    let prepared = registry::Prepared::metered(model, target, meter)?.within(room);
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
        decisions.push(format!("  tables of the guide are on disk: {} MiB were written", written >> 20));
    }
    Ok(Guides { guide, descent })
}
