//! Working out the sets of processes.

use super::graphs::{Apart, Graphs, MAX_BITS};
use super::{Elsewhere, Locals, Needs, Obstacles, Reason, Spot};
use crate::stubborn::build::Build;
use crate::stubborn::print::Print;
use crate::stubborn::rows::members;
use std::collections::HashMap;

/// More processes than this are not looked at.
const MAX_PROCESSES: usize = 64;
/// With more pairs of processes and groups than this, no such sets are worked out.
const MAX_PAIRS: usize = 200_000;

/// What was worked out for one process.
#[derive(Default)]
struct Memory {
    /// By process, where it gets from each place.
    reach: HashMap<usize, Vec<Vec<u64>>>,
    apart: HashMap<usize, Apart>,
    /// By row.
    needs: HashMap<u32, Option<Whereabouts>>,
}

/// Processes, and where each has to be.
type Whereabouts = Vec<(usize, Vec<u64>)>;

/// What sets are made of.
#[derive(Clone, Copy)]
struct Known<'a> {
    build: &'a Build<'a>,
    prints: &'a [Print],
    ending: &'a [Box<[u32]>],
    graphs: &'a Graphs,
}

impl Locals {
    pub(in crate::stubborn) fn of(build: &Build, prints: &[Print], ending: &[Box<[u32]>]) -> Self {
        let count = build.locations.len();
        if count > MAX_PROCESSES || count * prints.len() > MAX_PAIRS {
            return Locals::default();
        }
        let graphs = Graphs::of(build, prints);
        let mut locals = Locals::default();
        for p in 0..count {
            let place = &build.layout.slots()[build.locations[p] as usize];
            locals.locations.push((place.offset, place.width));
            let mut spots = match graphs.processes[p].is_moved_unasked() || place.width > MAX_BITS {
                true => Vec::new(),
                false => locals.spots_of(Known { build, prints, ending, graphs: &graphs }, p),
            };
            // One that does not live may be brought to life.
            if let Some(dead) = spots.first_mut().filter(|_| graphs.processes[p].is_born()) {
                *dead = None;
            }
            locals.spots.push(spots);
        }
        locals.known = HashMap::new();
        locals
    }

    fn spots_of(&mut self, known: Known, p: usize) -> Vec<Option<Spot>> {
        let Known { build, prints, ending, graphs } = known;
        let own = &graphs.processes[p];
        let mut memory = Memory::default();
        let mut spots: Vec<Spot> = Vec::new();
        spots.resize_with(own.words * 64, Spot::default);
        let mut groups: Vec<(&usize, &Vec<u64>)> = own.demanded.iter().collect();
        groups.sort_unstable();
        for (&group, at) in groups {
            if !prints[group].is_possible() || prints[group].rank > 0 {
                continue;
            }
            let ended = ending[group].iter().map(|&event| build.causes[event as usize].otherwise);
            let rows: Vec<u32> = std::iter::once(build.conflicts[group]).chain(ended).collect();
            let enabled = self.needs(&rows, known, p, &mut memory);
            let disabled = self.obstacles(group, known, p, &mut memory);
            members(at).for_each(|code| spots[code].add(group, &enabled, &disabled));
        }
        spots.into_iter().map(Some).collect()
    }

    /// What must hold so that nothing in the rows comes before `p` moves.
    fn needs(&mut self, rows: &[u32], known: Known, p: usize, memory: &mut Memory) -> Option<Needs> {
        let mut all: Vec<(usize, Vec<u64>)> = Vec::new();
        for &row in rows {
            if !memory.needs.contains_key(&row) {
                let needs = row_needs(row, known, p, memory);
                memory.needs.insert(row, needs);
            }
            for (q, mask) in memory.needs[&row].as_ref()? {
                restrict(&mut all, *q, mask);
            }
        }
        let mut needs: Needs = all.into_iter().map(|(q, mask)| self.elsewhere(q, &mask)).collect();
        needs.sort_unstable();
        Some(needs)
    }

    /// Why a group may be disabled that asks where `p` stands, and is not for that reason.
    fn obstacles(&mut self, group: usize, known: Known, p: usize, memory: &mut Memory) -> Obstacles {
        let Known { build, graphs, .. } = known;
        let cause = &build.causes[group];
        let (mut tests, mut further) = (Vec::new(), Vec::new());
        for &test in cause.tests.iter() {
            let it = &build.tests[test as usize];
            let process = it.locates.map(|q| q as usize);
            let place = process.and_then(|q| Some((q, graphs.processes[q].demanded.get(&group)?)));
            match place {
                Some((q, _)) if q == p => {}
                Some((q, at)) => {
                    let away = graphs.away(q, at, p, &mut memory.reach);
                    let reason = Reason::Place(self.elsewhere(q, at));
                    tests.push((reason, Some(vec![self.elsewhere(q, &away)])));
                }
                None => tests.push((Reason::Test(test), self.needs(&[it.writers], known, p, memory))),
            }
        }
        for n in cause.conditions.clone() {
            if let Some(needs) = self.needs(&[build.conditions[n].1], known, p, memory) {
                further.push((Reason::Condition(n as u32), needs));
            }
        }
        if let Some(needs) = self.needs(&[cause.otherwise], known, p, memory) {
            further.push((Reason::Any, needs));
        }
        // Those that ask for little first.
        tests.sort_by_key(|(_, needs)| needs.as_ref().map_or(usize::MAX, Vec::len));
        further.sort_by_key(|(_, needs)| needs.len());
        Obstacles { tests, further }
    }

    fn elsewhere(&mut self, process: usize, mask: &[u64]) -> Elsewhere {
        let next = self.masks.len() as u32;
        let at = *self.known.entry(mask.to_vec()).or_insert(next);
        if at == next {
            self.masks.extend_from_slice(mask);
        }
        Elsewhere { process: process as u32, mask: at }
    }
}

/// What must hold so that nothing in a row comes before `p` moves: processes, and where each must stand.
fn row_needs(
    row: u32,
    Known { build, graphs, .. }: Known,
    p: usize,
    memory: &mut Memory,
) -> Option<Whereabouts> {
    let mut needs = Vec::new();
    for other in members(build.rows.row(row)) {
        // Those that ask where p stands are in the set, or come after it has moved.
        if graphs.processes[p].demanded.contains_key(&other) {
            continue;
        }
        let Memory { reach, apart, .. } = memory;
        match apart.entry(other).or_insert_with(|| graphs.apart(other, p, reach)) {
            Apart::Never => {}
            Apart::May => return None,
            Apart::While(q, mask) => restrict(&mut needs, *q, mask),
        }
    }
    Some(needs)
}

/// Adds that process `q` must stand at one of some places.
fn restrict(needs: &mut Whereabouts, q: usize, mask: &[u64]) {
    match needs.iter_mut().find(|(known, _)| *known == q) {
        Some((_, known)) => known.iter_mut().zip(mask).for_each(|(known, mask)| *known &= *mask),
        None => needs.push((q, mask.to_vec())),
    }
}
