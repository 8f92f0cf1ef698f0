//! Racetracks, puzzles and floors against the published tables, and every solver against value iteration.

use hadal_value::implicit::{Implicit, Ranked, Tabled};
use hadal_value::iterate::{Explicit, Iteration, Order};
use hadal_value::sliding::Sliding;
use hadal_value::task::{Actions, Kind, Racetrack, Task, Tiles, WetFloor};
use hadal_value::trial::{Found, Stop, ao_star, lao_star, ldfs, lrtdp, rtdp};
use std::collections::HashMap;
use std::path::PathBuf;

fn tracks() -> Option<PathBuf> {
    hadal_testkit::corpus::oracle("tracks")
}

fn track(name: &str) -> Option<Racetrack> {
    let text = std::fs::read_to_string(tracks()?.join(format!("{name}.track"))).ok()?;
    Some(Racetrack::parse(&text, 0.7).expect("a track"))
}

fn solve(task: &dyn Task) -> (u64, u64, u64, f64) {
    let explicit = Explicit::explore(task).expect("few states");
    let found = explicit.iterate(task, Iteration::default());
    (explicit.states.len() as u64, explicit.edges(), found.sweeps(), found.values[0])
}

#[test]
fn racetracks_have_the_counts_sweeps_and_values_of_the_table() {
    let expected = [
        ("tiny", 190, 2502, 17, 6.4924),
        ("barto-small", 9394, 139_780, 27, 14.4597),
        ("barto-big", 22_537, 337_324, 44, 26.1343),
        ("ring-4", 33_235, 497_077, 33, 18.5308),
    ];
    let mut checked = 0;
    for (name, states, edges, sweeps, value) in expected {
        let Some(track) = track(name) else { continue };
        let found = solve(&track);
        assert_eq!((found.0, found.1, found.2), (states, edges, sweeps), "{name}");
        assert!((found.3 - value).abs() < 1e-4, "{name}: {}", found.3);
        checked += 1;
    }
    println!("{checked} tracks checked, {} skipped: no corpus", expected.len() - checked);
}

#[test]
fn wet_floors_have_the_edges_sweeps_and_values_of_the_table() {
    let expected = [
        (5, 160, 16, 8.398584),
        (10, 757, 29, 18.398601),
        (20, 3238, 55, 39.291859),
        (50, 22_066, 116, 100.661557),
    ];
    for (side, edges, sweeps, value) in expected {
        // From zero: the estimate of the floor is not used.
        struct Plain(WetFloor);
        impl Task for Plain {
            fn initial(&self) -> u64 {
                self.0.initial()
            }
            fn terminal(&self, state: u64) -> Option<f64> {
                self.0.terminal(state)
            }
            fn actions(&self, state: u64, out: &mut Actions) {
                self.0.actions(state, out);
            }
        }
        let found = solve(&Plain(WetFloor::new(side, 0.3)));
        assert_eq!((found.1, found.2), (edges, sweeps), "side {side}");
        assert!((found.3 - value).abs() < 1e-6, "side {side}: {}", found.3);
    }
}

/// A state of the puzzle with this distance from the goal and this sum of tile distances.
fn puzzle(distance: u32, manhattan: u32) -> u64 {
    let tiles = Tiles::new(3, 3, 1.0, 0);
    let mut depth = HashMap::from([(Tiles::goal(3, 3), 0u32)]);
    let mut layer = vec![Tiles::goal(3, 3)];
    while let Some(&first) = layer.first() {
        if depth[&first] == distance {
            return layer.into_iter().find(|&s| tiles.manhattan(s) == manhattan).expect("such a state");
        }
        let mut next = Vec::new();
        for state in layer {
            for to in tiles.moves(state) {
                if !depth.contains_key(&to) {
                    depth.insert(to, depth[&state] + 1);
                    next.push(to);
                }
            }
        }
        layer = next;
    }
    unreachable!("the puzzle is deeper than {distance}")
}

#[test]
fn the_eight_puzzle_takes_the_sweeps_of_the_table() {
    let initial = puzzle(14, 10);
    for (works, guided, edges, sweeps, value) in [
        (1.0, false, 483_839, 32, 14.0),
        (1.0, true, 483_839, 28, 14.0),
        (0.9, false, 967_677, 45, 14.0 / 0.9),
        (0.9, true, 967_677, 43, 14.0 / 0.9),
    ] {
        let mut tiles = Tiles::new(3, 3, works, initial);
        if guided {
            tiles = tiles.guided();
        }
        let found = solve(&tiles);
        assert_eq!((found.0, found.1, found.2), (181_440, edges, sweeps));
        assert!((found.3 - value).abs() < 1e-3, "{}", found.3);
    }
}

