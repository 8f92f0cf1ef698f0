//! Steps that pass through others: what a process does that goes on alone ([`hadal_system::Action::then`]).

use hadal_system::facts::{Facts, Footprint, ValueSet};
use hadal_system::{ProcessId, System};
use std::collections::{HashMap, HashSet};

/// What each process can do alone, by where it stands.
pub(super) struct Chains<'s> {
    system: &'s System,
    /// By process and location.
    from: HashMap<(u32, i64), Vec<usize>>,
    /// By process: what may be done anywhere, and everything.
    anywhere: Vec<Vec<usize>>,
    all: Vec<Vec<usize>>,
    /// Where each action leaves each of its processes.
    ends: HashMap<(usize, u32), Vec<i64>>,
}

impl<'s> Chains<'s> {
    pub(super) fn of(system: &'s System) -> Self {
        let count = system.processes.len();
        let (mut from, mut ends) = (HashMap::new(), HashMap::new());
        let own = |action: usize, p: usize| {
            let action = &system.actions[action];
            action.rank == 0 && action.processes.first() == Some(&ProcessId(p as u32))
        };
        let mut placed = vec![false; system.actions.len()];
        for (p, process) in system.processes.iter().enumerate() {
            for edge in &process.edges {
                let action = edge.action.0 as usize;
                ends.entry((action, p as u32)).or_insert_with(Vec::new).push(edge.to);
                if own(action, p) {
                    placed[action] = true;
                    from.entry((p as u32, edge.from)).or_insert_with(Vec::new).push(action);
                }
            }
        }
        let of = |p: usize, loose: bool| {
            (0..system.actions.len()).filter(|&n| own(n, p) && !(loose && placed[n])).collect()
        };
        let anywhere = (0..count).map(|p| of(p, true)).collect();
        let all = (0..count).map(|p| of(p, false)).collect();
        Chains { system, from, anywhere, all, ends }
    }

    /// The actions that may be carried out by firing this one, itself first.
    pub(super) fn members(&self, action: usize) -> Vec<usize> {
        let mut found = vec![action];
        let mut known = HashSet::from([action]);
        let mut points = HashSet::new();
        let mut at = 0;
        while at < found.len() {
            if let Some(process) = self.system.actions[found[at]].then {
                let ends = self.ends.get(&(found[at], process.0));
                let ends = ends.map_or(vec![None], |ends| ends.iter().map(|&end| Some(end)).collect());
                for end in ends {
                    if points.insert((process, end)) {
                        found.extend(self.steps(process, end).filter(|n| known.insert(*n)));
                    }
                }
            }
            at += 1;
        }
        found
    }

    /// What a process may do alone from a location, or from anywhere.
    fn steps(&self, process: ProcessId, location: Option<i64>) -> impl Iterator<Item = usize> + '_ {
        let p = process.0 as usize;
        let (here, rest) = match location {
            Some(location) => (self.from.get(&(process.0, location)), self.anywhere.get(p)),
            None => (None, self.all.get(p)),
        };
        here.into_iter().chain(rest).flatten().copied()
    }
}

/// What an instance that goes on through `members` touches: it is enabled like its first step, and may do what any does.
pub(super) fn footprint(first: &Footprint, facts: &Facts, members: &[usize]) -> Footprint {
    let mut all = first.clone();
    for print in members[1..].iter().map(|&n| &facts.actions[n].whole) {
        all.reads.extend(&print.reads);
        all.reads.extend(&print.tests);
        all.may_write.extend(&print.may_write);
        all.may_fault |= print.may_fault;
        all.body_may_fault |= print.may_fault;
        all.may_drop |= print.may_drop;
    }
    // What is known of a value afterwards is what each step that may write it leaves.
    let left = |slot: u32, values: &ValueSet| {
        let mut values = values.clone();
        for print in members[1..].iter().map(|&n| &facts.actions[n].whole) {
            if print.may_write.contains(slot) {
                values = values.union(print.result(slot)?);
            }
        }
        Some(values)
    };
    all.results =
        first.results.iter().filter_map(|(slot, values)| Some((*slot, left(*slot, values)?))).collect();
    all
}
