//! Breadth-first branch and bound on disk for costs that only grow along a plan (Jabbar 2008, sec. 9.4.2 and 8.3).
//!
//! A state is kept with what the way to it costs, and covered by itself at less cost or as much: a state that is reached
//! again on a longer but cheaper way is opened again, one that is reached at more cost is a duplicate. What costs as much as
//! the best plan so far is left out. Where everything else was seen, the best plan is a cheapest one.
//!
//! Where a metric adds a term of the last state to the costs, a goal state counts with both, and a way is left out where it
//! costs as much as the best sum even with the least that the term can be.

use crate::astar::End;
use crate::disk::{Kept, Opening, Stage};
use crate::external::rows;
use crate::hope::{Hope, HopeEye};
use crate::planner::{Answer, Found, PlanError};
use crate::sitting::{Sitting, question};
use crate::sums::Sums;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_search::layered::kept::KeptLayers;
use hadal_search::strategy::Strategy;
use hadal_search::{SearchTask, Setting, StopReason, Verdict, explore};
use hadal_system::rows::Rational;
use hadal_system::state::hash;
use hadal_system::{Check, Cover, Label, Matcher, PropertyInfo, StateSpace, Successors, Worker};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sums of costs beyond this are not counted.
const LARGEST: u64 = 1 << 62;

/// States with the cost of the way to them; the least significant word is the cost.
struct Paid<'s> {
    space: &'s RowSpace,
    /// What goal states count.
    sums: Sums<'s>,
    /// Nothing that counts as much is looked for: a plan that is known already.
    known: Option<Rational>,
    hope: Hope<'s>,
    /// Ways must cost less than this.
    below: AtomicU64,
    /// The best goal state, with what it counts and its layer.
    best: Mutex<Option<Best>>,
    /// Whether what costs too much is left out; not while a plan is rebuilt.
    prunes: AtomicBool,
    /// A sum was too large.
    too_large: AtomicBool,
    control: &'s hadal_search::Control,
    overflowed: &'s (dyn Fn() + Sync),
    tell: &'s (dyn Fn(u64, Rational) + Sync),
}

/// A goal state.
#[derive(Clone, Debug)]
struct Best {
    sum: Rational,
    state: Vec<u64>,
    level: u64,
}

impl Paid<'_> {
    /// Takes note of a goal state; of equally good ones the first in packed order of the first layer stays.
    fn offer(&self, worker: &mut RowWorker, state: &[u64], level: u64) {
        let Some(sum) = self.sums.at(worker, state[0], &state[1..]) else { return };
        if self.known.is_some_and(|known| sum >= known) {
            return;
        }
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |state: &[u64]| state.iter().skip(1).rev().copied().collect::<Vec<u64>>();
        let first = |held: &Best| (held.sum, held.level, key(&held.state)) > (sum, level, key(state));
        if best.as_ref().is_some_and(|held| !first(held)) {
            return;
        }
        let better = best.as_ref().is_none_or(|held| sum < held.sum);
        *best = Some(Best { sum, state: state.to_vec(), level });
        self.below.fetch_min(self.sums.below(sum), Ordering::Relaxed);
        drop(best);
        if better {
            (self.tell)(level, sum);
        }
    }
}

impl StateSpace for Paid<'_> {
    fn words(&self) -> usize {
        self.space.words() + 1
    }

    fn fingerprint(&self) -> u64 {
        match self.sums.term {
            None => hash(&[self.space.fingerprint(), 4]),
            Some(term) => hash(&[self.space.fingerprint(), 5, u64::from(term)]),
        }
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let next = vec![0; self.words()];
        Box::new(PaidWorker { paid: self, worker: self.space.row_worker(), hope: self.hope.eye(), next })
    }

    fn cover(&self) -> Option<&dyn Cover> {
        Some(self)
    }

    fn render_label(&self, label: Label) -> String {
        self.space.render_label(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.space.render_state(&state[1..])
    }
}

impl Cover for Paid<'_> {
    fn key_words(&self) -> usize {
        self.space.words()
    }

    fn matcher(&self) -> Box<dyn Matcher + '_> {
        Box::new(Cheaper(0))
    }
}

/// Compares costs.
struct Cheaper(u64);

impl Matcher for Cheaper {
    fn choose(&mut self, state: &[u64]) {
        self.0 = state[0];
    }

    fn is_covered_by(&mut self, big: &[u64]) -> bool {
        big[0] <= self.0
    }
}

struct PaidWorker<'p> {
    paid: &'p Paid<'p>,
    worker: RowWorker<'p>,
    hope: HopeEye<'p>,
    next: Vec<u64>,
}

