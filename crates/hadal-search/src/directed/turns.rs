//! Two searches of one question in turns of counted work: a guided one, and breadth-first search beside it.
//!
//! The turns have an order: guided, blind, guided, blind, and so on; the first that ends with an answer gives it. How far
//! each turn goes depends on counted work alone, so the answer, its trace and what was seen until then are the same on
//! every machine and for every number of threads. With several threads both searches run at once, each ahead of its turn where it can;
//! what breadth-first search did after the turn that decides is not part of the answer.
//!
//! The guided search may always have done as much as breadth-first search would have to do for its next layer, and its
//! start besides. So a guide that misleads costs about as much again as breadth-first search alone, and the start.

use crate::control::{Done, Pace};
use crate::report::StopReason;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The first turn of breadth-first search is this part of the guided search's.
const FIRST_SHARE: u64 = 8;
/// How long a wait lasts before limits are looked at.
const GLANCE: Duration = Duration::from_millis(10);

/// Whether both searches may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// On threads of their own.
    Together,
    /// One after the other.
    InTurns,
}

/// How one of the searches stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Going,
    /// It has the answer.
    Decided,
    /// It ended without one.
    Ended,
}

/// Who may go how far.
#[derive(Debug)]
pub struct Turns {
    /// The work of the guided search's first turn.
    start: u64,
    running: Running,
    standing: Mutex<Standing>,
    changed: Condvar,
}

#[derive(Debug)]
struct Standing {
    /// What breadth-first search had done at the end of each of its turns.
    marks: Vec<Done>,
    blind: Side,
    /// Turns that the guided search has done.
    guided_turns: usize,
    guided: Side,
}

impl Turns {
    /// Turns of which the guided search's first has this much work.
    pub fn new(start: u64, running: Running) -> Arc<Self> {
        let (marks, guided_turns) = (Vec::new(), 0);
        let standing = Standing { marks, blind: Side::Going, guided_turns, guided: Side::Going };
        Arc::new(Turns { start, running, standing: Mutex::new(standing), changed: Condvar::new() })
    }

    /// The pace of the guided search, of which preparing the guide is part.
    pub fn guided(self: &Arc<Self>) -> Arc<GuidedPace> {
        Arc::new(GuidedPace {
            turns: Arc::clone(self),
            prepared: AtomicU64::new(0),
            searched: AtomicU64::new(0),
        })
    }

    /// The pace of breadth-first search.
    pub fn blind(self: &Arc<Self>) -> Arc<dyn Pace> {
        Arc::new(BlindPace { turns: Arc::clone(self) })
    }

    /// Told that the guided search is over.
    pub fn guided_is_over(&self, decided: bool) {
        self.lock().guided = if decided { Side::Decided } else { Side::Ended };
        self.changed.notify_all();
    }

    /// Told that breadth-first search is over.
    pub fn blind_is_over(&self, decided: bool) {
        self.lock().blind = if decided { Side::Decided } else { Side::Ended };
        self.changed.notify_all();
    }

