//! Plain value iteration on disk against the same in obvious code, and against the tables.

use hadal_store::vfs::{Folder, IoThreads};
use hadal_store::{Disk, Governor};
use hadal_system::rows::Rational;
use hadal_system::{Choices, PropertyId, StateSpace};
use hadal_value::disk::{DiskGraph, DiskOptions, Jacobi, jacobi};
use hadal_value::task::{Task, TaskSpace, WetFloor};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn folder(path: &Path, budget: u64) -> Disk {
    let folder = Folder::create(path.join("files")).expect("a folder");
    Disk::new(Arc::new(folder), IoThreads::new(1), Governor::new(budget), 0)
}

/// What a choice costs, and where it leads how likely.
type Choice = (f64, Vec<(u64, f64)>);

/// Value iteration in the order of ranks, in obvious code.
fn reference(space: &dyn StateSpace, sweeps: usize) -> Vec<f64> {
    let mut worker = space.worker();
    let mut rows: BTreeMap<u64, Vec<Choice>> = BTreeMap::new();
    let mut starts = hadal_system::Successors::new(1);
    worker.initial(&mut starts);
    let mut open = vec![starts.state(0)[0]];
    let mut choices = Choices::new(1, Some(0));
    let near = |r: &Rational| *r.numer() as f64 / *r.denom() as f64;
    while let Some(state) = open.pop() {
        if rows.contains_key(&state) {
            continue;
        }
        choices.clear();
        worker.choices(&[state], &mut choices).expect("choices");
        let mut list = Vec::new();
        for n in 0..choices.len() {
            let branches: Vec<(u64, f64)> = choices
                .range(n)
                .map(|b| (choices.branches.state(b)[0], near(&choices.numbers[choices.weights[b] as usize])))
                .collect();
            open.extend(branches.iter().map(|b| b.0));
            list.push((near(&choices.numbers[choices.rewards[n] as usize]), branches));
        }
        rows.insert(state, list);
    }
    let mut values: BTreeMap<u64, f64> = rows.keys().map(|&s| (s, 0.0)).collect();
    for _ in 0..sweeps {
        values = rows
            .iter()
            .map(|(&state, list)| {
                let best = list
                    .iter()
                    .map(|(cost, branches)| branches.iter().fold(*cost, |sum, (to, p)| sum + p * values[to]))
                    .fold(f64::INFINITY, f64::min);
                (state, if list.is_empty() { 0.0 } else { best })
            })
            .collect();
    }
    values.into_values().collect()
}

#[test]
fn sweeps_on_disk_are_those_in_ram_bit_by_bit_and_go_on_after_a_stop() {
    let floor = WetFloor::new(30, 0.3);
    let space = TaskSpace::new(&floor).expect("a decision task");
    let place = tempfile::tempdir().expect("a place");
    let disk = folder(place.path(), 1 << 20);
    let wanted = DiskOptions { reward: Some(0), marks: vec![PropertyId(0)], ..DiskOptions::default() };
    let graph = DiskGraph::build(&space, &wanted, &disk).expect("a graph");
    assert_eq!(graph.states, 900);
    let target = graph.marks[0].clone();
    let how = Jacobi { target: &target, residual: 1e-4, most_sweeps: u64::MAX, file: None };
    let (values, residuals) = jacobi(&graph, how).expect("values");
    assert_eq!(values, reference(&space, residuals.len()));

    // Stopped after five sweeps, and again after nine, then to the end.
    let file = place.path().join("values");
    for most_sweeps in [5, 9, u64::MAX] {
        let how = Jacobi { most_sweeps, file: Some(&file), ..how };
        let (resumed, _) = jacobi(&graph, how).expect("values");
        if most_sweeps == u64::MAX {
            assert_eq!(resumed, values);
        }
    }
    // A flipped byte is found.
    let mut bytes = std::fs::read(&file).expect("the values");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    assert!(jacobi(&graph, Jacobi { file: Some(&file), ..how }).is_err());
}

#[test]
fn the_floor_on_disk_takes_the_sweeps_of_the_table() {
    // The table begins with values 0, which is how sweeps on disk begin.
    for (side, sweeps, value) in [(5, 16, 8.398584), (10, 29, 18.398601), (20, 55, 39.291859)] {
        let floor = WetFloor::new(side, 0.3);
        let space = TaskSpace::new(&floor).expect("a decision task");
        let place = tempfile::tempdir().expect("a place");
        let disk = folder(place.path(), 1 << 20);
        let wanted = DiskOptions { reward: Some(0), marks: vec![PropertyId(0)], ..DiskOptions::default() };
        let graph = DiskGraph::build(&space, &wanted, &disk).expect("a graph");
        let target = graph.marks[0].clone();
        let how = Jacobi { target: &target, residual: 1e-4, most_sweeps: u64::MAX, file: None };
        let (values, residuals) = jacobi(&graph, how).expect("values");
        assert_eq!(residuals.len(), sweeps);
        assert!((values[graph.initial[0] as usize] - value).abs() < 1e-6);
        assert_eq!(floor.initial(), 0);
    }
}

#[test]
fn a_limit_ends_sweeps_and_every_sweep_moves_the_same_bytes() {
    let floor = WetFloor::new(40, 0.3);
    let space = TaskSpace::new(&floor).expect("a decision task");
    let place = tempfile::tempdir().expect("a place");
    let disk = folder(place.path(), 1 << 20);
    let wanted = DiskOptions { reward: Some(0), marks: vec![PropertyId(0)], ..DiskOptions::default() };
    let graph = DiskGraph::build(&space, &wanted, &disk).expect("a graph");
    let target = graph.marks[0].clone();
    let moved = |most_sweeps: u64| {
        let before = disk.traffic.bytes_moved();
        let how = Jacobi { target: &target, residual: 1e-4, most_sweeps, file: None };
        let (_, residuals) = jacobi(&graph, how).expect("values");
        assert_eq!(residuals.len() as u64, most_sweeps);
        disk.traffic.bytes_moved() - before
    };
    let one = moved(1);
    // One pass over the edges, and nothing is written.
    assert!(one > 0 && one <= graph.bytes(), "{one} {}", graph.bytes());
    assert_eq!(moved(14), 14 * one);
}
