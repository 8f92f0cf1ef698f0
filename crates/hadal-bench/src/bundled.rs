//! Models of the repository, compiled in: suites of them run wherever hadal does.

use crate::error::BenchError;
use crate::scratch::Scratch;

/// Cases whose model begins with this are bundled.
pub const FOLDER: &str = "models/";

const MODELS: [(&str, &str); 13] = [
    ("models/arbiter_tree.mdve", include_str!("../models/arbiter_tree.mdve")),
    ("models/broker.pml", include_str!("../models/broker.pml")),
    ("models/fischer.mdve", include_str!("../models/fischer.mdve")),
    ("models/hanoi.mdve", include_str!("../models/hanoi.mdve")),
    ("models/hbahn.mdve", include_str!("../models/hbahn.mdve")),
    ("models/line_segment.mdve", include_str!("../models/line_segment.mdve")),
    ("models/mutex_board.mdve", include_str!("../models/mutex_board.mdve")),
    ("models/peterson.m", include_str!("../models/peterson.m")),
    ("models/philosophers.mdve", include_str!("../models/philosophers.mdve")),
    ("models/telegraph.mdve", include_str!("../models/telegraph.mdve")),
    ("models/ticket_lock.m", include_str!("../models/ticket_lock.m")),
    ("models/tiles.m", include_str!("../models/tiles.m")),
    ("models/tram_segment.mdve", include_str!("../models/tram_segment.mdve")),
];

/// Writes all of them into a folder `models` of `scratch`.
pub fn write_all(scratch: &Scratch) -> Result<(), BenchError> {
    let folder = scratch.file(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| BenchError::File { path: folder.clone(), error })?;
    MODELS.iter().try_for_each(|(name, text)| crate::write(&scratch.file(name), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn every_bundled_case_has_its_model() {
        let suites = suite::all().expect("the table is well formed");
        let cases =
            suites.iter().flat_map(|suite| &suite.cases).filter(|case| case.model.starts_with(FOLDER));
        let mut count = 0;
        for case in cases {
            assert!(MODELS.iter().any(|(name, _)| *name == case.model), "{}", case.model);
            count += 1;
        }
        assert!(count > 5);
    }
}
