//! Greedy search and breadth-first search in turns, in one table: what either finds ends both.
//!
//! Estimates can cost many times what expanding a state costs, and they can mislead. Turns are measured in work, a
//! deterministic count that weighs an estimate as several expansions, and grow; the guided search begins. So a good guide
//! is seen through almost alone, and a bad one costs about as much again as breadth-first search would.

use super::best_first::{Step, Walk};
use super::core::{Core, End};
use super::counted::Counted;
use super::nodes::Flag;
use hadal_store::OverBudget;

/// What an estimate weighs, in generated states.
const ESTIMATE: u64 = 8;
/// The work of the first turn.
const FIRST_TURN: u64 = 20_000;
/// Each turn is this many times longer than the one before.
const GROWTH: u64 = 2;

/// Explores from the initial states.
pub(super) fn run(core: &mut Core) -> Result<End, OverBudget> {
    let governor = core.search.governor;
    let mut blind = Blind { queue: Counted::new("breadth-first turns", governor), next: 0, generated: 0 };
    let mut walk = Walk::new(core);
    let roots = walk.core.start()?;
    walk.open(&roots)?;
    if let Some(end) = walk.core.take_found() {
        return Ok(end);
    }
    for at in roots {
        walk.core.nodes.get_mut(at).set(Flag::Marked);
        blind.queue.push(at)?;
    }
    let (mut allowed, mut generated_blindly) = (FIRST_TURN, 0);
    loop {
        walk.core.figures.rounds += 1;
        loop {
            let figures = &walk.core.figures;
            if figures.generated - generated_blindly + ESTIMATE * figures.evaluated >= allowed {
                break;
            }
            match walk.step()? {
                Some(Step::Went) => {}
                Some(Step::Ended(end)) => return Ok(end),
                None => return Ok(End::Exhausted),
            }
        }
        while blind.generated < allowed {
            match blind.step(walk.core)? {
                Some(Step::Went) => {}
                Some(Step::Ended(end)) => return Ok(end),
                // Breadth-first search leaves nothing out: whatever the guide called hopeless was seen too.
                None => {
                    walk.core.figures.hopeless = 0;
                    walk.core.figures.cut = 0;
                    return Ok(End::Exhausted);
                }
            }
        }
        generated_blindly = blind.generated;
        allowed *= GROWTH;
    }
}

/// Breadth-first search that goes on.
struct Blind {
    /// Every state it has seen, in order.
    queue: Counted<u32>,
    next: usize,
    generated: u64,
}

impl Blind {
    fn step(&mut self, core: &mut Core) -> Result<Option<Step>, OverBudget> {
        let Some(&at) = self.queue.get(self.next) else { return Ok(None) };
        self.next += 1;
        if let Some(reason) = core.must_stop() {
            return Ok(Some(Step::Ended(End::Stopped(reason))));
        }
        core.figures.blind += 1;
        let g = core.nodes.get(at).g;
        core.generate(at);
        for n in 0..core.successors() {
            let successor = core.successor(n, at, g, 0)?;
            let node = core.nodes.get_mut(successor.at);
            if !node.is(Flag::Marked) {
                node.set(Flag::Marked);
                self.queue.push(successor.at)?;
            }
        }
        self.generated += core.successors() as u64;
        core.settle();
        Ok(Some(core.take_found().map_or(Step::Went, Step::Ended)))
    }
}
