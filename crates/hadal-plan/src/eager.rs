//! Greedy best-first search that estimates every state when it is met, with queues for helpful and for useless actions
//! (Wehrle 2011, sec. 3.4.3 and fig. 3.7).
//!
//! An action is relatively useless in a state where the estimate without it is no larger than the estimate behind it: what it
//! leads to waits until nothing else is left. Helpful actions begin a relaxed plan; what they lead to takes turns with the
//! rest. An action that is both counts as useless. Every state is looked at in the end, so the search is complete.

use crate::astar::{End, Figures};
use crate::disk::Stage;
use crate::engine::Engine;
use crate::external::wants_memory;
use crate::open::Fifo;
use crate::planner::PlanError;
use crate::sitting::Sitting;
use crate::snapshot::{Loader, Saver};
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_guide::plan::{CostKind, Exploration, Relaxation};
use hadal_guide::{Distance, Estimator, Mask};
use hadal_system::{Label, StateSpace};
use std::io;

/// Where a state can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// Reached by an action that is neither helpful nor useless, or that nobody asked about.
    Unknown,
    Helpful,
    Useless,
}

/// The bit of a state that waits there.
fn bit(queue: Queue) -> u32 {
    1 << queue as u32
}

/// The bit of a state that was expanded, or leads nowhere.
const DONE: u32 = 1 << 3;

/// Which actions are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) helpful: bool,
    pub(crate) useless: bool,
}

impl Told {
    /// What an engine tells apart, where it is one of these searches.
    pub(crate) fn of(engine: Engine) -> Option<Told> {
        let (helpful, useless) = match engine {
            Engine::Greedy => (false, false),
            Engine::GreedyHelpful => (true, false),
            Engine::GreedyUseless => (false, true),
            Engine::GreedyHelpfulUseless => (true, true),
            _ => return None,
        };
        Some(Told { helpful, useless })
    }
}

/// Three queues, and which one has its turn.
#[derive(Debug, Default)]
struct Queues {
    queues: [Fifo; 3],
    /// How often the unknown and the helpful were served.
    served: [u64; 2],
}

impl Queues {
    /// The rule of fig. 3.7: useless ones last, the others as often as each other.
    fn choose(&self) -> Option<Queue> {
        let [unknown, helpful, useless] = [0, 1, 2].map(|at| !self.queues[at].is_empty());
        match (unknown, helpful) {
            (false, false) => useless.then_some(Queue::Useless),
            (false, true) => Some(Queue::Helpful),
            (true, true) if self.served[1] <= self.served[0] => Some(Queue::Helpful),
            (true, _) => Some(Queue::Unknown),
        }
    }

    fn pop(&mut self) -> Option<(Queue, u32)> {
        let queue = self.choose()?;
        if let Some(served) = self.served.get_mut(queue as usize) {
            *served += 1;
        }
        self.queues[queue as usize].pop().map(|(at, _)| (queue, at))
    }

    fn push(&mut self, queue: Queue, estimate: u32, at: u32) {
        self.queues[queue as usize].push(u64::from(estimate), (at, 0));
    }
}

/// A search that goes on where it was left.
struct Eager<'s, 'g> {
    space: &'s RowSpace,
    relaxed: Exploration<'g>,
    told: Told,
    worker: RowWorker<'s>,
    states: States,
    /// `g` is not used, `h` is the estimate.
    nodes: Chunks<Node>,
    waits: Chunks<u32>,
    queues: Queues,
    rows: Vec<u32>,
    /// The rows of the relaxed plan of the state at hand, and those that begin it, ascending.
    plan: Vec<u32>,
    helpful: Vec<u32>,
    /// The estimate of the state at hand.
    here: u32,
    begun: bool,
}

impl<'s, 'g> Eager<'s, 'g> {
    fn new(space: &'s RowSpace, relaxed: Exploration<'g>, told: Told) -> Self {
        Eager {
            space,
            relaxed,
            told,
            worker: space.row_worker(),
            states: States::new(space.words()),
            nodes: Chunks::new(1),
            waits: Chunks::new(1),
            queues: Queues::default(),
            rows: Vec::new(),
            plan: Vec::new(),
            helpful: Vec::new(),
            here: 0,
            begun: false,
        }
    }

    fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(u64::from(self.begun))?;
        self.states.save(to)?;
        self.nodes.save(self.states.len(), to)?;
        self.waits.save(self.states.len(), to)?;
        self.queues.queues.iter().try_for_each(|queue| queue.save(to))?;
        self.queues.served.iter().try_for_each(|&served| to.word(served))
    }

    fn load(&mut self, from: &mut Loader) -> io::Result<()> {
        self.begun = from.word()? != 0;
        self.states = States::load(self.space.words(), from)?;
        self.nodes = Chunks::load(1, self.states.len(), from)?;
        self.waits = Chunks::load(1, self.states.len(), from)?;
        for queue in &mut self.queues.queues {
            *queue = Fifo::load(from)?;
        }
        for served in &mut self.queues.served {
            *served = from.word()?;
        }
        Ok(())
    }

    fn go_on(&mut self, watch: &mut Watch, figures: &mut Figures) -> End {
        let (mut state, mut next) = (self.space.initial().to_vec(), self.space.initial().to_vec());
        if !std::mem::replace(&mut self.begun, true) {
            figures.evaluated += 1;
            let estimate = self.relaxed.estimate(&state, None);
            self.states.insert(&state);
            self.nodes.push(&[Node { h: estimate.0, ..Node::default() }]);
            self.waits.push(&[bit(Queue::Unknown)]);
            if self.worker.is_goal(&state) {
                return End::Plan(Vec::new());
            }
            if estimate == Distance::INFINITE {
                return End::Exhausted;
            }
            self.queues.push(Queue::Unknown, estimate.0, 0);
        }
        loop {
            let count = u64::from(self.states.len());
            figures.states = figures.states.max(count);
            let bytes = || {
                let queues: u64 = self.queues.queues.iter().map(Fifo::bytes).sum();
                self.states.bytes() + self.nodes.bytes() + self.waits.bytes() + queues
            };
            if let Some(reason) = watch.must_stop(0, count, bytes) {
                return End::Stopped(reason);
            }
            let Some((_, at)) = self.queues.pop() else { return End::Exhausted };
            let waits = &mut self.waits.get_mut(at)[0];
            if *waits & DONE != 0 {
                continue;
            }
            *waits |= DONE;
            figures.expanded += 1;
            state.copy_from_slice(self.states.get(at));
            self.look_ahead(&state, figures);
            self.worker.applicable(&state, &mut self.rows);
            for index in 0..self.rows.len() {
                let row = self.rows[index];
                if let Some(reason) = watch.is_late() {
                    // It waits again, with what is known of its successors.
                    self.waits.get_mut(at)[0] &= !DONE;
                    self.queues.push(Queue::Unknown, self.nodes.get(at)[0].h, at);
                    return End::Stopped(reason);
                }
                let Firing::Reached(_) = self.worker.fire(&state, row, &mut next) else { continue };
                figures.generated += 1;
                let (to, new) = self.states.insert(&next);
                if new {
                    figures.evaluated += 1;
                    let estimate = self.relaxed.estimate(&next, None);
                    let dead = estimate == Distance::INFINITE;
                    self.nodes.push(&[Node { parent: at, row, g: 0, h: estimate.0 }]);
                    self.waits.push(&[if dead { DONE } else { 0 }]);
                    if self.worker.is_goal(&next) {
                        return End::Plan(path(&self.nodes, to));
                    }
                }
                self.put(to, row, &state, figures);
            }
        }
    }

    /// Reads off the relaxed plan of the state at hand what its actions are.
    fn look_ahead(&mut self, state: &[u64], figures: &mut Figures) {
        if !self.told.helpful && !self.told.useless {
            return;
        }
        figures.evaluated += 1;
        self.here = self.relaxed.estimate(state, None).0;
        let ascending = |labels: &[Label], rows: &mut Vec<u32>| {
            rows.clear();
            rows.extend(labels.iter().map(|label| label.0));
            rows.sort_unstable();
            rows.dedup();
        };
        ascending(self.relaxed.supporters().unwrap_or_default(), &mut self.plan);
        ascending(self.relaxed.preferred(), &mut self.helpful);
    }

    /// Lets a state that `row` leads to from the state at hand wait where it belongs, unless it does already.
    fn put(&mut self, to: u32, row: u32, from: &[u64], figures: &mut Figures) {
        let waits = self.waits.get(to)[0];
        // What waits with the unknown, and with the helpful where they are told apart, has nothing to gain.
        let most = bit(Queue::Unknown) | if self.told.helpful { bit(Queue::Helpful) } else { 0 };
        if waits & DONE != 0 || waits & most == most {
            return;
        }
        let there = self.nodes.get(to)[0].h;
        let mut queues = [Some(Queue::Unknown), None];
        if self.told.useless && self.is_useless(row, from, there, figures) {
            queues[0] = Some(Queue::Useless);
        } else if self.told.helpful && self.helpful.binary_search(&row).is_ok() {
            queues[1] = Some(Queue::Helpful);
        }
        for queue in queues.into_iter().flatten() {
            let waits = &mut self.waits.get_mut(to)[0];
            // Useless is what no better way leads to.
            let better = queue == Queue::Useless && *waits != 0;
            if *waits & bit(queue) == 0 && !better {
                *waits |= bit(queue);
                self.queues.push(queue, there, to);
            }
        }
    }

    /// Whether the way without the row is no longer than the one behind it, as far as estimates know.
    fn is_useless(&mut self, row: u32, from: &[u64], there: u32, figures: &mut Figures) -> bool {
        // A relaxed plan without the row is there without it, too.
        if self.plan.binary_search(&row).is_err() {
            return self.here <= there;
        }
        figures.evaluated += 1;
        let off: Mask = [Label(row)].into_iter().collect();
        self.relaxed.estimate(from, Some(&off)).0 <= there
    }
}

