//! The order of transitions behind published figures (Wehrle 2011, calibrated): channels in the order in which processes
//! and their edges first name them, within a channel the edges of the lower process before those of the higher, all sorted
//! by the higher process.

use hadal_system::System;
use std::collections::HashMap;

/// The rank of each label. Without processes: as they are numbered.
pub fn published_order(system: &System) -> Vec<u32> {
    let bases = system.label_bases(&system.actions);
    let mut edges_of: Vec<Vec<(u32, u32)>> = vec![Vec::new(); system.actions.len()];
    for (n, process) in system.processes.iter().enumerate() {
        for edge in &process.edges {
            edges_of[edge.action.0 as usize].push((n as u32, edge.number));
        }
    }
    // A channel is what its edges are joined by: number it by the first edge that names it.
    let mut channel: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
    let find = |channel: &HashMap<(u32, u32), (u32, u32)>, edge: (u32, u32)| {
        let mut root = edge;
        while let Some(&above) = channel.get(&root).filter(|&&above| above != root) {
            root = above;
        }
        root
    };
    for edges in &mut edges_of {
        edges.sort_unstable();
        for pair in edges.windows(2) {
            let (a, b) = (find(&channel, pair[0]), find(&channel, pair[1]));
            channel.insert(a.max(b), a.min(b));
        }
    }
    let mut order: Vec<usize> = (0..system.actions.len()).collect();
    order.sort_by_key(|&action| {
        let edges = &edges_of[action];
        let highest = edges.last().map_or(0, |edge| edge.0);
        let first = edges.first().map_or((0, 0), |&edge| find(&channel, edge));
        (highest, first, edges.clone(), action)
    });
    let mut ranks = vec![0; bases.last().copied().unwrap_or(0) as usize];
    let mut next = 0;
    for action in order {
        for label in bases[action]..bases[action + 1] {
            ranks[label as usize] = next;
            next += 1;
        }
    }
    ranks
}
