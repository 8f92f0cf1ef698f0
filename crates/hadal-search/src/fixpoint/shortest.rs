//! Shortest lassos among those that the sweeps left: every state of the hull may begin the loop, nearest ones first, and a
//! loop is looked for breadth-first as long as it can still make a shorter lasso.
//!
//! A loop's states carry the acceptance sets met so far, so that the first one that closes with all of them is shortest.
//! Jabbar, "External memory algorithms for state space exploration in model checking and action planning" (2008), ch. 6,
//! tells the two notions apart: loops that begin in an accepting state, and all.

use super::bits::Bits;
use super::closed::Closed;
use super::inside::{Inside, Reached};
use super::lasso::Lasso;
use super::pass::{Early, Look, Pass};
use crate::layered::Trouble;
use hadal_store::Reservation;
use hadal_system::state::compare;
use hadal_system::{Acceptance, Shown};
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Mutex;

/// States of a loop that are expanded between two moments at which the search may rest.
const NODES: usize = 1024;
/// As many seeds are held at once.
const SEEDS: usize = 4096;

/// A state that may begin a loop, in the order in which they are tried.
#[derive(Clone, PartialEq, Eq)]
struct Seed {
    depth: usize,
    state: Vec<u64>,
}

impl Ord for Seed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.depth.cmp(&other.depth).then_with(|| compare(&self.state, &other.state))
    }
}

impl PartialOrd for Seed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A shortest lasso of the kind asked for, or `found` where it is one; and whether it is known to be: where memory or time
/// runs out, the best one so far is not.
pub(super) async fn improve<C: Closed>(
    pass: &Pass<'_, C>,
    acceptance: Acceptance,
    hull: &Bits,
    found: Lasso,
) -> Result<(Lasso, bool), Early> {
    let mut search =
        Loops { pass, acceptance, hull, look: pass.look(), memory: pass.governor.empty("loops") };
    // One that was found by other means may begin its loop in any state.
    let mut best = match acceptance.shown {
        Shown::FromAccepting if !search.begins_accepting(&found) => None,
        _ => Some(found),
    };
    for group in 0..pass.closed.groups() {
        let mut tried: Option<Seed> = None;
        loop {
            let most = best.as_ref().map_or(usize::MAX, |best| best.length() - 1);
            let seeds = search.seeds(group, tried.as_ref(), most).await?;
            let is_last = seeds.len() < SEEDS;
            tried = seeds.last().cloned();
            for Seed { depth, state } in seeds {
                if pass.task.control.must_stop(0).is_some()
                    && let Some(best) = best
                {
                    return Ok((best, false));
                }
                let most = best.as_ref().map_or(usize::MAX, |best| best.length() - 1);
                if depth >= most {
                    continue;
                }
                match search.around(&state, most - depth).await {
                    Ok(Some(path)) => best = Some(Lasso { depth, path, loop_from: 0 }),
                    Ok(None) => {}
                    Err(Early::Trouble(Trouble::OverBudget(full))) if !pass.moves_on => {
                        let best = best.map(|best| (best, false));
                        return best.ok_or(Early::Trouble(Trouble::OverBudget(full)));
                    }
                    Err(other) => return Err(other),
                }
            }
            if is_last {
                break;
            }
        }
    }
    // A hull that is not empty has an accepted loop, and one set of states is met in one of them.
    best.map(|best| (best, true)).ok_or(Early::Trouble(Trouble::Liveness))
}

struct Loops<'p, 'a, C> {
    pass: &'p Pass<'a, C>,
    acceptance: Acceptance,
    hull: &'p Bits,
    look: Look<'a>,
    memory: Reservation,
}

