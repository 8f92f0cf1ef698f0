//! Zones against regions on random timed automata: the same discrete states, the same answers about deadlock and timelock.

mod networks;

use hadal_exec::zones::{Covering, Extrapolation, RegionSpace, ZoneOptions, ZoneSpace};
use hadal_system::timed::{Clause, GoingOn, TimedFormula};
use hadal_system::{
    Check, Expr, Property, PropertyBody, PropertyKind, Source, Span, StateSpace, Successors, TimedSystem,
};
use networks::{Dice, read};
use std::collections::{BTreeSet, HashSet};

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
