//! What a stubborn set needs to know about a system, worked out once.
//!
//! Action instances are *groups* (one instance each, or a whole action where there are too many). A group that is enabled
//! brings along everything it conflicts with; one that is disabled, and everything looked for, brings along what could
//! enable it: the writers of one scalar that is not as its guard demands, else of all it tests.

use super::births::Births;
use super::chain;
use super::channels::{Use, Way, uses};
use super::condition::{Condition, conjuncts};
use super::cycles::Cycles;
use super::plain::PlainTests;
use super::probe::{both_ways, probes};
use super::rows::{Rows, count, members};
use super::sites::sites;
use hadal_system::facts::{ActionFacts, Facts, Footprint, SlotSet, ValueSet};
use hadal_system::fold::Fold;
use hadal_system::state::get_bits;
use hadal_system::system::instance_values;
use hadal_system::{Action, Domain, Expr, Label, Layout, System};
use std::collections::HashMap;
use std::ops::Range;

/// With more groups than this, the instances of an action are one group.
const MAX_GROUPS: usize = 4096;
/// Labels up to this many have their groups in a table.
const MAX_DIRECT: u64 = 1 << 20;

/// What a reduction keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Whether something is wrong in a state that can be reached.
    Errors,
    /// Which infinite runs there are, as far as these properties (by number) are seen, and errors of the model.
    Runs(Vec<usize>),
}

