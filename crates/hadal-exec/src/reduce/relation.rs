//! What a stubborn set needs to know about a system, worked out once.
//!
//! Action instances are *groups* (one instance each, or a whole action where there are too many). A group that is enabled
//! brings along everything it conflicts with; one that is disabled, and everything looked for, brings along what could
//! enable it: the writers of one scalar that is not as its guard demands, else of all it tests.

use super::condition::{Condition, conjuncts};
use super::cycles::closing;
use super::plain::PlainTests;
use super::probe::probes;
use super::rows::{Rows, count};
use super::sites::sites;
use hadal_system::facts::{ActionFacts, Facts, Footprint, SlotSet, ValueSet};
use hadal_system::fold::Fold;
use hadal_system::state::get_bits;
use hadal_system::system::instance_values;
use hadal_system::{Action, ActionId, Domain, Expr, Label, Layout, Process, System};
use std::collections::HashMap;
use std::ops::Range;

/// With more groups than this, the instances of an action are one group.
const MAX_GROUPS: usize = 4096;
/// Labels up to this many have their groups in a table.
const MAX_DIRECT: u64 = 1 << 20;

/// The static part of a reduction.
pub(super) struct Relation {
    pub(super) rows: Rows,
    pub(super) groups: usize,
    /// Per group, the row of those that must join when it is enabled.
    pub(super) conflicts: Vec<u32>,
    /// Per group, its place by how many it conflicts with.
    pub(super) rank: Vec<u32>,
    /// What can enable each group, then what can bring about each thing looked for.
    pub(super) causes: Vec<Cause>,
    /// The groups whose bodies may meet errors, and the row of what can make them do so where they are enabled.
    pub(super) bodies: Vec<(usize, u32)>,
    /// The row of the groups that close cycles, or after which something looked for may be gone.
    pub(super) restless: u32,
    /// What guards demand of single scalars; equal demands are one test.
    pub(super) tests: Vec<Test>,
    /// Conjuncts of guards, each with the row of what writes what it reads.
    pub(super) conditions: Vec<(Condition, u32)>,
    group_of: GroupOf,
}

/// What can make a guard true: where a scalar is not as demanded, those that can make it so; else, where a conjunct is
/// false, those that write what it reads; else those that write anything the guard reads.
pub(super) struct Cause {
    /// Numbers of tests, all of which the guard passes.
    pub(super) tests: Box<[u32]>,
    pub(super) conditions: Range<usize>,
    /// The row of the writers of everything the guard reads.
    pub(super) otherwise: u32,
}

/// A scalar must have one of some values.
pub(super) struct Test {
    offset: u32,
    width: u32,
    allowed: Allowed,
    /// The row of those that may give it one.
    pub(super) writers: u32,
    /// The row of the groups that demand this.
    pub(super) users: u32,
}

enum Allowed {
    /// Codes below 64, one bit each.
    Few(u64),
    /// Ranges of codes, inclusive.
    Ranges(Box<[(u64, u64)]>),
}

