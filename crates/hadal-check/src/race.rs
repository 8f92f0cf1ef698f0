//! `--find` unless an order is named: a guided search, a depth-first and a breadth-first one take turns of counted work, so
//! that a guide that misleads, or takes long to prepare, costs little, and every run comes to the same answer by the same way.
//!
//! All are explorers that are stepped. Turns have an order: guided, depth-first, breadth-first, guided, and so on; the first
//! turn that ends with an answer gives it. How far a turn goes depends on counted work alone, so the answer, its trace and
//! what was seen until then are the same on every machine and for every number of threads. With several threads the
//! breadth-first search runs ahead of its turns; what it did after the turn that decides is not part of the answer.
//!
//! The guided search has a start, and after that it and the depth-first search get fixed shares of what breadth-first search
//! does: a guide that misleads costs these shares and the start. Breadth-first search is the search that would explore
//! everything without `--find`, in its own folder: where the others end without an answer, it simply goes on.

mod turns;

use crate::directed::{self, Asked, DirectedPlan, OnDisk};
use crate::error::CheckError;
use crate::preparation::Preparation;
use crate::searching::{Explored, Watch};
use hadal_exec::model::Model;
use hadal_search::directed::{Counting, Directed, DirectedOptions, Order, Trail};
use hadal_search::explore::Run;
use hadal_search::layered::Trouble;
use hadal_search::{Control, Method, Progress, Report, SearchTask, Setting, StopReason, Verdict};
use hadal_store::Governor;
use hadal_system::System;
use hadal_system::guide::Blind as NoGuide;
use hadal_system::system::instance_count;
use hadal_system::visit;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use turns::{Blind, BlindSearch, DepthSearch, SLICE, Turn, Turns};

/// The work of the guided search's first turn: about a fifth of what reading and compiling a small model takes, in nanoseconds.
const LEAST_START: u64 = 1_500_000;
/// What each expression, place and statement of its actions adds to that.
const START_PER_NODE: u64 = 1_500;
/// So many instances of an action count by themselves.
const MOST_INSTANCES: u64 = 16;
/// What the guided search may hold of the memory, and what depth-first search may, in eighths.
const GUIDED_EIGHTHS: u64 = 2;
const DEPTH_EIGHTHS: u64 = 1;
/// A trace this many times as long as a shortest one may be is looked at again, in percent.
const LONG_PERCENT: u64 = 125;
/// States around a trace that is looked at again: this part of those seen.
const AROUND_SHARE: u64 = 4;

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

/// The search that would explore everything, and where it keeps what it has.
#[derive(Clone, Copy)]
pub(crate) struct Usual<'a> {
    pub method: &'a dyn Method,
    pub run: Run<'a>,
}

/// Explores as planned.
pub(crate) fn explore(
    plan: &DirectedPlan,
    guiding: Guiding,
    disk: OnDisk,
    usual: Usual,
) -> Result<Explored, CheckError> {
    if plan.races() && !disk.resumed {
        return race(plan, guiding, usual);
    }
    let Guiding { task, governor, watch, .. } = guiding;
    let preparation = Preparation::new(task.control, governor, watch);
    directed::explore(plan, guiding, &preparation, Some(disk))
}

fn is_decided(report: &Report) -> bool {
    !matches!(report.verdict, Verdict::Stopped(_))
}

/// The memory of each search.
struct Parts {
    guided: Governor,
    depth: Governor,
    blind: Governor,
}

impl Parts {
    fn of(whole: &Governor) -> Self {
        let eighth = whole.limit() / 8;
        let (guided, depth) = (eighth * GUIDED_EIGHTHS, eighth * DEPTH_EIGHTHS);
        let blind = whole.part(whole.limit() - guided - depth);
        Parts { guided: whole.part(guided), depth: whole.part(depth), blind }
    }
}

