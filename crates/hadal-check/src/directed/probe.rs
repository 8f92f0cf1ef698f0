//! The guided probe that `auto` begins with where a goal is named.

use super::explore::{Asked, Guides, Sought, goal, guides};
use crate::preparation::Preparation;
use crate::searching::{Explored, Watch};
use hadal_exec::model::Model;
use hadal_guide::{Room, priority};
use hadal_search::directed::{Directed, DirectedOptions};
use hadal_search::explore::{Setting, explore_watched};
use hadal_search::ram::Breadth;
use hadal_search::{Control, Limits, SearchTask, StopReason, Verdict};
use hadal_store::Governor;
use hadal_system::PropertyKind;

/// States that a probe expands at most.
const PROBE_STATES: u64 = 100_000;
/// States that are looked through breadth-first for a shorter trace than a probe's, at most.
const SHORTER_STATES: u64 = 2_000_000;
/// The share of the budget that a probe may use.
const PROBE_SHARE: u64 = 4;

/// Where a named goal may be reachable, a short guided search before the breadth-first one. What it finds is replaced by a
/// shortest trace where a bounded breadth-first search finds one. Nothing where the other search is to go on.
pub(crate) fn probe(model: &Model, task: SearchTask, governor: &Governor, watch: Watch) -> Option<Explored> {
    let properties = task.space.properties();
    task.question.of_kind(properties, PropertyKind::Goal).next()?;
    let goal = goal(task.space, task.question, Asked::Named);
    let mut decisions =
        vec!["  a goal is named: a guided probe goes before the breadth-first search".to_owned()];
    let part = governor.part(governor.limit() / PROBE_SHARE);
    let time = task.control.limits.time.map(|limit| limit / 10);
    let limits = Limits { max_states: Some(PROBE_STATES), max_depth: None, time, ..Limits::default() };
    let control = Control::new(limits);
    let preparation = Preparation::new(&control, &part, watch);
    let sought = Sought { model, goal: &goal, meter: &preparation };
    let Guides { guide, .. } = guides("auto", sought, Room::default(), &mut decisions).ok()?;
    let probing = SearchTask { control: &control, ..task };
    let search = Directed {
        guide: &*guide,
        goal: &goal,
        priority: &priority::NoPriority,
        options: DirectedOptions::default(),
    };
    let tell = &mut |progress: &_| watch(progress);
    let mut report = explore_watched(&search, Setting::in_ram(probing, &part, 1), tell).ok()?.report;
    let Verdict::Violated(found) = &report.verdict else { return None };
    decisions.push(format!("  the probe found it in {} states", report.states));
    let depth = found.path.len() as u64;
    let control = Control::new(Limits {
        max_states: Some(SHORTER_STATES),
        max_depth: Some(depth),
        time,
        ..Limits::default()
    });
    let shorter = SearchTask { control: &control, ..task };
    let again = explore_watched(&Breadth, Setting::in_ram(shorter, &part, 1), tell).ok()?.report;
    decisions.push(match &again.verdict {
        Verdict::Violated(_) => "  breadth-first search found a shortest trace".into(),
        Verdict::Stopped(StopReason::StateLimit) => {
            format!(
                "  breadth-first search found none in {SHORTER_STATES} states: the trace need not be shortest"
            )
        }
        _ => "  breadth-first search met a limit first: the trace need not be shortest".to_owned(),
    });
    if let Verdict::Violated(_) = again.verdict {
        let directed = report.particular.directed.take();
        report = again;
        report.particular.directed = directed;
    }
    Some(Explored { report, decisions })
}
