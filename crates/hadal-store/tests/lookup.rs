//! States looked up in runs with payload, block by block.

use hadal_store::run::{BlockIndex, RunLookup};
use hadal_store::vfs::IoThreads;
use hadal_store::{Disk, Governor, ReadError, RecordShape, RunFile, RunKind, RunOptions, RunWriter};
use hadal_testkit::{Faults, FaultyFolder, Random};
use std::sync::Arc;

fn table(disk: &Disk, words: usize) -> (RunFile, Arc<BlockIndex>) {
    let shape = RecordShape::with_payload(words, 1);
    let options = RunOptions { block_bytes: 512, ..RunOptions::new(shape, 7) };
    let mut writer = RunWriter::create(disk, RunKind::Distances, &options).unwrap();
    for n in 0..5000u64 {
        let mut record = vec![n % 91];
        record.resize(words, 5);
        record.push(3 * n + 1);
        writer.push(&record).unwrap();
    }
    let run = writer.finish().unwrap();
    let index = Arc::new(BlockIndex::load(&run).unwrap());
    (run, index)
}

#[test]
fn every_state_is_found_in_any_order_within_the_budget() {
    for words in 1..=2 {
        let folder = Arc::new(FaultyFolder::new(Faults::default()));
        let disk = Disk::new(folder, IoThreads::new(1), Governor::unlimited(), 1);
        let (run, index) = table(&disk, words);
        let budget = Governor::new(40_000);
        let mut lookup = RunLookup::open(&run, index, &budget, 30_000).unwrap();
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let key = random.below(15_010u64);
            let mut state = vec![5; words - 1];
            state.push(key);
            let expected = (key % 3 == 1 && key < 15_000).then_some(key / 3 % 91);
            assert_eq!(lookup.find(&state).unwrap(), expected.as_ref().map(std::slice::from_ref));
        }
        let stats = lookup.stats();
        assert!(stats.blocks_read > 500 && stats.blocks_read < 19_900, "{stats:?}");
        assert!(budget.peak() <= 40_000 && budget.current() > 0);
    }
}

#[test]
fn a_flipped_byte_is_an_error_and_never_a_wrong_payload() {
    let folder = Arc::new(FaultyFolder::new(Faults::default()));
    let disk = Disk::new(folder.clone(), IoThreads::new(1), Governor::unlimited(), 1);
    let (run, index) = table(&disk, 1);
    folder.flip(run.name(), 3000, 1);
    let mut lookup = RunLookup::open(&run, index, &Governor::unlimited(), 30_000).unwrap();
    let mut failed = 0;
    for n in 0..5000u64 {
        match lookup.find(&[3 * n + 1]) {
            Ok(found) => assert_eq!(found, Some(&[n % 91][..])),
            Err(ReadError::Corrupted(_)) => failed += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(failed > 0 && failed <= 32, "{failed}");
}
