//! Working out the relation: conflicts, causes, tests and rows, group by group.

use super::births::Births;
use super::channels::Way as Through;
use super::condition::{Condition, conjuncts};
use super::demands::Demands;
use super::precondition::{Place, Test, allowed};
use super::print::{Buffer, Meetings, Print, bare, disturbs, guard_of};
use super::relation::Cause;
use super::rows::{Rows, count, has, members};
use hadal_system::facts::{ActionFacts, Facts, Footprint, SlotSet, ValueSet};
use hadal_system::{Action, Expr, Layout, System};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Locations of more bits than this are not looked at place by place.
const MAX_PLACE_BITS: u32 = 10;

/// How an action that is seen is told from others.
pub(super) enum Seen {
    /// It may make the first false and the second true, or the other way round.
    Truth(Box<[Footprint; 2]>),
    /// It may write one of these.
    Reads(SlotSet),
}

/// What is known before.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) system: &'a System,
    pub(super) layout: &'a Layout,
    pub(super) facts: &'a Facts,
    pub(super) births: &'a Births,
}

/// The relation in the making.
pub(super) struct Build<'a> {
    ground: Ground<'a>,
    pub(super) system: &'a System,
    /// Errors in guards and what is wrong with properties, as guards that are true there.
    events: Vec<Footprint>,
    pub(super) layout: &'a Layout,
    prints: &'a [Print],
    meetings: Meetings,
    demands: Demands,
    pub(super) rows: Rows,
    pub(super) conflicts: Vec<u32>,
    pub(super) causes: Vec<Cause>,
    pub(super) bodies: Vec<(usize, u32)>,
    pub(super) tests: Vec<Test>,
    pub(super) conditions: Vec<(Condition, u32)>,
    /// By process and code of its location.
    pub(super) places: Vec<Vec<Place>>,
    /// The slots that say where processes stand.
    pub(super) locations: Vec<u32>,
    /// Per group, the processes that live where it fires, before and after.
    living: Vec<Vec<usize>>,
    /// Per group, the processes that it may bring to life, and what it reads and writes where they live already.
    bearing: Vec<Vec<(usize, SlotSet, SlotSet)>>,
    /// Per process, what may end its life; worked out when first asked for.
    enders: Vec<OnceCell<Vec<usize>>>,
    /// The tests by slot and values.
    known: HashMap<(u32, ValueSet), u32>,
}

impl<'a> Build<'a> {
    pub(super) fn new(ground: Ground<'a>, prints: &'a [Print]) -> Self {
        let Ground { system, layout, .. } = ground;
        let Ground { births, facts, .. } = ground;
        let borne = |print: &Print| {
            let concerned = births.borne(&print.members).into_iter();
            let narrowed = concerned.filter_map(|p| {
                let (reads, writes) = births.while_living(facts, &print.members, p)?;
                Some((p, reads, writes))
            });
            narrowed.collect()
        };
        let first_slots = system.first_slots();
        let locations = system.processes.iter().map(|it| first_slots[it.location.0 as usize] as u32);
        Build {
            locations: locations.collect(),
            living: prints.iter().map(|print| births.living(&print.facts)).collect(),
            bearing: prints.iter().map(borne).collect(),
            ground,
            system,
            events: Vec::new(),
            layout,
            prints,
            meetings: Meetings::of(prints),
            demands: Demands::default(),
            rows: Rows::new(prints.len()),
            conflicts: Vec::new(),
            causes: Vec::new(),
            bodies: Vec::new(),
            tests: Vec::new(),
            conditions: Vec::new(),
            places: Vec::new(),
            enders: vec![OnceCell::new(); system.processes.len()],
            known: HashMap::new(),
        }
    }

