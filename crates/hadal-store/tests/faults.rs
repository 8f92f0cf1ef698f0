//! Crashes, full disks and flipped bytes: a run resumes from its last commit or names what is damaged.

use std::collections::BTreeMap;
use std::sync::Arc;

use hadal_store::levels::{LevelEntry, LevelPolicy, Levels};
use hadal_store::manifest::{Commit, CommitError, Medium, OpenError, RunFolder, Verify};
use hadal_store::merge::BlockSource;
use hadal_store::vfs::{IoThreads, Vfs, at_once};
use hadal_store::{
    Bitmap, Governor, MergeError, ReadError, RecordShape, Records, RunFile, RunKind, RunOptions, RunReader,
    RunWriter, WriteError,
};
use hadal_testkit::{Faults, FaultyFolder, Survival};

const LAYERS: u64 = 6;
const FINGERPRINT: u64 = 0xFEED;
const POLICY: LevelPolicy = LevelPolicy::Merging { ratio: 2 };

fn options() -> RunOptions {
    RunOptions { block_bytes: 256, chunk_bytes: 4096, ..RunOptions::new(RecordShape::states(2), FINGERPRINT) }
}

/// The states of a layer; layers do not overlap. The first is so large that its run outlives many commits.
fn layer(number: u64) -> Vec<u64> {
    let states = if number == 0 { 700 } else { 20 + 30 * number };
    (0..states).flat_map(|n| [n * 3 + number * 10_000, n / 7]).collect()
}

fn sorted_layer(number: u64) -> Vec<u64> {
    let mut states = layer(number);
    hadal_store::sort::sort_unique(RecordShape::states(2), &mut states);
    states
}

fn closed_after(layers: u64) -> Vec<u64> {
    let mut states: Vec<u64> = (0..layers).flat_map(layer).collect();
    hadal_store::sort::sort_unique(RecordShape::states(2), &mut states);
    states
}

/// A little explorer: each layer becomes a frontier run and joins the closed set, then is committed.
struct Explorer {
    folder: RunFolder,
    levels: Levels,
    next: u64,
}

#[derive(Debug)]
enum Stop {
    Open(OpenError),
    Merge(MergeError),
    Commit(CommitError),
}

impl From<OpenError> for Stop {
    fn from(error: OpenError) -> Self {
        Stop::Open(error)
    }
}

impl From<MergeError> for Stop {
    fn from(error: MergeError) -> Self {
        Stop::Merge(error)
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Stop::Merge(error.into())
    }
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        Stop::Merge(error.into())
    }
}

impl Stop {
    fn is_disk_full(&self) -> bool {
        match self {
            Stop::Open(OpenError::Io(error)) => error.kind() == std::io::ErrorKind::StorageFull,
            Stop::Open(_) => false,
            Stop::Merge(error) => error.is_disk_full(),
            Stop::Commit(error) => matches!(error, CommitError::DiskFull),
        }
    }
}

impl Explorer {
    fn start(vfs: &FaultyFolder) -> Result<Self, Stop> {
        let (vfs, threads) = (Arc::new(vfs.clone()), IoThreads::new(0));
        let folder = RunFolder::create(Medium::new(vfs, threads, Governor::unlimited()), FINGERPRINT, 4096)?;
        let levels = Levels::new(folder.disk(), options(), POLICY);
        Ok(Explorer { folder, levels, next: 0 })
    }

    fn resume(vfs: &FaultyFolder, verify: Verify) -> Result<Self, Stop> {
        let (vfs, threads) = (Arc::new(vfs.clone()), IoThreads::new(0));
        let folder =
            RunFolder::open(Medium::new(vfs, threads, Governor::unlimited()), FINGERPRINT, 4096, verify)?;
        Self::from_manifest(folder)
    }

