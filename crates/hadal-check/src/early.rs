//! Accepted cycles found while the whole space is still being explored.
//!
//! Sweeps ask about cycles when every state is known. A wrong run of a huge space is often found much earlier by going deep: so
//! when the exploration has a million states, and each time it has four times as many, a depth-first search for strongly connected
//! components (Couvreur 1999) sees up to a quarter as many first, in a quarter of the memory. That costs at most a third of
//! the exploration. Which of them finds something depends on the space and the budget, not on threads or resuming; smaller spaces
//! are answered by sweeps.

use hadal_search::cycles::Engine;
use hadal_search::explore::{self, Explored, Method, Phase, Progress, Setting};
use hadal_search::layered::Trouble;
use hadal_search::{Limits, Report, SearchTask, Verdict, ViolationKind};
use hadal_system::Shown;

/// States at which a search for cycles goes first.
const FIRST: u64 = 1_000_000;
/// Each further one goes when there are so many times as many.
const FURTHER: u64 = 4;
/// It sees at most this part of them, in this part of the memory.
const PART: u64 = 4;
/// The work of one step of the exploration.
const STEP: u64 = 40_000_000;

/// Whether cycles may be looked for early: some lasso will do, and there is no bound on what is seen.
pub(crate) fn may_be_early(task: SearchTask) -> bool {
    let limits = &task.control.limits;
    limits.max_states.is_none()
        && limits.max_depth.is_none()
        && task.space.acceptance().is_some_and(|it| {
            it.pairs == 0 && !it.by_reaching && it.shown == Shown::Some && task.question.asks(it.property)
        })
}

/// What came of it.
pub(crate) enum Ended {
    /// A depth-first search found a cycle, when the exploration had so many states.
    Early(Report, u64),
    /// The exploration saw everything, or stopped.
    Whole(Explored),
}

/// Explores, and looks for cycles on the way.
pub(crate) fn explore(
    method: &dyn Method,
    setting: Setting,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Ended, Trouble> {
    let mut explorer = method.explorer(setting)?;
    let mut next = FIRST;
    let mut look = |seen: u64| {
        while seen >= next {
            let at = next;
            next *= FURTHER;
            if let Some(found) = probe(setting, at / PART) {
                return Some(Ended::Early(found, at));
            }
        }
        None
    };
    loop {
        let progress = explorer.step(STEP)?;
        watch(&progress);
        if progress.phase == Phase::Over {
            break;
        }
        if let Some(found) = look(progress.states) {
            return Ok(found);
        }
    }
    let whole = explorer.finish()?;
    let stopped = matches!(whole.report.verdict, Verdict::Stopped(_));
    let found = if stopped { None } else { look(whole.report.states) };
    Ok(found.unwrap_or(Ended::Whole(whole)))
}

/// Looks for an accepted cycle among so many states.
fn probe(setting: Setting, states: u64) -> Option<Report> {
    let time = setting.task.control.limits.time.map(|limit| limit / 10);
    let limits = Limits { max_states: Some(states), time, ..Limits::default() };
    let control = setting.task.control.part(limits);
    let part = setting.governor.part(setting.governor.limit() / PART);
    let task = SearchTask { control: &control, ..setting.task };
    let report = explore::explore(&Engine::Components, Setting::in_ram(task, &part, 1)).ok()?.report;
    let found =
        matches!(&report.verdict, Verdict::Violated(it) if matches!(it.kind, ViolationKind::Cycle { .. }));
    found.then_some(report)
}
