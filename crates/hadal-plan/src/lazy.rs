//! Lazy best-first search with several queues, as in LAMA (Richter and Westphal 2010): a transition waits with the
//! estimates of the state it leaves; its state is made and estimated when its turn comes.
//!
//! Each of h^FF and the landmark count has a queue for all transitions and one for those that an estimate prefers.
//! Queues take turns; those of preferred transitions get a thousand turns whenever an estimate is better than ever.

use crate::astar::{End, Figures};
use crate::open::Fifo;
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace};
use hadal_guide::plan::{Exploration, LandmarkCount};
use hadal_guide::{Distance, Estimator};
use hadal_search::StopReason;
use hadal_system::StateSpace;

/// Turns that queues of preferred transitions get for progress.
const BOOST: i64 = 1000;
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
    pub(crate) landmarks: &'g LandmarkCount<'g>,
}

struct Queues {
    /// h^FF, landmarks; then the same for preferred transitions.
    queues: [Fifo; 4],
    turns: [i64; 4],
    /// The best estimates so far.
    best: [u32; 2],
}

impl Queues {
    fn pop(&mut self) -> Option<(u32, u32)> {
        let at = (0..4).filter(|&at| !self.queues[at].is_empty()).min_by_key(|&at| self.turns[at])?;
        self.turns[at] += 1;
        self.queues[at].pop()
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
        self.queues.iter().map(Fifo::bytes).sum()
    }
}

/// Searches for a plan that costs less than the bound.
pub(crate) fn search(
    space: &RowSpace,
    guides: &mut Guides,
    watch: &mut Watch,
    manner: Manner,
    figures: &mut Figures,
) -> End {
    let mut search = Lazy::new(space, guides, manner, figures);
    let end = search.run(watch);
    search.figures.states = u64::from(search.states.len());
    end
}

struct Lazy<'s, 'g, 'f> {
    space: &'s RowSpace,
    guides: &'f mut Guides<'g>,
    manner: Manner,
    figures: &'f mut Figures,
    states: States,
    nodes: Chunks<Node>,
    /// What each state has accepted of landmarks.
    accepted: Chunks<u64>,
    queues: Queues,
    /// Rows that the estimates of the state at hand prefer.
    preferred: Vec<bool>,
    rows: Vec<u32>,
}

impl<'s, 'g, 'f> Lazy<'s, 'g, 'f> {
    fn new(
        space: &'s RowSpace,
        guides: &'f mut Guides<'g>,
        manner: Manner,
        figures: &'f mut Figures,
    ) -> Self {
        let landmark_words = guides.landmarks.landmarks().words();
        Lazy {
            space,
            manner,
            figures,
            states: States::new(space.words()),
            nodes: Chunks::new(1),
            accepted: Chunks::new(landmark_words),
            queues: Queues { queues: Default::default(), turns: [0; 4], best: [u32::MAX; 2] },
            preferred: vec![false; space.task().rows.len()],
            rows: Vec::new(),
            guides,
        }
    }

    fn run(&mut self, watch: &mut Watch) -> End {
        let mut worker = self.space.row_worker();
        let words = self.space.words();
        let (mut from, mut state) = (vec![0; words], self.space.initial().to_vec());
        let mut accepted = vec![0; self.guides.landmarks.landmarks().words()];
        let (mut parent, mut row, mut g, mut counted) = (NOBODY, 0, 0u32, 0u32);
        loop {
            let (at, new) = self.states.insert(&state);
            // A state that was met before is expanded again only where a cheaper way is worth something.
            let cheaper = !new && self.manner.weight.is_some() && {
                let known = self.nodes.get(at)[0];
                known.h != u32::MAX && g < known.g
            };
            if new || cheaper {
                match parent {
                    NOBODY => accepted.copy_from_slice(&self.guides.landmarks.landmarks().initial),
                    parent => accepted.copy_from_slice(self.accepted.get(parent)),
                }
                let parent = if parent == NOBODY { 0 } else { parent };
                let node = Node { parent, row, g, h: counted };
                let landmarks = self.guides.landmarks.progress(&mut accepted, &state);
                if new {
                    self.nodes.push(&[node]);
                    self.accepted.push(&accepted);
                } else {
                    self.nodes.get_mut(at)[0] = node;
                    self.accepted.get_mut(at).copy_from_slice(&accepted);
                }
                self.figures.evaluated += 1;
                let estimate = self.guides.relaxed.estimate(&state, None);
                if estimate == Distance::INFINITE {
                    self.nodes.get_mut(at)[0].h = u32::MAX;
                } else {
                    if worker.is_goal(&state) {
                        return End::Plan(path(&self.nodes, at));
                    }
                    self.queues.note([estimate.0, landmarks]);
                    worker.applicable(&state, &mut self.rows);
                    self.open(at, [estimate.0, landmarks], &accepted, counted);
                }
            }
            let count = u64::from(self.states.len());
            let bytes =
                || self.states.bytes() + self.nodes.bytes() + self.accepted.bytes() + self.queues.bytes();
            if let Some(reason) = watch.must_stop(self.figures.evaluated, count, bytes) {
                return End::Stopped(reason);
            }
            // The next transition that leads somewhere.
            loop {
                let Some(next) = self.queues.pop() else { return End::Exhausted };
                (parent, row) = next;
                let node = self.nodes.get(parent)[0];
                from.copy_from_slice(self.states.get(parent));
                let Firing::Reached(cost) = worker.fire(&from, row, &mut state) else { continue };
                self.figures.generated += 1;
                let Some(sum) = node.g.checked_add(cost).filter(|&sum| sum < u32::MAX / 2) else {
                    return End::Stopped(StopReason::CostBound);
                };
                if sum >= self.manner.bound {
                    continue;
                }
                g = sum;
                counted = node.h.saturating_add(cost).saturating_add(u32::from(self.manner.plus_one));
                break;
            }
        }
    }

    /// Puts the transitions of the state at hand into the queues.
    fn open(&mut self, at: u32, estimates: [u32; 2], accepted: &[u64], counted: u32) {
        self.figures.expanded += 1;
        for label in self.guides.relaxed.preferred() {
            self.preferred[label.0 as usize] = true;
        }
        let keys = estimates.map(|estimate| match self.manner.weight {
            None => u64::from(estimate),
            Some(weight) => u64::from(counted) + u64::from(weight) * u64::from(estimate),
        });
        for &row in &self.rows {
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
