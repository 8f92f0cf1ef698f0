//! `--find` unless an order is named: a guided search and breadth-first search take turns of counted work, so that a guide
//! that misleads, or takes long to prepare, costs little, and every run comes to the same answer by the same way.
//!
//! Both are explorers that are stepped. Turns have an order: guided, blind, guided, blind, and so on; the first turn that
//! ends with an answer gives it. How far a turn goes depends on counted work alone, so the answer, its trace and what was
//! seen until then are the same on every machine and for every number of threads. With several threads the blind search
//! runs ahead of its turns; what it did after the turn that decides is not part of the answer.
//!
//! The guided search may always have done as much as breadth-first search would have to do for its next layer, and its
//! start besides. So a guide that misleads costs about as much again as breadth-first search alone, and the start.

use crate::directed::{self, Asked, DirectedPlan, OnDisk};
use crate::error::CheckError;
use crate::preparation::Preparation;
use crate::searching::{Explored, Watch};
use hadal_exec::model::Model;
use hadal_search::layered::Trouble;
use hadal_search::ram::Breadth;
use hadal_search::{
    Control, Explorer, Method, Phase, Progress, Report, SearchTask, Setting, StopReason, Verdict,
};
use hadal_store::Governor;
use hadal_system::System;
use hadal_system::system::instance_count;
use hadal_system::visit;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// The work of the guided search's first turn: about what reading and compiling a small model takes, in nanoseconds.
const LEAST_START: u64 = 3_500_000;
/// What each expression, place and statement of its actions adds to that.
const START_PER_NODE: u64 = 3_500;
/// So many instances of an action count by themselves.
const MOST_INSTANCES: u64 = 16;
/// The first turn of breadth-first search is this part of the guided search's.
const FIRST_SHARE: u64 = 8;
/// The work of a step within a turn: interrupts are looked at between them.
const SLICE: u64 = 20_000_000;

/// What a directed search has to go by.
#[derive(Clone, Copy)]
pub(crate) struct Guiding<'a> {
    /// The model, for guides.
    pub model: &'a Model,
    /// What to explore.
    pub task: SearchTask<'a>,
    /// What the user named.
    pub asked: Asked,
    /// The memory budget.
    pub governor: &'a Governor,
    /// Threads that may be used.
    pub threads: usize,
    /// Whoever is told how searches stand.
    pub watch: Watch<'a>,
}

/// Explores as planned.
pub(crate) fn explore(plan: &DirectedPlan, guiding: Guiding, disk: OnDisk) -> Result<Explored, CheckError> {
    if plan.races() && !disk.resumed {
        return race(plan, guiding);
    }
    let Guiding { task, governor, watch, .. } = guiding;
    let preparation = Preparation::new(task.control, governor, watch);
    directed::explore(plan, guiding, &preparation, Some(disk))
}

fn is_decided(report: &Report) -> bool {
    !matches!(report.verdict, Verdict::Stopped(_))
}

/// Both searches, each with half of the memory: the first turn that decides gives the answer.
fn race(plan: &DirectedPlan, guiding: Guiding) -> Result<Explored, CheckError> {
    let (task, half) = (guiding.task, guiding.governor.limit() / 2);
    let turns = Turns { start: LEAST_START + size(guiding.model.system()) * START_PER_NODE };
    let (part, blind_part) = (guiding.governor.part(half), guiding.governor.part(half));
    let threads = guiding.threads.saturating_sub(1).max(1);
    let blind = Blind { turns, task, governor: &blind_part, threads };
    let control = Control::new(task.control.limits);
    let alone = Guiding { task: SearchTask { control: &control, ..task }, governor: &part, ..guiding };
    let guided = |beside: Beside| {
        let race = Race::new(turns, beside, task.control);
        let preparation = Preparation::new(&control, &part, guiding.watch).beside(&race);
        let explored = directed::explore(plan, alone, &preparation, None)?;
        race.joined(explored)
    };
    if guiding.threads == 1 {
        return guided(Beside::InTurns(Box::new(blind.begin()?)));
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let is_over = &is_over;
        scope.spawn(move || {
            for turn in blind.all(is_over) {
                // Nobody listens any more when the guided search has the answer.
                if sender.send(turn).is_err() {
                    break;
                }
            }
        });
        let joined = guided(Beside::Ahead(receiver));
        is_over.store(true, Ordering::Relaxed);
        joined
    })
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

/// How far turns go.
#[derive(Clone, Copy, Debug)]
struct Turns {
    /// The work of the guided search's first turn.
    start: u64,
}

impl Turns {
    /// What the guided search may have done at the end of its turn `n`, from 0.
    fn guided_quota(&self, n: usize) -> u64 {
        self.start.saturating_add(n.checked_sub(1).map_or(0, |before| self.blind_quota(before)))
    }

