//! The file that names what a run has committed.
#![no_main]

use hadal_store::manifest::{Manifest, RunFolder};
use hadal_store::vfs::{Caching, Vfs};
use hadal_testkit::FaultyFolder;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = FaultyFolder::default();
    let file = folder.create(&Manifest::file_name(1), Caching::Buffered).expect("in memory");
    file.write_at(0, data).expect("in memory");
    let _ = RunFolder::peek(&folder);
});
