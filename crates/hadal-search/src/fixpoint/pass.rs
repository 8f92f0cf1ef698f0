//! Going over the layers of a closed set until nothing changes.

use super::bits::Bits;
use super::closed::{Closed, Piece, Visitor};
use super::kept::{Due, Keeper, Point};
use crate::lane::SearchTask;
pub(super) use crate::resting::Early;
use crate::resting::Reins;
use hadal_store::Governor;
use hadal_system::{Successors, Worker};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What looking at a state of the closed set counts as, and what each of its transitions adds: about nanoseconds.
const LOOK_WORK: u64 = 20;
const TRANSITION_WORK: u64 = 80;
/// What a state that is expanded takes, about, before that is known.
const STATE_WORK: u64 = 500;
/// Most states that are looked at between two moments at which a search may rest or stop.
const PORTION: u64 = 1 << 13;

/// A closed set and what is needed to ask about it.
pub(crate) struct Pass<'a, C> {
    /// What the question is about.
    pub(crate) task: SearchTask<'a>,
    /// Every reachable state.
    pub(crate) closed: &'a C,
    /// For bitmaps.
    pub(crate) governor: &'a Governor,
    /// How many threads, at least 1.
    pub(crate) threads: usize,
    /// When to rest.
    pub(crate) reins: &'a Reins<'a>,
    /// Whether another storage goes on where memory runs out.
    pub(crate) moves_on: bool,
    /// Where sets are kept between sweeps.
    pub(crate) keeper: Option<&'a Keeper<'a>>,
}

/// Where a state stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) number: u64,
    pub(super) depth: usize,
}

/// What one thread looks at states with.
pub(super) struct Look<'a> {
    pub(super) worker: Box<dyn Worker + 'a>,
    pub(super) out: Successors,
    pub(super) marks: Vec<u64>,
    /// Transitions fired since they were counted last.
    fired: u64,
}

impl Look<'_> {
    /// Generates the successors of `state`.
    pub(super) fn expand(&mut self, state: &[u64]) {
        self.out.clear();
        self.worker.successors(state, &mut self.out);
        self.fired += self.out.len() as u64;
    }

    /// What looking at so many states took.
    fn take_work(&mut self, states: u64) -> u64 {
        states * LOOK_WORK + std::mem::take(&mut self.fired) * TRANSITION_WORK
    }
}

impl<'a, C: Closed> Pass<'a, C> {
    pub(super) fn look(&self) -> Look<'a> {
        Look {
            worker: self.task.space.worker(),
            out: Successors::new(self.task.space.words()),
            marks: Vec::new(),
            fired: 0,
        }
    }

    pub(super) fn bits(&self) -> Result<Bits, Early> {
        Ok(Bits::new(self.closed.size(), self.governor)?)
    }

    /// Lets the next step come, if the work of this one is done; an error where the search must stop.
    pub(super) async fn rest(&self) -> Result<(), Early> {
        self.reins.rest().await.map_err(Early::Stopped)
    }

    /// Counts what looking at so many states took.
    pub(super) fn count(&self, look: &mut Look, states: usize) {
        self.reins.count(look.take_work(states as u64));
    }

    /// How many states may be expanded before the next rest.
    pub(super) fn portion(&self) -> usize {
        self.reins.allows(STATE_WORK, PORTION) as usize
    }

    /// Calls `visit` for every state of a group of layers; whether it returned true for one of them.
    pub(super) async fn over_group(
        &self,
        group: usize,
        visit: &(impl Fn(&mut Look<'a>, &[u64], At) -> bool + Sync),
    ) -> Result<bool, Early> {
        let words = self.task.space.words();
        let some = AtomicBool::new(false);
        let mut visitors: Vec<Visitor> = (0..self.threads.max(1))
            .map(|_| {
                let mut look = self.look();
                let (some, closed, reins) = (&some, self.closed, self.reins);
                let visitor = move |piece: Piece| {
                    let mut any = false;
                    for (n, state) in piece.states.chunks_exact(words).enumerate() {
                        let number = match piece.first {
                            Some(first) => first + n as u64,
                            None => match closed.number(state) {
                                Some(number) => number,
                                None => continue,
                            },
                        };
                        any |= visit(&mut look, state, At { number, depth: piece.depth });
                    }
                    reins.count(look.take_work((piece.states.len() / words) as u64));
                    if any {
                        some.store(true, Ordering::Relaxed);
                    }
                };
                Box::new(visitor) as Visitor
            })
            .collect();
        let mut place = self.closed.visit(group)?;
        loop {
            self.rest().await?;
            let most = (self.portion() * visitors.len()) as u64;
            if !self.closed.go_on(&mut place, most, &mut visitors)? {
                break;
            }
        }
        drop(visitors);
        Ok(some.into_inner())
    }

    /// Goes over the layers, deepest first, again and again while `visit` changes something. Where nothing can change any
    /// more they are left out. The sets are kept on the way.
    pub(super) async fn to_fixpoint(
        &self,
        (point, sets): (Point, &[&Bits]),
        visit: &(impl Fn(&mut Look<'a>, &[u64], u64) -> Seen + Sync),
    ) -> Result<u32, Early> {
        let mut alive = vec![true; self.closed.groups()];
        for sweep in 1.. {
            let mut changed = false;
            for group in (0..alive.len()).rev() {
                if !alive[group] {
                    continue;
                }
                let open = AtomicU64::new(0);
                let visited = self
                    .over_group(group, &|look, state, at| {
                        let seen = visit(look, state, at.number);
                        if seen != Seen::Done {
                            // A state that may still change.
                            open.store(1, Ordering::Relaxed);
                        }
                        seen == Seen::Changed
                    })
                    .await;
                if let Err(Early::Stopped(_)) = visited {
                    self.keep(point, sets, Due::Always)?;
                }
                changed |= visited?;
                // What changed is done; what did not may change later.
                alive[group] = open.into_inner() > 0;
                self.keep(point, sets, Due::InTime)?;
            }
            if !changed {
                return Ok(sweep);
            }
            // However short the time limit, a run that is resumed gets on by a sweep.
            self.task.control.count_time();
        }
        Ok(0)
    }
}

/// What came of looking at a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It can change no more, and did not now.
    Done,
    /// It stays as it is for now.
    Open,
    /// It changed, and can change no more.
    Changed,
}
