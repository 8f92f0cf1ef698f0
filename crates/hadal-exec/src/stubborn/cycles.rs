//! Actions without which there is no cycle of states: every cycle fires one of them.
//!
//! After Kurshan, Levin, Minea, Peled and Yenigun (1998): in a cycle of states every process that moves comes round its
//! control graph, so it goes along an edge that leads back there. Not all processes need be watched for that. One that
//! takes a message each time round, or meets another, cannot turn without somebody who sends, or whom it meets; so it is enough
//! to watch some process of every circle of those who wait for each other. Who sends to whom is often decided by variables that are
//! set when a process starts (channels given as parameters): those stay as they are in a cycle, and what is watched may
//! depend on them. A process that is started stands nowhere before. To be started again and again it must end, too, so
//! where that may be, its end is watched instead of its start.

use super::births::Births;
use super::channels::{Use, Way, uses};
use super::counting::{Counting, counts};
use super::rounds::{Edge, components, leading_back};
use hadal_system::facts::{Facts, Footprint, ValueSet};
use hadal_system::{Layout, Process, System, VarId};
use std::collections::HashMap;

/// More settings than this are not looked at.
const MAX_SETTINGS: usize = 64;

/// What can turn.
pub(super) struct Cycles {
    processes: Vec<Vec<Edge>>,
    locations: Vec<usize>,
    actions: Vec<Turning>,
    /// The slots that stay as they are in a cycle and decide who uses which buffer, with their places.
    pub(super) settings: Vec<Setting>,
}

/// A slot of the state that decides who uses which buffer.
pub(super) struct Setting {
    slot: u32,
    pub(super) offset: u32,
    pub(super) width: u32,
    /// The value of code 0, and whether that is the undefined one.
    least: i64,
    undefined: bool,
}

/// What a process cannot turn without.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// A message in the buffer with this count.
    Message(VarId),
    /// Somebody who moves with it.
    Partner(usize),
}

struct Turning {
    /// It moves processes along their edges and otherwise not at all.
    follows: bool,
    /// The processes that move.
    movers: Vec<usize>,
    /// Those that it may start.
    starts: Vec<usize>,
    uses: Vec<Use>,
    /// The counts of buffers that it may write.
    fills: Vec<VarId>,
    /// What it demands of settings.
    preconditions: Vec<(u32, ValueSet)>,
    /// Of the slots that some action only counts: those it may write, and which way it counts where it does no more.
    counts: Vec<(u32, Option<Counting>)>,
}

impl Cycles {
    pub(super) fn of(system: &System, layout: &Layout, facts: &Facts, births: &Births) -> Self {
        let first_slots = system.first_slots();
        let all_uses: Vec<Vec<Use>> = system.actions.iter().map(|action| uses(system, action)).collect();
        let mut buffers: Vec<VarId> = all_uses.iter().flatten().map(|it| it.held).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let mut actions: Vec<Turning> = Vec::new();
        for (n, uses) in all_uses.into_iter().enumerate() {
            let print = &facts.actions[n].whole;
            let starts = |p: usize| {
                let nowhere_before = system.processes[p].edges.iter().all(|edge| edge.from != 0);
                nowhere_before && births.only_bears(facts, n, p)
            };
            let follows = |(p, process): (usize, &Process)| {
                let slot = first_slots[process.location.0 as usize] as u32;
                // A process with one location never leaves it.
                process.locations.len() <= 1 || follows(process, n, print, slot) || starts(p)
            };
            let fills = buffers.iter().copied();
            actions.push(Turning {
                follows: system.processes.iter().enumerate().all(follows),
                starts: (0..system.processes.len()).filter(|&p| starts(p)).collect(),
                movers: Vec::new(),
                uses,
                fills: fills
                    .filter(|var| print.may_write.contains(first_slots[var.0 as usize] as u32))
                    .collect(),
                preconditions: print.preconditions.clone(),
                counts: Vec::new(),
            });
        }
        let counted: Vec<Vec<(u32, Counting)>> = (system.actions.iter().enumerate())
            .map(|(n, action)| counts(system, action, &facts.actions[n].whole))
            .collect();
        let mut slots: Vec<u32> = counted.iter().flatten().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        for (n, action) in actions.iter_mut().enumerate() {
            let way = |slot: u32| counted[n].iter().find(|(it, _)| *it == slot).map(|(_, way)| *way);
            let written = slots.iter().filter(|slot| facts.actions[n].whole.may_write.contains(**slot));
            action.counts = written.map(|&slot| (slot, way(slot))).collect();
        }
        let mut processes = Vec::new();
        for (p, process) in system.processes.iter().enumerate() {
            let mut edges = Vec::new();
            for edge in &process.edges {
                let action = edge.action.0 as usize;
                let place = |value: i64| usize::try_from(value).ok().filter(|&n| n < process.locations.len());
                match (place(edge.from), place(edge.to)) {
                    (Some(from), Some(to)) => edges.push(Edge { action, from, to }),
                    _ => actions[action].follows = false,
                }
                if actions[action].movers.last() != Some(&p) {
                    actions[action].movers.push(p);
                }
            }
            processes.push(edges);
        }
        actions.iter_mut().for_each(|action| action.follows &= !action.movers.is_empty());
        let locations = system.processes.iter().map(|process| process.locations.len()).collect();
        let mut cycles = Cycles { processes, locations, actions, settings: Vec::new() };
        let turning = cycles.turning(|_| true);
        cycles.find_settings(system, layout, facts, &turning);
        cycles
    }