    /// What breadth-first search may have done at the end of its turn `n`, from 0: a quarter more than before.
    fn blind_quota(&self, n: usize) -> u64 {
        let first = (self.start / FIRST_SHARE).max(1);
        (0..n).fold(first, |quota, _| quota.saturating_add(quota / 4).saturating_add(1))
    }
}

/// What a turn of breadth-first search came to.
enum Turn {
    /// It goes on; how it stood.
    Mark(Progress),
    /// It is over.
    Over(Box<Report>),
    Failed(Trouble),
}

/// Breadth-first search to be made in turns.
#[derive(Clone, Copy)]
struct Blind<'a> {
    turns: Turns,
    task: SearchTask<'a>,
    governor: &'a Governor,
    threads: usize,
}

impl<'a> Blind<'a> {
    fn begin(self) -> Result<BlindSearch<'a>, Trouble> {
        let setting = Setting::in_ram(self.task, self.governor, self.threads);
        Ok(BlindSearch { turns: self.turns, made: 0, explorer: Some(Breadth.explorer(setting)?) })
    }

    /// One turn after the other until it is over, or the race is.
    fn all(self, is_over: &AtomicBool) -> impl Iterator<Item = Turn> {
        let mut search = Some(self.begin());
        std::iter::from_fn(move || {
            let turn = match search.as_mut()? {
                Ok(search) => search.turn(&|| is_over.load(Ordering::Relaxed)),
                Err(_) => match search.take()? {
                    Err(trouble) => Turn::Failed(trouble),
                    Ok(_) => return None,
                },
            };
            if !matches!(turn, Turn::Mark(_)) {
                search = None;
            }
            Some(turn)
        })
    }
}

/// Breadth-first search under way.
struct BlindSearch<'a> {
    turns: Turns,
    /// Turns that it has done.
    made: usize,
    explorer: Option<Box<dyn Explorer + 'a>>,
}

impl BlindSearch<'_> {
    /// Its next turn, unless the race is over. A turn ends before the layer that goes beyond it.
    fn turn(&mut self, is_over: &dyn Fn() -> bool) -> Turn {
        let quota = self.turns.blind_quota(self.made);
        self.made += 1;
        self.until(quota, is_over)
    }

    fn until(&mut self, quota: u64, is_over: &dyn Fn() -> bool) -> Turn {
        loop {
            let Some(explorer) = &mut self.explorer else {
                return Turn::Failed(Trouble::NothingToResume);
            };
            let now = explorer.progress();
            if now.phase == Phase::Over || is_over() {
                let finished = self.explorer.take().map(|explorer| explorer.finish());
                return match finished {
                    Some(Ok(explored)) => Turn::Over(Box::new(explored.report)),
                    Some(Err(trouble)) => Turn::Failed(trouble),
                    None => Turn::Failed(Trouble::NothingToResume),
                };
            }
            if now.phase == Phase::Between && now.work.saturating_add(now.ahead) >= quota {
                return Turn::Mark(now);
            }
            if let Err(trouble) = explorer.step(quota.saturating_sub(now.work).clamp(1, SLICE)) {
                return Turn::Failed(trouble);
            }
        }
    }
}

/// How the turns of breadth-first search are made.
enum Beside<'a> {
    /// When they come.
    InTurns(Box<BlindSearch<'a>>),
    /// On a thread of their own, ahead.
    Ahead(Receiver<Turn>),
}

/// Decides how far a guided search may go before another one has its turn.
pub(crate) trait Pace {
    /// Counts work of preparing the guide. Returns when it may go on, or why it may not.
    fn prepare(&self, work: u64) -> Option<StopReason>;

    /// Told that another guided search follows one with this much work.
    fn begin_another(&self, work: u64);

    /// Lets the other search have its turns, once the guided search, with this much work, has done its own. Returns when that
    /// may go on, or why it may not.
    fn await_turn(&self, work: u64) -> Option<StopReason>;

    /// What the guided search, with this much work, may do before it must wait for its turn again.
    fn allowance(&self, work: u64) -> u64;

    /// Whether the whole check was asked to stop.
    fn is_interrupted(&self) -> bool;
}

/// A guided search with breadth-first search beside it.
struct Race<'a> {
    turns: Turns,
    standing: RefCell<Standing<'a>>,
    /// The reins of the whole check.
    control: &'a Control,
}

struct Standing<'a> {
    beside: Beside<'a>,
    /// How breadth-first search stood at the end of each of its turns.
    marks: Vec<Progress>,
    /// What it came to, once it is over.
    blind: Option<Result<Box<Report>, Trouble>>,
    /// Turns that the guided search has done.
    guided_turns: usize,
    /// Work that went before the guided search that is under way: preparing its guide, and searches before it.
    prepared: u64,
}

impl<'a> Race<'a> {
    fn new(turns: Turns, beside: Beside<'a>, control: &'a Control) -> Self {
        let (marks, blind, guided_turns, prepared) = (Vec::new(), None, 0, 0);
        let standing = RefCell::new(Standing { beside, marks, blind, guided_turns, prepared });
        Race { turns, standing, control }
    }