/// How an action that is seen is told from others.
enum Seen {
    /// It may make the first false and the second true, or the other way round.
    Truth(Box<[Footprint; 2]>),
    /// It may write one of these.
    Reads(SlotSet),
}

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
    /// The row of the groups after which something looked for may be gone.
    ending: u32,
    cycles: Cycles,
    /// The actions that each group goes through.
    members: Vec<Box<[u32]>>,
    /// What guards demand of single scalars; equal demands are one test.
    pub(super) tests: Vec<Test>,
    /// Conjuncts of guards, each with the row of what writes what it reads.
    pub(super) conditions: Vec<(Condition, u32)>,
    group_of: GroupOf,
    /// The first label of an action of a rank above 0.
    ranked: u64,
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
    /// Whether the scalar is where a process stands.
    locates: bool,
    allowed: Allowed,
    /// The row of those that may give it one.
    writers: u32,
    /// Where the process stands whose scalar it is (offset and width), and the row of those that may do so or end it while
    /// it lives.
    living: Option<(u32, u32, u32)>,
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
    pub(super) fn of(system: &System, layout: &Layout, kept: &Kept) -> Option<Self> {
        let own = Facts::of(system);
        let mut extended = system.clone();
        match kept {
            Kept::Errors => {
                extended.actions.extend(probes(system, |property| own.properties[property].may_fault));
            }
            Kept::Runs(seen) => {
                let told = seen.iter().filter_map(|&n| both_ways(&system.properties[n]));
                extended.actions.extend(told.flatten());
            }
        }
        let asked = extended.actions.len();
        let births = Births::find(system, &own, &mut extended.actions);
        let facts = Facts::of(&extended);
        let (actions, probes) = facts.actions[..asked].split_at(system.actions.len());

        let told_apart: usize = actions.iter().map(|a| a.footprints().count()).sum();
        let apart = told_apart <= MAX_GROUPS;
        if !apart && actions.len() > MAX_GROUPS {
            return None;
        }
        let mut prints: Vec<Print> = Vec::new();
        let mut starts = Vec::new();
        let bases = system.label_bases(&system.actions);
        let first_slots = system.first_slots();
        for (n, (action, own)) in system.actions.iter().zip(actions).enumerate() {
            let each = apart && own.is_exact();
            starts.push((bases[n], prints.len() as u32, if each { Apart::Yes } else { Apart::No }));
            let single = each || own.count <= 1;
            let (guard_sites, body_sites) = sites(system, action);
            let members = chain::members(system, n);
            let alone = members.len() == 1;
            let plain = if alone { PlainTests::of(system, action) } else { PlainTests::default() };
            let mut uses: Vec<Buffer> =
                uses(system, action).iter().map(|it| Buffer::new(system, &first_slots, it)).collect();
            // What goes on through others may find the buffer full or empty on the way.
            let touched = |buffer: &Buffer| {
                let mut others = members[1..].iter().map(|&m| &facts.actions[m].whole);
                others.any(|it| buffer.is_touched(&it.reads) || buffer.is_touched(&it.may_write))
            };
            uses.retain(|buffer| single && !touched(buffer));
            let own: Vec<&Footprint> =
                if each { own.footprints().map(|(_, print)| print).collect() } else { vec![&own.whole] };
            prints.extend(own.into_iter().enumerate().map(|(instance, print)| {
                let print = if alone { print.clone() } else { chain::footprint(print, &facts, &members) };
                let body_sites = body_sites.clone().filter(|_| alone);
                Print {
                    guard: single.then(|| guard_of(system, action, instance as u64)),
                    guard_sites: guard_sites.clone().unwrap_or_else(|| print.tests.clone()),
                    body_sites: body_sites.unwrap_or_else(|| print.reads.clone()),
                    facts: print,
                    plain: plain.clone(),
                    single,
                    rank: action.rank,
                    uses: uses.clone(),
                    members: members.clone(),
                }
            }));
        }
        let mut build = Build::new(Ground { system, layout, facts: &facts, births: &births }, &prints);
        build.conflicts();
        prints.iter().for_each(|print| build.cause(&print.facts, print.guard.as_ref(), &print.uses));
        (0..prints.len()).for_each(|group| build.faults(group));
        if *kept == Kept::Errors {
            for (action, facts) in extended.actions[system.actions.len()..asked].iter().zip(probes) {
                build.probe(action, facts);
            }
        }
        build.note_users();
        let mut ending = build.ending();
        if let Kept::Runs(seen) = kept {
            let mut probes = probes.chunks_exact(2);
            let seen: Vec<Seen> = (seen.iter())
                .map(|&n| match both_ways(&system.properties[n]).and_then(|_| probes.next()) {
                    Some([yes, no]) if !own.properties[n].may_fault => {
                        Seen::Truth(Box::new([yes.whole.clone(), no.whole.clone()]))
                    }
                    _ => Seen::Reads(own.properties[n].reads.clone()),
                })
                .collect();
            ending = build.visible(ending, &seen);
        }
        let cycles = Cycles::of(system, layout, &facts);
        let members = prints.iter().map(|print| print.members.iter().map(|&n| n as u32).collect()).collect();
        let Build { mut rows, conflicts, causes, tests, conditions, bodies, .. } = build;
        rows.finish();
        let mut by_conflicts: Vec<u32> = (0..prints.len() as u32).collect();
        by_conflicts.sort_by_key(|&group| count(rows.row(conflicts[group as usize])));
        let mut rank = vec![0; prints.len()];
        by_conflicts.iter().enumerate().for_each(|(n, &group)| rank[group as usize] = n as u32);
        let labels = bases.last().copied().unwrap_or(0);
        // Ranks ascend along the actions.
        let ranked = system.actions.iter().position(|action| action.rank > 0);
        let ranked = ranked.map_or(u64::MAX, |n| bases[n]);
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
            ending,
            cycles,
            members,
            tests,
            conditions,
            group_of,
            ranked,
        })
    }

    /// Where in the state that stands which decides what closes cycles of states.
    pub(super) fn setting_places(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cycles.settings.iter().map(|it| (it.offset, it.width))
    }

    /// The codes of what decides which groups close cycles of states.
    pub(super) fn settings(&self, state: &[u64], codes: &mut Vec<u64>) {
        codes.clear();
        codes.extend(self.cycles.settings.iter().map(|it| get_bits(state, it.offset, it.width)));
    }

    /// The groups that close cycles of states where the settings are these, or after which something looked for may be
    /// gone.
    pub(super) fn restless(&self, codes: &[u64]) -> Box<[u64]> {
        let mut row: Box<[u64]> = self.rows.row(self.ending).into();
        let closing = self.cycles.closing(codes);
        for (group, members) in self.members.iter().enumerate() {
            if members.iter().any(|&n| closing[n as usize]) {
                row[group / 64] |= 1 << (group % 64);
            }
        }
        row
    }

    /// Whether some actions fire only where others cannot.
    pub(super) fn has_ranks(&self) -> bool {
        self.ranked < u64::MAX
    }

    /// Whether this is such an action.
    pub(super) fn is_ranked(&self, label: Label) -> bool {
        u64::from(label.0) >= self.ranked
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
    /// Rows of those without which it does not pass; any of them will do.
    pub(super) fn ways(&self, state: &[u64]) -> impl Iterator<Item = u32> + use<> {
        let living = self.living.filter(|&(offset, width, _)| get_bits(state, offset, width) != 0);
        std::iter::once(self.writers).chain(living.map(|(.., row)| row))
    }

    /// Offset and width of the location that decides who may make it pass.
    pub(super) fn life(&self) -> Option<(u32, u32)> {
        self.living.map(|(offset, width, _)| (offset, width))
    }

    /// Offset and width of the scalar, where it is where a process stands.
    pub(super) fn location(&self) -> Option<(u32, u32)> {
        self.locates.then_some((self.offset, self.width))
    }

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
    rank: u8,
    uses: Vec<Buffer>,
    /// The actions that it goes through, its own first.
    members: Vec<usize>,
}

