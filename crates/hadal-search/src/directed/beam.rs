//! Beam search: breadth-first, but of each layer only the states with the best estimates are kept. What is found is real;
//! finding nothing proves something only where no state was ever dropped.

use super::core::{Core, End};
use super::counted::Counted;
use hadal_store::OverBudget;

/// Explores from the initial states, `width` states a layer.
pub(super) fn run(core: &mut Core, width: u64) -> Result<End, OverBudget> {
    let governor = core.search.governor;
    let mut layer: Counted<u32> = Counted::new("beam", governor);
    let mut next: Counted<(u32, u32)> = Counted::new("beam", governor);
    let mut dropped = false;
    layer.extend(&core.start()?)?;
    if let Some(end) = core.take_found() {
        return Ok(end);
    }
    while !layer.is_empty() {
        core.figures.rounds += 1;
        next.clear();
        for &at in layer.iter() {
            core.figures.pops += 1;
            core.figures.distinct += 1;
            if let Some(reason) = core.must_stop() {
                return Ok(End::Stopped(reason));
            }
            let g = core.nodes.get(at).g;
            core.generate(at);
            for n in 0..core.successors() {
                let successor = core.successor(n, at, g, 0)?;
                if !successor.fresh {
                    continue;
                }
                let h = core.estimate(successor.at);
                if h.is_finite() || !core.prune {
                    next.push((h.0, successor.at))?;
                }
            }
            core.settle();
            if let Some(end) = core.take_found() {
                return Ok(end);
            }
        }
        let keep = usize::try_from(width).unwrap_or(usize::MAX);
        if next.len() > keep {
            dropped = true;
            // Of equal estimates, those found first.
            next.as_mut_slice().select_nth_unstable(keep);
            next.truncate(keep);
            next.as_mut_slice().sort_unstable();
        }
        layer.clear();
        for &(_, at) in next.iter() {
            layer.push(at)?;
        }
    }
    Ok(if dropped { End::Incomplete } else { End::Exhausted })
}
