//! Strongly connected components (Tarjan 1972), without recursion.

/// The components of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// The component of each node; components are numbered so that edges lead to smaller or equal numbers.
    pub of: Vec<u32>,
    /// How many there are.
    pub count: u32,
    /// Whether a component has an edge inside: else it is one node on no cycle.
    pub cyclic: Vec<bool>,
}

/// The components of the graph with these edges out of each node.
pub fn components(graph: &[Vec<u32>]) -> Components {
    const NONE: u32 = u32::MAX;
    let n = graph.len();
    let (mut index, mut low, mut of) = (vec![NONE; n], vec![0u32; n], vec![NONE; n]);
    let (mut open, mut calls): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    let (mut next, mut count) = (0u32, 0u32);
    for root in 0..n as u32 {
        if index[root as usize] != NONE {
            continue;
        }
        calls.push((root, 0));
        while let Some(&mut (node, ref mut at)) = calls.last_mut() {
            let v = node as usize;
            if *at == 0 && index[v] == NONE {
                index[v] = next;
                low[v] = next;
                next += 1;
                open.push(node);
            }
            if let Some(&target) = graph[v].get(*at) {
                *at += 1;
                let t = target as usize;
                if index[t] == NONE {
                    calls.push((target, 0));
                } else if of[t] == NONE {
                    low[v] = low[v].min(index[t]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent as usize] = low[parent as usize].min(low[v]);
            }
            if low[v] == index[v] {
                while let Some(member) = open.pop() {
                    of[member as usize] = count;
                    if member == node {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    let mut cyclic = vec![false; count as usize];
    for (node, targets) in graph.iter().enumerate() {
        if targets.iter().any(|&t| of[t as usize] == of[node]) {
            cyclic[of[node] as usize] = true;
        }
    }
    Components { of, count, cyclic }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_numbered_against_the_edges() {
        let found = components(&[vec![1], vec![2, 0], vec![3], vec![3], vec![0]]);
        assert_eq!(found.of[0], found.of[1]);
        assert_eq!(found.count, 4);
        assert!(found.of[3] < found.of[2] && found.of[2] < found.of[0] && found.of[0] < found.of[4]);
        assert!(found.cyclic[found.of[3] as usize]);
        assert!(!found.cyclic[found.of[2] as usize]);
    }
}
