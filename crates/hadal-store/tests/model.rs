//! Runs, merges, subtraction and levels against sorted sets of the standard library.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use hadal_store::levels::{LevelPolicy, Levels};
use hadal_store::merge::{BlockSource, MergeLimits, RunMerge, RunScan, merge_unique, subtract_closed};
use hadal_store::run::BlockIndex;
use hadal_store::sort::{sort_records, sort_unique};
use hadal_store::vfs::{IoThreads, at_once};
use hadal_store::{
    Bitmap, Codec, Disk, Governor, RecordShape, Records, RunFile, RunKind, RunOptions, RunProbe, RunReader,
    RunWriter,
};
use hadal_system::{Merge, Payload};
use hadal_testkit::FaultyFolder;
use proptest::prelude::*;

/// States most significant word first, so that the standard order is hadal's; each with its payloads merged.
type Model = BTreeMap<Vec<u64>, Vec<u64>>;

fn disk(threads: usize) -> Disk {
    Disk::new(Arc::new(FaultyFolder::default()), IoThreads::new(threads), Governor::unlimited(), 0)
}

fn options(shape: RecordShape, codec: Codec, block_bytes: usize) -> RunOptions {
    RunOptions { codec, block_bytes, chunk_bytes: 4096, ..RunOptions::new(shape, 42) }
}

fn key(state: &[u64]) -> Vec<u64> {
    state.iter().rev().copied().collect()
}

fn model(records: Records<'_>) -> Model {
    let mut model = Model::new();
    let payload = records.shape().payload_words();
    for at in 0..records.len() {
        let attached = key(&records.record(at)[..payload]);
        add(&mut model, records.shape(), key(records.state(at)), attached);
    }
    model
}

/// Adds a state with a payload, or merges the payload into that of the state.
fn add(model: &mut Model, shape: RecordShape, state: Vec<u64>, payload: Vec<u64>) {
    match model.entry(state) {
        Entry::Vacant(unseen) => {
            unseen.insert(payload);
        }
        Entry::Occupied(mut held) => match shape.merge() {
            Merge::Least => *held.get_mut() = payload.min(held.get().clone()),
            Merge::Sum => {
                held.get_mut()
                    .iter_mut()
                    .zip(payload)
                    .for_each(|(sum, word)| *sum = sum.saturating_add(word));
            }
            Merge::Union => held.get_mut().iter_mut().zip(payload).for_each(|(all, word)| *all |= word),
        },
    }
}

fn flat(model: &Model) -> Vec<u64> {
    model
        .iter()
        .flat_map(|(state, payload)| payload.iter().rev().chain(state.iter().rev()).copied())
        .collect()
}

fn write(disk: &Disk, options: &RunOptions, flat: &[u64]) -> RunFile {
    let mut writer = RunWriter::create(disk, RunKind::Candidates, options).unwrap();
    let records = Records::new(options.shape, flat);
    let half = records.len() / 2;
    writer.push_all(records.slice(0..half)).unwrap();
    for at in half..records.len() {
        writer.push(records.record(at)).unwrap();
    }
    writer.finish().unwrap()
}

fn drain(source: &mut dyn BlockSource) -> Vec<u64> {
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while source.next_block(&mut block).unwrap() {
        assert!(!block.is_empty());
        all.extend_from_slice(&block);
    }
    all
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..4u64, 1 => Just(u64::MAX), 1 => Just(1 << 63), 1 => any::<u64>(), 1 => 250..260u64]
}

fn shape() -> impl Strategy<Value = RecordShape> {
    let merge = prop_oneof![Just(Merge::Least), Just(Merge::Sum), Just(Merge::Union)];
    (prop_oneof![1..7usize, Just(31), Just(32), Just(40)], 0..3usize, merge)
        .prop_map(|(words, payload, merge)| RecordShape::keeping(words, Payload { words: payload, merge }))
}