    /// What the two searches say together, of which the guided one came to this.
    fn joined(self, mut guided: Explored) -> Result<Explored, CheckError> {
        let mut standing = self.standing.into_inner();
        if is_decided(&guided.report) {
            let (states, transitions) = standing.blind_before()?;
            if let Some(figures) = &mut guided.report.particular.directed {
                figures.blind += states;
            }
            if guided.report.verdict != Verdict::Holds {
                guided.report.states += states;
                guided.report.transitions += transitions;
            }
            guided.decisions.push(format!(
                "  the guided search was first; breadth-first search had seen {states} states beside it"
            ));
            return Ok(guided);
        }
        let blind = standing.blind_to_the_end()?;
        guided.decisions.push(format!(
            "  breadth-first search was first; the guided search had seen {} states beside it",
            guided.report.states
        ));
        // What was seen before the answer counts; where nothing is decided, the search that ended last says why.
        let (beside, verdict) = match (&blind.verdict, guided.report.verdict) {
            (Verdict::Holds, _) => (0, None),
            (
                Verdict::Stopped(_),
                Verdict::Stopped(reason @ (StopReason::TimeLimit | StopReason::Interrupted)),
            ) => (guided.report.states, Some(Verdict::Stopped(reason))),
            _ => (guided.report.states, None),
        };
        let verdict = verdict.unwrap_or(blind.verdict);
        let mut report = Report { states: blind.states + beside, verdict, ..blind };
        report.particular.directed = guided.report.particular.directed;
        if let Some(figures) = &mut report.particular.directed {
            figures.blind += blind.states;
        }
        Ok(Explored { report, decisions: guided.decisions })
    }
}

impl Pace for Race<'_> {
    fn prepare(&self, work: u64) -> Option<StopReason> {
        self.standing.borrow_mut().prepared += work;
        self.await_turn(0)
    }

    fn begin_another(&self, work: u64) {
        self.standing.borrow_mut().prepared += work;
    }

    fn await_turn(&self, work: u64) -> Option<StopReason> {
        let mut standing = self.standing.borrow_mut();
        let done = standing.prepared.saturating_add(work);
        loop {
            let turn = standing.guided_turns;
            if turn <= standing.marks.len() {
                if done < self.turns.guided_quota(turn) {
                    return None;
                }
                standing.guided_turns += 1;
                continue;
            }
            match &standing.blind {
                Some(Ok(report)) if !is_decided(report) => return None,
                Some(_) => return Some(StopReason::Interrupted),
                None => standing.blind_turn(),
            }
        }
    }

    fn allowance(&self, work: u64) -> u64 {
        let standing = self.standing.borrow();
        if standing.blind.is_some() && standing.guided_turns > standing.marks.len() {
            return SLICE;
        }
        let quota = self.turns.guided_quota(standing.guided_turns);
        quota.saturating_sub(standing.prepared.saturating_add(work)).clamp(1, SLICE)
    }

    fn is_interrupted(&self) -> bool {
        self.control.is_interrupted()
    }
}

impl Standing<'_> {
    /// Breadth-first search has its next turn.
    fn blind_turn(&mut self) {
        let turn = match &mut self.beside {
            Beside::InTurns(blind) => blind.turn(&|| false),
            // The other thread ends after it said that it is over.
            Beside::Ahead(turns) => turns.recv().unwrap_or(Turn::Failed(Trouble::NothingToResume)),
        };
        match turn {
            Turn::Mark(mark) => self.marks.push(mark),
            Turn::Over(report) => self.blind = Some(Ok(report)),
            Turn::Failed(trouble) => self.blind = Some(Err(trouble)),
        }
    }

    /// States and transitions that breadth-first search had seen before the turn that the guided search is in; all of them
    /// where that goes on after breadth-first search ended.
    fn blind_before(&mut self) -> Result<(u64, u64), CheckError> {
        let Some(before) = self.guided_turns.checked_sub(1) else { return Ok((0, 0)) };
        if let Some(mark) = self.marks.get(before) {
            return Ok((mark.states, mark.transitions));
        }
        let report = self.blind_to_the_end()?;
        Ok((report.states, report.transitions))
    }

    /// What breadth-first search comes to when nothing runs beside it any more.
    fn blind_to_the_end(&mut self) -> Result<Report, CheckError> {
        loop {
            match self.blind.take() {
                Some(Ok(report)) => return Ok(*report),
                Some(Err(trouble)) => return Err(trouble.into()),
                None => match &mut self.beside {
                    Beside::InTurns(blind) => match blind.until(u64::MAX, &|| false) {
                        Turn::Mark(_) => {}
                        Turn::Over(report) => self.blind = Some(Ok(report)),
                        Turn::Failed(trouble) => self.blind = Some(Err(trouble)),
                    },
                    Beside::Ahead(_) => self.blind_turn(),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