impl Worker for PaidWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.next[0] = 0;
        self.next[1..].copy_from_slice(self.paid.space.initial());
        out.push(Label(0), &self.next);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if self.hope.is_lost(&state[1..]) {
            return;
        }
        let (paid, next, cost_so_far) = (self.paid, &mut self.next, state[0]);
        let below = match paid.prunes.load(Ordering::Relaxed) {
            true => paid.below.load(Ordering::Relaxed),
            false => u64::MAX,
        };
        let mut overflowed = false;
        self.worker.expand(&state[1..], |row, firing, to| match firing {
            Firing::Reached(cost) => {
                let sum = cost_so_far + u64::from(cost);
                if sum >= LARGEST {
                    paid.too_large.store(true, Ordering::Relaxed);
                } else if sum < below {
                    next[0] = sum;
                    next[1..].copy_from_slice(to);
                    out.push(Label(row), next);
                }
            }
            _ => overflowed = true,
        });
        if overflowed {
            (paid.overflowed)();
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        if self.worker.is_goal(&state[1..]) {
            let initial = state[0] == 0 && &state[1..] == self.paid.space.initial();
            let depth = self.paid.control.gauges.depth.load(Ordering::Relaxed);
            self.paid.offer(&mut self.worker, state, if initial { 0 } else { depth + 1 });
        }
        Check::Fine
    }
}

impl Sitting<'_> {
    /// A plan with the least sum, layer by layer; better than the one at hand, where there is one.
    pub(crate) fn branch_and_bound(&mut self, sums: Sums) -> Result<(), PlanError> {
        let (planner, space) = (self.planner, self.space);
        self.say("breadth-first branch and bound");
        let told = Mutex::new(Vec::new());
        let tell = |level: u64, sum: Rational| {
            let cost = sums.cost(sum);
            let found = Found { cost, seconds: planner.control.elapsed().as_secs_f64(), level: Some(level) };
            told.lock().unwrap_or_else(PoisonError::into_inner).push(found);
            (planner.announce)(&found);
        };
        let (hope, _held) = match self.hope() {
            Ok(made) => made,
            Err(reason) => return self.note(End::Stopped(reason)),
        };
        let at_hand = self.outcome.plan.as_ref().map(|plan| (sums.sum(plan.cost), plan.rows.clone()));
        let known = at_hand.as_ref().map(|(sum, _)| *sum);
        let paid = Paid {
            space,
            sums,
            known,
            hope,
            below: AtomicU64::new(known.map_or(u64::MAX, |known| sums.below(known))),
            best: Mutex::default(),
            prunes: AtomicBool::new(true),
            too_large: AtomicBool::new(false),
            control: planner.control,
            overflowed: planner.disk.overflowed,
            tell: &tell,
        };
        let resumes = self.take_run().is_some();
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let rows_at_hand = at_hand.map(|(_, rows)| rows);
        let kept = Kept { rows: rows_at_hand, ..self.kept(paid.fingerprint(), Stage::Best, opening) };
        if resumes {
            self.look_for_paid_goals(&paid, self.open(&kept)?)?;
        }
        let (question, ledger, strategy) = (question(), || self.open(&kept), Strategy::covering());
        let task = SearchTask { space: &paid, question: &question, control: planner.control };
        let (governor, threads) = (planner.governor, planner.disk.threads);
        let setting = Setting { task, governor, threads, run: opening.run(&ledger) };
        let report = explore(&strategy, setting)?.report;
        self.count(&report);
        let stopped = match report.verdict {
            Verdict::Stopped(reason) => Some(reason),
            _ if paid.too_large.load(Ordering::Relaxed) => Some(StopReason::CostBound),
            _ => None,
        };
        let mut costs = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        costs.dedup_by_key(|found| found.cost);
        let best = paid.best.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.outcome.costs.extend(costs);
        if let Some(Best { state, level, .. }) = best {
            paid.prunes.store(false, Ordering::Relaxed);
            let again = Kept { opening: Opening::Again, ..kept };
            let layers = KeptLayers::open(self.open(&again)?, &paid, governor)?;
            if let Some(layers) = layers.filter(|layers| (level as usize) < layers.depth()) {
                let mut path = layers.path_to(task, threads, level as usize, state)?;
                path.iter_mut().for_each(|state| {
                    state.remove(0);
                });
                self.take(rows(space, &path), Some(level))?;
            }
        }
        match stopped {
            Some(reason) => self.note(End::Stopped(reason))?,
            None => {
                self.outcome.optimal = self.outcome.plan.is_some();
                let solved = self.outcome.plan.is_some();
                self.outcome.answer = if solved { Answer::Solved } else { Answer::Unsolvable };
            }
        }
        Ok(())
    }

    /// Looks through the layers that a run committed, for the best plan in them.
    fn look_for_paid_goals(
        &self,
        paid: &Paid,
        ledger: hadal_search::layered::ledger::Ledger,
    ) -> Result<(), PlanError> {
        let Some(layers) = KeptLayers::open(ledger, paid, self.planner.governor)? else { return Ok(()) };
        let mut worker = self.space.row_worker();
        for depth in 0..layers.depth() {
            layers.visit(depth, |states| {
                for state in states.chunks_exact(paid.words()) {
                    if worker.is_goal(&state[1..]) {
                        paid.offer(&mut worker, state, depth as u64);
                    }
                }
            })?;
        }
        Ok(())
    }
}
