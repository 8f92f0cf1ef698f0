//! Breadth-first heuristic search that frees layers (Zhou and Hansen 2006): of the layers up to the one being expanded only
//! the last few are kept, and one halfway. States beyond a bound on steps plus estimate are left out, which ends the search on
//! every graph: where an edge leads farther back than layers are kept, states are visited again, deeper each time.
//!
//! Beside every state lies the number of its ancestor in the layer halfway. So a search that finds something knows one state in
//! the middle of the trace, and the halves are searched for in the same way (divide and conquer).

use super::core::{Core, Course, End};
use super::limits::Halt;
use crate::finding::Finding;
use crate::report::StopReason;
use hadal_store::OverBudget;
use hadal_store::table::StateTable;
use std::collections::{BTreeMap, VecDeque};

/// What such a search kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// States found, again ones included.
    pub(super) found: u64,
    /// Most states stored at once.
    pub(super) peak: u64,
    /// All layers before this depth were freed.
    pub(super) freed_before: u64,
}

/// The search as the course of an order.
pub(super) struct Freeing {
    /// States of more steps plus estimate are left out.
    bound: u64,
    /// Layers before the one being found that are kept.
    keep: usize,
    leg: Leg,
    /// The last layers: the one before the last is being expanded, the last one is being found.
    layers: VecDeque<StateTable>,
    spare: Vec<StateTable>,
    relay: Option<StateTable>,
    /// The depth of the layer being expanded, and the first of its states that is not.
    depth: u64,
    at: u64,
    least_beyond: Option<u64>,
    /// What was found, and at which depth.
    found: Option<(Finding, u64)>,
    /// States of the trace that are known, by depth.
    knots: BTreeMap<u64, Vec<u64>>,
    is_begun: bool,
    state: Vec<u64>,
    next: Vec<u64>,
}

/// A stretch that is searched: all of it at first, then what is missing of the trace.
#[derive(Clone, Debug, Default)]
struct Leg {
    /// Where it begins; nothing stands for the initial states.
    from: Option<(u64, Vec<u64>)>,
    /// Where it ends, unless that is still to be found.
    to: Option<(u64, Vec<u64>)>,
    /// The depth of the layer halfway.
    relay: u64,
}

impl Freeing {
    pub(super) fn new(core: &Core, bound: u64, keep: u64) -> Self {
        let words = core.search.task.space.words();
        Freeing {
            bound,
            keep: usize::try_from(keep).unwrap_or(usize::MAX).saturating_sub(1).max(1),
            leg: Leg { relay: bound / 2, ..Leg::default() },
            layers: VecDeque::new(),
            spare: Vec::new(),
            relay: None,
            depth: 0,
            at: 0,
            least_beyond: None,
            found: None,
            knots: BTreeMap::new(),
            is_begun: false,
            state: vec![0; words],
            next: vec![0; words],
        }
    }

    /// An empty layer.
    fn layer(&mut self, core: &Core) -> Result<StateTable, OverBudget> {
        match self.spare.pop() {
            Some(mut table) => table.clear().map(|()| table),
            None => StateTable::new(self.state.len(), 1, 1, core.search.governor),
        }
    }

    /// Begins with the leg's first layer.
    fn begin(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        self.is_begun = true;
        self.spare.extend(self.layers.drain(..));
        self.spare.extend(self.relay.take());
        let mut first = self.layer(core)?;
        match &self.leg.from {
            Some((depth, state)) => {
                self.depth = *depth;
                first.insert_all(state, |_, beside| beside[0] = 0, |_, _| {})?;
            }
            None => {
                self.depth = 0;
                for root in core.roots()? {
                    self.state.copy_from_slice(core.words_at(root));
                    if self.is_within(core, 0) {
                        first.insert_all(&self.state, |_, beside| beside[0] = 0, |_, _| {})?;
                    }
                }
            }
        }
        if self.leg.to.is_none() {
            core.kept.found += first.len();
        }
        let next = self.layer(core)?;
        self.layers.extend([first, next]);
        self.at = 0;
        Ok(core.take_found())
    }

    /// Whether the state that is held, reached in so many steps, is within the bound.
    fn is_within(&mut self, core: &mut Core, depth: u64) -> bool {
        let h = core.estimate_words(&self.state);
        if !h.is_finite() && core.rules.prune {
            core.figures.work.hopeless += u64::from(self.leg.to.is_none());
            return false;
        }
        let total = if h.is_finite() { depth + u64::from(h.0) } else { u64::MAX };
        if total > self.bound {
            self.least_beyond = Some(self.least_beyond.map_or(total, |least| least.min(total)));
        }
        total <= self.bound
    }

