//! Depth-first search in RAM on any number of threads.
//!
//! Each thread keeps a stack of open states and expands the newest; a thread that runs dry is given the oldest half
//! of another's stack. Every state remembers its parent, so a trace is there at once; it need not be short.

use super::Search;
use super::breadth::TABLE;
use crate::finding::Finding;
use crate::lane::{Lane, Parents, take_finding, total_counts};
use crate::report::{Report, StopReason, Verdict, Violation};
use crate::run::{Answer, complete, out_of_memory};
use hadal_store::table::{StateRef, StateTable};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Stacks shorter than this are not shared.
const WORTH_SHARING: usize = 64;
/// Expansions between two looks at limits and at hungry threads.
const STRIDE: usize = 256;

/// Stacks handed over, and how many threads wait for one.
struct Exchange {
    offered: Mutex<Offers>,
    arrived: Condvar,
    hungry: AtomicUsize,
    threads: usize,
}

struct Offers {
    stacks: Vec<Vec<StateRef>>,
    ended: Option<End>,
}

#[derive(Clone)]
enum End {
    Exhausted,
    Found,
    Stopped(StopReason),
}

/// Explores depth-first until everything is seen, something is wrong, or a limit is met.
///
/// Liveness properties need breadth-first layers: ask about them there.
pub fn explore(search: &Search) -> Report {
    let writers = search.threads.max(1);
    let table = match StateTable::new(search.task.space.words(), 1, writers, search.governor) {
        Ok(table) => table,
        Err(full) => {
            let verdict = Verdict::Stopped(out_of_memory(full));
            return Report::of_nothing(search.task, search.governor, verdict, TABLE);
        }
    };
    let mut lanes: Vec<Lane> = (0..writers).map(|n| Lane::new(search.task, n, Parents::Kept)).collect();
    let end = match lanes[0].start(&table) {
        Err(full) => End::Stopped(out_of_memory(full)),
        Ok(()) if lanes[0].finding.is_some() => End::Found,
        Ok(()) => {
            let first: Vec<StateRef> = lanes[0].fresh.iter().rev().copied().collect();
            descend(search, &table, &mut lanes, first)
        }
    };
    let finding = take_finding(&mut lanes);
    let counts = total_counts(&lanes, search.task.space);
    let verdict = match (finding, end) {
        (Some(finding), _) => Verdict::Violated(violation(&table, finding)),
        (None, End::Stopped(reason)) => Verdict::Stopped(reason),
        (None, _) => complete(search.task, &counts.covers),
    };
    let transitions = lanes.iter().map(|l| l.transitions).sum();
    let answer = Answer { verdict, states: table.len(), transitions, counts: &counts, stages: vec![TABLE] };
    answer.report(search.task, search.governor)
}

fn violation(table: &StateTable, finding: Finding) -> Violation {
    let mut path = Vec::new();
    let mut at = table.find(&finding.state);
    while let Some(here) = at {
        path.push(table.state(here).to_vec());
        let parent = table.extra(here)[0];
        at = (parent != u64::MAX).then(|| StateRef::from_word(parent));
    }
    path.reverse();
    Violation { kind: finding.kind, path, shortest: false }
}

fn descend<'a>(
    search: &'a Search<'a>,
    table: &'a StateTable,
    lanes: &mut [Lane<'a>],
    first: Vec<StateRef>,
) -> End {
    let exchange = Exchange {
        offered: Mutex::new(Offers { stacks: vec![first], ended: None }),
        arrived: Condvar::new(),
        hungry: AtomicUsize::new(0),
        threads: lanes.len(),
    };
    match lanes {
        [only] => work(search, table, only, &exchange),
        many => std::thread::scope(|scope| {
            for lane in many {
                scope.spawn(|| work(search, table, lane, &exchange));
            }
        }),
    }
    let offers = exchange.offered.into_inner().unwrap_or_else(|e| e.into_inner());
    offers.ended.unwrap_or(End::Exhausted)
}

fn work(search: &Search, table: &StateTable, lane: &mut Lane, exchange: &Exchange) {
    let mut stack: Vec<StateRef> = Vec::new();
    loop {
        if stack.is_empty() {
            match exchange.wait_for_work() {
                Some(offered) => stack = offered,
                None => return,
            }
        }
        for _ in 0..STRIDE {
            let Some(at) = stack.pop() else { break };
            if let Err((_, full)) = lane.expand(table, 1, |_| (table.state(at), at.to_word())) {
                return exchange.end(End::Stopped(out_of_memory(full)));
            }
            stack.extend(lane.fresh.iter().rev());
        }
        if lane.finding.is_some() {
            return exchange.end(End::Found);
        }
        search.task.control.gauges.states.store(table.len(), Ordering::Relaxed);
        search.task.control.gauges.frontier.store(stack.len() as u64, Ordering::Relaxed);
        if let Some(reason) = search.task.control.must_stop(table.len()) {
            return exchange.end(End::Stopped(reason));
        }
        if exchange.hungry.load(Ordering::Relaxed) > 0 && stack.len() >= WORTH_SHARING {
            let older: Vec<StateRef> = stack.drain(..stack.len() / 2).collect();
            exchange.offer(older);
        }
        if exchange.is_over() {
            return;
        }
    }
}

impl Exchange {
    fn lock(&self) -> std::sync::MutexGuard<'_, Offers> {
        self.offered.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn offer(&self, stack: Vec<StateRef>) {
        self.lock().stacks.push(stack);
        self.arrived.notify_one();
    }

    fn end(&self, how: End) {
        self.lock().ended.get_or_insert(how);
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