    fn from_manifest(folder: RunFolder) -> Result<Self, Stop> {
        let manifest = folder.manifest().unwrap().clone();
        let next = u64::from_le_bytes(manifest.sections["next"].as_slice().try_into().unwrap());
        let entries = decode(&manifest.sections["levels"]);
        let levels = Levels::open(folder.disk(), options(), POLICY, &entries)?;
        let frontier = String::from_utf8(manifest.sections["frontier"].clone()).unwrap();
        let frontier = RunFile::open(folder.disk(), &frontier, &options())?;
        assert_eq!(drain(&mut RunReader::open(&frontier)?)?, sorted_layer(next - 1));
        Ok(Explorer { folder, levels, next })
    }

    fn step(&mut self) -> Result<(), Stop> {
        let states = sorted_layer(self.next);
        let records = Records::new(options().shape, &states);
        let mut frontier = RunWriter::create(self.folder.disk(), RunKind::Frontier, &options())?;
        frontier.push_all(records)?;
        let frontier = frontier.finish()?;
        let found = self.levels.filter_sorted(records, &mut Bitmap::new(records.len()))?;
        assert_eq!(found, 0);
        at_once(self.levels.add_sorted(records))?;
        self.next += 1;
        let sections = BTreeMap::from([
            ("next".to_owned(), self.next.to_le_bytes().to_vec()),
            ("levels".to_owned(), encode(&self.levels.entries())),
            ("frontier".to_owned(), frontier.name().as_bytes().to_vec()),
        ]);
        let runs = self.levels.runs().chain([&frontier]).collect();
        self.folder.commit(Commit { runs, files: Vec::new(), sections }).map_err(Stop::Commit)?;
        Ok(())
    }

    fn check(&self) -> Result<(), Stop> {
        assert_eq!(drain(&mut self.levels.scan()?)?, closed_after(self.next));
        Ok(())
    }
}

fn encode(entries: &[LevelEntry]) -> Vec<u8> {
    let line = |entry: &LevelEntry| format!("{} {} {}\n", entry.name, entry.layers.0, entry.layers.1);
    entries.iter().map(line).collect::<String>().into_bytes()
}

fn decode(bytes: &[u8]) -> Vec<LevelEntry> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        LevelEntry {
            name: fields[0].to_owned(),
            layers: (fields[1].parse().unwrap(), fields[2].parse().unwrap()),
        }
    };
    text.lines().map(entry).collect()
}

fn drain(source: &mut dyn BlockSource) -> Result<Vec<u64>, MergeError> {
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while source.next_block(&mut block)? {
        all.extend_from_slice(&block);
    }
    Ok(all)
}

/// Explores from the start until it ends or fails; returns how many layers were surely committed.
fn explore(vfs: &FaultyFolder) -> (u64, Option<Stop>) {
    let mut committed = 0;
    let mut run = || -> Result<(), Stop> {
        let mut explorer = Explorer::start(vfs)?;
        while explorer.next < LAYERS {
            explorer.step()?;
            committed = explorer.next;
        }
        Ok(())
    };
    let stop = run().err();
    (committed, stop)
}

fn finish(mut explorer: Explorer) {
    explorer.check().unwrap();
    while explorer.next < LAYERS {
        explorer.step().unwrap();
    }
    explorer.check().unwrap();
    // Nothing is left lying around but what the two kept commits name.
    let folder = &explorer.folder;
    let names: Vec<String> = folder.disk().vfs.list().unwrap().into_iter().map(|entry| entry.name).collect();
    let manifests = names.iter().filter(|name| name.starts_with("manifest-")).count();
    assert!(manifests <= 2, "{names:?}");
}

