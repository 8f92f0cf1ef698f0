//! Enforced hill climbing (Hoffmann and Nebel 2001): from where it stands, breadth-first until a state with a better
//! estimate; go there; again. Where no better state can be reached, best-first search from the start takes over, so the
//! answer is complete.

use super::best_first::{self, Walk};
use super::core::{Core, End};
use super::counted::Counted;
use super::nodes::{Flag, NONE};
use hadal_store::OverBudget;

/// Explores from the initial states.
pub(super) fn run(core: &mut Core) -> Result<End, OverBudget> {
    let roots = core.start()?;
    if let Some(end) = core.take_found() {
        return Ok(end);
    }
    let hopeful = |core: &Core, at: &u32| core.nodes.get(*at).h;
    let Some(first) = roots.iter().copied().min_by_key(|at| hopeful(core, at)) else {
        return Ok(End::Exhausted);
    };
    if let Some(end) = climb(core, first)? {
        return Ok(end);
    }
    core.figures.rounds += 1;
    let mut walk = Walk::new(core);
    walk.open(&roots)?;
    best_first::drain(&mut walk)
}

/// Goes uphill from `first` as long as that is possible; `None` where it is not.
fn climb(core: &mut Core, first: u32) -> Result<Option<End>, OverBudget> {
    let governor = core.search.governor;
    // The way so far, and the states of the search for a better one, each with the place of its parent.
    let mut trail: Counted<u32> = Counted::new("way uphill", governor);
    let mut queue: Counted<(u32, u32)> = Counted::new("states around the way uphill", governor);
    let mut current = first;
    loop {
        let height = core.nodes.get(current).h;
        queue.clear();
        queue.push((current, NONE))?;
        core.nodes.get_mut(current).set(Flag::Marked);
        let mut better = None;
        let mut next = 0;
        while better.is_none() && next < queue.len() {
            let at = queue[next].0;
            core.figures.pops += 1;
            core.figures.distinct += 1;
            if let Some(reason) = core.must_stop() {
                return Ok(Some(End::Stopped(reason)));
            }
            core.generate(at);
            for n in 0..core.successors() {
                let successor = core.successor(n, at, 0, 0)?;
                if core.nodes.get(successor.at).is(Flag::Marked) || better.is_some() {
                    continue;
                }
                core.nodes.get_mut(successor.at).set(Flag::Marked);
                let h = core.estimate(successor.at);
                if h.is_finite() || !core.prune {
                    queue.push((successor.at, next as u32))?;
                }
                if h < height {
                    better = Some(queue.len() as u32 - 1);
                }
            }
            core.settle();
            if let Some(end) = core.take_found() {
                if let End::Found(_, found) = end {
                    extend_trail(&mut trail, &queue, next as u32)?;
                    if found != at {
                        trail.push(found)?;
                    }
                    set_parents(core, &trail);
                }
                return Ok(Some(end));
            }
            next += 1;
        }
        queue.iter().for_each(|&(at, _)| core.nodes.get_mut(at).clear(Flag::Marked));
        let Some(better) = better else { return Ok(None) };
        let (to, parent) = queue[better as usize];
        extend_trail(&mut trail, &queue, parent)?;
        current = to;
    }
}

/// Appends the way from the first state of the queue to its n-th.
fn extend_trail(trail: &mut Counted<u32>, queue: &[(u32, u32)], n: u32) -> Result<(), OverBudget> {
    let from = trail.len();
    let mut here = n;
    while here != NONE {
        trail.push(queue[here as usize].0)?;
        here = queue[here as usize].1;
    }
    trail.as_mut_slice()[from..].reverse();
    Ok(())
}

/// Makes the trail, with its loops cut, the way the nodes remember.
fn set_parents(core: &mut Core, trail: &[u32]) {
    let mut way: Vec<u32> = Vec::new();
    core.nodes.clear_all(Flag::Marked);
    for &at in trail {
        if core.nodes.get(at).is(Flag::Marked) {
            while way.last() != Some(&at) {
                if let Some(left) = way.pop() {
                    core.nodes.get_mut(left).clear(Flag::Marked);
                }
            }
        } else {
            core.nodes.get_mut(at).set(Flag::Marked);
            way.push(at);
        }
    }
    let mut parent = NONE;
    for at in way {
        core.nodes.get_mut(at).parent = parent;
        parent = at;
    }
}
