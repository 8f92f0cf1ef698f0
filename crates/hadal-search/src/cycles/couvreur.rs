//! Strongly connected components on the fly, with the acceptance sets each has met.
//!
//! Couvreur, "On-the-fly verification of linear temporal logic" (FM 1999), without recursion. The search ends as soon as
//! the component being built has met every set. Any number of sets, on states or transitions.

use super::Seed;
use super::graph::{Edge, End, Graph};

const UNSEEN: u32 = 0;
const GONE: u32 = u32::MAX;

struct Root {
    /// The order in which its first state was met.
    index: u32,
    /// Sets met inside.
    marks: u64,
    /// Sets of the transition that led into it.
    entered_by: u64,
}

struct Frame {
    state: u64,
    edges: usize,
    next: usize,
}

pub(super) async fn search(graph: &mut Graph<'_>) -> Result<Option<Seed>, End> {
    let all = graph.all();
    let mut order: Vec<u32> = Vec::new();
    let (mut met, mut live): (u32, Vec<u64>) = (0, Vec::new());
    let (mut roots, mut path): (Vec<Root>, Vec<Frame>) = (Vec::new(), Vec::new());
    let mut edges: Vec<Edge> = Vec::new();
    for start in graph.initial()? {
        order.resize(graph.len() as usize, UNSEEN);
        if order[start as usize] != UNSEEN {
            continue;
        }
        let mut next = Some((start, 0));
        loop {
            if let Some((state, marks)) = next.take() {
                met += 1;
                order[state as usize] = met;
                live.push(state);
                roots.push(Root { index: met, marks: 0, entered_by: marks });
                let first = edges.len();
                graph.successors(state, &mut edges).await?;
                order.resize(graph.len() as usize, UNSEEN);
                path.push(Frame { state, edges: first, next: first });
            }
            let Some(frame) = path.last_mut() else { break };
            let state = frame.state;
            if frame.next < edges.len() {
                let Edge { to, marks } = edges[frame.next];
                frame.next += 1;
                match order[to as usize] {
                    UNSEEN => next = Some((to, marks)),
                    GONE => {}
                    index => {
                        // Everything back to the root of the target is one component.
                        let mut joined = marks;
                        while let Some(root) = roots.last_mut() {
                            root.marks |= joined;
                            if root.index <= index {
                                break;
                            }
                            joined = root.marks | root.entered_by;
                            roots.pop();
                        }
                        let accepted = graph.component(state).is_some()
                            && roots
                                .last()
                                .is_some_and(|root| graph.acceptance.weak || root.marks & all == all);
                        if accepted {
                            let first = roots.last().map_or(0, |root| root.index);
                            let among: std::collections::HashSet<u64> =
                                live.iter().copied().filter(|&n| order[n as usize] >= first).collect();
                            let wanted = if graph.acceptance.weak { 0 } else { all };
                            return Ok(Some(Seed { state, among: Some(among), wanted }));
                        }
                    }
                }
                continue;
            }
            edges.truncate(frame.edges);
            path.pop();
            if roots.last().is_some_and(|root| root.index == order[state as usize]) {
                roots.pop();
                while let Some(member) = live.pop() {
                    order[member as usize] = GONE;
                    if member == state {
                        break;
                    }
                }
            }
        }
    }
    Ok(None)
}