impl Sitting<'_> {
    /// Any plan by greedy search whose states are estimated when they are met.
    pub(crate) fn eagerly(&mut self, told: Told) -> Result<End, PlanError> {
        let space = self.space;
        let made = self.relaxed(CostKind::Unit, Relaxation::Plan);
        let (guide, _held) = match made {
            Ok(made) => made,
            Err(reason) => return Ok(End::Stopped(reason)),
        };
        let mut search = Eager::new(space, guide.exploration(), told);
        let mut figures = Figures::default();
        let loaded = self.take_up(|from| {
            figures = Figures::load(from)?;
            search.load(from)
        })?;
        self.say(match loaded {
            Some(()) => "continuing with greedy search by h^FF",
            None => "greedy search by h^FF",
        });
        let end = search.go_on(&mut self.watch(u64::MAX), &mut figures);
        self.outcome.figures.add(figures);
        if let End::Stopped(reason) = &end
            && !wants_memory(reason)
        {
            self.keep(reason, (Stage::First, None), |to| {
                figures.save(to)?;
                search.save(to)
            });
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_take_turns_as_published_and_the_useless_come_last() {
        let mut queues = Queues::default();
        for at in 0..3 {
            queues.push(Queue::Unknown, 5, at);
            queues.push(Queue::Useless, 0, 10 + at);
        }
        queues.push(Queue::Helpful, 9, 20);
        queues.push(Queue::Helpful, 9, 21);
        let order: Vec<(Queue, u32)> = std::iter::from_fn(|| queues.pop()).collect();
        use Queue::{Helpful, Unknown, Useless};
        let expected = [
            (Helpful, 20),
            (Unknown, 0),
            (Helpful, 21),
            (Unknown, 1),
            (Unknown, 2),
            (Useless, 10),
            (Useless, 11),
            (Useless, 12),
        ];
        assert_eq!(order, expected);
    }
}