    /// The slots that no turning action writes and that users of buffers ask for.
    fn find_settings(&mut self, system: &System, layout: &Layout, facts: &Facts, turning: &[bool]) {
        let mut written = hadal_system::facts::SlotSet::new();
        for (n, _) in turning.iter().enumerate().filter(|(_, turns)| **turns) {
            written.extend(&facts.actions[n].whole.may_write);
        }
        let mut slots: Vec<u32> = (self.actions.iter().zip(turning))
            .filter(|(action, turns)| **turns && (!action.fills.is_empty() || action.movers.len() > 1))
            .flat_map(|(action, _)| action.preconditions.iter().map(|(slot, _)| *slot))
            .filter(|&slot| !written.contains(slot))
            .collect();
        slots.sort_unstable();
        slots.dedup();
        slots.truncate(MAX_SETTINGS);
        for action in &mut self.actions {
            action.preconditions.retain(|(slot, _)| slots.binary_search(slot).is_ok());
        }
        self.settings = (slots.into_iter())
            .filter_map(|slot| {
                let place = &layout.slots()[slot as usize];
                let domain = &system.domains[place.domain];
                let &[(least, _)] = domain.intervals.as_slice() else { return None };
                let (offset, width) = (place.offset, place.width);
                Some(Setting { slot, offset, width, least, undefined: domain.undefined })
            })
            .collect();
    }

    /// Whether each action closes a cycle, where the settings have these codes.
    pub(super) fn closing(&self, codes: &[u64]) -> Vec<bool> {
        let possible = |action: usize| {
            self.actions[action].preconditions.iter().all(|(slot, wanted)| {
                let Some(at) = self.settings.iter().position(|it| it.slot == *slot) else { return true };
                let Setting { least, undefined, .. } = self.settings[at];
                match codes[at].checked_sub(undefined.into()) {
                    Some(place) => wanted.contains(least + place as i64),
                    None => wanted.may_be_undefined(),
                }
            })
        };
        let turning = self.turning(possible);
        let mut closes: Vec<bool> = self.actions.iter().map(|action| !action.follows).collect();
        for p in self.started_again(&turning) {
            let ends = self.processes[p].iter().filter(|edge| edge.to == 0);
            ends.for_each(|edge| closes[edge.action] = true);
        }
        for p in self.watched(&turning) {
            let edges: Vec<Edge> = self.processes[p].iter().filter(|e| turning[e.action]).copied().collect();
            for edge in leading_back(&edges, self.locations[p]) {
                closes[edge.action] = true;
            }
        }
        closes
    }

    /// The actions that may stand in a cycle of states in which all processes keep to their control graphs: those that
    /// lie on cycles of every process they move.
    fn turning(&self, possible: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut turning: Vec<bool> =
            self.actions.iter().enumerate().map(|(n, action)| action.follows && possible(n)).collect();
        loop {
            let before = turning.iter().filter(|turns| **turns).count();
            for (edges, &locations) in self.processes.iter().zip(&self.locations) {
                let left: Vec<Edge> = edges.iter().filter(|edge| turning[edge.action]).copied().collect();
                let component = components(&left, locations);
                let mut round = vec![false; self.actions.len()];
                for edge in left.iter().filter(|edge| component[edge.from] == component[edge.to]) {
                    round[edge.action] = true;
                }
                left.iter().filter(|edge| !round[edge.action]).for_each(|edge| turning[edge.action] = false);
            }
            self.drop_counting(&mut turning);
            if turning.iter().filter(|turns| **turns).count() == before {
                return turning;
            }
        }
    }

    /// The processes that may be started in a cycle of states: by one that goes round, or is started in it itself.
    fn started_again(&self, turning: &[bool]) -> Vec<usize> {
        let mut started: Vec<bool> = vec![true; self.processes.len()];
        loop {
            let mut again = vec![false; self.processes.len()];
            for (action, turns) in self.actions.iter().zip(turning) {
                let comes = *turns || action.movers.is_empty() || action.movers.iter().any(|&p| started[p]);
                action.starts.iter().filter(|_| comes).for_each(|&p| again[p] = true);
            }
            if again == started {
                return (0..started.len()).filter(|&p| started[p]).collect();
            }
            started = again;
        }
    }