/// All searches, each with its part of the memory: the first turn that decides gives the answer.
fn race(plan: &DirectedPlan, guiding: Guiding, usual: Usual) -> Result<Explored, CheckError> {
    let Guiding { model, task, asked, governor: whole, threads, watch } = guiding;
    let turns = Turns { start: LEAST_START + size(model.system()) * START_PER_NODE };
    let parts = Parts::of(whole);
    let blind_threads = threads.saturating_sub(1).max(1);
    let setting = Setting { task, governor: &parts.blind, threads: blind_threads, run: usual.run };
    let blind = Blind { turns, method: usual.method, setting };
    let control = Control::new(task.control.limits);
    let leading = Leading {
        plan,
        model,
        task: SearchTask { control: &control, ..task },
        asked,
        turns,
        threads,
        whole,
        parts: &parts,
        control: task.control,
    };
    if threads == 1 {
        return leading.run(Beside::InTurns(Box::new(blind.begin()?)), watch);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let (leading, over) = (&leading, &is_over);
        let led = scope.spawn(move || {
            let explored = leading.run(Beside::Ahead(receiver), &|_| {});
            over.store(true, Ordering::Relaxed);
            explored
        });
        for turn in blind.all(over) {
            if let Turn::Mark(now) = &turn {
                watch(now);
            }
            // Nobody listens any more when another search has the answer.
            if sender.send(turn).is_err() {
                break;
            }
        }
        drop(sender);
        led.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The guided and the depth-first search, which breadth-first search runs beside.
struct Leading<'a> {
    plan: &'a DirectedPlan,
    model: &'a Model,
    /// What to explore, with reins of their own.
    task: SearchTask<'a>,
    asked: Asked,
    turns: Turns,
    threads: usize,
    whole: &'a Governor,
    parts: &'a Parts,
    /// The reins of the whole check.
    control: &'a Control,
}

impl Leading<'_> {
    fn run(&self, beside: Beside, watch: Watch) -> Result<Explored, CheckError> {
        let &Leading { plan, model, task, asked, turns, threads, whole, parts, control } = self;
        let goal = directed::goal(task.space, task.question, asked);
        let layer = directed::interfering_first(model, task.space, &goal)?;
        let options = DirectedOptions {
            order: Order::Depth,
            counting: Counting::EveryExpansion,
            ..DirectedOptions::default()
        };
        let deep = Directed { guide: &NoGuide, goal: &goal, priority: &*layer, options };
        let explorer = deep.explorer(Setting::in_ram(task, &parts.depth, 1))?;
        let race = Race::new(turns, beside, DepthSearch::new(Some(explorer)), control);
        let explored = {
            let preparation = Preparation::new(task.control, &parts.guided, watch).beside(&race);
            let guiding = Guiding { model, task, asked, governor: &parts.guided, threads, watch };
            directed::explore(plan, guiding, &preparation, None)?
        };
        let mut joined = race.joined(explored, &parts.blind, whole)?;
        shorten(&mut joined, task, &parts.guided)?;
        Ok(joined.explored)
    }
}

/// Looks for a shorter trace around one that may be long, among a few more states than were seen.
fn shorten(joined: &mut Joined, task: SearchTask, governor: &Governor) -> Result<(), CheckError> {
    let Joined { explored: Explored { report, decisions }, least_length } = joined;
    let Verdict::Violated(violation) = &report.verdict else { return Ok(()) };
    let (length, steps) = (violation.path.len().saturating_sub(1) as u64, task.space.costs().is_steps());
    if violation.shortest || !steps || length * 100 <= *least_length * LONG_PERCENT {
        return Ok(());
    }
    let trail = Trail { violation, most_states: report.states / AROUND_SHARE };
    let shortened = trail.shortened(task, governor)?;
    if let Some(shorter) = shortened.violation {
        decisions.push(format!(
            "  among {} states around the trace there is one of {} steps instead of {length}",
            shortened.states,
            shorter.path.len() - 1
        ));
        report.verdict = Verdict::Violated(shorter);
    }
    report.states += shortened.added;
    report.transitions += shortened.transitions;
    Ok(())
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

    /// What the guided search, with this much work, has done with all that went before it.
    fn done(&self, work: u64) -> u64;

    /// What the guided search may do before another has its first turn.
    fn start(&self) -> u64;

    /// What the guided search, with this much work, may do before it must wait for its turn again.
    fn allowance(&self, work: u64) -> u64;

    /// Whether the whole check was asked to stop.
    fn is_interrupted(&self) -> bool;
}

/// What a race came to, and how many steps its trace must have at least.
struct Joined {
    explored: Explored,
    least_length: u64,
}

/// A guided search with the others beside it.
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
    depth: DepthSearch<'a>,
    /// What depth-first search found.
    deep: Option<Result<Report, Trouble>>,
    /// Turns that the guided search has done.
    guided_turns: usize,
    /// Work that went before the guided search that is under way: preparing its guide, and searches before it.
    prepared: u64,
}

