//! Zone graphs of random networks against their points: the reachable discrete parts are those that a search finds in
//! which clocks show multiples of a small fraction (with k clocks, steps of 1/(2k) visit every region).

mod networks;

use hadal_exec::Model;
use hadal_exec::zones::{Covering, Extrapolation, ZoneOptions, ZoneSpace};
use hadal_system::timed::{Bound, ClockRef, Strictness};
use hadal_system::{Label, StateSpace, Successors, TimedSystem, Value};
use networks::{CLOCKS, Dice, LARGEST, read};
use std::collections::{BTreeSet, HashSet, VecDeque};

const PARTS: i64 = 2 * CLOCKS as i64;

fn clock(clock: &ClockRef) -> usize {
    match clock {
        ClockRef::Zero => 0,
        ClockRef::One(n) => *n as usize,
        ClockRef::Among { .. } => panic!("no arrays here"),
    }
}

fn holds(bounds: &[Bound], clocks: &[i64]) -> bool {
    bounds.iter().all(|bound| {
        let value = bound.value.as_const().expect("constants only") * PARTS;
        let shown = clocks[clock(&bound.left)] - clocks[clock(&bound.minus)];
        if bound.strictness == Strictness::Strict { shown < value } else { shown <= value }
    })
}

/// Forgets what cannot be told any more, by whole units: how far both clocks are beyond all constants, and how far apart
/// they are beyond all differences.
fn forget(clocks: &mut [i64]) {
    let (beyond, apart) = (2 * LARGEST + 2, LARGEST + 2);
    let low = if clocks[1] <= clocks[2] { 1 } else { 2 };
    let high = 3 - low;
    if clocks[low] > beyond * PARTS {
        let units = (clocks[low] - beyond * PARTS - 1) / PARTS;
        clocks[low] -= units * PARTS;
        clocks[high] -= units * PARTS;
        let far = (clocks[high] - clocks[low] - apart * PARTS).max(0) / PARTS;
        clocks[high] -= far * PARTS;
    } else {
        let far = (clocks[high] - (2 * beyond + apart) * PARTS).max(0) / PARTS;
        clocks[high] -= far * PARTS;
    }
}

/// The discrete states that points reach.
fn by_points(timed: &TimedSystem) -> BTreeSet<Vec<u64>> {
    let model = Model::new(timed.system.clone(), Default::default()).expect("a model");
    let system = model.system();
    let slots = system.first_slots();
    let stays = |state: &[u64]| {
        let at = |process: usize| {
            let slot = slots[system.processes[process].location.0 as usize];
            model.layout().value(system, state, slot).unwrap_or(0) as usize
        };
        (0..system.processes.len()).map(move |process| (process, at(process))).collect::<Vec<_>>()
    };
    let allowed = |state: &[u64], clocks: &[i64]| {
        stays(state).iter().all(|&(p, l)| holds(&timed.processes[p].stays[l].invariant, clocks))
    };
    let still = |state: &[u64]| {
        let stops = |&(p, l): &(usize, usize)| {
            timed.processes[p].stays[l].urgent || system.processes[p].locations[l].committed
        };
        stays(state).iter().any(stops)
    };
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let mut open: VecDeque<(Vec<u64>, Vec<i64>)> = VecDeque::new();
    let mut seen: HashSet<(Vec<u64>, Vec<i64>)> = HashSet::new();
    for (_, state) in out.iter() {
        open.push_back((state.to_vec(), vec![0; CLOCKS + 1]));
    }
    open.retain(|(state, clocks)| allowed(state, clocks));
    seen.extend(open.iter().cloned());
    while let Some((state, clocks)) = open.pop_front() {
        let mut next: Vec<(Vec<u64>, Vec<i64>)> = Vec::new();
        if !still(&state) {
            next.push((state.clone(), vec![0, clocks[1] + 1, clocks[2] + 1]));
        }
        out.clear();
        worker.successors(&state, &mut out);
        let bases = system.label_bases(&system.actions);
        let action = |label: Label| bases.partition_point(|&base| base <= u64::from(label.0)) - 1;
        for (label, after) in out.iter() {
            let timing = &timed.timing[action(label)];
            if !holds(&timing.guard, &clocks) {
                continue;
            }
            let mut clocks = clocks.clone();
            for reset in &timing.resets {
                let value: Value = reset.value.as_const().expect("constants only");
                clocks[clock(&reset.clock)] = value * PARTS;
            }
            next.push((after.to_vec(), clocks));
        }
        for (state, mut clocks) in next {
            forget(&mut clocks);
            if allowed(&state, &clocks) && seen.insert((state.clone(), clocks.clone())) {
                open.push_back((state, clocks));
            }
        }
    }
    seen.into_iter().map(|(state, _)| state).collect()
}

