//! Büchi automata with acceptance on edges, one or several sets.
//!
//! A run is accepting when it passes edges of every set infinitely often. With no set at all every infinite run is.
//! Where all edges of a state carry the same marks the automaton is *state-based*; [`crate::degeneralise`] makes such
//! an automaton with one set.

use crate::guard::Guard;

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// Where it leads.
    pub target: u32,
    /// The acceptance sets it belongs to, as a mask.
    pub marks: u64,
    /// When it can be taken: a condition on the letter read.
    pub guard: Guard,
}

/// An automaton over valuations of atoms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// Where runs begin.
    pub initial: u32,
    /// The edges out of each state.
    pub edges: Vec<Vec<Edge>>,
    /// How many acceptance sets, at most 64.
    pub sets: u32,
}

impl Automaton {
    /// Number of states.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// A mask of all acceptance sets.
    pub fn all_marks(&self) -> u64 {
        if self.sets >= 64 { u64::MAX } else { (1 << self.sets) - 1 }
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// Whether the marks belong to states: all edges of a state carry the same.
    pub fn is_state_based(&self) -> bool {
        self.edges.iter().all(|edges| edges.windows(2).all(|two| two[0].marks == two[1].marks))
    }

    /// Whether all edges of a state carry all marks. A state without edges is not accepting: no run goes on from it.
    pub fn accepting(&self, state: u32) -> bool {
        let edges = &self.edges[state as usize];
        !edges.is_empty() && edges.iter().all(|edge| edge.marks == self.all_marks())
    }

    /// Whether the state has an edge to itself that can always be taken and carries all marks.
    pub fn is_final(&self, state: u32) -> bool {
        let all = self.all_marks();
        self.edges[state as usize]
            .iter()
            .any(|edge| edge.target == state && edge.marks == all && edge.guard.is_always())
    }

    /// The targets of each state's edges, for graph algorithms.
    pub fn graph(&self) -> Vec<Vec<u32>> {
        self.edges.iter().map(|edges| edges.iter().map(|edge| edge.target).collect()).collect()
    }

    /// One more than the largest atom on an edge.
    pub fn atoms(&self) -> u32 {
        let cubes = self.edges.iter().flatten().flat_map(|edge| edge.guard.cubes());
        64 - cubes.fold(0, |all, cube| all | cube.positive | cube.negative).leading_zeros()
    }

    /// The automaton over other atoms: the n-th becomes `numbers[n]`.
    pub fn renumbered(&self, numbers: &[u32]) -> Automaton {
        let mut renamed = self.clone();
        for edge in renamed.edges.iter_mut().flatten() {
            edge.guard = edge.guard.renumbered(numbers);
        }
        renamed.tidy();
        renamed
    }

    /// Makes one edge of edges with the same target and marks, and drops those that can never be taken.
    pub fn tidy(&mut self) {
        for edges in &mut self.edges {
            let mut tidied: Vec<Edge> = Vec::with_capacity(edges.len());
            for edge in edges.drain(..).filter(|edge| !edge.guard.is_never()) {
                match tidied.iter_mut().find(|it| it.target == edge.target && it.marks == edge.marks) {
                    Some(same) => same.guard.join(&edge.guard),
                    None => tidied.push(edge),
                }
            }
            *edges = tidied;
        }
    }

    /// Keeps the states for which `keep` is true, numbered in order of a walk from the initial state; edges to others go.
    /// The initial state is always kept.
    pub fn restrict(&self, keep: &[bool]) -> Automaton {
        let mut number = vec![u32::MAX; self.len()];
        let mut order = vec![self.initial];
        number[self.initial as usize] = 0;
        let mut at = 0;
        while at < order.len() {
            for edge in &self.edges[order[at] as usize] {
                let target = edge.target as usize;
                if keep[target] && number[target] == u32::MAX {
                    number[target] = order.len() as u32;
                    order.push(edge.target);
                }
            }
            at += 1;
        }
        let edges_of = |&state: &u32| {
            let kept = self.edges[state as usize].iter().filter(|e| number[e.target as usize] != u32::MAX);
            kept.map(|e| Edge { target: number[e.target as usize], ..e.clone() }).collect()
        };
        Automaton { initial: 0, edges: order.iter().map(edges_of).collect(), sets: self.sets }
    }
}
