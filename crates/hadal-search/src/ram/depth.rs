//! Depth-first search in RAM on any number of threads.
//!
//! Each thread keeps a stack of open states and expands the newest; a thread that runs dry is given the oldest half
//! of another's stack. Every state remembers its parent, so a trace is there at once; it need not be short.

use super::breadth::{STATE_WORK, TABLE, TRANSITION_WORK};
use crate::explore::{Explored, Explorer, Method, Over, Phase, Progress, Setting};
use crate::finding::Finding;
use crate::lane::{Lane, Parents, SearchTask, take_finding, total_counts};
use crate::layered::Trouble;
use crate::report::{Report, StopReason, Verdict, Violation};
use crate::run::{Answer, complete, out_of_memory};
use crate::strategies::Resumes;
use hadal_store::Governor;
use hadal_store::table::{StateRef, StateTable, Writer};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Stacks shorter than this are not shared.
const WORTH_SHARING: usize = 64;
/// Expansions between two looks at limits and at hungry threads.
const STRIDE: usize = 256;

/// Depth-first search in RAM. Liveness properties need breadth-first layers: ask about them there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Depth;

impl Method for Depth {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let Setting { task, governor, threads, .. } = setting;
        let writers = threads.max(1);
        let table = match StateTable::new(task.space.words(), 1, writers, governor) {
            Ok(table) => table,
            Err(full) => {
                let verdict = Verdict::Stopped(out_of_memory(full));
                return Ok(Box::new(Over::new(Report::of_nothing(task, governor, verdict, TABLE))));
            }
        };
        let lanes = (0..writers).map(|_| Lane::new(task, Parents::Kept)).collect();
        Ok(Box::new(Descent { task, governor: governor.clone(), table, lanes, stacks: None, end: None }))
    }
}

/// A depth-first search under way.
struct Descent<'a> {
    task: SearchTask<'a>,
    governor: Governor,
    table: StateTable,
    lanes: Vec<Lane<'a>>,
    /// Open states, as the threads left them; none before the initial states.
    stacks: Option<Vec<Vec<StateRef>>>,
    end: Option<End>,
}

/// Stacks handed over, and how many threads wait for one.
struct Exchange {
    offered: Mutex<Offers>,
    arrived: Condvar,
    hungry: AtomicUsize,
    threads: usize,
    /// Transitions of this step, and how many it has.
    fired: AtomicU64,
    most: u64,
}

struct Offers {
    stacks: Vec<Vec<StateRef>>,
    ended: Option<End>,
}

#[derive(Clone, PartialEq, Eq)]
enum End {
    Exhausted,
    Found,
    Stopped(StopReason),
    /// The work of the step is done.
    Paused,
}

impl Descent<'_> {
    /// Puts the initial states on the stack.
    fn start(&mut self) {
        self.end = match self.lanes[0].start(&mut self.table.share().1[0]) {
            Err(full) => Some(End::Stopped(out_of_memory(full))),
            Ok(()) if self.lanes[0].finding.is_some() => Some(End::Found),
            Ok(()) => None,
        };
        self.stacks = Some(vec![self.table.added_since(0, 0).rev().collect()]);
    }

    /// Expands open states on all threads.
    fn descend(&mut self, work: u64) {
        let exchange = Exchange {
            offered: Mutex::new(Offers { stacks: self.stacks.take().unwrap_or_default(), ended: None }),
            arrived: Condvar::new(),
            hungry: AtomicUsize::new(0),
            threads: self.lanes.len(),
            fired: AtomicU64::new(0),
            most: work / TRANSITION_WORK,
        };
        let (task, (_, mut writers)) = (self.task, self.table.share());
        match self.lanes.as_mut_slice() {
            [only] => exchange.work(task, only, &mut writers[0]),
            many => std::thread::scope(|scope| {
                for (lane, writer) in many.iter_mut().zip(&mut writers) {
                    scope.spawn(|| exchange.work(task, lane, writer));
                }
            }),
        }
        let offers = exchange.offered.into_inner().unwrap_or_else(|e| e.into_inner());
        self.stacks = Some(offers.stacks);
        self.end = offers.ended.filter(|end| *end != End::Paused);
    }

    fn fired(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.transitions).sum()
    }
}