/// The discrete states that zones reach, and how many zones.
fn by_zones(
    timed: &TimedSystem,
    extrapolation: Extrapolation,
    covering: Covering,
) -> (BTreeSet<Vec<u64>>, usize) {
    let options = ZoneOptions { extrapolation, covering, ..ZoneOptions::default() };
    let space = ZoneSpace::new(timed.clone(), options).expect("a zone graph");
    let cover = space.cover().expect("zones have covers");
    let mut matcher = cover.matcher();
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    worker.initial(&mut out);
    let mut known: Vec<Vec<u64>> = Vec::new();
    let mut open: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    while let Some(state) = open.pop() {
        matcher.choose(&state);
        let key = space.zone_words();
        if known.iter().any(|big| big[key..] == state[key..] && matcher.is_covered_by(big)) {
            continue;
        }
        known.push(state.clone());
        out.clear();
        worker.successors(&state, &mut out);
        open.extend(out.iter().map(|(_, state)| state.to_vec()));
        assert!(known.len() < 20_000, "the zone graph is finite");
    }
    assert!(!space.has_overflowed());
    let zones = known.len();
    (known.into_iter().map(|state| state[space.zone_words()..].to_vec()).collect(), zones)
}

#[test]
fn zones_reach_the_discrete_states_that_points_reach() {
    let mut random = Dice::new(0x9E37_79B9_7F4A_7C15);
    let (mut larger, mut fewer) = (0, 0);
    for n in 0..150 {
        let text = random.model();
        let timed = read(&text);
        let expected = by_points(&timed);
        larger += usize::from(expected.len() > 3);
        let mut counts = Vec::new();
        for extrapolation in [
            Extrapolation::LowerUpperPlus,
            Extrapolation::LowerUpper,
            Extrapolation::MaxPlus,
            Extrapolation::Max,
        ] {
            for covering in [Covering::Equality, Covering::Inclusion, Covering::Alu] {
                let (found, zones) = by_zones(&timed, extrapolation, covering);
                assert_eq!(found, expected, "model {n} by {extrapolation:?} {covering:?}\n{text}");
                counts.push(zones);
            }
        }
        fewer += usize::from(counts[2] < counts[9]);
    }
    assert!(larger > 40 && fewer > 30, "models are not trivial: {larger}, {fewer}");
}

#[test]
fn differences_of_clocks_are_exact_though_zones_are_extrapolated() {
    let mut random = Dice::new(41).with_diagonals();
    let mut larger = 0;
    for n in 0..180 {
        let text = random.model();
        let timed = read(&text);
        let expected = by_points(&timed);
        larger += usize::from(expected.len() > 3);
        // The first three mean the same here: extrapolation by largest constants, in pieces.
        for covering in [Covering::Equality, Covering::Inclusion, Covering::Alu] {
            let (found, _) = by_zones(&timed, Extrapolation::LowerUpperPlus, covering);
            assert_eq!(found, expected, "model {n} by {covering:?}\n{text}");
        }
    }
    assert!(larger > 30, "models are not trivial: {larger}");
}
