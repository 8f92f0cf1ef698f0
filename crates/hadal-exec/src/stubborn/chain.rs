//! Steps that pass through others: what a process does that goes on alone ([`hadal_system::Action::then`]).

use super::channels::uses;
use super::plain::PlainTests;
use super::print::Buffer;
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
    pub(super) fn of(system: &'s System, facts: &Facts) -> Self {
        let count = system.processes.len();
        let (mut from, mut ends) = (HashMap::new(), HashMap::new());
        let own = |action: usize, p: usize| {
            let (action, print) = (&system.actions[action], &facts.actions[action].whole);
            let possible = print.can_hold || print.guard_faults.is_some();
            possible && action.rank == 0 && action.processes.first() == Some(&ProcessId(p as u32))
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

    /// The actions that may follow this one while it is carried out.
    pub(super) fn after(&self, action: usize) -> Vec<usize> {
        let Some(process) = self.system.actions[action].then else { return Vec::new() };
        let ends = self.ends.get(&(action, process.0));
        let ends = ends.map_or(vec![None], |ends| ends.iter().map(|&end| Some(end)).collect());
        let mut found: Vec<usize> = ends.into_iter().flat_map(|end| self.steps(process, end)).collect();
        found = found.into_iter().flat_map(|n| self.members(n)).collect();
        found.sort_unstable();
        found.dedup();
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

impl Chains<'_> {
    /// The buffers that are used once at most while this is carried out, and whose room or message for that is asked for before.
    /// `print` is what the first step preconditions, `members` are all steps, it first.
    pub(super) fn uses(&self, facts: &Facts, print: &Footprint, members: &[usize]) -> Vec<Buffer> {
        let first_slots = self.system.first_slots();
        let buffers = |n: usize| -> Vec<Buffer> {
            let found = uses(self.system, &self.system.actions[n]);
            found.iter().map(|it| Buffer::new(self.system, &first_slots, it)).collect()
        };
        let touches = |n: usize, buffer: &Buffer| {
            let print = &facts.actions[n].whole;
            buffer.is_touched(&print.reads) || buffer.is_touched(&print.may_write)
        };
        let first = members[0];
        let plain = PlainTests::of(self.system, &self.system.actions[first]);
        let mut found: Vec<Buffer> = Vec::new();
        for &n in members {
            for buffer in buffers(n) {
                if found.contains(&buffer) {
                    continue;
                }
                // What the step needs; the first one must ask for it, and no more than stays so whatever others add or take.
                let Some(needed) = facts.actions[n].whole.precondition(buffer.held) else { continue };
                let asked = n == first
                    || plain.pass(buffer.held, needed)
                        && print.precondition(buffer.held).is_some_and(|values| values.is_subset(needed))
                        && !print.may_write.contains(buffer.held)
                        && !print.reads.meets_range(buffer.cells.0, buffer.cells.1);
                let once = members.iter().filter(|&&m| touches(m, &buffer)).all(|&m| {
                    let same = facts.actions[m].whole.precondition(buffer.held) == Some(needed);
                    let uses = same && buffers(m).contains(&buffer);
                    let again = || self.after(m).iter().any(|&later| touches(later, &buffer));
                    uses && !again() || m == first && n != first
                });
                if asked && once {
                    found.push(buffer);
                }
            }
        }
        found
    }
}

/// What an instance that goes on through `members` touches: it is enabled like its first step, and may do what any does.
pub(super) fn footprint(first: &Footprint, facts: &Facts, members: &[usize]) -> Footprint {
    let mut all = first.clone();
    let later = || members[1..].iter().map(|&n| &facts.actions[n].whole);
    for print in later() {
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
        for print in later() {
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
