//! Strongly fair cycles in the whole graph: components, from which states are taken that no fair cycle of theirs passes.
//!
//! Emerson and Lei, "Modalities for model checking: branching time logic strikes back" (Science of Computer Programming,
//! 1987): a component that lacks an acceptance set has no accepted cycle; one that lacks the set of a pair has none
//! through states in which the pair is able, so those go and what is left is taken apart again.

use super::Seed;
use super::graph::{Edge, End, Graph};
use hadal_ltl::components::components;
use std::collections::HashSet;

/// A state on a cycle that is accepted and fair, and the states that the cycle may pass.
pub(super) async fn search(graph: &mut Graph<'_>) -> Result<Option<Seed>, End> {
    graph.initial()?;
    let (mut edges, mut able, mut among) = (Vec::new(), Vec::new(), Vec::new());
    let mut list: Vec<Edge> = Vec::new();
    while (edges.len() as u64) < graph.len() {
        let state = edges.len() as u64;
        list.clear();
        graph.successors(state, &mut list).await?;
        able.push(graph.able);
        let own = graph.component(state);
        let inner = list.iter().filter(|edge| own.is_some() && graph.component(edge.to) == own);
        edges.push(inner.copied().collect::<Vec<Edge>>());
        among.push(state);
    }
    let weak = graph.acceptance.weak;
    let always = if weak { 0 } else { graph.acceptance.always() };
    let mut parts: Vec<Vec<u64>> = vec![among];
    while let Some(part) = parts.pop() {
        graph.round().await?;
        let place = |state: u64| part.binary_search(&state).ok();
        let inner: Vec<Vec<u32>> = part
            .iter()
            .map(|&state| {
                edges[state as usize].iter().filter_map(|edge| place(edge.to).map(|at| at as u32)).collect()
            })
            .collect();
        let found = components(&inner);
        let mut members: Vec<Vec<u64>> = vec![Vec::new(); found.count as usize];
        part.iter().zip(&found.of).for_each(|(&state, &of)| members[of as usize].push(state));
        for (of, members) in members.into_iter().enumerate().filter(|(of, _)| found.cyclic[*of]) {
            let inside = |state: u64| place(state).is_some_and(|at| found.of[at] as usize == of);
            let (mut met, mut asks) = (0, 0);
            for &state in &members {
                let steps = edges[state as usize].iter().filter(|edge| inside(edge.to));
                met |= steps.fold(0, |all, edge| all | edge.marks);
                asks |= able[state as usize];
            }
            if met & always != always {
                continue;
            }
            let unserved = asks & !met;
            if unserved == 0 {
                let seed = members[0];
                let among = Some(HashSet::from_iter(members));
                return Ok(Some(Seed { state: seed, among, wanted: always | asks }));
            }
            let kept: Vec<u64> =
                members.into_iter().filter(|&state| able[state as usize] & unserved == 0).collect();
            if !kept.is_empty() {
                parts.push(kept);
            }
        }
    }
    Ok(None)
}
