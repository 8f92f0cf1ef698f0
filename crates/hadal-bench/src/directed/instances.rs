//! The instances of the tables as bundled models with constants.

use crate::scratch::Scratch;
use std::path::PathBuf;

/// A bundled model of a certain size.
pub(super) struct Instance {
    pub(super) model: PathBuf,
    pub(super) constants: Vec<(String, i64)>,
    /// What is looked for, where it is not everything.
    pub(super) property: Option<String>,
}

/// The line segment: sensors, and those of them that the segment polls as well, which gives the published numbers of processes
/// and variables.
const SEGMENTS: [(i64, i64); 9] = [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (5, 3)];
/// Mutual exclusion over a board of lines: which nodes have users.
const BOARDS: [(i64, i64); 4] = [(0, 0), (1, 0), (0, 1), (1, 1)];

impl Instance {
    /// The instance that a table calls `name`.
    pub(super) fn named(name: &str, scratch: &Scratch) -> Option<Instance> {
        let size: i64 = name.get(1..)?.parse().ok()?;
        let of = |family: &str, constants: &[(&str, i64)], property| Instance {
            model: scratch.file(family),
            constants: constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            property,
        };
        let nth = usize::try_from(size - 1).ok();
        Some(match name.get(..1)? {
            "A" => {
                let property = format!("C{}.work", (1i64 << (size - 1)) - 1);
                of("models/arbiter_tree.mdve", &[("DEPTH", size)], Some(property))
            }
            "F" => of("models/fischer.mdve", &[("N", size)], None),
            "H" => of("models/hanoi.mdve", &[("N", size)], Some(format!("Disc{size}.i1"))),
            "S" => {
                let &(inputs, extra) = SEGMENTS.get(nth?)?;
                of("models/line_segment.mdve", &[("INPUTS", inputs), ("EXTRA", extra)], None)
            }
            family @ ("M" | "N") => {
                let &(first, second) = BOARDS.get(nth?)?;
                let slower = i64::from(family == "N");
                let constants =
                    [("USER0", first), ("USER1", second), ("COPIES", slower), ("ROUNDS", 2 + slower)];
                of("models/mutex_board.mdve", &constants, None)
            }
            _ => return None,
        })
    }
}
