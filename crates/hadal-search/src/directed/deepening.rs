//! Iterative deepening A* (Korf 1985): depth-first among states whose cost plus estimate is within a bound, raised to the
//! least sum beyond it until something is found.
//!
//! The table remembers the least cost at which a state was entered in the current round, as far as the memory budget goes;
//! after that only the states of the current path are held, and the search goes on.

use super::core::{Core, Course, End};
use super::counted::Counted;
use super::limits::Halt;
use hadal_store::OverBudget;
use hadal_system::Label;
use hadal_system::guide::Distance;

/// Words before the state in a waiting record: cost, and depth with the label.
const HEAD: usize = 2;

/// Iterative deepening as the course of an order.
pub(super) struct Deepening {
    words: usize,
    /// The initial states, once they are known.
    roots: Option<Vec<Vec<u64>>>,
    bound: u64,
    /// States to visit, the next one last: cost, depth and label, then the state.
    waiting: Counted<u64>,
    /// The states from the initial one to the one being visited.
    path: Counted<u64>,
    /// The number of the round, kept in the nodes of states entered in it.
    round: u32,
    least_beyond: Option<u64>,
    /// The table takes no more states.
    is_full: bool,
    /// The state being visited.
    state: Vec<u64>,
}

impl Course for Deepening {
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        if self.roots.is_none() {
            self.find_roots(core)?;
            if let Some(end) = core.take_found() {
                return Ok(Some(end));
            }
            self.begin_round(core)?;
        }
        loop {
            while !self.waiting.is_empty() {
                let halt = core.halts();
                if halt == Some(Halt::Pause) {
                    return Ok(None);
                }
                if let Some(end) = self.visit(core, halt)? {
                    return Ok(Some(end));
                }
            }
            match self.least_beyond {
                Some(least) => self.bound = least,
                None => return Ok(Some(End::Exhausted)),
            }
            self.begin_round(core)?;
        }
    }
}

impl Deepening {
    pub(super) fn new(core: &Core) -> Self {
        let governor = core.search.governor;
        let words = core.search.task.space.words();
        let waiting = Counted::new("states to visit", governor);
        let path = Counted::new("path", governor);
        let (bound, round, least_beyond, is_full) = (u64::MAX, 0, None, false);
        let state = vec![0; words];
        Deepening { words, roots: None, bound, waiting, path, round, least_beyond, is_full, state }
    }

    /// Finds the initial states, and the least of their estimates.
    fn find_roots(&mut self, core: &mut Core) -> Result<(), OverBudget> {
        let mut roots = Vec::new();
        for at in core.start()? {
            let h = core.nodes.get(at).h;
            if h.is_finite() {
                self.bound = self.bound.min(u64::from(h.0));
            }
            roots.push(core.words_at(at).to_vec());
        }
        self.roots = Some(roots);
        Ok(())
    }

    fn begin_round(&mut self, core: &mut Core) -> Result<(), OverBudget> {
        core.figures.rounds += 1;
        self.round += 1;
        self.least_beyond = None;
        let roots = self.roots.take().unwrap_or_default();
        for root in roots.iter().rev() {
            self.wait(0, 0, Label(0), root)?;
        }
        self.roots = Some(roots);
        Ok(())
    }

    fn wait(&mut self, g: u32, depth: usize, label: Label, state: &[u64]) -> Result<(), OverBudget> {
        self.waiting.push(u64::from(g))?;
        self.waiting.push((depth as u64) << 32 | u64::from(label.0))?;
        self.waiting.extend(state)
    }

    /// Visits the state that waits last.
    fn visit(&mut self, core: &mut Core, halt: Option<Halt>) -> Result<Option<End>, OverBudget> {
        let at = self.waiting.len() - self.words - HEAD;
        let g = self.waiting[at] as u32;
        let depth = (self.waiting[at + 1] >> 32) as usize;
        let label = Label(self.waiting[at + 1] as u32);
        let mut state = std::mem::take(&mut self.state);
        state.copy_from_slice(&self.waiting[at + HEAD..]);
        self.waiting.truncate(at);
        self.path.truncate(depth * self.words);
        core.figures.work.pops += 1;
        if let Some(Halt::Stop(reason)) = halt {
            return Ok(Some(End::Stopped(reason)));
        }
        let end = self.expand(core, &state, label, (g, depth));
        self.state = state;
        end
    }

    /// Expands a state within the bound that was not entered more cheaply.
    fn expand(
        &mut self,
        core: &mut Core,
        state: &[u64],
        label: Label,
        (g, depth): (u32, usize),
    ) -> Result<Option<End>, OverBudget> {
        if !self.enter(core, state, label, g)? {
            return Ok(None);
        }
        self.path.extend(state)?;
        let found = core.look_at_words(state).or_else(|| {
            core.figures.work.distinct += 1;
            core.generate_words(state)
        });
        if let Some(finding) = found {
            let path = self.path.chunks(self.words).map(<[u64]>::to_vec).collect();
            return Ok(Some(End::Traced(finding, path, g)));
        }
        for n in (0..core.successors()).rev() {
            let label = core.label(n);
            let g = core.cost_after(g, n);
            self.waiting.push(u64::from(g))?;
            self.waiting.push((depth as u64 + 1) << 32 | u64::from(label.0))?;
            self.waiting.extend(core.words_of(n))?;
        }
        core.settle();
        Ok(None)
    }

    /// Whether to expand a state: it is within the bound and was not entered more cheaply in this round.
    fn enter(&mut self, core: &mut Core, state: &[u64], label: Label, g: u32) -> Result<bool, OverBudget> {
        let known = match core.remember(state, label, g, self.is_full) {
            Ok(known) => known,
            Err(_) => {
                self.is_full = true;
                None
            }
        };
        let h = match known {
            Some(at) => core.estimate(at),
            None => core.estimate_words(state),
        };
        let total = if h.is_finite() { u64::from(g) + u64::from(h.0) } else { u64::MAX };
        if h == Distance::INFINITE && core.rules.prune {
            return Ok(false);
        }
        if total > self.bound {
            self.least_beyond = Some(self.least_beyond.map_or(total, |least| least.min(total)));
            return Ok(false);
        }
        match known {
            Some(at) => {
                let node = core.nodes.get_mut(at);
                if node.queue == self.round && node.g <= g {
                    return Ok(false);
                }
                node.queue = self.round;
                node.g = g;
            }
            // Without a table only a way back to the path itself is seen.
            None => {
                if self.path.chunks(self.words).any(|on_path| on_path == state) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