impl<'a, C: Closed> Loops<'_, 'a, C> {
    fn begins_accepting(&mut self, lasso: &Lasso) -> bool {
        self.look.worker.state_marks(&lasso.path[lasso.loop_from]) & 1 == 1
    }

    /// The next states of a group that may begin a loop, nearest first: behind those that were tried, and nearer than `most`.
    async fn seeds(&mut self, group: usize, tried: Option<&Seed>, most: usize) -> Result<Vec<Seed>, Early> {
        let nearest: Mutex<BinaryHeap<Seed>> = Mutex::new(BinaryHeap::new());
        let from_accepting = self.acceptance.shown == Shown::FromAccepting;
        self.pass
            .over_group(group, &|look, state, at| {
                let may = self.hull.get(at.number)
                    && at.depth < most
                    && (!from_accepting || look.worker.state_marks(state) & 1 == 1);
                if may {
                    let seed = Seed { depth: at.depth, state: state.to_vec() };
                    let mut nearest = nearest.lock().unwrap_or_else(|e| e.into_inner());
                    let is_near = nearest.len() < SEEDS || nearest.peek().is_some_and(|last| seed < *last);
                    if is_near && tried.is_none_or(|tried| seed > *tried) {
                        nearest.push(seed);
                        if nearest.len() > SEEDS {
                            nearest.pop();
                        }
                    }
                }
                false
            })
            .await?;
        Ok(nearest.into_inner().unwrap_or_else(|e| e.into_inner()).into_sorted_vec())
    }

    /// The states of a shortest accepted loop through `seed`, the seed first, with at most `most` steps: in RAM or, where
    /// every loop will do, on disk.
    async fn around(&mut self, seed: &[u64], most: usize) -> Result<Option<Vec<Vec<u64>>>, Early> {
        let any_loop = self.acceptance.weak || self.acceptance.shown == Shown::FromAccepting;
        match self.around_in_ram(seed, most).await {
            Err(Early::Trouble(Trouble::OverBudget(_))) if any_loop => {
                // What the search held makes room.
                self.memory.try_resize(0)?;
                let mut inside = Inside::new(self.pass, self.hull)?.within(most);
                match inside.search(seed, |to, _| to == seed).await? {
                    Reached::There(mut way) => {
                        way.pop();
                        way.insert(0, seed.to_vec());
                        Ok(Some(way))
                    }
                    Reached::Nowhere(_) => Ok(None),
                }
            }
            ended => ended,
        }
    }

    async fn around_in_ram(&mut self, seed: &[u64], most: usize) -> Result<Option<Vec<Vec<u64>>>, Early> {
        let words = seed.len();
        let own = self.look.worker.component(seed);
        let plain = self.acceptance.weak || self.acceptance.shown == Shown::FromAccepting;
        let always = if plain { 0 } else { self.acceptance.always() };
        // A state, the sets met, and the pairs able so far; with the one before.
        let node = |state: &[u64], met: u64, able: u64| -> Vec<u64> {
            state.iter().copied().chain([met, able]).collect()
        };
        let first = node(seed, 0, 0);
        let mut parents: HashMap<Vec<u64>, Vec<u64>> = HashMap::from([(first.clone(), first.clone())]);
        let mut level = vec![first.clone()];
        for _ in 0..most {
            let mut next = Vec::new();
            for (n, from) in level.iter().enumerate() {
                if n % NODES == 0 {
                    self.pass.count(&mut self.look, NODES.min(level.len() - n));
                    self.pass.rest().await?;
                }
                self.look.expand(&from[..words]);
                let Look { worker, out, marks, .. } = &mut self.look;
                worker.marks(&from[..words], out, marks);
                let able = if plain { 0 } else { from[words + 1] | worker.able(&from[..words], out) };
                for ((_, to), &marks) in out.iter().zip(marks.iter()) {
                    let inside = worker.component(to) == own
                        && self.pass.closed.number(to).is_some_and(|number| self.hull.get(number));
                    if !inside {
                        continue;
                    }
                    let met = if plain { 0 } else { from[words] | marks };
                    let wanted = always | able;
                    if to == seed && met & wanted == wanted {
                        let mut path = vec![from[..words].to_vec()];
                        let mut at = from;
                        while *at != first {
                            at = &parents[at];
                            path.push(at[..words].to_vec());
                        }
                        path.reverse();
                        return Ok(Some(path));
                    }
                    if let Entry::Vacant(unseen) = parents.entry(node(to, met, able)) {
                        next.push(unseen.key().clone());
                        unseen.insert(from.clone());
                    }
                }
            }
            // A key, a value and a place in a list, with what the allocator adds.
            self.memory.try_resize((parents.len() * (3 * (words + 2) * 8 + 160)) as u64)?;
            if next.is_empty() {
                break;
            }
            level = next;
        }
        Ok(None)
    }
}
