//! Enforced hill climbing (Hoffmann and Nebel 2001): from where it stands, breadth-first until a state with a better
//! estimate; go there; again. Where no better state can be reached, best-first search from the start takes over, so the
//! answer is complete.

use super::best_first::BestFirstWalk;
use super::core::{Core, Course, End};
use super::counted::Counted;
use super::limits::Halt;
use super::nodes::{Flag, NONE};
use hadal_store::OverBudget;

/// Hill climbing as the course of an order.
pub(super) struct Climb {
    roots: Vec<u32>,
    /// The way so far.
    trail: Counted<u32>,
    /// The states of the search for a better one, each with the place of its parent.
    queue: Counted<(u32, u32)>,
    /// The first of them that is not expanded.
    next: usize,
    at: At,
}

enum At {
    Start,
    /// Breadth-first from this state.
    Slope(u32),
    /// No better state can be reached.
    Top(BestFirstWalk),
}

impl Climb {
    pub(super) fn new(core: &Core) -> Self {
        let governor = core.search.governor;
        let trail = Counted::new("way uphill", governor);
        let queue = Counted::new("states around the way uphill", governor);
        Climb { roots: Vec::new(), trail, queue, next: 0, at: At::Start }
    }

    fn begin(&mut self, core: &mut Core, current: u32) -> Result<(), OverBudget> {
        self.queue.clear();
        self.queue.push((current, NONE))?;
        self.next = 0;
        core.nodes.get_mut(current).set(Flag::Marked);
        self.at = At::Slope(current);
        Ok(())
    }

    /// Expands the next state around the current one; the place of a better one, if it leads there.
    fn expand(&mut self, core: &mut Core, current: u32) -> Result<Option<u32>, OverBudget> {
        let (height, at) = (core.nodes.get(current).h, self.queue[self.next].0);
        let mut better = None;
        core.generate(at);
        for n in 0..core.successors() {
            let successor = core.successor(n, at, 0, 0)?;
            if core.nodes.get(successor.at).is(Flag::Marked) || better.is_some() {
                continue;
            }
            core.nodes.get_mut(successor.at).set(Flag::Marked);
            let h = core.estimate(successor.at);
            if h.is_finite() || !core.rules.prune {
                self.queue.push((successor.at, self.next as u32))?;
            }
            if h < height {
                better = Some(self.queue.len() as u32 - 1);
            }
        }
        core.settle();
        Ok(better)
    }

    /// The way to what was found while the next state was expanded.
    fn note_way(&mut self, core: &mut Core, end: &End) -> Result<(), OverBudget> {
        if let End::Found(_, found) = *end {
            extend_trail(&mut self.trail, &self.queue, self.next as u32)?;
            if found != self.queue[self.next].0 {
                self.trail.push(found)?;
            }
            set_parents(core, &self.trail);
        }
        Ok(())
    }

    /// Goes uphill from the current state; `None` where the work of the step is done, or where no better one can be reached.
    fn climb(&mut self, core: &mut Core, mut current: u32) -> Result<Option<End>, OverBudget> {
        loop {
            let mut better = None;
            while better.is_none() && self.next < self.queue.len() {
                let halt = core.halts();
                if halt == Some(Halt::Pause) {
                    return Ok(None);
                }
                core.figures.work.pops += 1;
                core.figures.work.distinct += 1;
                if let Some(Halt::Stop(reason)) = halt {
                    return Ok(Some(End::Stopped(reason)));
                }
                better = self.expand(core, current)?;
                if let Some(end) = core.take_found() {
                    self.note_way(core, &end)?;
                    return Ok(Some(end));
                }
                self.next += 1;
            }
            self.queue.iter().for_each(|&(at, _)| core.nodes.get_mut(at).clear(Flag::Marked));
            let Some(better) = better else {
                core.figures.rounds += 1;
                // Their memory is needed for the open states.
                let Climb { roots, .. } = std::mem::replace(self, Climb::new(core));
                self.roots = roots;
                let mut walk = BestFirstWalk::new(core);
                walk.open(core, &self.roots)?;
                self.at = At::Top(walk);
                return Ok(None);
            };
            let (to, parent) = self.queue[better as usize];
            extend_trail(&mut self.trail, &self.queue, parent)?;
            current = to;
            self.begin(core, current)?;
        }
    }
}

impl Course for Climb {
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        if let At::Start = self.at {
            self.roots = core.start()?;
            if let Some(end) = core.take_found() {
                return Ok(Some(end));
            }
            let Some(&first) = self.roots.iter().min_by_key(|&&at| core.nodes.get(at).h) else {
                return Ok(Some(End::Exhausted));
            };
            self.begin(core, first)?;
        }
        if let At::Slope(current) = self.at {
            let end = self.climb(core, current)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        match &mut self.at {
            At::Top(walk) => walk.drain(core),
            _ => Ok(None),
        }
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