    /// The groups of rank 0 that can do anything. Others fire only where none of these can, so never while one in the set is enabled: nothing
    /// outside the set disables it.
    fn plain_steps(&self) -> impl Iterator<Item = (usize, &'a Print)> + use<'a> {
        self.prints.iter().enumerate().filter(|(_, print)| print.rank == 0 && print.is_possible())
    }

    /// Those of them that may write one of these.
    pub(super) fn writers(&self, slots: &SlotSet) -> impl Iterator<Item = (usize, &'a Print)> + use<'a> {
        let prints = self.prints;
        let all: Vec<usize> = members(&self.meetings.writers(slots)).collect();
        all.into_iter().map(|n| (n, &prints[n])).filter(|(_, print)| print.rank == 0)
    }

    pub(super) fn conflicts(&mut self) {
        let mut conflicts: Vec<Vec<usize>> = vec![Vec::new(); self.prints.len()];
        for (n, print) in self.prints.iter().enumerate().filter(|(_, print)| print.is_possible()) {
            let mut others = self.meetings.with(&print.facts);
            self.demands.keep_beside(&print.facts, (&self.meetings, self.prints), &mut others);
            // Two that conflict do so both ways.
            for m in members(&others).filter(|&m| m > n) {
                if self.conflict(n, m) {
                    [(n, m), (m, n)].iter().for_each(|&(a, b)| conflicts[a].push(b));
                }
            }
        }
        for (print, mut all) in self.prints.iter().zip(conflicts) {
            all.retain(|&m| self.prints[m].rank == 0);
            // A group of several instances may be enabled by one of them: the others may still have to be.
            let enablers = self
                .plain_steps()
                .filter(|(_, by)| !print.single && print.is_possible() && by.facts.may_enable(&print.facts));
            all.extend(enablers.map(|(m, _)| m));
            let row = self.rows.add(all);
            self.conflicts.push(row);
        }
    }

    /// Whether one of two groups may disturb the other where both are enabled.
    fn conflict(&self, one: usize, other: usize) -> bool {
        for (still, bearing) in [(one, other), (other, one)] {
            if let Some((reads, writes)) = self.beside(bearing, &self.living[still]) {
                let still = &self.prints[still].facts;
                return still.may_write.meets(&reads) || meets_any(&writes, still);
            }
        }
        let (one, other) = (&self.prints[one], &self.prints[other]);
        disturbs(one, other) || disturbs(other, one)
    }

    /// What a group that brings processes to life reads and writes while these live; nothing where it does not.
    fn beside(&self, group: usize, living: &[usize]) -> Option<(SlotSet, SlotSet)> {
        let borne = self.bearing[group].iter().filter(|(p, ..)| living.contains(p));
        let narrowed = borne.map(|(_, reads, writes)| (reads.clone(), writes.clone()));
        narrowed.reduce(|(reads, writes), (also, too)| (reads.common(&also), writes.common(&too)))
    }

    /// Adds what can make the guard of this true.
    pub(super) fn cause(&mut self, print: &Footprint, guard: Option<&Expr>, uses: &[Buffer]) {
        let filled = |it: &&Buffer| print.precondition(it.held).is_some_and(|values| !values.contains(0));
        let received: Vec<&Buffer> =
            uses.iter().filter(|it| it.way == Through::Receive).filter(filled).collect();
        let first_condition = self.conditions.len();
        if !print.can_hold {
            let nothing = self.rows.add([]);
            self.causes.push(Cause { tests: Box::default(), conditions: 0..0, otherwise: nothing });
            return;
        }
        for condition in guard.map_or(Vec::new(), |guard| conjuncts(self.system, self.layout, guard)) {
            let mut changed = condition.reads.clone();
            received.iter().for_each(|it| changed.insert(it.held));
            let able = self.writers(&changed).filter(|(_, by)| {
                // The oldest message stays while others are sent.
                let behind = |buffer: &&&Buffer| {
                    by.uses.iter().any(|it| {
                        it.way == Through::Send && it.held == buffer.held && it.cells == buffer.cells
                    })
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
        let preconditions = print.preconditions.iter().filter(|(slot, _)| asked(*slot));
        let mut tests: Vec<u32> = preconditions.map(|(slot, demanded)| self.test(*slot, demanded)).collect();
        // Of equal ones, those with few writers are chosen.
        tests.sort_by_key(|&test| count(self.rows.row(self.tests[test as usize].writers)));
        let all = self.enablers(print);
        let otherwise = self.rows.add(all);
        let conditions = first_condition..self.conditions.len();
        self.causes.push(Cause { tests: tests.into(), conditions, otherwise });
    }

    /// Those without which this stays false where all scalars are as it preconditions: what may write what it tests. What brings
    /// a process to life that it asks to live does so only after that process has ended; so what ends it takes their place.
    fn enablers(&mut self, print: &Footprint) -> Vec<usize> {
        let living = self.ground.births.living(print);
        let mut ended: Vec<usize> = Vec::new();
        let mut all: Vec<usize> = Vec::new();
        let written = self.meetings.writers(&print.tests);
        let mut able = written.clone();
        self.demands.keep_before(print, (&self.meetings, self.prints), &mut able);
        for n in members(&written).filter(|&n| self.prints[n].rank == 0) {
            let bearing = &self.bearing[n];
            match (!bearing.is_empty()).then(|| self.beside(n, &living)).flatten() {
                Some((_, writes)) => {
                    if writes.meets(&print.tests) {
                        all.push(n);
                    }
                    ended.extend(bearing.iter().map(|(p, ..)| *p).filter(|p| living.contains(p)));
                }
                None if has(&able, n) => all.push(n),
                None => {}
            }
        }
        ended.sort_unstable();
        ended.dedup();
        for process in ended {
            all.extend_from_slice(self.enders(process));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What may end the life of a process.
    fn enders(&self, process: usize) -> &[usize] {
        self.enders[process].get_or_init(|| {
            let location = self.ground.births.locations[process];
            let moves = self.writers(&SlotSet::range(location, location + 1));
            let ends = moves.filter(|(n, print)| {
                let left = print.facts.result(location).is_none_or(|values| values.contains(0));
                left && self.writes_while_living(*n, process, location)
            });
            ends.map(|(n, _)| n).collect()
        })
    }

    /// Whether a group may write a scalar while a process lives.
    pub(super) fn writes_while_living(&self, group: usize, process: usize, slot: u32) -> bool {
        match self.bearing[group].iter().find(|(p, ..)| *p == process) {
            Some((.., writes)) => writes.contains(slot),
            None => self.prints[group].facts.may_write.contains(slot),
        }
    }

    /// Adds the errors that a group may meet as things looked for.
    pub(super) fn faults(&mut self, group: usize) {
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
            let able = self.writers(&sites);
            let able: Vec<usize> = able.map(|(n, _)| n).collect();
            let row = self.rows.add(able);
            self.bodies.push((group, row));
        }
        if let Some(preconditions) = &facts.guard_faults {
            let (preconditions, tests) = (preconditions.clone(), guard_sites.clone());
            self.event(Footprint { preconditions, tests, can_hold: true, ..bare(facts) }, None);
        }
    }

    pub(super) fn probe(&mut self, action: &Action, facts: &ActionFacts) {
        for (instance, print) in facts.footprints() {
            if print.can_hold {
                let guard = facts.is_exact().then(|| guard_of(self.system, action, instance));
                self.event(bare(print), guard.as_ref());
            }
            if let Some(preconditions) = &print.guard_faults {
                self.event(
                    Footprint { preconditions: preconditions.clone(), can_hold: true, ..bare(print) },
                    None,
                );
            }
        }
    }

    fn event(&mut self, event: Footprint, guard: Option<&Expr>) {
        self.cause(&event, guard, &[]);
        self.events.push(event);
    }

    /// The causes of the events that each group may end where they are. (The error of a body is not among the events: what
    /// does not conflict with an action leaves its errors as they are.)
    pub(super) fn ending(&self) -> Vec<Box<[u32]>> {
        let mut ended: Vec<Vec<u32>> = vec![Vec::new(); self.prints.len()];
        for (event, cause) in self.events.iter().zip(self.prints.len() as u32..) {
            for group in members(&self.meetings.writers(&event.tests)) {
                if self.prints[group].facts.may_be_enabled_with(event) {
                    ended[group].push(cause);
                }
            }
        }
        ended.into_iter().map(Vec::into_boxed_slice).collect()
    }

    /// The row of the groups that may change something that is seen.
    pub(super) fn visible(&mut self, seen: &[Seen]) -> u32 {
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
        self.rows.add(others)
    }

    /// The number of the test that a slot has one of the values.
    fn test(&mut self, slot: u32, values: &ValueSet) -> u32 {
        let key = (slot, values.clone());
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let domain = &self.system.domains[self.layout.slots()[slot as usize].domain];
        let (low, high) = (domain.min(), domain.max());
        let able = self.writers(&SlotSet::range(slot, slot + 1)).filter(|(_, print)| {
            // To count up makes no upper bound true that was false, to count down no lower one.
            let away = print.uses.iter().any(|buffer| {
                buffer.held == slot
                    && matches!(values.intervals(), &[(from, to)] if match buffer.way {
                        Through::Send => from <= low,
                        Through::Receive => to >= high,
                    })
            });
            !away && print.facts.result(slot).is_none_or(|after| !after.is_disjoint(values))
        });
        let able: Vec<usize> = able.map(|(n, _)| n).collect();
        let writers = self.rows.add(able.iter().copied());
        let place = &self.layout.slots()[slot as usize];
        let allowed = allowed(&self.system.domains[place.domain], values);
        let number = self.tests.len() as u32;
        let users = self.rows.add([]);
        let locates = self.locations.iter().position(|&it| it == slot).map(|n| n as u32);
        let living = self.living(slot, &able);
        let (offset, width) = (place.offset, place.width);
        self.tests.push(Test { offset, width, locates, allowed, writers, living, users });
        self.known.insert(key, number);
        number
    }

    /// Of those that can change a process's own scalar, the ones that can while it lives, and those that can end its life.
    fn living(&mut self, slot: u32, able: &[usize]) -> Option<(u32, u32, u32)> {
        let Ground { system, layout, births, .. } = self.ground;
        let first_slots = system.first_slots();
        let var = first_slots.partition_point(|&first| first as u32 <= slot).checked_sub(1)?;
        let process = system.variables[var].owner?.0 as usize;
        let location = births.locations[process];
        let place = &layout.slots()[location as usize];
        let domain = &system.domains[place.domain];
        if slot == location || domain.undefined || domain.min() != 0 {
            return None;
        }
        if !able.iter().any(|&n| self.bearing[n].iter().any(|(p, ..)| *p == process)) {
            return None;
        }
        let still = able.iter().copied().filter(|&n| self.writes_while_living(n, process, slot));
        let all: Vec<usize> = still.chain(self.enders(process).iter().copied()).collect();
        let row = self.rows.add(all);
        Some((place.offset, place.width, row))
    }

    /// Notes which groups demand each test.
    pub(super) fn note_users(&mut self) {
        let mut users = vec![Vec::new(); self.tests.len()];
        for (group, cause) in self.causes[..self.prints.len()].iter().enumerate() {
            cause.tests.iter().for_each(|&test| users[test as usize].push(group));
        }
        for (test, users) in self.tests.iter_mut().zip(users) {
            test.users = self.rows.add(users);
        }
    }

    /// Notes of each place where a process can stand who moves it away, and who waits for that.
    pub(super) fn note_places(&mut self) {
        for process in 0..self.locations.len() {
            let location = self.locations[process];
            let place = &self.layout.slots()[location as usize];
            let domain = &self.system.domains[place.domain];
            if place.width > MAX_PLACE_BITS {
                self.places.push(Vec::new());
                continue;
            }
            let has_death = !domain.undefined && domain.min() == 0;
            let moves = self.writers(&SlotSet::range(location, location + 1)).map(|(n, print)| {
                let from = print.facts.precondition(location).map(|values| allowed(domain, values));
                (n, from, self.writes_while_living(n, process, location))
            });
            let moves: Vec<_> = moves.collect();
            let codes = 0..1u64 << place.width;
            let list = codes.map(|code| {
                let leaving = moves.iter().filter(|(_, from, while_living)| {
                    from.as_ref().is_none_or(|from| from.has(code))
                        && (*while_living || !has_death || code == 0)
                });
                let leaving = self.rows.add(leaving.map(|(n, ..)| *n));
                let mut waiting = vec![0; self.rows.words()];
                for test in self.tests.iter().filter(|it| it.locates == Some(process as u32)) {
                    if !test.allowed.has(code) {
                        let users = self.rows.row(test.users);
                        waiting.iter_mut().zip(users).for_each(|(waiting, users)| *waiting |= users);
                    }
                }
                let waiting: Vec<usize> = members(&waiting).collect();
                Place { leaving, waiting: self.rows.add(waiting) }
            });
            let list = list.collect();
            self.places.push(list);
        }
    }
}

/// Whether a group reads or may write any of these.
fn meets_any(slots: &SlotSet, print: &Footprint) -> bool {
    slots.meets(&print.reads) || slots.meets(&print.may_write)
}