/// The slots of a buffer that an action sends to or receives from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) held: u32,
    /// From, and up to but not including.
    cells: (u32, u32),
    pub(super) way: Way,
}

impl Buffer {
    fn new(system: &System, first_slots: &[usize], found: &Use) -> Self {
        let first = first_slots[found.messages.0 as usize];
        let end = first + system.shapes.slots(system.variable(found.messages).shape);
        let held = first_slots[found.held.0 as usize] as u32;
        Buffer { held, cells: (first as u32, end as u32), way: found.way }
    }

    fn has(&self, slot: u32) -> bool {
        slot == self.held || (self.cells.0..self.cells.1).contains(&slot)
    }

    fn is_touched(&self, slots: &SlotSet) -> bool {
        slots.contains(self.held) || slots.meets_range(self.cells.0, self.cells.1)
    }
}

/// Which groups touch each slot, and which may write it.
struct Meetings {
    touching: Vec<Vec<u32>>,
    writing: Vec<Vec<u32>>,
}

impl Meetings {
    fn of(prints: &[Print]) -> Self {
        let slots = prints.iter().flat_map(|it| [&it.facts.reads, &it.facts.may_write]);
        let count =
            slots.filter_map(|set| set.ranges().last().map(|&(_, to)| to as usize)).max().unwrap_or(0);
        let mut meetings = Meetings { touching: vec![Vec::new(); count], writing: vec![Vec::new(); count] };
        for (n, print) in prints.iter().enumerate() {
            print.facts.may_write.iter().for_each(|slot| meetings.writing[slot as usize].push(n as u32));
            let mut touched = print.facts.reads.clone();
            touched.extend(&print.facts.may_write);
            touched.iter().for_each(|slot| meetings.touching[slot as usize].push(n as u32));
        }
        meetings
    }

    /// The groups that touch what this writes, or write what it touches, ascending.
    fn with(&self, print: &Footprint) -> Vec<usize> {
        let written = print.may_write.iter().flat_map(|slot| &self.touching[slot as usize]);
        let read = print.reads.iter().flat_map(|slot| &self.writing[slot as usize]);
        let mut all: Vec<usize> = written.chain(read).map(|&n| n as usize).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The guard of an action's n-th instance.
fn guard_of(system: &System, action: &Action, n: u64) -> Expr {
    let values = instance_values(&action.params, &system.domains, n);
    let known = action.params.iter().map(|param| param.local).zip(values);
    Fold::new(system, known).unrolling(16).expr(&action.guard)
}

/// What is known before.
#[derive(Clone, Copy)]
struct Ground<'a> {
    system: &'a System,
    layout: &'a Layout,
    facts: &'a Facts,
    births: &'a Births,
}

struct Build<'a> {
    ground: Ground<'a>,
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
    /// The slots that say where processes stand.
    locations: Vec<u32>,
    /// The tests by slot and values.
    known: HashMap<(u32, ValueSet), u32>,
}

