//! Greedy search and breadth-first search in turns, in one table: what either finds ends both.
//!
//! Estimates can cost many times what expanding a state costs, and they can mislead. Turns are measured in work, a
//! deterministic count that weighs an estimate as several expansions, and grow; the guided search begins. So a good guide
//! is seen through almost alone, and a bad one costs about as much again as breadth-first search would.

use super::best_first::{BestFirstWalk, Step};
use super::core::{Core, Course, End};
use super::counted::Counted;
use super::limits::Halt;
use super::nodes::Flag;
use hadal_store::OverBudget;

/// What an estimate weighs, in generated states.
const ESTIMATE: u64 = 8;
/// The work of the first turn.
const FIRST_TURN: u64 = 20_000;
/// Each turn is this many times longer than the one before.
const GROWTH: u64 = 2;

/// Both searches.
pub(super) struct Alternating {
    walk: BestFirstWalk,
    blind: Blind,
    turn: Turn,
    /// The work that each turn goes up to.
    allowed: u64,
    generated_blindly: u64,
}

/// Whose turn it is.
enum Turn {
    /// Nobody's: the initial states are not open.
    First,
    Guided,
    Blind,
}

impl Alternating {
    pub(super) fn new(core: &Core) -> Self {
        let queue = Counted::new("breadth-first turns", core.search.governor);
        let blind = Blind { queue, next: 0, generated: 0 };
        let (turn, allowed, generated_blindly) = (Turn::First, FIRST_TURN, 0);
        Alternating { walk: BestFirstWalk::new(core), blind, turn, allowed, generated_blindly }
    }

    fn start(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        let roots = core.start()?;
        self.walk.open(core, &roots)?;
        if let Some(end) = core.take_found() {
            return Ok(Some(end));
        }
        for at in roots {
            core.nodes.get_mut(at).set(Flag::Marked);
            self.blind.queue.push(at)?;
        }
        Ok(None)
    }
}

impl Course for Alternating {
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        loop {
            let step = match self.turn {
                Turn::First => {
                    if let Some(end) = self.start(core)? {
                        return Ok(Some(end));
                    }
                    core.figures.rounds += 1;
                    self.turn = Turn::Guided;
                    continue;
                }
                Turn::Guided => {
                    let figures = &core.figures;
                    let generated = figures.work.generated - self.generated_blindly;
                    if generated + ESTIMATE * figures.work.evaluated >= self.allowed {
                        self.turn = Turn::Blind;
                        continue;
                    }
                    self.walk.step(core)?
                }
                Turn::Blind => {
                    if self.blind.generated >= self.allowed {
                        self.generated_blindly = self.blind.generated;
                        self.allowed *= GROWTH;
                        core.figures.rounds += 1;
                        self.turn = Turn::Guided;
                        continue;
                    }
                    let step = self.blind.step(core)?;
                    if step.is_none() {
                        // Breadth-first search leaves nothing out: whatever the guide called hopeless was seen too.
                        core.figures.work.hopeless = 0;
                        core.figures.work.cut = 0;
                    }
                    step
                }
            };
            match step {
                Some(Step::Went) => {}
                Some(Step::Paused) => return Ok(None),
                Some(Step::Ended(end)) => return Ok(Some(end)),
                None => return Ok(Some(End::Exhausted)),
            }
        }
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
        match core.halts() {
            Some(Halt::Pause) => return Ok(Some(Step::Paused)),
            Some(Halt::Stop(reason)) => return Ok(Some(Step::Ended(End::Stopped(reason)))),
            None => {}
        }
        self.next += 1;
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
