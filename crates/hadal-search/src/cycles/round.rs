//! The way round an accepted cycle, once a state on it is known: shortest pieces, one acceptance set after the other.

use super::Seed;
use super::graph::{Edge, End, Graph};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The states of a cycle through the seed, the seed first, that meets the acceptance sets that are wanted.
pub(super) async fn close(graph: &mut Graph<'_>, seed: &Seed) -> Result<Vec<u64>, End> {
    let own = graph.component(seed.state);
    let mut round = vec![seed.state];
    // Without a set of states to stay in, the seed is accepting itself: any way back to it will do.
    let mut missing = seed.wanted;
    loop {
        let from = round[round.len() - 1];
        let wanted = missing;
        let target = seed.state;
        let found = reach(graph, (from, own), seed, |edge| match wanted {
            0 => edge.to == target,
            _ => edge.marks & wanted != 0,
        })
        .await?;
        let (steps, marks) = found.unwrap_or_default();
        missing &= !marks;
        round.extend(&steps);
        let back = round.last() == Some(&target) && round.len() > 1;
        if steps.is_empty() || back && missing == 0 {
            if back {
                round.pop();
            }
            return Ok(round);
        }
    }
}

/// The shortest way from a state over a transition that `wanted` says yes to: the states behind the first, and the marks
/// met.
#[allow(clippy::type_complexity, reason = "a path and what it met")]
async fn reach(
    graph: &mut Graph<'_>,
    (from, own): (u64, Option<u32>),
    seed: &Seed,
    wanted: impl Fn(&Edge) -> bool,
) -> Result<Option<(Vec<u64>, u64)>, End> {
    let mut parents: HashMap<u64, (u64, u64)> = HashMap::from([(from, (from, 0))]);
    let mut layer = vec![from];
    let mut edges = Vec::new();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for state in layer {
            edges.clear();
            graph.successors(state, &mut edges).await?;
            for edge in &edges {
                let inside = seed.among.as_ref().is_none_or(|among| among.contains(&edge.to));
                if !inside || graph.component(edge.to) != own {
                    continue;
                }
                if wanted(edge) {
                    let (mut steps, mut marks, mut at) = (vec![edge.to], edge.marks, state);
                    while at != from {
                        let (before, met) = parents[&at];
                        steps.push(at);
                        marks |= met;
                        at = before;
                    }
                    steps.reverse();
                    return Ok(Some((steps, marks)));
                }
                if let Entry::Vacant(unseen) = parents.entry(edge.to) {
                    unseen.insert((state, edge.marks));
                    next.push(edge.to);
                }
            }
        }
        layer = next;
    }
    Ok(None)
}
