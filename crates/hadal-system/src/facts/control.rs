//! Control graphs and distances in them.
//!
//! A process has one from its language. Where a language has no processes, a scalar is a little process of its own:
//! its values are the locations, and each action that may write it gives edges from the values it demands to the
//! values it can leave (the *domain transition graph* of planning; Wehrle 2011, sec. 5.1).

use super::{Facts, ValueSet};
use crate::domain::Value;
use crate::system::{ActionId, Process, System};

/// A graph over the values of a location variable or scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGraph {
    /// The values, ascending; a node is an index into them. The last node may stand for undefined.
    pub values: Vec<Option<Value>>,
    /// Edges from node to node, each with what fires and which of its instances first induces it.
    pub edges: Vec<Edge>,
}

/// An edge of a control graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Node before.
    pub from: u32,
    /// Node after.
    pub to: u32,
    /// What fires.
    pub action: ActionId,
    /// Which instance of it (the first of those not told apart).
    pub instance: u64,
}

/// Scalars with more values than this get no graph.
pub const MAX_VALUES: u64 = 1024;

impl ControlGraph {
    /// The control graph of a process.
    pub fn of_process(process: &Process) -> Self {
        let values = (0..process.locations.len() as Value).map(Some).collect();
        let node =
            |value: Value| u32::try_from(value).ok().filter(|&n| (n as usize) < process.locations.len());
        let edges = process.edges.iter().filter_map(|edge| {
            Some(Edge { from: node(edge.from)?, to: node(edge.to)?, action: edge.action, instance: 0 })
        });
        ControlGraph { values, edges: edges.collect() }
    }

    /// The graph of a scalar's values; `None` where it has too many. Edges are a superset of what can happen;
    /// an edge from a node to itself is left out.
    pub fn of_slot(system: &System, facts: &Facts, slot: u32) -> Option<Self> {
        let domain = &system.domains[facts.slot_domain(slot)];
        if domain.size() > MAX_VALUES {
            return None;
        }
        let mut values: Vec<Option<Value>> = domain.values().map(Some).collect();
        if domain.undefined {
            values.push(None);
        }
        let allowed = |set: Option<&ValueSet>| -> Vec<u32> {
            let nodes = values.iter().enumerate();
            let inside = nodes.filter(|(_, v)| match (set, v) {
                (None, _) => true,
                (Some(set), Some(v)) => set.contains(*v),
                (Some(set), None) => set.may_be_undefined(),
            });
            inside.map(|(n, _)| n as u32).collect()
        };
        let mut edges = Vec::new();
        for (action, instance, print) in facts.footprints() {
            if !print.can_fire || !print.may_write.contains(slot) {
                continue;
            }
            let after = allowed(print.result(slot));
            for from in allowed(print.precondition(slot)) {
                let moves = after.iter().filter(|&&to| to != from);
                edges.extend(moves.map(|&to| Edge { from, to, action, instance }));
            }
        }
        Some(ControlGraph { values, edges })
    }

    /// The fewest edges from each node to one of `targets`; `None` where no way leads there.
    pub fn distances_to(&self, targets: &[u32]) -> Vec<Option<u32>> {
        self.breadth_first(targets, |edge| (edge.to, edge.from))
    }

    /// The fewest edges from one of `sources` to each node; `None` where no way leads there.
    pub fn distances_from(&self, sources: &[u32]) -> Vec<Option<u32>> {
        self.breadth_first(sources, |edge| (edge.from, edge.to))
    }

    /// Whether every node that can be reached from `start` can reach `start` again.
    pub fn returns_to(&self, start: u32) -> bool {
        let (from, to) = (self.distances_from(&[start]), self.distances_to(&[start]));
        from.iter().zip(&to).all(|(reached, back)| reached.is_none() || back.is_some())
    }

    fn breadth_first(&self, roots: &[u32], along: impl Fn(&Edge) -> (u32, u32)) -> Vec<Option<u32>> {
        let mut next = vec![Vec::new(); self.values.len()];
        for edge in &self.edges {
            let (from, to) = along(edge);
            next[from as usize].push(to);
        }
        let mut distances = vec![None; self.values.len()];
        let mut wave: Vec<u32> = roots.to_vec();
        let mut distance = 0;
        while !wave.is_empty() {
            let mut following = Vec::new();
            for node in wave {
                let known = &mut distances[node as usize];
                if known.is_none() {
                    *known = Some(distance);
                    following.extend(&next[node as usize]);
                }
            }
            distance += 1;
            wave = following;
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_follow_edges_both_ways() {
        let edge = |from, to| Edge { from, to, action: ActionId(0), instance: 0 };
        let graph = ControlGraph {
            values: (0..4).map(Some).collect(),
            edges: vec![edge(0, 1), edge(1, 2), edge(2, 0), edge(2, 3)],
        };
        assert_eq!(graph.distances_from(&[0]), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(graph.distances_to(&[0]), [Some(0), Some(2), Some(1), None]);
        assert!(!graph.returns_to(0));
    }
}
