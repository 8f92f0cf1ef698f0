//! Diagrams as bytes: what a layer commits. The layout is specified in `docs/diagram.md`.

mod read;
mod write;

use std::io;

use crate::OverBudget;

/// Why a diagram could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum DiagramReadError {
    /// The bytes are not what was written.
    #[error("the diagram is corrupted{}: {what}", block.map_or(String::new(), |block| format!(" in block {block}")))]
    Corrupted {
        /// The block at fault; `None` for a header.
        block: Option<u64>,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The bytes are something else, or of another version.
    #[error("not a diagram for this run: {0}")]
    Foreign(&'static str),
    /// The system refused.
    #[error("cannot read the diagram: {0}")]
    Io(io::Error),
    /// The diagram does not fit the budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

impl From<io::Error> for DiagramReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                DiagramReadError::Corrupted { block: None, what: "it ends too early" }
            }
            _ => DiagramReadError::Io(error),
        }
    }
}

const MAGIC: &[u8; 8] = b"HADALDGM";
const CLOSED_MAGIC: &[u8; 8] = b"HADALDGS";
const VERSION: u16 = 1;
/// Nodes are gathered into blocks until they have this many bytes.
const BLOCK_BYTES: usize = 1 << 16;
/// A block is no longer than this: one node more.
const MAX_BLOCK_BYTES: usize = BLOCK_BYTES + 8192;
/// Most sets in a file.
const MAX_ROOTS: usize = 64;
/// Most shards in a file.
const MAX_SHARDS: usize = 1 << 16;

/// The number of a node in a file: the constants, then the nodes.
const FIRST_NUMBER: u64 = 2;

/// This bit marks a reference that is a short leaf chain itself.
const INLINE_NUMBER: u64 = 1 << 63;

/// The checksum of a block, which also says where it belongs.
fn block_checksum(body: &[u8], header_checksum: u64, block: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(body, header_checksum.wrapping_add(block))
}

fn header_checksum(header: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(header)
}