enum GroupOf {
    Table(Vec<u32>),
    /// The first label, first group and way of each action.
    Search(Vec<(u64, u32, Apart)>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    Yes,
    No,
}

impl Relation {
    /// The relation of a system's actions; `None` where there are too many of them.
    pub(super) fn of(system: &System, layout: &Layout) -> Option<Self> {
        let own = Facts::of(system);
        let mut extended = system.clone();
        extended.actions.extend(probes(system, |property| own.properties[property].may_fault));
        let facts = Facts::of(&extended);
        let (actions, probes) = facts.actions.split_at(system.actions.len());

        let told_apart: usize = actions.iter().map(|a| a.footprints().count()).sum();
        let apart = told_apart <= MAX_GROUPS;
        if !apart && actions.len() > MAX_GROUPS {
            return None;
        }
        let mut prints: Vec<Print> = Vec::new();
        let mut starts = Vec::new();
        let bases = system.label_bases(&system.actions);
        for (n, (action, facts)) in system.actions.iter().zip(actions).enumerate() {
            let plain = PlainTests::of(system, action);
            let each = apart && facts.is_exact();
            starts.push((bases[n], prints.len() as u32, if each { Apart::Yes } else { Apart::No }));
            let own: Vec<Footprint> = if each {
                facts.footprints().map(|(_, print)| print.clone()).collect()
            } else {
                vec![facts.whole.clone()]
            };
            let single = each || facts.count <= 1;
            let (guard_sites, body_sites) = sites(system, action);
            prints.extend(own.into_iter().enumerate().map(|(instance, facts)| Print {
                guard: single.then(|| guard_of(system, action, instance as u64)),
                guard_sites: guard_sites.clone().unwrap_or_else(|| facts.tests.clone()),
                body_sites: body_sites.clone().unwrap_or_else(|| facts.reads.clone()),
                facts,
                plain: plain.clone(),
                single,
            }));
        }
        let mut build = Build::new(system, layout, &prints);
        build.conflicts();
        prints.iter().for_each(|print| build.cause(&print.facts, print.guard.as_ref()));
        (0..prints.len()).for_each(|group| build.faults(group));
        for (action, facts) in extended.actions[system.actions.len()..].iter().zip(probes) {
            build.probe(action, facts);
        }
        build.note_users();
        let restless = build.restless(&starts);
        let Build { mut rows, conflicts, causes, tests, conditions, bodies, .. } = build;
        rows.finish();
        let mut by_conflicts: Vec<u32> = (0..prints.len() as u32).collect();
        by_conflicts.sort_by_key(|&group| count(rows.row(conflicts[group as usize])));
        let mut rank = vec![0; prints.len()];
        by_conflicts.iter().enumerate().for_each(|(n, &group)| rank[group as usize] = n as u32);
        let labels = bases.last().copied().unwrap_or(0);
        let group_of = if labels <= MAX_DIRECT {
            GroupOf::Table((0..labels).map(|label| group_at(&starts, label)).collect())
        } else {
            GroupOf::Search(starts)
        };
        Some(Relation {
            rows,
            groups: prints.len(),
            conflicts,
            causes,
            bodies,
            rank,
            restless,
            tests,
            conditions,
            group_of,
        })
    }

    /// The group of a transition.
    pub(super) fn group(&self, label: Label) -> usize {
        match &self.group_of {
            GroupOf::Table(groups) => groups[label.0 as usize] as usize,
            GroupOf::Search(starts) => group_at(starts, label.0.into()) as usize,
        }
    }
}

impl Test {
    pub(super) fn passes(&self, state: &[u64]) -> bool {
        let code = get_bits(state, self.offset, self.width);
        match &self.allowed {
            Allowed::Few(codes) => codes >> code & 1 == 1,
            Allowed::Ranges(ranges) => ranges.iter().any(|&(from, to)| from <= code && code <= to),
        }
    }
}

fn group_at(starts: &[(u64, u32, Apart)], label: u64) -> u32 {
    // Actions without instances share their base with the next one, which is the last at or below the label.
    let at = starts.partition_point(|&(base, ..)| base <= label) - 1;
    let (base, first, apart) = starts[at];
    first + if apart == Apart::Yes { (label - base) as u32 } else { 0 }
}

struct Print {
    facts: Footprint,
    /// The guard with its parameters known, where it stands for one instance only.
    guard: Option<Expr>,
    /// What decides whether the guard meets an error.
    guard_sites: SlotSet,
    /// What decides whether the body does, where the guard is true.
    body_sites: SlotSet,
    plain: PlainTests,
    /// Whether it stands for one instance only.
    single: bool,
}

/// The guard of an action's n-th instance.
fn guard_of(system: &System, action: &Action, n: u64) -> Expr {
    let values = instance_values(&action.params, &system.domains, n);
    let known = action.params.iter().map(|param| param.local).zip(values);
    Fold::new(system, known).unrolling(16).expr(&action.guard)
}

struct Build<'a> {
    system: &'a System,
    /// Errors in guards and what is wrong with properties, as guards that are true there.
    events: Vec<Footprint>,
    layout: &'a Layout,
    prints: &'a [Print],
    rows: Rows,
    conflicts: Vec<u32>,
    causes: Vec<Cause>,
    bodies: Vec<(usize, u32)>,
    tests: Vec<Test>,
    conditions: Vec<(Condition, u32)>,
    /// The tests by slot and values.
    known: HashMap<(u32, ValueSet), u32>,
}

