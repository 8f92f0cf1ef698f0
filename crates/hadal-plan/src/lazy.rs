//! Lazy best-first search with several queues, as in LAMA (Richter and Westphal 2010): a transition waits with the
//! estimates of the state it leaves; its state is made and estimated when its turn comes.
//!
//! Each of h^FF and the landmark count has a queue for all transitions and one for those that an estimate prefers.
//! Queues take turns; those of preferred transitions get a thousand turns whenever an estimate is better than ever. In
//! greedy search, a queue that draws transitions by type takes its turns with them.

use crate::astar::{End, Figures};
use crate::open::Fifo;
use crate::snapshot::{Loader, Saver};
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use crate::types::Types;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_guide::plan::{Exploration, LandmarkCount};
use hadal_guide::{Distance, Estimator};
use hadal_search::StopReason;
use hadal_system::StateSpace;
use std::io;

/// Turns that queues of preferred transitions get for progress.
const BOOST: i64 = 1000;
/// Turns that each other queue has before types are drawn: plans that are found at once are shorter without.
const PATIENCE: i64 = 1000;
/// The initial state's parent.
const NOBODY: u32 = u32::MAX;

/// How one search goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Weighs the estimate against the cost so far; greedy where there is none.
    pub(crate) weight: Option<u32>,
    /// Every step counts one more than it costs.
    pub(crate) plus_one: bool,
    /// Only plans that cost less than this.
    pub(crate) bound: u32,
}

/// The guides of a search.
pub(crate) struct Guides<'g> {
    pub(crate) relaxed: Exploration<'g>,
    pub(crate) landmarks: &'g LandmarkCount,
}

struct Queues {
    /// h^FF, landmarks; then the same for preferred transitions.
    queues: [Fifo; 4],
    /// Those of greedy search, once more.
    types: Types,
    /// Of each queue, and of the types.
    turns: [i64; 5],
    /// The best estimates so far.
    best: [u32; 2],
}

impl Queues {
    fn pop(&mut self) -> Option<(u32, u32)> {
        let waits = |at: usize| self.queues.get(at).map_or(!self.types.is_empty(), |queue| !queue.is_empty());
        let at = (0..5).filter(|&at| waits(at)).min_by_key(|&at| self.turns[at])?;
        self.turns[at] += 1;
        self.queues.get_mut(at).map_or_else(|| self.types.pop(), Fifo::pop)
    }

    /// Notes estimates; progress gives the preferred their turns.
    fn note(&mut self, estimates: [u32; 2]) {
        let mut progress = false;
        for (best, estimate) in self.best.iter_mut().zip(estimates) {
            progress |= estimate < *best;
            *best = estimate.min(*best);
        }
        if progress {
            self.turns[2] -= BOOST;
            self.turns[3] -= BOOST;
        }
    }

    fn bytes(&self) -> u64 {
        self.queues.iter().map(Fifo::bytes).sum::<u64>() + self.types.bytes()
    }
}

/// A search that goes on where it was left.
pub(crate) struct Lazy<'s, 'g> {
    space: &'s RowSpace,
    guides: Guides<'g>,
    manner: Manner,
    worker: RowWorker<'s>,
    states: States,
    nodes: Chunks<Node>,
    /// What each state has accepted of landmarks.
    accepted: Chunks<u64>,
    queues: Queues,
    /// Rows that the estimates of the state at hand prefer.
    preferred: Vec<bool>,
    rows: Vec<u32>,
    begun: bool,
    /// Transitions that were put into queues.
    opened: u64,
}

/// What a transition counts that is put into its queues, in about nanoseconds.
const OPENED: u64 = 60;

/// A state as it is met.
#[derive(Clone, Copy)]
struct Met {
    parent: u32,
    row: u32,
    /// What the way to it costs.
    g: u32,
    /// What the way to it counts for the search.
    counted: u32,
}

impl<'s, 'g> Lazy<'s, 'g> {
    pub(crate) fn new(space: &'s RowSpace, guides: Guides<'g>, manner: Manner) -> Self {
        let landmark_words = guides.landmarks.landmarks().words();
        Lazy {
            space,
            manner,
            worker: space.row_worker(),
            states: States::new(space.words()),
            nodes: Chunks::new(1),
            accepted: Chunks::new(landmark_words),
            queues: Queues {
                queues: Default::default(),
                types: Types::default(),
                turns: [0, 0, 0, 0, PATIENCE],
                best: [u32::MAX; 2],
            },
            preferred: vec![false; space.task().rows.len()],
            rows: Vec::new(),
            begun: false,
            opened: 0,
            guides,
        }
    }

    /// What it took so far, in about nanoseconds, counted by what was done.
    pub(crate) fn work(&self) -> u64 {
        self.guides.relaxed.work() + self.opened * OPENED
    }

