//! Iterative deepening A* (Korf 1985): depth-first among states whose cost plus estimate is within a bound, raised to the
//! least sum beyond it until something is found.
//!
//! The table remembers the least cost at which a state was entered in the current round, as far as the memory budget goes;
//! after that only the states of the current path are held, and the search goes on.

use super::core::{Core, End};
use super::counted::Counted;
use hadal_store::OverBudget;
use hadal_system::Label;
use hadal_system::guide::Distance;

/// Words before the state in a waiting record: cost, and depth with the label.
const HEAD: usize = 2;

/// Explores from the initial states.
pub(super) fn run(core: &mut Core) -> Result<End, OverBudget> {
    let mut dive = Dive::new(core);
    let (roots, mut bound) = dive.roots()?;
    if let Some(end) = dive.core.take_found() {
        return Ok(end);
    }
    loop {
        dive.core.figures.rounds += 1;
        dive.round += 1;
        dive.least_beyond = None;
        for root in roots.iter().rev() {
            dive.wait(0, 0, Label(0), root)?;
        }
        if let Some(end) = dive.descend(bound)? {
            return Ok(end);
        }
        match dive.least_beyond {
            Some(least) => bound = least,
            None => return Ok(End::Exhausted),
        }
    }
}

struct Dive<'d, 'a> {
    core: &'d mut Core<'a>,
    words: usize,
    /// States to visit, the next one last: cost, depth and label, then the state.
    waiting: Counted<u64>,
    /// The states from the initial one to the one being visited.
    path: Counted<u64>,
    /// The number of the round, kept in the nodes of states entered in it.
    round: u32,
    least_beyond: Option<u64>,
    /// The table takes no more states.
    is_full: bool,
}

impl<'d, 'a> Dive<'d, 'a> {
    fn new(core: &'d mut Core<'a>) -> Self {
        let governor = core.search.governor;
        let words = core.search.task.space.words();
        let waiting = Counted::new("states to visit", governor);
        let path = Counted::new("path", governor);
        Dive { core, words, waiting, path, round: 0, least_beyond: None, is_full: false }
    }

    /// The initial states, and the least of their estimates.
    fn roots(&mut self) -> Result<(Vec<Vec<u64>>, u64), OverBudget> {
        let (mut roots, mut bound) = (Vec::new(), u64::MAX);
        for at in self.core.start()? {
            let h = self.core.nodes.get(at).h;
            if h.is_finite() {
                bound = bound.min(u64::from(h.0));
            }
            roots.push(self.core.words_at(at).to_vec());
        }
        Ok((roots, bound))
    }

    fn wait(&mut self, g: u32, depth: usize, label: Label, state: &[u64]) -> Result<(), OverBudget> {
        self.waiting.push(u64::from(g))?;
        self.waiting.push((depth as u64) << 32 | u64::from(label.0))?;
        self.waiting.extend(state)
    }

    /// Visits what waits; `None` where nothing within the bound is left.
    fn descend(&mut self, bound: u64) -> Result<Option<End>, OverBudget> {
        let mut state = vec![0; self.words];
        while !self.waiting.is_empty() {
            let at = self.waiting.len() - self.words - HEAD;
            let g = self.waiting[at] as u32;
            let depth = (self.waiting[at + 1] >> 32) as usize;
            let label = Label(self.waiting[at + 1] as u32);
            state.copy_from_slice(&self.waiting[at + HEAD..]);
            self.waiting.truncate(at);
            self.path.truncate(depth * self.words);
            self.core.figures.pops += 1;
            if let Some(reason) = self.core.must_stop() {
                return Ok(Some(End::Stopped(reason)));
            }
            if !self.enter(&state, label, g, bound)? {
                continue;
            }
            self.path.extend(&state)?;
            let found = self.core.look_at_words(&state).or_else(|| {
                self.core.figures.distinct += 1;
                self.core.generate_words(&state)
            });
            if let Some(finding) = found {
                let path = self.path.chunks(self.words).map(<[u64]>::to_vec).collect();
                return Ok(Some(End::Traced(finding, path, g)));
            }
            for n in (0..self.core.successors()).rev() {
                let label = self.core.label(n);
                let g = g.saturating_add(self.core.step_cost(label));
                self.waiting.push(u64::from(g))?;
                self.waiting.push((depth as u64 + 1) << 32 | u64::from(label.0))?;
                self.waiting.extend(self.core.words_of(n))?;
            }
            self.core.settle();
        }
        Ok(None)
    }

    /// Whether to expand a state: it is within the bound and was not entered more cheaply in this round.
    fn enter(&mut self, state: &[u64], label: Label, g: u32, bound: u64) -> Result<bool, OverBudget> {
        let known = match self.core.remember(state, label, g, self.is_full) {
            Ok(known) => known,
            Err(_) => {
                self.is_full = true;
                None
            }
        };
        let h = match known {
            Some(at) => self.core.estimate(at),
            None => self.core.estimate_words(state),
        };
        let total = if h.is_finite() { u64::from(g) + u64::from(h.0) } else { u64::MAX };
        if h == Distance::INFINITE && self.core.prune {
            return Ok(false);
        }
        if total > bound {
            self.least_beyond = Some(self.least_beyond.map_or(total, |least| least.min(total)));
            return Ok(false);
        }
        match known {
            Some(at) => {
                let node = self.core.nodes.get_mut(at);
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
