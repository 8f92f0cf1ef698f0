//! Distances in the graph of one variable: the graph of the values that operators lead between (the domain transition
//! graph; Wehrle 2011, sec. 2.3 and 5.1), with all edges of the control graph where the variable is a location.

use crate::task::{AbstractTask, Bits, Operator};
use hadal_system::guide::Distance;
use hadal_system::guide::Mask;
use hadal_system::{Label, System};
use std::collections::BTreeMap;

/// The graph of one variable.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// Number of nodes.
    nodes: usize,
    /// The node of each value of the variable.
    node_of: Vec<u16>,
    edges: Vec<Edge>,
}

#[derive(Clone, Debug)]
struct Edge {
    from: u16,
    to: u16,
    /// What induces it, as first and last.
    labels: Vec<(u32, u32)>,
}

impl Graph {
    /// The graph of a variable of the task, which `operators` write. Guards on other variables are ignored.
    pub fn of<'t>(
        system: &System,
        task: &AbstractTask,
        var: u32,
        operators: impl Iterator<Item = &'t Operator>,
    ) -> Self {
        let variable = &task.variables[var as usize];
        let mut nodes = variable.values.len();
        let mut node_of: Vec<u16> = (0..nodes as u16).collect();
        let mut edges: BTreeMap<(u16, u16), Vec<(u32, u32)>> = BTreeMap::new();
        if let Some(process) = variable.process {
            // Every location is a node, whether it seems reachable or not.
            nodes = system.processes[process as usize].locations.len();
            node_of = variable.values.iter().map(|v| v.unwrap_or(0) as u16).collect();
            let node = |value: i64| usize::try_from(value).ok().filter(|&n| n < nodes);
            let bases = system.label_bases(&system.actions);
            for edge in &system.processes[process as usize].edges {
                let action = edge.action.0 as usize;
                let (first, end) = (bases[action] as u32, bases[action + 1] as u32);
                if let (Some(from), Some(to)) = (node(edge.from), node(edge.to))
                    && from != to
                    && first < end
                {
                    edges.entry((from as u16, to as u16)).or_default().push((first, end - 1));
                }
            }
        }
        // A process may be moved by what is no edge of its own: DiVinE's error state moves all of them.
        for operator in operators {
            let demanded = (operator.preconditions.iter())
                .filter(|(v, _)| *v == var && variable.is_single())
                .fold(Bits::below(variable.values.len()), |all, (_, bits)| all.and(bits));
            for effect in operator.effects.iter().filter(|effect| effect.var == var) {
                let from = match &effect.condition {
                    Some((v, bits)) if *v == var && variable.is_single() => demanded.and(bits),
                    _ => demanded,
                };
                for from in from.iter() {
                    for to in effect.values.iter().filter(|&to| to != from) {
                        let labels = edges.entry((node_of[from], node_of[to])).or_default();
                        add_labels(labels, &operator.labels);
                    }
                }
            }
        }
        let edges = edges.into_iter().map(|((from, to), labels)| Edge { from, to, labels }).collect();
        Graph { nodes, node_of, edges }
    }

    /// The fewest edges from each value into `targets`, where the labels in `off` cannot fire.
    pub fn distances(&self, targets: &Bits, off: Option<&Mask>) -> Vec<Distance> {
        let mut into: Vec<Vec<u16>> = vec![Vec::new(); self.nodes];
        for Edge { from, to, labels } in &self.edges {
            if off.is_none_or(|off| !all_off(labels, off)) {
                into[*to as usize].push(*from);
            }
        }
        let mut distances = vec![Distance::INFINITE; self.nodes];
        let mut wave: Vec<u16> = targets.iter().map(|n| self.node_of[n]).collect();
        wave.iter().for_each(|&n| distances[n as usize] = Distance::ZERO);
        let mut level = 0;
        while !wave.is_empty() {
            level += 1;
            let mut next = Vec::new();
            for node in wave {
                for &from in &into[node as usize] {
                    if !distances[from as usize].is_finite() {
                        distances[from as usize] = Distance(level);
                        next.push(from);
                    }
                }
            }
            wave = next;
        }
        self.node_of.iter().map(|&node| distances[node as usize]).collect()
    }
}

/// Adds those labels that are not there.
fn add_labels(list: &mut Vec<(u32, u32)>, labels: &[(u32, u32)]) {
    for &(first, last) in labels {
        if !list.iter().any(|known| known.0 <= first && last <= known.1) {
            list.push((first, last));
        }
    }
}

/// Whether none of the labels can fire.
pub(crate) fn all_off(labels: &[(u32, u32)], off: &Mask) -> bool {
    labels.iter().all(|&(first, last)| (first..=last).all(|label| off.contains(Label(label))))
}
