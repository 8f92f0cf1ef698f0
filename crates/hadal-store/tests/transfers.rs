//! Blocks that are moved are as many as the theorems of external memory say: a scan reads every block once, a sort writes and
//! reads everything once for each of its passes.

use hadal_store::run::{Codec, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::sort::Sorter;
use hadal_store::vfs::{Disk, IoThreads, MemoryFolder, TransfersOfKind};
use hadal_store::{Governor, RecordShape};
use std::sync::Arc;

const BLOCK: u64 = 4096;

fn disk(memory: u64) -> Disk {
    let folder = Arc::new(MemoryFolder::new(&Governor::unlimited()));
    Disk::new(folder, IoThreads::new(0), Governor::new(memory), 0)
}

/// Records of two words that differences do not make smaller.
fn record(n: u64) -> [u64; 2] {
    let mixed =
        |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    [mixed(n), mixed(n ^ 1 << 40)]
}

fn options() -> RunOptions {
    let usual = RunOptions::new(RecordShape::states(2), 0);
    RunOptions { codec: Codec::Plain, block_bytes: 4096, chunk_bytes: 4096, ..usual }
}

fn of(disk: &Disk, kind: RunKind) -> TransfersOfKind {
    let all = disk.traffic.transfers();
    all.into_iter().find(|it| it.kind == Some(kind)).expect("every kind is counted")
}

#[test]
fn a_scan_reads_every_block_once_and_jumps_once() {
    let disk = disk(8 << 20);
    let mut records: Vec<[u64; 2]> = (0..100_000).map(record).collect();
    records.sort_by_key(|record| (record[1], record[0]));
    let mut writer = RunWriter::create(&disk, RunKind::Closed, &options()).expect("a run");
    records.iter().for_each(|record| writer.push(record).expect("it is written"));
    let run = writer.finish().expect("a run");
    let written = of(&disk, RunKind::Closed).written;
    let whole = run.bytes().div_ceil(BLOCK);
    assert!((whole..=whole + 1).contains(&written.blocks), "{written:?}, {whole} blocks");
    assert_eq!(written.jumps, 1);
    let before = of(&disk, RunKind::Closed).read;
    let (mut reader, mut block) = (RunReader::open(&run).expect("a run"), Vec::new());
    while reader.next_block(&mut block).expect("a block") {}
    let read = of(&disk, RunKind::Closed).read;
    assert!(read.blocks - before.blocks <= whole + 1, "{read:?} after {before:?}, {whole} blocks");
    assert_eq!(read.jumps - before.jumps, 1);
}

#[test]
fn a_sort_moves_everything_twice_for_each_pass() {
    for (records, memory) in [(20_000u64, 64u64 << 10), (200_000, 64 << 10), (2_000_000, 64 << 10)] {
        let disk = disk(1 << 20);
        let mut sorter = Sorter::new(&disk, options(), memory);
        (0..records).for_each(|n| sorter.push(&record(n)).expect("it is held or written"));
        let run = sorter.into_run().expect("a run");
        assert_eq!(run.records(), records);
        let scan = run.bytes().div_ceil(BLOCK);
        // Runs of the memory's size, of which as many are merged at a time as have two blocks of it each, at least two.
        let runs = (records * 16).div_ceil(memory / 2);
        let passes = 1 + (runs as f64).log2().ceil().min(4.0) as u64;
        let moved = disk.traffic.blocks();
        assert!(moved >= scan, "{moved} for {scan}");
        assert!(
            moved <= 2 * scan * passes + 64,
            "{records} records: {moved} blocks, {scan} in a scan, {passes} passes"
        );
    }
}