#[test]
fn sweeps_that_keep_nothing_but_values_are_those_of_the_table() {
    let tiles = Tiles::new(3, 3, 0.9, puzzle(14, 10));
    for rank in 0..tiles.states() {
        let state = tiles.state(rank);
        assert_eq!(tiles.rank(state), rank);
        assert!(tiles.moves(state).all(|to| tiles.state(tiles.rank(to)) == to), "{state:x}");
    }
    assert_eq!(tiles.states(), 181_440);
    let mut sweeps = 0;
    let mut implicit = Implicit::from_zero(&tiles);
    while implicit.sweep(2) > 1e-4 {
        sweeps += 1;
    }
    assert_eq!((sweeps + 1, implicit.edges), (45, 967_677));
    assert!((implicit.value() - 14.0 / 0.9).abs() < 1e-3, "{}", implicit.value());
    let floor = WetFloor::new(20, 0.3);
    let mut implicit = Implicit::from_zero(&floor);
    let swept = (1..).find(|_| implicit.sweep(1) <= 1e-4);
    assert_eq!((swept, implicit.edges), (Some(55), 3238));
    if let Some(track) = track("tiny") {
        let tabled = Tabled::explore(track).expect("few states");
        let mut implicit = Implicit::from_zero(&tabled);
        let swept = (1..).find(|_| implicit.sweep(2) <= 1e-4);
        assert_eq!((tabled.states(), swept, implicit.edges), (190, Some(17), 2502));
        assert!((implicit.value() - 6.4924).abs() < 1e-4, "{}", implicit.value());
    }
}

#[test]
fn values_in_files_are_those_in_ram_to_the_bit_and_survive_the_process() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().join("values");
    let tiles = Tiles::new(3, 3, 0.9, puzzle(14, 10));
    let mut implicit = Implicit::from_zero(&tiles);
    let mut sweeps = 0;
    loop {
        let change = implicit.sweep(1);
        sweeps += 1;
        // Every sweep by a process of its own.
        let mut sliding = Sliding::open(&tiles, &folder).expect("a folder");
        sliding.sweep(1 + sweeps % 2).expect("a sweep");
        assert_eq!(sliding.sweeps, sweeps as u64);
        assert_eq!(sliding.change.to_bits(), change.to_bits());
        assert_eq!(sliding.edges, implicit.edges);
        assert_eq!(sliding.value().expect("a value").to_bits(), implicit.value().to_bits());
        if change <= 1e-4 {
            break;
        }
    }
    assert_eq!(sweeps, 45);
    // Damage is told.
    let file = folder.join("values-1");
    let mut bytes = std::fs::read(&file).expect("values");
    bytes[1000] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let mut sliding = Sliding::open(&tiles, &folder).expect("a folder");
    assert!(sliding.sweep(1).is_err());
    let floor = WetFloor::new(1000, 0.3);
    assert!(Sliding::open(&floor, &folder).is_err());
}

#[test]
fn moves_by_number_are_those_of_the_boards() {
    for (width, height) in [(3, 3), (3, 4), (4, 3), (2, 4)] {
        let tiles = Tiles::new(width, height, 0.9, 0);
        let (mut here, mut there) = (Actions::default(), Actions::default());
        let step = (tiles.states() / 50_000).max(1) as usize;
        for rank in (0..tiles.states()).step_by(step) {
            here.clear();
            there.clear();
            tiles.actions_at(rank, &mut here);
            tiles.actions(tiles.state(rank), &mut there);
            assert_eq!(here.len(), there.len());
            for n in 0..here.len() {
                let mut by_number = here.outcomes(n).to_vec();
                let mut by_board: Vec<_> =
                    there.outcomes(n).iter().map(|&(s, p)| (tiles.rank(s), p)).collect();
                by_number.sort_by_key(|o| o.0);
                by_board.sort_by_key(|o| o.0);
                assert_eq!(by_number, by_board, "{width} x {height}, {rank}");
                assert!(by_board.iter().all(|o| o.0.abs_diff(rank) <= tiles.reach()));
            }
        }
    }
}

/// The worked example: ten states, two of them terminal.
struct Worked;

