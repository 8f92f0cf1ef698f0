//! Cycles of control graphs.

/// An edge of a control graph.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) action: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The strongly connected component of each location (Tarjan 1972).
pub(super) fn components(edges: &[Edge], locations: usize) -> Vec<usize> {
    let leaving = leaving(edges, locations);
    let mut component = vec![usize::MAX; locations];
    let mut order = vec![usize::MAX; locations];
    let mut low = vec![0; locations];
    let (mut met, mut found) = (0, 0);
    let mut open = Vec::new();
    for root in 0..locations {
        if order[root] != usize::MAX {
            continue;
        }
        let mut way = vec![(root, 0)];
        while let Some((at, next)) = way.last_mut() {
            let (at, turn) = (*at, *next);
            if turn == 0 {
                (order[at], low[at]) = (met, met);
                met += 1;
                open.push(at);
            }
            if let Some(&edge) = leaving[at].get(turn) {
                *next += 1;
                let to = edges[edge].to;
                if order[to] == usize::MAX {
                    way.push((to, 0));
                } else if component[to] == usize::MAX {
                    low[at] = low[at].min(order[to]);
                }
                continue;
            }
            way.pop();
            if let Some(&(before, _)) = way.last() {
                low[before] = low[before].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    if member == at {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

fn leaving(edges: &[Edge], locations: usize) -> Vec<Vec<usize>> {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); locations];
    edges.iter().enumerate().for_each(|(n, edge)| leaving[edge.from].push(n));
    leaving
}

/// The edges that lead to a location on the way from the root of a depth-first search.
pub(super) fn leading_back(edges: &[Edge], locations: usize) -> Vec<Edge> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Visit {
        Not,
        OnTheWay,
        Done,
    }
    let leaving = leaving(edges, locations);
    let mut back = Vec::new();
    let mut visits = vec![Visit::Not; locations];
    for root in 0..locations {
        if visits[root] != Visit::Not {
            continue;
        }
        visits[root] = Visit::OnTheWay;
        let mut way = vec![(root, 0)];
        while let Some((at, next)) = way.last_mut() {
            let Some(&edge) = leaving[*at].get(*next) else {
                visits[*at] = Visit::Done;
                way.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].to;
            match visits[to] {
                Visit::OnTheWay => back.push(edges[edge]),
                Visit::Not => {
                    visits[to] = Visit::OnTheWay;
                    way.push((to, 0));
                }
                Visit::Done => {}
            }
        }
    }
    back
}
