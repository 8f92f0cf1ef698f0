//! Accepted cycles found by depth-first search, before all states are known or in the place of sweeps.
//!
//! Sweeps ask about cycles when every state is known. A wrong run of a huge space is often found much earlier by going deep: so
//! when the exploration has a million states, and each time it has four times as many, a depth-first search for strongly connected
//! components (Couvreur 1999) sees up to a quarter as many first, in a quarter of the memory. That costs at most a third of
//! the exploration. Which of them finds something depends on the space and the budget, not on threads or resuming; smaller spaces
//! are answered by sweeps.
//!
//! Sweeps peel components one by one where an accepting state leads from each to the next: as many rounds as there are
//! components. So once they have cost twice what finding the states did, the same search answers in their place, if it fits in
//! memory beside what is known.

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
/// Sweeps that cost so many times what finding the states did are given up,
const PATIENCE: u64 = 2;
/// unless they have cost no more than this: about a second.
const SOON: u64 = 1_000_000_000;
/// What a depth-first search remembers of each state beside itself, its place in the index included, at most.
const BESIDE_STATE: u64 = 96;

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
pub(crate) enum EarlyEnd {
    /// A depth-first search found a cycle, when the exploration had so many states.
    Early(Report, u64),
    /// The exploration saw everything, or stopped.
    Whole(Explored),
    /// It saw everything, and a depth-first search answered in the place of sweeps.
    Handed(Explored),
}

/// How the work of an exploration and of what follows it stands.
#[derive(Default)]
struct Spent {
    transitions: u64,
    /// What was done when the last transition was fired that finds states.
    exploring: u64,
}

impl Spent {
    /// Whether sweeps have cost more than they may.
    fn is_too_much(&mut self, progress: &Progress) -> bool {
        if progress.transitions != self.transitions {
            (self.transitions, self.exploring) = (progress.transitions, progress.work);
        }
        progress.work - self.exploring > SOON.max(PATIENCE * self.exploring)
    }
}

/// Explores, and looks for cycles on the way.
pub(crate) fn explore(
    method: &dyn Method,
    setting: Setting,
    watch: &mut dyn FnMut(&Progress),
) -> Result<EarlyEnd, Trouble> {
    let mut explorer = method.explorer(setting)?;
    let mut next = FIRST;
    let mut look = |seen: u64| {
        while seen >= next {
            let at = next;
            next *= FURTHER;
            if let Some(found) = probe(setting, at / PART) {
                return Some(EarlyEnd::Early(found, at));
            }
        }
        None
    };
    let mut spent = Some(Spent::default());
    loop {
        let progress = explorer.step(STEP)?;
        watch(&progress);
        if progress.phase == Phase::Over {
            break;
        }
        if let Some(found) = look(progress.states) {
            return Ok(found);
        }
        if spent.as_mut().is_some_and(|spent| spent.is_too_much(&progress)) {
            // Once is enough: what did not fit will not fit later.
            spent = None;
            if let Some(verdict) = in_place_of_sweeps(setting, &progress, watch)? {
                return Ok(EarlyEnd::Handed(explorer.finish_with(verdict)?));
            }
        }
    }
    let whole = explorer.finish()?;
    let stopped = matches!(whole.report.verdict, Verdict::Stopped(_));
    let found = if stopped { None } else { look(whole.report.states) };
    Ok(found.unwrap_or(EarlyEnd::Whole(whole)))
}

/// The answer of a depth-first search through all states, beside those that are known; nothing where it does not fit, or must
/// stop.
fn in_place_of_sweeps(
    setting: Setting,
    known: &Progress,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Option<Verdict>, Trouble> {
    let room = setting.governor.available();
    let each = 8 * setting.task.space.words() as u64 + BESIDE_STATE;
    if known.states.saturating_mul(each) > room {
        return Ok(None);
    }
    let part = setting.governor.part(room);
    let report =
        explore::explore_watched(&Engine::Components, Setting::in_ram(setting.task, &part, 1), watch)?.report;
    Ok((!matches!(report.verdict, Verdict::Stopped(_))).then_some(report.verdict))
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
