//! A decision diagram in a file.
#![no_main]

use hadal_store::Governor;
use hadal_store::diagram::{ClosedDiagram, Diagram};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = Diagram::read_from(&mut &*data, &Governor::new(64 << 20));
    let _ = ClosedDiagram::read_from(&mut &*data, 2, &Governor::new(64 << 20));
});