    /// What is only counted up, or only down, does not come round: who counts it stands in no cycle.
    fn drop_counting(&self, turning: &mut [bool]) {
        let mut ways: HashMap<u32, Option<Counting>> = HashMap::new();
        for (action, _) in self.actions.iter().zip(&*turning).filter(|(_, turns)| **turns) {
            for (slot, way) in &action.counts {
                let known = ways.entry(*slot).or_insert(*way);
                *known = known.filter(|known| Some(*known) == *way);
            }
        }
        for (action, turns) in self.actions.iter().zip(turning) {
            *turns &= !action.counts.iter().any(|(slot, _)| ways.get(slot).is_some_and(Option::is_some));
        }
    }

    /// What a process needs to take part in an action.
    fn needs(&self, process: usize, action: usize) -> impl Iterator<Item = Need> + '_ {
        let action = &self.actions[action];
        let messages =
            action.uses.iter().filter(|it| it.way == Way::Receive).map(|it| Need::Message(it.held));
        let partners = action.movers.iter().copied().filter(move |&other| other != process);
        messages.chain(partners.map(Need::Partner))
    }

    /// Processes of which one moves in every cycle of states.
    fn watched(&self, turning: &[bool]) -> Vec<usize> {
        let count = self.processes.len();
        let mut fillers: HashMap<_, Vec<usize>> = Default::default();
        for (action, _) in self.actions.iter().zip(turning).filter(|(_, turns)| **turns) {
            for var in &action.fills {
                if !action.uses.iter().any(|it| it.held == *var && it.way == Way::Receive) {
                    fillers.entry(*var).or_default().extend(&action.movers);
                }
            }
        }
        // Whom each process waits for; itself where it can turn alone.
        let mut waits: Vec<Vec<bool>> = vec![vec![false; count]; count];
        for (p, edges) in self.processes.iter().enumerate() {
            let edges: Vec<Edge> = edges.iter().filter(|edge| turning[edge.action]).copied().collect();
            let mut needs: Vec<Need> = edges.iter().flat_map(|edge| self.needs(p, edge.action)).collect();
            needs.sort_unstable();
            needs.dedup();
            // One that every time round needs will do, else whatever each edge needs first.
            let turns_without = |needed: &dyn Fn(&Edge) -> bool| {
                let rest: Vec<Edge> = edges.iter().filter(|edge| !needed(edge)).copied().collect();
                let component = components(&rest, self.locations[p]);
                rest.iter().any(|edge| component[edge.from] == component[edge.to])
            };
            let single = needs
                .iter()
                .find(|need| !turns_without(&|edge| self.needs(p, edge.action).any(|it| it == **need)));
            match single {
                Some(need) => needs = vec![*need],
                None => {
                    let first = |edge: &Edge| self.needs(p, edge.action).next();
                    needs = edges.iter().filter_map(first).collect();
                    waits[p][p] = turns_without(&|edge| first(edge).is_some());
                }
            }
            for need in needs {
                match need {
                    Need::Message(var) => {
                        let senders = fillers.get(&var).map_or(&[][..], Vec::as_slice);
                        senders.iter().for_each(|&sender| waits[p][sender] = true);
                    }
                    Need::Partner(other) => waits[p][other] = true,
                }
            }
        }
        let mut left: Vec<bool> =
            (0..count).map(|p| self.processes[p].iter().any(|e| turning[e.action])).collect();
        let mut watched = Vec::new();
        loop {
            // Who waits for nobody that is left does not turn.
            while let Some(idle) =
                (0..count).find(|&p| left[p] && !(0..count).any(|q| left[q] && waits[p][q]))
            {
                left[idle] = false;
            }
            let next = (0..count).filter(|&p| left[p]).max_by_key(|&p| {
                let waited_for = (0..count).filter(|&q| left[q] && waits[q][p]).count();
                (waits[p][p], waited_for, std::cmp::Reverse(self.processes[p].len()), std::cmp::Reverse(p))
            });
            let Some(next) = next else { return watched };
            left[next] = false;
            watched.push(next);
        }
    }
}

/// Whether an action moves a process as its control graph says, and not otherwise.
pub(super) fn follows(process: &Process, action: usize, print: &Footprint, location: u32) -> bool {
    let mut edges = process.edges.iter().filter(|edge| edge.action.0 as usize == action);
    match (edges.next(), edges.next(), print.may_write.contains(location)) {
        (None, _, written) => !written,
        (Some(edge), None, true) => {
            let before = print.precondition(location).and_then(ValueSet::as_const);
            let after = print.result(location).and_then(ValueSet::as_const);
            before == Some(edge.from) && after == Some(edge.to)
        }
        (Some(edge), None, false) => edge.from == edge.to,
        _ => false,
    }
}
