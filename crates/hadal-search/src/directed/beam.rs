//! Beam search: breadth-first, but of each layer only the states with the best estimates are kept. What is found is real;
//! finding nothing proves something only where no state was ever dropped.

use super::core::{Core, Course, End};
use super::counted::Counted;
use super::limits::Halt;
use hadal_store::OverBudget;

/// Beam search as the course of an order.
pub(super) struct Beam {
    /// States kept a layer.
    width: usize,
    layer: Counted<u32>,
    /// The first of the layer that is not expanded.
    at: usize,
    /// Successors with their estimates.
    next: Counted<(u32, u32)>,
    dropped: bool,
    is_begun: bool,
}

impl Beam {
    pub(super) fn new(core: &Core, width: u64) -> Self {
        let governor = core.search.governor;
        let (layer, next) = (Counted::new("beam", governor), Counted::new("beam", governor));
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        Beam { width, layer, at: 0, next, dropped: false, is_begun: false }
    }

    /// Expands one state of the layer.
    fn expand(&mut self, core: &mut Core, at: u32) -> Result<Option<End>, OverBudget> {
        let g = core.nodes.get(at).g;
        core.generate(at);
        for n in 0..core.successors() {
            let successor = core.successor(n, at, g, 0)?;
            if !successor.fresh {
                continue;
            }
            let h = core.estimate(successor.at);
            if h.is_finite() || !core.rules.prune {
                self.next.push((h.0, successor.at))?;
            }
        }
        core.settle();
        Ok(core.take_found())
    }

    /// Makes the best successors the layer.
    fn next_layer(&mut self) -> Result<(), OverBudget> {
        if self.next.len() > self.width {
            self.dropped = true;
            // Of equal estimates, those found first.
            self.next.as_mut_slice().select_nth_unstable(self.width);
            self.next.truncate(self.width);
            self.next.as_mut_slice().sort_unstable();
        }
        self.layer.clear();
        for &(_, at) in self.next.iter() {
            self.layer.push(at)?;
        }
        self.next.clear();
        self.at = 0;
        Ok(())
    }
}

impl Course for Beam {
    fn go_on(&mut self, core: &mut Core) -> Result<Option<End>, OverBudget> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.layer.extend(&core.start()?)?;
            if let Some(end) = core.take_found() {
                return Ok(Some(end));
            }
            core.figures.rounds += u64::from(!self.layer.is_empty());
        }
        loop {
            while let Some(&at) = self.layer.get(self.at) {
                let halt = core.halts();
                if halt == Some(Halt::Pause) {
                    return Ok(None);
                }
                self.at += 1;
                core.figures.work.pops += 1;
                core.figures.work.distinct += 1;
                if let Some(Halt::Stop(reason)) = halt {
                    return Ok(Some(End::Stopped(reason)));
                }
                if let Some(end) = self.expand(core, at)? {
                    return Ok(Some(end));
                }
            }
            self.next_layer()?;
            if self.layer.is_empty() {
                return Ok(Some(if self.dropped { End::Incomplete } else { End::Exhausted }));
            }
            core.figures.rounds += 1;
        }
    }
}
