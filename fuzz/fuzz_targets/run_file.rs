//! A sorted run of states: damage is an error, never a panic.
#![no_main]

use hadal_store::vfs::{Caching, Disk, IoThreads, Vfs};
use hadal_testkit::FaultyFolder;
use hadal_store::{Governor, RecordShape, RunFile, RunOptions, RunReader};
use std::sync::Arc;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = FaultyFolder::default();
    let file = folder.create("fuzzed.run", Caching::Buffered).expect("in memory");
    file.write_at(0, data).expect("in memory");
    let disk = Disk::new(Arc::new(folder), IoThreads::new(0), Governor::new(64 << 20), 0);
    let options = RunOptions::new(RecordShape::states(2), 0);
    let Ok(run) = RunFile::open(&disk, "fuzzed.run", &options) else { return };
    let Ok(mut reader) = RunReader::open(&run) else { return };
    let mut block = Vec::new();
    while let Ok(true) = reader.next_block(&mut block) {}
});
