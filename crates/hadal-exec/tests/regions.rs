//! Zones against regions on random timed automata: the same discrete states, the same answers about deadlock and timelock.

mod networks;

use hadal_exec::zones::runs::ZoneRuns;
use hadal_exec::zones::{Covering, Extrapolation, RegionSpace, ZoneOptions, ZoneSpace};
use hadal_system::timed::{Clause, GoingOn, TimedFormula};
use hadal_system::{
    Check, Expr, Property, PropertyBody, PropertyKind, Source, Span, StateSpace, Successors, TimedSystem,
};
use networks::{Dice, read};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Adds a question about going on.
fn asking(mut timed: TimedSystem, going_on: GoingOn) -> TimedSystem {
    timed.formulas.resize(timed.system.properties.len(), None);
    timed.system.properties.push(Property {
        name: "asked".into(),
        kind: PropertyKind::Goal,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(Expr::constant(0)),
        span: Span::default(),
    });
    let clause = Clause { when: Expr::constant(1), bounds: Vec::new(), going_on: Some(going_on) };
    timed.formulas.push(Some(TimedFormula { clauses: vec![clause] }));
    timed
}

/// The discrete states of a space whose states end with `words` discrete words, and those in which the question is met.
fn explored(space: &dyn StateSpace, words: usize) -> (BTreeSet<Vec<u64>>, BTreeSet<Vec<u64>>) {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    worker.initial(&mut out);
    let mut open: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut seen: HashSet<Vec<u64>> = open.iter().cloned().collect();
    let (mut reached, mut met) = (BTreeSet::new(), BTreeSet::new());
    while let Some(state) = open.pop() {
        let discrete = state[state.len() - words..].to_vec();
        if let Check::Hit(_) = worker.check(&state) {
            met.insert(discrete.clone());
        }
        reached.insert(discrete);
        out.clear();
        worker.successors(&state, &mut out);
        for (_, next) in out.iter() {
            if seen.insert(next.to_vec()) {
                open.push(next.to_vec());
            }
        }
        assert!(seen.len() < 100_000, "the graph is finite");
    }
    (reached, met)
}

#[test]
fn zones_and_regions_reach_the_same_and_are_stuck_in_the_same_discrete_states() {
    let mut random = Dice::new(7);
    let mut stuck = [0; 2];
    for n in 0..120 {
        let text = random.model();
        for (kind, going_on) in [GoingOn::Stuck, GoingOn::StuckInTime].into_iter().enumerate() {
            let timed = asking(read(&text), going_on);
            let regions = RegionSpace::new(timed.clone(), ZoneOptions::default()).expect("regions");
            let words = regions.zones().model().words();
            let expected = explored(&regions, words);
            for extrapolation in [Extrapolation::MaxPlus, Extrapolation::Max] {
                let options =
                    ZoneOptions { extrapolation, covering: Covering::Equality, ..Default::default() };
                let zones = ZoneSpace::new(timed.clone(), options).expect("a zone graph");
                assert_eq!(explored(&zones, words), expected, "model {n}, {going_on:?}\n{text}");
            }
            stuck[kind] += usize::from(!expected.1.is_empty());
        }
    }
    assert!(stuck[0] > 30 && stuck[1] > 10 && stuck[1] < stuck[0], "models are not trivial: {stuck:?}");
}

/// One process in one location without edges, with these clocks compared with these constants.
fn waiting(constants: &[i64]) -> TimedSystem {
    let mut text = "system:waiting\nevent:a\nprocess:P\nlocation:P:l{initial:}\nlocation:P:m{}\n".to_owned();
    let mut guard = Vec::new();
    for (n, constant) in constants.iter().enumerate() {
        text += &format!("clock:1:x{n}\n");
        guard.push(format!("x{n}<={constant}"));
    }
    text += &format!("edge:P:l:m:a{{provided: {}}}\n", guard.join("&&"));
    // Clocks come before what uses them.
    let (clocks, others): (Vec<&str>, Vec<&str>) =
        text.lines().skip(1).partition(|line| line.starts_with("clock"));
    let ordered: Vec<&str> = text.lines().take(1).chain(clocks).chain(others).collect();
    let loaded = hadal_lang::ta::tck::load(Source::new("waiting.tck", ordered.join("\n"))).expect("accepted");
    let hadal_lang::LoadedModel::Timed(timed) = loaded.model else { panic!("a timed model") };
    timed
}