/// A shape, and several unsorted arrays of records with many equal states.
fn batches(most: usize) -> impl Strategy<Value = (RecordShape, Vec<Vec<u64>>)> {
    shape().prop_flat_map(move |shape| {
        let record = prop::collection::vec(word(), shape.stride());
        let batch = prop::collection::vec(record, 0..200).prop_map(|records| records.concat());
        (Just(shape), prop::collection::vec(batch, 1..most))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sorting_equals_the_standard_order((shape, batches) in batches(2)) {
        let mut records: Vec<Vec<u64>> = batches[0].chunks(shape.stride()).map(key).collect();
        records.sort();
        let mut sorted = batches[0].clone();
        sort_records(shape, &mut sorted);
        let expected: Vec<u64> = records.iter().flat_map(|record| key(record)).collect();
        prop_assert_eq!(&sorted, &expected);
        let expected = model(Records::new(shape, &batches[0]));
        let mut unique = batches[0].clone();
        let dropped = sort_unique(shape, &mut unique);
        prop_assert_eq!(dropped as usize, batches[0].len() / shape.stride() - expected.len());
        prop_assert_eq!(unique, flat(&expected));
    }

    #[test]
    fn a_run_reads_back_what_was_written(
        (shape, batches) in batches(2),
        codec in 0..3usize,
        block_bytes in 1..4000usize,
        threads in 0..2usize,
    ) {
        let codec = [Codec::Plain, Codec::Lz4, Codec::Zstd][codec];
        let (disk, options) = (disk(threads), options(shape, codec, block_bytes));
        let sorted = flat(&model(Records::new(shape, &batches[0])));
        let run = write(&disk, &options, &sorted);
        prop_assert_eq!(run.records() as usize, sorted.len() / shape.stride());
        prop_assert_eq!(&drain(&mut RunReader::open(&run).unwrap()), &sorted);
        run.keep();
        // The file knows its codec.
        let other = RunOptions { codec: Codec::Lz4, ..options };
        let reopened = RunFile::open(&disk, run.name(), &other).unwrap();
        prop_assert_eq!(reopened.options().codec, codec);
        prop_assert_eq!(reopened.summary(), run.summary());
        prop_assert_eq!(&drain(&mut RunReader::open(&reopened).unwrap()), &sorted);
    }

    #[test]
    fn merging_equals_the_union((shape, batches) in batches(9), fan_in in 2..5usize) {
        let (disk, options) = (disk(0), options(shape, Codec::Lz4, 500));
        let mut union = Model::new();
        let mut read = 0;
        let mut runs = Vec::new();
        for batch in &batches {
            let sorted = model(Records::new(shape, batch));
            read += sorted.len();
            runs.push(write(&disk, &options, &flat(&sorted)));
            for (state, payload) in sorted {
                add(&mut union, shape, state, payload);
            }
        }
        let mut merge = RunMerge::of_runs(shape, &runs).unwrap().with_batch_records(7);
        prop_assert_eq!(drain(&mut merge), flat(&union));
        prop_assert_eq!(merge.duplicates() as usize, read - union.len());
        let limits = MergeLimits { fan_in };
        let (merged, dropped) = at_once(merge_unique(&disk, runs, RunKind::Closed, &options, limits)).unwrap();
        prop_assert_eq!(drain(&mut RunReader::open(&merged).unwrap()), flat(&union));
        prop_assert_eq!(dropped as usize, read - union.len());
    }

    #[test]
    fn subtraction_equals_the_difference_and_counts_both_kinds((shape, batches) in batches(6)) {
        let (disk, options) = (disk(0), options(shape, Codec::Lz4, 300));
        let closed = model(Records::new(shape, &batches[0]));
        let closed_run = write(&disk, &options, &flat(&closed));
        let mut union = Model::new();
        let mut read = 0;
        let mut runs = Vec::new();
        for batch in &batches[1..] {
            let mut batch = batch.clone();
            // Some candidates are surely closed.
            batch.extend_from_slice(&batches[0][..batches[0].len() / shape.stride() / 2 * shape.stride()]);
            let sorted = model(Records::new(shape, &batch));
            read += sorted.len();
            runs.push(write(&disk, &options, &flat(&sorted)));
            for (state, payload) in sorted {
                add(&mut union, shape, state, payload);
            }
        }
        let candidates = union.len();
        union.retain(|state, _| !closed.contains_key(state));
        let index = Arc::new(BlockIndex::load(&closed_run).unwrap());
        for scan in [false, true] {
            let mut fresh = Vec::new();
            let merge = RunMerge::of_runs(shape, &runs).unwrap().with_batch_records(11);
            let counts = if scan {
                at_once(subtract_closed(&disk, merge, &mut RunScan::open(&closed_run).unwrap(), &mut fresh))
            } else {
                let mut probe = RunProbe::open(&closed_run, Arc::clone(&index)).unwrap();
                at_once(subtract_closed(&disk, merge, &mut probe, &mut fresh))
            }.unwrap();
            prop_assert_eq!(&fresh, &flat(&union));
            prop_assert_eq!(counts.fresh as usize, union.len());
            prop_assert_eq!(counts.duplicates_closed as usize, candidates - union.len());
            prop_assert_eq!(counts.duplicates_within as usize, read - candidates);
        }
    }

    #[test]
    fn levels_hold_exactly_what_was_added(
        (shape, batches) in batches(9),
        policy in prop_oneof![
            (2..5u64).prop_map(|ratio| LevelPolicy::Merging { ratio }),
            Just(LevelPolicy::SingleFile),
            Just(LevelPolicy::FilePerLayer),
        ],
        tight in any::<bool>(),
    ) {
        let (disk, options) = (disk(1), options(shape, Codec::Lz4, 300));
        let mut levels = Levels::new(&disk, options, policy);
        let mut all = Model::new();
        for batch in &batches {
            let batch = model(Records::new(shape, batch));
            let sorted = flat(&batch);
            let records = Records::new(shape, &sorted);
            let mut present = Bitmap::new(records.len());
            let found = levels.filter_sorted(records, &mut present).unwrap();
            let mut fresh = Model::new();
            for (at, (state, payload)) in batch.iter().enumerate() {
                prop_assert_eq!(present.get(at), all.contains_key(state));
                if !present.get(at) {
                    fresh.insert(state.clone(), payload.clone());
                }
            }
            prop_assert_eq!(found as usize, batch.len() - fresh.len());
            at_once(levels.add_sorted(Records::new(shape, &flat(&fresh)))).unwrap();
            all.extend(fresh);
        }
        prop_assert_eq!(levels.records() as usize, all.len());
        for run in levels.runs() {
            run.keep();
        }
        if tight {
            // Too little for indexes of more than a block or so: runs are scanned instead.
            disk.governor.set_limit(disk.governor.current() + 64);
        }
        let mut levels = Levels::open(&disk, options, policy, &levels.entries()).unwrap();
        disk.governor.set_limit(u64::MAX);
        prop_assert_eq!(drain(&mut levels.scan().unwrap()), flat(&all));
        for state in all.keys().step_by(17) {
            prop_assert!(levels.contains(&key(state)).unwrap());
        }
        let sorted = flat(&all);
        let records = Records::new(shape, &sorted);
        let found = levels.filter_sorted(records, &mut Bitmap::new(records.len())).unwrap();
        prop_assert_eq!(found as usize, all.len());
        at_once(levels.compact()).unwrap();
        prop_assert!(levels.runs().count() <= 1);
        prop_assert_eq!(drain(&mut levels.scan().unwrap()), flat(&all));
    }
}

#[test]
fn a_run_of_nothing_is_a_run() {
    let (disk, options) = (disk(0), options(RecordShape::states(2), Codec::Lz4, 1000));
    let run = write(&disk, &options, &[]);
    assert!(drain(&mut RunReader::open(&run).unwrap()).is_empty());
    let mut probe = RunProbe::open(&run, Arc::new(BlockIndex::load(&run).unwrap())).unwrap();
    assert!(!probe.contains(&[1, 2]).unwrap());
}

#[test]
fn states_that_do_not_ascend_are_refused_within_and_across_blocks() {
    let (disk, options) = (disk(0), options(RecordShape::states(1), Codec::Lz4, 32));
    for states in [vec![3, 3], vec![3, 2], vec![1, 2, 3, 4, 4], vec![1, 2, 3, 9, 5]] {
        let mut writer = RunWriter::create(&disk, RunKind::Closed, &options).unwrap();
        let pushed = writer.push_all(Records::new(options.shape, &states));
        let refused = pushed.and_then(|()| writer.finish().map(drop)).unwrap_err();
        assert!(matches!(refused, hadal_store::WriteError::NotAscending { .. }), "{refused}");
    }
}

#[test]
fn a_probe_reads_only_blocks_that_may_hold_a_candidate() {
    let (disk, options) = (disk(0), options(RecordShape::states(1), Codec::Plain, 800));
    let states: Vec<u64> = (0..100_000).map(|n| n * 1000).collect();
    let run = write(&disk, &options, &states);
    let mut probe = RunProbe::open(&run, Arc::new(BlockIndex::load(&run).unwrap())).unwrap();
    let before = disk.traffic.bytes_read();
    let candidates = [5, 1000, 50_000_000, 50_000_001, 99_999_000, 200_000_000];
    let mut present = Bitmap::new(6);
    assert_eq!(probe.mark(Records::new(options.shape, &candidates), &mut present).unwrap(), 3);
    assert_eq!([1, 2, 4].map(|at| present.get(at)), [true; 3]);
    assert_eq!(probe.stats().blocks_decoded, 3);
    assert!(disk.traffic.bytes_read() - before <= 3 * 8192);
}

#[test]
fn files_nobody_kept_are_gone_and_memory_is_given_back() {
    let folder = FaultyFolder::default();
    let governor = Governor::unlimited();
    let disk = Disk::new(Arc::new(folder.clone()), IoThreads::new(0), governor.clone(), 0);
    let options = options(RecordShape::states(1), Codec::Lz4, 1000);
    let mut levels = Levels::new(&disk, options, LevelPolicy::Merging { ratio: 2 });
    for layer in 0..20u64 {
        let states: Vec<u64> = (layer * 100..layer * 100 + 50).collect();
        at_once(levels.add_sorted(Records::new(options.shape, &states))).unwrap();
        assert!(levels.runs().count() <= 6);
    }
    use hadal_store::vfs::Vfs;
    assert_eq!(folder.list().unwrap().len(), levels.runs().count());
    drop(levels);
    assert_eq!(folder.list().unwrap().len(), 0);
    assert_eq!(governor.current(), 0);
    assert!(governor.peak() > 0);
}