    /// What breadth-first search had done before the turn that the guided search is in; nothing where that goes on after
    /// breadth-first search ended.
    pub fn blind_before(&self) -> Option<Done> {
        let standing = self.lock();
        match standing.guided_turns {
            0 => Some(Done::default()),
            turns => standing.marks.get(turns - 1).copied(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, standing: MutexGuard<'a, Standing>) -> MutexGuard<'a, Standing> {
        let waited = self.changed.wait_timeout(standing, GLANCE);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

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

/// The pace of a guided search.
#[derive(Debug)]
pub struct GuidedPace {
    turns: Arc<Turns>,
    /// Work that went before the search.
    prepared: AtomicU64,
    /// Work of the search, as it was told last.
    searched: AtomicU64,
}

impl GuidedPace {
    /// Counts work of preparing the guide, as [`Pace::go_on`] does of the search.
    pub fn prepare(&self, work: u64, must_stop: &dyn Fn() -> Option<StopReason>) -> Option<StopReason> {
        let prepared = self.prepared.fetch_add(work, Ordering::Relaxed);
        self.until(prepared + work, must_stop)
    }

    /// Told that another search follows, whose work counts besides that of the one before.
    pub fn begin_another(&self) {
        let searched = self.searched.swap(0, Ordering::Relaxed);
        self.prepared.fetch_add(searched, Ordering::Relaxed);
    }

    fn until(&self, work: u64, must_stop: &dyn Fn() -> Option<StopReason>) -> Option<StopReason> {
        let turns = &*self.turns;
        let mut standing = turns.lock();
        loop {
            let turn = standing.guided_turns;
            if turn <= standing.marks.len() {
                if work < turns.guided_quota(turn) {
                    return None;
                }
                standing.guided_turns += 1;
                turns.changed.notify_all();
                continue;
            }
            match standing.blind {
                Side::Going => {}
                Side::Decided => return Some(StopReason::Interrupted),
                Side::Ended => return None,
            }
            if let Some(reason) = must_stop() {
                return Some(reason);
            }
            standing = turns.wait(standing);
        }
    }
}

impl Pace for GuidedPace {
    fn go_on(&self, done: Done, must_stop: &dyn Fn() -> Option<StopReason>) -> Option<StopReason> {
        self.searched.store(done.work, Ordering::Relaxed);
        self.until(self.prepared.load(Ordering::Relaxed) + done.work, must_stop)
    }
}

/// The pace of breadth-first search.
#[derive(Debug)]
struct BlindPace {
    turns: Arc<Turns>,
}

impl Pace for BlindPace {
    fn go_on(&self, done: Done, must_stop: &dyn Fn() -> Option<StopReason>) -> Option<StopReason> {
        let turns = &*self.turns;
        let mut standing = turns.lock();
        loop {
            // A turn ends before the layer that goes beyond it.
            while done.work.saturating_add(done.ahead) >= turns.blind_quota(standing.marks.len()) {
                standing.marks.push(done);
                turns.changed.notify_all();
            }
            match standing.guided {
                Side::Decided => return Some(StopReason::Interrupted),
                Side::Ended => return None,
                Side::Going => {}
            }
            if turns.running == Running::Together || standing.guided_turns > standing.marks.len() {
                return None;
            }
            if let Some(reason) = must_stop() {
                return Some(reason);
            }
            standing = turns.wait(standing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: &dyn Fn() -> Option<StopReason> = &|| None;

    /// Plays both searches: the guided one finds something after `guided` work, the blind one in its layer `blind`, layers
    /// being of `layer` work. Who decides, and what the other had done by then.
    fn play(running: Running, guided: u64, layer: u64, blind: u64) -> (&'static str, u64) {
        let turns = Turns::new(1000, running);
        let (pace, beside) = (turns.guided(), turns.blind());
        std::thread::scope(|scope| {
            let searching = scope.spawn(|| {
                for work in (0..).step_by(10) {
                    if work >= guided {
                        turns.guided_is_over(true);
                        return (true, work);
                    }
                    if pace.go_on(Done { work, ..Done::default() }, NEVER).is_some() {
                        turns.guided_is_over(false);
                        return (false, work);
                    }
                }
                unreachable!("the search ends")
            });
            for number in 0.. {
                let done = Done { work: number * layer, ahead: layer, states: number, transitions: 0 };
                if beside.go_on(done, NEVER).is_some() {
                    break;
                }
                if number == blind {
                    turns.blind_is_over(true);
                    break;
                }
            }
            match searching.join().expect("it ends") {
                (true, _) => ("guided", turns.blind_before().map_or(0, |done| done.states)),
                (false, work) => ("blind", work),
            }
        })
    }

    #[test]
    fn the_answer_is_the_same_together_and_in_turns() {
        for guided in [0, 500, 1000, 1010, 5000, 20_000] {
            for (layer, blind) in [(1, 1), (300, 2), (300, 9), (300, 70), (7000, 1), (7000, 3)] {
                let alone = play(Running::InTurns, guided, layer, blind);
                for _ in 0..20 {
                    assert_eq!(
                        play(Running::Together, guided, layer, blind),
                        alone,
                        "{guided} {layer} {blind}"
                    );
                }
            }
        }
    }

    #[test]
    fn neither_search_costs_much_more_than_the_other() {
        assert_eq!(play(Running::InTurns, 900, 10, 50), ("guided", 0), "the guided search has a start");
        let (first, waited) = play(Running::InTurns, 1 << 40, 100, 64);
        assert_eq!(first, "blind");
        assert!(waited <= 1000 + 6400 + 10, "{waited}");
        let (first, layers) = play(Running::InTurns, 9000, 100, 1 << 30);
        assert_eq!(first, "guided");
        assert!((80..=100).contains(&layers), "{layers}");
    }

    #[test]
    fn a_search_that_ends_without_an_answer_leaves_the_other_alone() {
        let turns = Turns::new(1000, Running::InTurns);
        let (pace, beside) = (turns.guided(), turns.blind());
        assert_eq!(pace.prepare(400, NEVER), None);
        turns.guided_is_over(false);
        assert_eq!(beside.go_on(Done { work: 1 << 50, ..Done::default() }, NEVER), None);
        let turns = Turns::new(1000, Running::InTurns);
        turns.blind_is_over(false);
        assert_eq!(turns.guided().prepare(1 << 50, NEVER), None);
        let turns = Turns::new(1000, Running::InTurns);
        let stop = || Some(StopReason::TimeLimit);
        assert_eq!(
            turns.guided().prepare(2000, &stop),
            Some(StopReason::TimeLimit),
            "a wait ends at a limit"
        );
    }
}
