//! Strongly connected components (Tarjan 1972, without recursion) and maximal end components.

use crate::graph::Graph;

/// A set of states with a number per state; `NONE` where it has none.
pub const NONE: u32 = u32::MAX;

/// Something with edges between numbered nodes.
pub trait Edges {
    /// Tells the n-th edge of a node, from `cursor` on: the node it leads to and the next cursor.
    fn next(&self, node: usize, cursor: (u32, u32)) -> Option<(u32, (u32, u32))>;
}

/// Finds components; its arrays serve many searches over the same nodes.
#[derive(Debug)]
pub struct Tarjan {
    order: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    path: Vec<(u32, (u32, u32))>,
}

impl Tarjan {
    /// For this many nodes.
    pub fn new(nodes: usize) -> Self {
        Tarjan {
            order: vec![0; nodes],
            low: vec![0; nodes],
            on_stack: vec![false; nodes],
            stack: Vec::new(),
            path: Vec::new(),
        }
    }

    /// The nodes that can be reached from `roots`, component by component, and where each component ends. A component
    /// comes after everything it leads to.
    pub fn run(&mut self, edges: &impl Edges, roots: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
        let (mut nodes, mut ends) = (Vec::new(), Vec::new());
        let mut count = 0;
        for root in roots {
            if self.order[root as usize] != 0 {
                continue;
            }
            self.enter(root, &mut count);
            while let Some(&mut (node, ref mut cursor)) = self.path.last_mut() {
                if let Some((to, next)) = edges.next(node as usize, *cursor) {
                    *cursor = next;
                    if self.order[to as usize] == 0 {
                        self.enter(to, &mut count);
                    } else if self.on_stack[to as usize] {
                        let order = self.order[to as usize];
                        let low = &mut self.low[node as usize];
                        *low = (*low).min(order);
                    }
                    continue;
                }
                self.path.pop();
                let low = self.low[node as usize];
                if let Some(&(parent, _)) = self.path.last() {
                    let above = &mut self.low[parent as usize];
                    *above = (*above).min(low);
                }
                if low == self.order[node as usize] {
                    while let Some(top) = self.stack.pop() {
                        self.on_stack[top as usize] = false;
                        nodes.push(top);
                        if top == node {
                            break;
                        }
                    }
                    ends.push(nodes.len() as u32);
                }
            }
        }
        nodes.iter().for_each(|&node| self.order[node as usize] = 0);
        (nodes, ends)
    }

    fn enter(&mut self, node: u32, count: &mut u32) {
        *count += 1;
        self.order[node as usize] = *count;
        self.low[node as usize] = *count;
        self.on_stack[node as usize] = true;
        self.stack.push(node);
        self.path.push((node, (0, 0)));
    }
}

/// The maximal end components among `states` with the choices that `allowed` names: for each state the number of its
/// component, or [`NONE`]; and how many there are.
pub fn end_components(graph: &Graph, states: &[bool], allowed: impl Fn(usize) -> bool) -> (Vec<u32>, u32) {
    let n = graph.states();
    let inside = |c: usize| graph.targets_of(c).iter().all(|&t| states[t as usize]);
    let mut alive: Vec<bool> = vec![false; graph.choices()];
    for (state, _) in states.iter().enumerate().filter(|(_, inside)| **inside) {
        for choice in graph.choices_of(state) {
            alive[choice] = allowed(choice) && inside(choice);
        }
    }
    // Which part a state belongs to; parts are split until each is an end component.
    let mut part = vec![NONE; n];
    let first: Vec<u32> = (0..n as u32).filter(|&s| graph.choices_of(s as usize).any(|c| alive[c])).collect();
    first.iter().for_each(|&s| part[s as usize] = 0);
    let mut next_part = 1;
    let mut work = vec![first];
    let mut result = vec![NONE; n];
    let mut found = 0;
    let mut tarjan = Tarjan::new(n);
    while let Some(list) = work.pop() {
        let Some(&some) = list.first() else { continue };
        let me = part[some as usize];
        let edges = Alive { graph, alive: &alive, part: &part, me };
        let (nodes, ends) = tarjan.run(&edges, list.iter().copied());
        let whole = ends.len() == 1;
        let mut begin = 0;
        let mut pieces = Vec::new();
        for &end in &ends {
            let piece = &nodes[begin..end as usize];
            begin = end as usize;
            piece.iter().for_each(|&s| part[s as usize] = next_part);
            next_part += 1;
            pieces.push(piece.to_vec());
        }
        for piece in pieces {
            let me = part[piece[0] as usize];
            let mut killed = false;
            for &state in &piece {
                for choice in graph.choices_of(state as usize) {
                    if alive[choice] && graph.targets_of(choice).iter().any(|&t| part[t as usize] != me) {
                        alive[choice] = false;
                        killed = true;
                    }
                }
            }
            if !killed && (whole || piece.len() > 1) {
                if piece.iter().any(|&s| graph.choices_of(s as usize).any(|c| alive[c])) {
                    piece.iter().for_each(|&s| result[s as usize] = found);
                    found += 1;
                }
                continue;
            }
            let (kept, dropped): (Vec<u32>, Vec<u32>) =
                piece.into_iter().partition(|&s| graph.choices_of(s as usize).any(|c| alive[c]));
            dropped.iter().for_each(|&s| part[s as usize] = NONE);
            if !kept.is_empty() {
                work.push(kept);
            }
        }
    }
    (result, found)
}

struct Alive<'a> {
    graph: &'a Graph,
    alive: &'a [bool],
    part: &'a [u32],
    me: u32,
}

impl Edges for Alive<'_> {
    fn next(&self, node: usize, cursor: (u32, u32)) -> Option<(u32, (u32, u32))> {
        let choices = self.graph.choices_of(node);
        let (mut c, mut b) = (cursor.0 as usize, cursor.1 as usize);
        while choices.start + c < choices.end {
            let choice = choices.start + c;
            if self.alive[choice] {
                let targets = self.graph.targets_of(choice);
                while b < targets.len() {
                    let to = targets[b];
                    b += 1;
                    if self.part[to as usize] == self.me {
                        return Some((to, (c as u32, b as u32)));
                    }
                }
            }
            c += 1;
            b = 0;
        }
        None
    }
}
