//! Actions without which no process can come back to a location it has left (Kurshan, Levin, Minea, Peled and Yenigun
//! 1998): every cycle of states fires one of them.

use hadal_system::{Process, System};

/// Whether each action closes a cycle: it goes along an edge that leads back in the control graph of a *watched* one of its
/// processes, or no watched process takes part. A cycle of states fires some action, and a watched process of it comes
/// round: so it is enough to watch processes of which every action has one. Buffers, which only turn in place together
/// with others, need not be watched.
pub(super) fn closing(system: &System) -> Vec<bool> {
    let back: Vec<Vec<usize>> = system.processes.iter().map(leading_back).collect();
    let mut watchers = vec![0u32; system.actions.len()];
    let acting = |process: &Process| {
        let mut actions: Vec<usize> = process.edges.iter().map(|edge| edge.action.0 as usize).collect();
        actions.sort_unstable();
        actions.dedup();
        actions
    };
    for process in &system.processes {
        acting(process).into_iter().for_each(|action| watchers[action] += 1);
    }
    let mut order: Vec<usize> = (0..system.processes.len()).collect();
    // Most edges that lead back first, as a part of all.
    order.sort_by_key(|&n| std::cmp::Reverse(back[n].len() * 1000 / system.processes[n].edges.len().max(1)));
    let mut watched = vec![true; system.processes.len()];
    for n in order {
        let actions = acting(&system.processes[n]);
        if !actions.is_empty() && actions.iter().all(|&action| watchers[action] > 1) {
            watched[n] = false;
            actions.into_iter().for_each(|action| watchers[action] -= 1);
        }
    }
    let mut closes: Vec<bool> = watchers.iter().map(|&count| count == 0).collect();
    for (n, process) in system.processes.iter().enumerate().filter(|&(n, _)| watched[n]) {
        back[n].iter().for_each(|&edge| closes[process.edges[edge].action.0 as usize] = true);
    }
    closes
}

/// The edges of a control graph that lead to a location on the way from the root of a depth-first search.
fn leading_back(process: &Process) -> Vec<usize> {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); process.locations.len()];
    let (mut back, mut odd) = (Vec::new(), Vec::new());
    let location = |value: i64| usize::try_from(value).ok().filter(|&n| n < process.locations.len());
    for (n, edge) in process.edges.iter().enumerate() {
        match (location(edge.from), location(edge.to)) {
            (Some(from), Some(_)) => leaving[from].push(n),
            _ => odd.push(n),
        }
    }
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Visit {
        Not,
        OnTheWay,
        Done,
    }
    let mut visits = vec![Visit::Not; leaving.len()];
    for root in 0..leaving.len() {
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
            let to = location(process.edges[edge].to).unwrap_or(*at);
            match visits[to] {
                Visit::OnTheWay => back.push(edge),
                Visit::Not => {
                    visits[to] = Visit::OnTheWay;
                    way.push((to, 0));
                }
                Visit::Done => {}
            }
        }
    }
    back.extend(odd);
    back
}