impl Explorer for Descent<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        if self.stacks.is_none() {
            self.start();
        }
        if self.end.is_none() {
            self.descend(work);
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let (states, transitions) = (self.table.len(), self.fired());
        let phase = match (&self.end, &self.stacks) {
            (Some(_), _) => Phase::Over,
            (None, None) => Phase::Between,
            (None, Some(_)) => Phase::Within,
        };
        Progress {
            phase,
            depth: None,
            states,
            transitions,
            work: transitions * TRANSITION_WORK + states * STATE_WORK,
            ahead: 0,
            memory: self.governor.current(),
            disk: 0,
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Explored, Trouble> {
        let finding = take_finding(&mut self.lanes);
        let counts = total_counts(&self.lanes, self.task.space);
        let verdict = match (finding, self.end.take()) {
            (Some(finding), _) => Verdict::Violated(violation(&self.table, finding)),
            (None, Some(End::Stopped(reason))) => Verdict::Stopped(reason),
            (None, None | Some(End::Paused)) => Verdict::Stopped(StopReason::Interrupted),
            (None, Some(End::Exhausted | End::Found)) => complete(self.task, &counts.covers),
        };
        let (states, transitions) = (self.table.len(), self.fired());
        let answer = Answer { verdict, states, transitions, counts: &counts, stages: vec![TABLE] };
        Ok(Explored::leaving(answer.report(self.task, &self.governor), Resumes::Nothing))
    }
}

fn violation(table: &StateTable, finding: Finding) -> Violation {
    let mut path = Vec::new();
    let mut at = table.find(&finding.state);
    while let Some(here) = at {
        path.push(table.state(here).to_vec());
        let parent = table.extra(here)[0];
        // An initial state has none.
        at = table.reference(parent);
    }
    path.reverse();
    Violation { kind: finding.kind, path, shortest: false }
}

impl Exchange {
    /// One thread's part of a step.
    fn work(&self, task: SearchTask, lane: &mut Lane, writer: &mut Writer) {
        let table = writer.table();
        let mut stack: Vec<StateRef> = Vec::new();
        loop {
            if stack.is_empty() {
                match self.wait_for_work() {
                    Some(offered) => stack = offered,
                    None => return,
                }
            }
            let before = lane.transitions;
            for _ in 0..STRIDE {
                let Some(at) = stack.pop() else { break };
                let known = table.added_by(writer.number());
                if let Err((_, full)) = lane.expand(writer, 1, |_, _| (table.state(at), at.to_word())) {
                    return self.end(End::Stopped(out_of_memory(full)));
                }
                stack.extend(table.added_since(writer.number(), known).rev());
            }
            if lane.finding.is_some() {
                return self.end(End::Found);
            }
            task.control.gauges.states.store(table.len(), Ordering::Relaxed);
            task.control.gauges.frontier.store(stack.len() as u64, Ordering::Relaxed);
            if let Some(reason) = task.control.must_stop(table.len()) {
                return self.end(End::Stopped(reason));
            }
            let here = lane.transitions - before;
            if self.fired.fetch_add(here, Ordering::Relaxed) + here >= self.most && !stack.is_empty() {
                self.offer(stack);
                return self.end(End::Paused);
            }
            if self.hungry.load(Ordering::Relaxed) > 0 && stack.len() >= WORTH_SHARING {
                let older: Vec<StateRef> = stack.drain(..stack.len() / 2).collect();
                self.offer(older);
            }
            if self.is_over() {
                // What is left waits for the next step.
                return self.offer(stack);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Offers> {
        self.offered.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn offer(&self, stack: Vec<StateRef>) {
        self.lock().stacks.push(stack);
        self.arrived.notify_one();
    }

    /// Ends the step; the end of the search goes before a pause.
    fn end(&self, how: End) {
        let mut offers = self.lock();
        if matches!(offers.ended, None | Some(End::Paused)) {
            offers.ended = Some(how);
        }
        self.arrived.notify_all();
    }

    fn is_over(&self) -> bool {
        self.threads > 1 && self.lock().ended.is_some()
    }

    /// A stack somebody offered; `None` when the search is over.
    fn wait_for_work(&self) -> Option<Vec<StateRef>> {
        let mut offers = self.lock();
        self.hungry.fetch_add(1, Ordering::Relaxed);
        loop {
            if offers.ended.is_some() {
                return None;
            }
            if let Some(stack) = offers.stacks.pop() {
                self.hungry.fetch_sub(1, Ordering::Relaxed);
                return Some(stack);
            }
            if self.hungry.load(Ordering::Relaxed) == self.threads {
                offers.ended = Some(End::Exhausted);
                self.arrived.notify_all();
                return None;
            }
            offers = self.arrived.wait(offers).unwrap_or_else(|e| e.into_inner());
        }
    }
}