#[test]
fn waiting_leads_through_as_many_regions_as_there_are_on_the_diagonal() {
    // Of one clock with constant c there are 2c + 2 regions: 0, (0,1), 1, .. c, beyond. Clocks that start together stay on
    // the diagonal; those whose constants are passed drop out. A region with the edge enabled gives one successor.
    for (constants, enabled) in [(vec![0], 1), (vec![3], 7), (vec![2, 2], 5), (vec![1, 3], 3)] {
        let regions = RegionSpace::new(waiting(&constants), ZoneOptions::default()).expect("regions");
        let mut worker = regions.worker();
        let mut out = Successors::new(regions.words());
        worker.initial(&mut out);
        let first = out.state(0).to_vec();
        out.clear();
        worker.successors(&first, &mut out);
        assert_eq!(out.len(), enabled, "{constants:?}");
    }
}

/// Whether a run exists that never comes to a discrete state with `avoided`: a path to a cycle, or to a state that may be
/// stayed in, `stays` says.
fn avoids(
    space: &dyn StateSpace,
    avoided: &dyn Fn(&[u64]) -> bool,
    stays: &mut dyn FnMut(&[u64]) -> bool,
) -> bool {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    worker.initial(&mut out);
    let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut edges: Vec<Vec<usize>> = Vec::new();
    let mut open: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    open.retain(|state| !avoided(state));
    for state in &open {
        numbers.insert(state.clone(), edges.len());
        edges.push(Vec::new());
    }
    while let Some(state) = open.pop() {
        if stays(&state) {
            return true;
        }
        out.clear();
        worker.successors(&state, &mut out);
        let from = numbers[&state];
        for (_, next) in out.iter().filter(|(_, next)| !avoided(next)) {
            let count = edges.len();
            let to = *numbers.entry(next.to_vec()).or_insert(count);
            if to == count {
                edges.push(Vec::new());
                open.push(next.to_vec());
            }
            edges[from].push(to);
        }
    }
    // What is left when states without successors are taken away, again and again, lies before a cycle.
    let mut alive: Vec<bool> = vec![true; edges.len()];
    loop {
        let dead: Vec<usize> =
            (0..edges.len()).filter(|&n| alive[n] && !edges[n].iter().any(|&to| alive[to])).collect();
        if dead.is_empty() {
            return alive.contains(&true);
        }
        dead.into_iter().for_each(|n| alive[n] = false);
    }
}

#[test]
fn zones_and_regions_have_the_same_runs_for_ever() {
    let mut random = Dice::new(99);
    let mut avoided_at_all = [0; 2];
    for n in 0..150 {
        let text = random.model();
        let timed = asking(read(&text), GoingOn::Stuck);
        let options = ZoneOptions { extrapolation: Extrapolation::MaxPlus, ..Default::default() };
        let zones = ZoneSpace::new(timed.clone(), options).expect("a zone graph");
        let regions = RegionSpace::new(timed, ZoneOptions::default()).expect("regions");
        let words = zones.model().words();
        let (system, layout) = (zones.model().system(), zones.layout());
        let slot = system.first_slots()[system.processes[0].location.0 as usize];
        let avoided = |state: &[u64]| layout.value(system, &state[state.len() - words..], slot) == Some(2);
        let mut worker = regions.worker();
        let mut stays =
            |state: &[u64]| !zones.time_ends_in(state) || matches!(worker.check(state), Check::Hit(_));
        let expected = avoids(&regions, &avoided, &mut stays);
        // Staying is a loop of the graph itself.
        let found = avoids(&ZoneRuns::new(&zones), &avoided, &mut |_| false);
        assert_eq!(found, expected, "model {n}\n{text}");
        avoided_at_all[usize::from(expected)] += 1;
    }
    assert!(avoided_at_all.iter().all(|&count| count > 5), "models are not trivial: {avoided_at_all:?}");
}
