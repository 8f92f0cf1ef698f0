//! `--find` unless an order is named: a guided search and breadth-first search take turns of counted work, so that a guide
//! that misleads, or takes long to prepare, costs little, and every run comes to the same answer by the same way.

use crate::directed::{self, Asked, DirectedPlan, OnDisk};
use crate::error::CheckError;
use crate::preparation::Preparation;
use crate::searching::Explored;
use hadal_exec::model::Model;
use hadal_search::directed::{Running, Turns};
use hadal_search::ram::{Search, breadth};
use hadal_search::{Control, Done, Report, StopReason, Task, Verdict};
use hadal_store::Governor;
use hadal_system::System;
use hadal_system::system::instance_count;
use hadal_system::visit;
use std::sync::Arc;

/// The work of the guided search's first turn: about what reading and compiling a small model takes, in nanoseconds.
const LEAST_START: u64 = 3_500_000;
/// What each expression, place and statement of its actions adds to that.
const START_PER_NODE: u64 = 3_500;
/// So many instances of an action count by themselves.
const MOST_INSTANCES: u64 = 16;

/// What a directed search has to go by.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// The model, for guides.
    pub model: &'a Model,
    /// What to explore.
    pub task: Task<'a>,
    /// What the user named.
    pub asked: Asked,
    /// The memory budget.
    pub governor: &'a Governor,
    /// Threads that may be used.
    pub threads: usize,
}

/// Explores as planned.
pub(crate) fn explore(plan: &DirectedPlan, setting: Setting, disk: OnDisk) -> Result<Explored, CheckError> {
    if plan.races() && !disk.resumed {
        return race(plan, setting);
    }
    let preparation = Preparation::new(setting.task.control, setting.governor, None);
    directed::explore(plan, setting, &preparation, Some(disk))
}

fn is_decided(report: &Report) -> bool {
    !matches!(report.verdict, Verdict::Stopped(_))
}

/// Both searches, each with half of the memory: the first turn that decides gives the answer.
fn race(plan: &DirectedPlan, setting: Setting) -> Result<Explored, CheckError> {
    let (task, half) = (setting.task, setting.governor.limit() / 2);
    let running = if setting.threads > 1 { Running::Together } else { Running::InTurns };
    let turns = Turns::new(LEAST_START + size(setting.model.system()) * START_PER_NODE, running);
    let pace = turns.guided();
    let control = Control::new(task.control.limits);
    control.set_pace(Some(pace.clone()));
    let part = setting.governor.part(half);
    let preparation = Preparation::new(&control, &part, Some(pace));
    let alone = Setting { task: Task { control: &control, ..task }, governor: &part, ..setting };
    task.control.set_pace(Some(turns.blind()));
    let (guided, blind) = std::thread::scope(|scope| {
        let guided = scope.spawn(|| {
            let explored = directed::explore(plan, alone, &preparation, None);
            let decides = explored.as_ref().map_or(true, |explored| is_decided(&explored.report));
            turns.guided_is_over(decides);
            if decides {
                task.control.supersede();
            }
            explored
        });
        let threads = setting.threads.saturating_sub(1).max(1);
        let blind = breadth::explore(&Search { task, governor: &setting.governor.part(half), threads });
        turns.blind_is_over(is_decided(&blind));
        if blind.verdict == Verdict::Stopped(StopReason::Interrupted) {
            control.interrupt();
        }
        (guided.join(), blind)
    });
    task.control.set_pace(None);
    let failed = || CheckError::Internal("the guided search ended without an answer".into());
    Ok(joined(guided.map_err(|_| failed())??, blind, &turns))
}

/// How many expressions, places and statements the actions of a system consist of, instances that are compiled one by one
/// counted by themselves.
fn size(system: &System) -> u64 {
    let mut sum = 0;
    for action in &system.actions {
        let mut nodes = 0u64;
        visit::expr(&action.guard, &mut |_| nodes += 1);
        visit::block(&action.body, &mut |_| nodes += 1);
        sum += nodes * instance_count(&action.params, &system.domains).clamp(1, MOST_INSTANCES);
    }
    for function in &system.functions {
        visit::block(&function.body, &mut |_| sum += 1);
    }
    sum
}

/// What the two searches say together.
fn joined(mut guided: Explored, blind: Report, turns: &Arc<Turns>) -> Explored {
    if is_decided(&guided.report) {
        let all = Done { states: blind.states, transitions: blind.transitions, ..Done::default() };
        let beside = turns.blind_before().unwrap_or(all);
        if let Some(figures) = &mut guided.report.directed {
            figures.blind += beside.states;
        }
        if guided.report.verdict != Verdict::Holds {
            guided.report.states += beside.states;
            guided.report.transitions += beside.transitions;
        }
        guided.decisions.push(format!(
            "  the guided search was first; breadth-first search had seen {} states beside it",
            beside.states
        ));
        return guided;
    }
    guided.decisions.push(format!(
        "  breadth-first search was first; the guided search had seen {} states beside it",
        guided.report.states
    ));
    let violated = matches!(blind.verdict, Verdict::Violated(_));
    let beside = if violated { guided.report.states } else { 0 };
    let mut directed = guided.report.directed;
    if let Some(figures) = &mut directed {
        figures.blind += blind.states;
    }
    let report = Report { directed, states: blind.states + beside, ..blind };
    Explored { report, decisions: guided.decisions }
}
