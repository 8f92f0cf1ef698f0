//! Direct simulation: `t` simulates `s` when `t` can answer every edge of `s` with one that carries its marks and leads
//! to a state that simulates the target.
//!
//! Etessami and Holzmann (CONCUR 2000). States that simulate each other become one; an edge goes where another of the
//! same state is at least as good everywhere ("little brothers", Bustan and Grumberg 2003).

use crate::automaton::{Automaton, Edge};
use crate::guard::Cube;

/// The automaton with states that simulate each other joined, and edges dropped that others make superfluous.
pub fn quotient(automaton: &Automaton) -> Automaton {
    let simulates = relation(automaton);
    let n = automaton.len();
    let leader: Vec<u32> =
        (0..n).map(|s| (0..n).find(|&t| simulates[s][t] && simulates[t][s]).unwrap_or(s) as u32).collect();
    let mut joined = Automaton { initial: leader[automaton.initial as usize], ..automaton.clone() };
    for edges in &mut joined.edges {
        edges.iter_mut().for_each(|edge| edge.target = leader[edge.target as usize]);
    }
    joined.tidy();
    for edges in &mut joined.edges {
        drop_dominated(edges, &simulates);
    }
    let keep = vec![true; n];
    joined.restrict(&keep)
}

/// `relation[t][s]`: `t` simulates `s`.
fn relation(automaton: &Automaton) -> Vec<Vec<bool>> {
    let n = automaton.len();
    let mut simulates = vec![vec![true; n]; n];
    loop {
        let mut changed = false;
        for t in 0..n {
            for s in 0..n {
                if simulates[t][s] && s != t && !answers(automaton, t, s, &simulates) {
                    simulates[t][s] = false;
                    changed = true;
                }
            }
        }
        if !changed {
            return simulates;
        }
    }
}

fn answers(automaton: &Automaton, t: usize, s: usize, simulates: &[Vec<bool>]) -> bool {
    automaton.edges[s].iter().all(|edge| {
        let cubes: Vec<Cube> = automaton.edges[t]
            .iter()
            .filter(|answer| {
                edge.marks & !answer.marks == 0 && simulates[answer.target as usize][edge.target as usize]
            })
            .flat_map(|answer| answer.guard.cubes().iter().copied())
            .collect();
        edge.guard.cubes().iter().all(|cube| cube.is_covered_by(&cubes))
    })
}

/// Drops edges that one other edge strictly dominates.
fn drop_dominated(edges: &mut Vec<Edge>, simulates: &[Vec<bool>]) {
    let at_least = |better: &Edge, edge: &Edge| {
        edge.marks & !better.marks == 0
            && simulates[better.target as usize][edge.target as usize]
            && better.guard.contains(&edge.guard)
    };
    let kept: Vec<Edge> = edges
        .iter()
        .enumerate()
        .filter(|&(n, edge)| {
            !edges
                .iter()
                .enumerate()
                .any(|(m, better)| m != n && at_least(better, edge) && (!at_least(edge, better) || m < n))
        })
        .map(|(_, edge)| edge.clone())
        .collect();
    *edges = kept;
}