    /// Expands the next state of the layer.
    fn expand(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        let expanding = self.layers.len() - 2;
        let number = self.at;
        self.at += 1;
        self.state.copy_from_slice(self.layers[expanding].nth(0, number));
        let at = self.layers[expanding].find(&self.state);
        let ancestor = match at {
            Some(_) if self.depth == self.leg.relay => number,
            Some(at) => self.layers[expanding].extra(at)[0],
            None => 0,
        };
        core.figures.work.pops += 1;
        let is_first = self.leg.to.is_none();
        let mut found = None;
        if is_first {
            core.figures.work.distinct += 1;
            let state = std::mem::take(&mut self.state);
            found = core.look_at_words(&state);
            self.state = state;
        }
        if found.is_none() {
            found = core.generate_words(&self.state).filter(|_| is_first);
        }
        if let Some(finding) = found {
            core.settle();
            self.knots.insert(self.depth, self.state.clone());
            self.found = Some((finding, self.depth));
            return self.halve(core, ancestor);
        }
        let wanted = match &self.leg.to {
            Some((depth, state)) if *depth == self.depth + 1 => state.clone(),
            _ => Vec::new(),
        };
        for n in 0..core.successors() {
            self.next.copy_from_slice(core.words_of(n));
            if self.next == wanted {
                core.forget();
                return self.halve(core, ancestor);
            }
            if self.layers.iter().any(|layer| layer.find(&self.next).is_some()) {
                continue;
            }
            std::mem::swap(&mut self.state, &mut self.next);
            if self.is_within(core, self.depth + 1)
                && let Some(last) = self.layers.back_mut()
            {
                last.insert_all(&self.state, |_, beside| beside[0] = ancestor, |_, _| {})?;
                core.kept.found += u64::from(is_first);
            }
            std::mem::swap(&mut self.state, &mut self.next);
        }
        if is_first {
            core.settle()
        } else {
            core.forget()
        }
        Ok(None)
    }

    /// The layer is expanded: the next one follows, and the oldest is freed.
    fn next_layer(&mut self, core: &mut Core) -> Result<(), OverBudget> {
        let stored: u64 = self.layers.iter().chain(&self.relay).map(StateTable::len).sum();
        core.kept.peak = core.kept.peak.max(stored);
        if self.layers.len() > self.keep
            && let Some(oldest) = self.layers.pop_front()
        {
            let depth = self.depth + 1 - self.layers.len() as u64;
            if self.leg.to.is_none() {
                core.kept.freed_before = depth + 1;
            }
            match depth == self.leg.relay {
                true => self.relay = Some(oldest),
                false => self.spare.push(oldest),
            }
        }
        self.depth += 1;
        self.at = 0;
        let next = self.layer(core)?;
        self.layers.push_back(next);
        Ok(())
    }

    /// Notes the ancestor halfway of what the leg led to, and goes on to what is still missing; the end where nothing is.
    fn halve(&mut self, core: &mut Core, ancestor: u64) -> Result<Option<End>, OverBudget> {
        if self.depth >= self.leg.relay {
            // The layer being expanded has this depth; the others lie before it.
            let back = (self.depth - self.leg.relay) as usize;
            let kept = (self.layers.len() - 2).checked_sub(back).map(|n| &self.layers[n]);
            if let Some(layer) = self.relay.as_ref().or(kept) {
                self.knots.insert(self.leg.relay, layer.nth(0, ancestor).to_vec());
            }
        }
        let Some(missing) = self.missing() else { return Ok(self.traced()) };
        self.leg = missing;
        self.begin(core)
    }

    /// The first stretch of the trace that is not known.
    fn missing(&self) -> Option<Leg> {
        let mut before: Option<(u64, &Vec<u64>)> = None;
        for (&depth, state) in &self.knots {
            let from = before.map(|(depth, state)| (depth, state.clone()));
            let to = Some((depth, state.clone()));
            match before {
                None if depth > 0 => return Some(Leg { from, to, relay: depth / 2 }),
                Some((last, _)) if depth > last + 1 => {
                    return Some(Leg { from, to, relay: (last + depth) / 2 });
                }
                _ => before = Some((depth, state)),
            }
        }
        None
    }

    fn traced(&mut self) -> Option<End> {
        let (finding, depth) = self.found.take()?;
        let path = std::mem::take(&mut self.knots).into_values().collect();
        Some(End::Traced(finding, path, u32::try_from(depth).unwrap_or(u32::MAX)))
    }
}

impl Course for Freeing {
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        if !self.is_begun {
            core.figures.rounds += 1;
            if let Some(end) = self.begin(core)? {
                return Ok(Some(end));
            }
        }
        loop {
            while self.at < self.layers[self.layers.len() - 2].len() {
                match core.halts() {
                    Some(Halt::Pause) => return Ok(None),
                    Some(Halt::Stop(reason)) => return Ok(Some(End::Stopped(reason))),
                    None => {}
                }
                if let Some(end) = self.expand(core)? {
                    return Ok(Some(end));
                }
            }
            self.next_layer(core)?;
            if self.layers[self.layers.len() - 2].is_empty() {
                return Ok(Some(match self.least_beyond {
                    Some(_) => End::Stopped(StopReason::CostBound),
                    None => End::Exhausted,
                }));
            }
        }
    }
}