impl<'a> Race<'a> {
    fn new(turns: Turns, beside: Beside<'a>, depth: DepthSearch<'a>, control: &'a Control) -> Self {
        let (marks, blind, guided_turns, prepared) = (Vec::new(), None, 0, 0);
        let standing = Standing { beside, marks, blind, depth, deep: None, guided_turns, prepared };
        Race { turns, standing: RefCell::new(standing), control }
    }

    /// What the searches say together, of which the guided one came to this. Breadth-first search, held to its `part` so far,
    /// has the `whole` memory where it goes on alone.
    fn joined(self, mut guided: Explored, part: &Governor, whole: &Governor) -> Result<Joined, CheckError> {
        let mut standing = self.standing.into_inner();
        let deep = standing.deep.take().transpose()?;
        if is_decided(&guided.report) || deep.is_some() {
            // Depth-first search has its turn after all of these, the guided search before the next of its own.
            let turns = if deep.is_some() { standing.marks.len() } else { standing.guided_turns };
            let (states, transitions, least_length) = standing.blind_after(turns)?;
            let mut beside = (states + standing.depth.seen.0, transitions + standing.depth.seen.1);
            let first = if deep.is_some() { "depth-first" } else { "guided" };
            guided.decisions.push(format!(
                "  the {first} search was first; breadth-first search had seen {states} states beside it, the other {}",
                if deep.is_some() { guided.report.states } else { standing.depth.seen.0 }
            ));
            if let Some(deep) = deep {
                beside = (states + guided.report.states, transitions + guided.report.transitions);
                guided.report = deep;
            }
            if let Some(figures) = &mut guided.report.particular.directed {
                figures.blind += states;
            }
            if guided.report.verdict != Verdict::Holds {
                guided.report.states += beside.0;
                guided.report.transitions += beside.1;
            }
            return Ok(Joined { explored: guided, least_length });
        }
        let seen = guided.report.states + standing.depth.seen.0;
        // Its memory is there for the search that goes on.
        standing.depth = DepthSearch::new(None);
        part.set_limit(whole.limit());
        let blind = standing.blind_to_the_end()?;
        guided
            .decisions
            .push(format!("  breadth-first search was first; the others had seen {seen} states beside it"));
        // What was seen before the answer counts; where nothing is decided, the search that ended last says why.
        let (beside, verdict) = match (&blind.verdict, guided.report.verdict) {
            (Verdict::Holds, _) => (0, None),
            (
                Verdict::Stopped(_),
                Verdict::Stopped(reason @ (StopReason::TimeLimit | StopReason::Interrupted)),
            ) => (seen, Some(Verdict::Stopped(reason))),
            _ => (seen, None),
        };
        let verdict = verdict.unwrap_or(blind.verdict);
        let mut report = Report { states: blind.states + beside, verdict, ..blind };
        report.particular.directed = guided.report.particular.directed;
        if let Some(figures) = &mut report.particular.directed {
            figures.blind += blind.states;
        }
        let explored = Explored { report, decisions: guided.decisions };
        Ok(Joined { explored, least_length: 0 })
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
                None => {}
            }
            standing.deep = standing.depth.turn(self.turns).transpose();
            if standing.deep.is_some() {
                return Some(StopReason::Interrupted);
            }
            standing.blind_turn();
        }
    }

    fn done(&self, work: u64) -> u64 {
        self.standing.borrow().prepared.saturating_add(work)
    }

    fn start(&self) -> u64 {
        self.turns.start
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

    /// States and transitions that breadth-first search had seen after so many turns, and the steps that every trace has at
    /// least; all of them where another search goes on after breadth-first search ended.
    fn blind_after(&mut self, turns: usize) -> Result<(u64, u64, u64), CheckError> {
        let Some(last) = turns.checked_sub(1) else { return Ok((0, 0, 0)) };
        let found = |depth: Option<u64>| depth.unwrap_or(0).saturating_sub(1);
        if let Some(mark) = self.marks.get(last) {
            return Ok((mark.states, mark.transitions, found(mark.depth)));
        }
        let report = self.blind_to_the_end()?;
        Ok((report.states, report.transitions, found(report.depth)))
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
