//! What holds inside a partitioned search (Evangelista and Kristensen 2011): between visits, and across a refinement.

use super::files::{Io, SliceScan};
use super::search::Exploration;
use super::*;
use crate::layered::ledger::Ledger;
use crate::{Control, DeadlockNotion, Limits, Question, SearchTask};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder};
use hadal_store::run::RunSlice;
use hadal_store::vfs::IoThreads;
use hadal_system::{Label, StateField, StateSpace, Successors, Worker};
use hadal_testkit::{Faults, FaultyFolder};
use std::collections::BTreeSet;

/// Three dials that turn one at a time.
struct Dials {
    fields: Vec<StateField>,
}

const SIDE: u64 = 14;

impl Dials {
    fn new() -> Self {
        let field = |n: u32| StateField {
            name: format!("dial[{n}]"),
            offset: 8 * n,
            width: 8,
            group: 0,
            owner: Some(n),
        };
        Dials { fields: (0..3).map(field).collect() }
    }
}

impl StateSpace for Dials {
    fn words(&self) -> usize {
        1
    }
    fn fields(&self) -> &[StateField] {
        &self.fields
    }
    fn writers(&self) -> Option<Vec<u64>> {
        Some((1..=self.fields.len() as u64).collect())
    }
    fn fingerprint(&self) -> u64 {
        7
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Turning)
    }
    fn render_label(&self, label: Label) -> String {
        label.0.to_string()
    }
    fn render_state(&self, _: &[u64]) -> Vec<(String, String)> {
        Vec::new()
    }
}

struct Turning;

impl Worker for Turning {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[0]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for dial in 0..3 {
            let at = state[0] >> (8 * dial) & 0xFF;
            let next = state[0] - (at << (8 * dial)) + (((at + 1) % SIDE) << (8 * dial));
            out.push(Label(dial), &[next]);
        }
    }
}

fn exploring(heuristic: Heuristic, check: impl FnOnce(Exploration)) {
    let dials = Dials::new();
    let question = Question::everything(&[], DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space: &dials, question: &question, control: &control };
    let governor = Governor::new(2 << 20);
    let ledger = || {
        let vfs = std::sync::Arc::new(FaultyFolder::new(Faults::default()));
        let folder = RunFolder::create(Medium::new(vfs, IoThreads::new(1), governor.clone()), 7, 4096)?;
        Ok(Ledger::new(folder, serde_json::json!({})))
    };
    let options = PartitionOptions {
        heuristic,
        resident_states: Some(600),
        sample_states: 500,
        commit_every: Duration::ZERO,
        ..PartitionOptions::default()
    };
    let setting = Setting { task, governor: &governor, threads: 1, run: Run::New(&ledger) };
    check(Exploration::begin(setting, &options).unwrap());
}

fn states_in(slices: &[RunSlice], payload: usize) -> Vec<u64> {
    let (mut all, mut block) = (Vec::new(), Vec::new());
    for slice in slices {
        let io = Io::default();
        let mut reader = SliceScan::open(slice, &io).unwrap();
        while reader.next_block(&mut block).unwrap() {
            all.extend(block.chunks_exact(1 + payload).map(|record| record[payload]));
        }
    }
    all
}

#[test]
fn partitions_partition_the_visited_set() {
    for (name, heuristic) in Heuristic::ALL {
        exploring(heuristic, |mut exploration| {
            while exploration.go_on(1000).unwrap().is_none() {}
            exploration.evict(None).unwrap();
            exploration.shelf.clear(&mut exploration.parts.partitions).unwrap();
            let mut seen = BTreeSet::new();
            for (number, partition) in exploration.parts.partitions.iter().enumerate() {
                let states = states_in(&partition.closed, 0);
                assert_eq!(states.len() as u64, partition.states, "{name}");
                assert!(partition.states <= exploration.resident.bound, "{name}");
                assert!(partition.open.is_empty() && partition.queue.is_empty(), "{name}");
                for state in states {
                    let owner =
                        exploration.parts.diagram.partition(&exploration.splitting.components, &[state]);
                    assert_eq!(owner as usize, number, "{name}");
                    assert!(seen.insert(state), "{name}: in two partitions");
                }
            }
            assert_eq!(seen.len() as u64, SIDE * SIDE * SIDE, "{name}");
        });
    }
}

#[test]
fn a_refinement_writes_only_files_of_the_partition_that_is_split() {
    exploring(Heuristic::De, |mut exploration| {
        // Until some partitions lie on disk.
        while exploration.figures.refinements < 1 {
            assert!(exploration.visit_one(u64::MAX).unwrap().is_none());
        }
        exploration.evict(None).unwrap();
        exploration.shelf.clear(&mut exploration.parts.partitions).unwrap();
        let files = |exploration: &Exploration| -> Vec<BTreeSet<(String, u64)>> {
            let place = |slice: &RunSlice| (slice.run().name().to_owned(), slice.place().offset);
            let names = |p: &super::files::Partition| p.slices().map(place).collect();
            exploration.parts.partitions.iter().map(names).collect()
        };
        let before = files(&exploration);
        let largest =
            (0..before.len() as u32).max_by_key(|&n| exploration.parts.partitions[n as usize].states);
        let largest = largest.unwrap();
        let states = exploration.parts.partitions[largest as usize].states;
        exploration.split_on_disk(largest).unwrap();
        let after = files(&exploration);
        assert!(after[largest as usize].is_empty());
        for (number, files) in before.iter().enumerate().filter(|(n, _)| *n != largest as usize) {
            assert_eq!(files, &after[number], "partition {number} was touched");
        }
        let moved: u64 = exploration.parts.partitions[before.len()..].iter().map(|p| p.states).sum();
        assert_eq!(moved, states);
        assert!(exploration.parts.partitions[before.len()..].iter().filter(|p| p.states > 0).count() > 1);
    });
}
