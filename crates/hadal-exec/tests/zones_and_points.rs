//! Zone graphs of random networks against their points: the reachable discrete parts are those that a search finds in
//! which clocks show multiples of a small fraction (with k clocks, steps of 1/(2k) visit every region).

use hadal_exec::Model;
use hadal_exec::zones::{Covering, Extrapolation, ZoneOptions, ZoneSpace};
use hadal_lang::LoadedModel;
use hadal_system::timed::{Bound, ClockRef, Strictness};
use hadal_system::{Label, Source, StateSpace, Successors, TimedSystem, Value};
use hadal_testkit::Random;
use std::collections::{BTreeSet, HashSet, VecDeque};

const CLOCKS: usize = 2;
const LARGEST: i64 = 3;
const PARTS: i64 = 2 * CLOCKS as i64;

struct Dice(Random);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn constraint(&mut self) -> String {
        let op = ["<", "<=", ">", ">=", "=="][self.below(5) as usize];
        format!("x{}{op}{}", self.below(CLOCKS as u64), self.below(LARGEST as u64 + 1))
    }

    /// Two processes of three locations that share a variable and an event.
    fn model(&mut self) -> String {
        let mut text = "system:random\nevent:a\nevent:s\nint:1:0:2:0:v\n".to_owned();
        for clock in 0..CLOCKS {
            text += &format!("clock:1:x{clock}\n");
        }
        for process in ["P", "Q"] {
            text += &format!("process:{process}\n");
            for location in 0..3 {
                let mut attributes = Vec::new();
                if location == 0 {
                    attributes.push("initial:".to_owned());
                }
                match self.below(8) {
                    0..3 => {
                        let (clock, most) = (self.below(CLOCKS as u64), 1 + self.below(LARGEST as u64));
                        let op = if self.below(3) == 0 { "<" } else { "<=" };
                        attributes.push(format!("invariant: x{clock}{op}{most}"));
                    }
                    3 if location > 0 => attributes.push("urgent:".to_owned()),
                    4 if location > 0 => attributes.push("committed:".to_owned()),
                    _ => {}
                }
                text += &format!("location:{process}:l{location}{{{}}}\n", attributes.join(" : "));
            }
            for _ in 0..5 {
                let (from, to) = (self.below(3), self.below(3));
                let event = if self.below(3) == 0 { "s" } else { "a" };
                let mut guard: Vec<String> = (0..self.below(3)).map(|_| self.constraint()).collect();
                if self.below(4) == 0 {
                    guard.push(format!("v=={}", self.below(3)));
                }
                let mut effects = Vec::new();
                for clock in (0..CLOCKS).filter(|_| true) {
                    if self.below(3) == 0 {
                        effects.push(format!("x{clock}={}", self.below(8) / 6));
                    }
                }
                if self.below(3) == 0 {
                    effects.push(format!("v=v+{}", 1 + self.below(2)));
                } else if self.below(4) == 0 {
                    effects.push("v=0".into());
                }
                let provided = if guard.is_empty() { "1".into() } else { guard.join("&&") };
                text += &format!(
                    "edge:{process}:l{from}:l{to}:{event}{{provided: {provided} : do: {}}}\n",
                    effects.join(";")
                );
            }
        }
        text + "sync:P@s:Q@s\n"
    }
}

fn read(text: &str) -> TimedSystem {
    let loaded = hadal_lang::ta::tck::load(Source::new("random.tck", text)).expect("it is accepted");
    let LoadedModel::Timed(timed) = loaded.model else { panic!("a timed model") };
    timed
}

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
            // Beyond the largest constant clocks look alike.
            let most = (LARGEST + 1) * PARTS + 1;
            let later: Vec<i64> =
                clocks.iter().enumerate().map(|(n, c)| if n == 0 { 0 } else { (c + 1).min(most) }).collect();
            next.push((state.clone(), later));
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
        for (state, clocks) in next {
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
    let mut random = Dice(Random::new(0x9E37_79B9_7F4A_7C15));
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
