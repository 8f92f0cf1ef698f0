//! What a stubborn set needs to know about a system, worked out once.
//!
//! Action instances are *groups* (one instance each, or a whole action where there are too many). A group that is enabled
//! brings along everything it conflicts with; one that is disabled, and everything looked for, brings along what could
//! enable it: the writers of one scalar that is not as its guard preconditions, else of all it tests.

use super::births::Births;
use super::build::{Build, Ground, Seen};
use super::chain::{self, Chains};
use super::channels::uses;
use super::condition::Condition;
use super::cycles::Cycles;
use super::local::Locals;
use super::plain::PlainTests;
use super::precondition::{Place, Test, Way};
use super::print::{Buffer, Print, guard_of};
use super::probe::{both_ways, probes};
use super::rows::{Rows, count};
use super::sites::sites;
use hadal_system::facts::{Facts, Footprint};
use hadal_system::state::get_bits;
use hadal_system::{Label, Layout, System};
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
    /// Per group, the causes of what is looked for that may be gone after it.
    pub(super) ending: Vec<Box<[u32]>>,
    /// The row of those groups, and of those that surely lead to another state.
    risky: u32,
    moving: u32,
    /// The sets of single processes.
    pub(super) locals: Locals,
    /// The row of the groups that a claim may see.
    visible: u32,
    cycles: Cycles,
    /// The actions that each group goes through.
    members: Vec<Box<[u32]>>,
    /// What guards demand of single scalars; equal demands are one test.
    pub(super) tests: Vec<Test>,
    /// Conjuncts of guards, each with the row of what writes what it reads.
    pub(super) conditions: Vec<(Condition, u32)>,
    /// By process and code of its location.
    pub(super) places: Vec<Vec<Place>>,
    group_of: GroupOf,
    /// The first label of an action of a rank above 0.
    ranked: u64,
    lives: bool,
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
    /// The groups whose bodies may meet errors.
    pub(super) fn risky(&self) -> &[u64] {
        self.rows.row(self.risky)
    }

    /// The groups that surely lead to another state.
    pub(super) fn moving(&self) -> &[u64] {
        self.rows.row(self.moving)
    }

    /// The relation of a system's actions, by the system's `own` facts; `None` where there are too many of them.
    pub(super) fn of(system: &System, layout: &Layout, own: &Facts, kept: &Kept) -> Option<Self> {
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
        let births = Births::find(system, own, &mut extended.actions);
        let facts = own.with_more(&extended);
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
        let chains = Chains::of(system, &facts);
        for (n, (action, own)) in system.actions.iter().zip(actions).enumerate() {
            let each = apart && own.is_exact();
            starts.push((bases[n], prints.len() as u32, if each { Apart::Yes } else { Apart::No }));
            let single = each || own.count <= 1;
            let (guard_sites, body_sites) = sites(system, action);
            let members = chains.members(n);
            let alone = members.len() == 1;
            let plain = if alone { PlainTests::of(system, action) } else { PlainTests::default() };
            let uses = match (single, alone) {
                (false, _) => Vec::new(),
                (true, true) => {
                    uses(system, action).iter().map(|it| Buffer::new(system, &first_slots, it)).collect()
                }
                (true, false) => chains.uses(&facts, &facts.actions[n].whole, &members),
            };
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
        build.note_places();
        let ending = build.ending();
        let locals = Locals::of(&build, &prints, &ending);
        let risky: Vec<usize> = build.bodies.iter().map(|&(group, _)| group).collect();
        let risky = build.rows.add(risky);
        let moving = (0..prints.len()).filter(|&group| {
            let facts = &prints[group].facts;
            build.locations.iter().any(|&slot| match (facts.precondition(slot), facts.result(slot)) {
                (Some(before), Some(after)) => before.is_disjoint(after),
                _ => false,
            })
        });
        let moving: Vec<usize> = moving.collect();
        let moving = build.rows.add(moving);
        let mut visible = build.rows.add([]);
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
            visible = build.visible(&seen);
        }
        let cycles = Cycles::of(system, layout, &facts, &births);
        let members = prints.iter().map(|print| print.members.iter().map(|&n| n as u32).collect()).collect();
        let Build { mut rows, conflicts, causes, tests, conditions, places, bodies, .. } = build;
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
        let lives = tests.iter().any(|test| test.living.is_some());
        Some(Relation {
            lives,
            risky,
            moving,
            locals,
            rows,
            groups: prints.len(),
            conflicts,
            causes,
            bodies,
            rank,
            ending,
            visible,
            cycles,
            members,
            tests,
            conditions,
            places,
            group_of,
            ranked,
        })
    }

    /// The row of those without which a test that fails does not pass.
    #[inline]
    pub(super) fn writers(&self, test: usize, state: &[u64], way: Way) -> u32 {
        let it = &self.tests[test];
        self.place(it, state, way).map_or_else(|| it.writers(state, way), |place| place.leaving)
    }

    /// The row of the groups that wait for one of those.
    #[inline]
    pub(super) fn users(&self, test: usize, state: &[u64], way: Way) -> u32 {
        let it = &self.tests[test];
        self.place(it, state, way).map_or(it.users, |place| place.waiting)
    }

    fn place(&self, test: &Test, state: &[u64], way: Way) -> Option<&Place> {
        match (way, test.locates) {
            (Way::Leaves, Some(process)) => self.places[process as usize].get(test.code(state) as usize),
            _ => None,
        }
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

    /// The groups that close cycles of states where the settings are these, or that a claim may see.
    pub(super) fn restless(&self, codes: &[u64]) -> Box<[u64]> {
        let mut row: Box<[u64]> = self.rows.row(self.visible).into();
        let closing = self.cycles.closing(codes);
        for (group, members) in self.members.iter().enumerate() {
            if members.iter().any(|&n| closing[n as usize]) {
                row[group / 64] |= 1 << (group % 64);
            }
        }
        row
    }

    /// Whether it makes a difference how writers are found.
    pub(super) fn has_lives(&self) -> bool {
        self.lives
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

fn group_at(starts: &[(u64, u32, Apart)], label: u64) -> u32 {
    // Actions without instances share their base with the next one, which is the last at or below the label.
    let at = starts.partition_point(|&(base, ..)| base <= label) - 1;
    let (base, first, apart) = starts[at];
    first + if apart == Apart::Yes { (label - base) as u32 } else { 0 }
}
