//! Shortest lassos among those that the sweeps left: every state of the hull may begin the loop, nearest ones first, and a
//! loop is looked for breadth-first as long as it can still make a shorter lasso.
//!
//! A loop's states carry the acceptance sets met so far, so that the first one that closes with all of them is shortest.
//! Jabbar, "External memory algorithms for state space exploration in model checking and action planning" (2008), ch. 6,
//! tells the two notions apart: loops that begin in an accepting state, and all.

use super::bits::Bits;
use super::closed::Closed;
use super::lasso::Lasso;
use super::pass::{Early, LOOK_WORK, Look, Pass};
use crate::layered::Trouble;
use hadal_store::Reservation;
use hadal_system::state::compare;
use hadal_system::{Acceptance, Shown};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;

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
        for (depth, seed) in search.seeds(group).await? {
            if pass.task.control.must_stop(0).is_some()
                && let Some(best) = best
            {
                return Ok((best, false));
            }
            let most = best.as_ref().map_or(usize::MAX, |best| best.length() - 1);
            if depth >= most {
                continue;
            }
            match search.around(&seed, most - depth).await {
                Ok(Some(path)) => best = Some(Lasso { depth, path, loop_from: 0 }),
                Ok(None) => {}
                Err(Early::Trouble(Trouble::OverBudget(full))) => {
                    return best.map(|best| (best, false)).ok_or(Early::Trouble(Trouble::OverBudget(full)));
                }
                Err(other) => return Err(other),
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

    /// The states of a group that may begin a loop, nearest first, with their depths.
    async fn seeds(&mut self, group: usize) -> Result<Vec<(usize, Vec<u64>)>, Early> {
        let list: Mutex<Vec<(usize, Vec<u64>)>> = Mutex::new(Vec::new());
        let from_accepting = self.acceptance.shown == Shown::FromAccepting;
        self.pass
            .over_group(group, &|look, state, at| {
                let may =
                    self.hull.get(at.number) && (!from_accepting || look.worker.state_marks(state) & 1 == 1);
                if may {
                    list.lock().unwrap_or_else(|e| e.into_inner()).push((at.depth, state.to_vec()));
                }
                false
            })
            .await?;
        let mut list = list.into_inner().unwrap_or_else(|e| e.into_inner());
        list.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
        Ok(list)
    }

    /// The states of a shortest accepted loop through `seed`, the seed first, with at most `most` steps.
    async fn around(&mut self, seed: &[u64], most: usize) -> Result<Option<Vec<Vec<u64>>>, Early> {
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
            self.pass.reins.count(level.len() as u64 * LOOK_WORK);
            self.pass.rest().await?;
            let mut next = Vec::new();
            for from in &level {
                let Look { worker, out, marks } = &mut self.look;
                out.clear();
                worker.successors(&from[..words], out);
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