impl<'a> Build<'a> {
    fn new(system: &'a System, layout: &'a Layout, prints: &'a [Print]) -> Self {
        Build {
            system,
            events: Vec::new(),
            layout,
            prints,
            rows: Rows::new(prints.len()),
            conflicts: Vec::new(),
            causes: Vec::new(),
            bodies: Vec::new(),
            tests: Vec::new(),
            conditions: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn conflicts(&mut self) {
        for (n, print) in self.prints.iter().enumerate() {
            let others = self.prints.iter().enumerate().filter(|&(m, other)| {
                m != n
                    && (disturbs(print, other) || disturbs(other, print))
                    && print.facts.may_be_enabled_with(&other.facts)
            });
            // A group of several instances may be enabled by one of them: the others may still have to be.
            let enablers = (self.prints.iter().enumerate())
                .filter(|(_, by)| !print.single && by.facts.may_enable(&print.facts));
            let all: Vec<usize> = others.chain(enablers).map(|(m, _)| m).collect();
            let row = self.rows.add(all);
            self.conflicts.push(row);
        }
    }

    /// Adds what can make the guard of this true.
    fn cause(&mut self, print: &Footprint, guard: Option<&Expr>) {
        let first_condition = self.conditions.len();
        if !print.can_hold {
            let nothing = self.rows.add([]);
            self.causes.push(Cause { tests: Box::default(), conditions: 0..0, otherwise: nothing });
            return;
        }
        for condition in guard.map_or(Vec::new(), |guard| conjuncts(self.system, self.layout, guard)) {
            let able =
                self.prints.iter().enumerate().filter(|(_, by)| by.facts.may_write.meets(&condition.reads));
            let able: Vec<usize> = able.map(|(n, _)| n).collect();
            let row = self.rows.add(able);
            self.conditions.push((condition, row));
        }
        let mut tests: Vec<u32> =
            print.demands.iter().map(|(slot, demanded)| self.test(*slot, demanded)).collect();
        // Of equal ones, those with few writers are chosen.
        tests.sort_by_key(|&test| count(self.rows.row(self.tests[test as usize].writers)));
        let enablers = self.prints.iter().enumerate().filter(|(_, by)| by.facts.may_enable(print));
        let all: Vec<usize> = enablers.map(|(n, _)| n).collect();
        let otherwise = self.rows.add(all);
        let conditions = first_condition..self.conditions.len();
        self.causes.push(Cause { tests: tests.into(), conditions, otherwise });
    }

    /// Adds the errors that a group may meet as things looked for.
    fn faults(&mut self, group: usize) {
        let Print { facts, guard_sites, body_sites, single, .. } = &self.prints[group];
        if facts.body_may_fault {
            let mut sites = body_sites.clone();
            // An assumption is asked about what comes out, whatever the body itself does.
            if facts.may_drop {
                sites.extend(&facts.reads);
            }
            if !single {
                sites.extend(&facts.tests);
            }
            let able = self.prints.iter().enumerate().filter(|(_, by)| by.facts.may_write.meets(&sites));
            let able: Vec<usize> = able.map(|(n, _)| n).collect();
            let row = self.rows.add(able);
            self.bodies.push((group, row));
        }
        if let Some(demands) = &facts.guard_faults {
            let (demands, tests) = (demands.clone(), guard_sites.clone());
            self.event(Footprint { demands, tests, can_hold: true, ..bare(facts) }, None);
        }
    }

    fn probe(&mut self, action: &Action, facts: &ActionFacts) {
        for (instance, print) in facts.footprints() {
            if print.can_hold {
                let guard = facts.is_exact().then(|| guard_of(self.system, action, instance));
                self.event(bare(print), guard.as_ref());
            }
            if let Some(demands) = &print.guard_faults {
                self.event(Footprint { demands: demands.clone(), can_hold: true, ..bare(print) }, None);
            }
        }
    }

    fn event(&mut self, event: Footprint, guard: Option<&Expr>) {
        self.cause(&event, guard);
        self.events.push(event);
    }

    /// The row of the groups that close cycles of states, or may end an event that was there. (The error of a body is
    /// not among the events: what does not conflict with an action leaves its errors as they are.)
    fn restless(&mut self, starts: &[(u64, u32, Apart)]) -> u32 {
        let closing = closing(self.system);
        let action = |group: usize| starts.partition_point(|&(_, first, _)| first as usize <= group) - 1;
        let ends = |print: &Footprint| {
            let mut events = self.events.iter();
            events.any(|event| print.may_write.meets(&event.tests) && print.may_be_enabled_with(event))
        };
        let first_slots = self.system.first_slots();
        let strays = |group: usize, print: &Footprint| {
            // A process with one location never leaves it.
            let moving = self.system.processes.iter().filter(|process| process.locations.len() > 1);
            moving.into_iter().any(|process| {
                let slot = first_slots[process.location.0 as usize] as u32;
                !follows(process, ActionId(action(group) as u32), print, slot)
            })
        };
        let all: Vec<usize> = (self.prints.iter().enumerate())
            .filter(|(group, print)| {
                closing[action(*group)] || ends(&print.facts) || strays(*group, &print.facts)
            })
            .map(|(group, _)| group)
            .collect();
        self.rows.add(all)
    }

    /// The number of the test that a slot has one of the values.
    fn test(&mut self, slot: u32, values: &ValueSet) -> u32 {
        let key = (slot, values.clone());
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let able = self.prints.iter().enumerate().filter(|(_, print)| {
            print.facts.may_write.contains(slot)
                && print.facts.result(slot).is_none_or(|after| !after.is_disjoint(values))
        });
        let able: Vec<usize> = able.map(|(n, _)| n).collect();
        let writers = self.rows.add(able);
        let place = &self.layout.slots()[slot as usize];
        let allowed = allowed(&self.system.domains[place.domain], values);
        let number = self.tests.len() as u32;
        let users = self.rows.add([]);
        self.tests.push(Test { offset: place.offset, width: place.width, allowed, writers, users });
        self.known.insert(key, number);
        number
    }

    /// Notes which groups demand each test.
    fn note_users(&mut self) {
        let mut users = vec![Vec::new(); self.tests.len()];
        for (group, cause) in self.causes[..self.prints.len()].iter().enumerate() {
            cause.tests.iter().for_each(|&test| users[test as usize].push(group));
        }
        for (test, users) in self.tests.iter_mut().zip(users) {
            test.users = self.rows.add(users);
        }
    }
}

/// Whether an action moves a process as its control graph says, and not otherwise.
fn follows(process: &Process, action: ActionId, print: &Footprint, location: u32) -> bool {
    let mut edges = process.edges.iter().filter(|edge| edge.action == action);
    match (edges.next(), edges.next(), print.may_write.contains(location)) {
        (None, _, written) => !written,
        (Some(edge), None, true) => {
            let before = print.demand(location).and_then(ValueSet::as_const);
            let after = print.result(location).and_then(ValueSet::as_const);
            before == Some(edge.from) && after == Some(edge.to)
        }
        _ => false,
    }
}

/// What an action reads and demands, and that it writes nothing.
fn bare(print: &Footprint) -> Footprint {
    Footprint {
        reads: print.reads.clone(),
        tests: print.tests.clone(),
        demands: print.demands.clone(),
        can_hold: print.can_hold,
        ..Footprint::default()
    }
}

/// Whether firing `one` may change what `other` does, or writes what it writes.
fn disturbs(one: &Print, other: &Print) -> bool {
    let (writes, reads) = (&one.facts.may_write, &other.facts.reads);
    if writes.meets(&other.facts.may_write) {
        return true;
    }
    if !writes.meets(reads) || other.plain.is_empty() {
        return writes.meets(reads);
    }
    let stays = |slot| one.facts.result(slot).is_some_and(|after| other.plain.pass(slot, after));
    !writes.common(reads).iter().all(stays)
}

/// The codes of a domain's values that are in the set.
fn allowed(domain: &Domain, set: &ValueSet) -> Allowed {
    let shift = u64::from(domain.undefined);
    let mut ranges = Vec::new();
    if domain.undefined && set.may_be_undefined() {
        ranges.push((0, 0));
    }
    for &(low, high) in &domain.intervals {
        for &(from, to) in set.intervals() {
            let (from, to) = (from.max(low), to.min(high));
            if let (true, Some(from), Some(to)) = (from <= to, domain.position(from), domain.position(to)) {
                ranges.push((from + shift, to + shift));
            }
        }
    }
    if domain.bits() > 6 {
        return Allowed::Ranges(ranges.into());
    }
    Allowed::Few(ranges.into_iter().flat_map(|(from, to)| from..=to).fold(0, |codes, code| codes | 1 << code))
}