impl<'a> Build<'a> {
    fn new(ground: Ground<'a>, prints: &'a [Print]) -> Self {
        let Ground { system, layout, .. } = ground;
        let first_slots = system.first_slots();
        let locations = system.processes.iter().map(|it| first_slots[it.location.0 as usize] as u32);
        Build {
            locations: locations.collect(),
            ground,
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

    /// The groups of rank 0. Others fire only where none of these can, so never while one in the set is enabled: nothing
    /// outside the set disables it.
    fn plain_steps(&self) -> impl Iterator<Item = (usize, &'a Print)> + use<'a> {
        self.prints.iter().enumerate().filter(|(_, print)| print.rank == 0)
    }

    fn conflicts(&mut self) {
        let meetings = Meetings::of(self.prints);
        for (n, print) in self.prints.iter().enumerate() {
            let living = self.ground.births.living(&print.facts);
            let candidates = meetings.with(&print.facts);
            let others = candidates.into_iter().map(|m| (m, &self.prints[m])).filter(|&(m, other)| {
                m != n
                    && other.rank == 0
                    && self.conflict(print, &living, other)
                    && print.facts.may_be_enabled_with(&other.facts)
            });
            // A group of several instances may be enabled by one of them: the others may still have to be.
            let enablers =
                self.plain_steps().filter(|(_, by)| !print.single && by.facts.may_enable(&print.facts));
            let all: Vec<usize> = others.chain(enablers).map(|(m, _)| m).collect();
            let row = self.rows.add(all);
            self.conflicts.push(row);
        }
    }

    /// Whether one of two groups may disturb the other where both are enabled; `living` are the processes that live where
    /// the first one is.
    fn conflict(&self, print: &Print, living: &[usize], other: &Print) -> bool {
        let Ground { facts, births, .. } = self.ground;
        let concerned = |births: &Births, members: &[usize], p: usize| births.concern(members, p);
        let mut narrowed: Option<(SlotSet, SlotSet)> = None;
        let mut narrow = |members: &[usize], p: usize| {
            let (reads, writes) = births.while_living(facts, members, p)?;
            narrowed = Some(match narrowed.take() {
                None => (reads, writes),
                Some((known, written)) => (known.common(&reads), written.common(&writes)),
            });
            Some(())
        };
        for &p in living.iter().filter(|&&p| concerned(births, &other.members, p)) {
            let _ = narrow(&other.members, p);
        }
        if let Some((reads, writes)) = narrowed {
            let own = &print.facts;
            return writes.meets(&own.reads) || writes.meets(&own.may_write) || own.may_write.meets(&reads);
        }
        // The same the other way round, so that the relation stays symmetric.
        let mut narrowed: Option<(SlotSet, SlotSet)> = None;
        for p in births.living(&other.facts).into_iter().filter(|&p| concerned(births, &print.members, p)) {
            if let Some((reads, writes)) = births.while_living(facts, &print.members, p) {
                narrowed = Some(match narrowed.take() {
                    None => (reads, writes),
                    Some((known, written)) => (known.common(&reads), written.common(&writes)),
                });
            }
        }
        if let Some((reads, writes)) = narrowed {
            let own = &other.facts;
            return writes.meets(&own.reads) || writes.meets(&own.may_write) || own.may_write.meets(&reads);
        }
        disturbs(print, other) || disturbs(other, print)
    }

    /// Adds what can make the guard of this true.
    fn cause(&mut self, print: &Footprint, guard: Option<&Expr>, uses: &[Buffer]) {
        let filled = |it: &&Buffer| print.demand(it.held).is_some_and(|values| !values.contains(0));
        let received: Vec<&Buffer> = uses.iter().filter(|it| it.way == Way::Receive).filter(filled).collect();
        let first_condition = self.conditions.len();
        if !print.can_hold {
            let nothing = self.rows.add([]);
            self.causes.push(Cause { tests: Box::default(), conditions: 0..0, otherwise: nothing });
            return;
        }
        for condition in guard.map_or(Vec::new(), |guard| conjuncts(self.system, self.layout, guard)) {
            let able = self.plain_steps().filter(|(_, by)| {
                // The oldest message stays while others are sent.
                let behind = |buffer: &&&Buffer| {
                    by.uses
                        .iter()
                        .any(|it| it.way == Way::Send && it.held == buffer.held && it.cells == buffer.cells)
                };
                let written = &by.facts.may_write;
                match received.iter().find(behind) {
                    Some(buffer) => {
                        let common = written.common(&condition.reads);
                        common.iter().any(|slot| !(buffer.cells.0..buffer.cells.1).contains(&slot))
                    }
                    None => {
                        let emptied =
                            |it: &&Buffer| it.is_touched(&condition.reads) && written.contains(it.held);
                        written.meets(&condition.reads) || received.iter().any(emptied)
                    }
                }
            });
            let able: Vec<usize> = able.map(|(n, _)| n).collect();
            let row = self.rows.add(able);
            self.conditions.push((condition, row));
        }
        // What is asked of the oldest message is a condition, looked at only where there is a message.
        let asked = |slot: u32| !received.iter().any(|it| (it.cells.0..it.cells.1).contains(&slot));
        let demands = print.demands.iter().filter(|(slot, _)| asked(*slot));
        let mut tests: Vec<u32> = demands.map(|(slot, demanded)| self.test(*slot, demanded)).collect();
        // Of equal ones, those with few writers are chosen.
        tests.sort_by_key(|&test| count(self.rows.row(self.tests[test as usize].writers)));
        let enablers = self.plain_steps().filter(|(_, by)| by.facts.may_enable(print));
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
            let able = self.plain_steps().filter(|(_, by)| by.facts.may_write.meets(&sites));
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
        self.cause(&event, guard, &[]);
        self.events.push(event);
    }

    /// The row of the groups that may end an event that was there. (The error of a body is not among the events: what
    /// does not conflict with an action leaves its errors as they are.)
    fn ending(&mut self) -> u32 {
        let ends = |print: &Footprint| {
            let mut events = self.events.iter();
            events.any(|event| print.may_write.meets(&event.tests) && print.may_be_enabled_with(event))
        };
        let all = self.prints.iter().enumerate().filter(|(_, print)| ends(&print.facts));
        let all: Vec<usize> = all.map(|(group, _)| group).collect();
        self.rows.add(all)
    }

    /// A row with those groups in addition that may change something that is seen.
    fn visible(&mut self, row: u32, seen: &[Seen]) -> u32 {
        let changes = |print: &Footprint, from: &Footprint, to: &Footprint| {
            print.may_write.meets(&from.tests) && print.may_be_enabled_with(from) && print.may_enable(to)
        };
        let is_seen = |print: &Footprint| {
            seen.iter().any(|seen| match seen {
                Seen::Truth(both) => {
                    let [yes, no] = &**both;
                    changes(print, yes, no) || changes(print, no, yes)
                }
                Seen::Reads(slots) => print.may_write.meets(slots),
            })
        };
        let others = self.prints.iter().enumerate().filter(|(_, print)| is_seen(&print.facts));
        let others: Vec<usize> = others.map(|(group, _)| group).collect();
        let all: Vec<usize> = members(self.rows.row(row)).chain(others).collect();
        self.rows.add(all)
    }

    /// The number of the test that a slot has one of the values.
    fn test(&mut self, slot: u32, values: &ValueSet) -> u32 {
        let key = (slot, values.clone());
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let domain = &self.system.domains[self.layout.slots()[slot as usize].domain];
        let (low, high) = (domain.min(), domain.max());
        let able = self.plain_steps().filter(|(_, print)| {
            // To count up makes no upper bound true that was false, to count down no lower one.
            let away = print.uses.iter().any(|buffer| {
                buffer.held == slot
                    && matches!(values.intervals(), &[(from, to)] if match buffer.way {
                        Way::Send => from <= low,
                        Way::Receive => to >= high,
                    })
            });
            print.facts.may_write.contains(slot)
                && !away
                && print.facts.result(slot).is_none_or(|after| !after.is_disjoint(values))
        });
        let able: Vec<usize> = able.map(|(n, _)| n).collect();
        let writers = self.rows.add(able.iter().copied());
        let place = &self.layout.slots()[slot as usize];
        let allowed = allowed(&self.system.domains[place.domain], values);
        let number = self.tests.len() as u32;
        let users = self.rows.add([]);
        let locates = self.locations.contains(&slot);
        let living = self.living(slot, &able);
        let (offset, width) = (place.offset, place.width);
        self.tests.push(Test { offset, width, locates, allowed, writers, living, users });
        self.known.insert(key, number);
        number
    }

    /// Of those that can change a process's own scalar, the ones that can while it lives, and those that can end its life.
    fn living(&mut self, slot: u32, able: &[usize]) -> Option<(u32, u32, u32)> {
        let Ground { system, layout, facts, births } = self.ground;
        let first_slots = system.first_slots();
        let var = first_slots.partition_point(|&first| first as u32 <= slot).checked_sub(1)?;
        let process = system.variables[var].owner?.0 as usize;
        let location = births.locations[process];
        let place = &layout.slots()[location as usize];
        let domain = &system.domains[place.domain];
        if slot == location || domain.undefined || domain.min() != 0 {
            return None;
        }
        let writes = |print: &Print, slot: u32| match births.while_living(facts, &print.members, process) {
            Some((_, writes)) => writes.contains(slot),
            None => print.facts.may_write.contains(slot),
        };
        if !able.iter().any(|&n| births.concern(&self.prints[n].members, process)) {
            return None;
        }
        let still = able.iter().copied().filter(|&n| writes(&self.prints[n], slot));
        let ends = self.plain_steps().filter(|(_, print)| {
            let left = print.facts.result(location).is_none_or(|values| values.contains(0));
            writes(print, location) && left
        });
        let all: Vec<usize> = still.chain(ends.map(|(n, _)| n)).collect();
        let row = self.rows.add(all);
        Some((place.offset, place.width, row))
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
    let opposite =
        |a: &&Buffer| other.uses.iter().any(|b| a.held == b.held && a.cells == b.cells && a.way != b.way);
    let shared: Vec<&Buffer> = one.uses.iter().filter(opposite).collect();
    if !shared.is_empty() {
        let apart = |slot: u32| shared.iter().any(|buffer| buffer.has(slot));
        let both = writes.common(&other.facts.may_write);
        let stays = |slot| one.facts.result(slot).is_some_and(|after| other.plain.pass(slot, after));
        return !both.iter().all(apart)
            || !writes.common(reads).iter().all(|slot| apart(slot) || stays(slot));
    }
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