impl Task for Worked {
    fn initial(&self) -> u64 {
        1
    }
    fn terminal(&self, state: u64) -> Option<f64> {
        (state == 8 || state == 10).then_some(0.0)
    }
    fn actions(&self, state: u64, out: &mut Actions) {
        let next: &[u64] = match state {
            1 => &[2, 3, 4],
            2 => &[3, 5],
            3 => &[4, 8],
            4 => &[6],
            5 => &[6, 7],
            6 => &[9],
            7 => &[8, 10],
            _ => &[8, 10],
        };
        next.iter().for_each(|&to| out.push(1.0, &[(to, 1.0)]));
    }
    fn estimate(&self, state: u64) -> f64 {
        [3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.0, 1.0, 0.0][state as usize - 1]
    }
}

#[test]
fn the_worked_example_has_its_three_sweeps() {
    let explicit = Explicit::explore(&Worked).expect("few states");
    let after = |sweeps: u64| {
        let found = explicit.iterate(&Worked, Iteration { most_sweeps: sweeps, ..Iteration::default() });
        let by_state: Vec<f64> = (1..=10u64)
            .map(|s| found.values[explicit.states.find(&[s]).expect("reachable") as usize])
            .collect();
        (by_state, found.residuals)
    };
    assert_eq!(after(1).0, [3.0, 3.0, 1.0, 2.0, 2.0, 2.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(after(2).0, [2.0, 2.0, 1.0, 3.0, 2.0, 2.0, 1.0, 0.0, 1.0, 0.0]);
    let (values, residuals) = after(9);
    assert_eq!(values, after(2).0);
    assert_eq!(residuals, [1.0, 1.0, 0.0]);
}

#[test]
fn every_solver_finds_the_value_of_value_iteration() {
    let floor = WetFloor::new(20, 0.3);
    let mut tasks: Vec<(String, Box<dyn Task>)> = vec![("floor".into(), Box::new(floor))];
    tasks.push(("puzzle".into(), Box::new(Tiles::new(3, 3, 0.9, puzzle(14, 10)).guided())));
    for name in ["tiny", "barto-small"] {
        if let Some(track) = track(name) {
            tasks.push((name.into(), Box::new(track)));
        }
    }
    for (name, task) in &tasks {
        let task = task.as_ref();
        let explicit = Explicit::explore(task).expect("few states");
        let sharp = Iteration { residual: 1e-9, order: Order::GaussSeidel, ..Iteration::default() };
        let expected = explicit.iterate(task, sharp).values[0];
        let stop = Stop { residual: 1e-6, ..Stop::default() };
        let close = |solver: &str, found: Found| {
            assert!(found.converged, "{name} {solver}");
            assert!((found.value - expected).abs() < 1e-3, "{name} {solver}: {} not {expected}", found.value);
        };
        close("lrtdp", lrtdp(task, stop));
        close("lao*", lao_star(task, stop));
        close("ldfs", ldfs(task, stop));
        let walked = rtdp(task, 2000, stop);
        assert!(walked.value <= expected + 1e-6, "{name} rtdp: {}", walked.value);
    }
}

/// A random AND/OR graph without cycles.
struct AndOr(u64, Kind);

impl AndOr {
    fn mix(&self, state: u64, n: u64) -> u64 {
        let mut h = (self.0 ^ state.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_add(n)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
        h ^= h >> 31;
        h.wrapping_mul(0x94D0_49BB_1331_11EB) >> 33
    }
}

impl Task for AndOr {
    fn initial(&self) -> u64 {
        0
    }
    fn terminal(&self, state: u64) -> Option<f64> {
        (state >= 60).then(|| (self.mix(state, 99) % 5) as f64)
    }
    fn actions(&self, state: u64, out: &mut Actions) {
        for n in 0..1 + self.mix(state, 1) % 3 {
            let many = 1 + self.mix(state, 10 + n) % 3;
            let targets: Vec<(u64, f64)> = (0..many)
                .map(|k| (state + 1 + self.mix(state, 100 + 10 * n + k) % 20, 1.0 / many as f64))
                .collect();
            out.push((self.mix(state, 50 + n) % 4) as f64, &targets);
        }
    }
    fn kind(&self) -> Kind {
        self.1
    }
}

#[test]
fn and_or_graphs_have_their_values_by_ao_star_and_by_iteration() {
    for kind in [Kind::Additive, Kind::Worst, Kind::Expected] {
        for seed in 0..200 {
            let task = AndOr(seed, kind);
            let explicit = Explicit::explore(&task).expect("few states");
            let expected =
                explicit.iterate(&task, Iteration { residual: 0.0, ..Iteration::default() }).values[0];
            let found = ao_star(&task, Stop::default()).expect("no circle");
            assert!(
                (found.value - expected).abs() <= 1e-9 * expected.max(1.0),
                "{kind:?} {seed}: {} not {expected}",
                found.value
            );
        }
    }
}
