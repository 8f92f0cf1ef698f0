//! Files of a run: damage is an error, never a panic.
//!
//! Checksums refuse nearly everything that is damaged. With `--cfg fuzzing`, which cargo-fuzz sets, `hadal-store` does
//! not compare them, so that what lies behind is reached.

use hadal_search::layered::ledger::{RunRecord, layers_of};
use hadal_store::diagram::{ClosedDiagram, Diagram};
use hadal_store::manifest::{Manifest, RunFolder};
use hadal_store::vfs::{Disk, IoThreads};
use hadal_store::{Governor, RecordShape, RunFile, RunOptions, RunReader};
use hadal_testkit::FaultyFolder;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a reader may take.
const BUDGET: u64 = 64 << 20;
/// The name under which a run is read: its checksums know it.
pub(crate) const RUN: &str = "closed-0000000000.run";

/// Sorted runs of states of one and two words, with and without payload.
pub(crate) fn run_file(data: &[u8]) -> bool {
    let shapes = [RecordShape::states(1), RecordShape::states(2), RecordShape::with_payload(1, 1)];
    shapes.into_iter().any(|shape| {
        let folder = FaultyFolder::default();
        folder.put(RUN, data.to_vec());
        let disk = Disk::new(Arc::new(folder), IoThreads::new(0), Governor::new(BUDGET), 0);
        let Ok(run) = RunFile::open(&disk, RUN, &RunOptions::new(shape, 0)) else { return false };
        let Ok(mut reader) = RunReader::open(&run) else { return false };
        let mut block = Vec::new();
        loop {
            match reader.next_block(&mut block) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
    })
}

/// The file that names what a run has committed, and what its sections say.
pub(crate) fn manifest(data: &[u8]) -> bool {
    let folder = FaultyFolder::default();
    folder.put(&Manifest::file_name(1), data.to_vec());
    let Ok(manifest) = RunFolder::peek(&folder) else { return false };
    let _ = RunRecord::of(&manifest);
    true
}

/// The record of a search in a manifest: JSON with layers as rows.
pub(crate) fn ledger(data: &[u8]) -> bool {
    let sections: BTreeMap<String, Vec<u8>> =
        [("search".to_owned(), data.to_vec()), ("about".to_owned(), b"{}".to_vec())].into();
    let manifest = Manifest { generation: 1, fingerprint: 0, next_file: 1, files: Vec::new(), sections };
    let record = RunRecord::of(&manifest).map(|(record, _)| record.states());
    let rows = serde_json::from_slice(data).ok().and_then(|rows| layers_of(rows).ok());
    record.is_some() || rows.is_some()
}

/// Decision diagrams, one and closed sets.
pub(crate) fn diagram(data: &[u8]) -> bool {
    let one = Diagram::read_from(&mut &*data, &Governor::new(BUDGET)).is_ok();
    let closed = ClosedDiagram::read_from(&mut &*data, 2, &Governor::new(BUDGET)).is_ok();
    one || closed
}