    /// Writes it down.
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(u64::from(self.begun))?;
        self.states.save(to)?;
        self.nodes.save(self.states.len(), to)?;
        self.accepted.save(self.states.len(), to)?;
        self.queues.queues.iter().try_for_each(|queue| queue.save(to))?;
        self.queues.types.save(to)?;
        self.queues.turns.iter().try_for_each(|&turns| to.word(turns as u64))?;
        self.queues.best.iter().try_for_each(|&best| to.word(u64::from(best)))
    }

    /// Reads it again, into a search of the same task with the same guides.
    pub(crate) fn load(&mut self, from: &mut Loader) -> io::Result<()> {
        self.begun = from.word()? != 0;
        self.states = States::load(self.space.words(), from)?;
        self.nodes = Chunks::load(1, self.states.len(), from)?;
        self.accepted = Chunks::load(self.guides.landmarks.landmarks().words(), self.states.len(), from)?;
        for queue in &mut self.queues.queues {
            *queue = Fifo::load(from)?;
        }
        self.queues.types = Types::load(from)?;
        for turns in &mut self.queues.turns {
            *turns = from.word()? as i64;
        }
        for best in &mut self.queues.best {
            *best = from.half()?;
        }
        Ok(())
    }

    /// Goes on until there is a plan, nothing is left, or it must stop.
    pub(crate) fn go_on(&mut self, watch: &mut Watch, figures: &mut Figures) -> End {
        let mut accepted = vec![0; self.guides.landmarks.landmarks().words()];
        let (mut from, mut state) = (self.space.initial().to_vec(), self.space.initial().to_vec());
        if !std::mem::replace(&mut self.begun, true) {
            let met = Met { parent: NOBODY, row: 0, g: 0, counted: 0 };
            if let Some(plan) = self.visit(met, &state, &mut accepted, figures) {
                return plan;
            }
        }
        loop {
            let count = u64::from(self.states.len());
            figures.states = figures.states.max(count);
            let bytes =
                || self.states.bytes() + self.nodes.bytes() + self.accepted.bytes() + self.queues.bytes();
            if let Some(reason) = watch.must_stop(figures.evaluated, count, bytes) {
                return End::Stopped(reason);
            }
            let Some((parent, row)) = self.queues.pop() else { return End::Exhausted };
            let node = self.nodes.get(parent)[0];
            from.copy_from_slice(self.states.get(parent));
            let Firing::Reached(cost) = self.worker.fire(&from, row, &mut state) else { continue };
            figures.generated += 1;
            let Some(g) = node.g.checked_add(cost).filter(|&sum| sum < u32::MAX / 2) else {
                return End::Stopped(StopReason::CostBound);
            };
            if g >= self.manner.bound {
                continue;
            }
            let counted = node.h.saturating_add(cost).saturating_add(u32::from(self.manner.plus_one));
            if let Some(plan) = self.visit(Met { parent, row, g, counted }, &state, &mut accepted, figures) {
                return plan;
            }
        }
    }

    /// Estimates a state that is new, or reached at less cost where that counts, and opens its transitions.
    fn visit(&mut self, met: Met, state: &[u64], accepted: &mut [u64], figures: &mut Figures) -> Option<End> {
        let (at, new) = self.states.insert(state);
        let cheaper = !new && self.manner.weight.is_some() && {
            let known = self.nodes.get(at)[0];
            known.h != u32::MAX && met.g < known.g
        };
        if !new && !cheaper {
            return None;
        }
        match met.parent {
            NOBODY => accepted.copy_from_slice(&self.guides.landmarks.landmarks().initial),
            parent => accepted.copy_from_slice(self.accepted.get(parent)),
        }
        let parent = if met.parent == NOBODY { 0 } else { met.parent };
        let node = Node { parent, row: met.row, g: met.g, h: met.counted };
        let landmarks = self.guides.landmarks.progress(accepted, state);
        if new {
            self.nodes.push(&[node]);
            self.accepted.push(accepted);
        } else {
            self.nodes.get_mut(at)[0] = node;
            self.accepted.get_mut(at).copy_from_slice(accepted);
        }
        figures.evaluated += 1;
        let estimate = self.guides.relaxed.estimate(state, None);
        if estimate == Distance::INFINITE {
            self.nodes.get_mut(at)[0].h = u32::MAX;
            return None;
        }
        if self.worker.is_goal(state) {
            return Some(End::Plan(path(&self.nodes, at)));
        }
        figures.expanded += 1;
        self.queues.note([estimate.0, landmarks]);
        self.worker.applicable(state, &mut self.rows);
        self.open(at, [estimate.0, landmarks], accepted, met.counted);
        None
    }

    /// Puts the transitions of the state at hand into the queues.
    fn open(&mut self, at: u32, estimates: [u32; 2], accepted: &[u64], counted: u32) {
        for label in self.guides.relaxed.preferred() {
            self.preferred[label.0 as usize] = true;
        }
        let keys = estimates.map(|estimate| match self.manner.weight {
            None => u64::from(estimate),
            Some(weight) => u64::from(counted) + u64::from(weight) * u64::from(estimate),
        });
        self.opened += self.rows.len() as u64;
        for &row in &self.rows {
            if self.manner.weight.is_none() {
                self.queues.types.push((estimates[0], counted), (at, row));
            }
            let preferred = std::mem::replace(&mut self.preferred[row as usize], false)
                || self.guides.landmarks.prefers(accepted, row);
            for (kind, &key) in keys.iter().enumerate() {
                self.queues.queues[kind].push(key, (at, row));
                if preferred {
                    self.queues.queues[kind + 2].push(key, (at, row));
                }
            }
        }
        for label in self.guides.relaxed.preferred() {
            self.preferred[label.0 as usize] = false;
        }
    }
}
