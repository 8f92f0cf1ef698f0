//! Shortens a trace after the fact: breadth-first through the states that are already known, from the start to the state
//! where the trace ends. No state is added and no estimate made, so it costs less than the search that went before.

use super::core::Core;
use super::counted::Counted;
use super::nodes::{Flag, NONE};
use hadal_store::OverBudget;

/// How many expansions between two looks at the clock.
const STRIDE: usize = 1024;

/// Replaces `path` by a shortest one through known states, where memory and time allow to look for it.
pub(super) fn shorten(core: &mut Core, path: &mut Vec<u32>) {
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return };
    if path.len() <= 2 || first == last {
        return;
    }
    if let Ok(Some(shorter)) = search(core, last, path.len()) {
        *path = shorter;
    }
}

/// The shortest way from an initial state to `target`, if it has fewer than `longest` states.
fn search(core: &mut Core, target: u32, longest: usize) -> Result<Option<Vec<u32>>, OverBudget> {
    let governor = core.search.governor;
    // The queue holds each state once; its parent is remembered beside it, since nodes keep the trace there is.
    let mut queue: Counted<(u32, u32)> = Counted::new("states on the way of a shorter trace", governor);
    core.nodes.clear_all(Flag::Marked);
    for at in 0..core.nodes.len() as u32 {
        if core.nodes.get(at).parent == NONE {
            core.nodes.get_mut(at).set(Flag::Marked);
            queue.push((at, NONE))?;
        }
    }
    let mut successors = Vec::new();
    let (mut next, mut depth, mut layer_ends) = (0, 0, queue.len());
    while next < queue.len() {
        if next == layer_ends {
            depth += 1;
            layer_ends = queue.len();
            if depth + 1 >= longest {
                return Ok(None);
            }
        }
        if next % STRIDE == STRIDE - 1 && core.search.task.control.must_stop(0).is_some() {
            return Ok(None);
        }
        let at = queue[next].0;
        core.known_successors(at, &mut successors);
        for &to in &successors {
            if core.nodes.get(to).is(Flag::Marked) {
                continue;
            }
            core.nodes.get_mut(to).set(Flag::Marked);
            queue.push((to, next as u32))?;
            if to == target {
                let mut path = Vec::new();
                let mut here = queue.len() as u32 - 1;
                while here != NONE {
                    path.push(queue[here as usize].0);
                    here = queue[here as usize].1;
                }
                path.reverse();
                return Ok(Some(path));
            }
        }
        next += 1;
    }
    Ok(None)
}
