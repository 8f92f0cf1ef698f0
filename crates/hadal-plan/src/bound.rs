//! Breadth-first branch and bound on disk for costs that only grow along a plan (Jabbar 2008, sec. 9.4.2 and 8.3).
//!
//! A state is kept with what the way to it costs, and covered by itself at less cost or as much: a state that is reached
//! again on a longer but cheaper way is opened again, one that is reached at more cost is a duplicate. What costs as much as
//! the best plan so far is left out. Where everything else was seen, the best plan is a cheapest one.

use crate::astar::End;
use crate::disk::{Opening, Stage};
use crate::external::rows;
use crate::planner::{Answer, Found, PlanError};
use crate::sitting::{Sitting, question};
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_search::layered::kept::KeptLayers;
use hadal_search::strategy::Strategy;
use hadal_search::{SearchTask, Setting, StopReason, Verdict, explore};
use hadal_system::rows::{Metric, Rational, Sense};
use hadal_system::state::hash;
use hadal_system::{Check, Cover, Label, Matcher, PropertyInfo, StateSpace, Successors, Worker};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sums of costs beyond this are not counted.
const LARGEST: u64 = 1 << 62;

/// States with the cost of the way to them; the least significant word is the cost.
struct Paid<'s> {
    space: &'s RowSpace,
    /// Ways must cost less than this.
    below: AtomicU64,
    /// The best goal state, with its layer.
    best: Mutex<Option<(Vec<u64>, u64)>>,
    /// Whether what costs too much is left out; not while a plan is rebuilt.
    prunes: AtomicBool,
    /// A sum was too large.
    too_large: AtomicBool,
    control: &'s hadal_search::Control,
    overflowed: &'s (dyn Fn() + Sync),
    tell: &'s (dyn Fn(u64, u64) + Sync),
}

impl Paid<'_> {
    /// Takes note of a goal state; of equally cheap ones the first in packed order of the first layer stays.
    fn offer(&self, state: &[u64], level: u64) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let place = |state: &[u64], level: u64| {
            let mut key: Vec<u64> = state.iter().rev().copied().collect();
            key.pop();
            (state[0], level, key)
        };
        let better = best.as_ref().is_none_or(|(held, at)| place(state, level) < place(held, *at));
        if !better {
            return;
        }
        let cheaper = best.as_ref().is_none_or(|(held, _)| state[0] < held[0]);
        *best = Some((state.to_vec(), level));
        self.below.fetch_min(state[0], Ordering::Relaxed);
        drop(best);
        if cheaper {
            (self.tell)(level, state[0]);
        }
    }
}

impl StateSpace for Paid<'_> {
    fn words(&self) -> usize {
        self.space.words() + 1
    }

    fn fingerprint(&self) -> u64 {
        hash(&[self.space.fingerprint(), 4])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let next = vec![0; self.words()];
        Box::new(PaidWorker { paid: self, worker: self.space.row_worker(), next })
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
    next: Vec<u64>,
}

impl Worker for PaidWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.next[0] = 0;
        self.next[1..].copy_from_slice(self.paid.space.initial());
        out.push(Label(0), &self.next);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
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
            self.paid.offer(state, if initial { 0 } else { depth + 1 });
        }
        Check::Fine
    }
}

impl Sitting<'_> {
    /// A cheapest plan, layer by layer.
    pub(crate) fn branch_and_bound(&mut self) -> Result<(), PlanError> {
        let (planner, space) = (self.planner, self.space);
        self.say("breadth-first branch and bound");
        let told = Mutex::new(Vec::new());
        let tell = |level: u64, units: u64| {
            let sum = space.cost_unit() * Rational::from_integer(i128::from(units));
            let cost = match space.task().metric {
                Metric::Cost { offset, sense: Sense::Minimise, .. } => offset + sum,
                Metric::Cost { offset, sense: Sense::Maximise, .. } => offset - sum,
                _ => sum,
            };
            let found = Found { cost, seconds: planner.control.elapsed().as_secs_f64(), level: Some(level) };
            told.lock().unwrap_or_else(PoisonError::into_inner).push(found);
            (planner.announce)(&found);
        };
        let paid = Paid {
            space,
            below: AtomicU64::new(u64::MAX),
            best: Mutex::default(),
            prunes: AtomicBool::new(true),
            too_large: AtomicBool::new(false),
            control: planner.control,
            overflowed: planner.disk.overflowed,
            tell: &tell,
        };
        let resumes = self.take_run().is_some();
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let kept = self.kept(paid.fingerprint(), Stage::Best, opening);
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
        let best = paid.best.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((state, level)) = best {
            paid.prunes.store(false, Ordering::Relaxed);
            let again = self.kept(kept.fingerprint, Stage::Best, Opening::Again);
            let layers = KeptLayers::open(self.open(&again)?, &paid, governor)?;
            if let Some(layers) = layers.filter(|layers| (level as usize) < layers.depth()) {
                let mut path = layers.path_to(task, threads, level as usize, state)?;
                path.iter_mut().for_each(|state| {
                    state.remove(0);
                });
                self.take(rows(space, &path), Some(level))?;
            }
        }
        let mut costs = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        costs.dedup_by_key(|found| found.cost);
        self.outcome.costs = costs;
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
                        paid.offer(state, depth as u64);
                    }
                }
            })?;
        }
        Ok(())
    }
}