#[test]
fn resume_after_a_crash_at_every_operation_keeps_every_acknowledged_commit() {
    let healthy = FaultyFolder::default();
    let (committed, stop) = explore(&healthy);
    assert!(committed == LAYERS && stop.is_none(), "{stop:?}");
    let operations = healthy.operations();
    for die_at in 0..operations {
        for survival in [Survival::Synced, Survival::Everything, Survival::TornLastWrite] {
            let vfs = FaultyFolder::new(Faults { die_at: Some(die_at), capacity: None });
            let (committed, _) = explore(&vfs);
            let after = vfs.after_crash(survival);
            match Explorer::resume(&after, Verify::EveryBlock) {
                Ok(explorer) => {
                    assert!(explorer.next >= committed, "operation {die_at}, {survival:?}: a commit is lost");
                    finish(explorer);
                }
                Err(Stop::Open(OpenError::NothingCommitted)) => {
                    assert_eq!(committed, 0, "operation {die_at}")
                }
                Err(other) => panic!("operation {die_at}, {survival:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_second_crash_while_resuming_loses_nothing_either() {
    let vfs = FaultyFolder::new(Faults { die_at: Some(150), capacity: None });
    let (committed, stop) = explore(&vfs);
    assert!(committed > 0 && stop.is_some());
    let found = vfs.after_crash(Survival::Synced);
    for die_at in 0..120 {
        let vfs = found.snapshot();
        vfs.set_faults(Faults { die_at: Some(die_at), capacity: None });
        if let Ok(mut explorer) = Explorer::resume(&vfs, Verify::Tails) {
            while explorer.next < LAYERS && explorer.step().is_ok() {}
        }
        let explorer = Explorer::resume(&vfs.after_crash(Survival::TornLastWrite), Verify::Tails).unwrap();
        assert!(explorer.next >= committed);
        finish(explorer);
    }
}

#[test]
fn a_full_disk_is_named_and_the_run_goes_on_once_there_is_room() {
    let healthy = FaultyFolder::default();
    explore(&healthy);
    let mut paused = 0;
    for capacity in (0..60_000).step_by(997) {
        let vfs = FaultyFolder::new(Faults { die_at: None, capacity: Some(capacity) });
        let (committed, stop) = explore(&vfs);
        let Some(stop) = stop else { continue };
        assert!(stop.is_disk_full(), "capacity {capacity}: {stop:?}");
        vfs.set_faults(Faults::default());
        match Explorer::resume(&vfs, Verify::EveryBlock) {
            Ok(explorer) => {
                assert!(explorer.next >= committed);
                paused += 1;
                finish(explorer);
            }
            Err(Stop::Open(OpenError::NothingCommitted)) => assert_eq!(committed, 0),
            Err(other) => panic!("capacity {capacity}: {other:?}"),
        }
    }
    assert!(paused > 5, "the capacities tried do not exercise the pause");
}

#[test]
fn a_flipped_byte_anywhere_is_detected_or_harmless() {
    let vfs = FaultyFolder::default();
    explore(&vfs);
    let (mut fell_back, mut refused, mut harmless) = (0, 0, 0);
    for entry in vfs.list().unwrap() {
        for offset in 0..entry.bytes as usize {
            let damaged = vfs.snapshot();
            damaged.flip(&entry.name, offset, 1 << (offset % 8));
            let named = match Explorer::resume(&damaged, Verify::EveryBlock) {
                Ok(explorer) => {
                    explorer.check().unwrap();
                    if explorer.next == LAYERS {
                        harmless += 1;
                        continue;
                    }
                    assert_eq!(explorer.next, LAYERS - 1);
                    fell_back += 1;
                    explorer.folder.damaged().to_vec()
                }
                // The file belongs to both kept commits.
                Err(Stop::Open(OpenError::Damaged(named))) => {
                    refused += 1;
                    named
                }
                Err(other) => panic!("{} byte {offset}: {other:?}", entry.name),
            };
            assert!(
                named.iter().any(|what| what.file == entry.name),
                "{} byte {offset}: {named:?}",
                entry.name
            );
        }
    }
    assert!(fell_back > 1000 && refused > 1000 && harmless > 100, "{fell_back} {refused} {harmless}");
}

#[test]
fn a_byte_flipped_under_a_running_exploration_is_named_when_it_is_read() {
    let vfs = FaultyFolder::default();
    explore(&vfs);
    let explorer = Explorer::resume(&vfs, Verify::Tails).unwrap();
    let run = explorer.levels.runs().next().unwrap().clone();
    let index_and_trailer = 2400;
    for offset in (64..run.bytes() as usize - index_and_trailer).step_by(13) {
        vfs.flip(run.name(), offset, 0x10);
        let wrong = drain(&mut RunReader::open(&run).unwrap()).unwrap_err();
        let message = wrong.to_string();
        assert!(message.contains(run.name()) && message.contains("block"), "{message}");
        let states = closed_after(LAYERS);
        let records = Records::new(options().shape, &states);
        assert!(explorer.levels.filter_sorted(records, &mut Bitmap::new(records.len())).is_err());
        vfs.flip(run.name(), offset, 0x10);
    }
    explorer.check().unwrap();
}

#[test]
fn a_damaged_newest_commit_falls_back_and_can_be_committed_over() {
    let vfs = FaultyFolder::default();
    explore(&vfs);
    let newest = format!("manifest-{LAYERS:010}");
    vfs.flip(&newest, 30, 1);
    let explorer = Explorer::resume(&vfs, Verify::Tails).unwrap();
    assert_eq!((explorer.next, explorer.folder.damaged()[0].file.as_str()), (LAYERS - 1, newest.as_str()));
    finish(explorer);
    assert_eq!(Explorer::resume(&vfs, Verify::EveryBlock).unwrap().next, LAYERS);
}

#[test]
fn two_processes_cannot_open_one_run_and_a_changed_model_is_refused() {
    let vfs = FaultyFolder::default();
    explore(&vfs);
    let open = |fingerprint| {
        let (vfs, threads) = (Arc::new(vfs.clone()), IoThreads::new(0));
        RunFolder::open(Medium::new(vfs, threads, Governor::unlimited()), fingerprint, 0, Verify::Tails)
    };
    assert!(matches!(open(1), Err(OpenError::OtherModel { found: FINGERPRINT, expected: 1 })));
    let held = open(FINGERPRINT).unwrap();
    assert!(matches!(open(FINGERPRINT), Err(OpenError::Locked)));
    assert_eq!(RunFolder::peek(&vfs).unwrap().generation, LAYERS);
    drop(held);
    open(FINGERPRINT).unwrap();
    assert!(matches!(Explorer::start(&vfs), Err(Stop::Open(OpenError::AlreadyThere))));
}

#[test]
fn a_run_on_a_real_folder_resumes() {
    let place = tempfile::tempdir().unwrap();
    let open = || Arc::new(hadal_store::vfs::Folder::create(place.path()).unwrap());
    let states = closed_after(LAYERS);
    let records = Records::new(options().shape, &states);
    let threads = IoThreads::new(2);
    let mut folder = RunFolder::create(
        Medium::new(open(), Arc::clone(&threads), Governor::unlimited()),
        FINGERPRINT,
        1 << 16,
    )
    .unwrap();
    let mut levels = Levels::new(folder.disk(), options(), LevelPolicy::FilePerLayer);
    for number in 0..LAYERS {
        at_once(levels.add_sorted(Records::new(options().shape, &sorted_layer(number)))).unwrap();
    }
    let runs = levels.runs().collect();
    folder.commit(Commit { runs, ..Commit::default() }).unwrap();
    let entries = levels.entries();
    drop((levels, folder));
    let folder = RunFolder::open(
        Medium::new(open(), threads, Governor::unlimited()),
        FINGERPRINT,
        1 << 16,
        Verify::EveryBlock,
    )
    .unwrap();
    let levels = Levels::open(folder.disk(), options(), LevelPolicy::FilePerLayer, &entries).unwrap();
    assert_eq!(levels.filter_sorted(records, &mut Bitmap::new(records.len())).unwrap(), records.len() as u64);
    assert_eq!(drain(&mut levels.scan().unwrap()).unwrap(), states);
}
