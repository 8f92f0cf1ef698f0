//! Searches that need the whole graph first: one way catch them young, and maximal accepting predecessors.

use super::Seed;
use super::graph::{Edge, End, Graph};

/// Every transition, by state.
struct Whole {
    edges: Vec<Vec<u32>>,
    accepting: Vec<bool>,
}

async fn explore(graph: &mut Graph<'_>) -> Result<Whole, End> {
    graph.initial()?;
    let (mut edges, mut accepting) = (Vec::new(), Vec::new());
    let mut list: Vec<Edge> = Vec::new();
    while (edges.len() as u64) < graph.len() {
        let state = edges.len() as u64;
        list.clear();
        graph.successors(state, &mut list).await?;
        let own = graph.component(state);
        // Transitions between components lie on no cycle.
        let mut inner: Vec<u32> = Vec::new();
        for edge in &list {
            if own.is_some() && graph.component(edge.to) == own {
                inner.push(edge.to as u32);
            }
        }
        edges.push(inner);
        accepting.push(graph.accepting(state));
    }
    Ok(Whole { edges, accepting })
}

/// Fisler, Fraer, Kamhi, Vardi and Yang (TACAS 2001); explicit: Cerna and Pelanek, "Distributed explicit fair cycle
/// detection" (SPIN 2003): keep what accepting states reach, drop what nothing leads to, until neither changes anything.
pub(super) async fn owcty(graph: &mut Graph<'_>) -> Result<Option<Seed>, End> {
    let whole = explore(graph).await?;
    let n = whole.edges.len();
    let mut kept = vec![true; n];
    let mut left = n;
    loop {
        graph.round().await?;
        let mut reached = vec![false; n];
        let mut open: Vec<usize> = (0..n).filter(|&s| kept[s] && whole.accepting[s]).collect();
        open.iter().for_each(|&s| reached[s] = true);
        while let Some(state) = open.pop() {
            for &to in &whole.edges[state] {
                if kept[to as usize] && !std::mem::replace(&mut reached[to as usize], true) {
                    open.push(to as usize);
                }
            }
        }
        kept = reached;
        let mut before = vec![0u32; n];
        for state in (0..n).filter(|&s| kept[s]) {
            whole.edges[state]
                .iter()
                .filter(|&&to| kept[to as usize])
                .for_each(|&to| before[to as usize] += 1);
        }
        let mut open: Vec<usize> = (0..n).filter(|&s| kept[s] && before[s] == 0).collect();
        while let Some(state) = open.pop() {
            kept[state] = false;
            for &to in whole.edges[state].iter().filter(|&&to| kept[to as usize]) {
                before[to as usize] -= 1;
                if before[to as usize] == 0 {
                    open.push(to as usize);
                }
            }
        }
        let now = kept.iter().filter(|kept| **kept).count();
        if now == left || now == 0 {
            break;
        }
        left = now;
    }
    // Every state left has a predecessor left, back to an accepting state on a cycle: some accepting one reaches itself.
    let candidates = (0..n).filter(|&s| kept[s] && whole.accepting[s]);
    Ok(on_a_cycle(&whole.edges, candidates))
}

/// The first of these states that reaches itself.
fn on_a_cycle(edges: &[Vec<u32>], candidates: impl Iterator<Item = usize>) -> Option<Seed> {
    for seed in candidates {
        let mut seen = vec![false; edges.len()];
        let mut open = vec![seed];
        while let Some(state) = open.pop() {
            for &to in &edges[state] {
                if to as usize == seed {
                    return Some(Seed { state: seed as u64, among: None, wanted: 0 });
                }
                if !std::mem::replace(&mut seen[to as usize], true) {
                    open.push(to as usize);
                }
            }
        }
    }
    None
}

/// Brim, Cerna, Moravec and Simsa, "Accepting predecessors are better than back edges in distributed LTL model-checking"
/// (FMCAD 2004): spread the largest accepting state that leads to each state; one that leads to itself is on a cycle.
/// Where none does, those that were spread are no longer accepting, and the search begins again.
pub(super) async fn map(graph: &mut Graph<'_>) -> Result<Option<Seed>, End> {
    let Whole { edges, mut accepting } = explore(graph).await?;
    let n = edges.len();
    loop {
        graph.round().await?;
        // 0: none; else the number of the state plus one.
        let mut largest = vec![0u32; n];
        let mut open: Vec<usize> = (0..n).collect();
        let mut waits = vec![true; n];
        while let Some(state) = open.pop() {
            waits[state] = false;
            let own = if accepting[state] { state as u32 + 1 } else { 0 };
            let value = largest[state].max(own);
            for &to in &edges[state] {
                let to = to as usize;
                if largest[to] < value {
                    largest[to] = value;
                    if accepting[to] && value == to as u32 + 1 {
                        return Ok(Some(Seed { state: to as u64, among: None, wanted: 0 }));
                    }
                    if !std::mem::replace(&mut waits[to], true) {
                        open.push(to);
                    }
                }
            }
        }
        let mut changed = false;
        for &value in largest.iter().filter(|value| **value > 0) {
            changed |= std::mem::replace(&mut accepting[value as usize - 1], false);
        }
        if !changed {
            return Ok(None);
        }
    }
}
