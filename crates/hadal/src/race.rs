//! `--find` unless an order is named: a guided search with breadth-first search beside it, so that a guide that misleads,
//! or takes long to prepare, costs little.

use crate::directed::{self, Asked, DirectedPlan, Explored, OnDisk};
use crate::failure::Failure;
use crate::outcome::cpu_seconds;
use hadal_exec::model::Model;
use hadal_search::ram::{Search, breadth};
use hadal_search::{Control, Limits, Report, StopReason, Task, Verdict};
use hadal_store::Governor;
use std::sync::mpsc;
use std::time::Duration;

/// A guided search that has breadth-first search beside it begins at least this many processor seconds earlier.
const LEAST_START: f64 = 0.05;
/// A model that takes this many processor seconds to read and compile takes long to understand, too.
const LARGE_MODEL: f64 = 0.06;
/// How often it is looked whether the guided search has an answer.
const GLANCE: Duration = Duration::from_millis(2);

/// What a directed search has to go by.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The model, for guides.
    pub model: &'a Model,
    /// What to explore.
    pub task: Task<'a>,
    /// What the user named.
    pub asked: Asked,
    /// The memory budget.
    pub governor: &'a Governor,
    /// Processor seconds that it took to read and compile the model.
    pub startup: f64,
    /// Threads that may be used.
    pub threads: usize,
}

/// Explores as planned.
pub fn explore(plan: &DirectedPlan, setting: Setting, disk: OnDisk) -> Result<Explored, Failure> {
    if !plan.races() || disk.resumed {
        return guided(plan, setting, Some(disk));
    }
    if setting.startup < LARGE_MODEL {
        return race(plan, setting);
    }
    // What was spent already bounds what this can cost.
    let ahead = Duration::from_secs_f64(setting.startup);
    let limits = setting.task.control.limits;
    let time = limits.time.map_or(ahead, |limit| limit.min(ahead));
    let control = Control::new(Limits { time: Some(time), ..limits });
    let task = Task { control: &control, ..setting.task };
    let report = blind(task, setting.governor, setting.threads);
    let went =
        format!("  the model is large: breadth-first search went ahead for {:.1} s", time.as_secs_f64());
    if is_decided(&report) {
        return Ok(Explored { report, decisions: vec![went] });
    }
    drop(report);
    let mut explored = race(plan, setting)?;
    explored.decisions.insert(0, went);
    Ok(explored)
}

fn guided(plan: &DirectedPlan, setting: Setting, disk: Option<OnDisk>) -> Result<Explored, Failure> {
    directed::explore(plan, setting.model, setting.task, setting.asked, setting.governor, disk)
}

fn blind(task: Task, governor: &Governor, threads: usize) -> Report {
    breadth::explore(&Search { task, governor, threads })
}

fn is_decided(report: &Report) -> bool {
    !matches!(report.verdict, Verdict::Stopped(_))
}

/// The guided search, and a little later breadth-first search beside it, each with half of the memory: whichever knows the
/// answer first gives it.
fn race(plan: &DirectedPlan, setting: Setting) -> Result<Explored, Failure> {
    let (task, half) = (setting.task, setting.governor.limit() / 2);
    let control = Control::new(task.control.limits);
    let part = setting.governor.part(half);
    let alone = Setting { task: Task { control: &control, ..task }, governor: &part, ..setting };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let other = task.control;
        scope.spawn(move || {
            let explored = guided(plan, alone, None);
            let decides = explored.as_ref().map_or(true, |explored| is_decided(&explored.report));
            // Sent before the other is stopped, so that it is there when the other has stopped.
            let _ = sender.send(explored);
            if decides {
                other.interrupt();
            }
        });
        // Processor time, so that a busy machine does not shorten the start: nothing else runs in this process.
        let until = cpu_seconds() + setting.startup.max(LEAST_START);
        let mut early = receiver.recv_timeout(GLANCE);
        while matches!(early, Err(mpsc::RecvTimeoutError::Timeout)) && cpu_seconds() < until {
            early = receiver.recv_timeout(GLANCE);
        }
        match early {
            Ok(Ok(explored)) if !is_decided(&explored.report) => {
                let report = blind(task, setting.governor, setting.threads);
                return Ok(joined(explored, report));
            }
            Ok(answer) => return answer,
            Err(_) => {}
        }
        let report = blind(task, &setting.governor.part(half), setting.threads.saturating_sub(1).max(1));
        if is_decided(&report) || report.verdict == Verdict::Stopped(StopReason::Interrupted) {
            control.interrupt();
        }
        // The thread always sends before it ends.
        let gone = || Failure::Internal("the guided search ended without an answer".into());
        Ok(joined(receiver.recv().map_err(|_| gone())??, report))
    })
}

/// What two searches of one question say together.
fn joined(mut guided: Explored, blind: Report) -> Explored {
    let states = guided.report.states + blind.states;
    if is_decided(&guided.report) {
        if let Some(figures) = &mut guided.report.directed {
            figures.blind += blind.states;
        }
        if guided.report.verdict != Verdict::Holds {
            guided.report.states = states;
            guided.report.transitions += blind.transitions;
        }
        guided.decisions.push("  breadth-first search ran beside it; the guided search was first".into());
        return guided;
    }
    guided.decisions.push("  breadth-first search ran beside it and was first".into());
    let found = matches!(blind.verdict, Verdict::Violated(_));
    let states = if found { states } else { blind.states };
    let report = Report { directed: guided.report.directed, states, ..blind };
    Explored { report, decisions: guided.decisions }
}
