//! Bytes under a budget: the memory governor, sorted runs of states on disk and what is built on them.
//!
//! Files are described byte by byte in `docs/format.md`.
pub mod bitmap;
pub mod diagram;
pub mod error;
pub mod filter;
pub mod governor;
pub mod levels;
pub mod manifest;
pub mod merge;
pub mod run;
pub mod shape;
pub mod sort;
pub mod table;
pub mod vfs;

pub use bitmap::Bitmap;
pub use error::{Corrupted, MergeError, ReadError, WriteError};
pub use governor::{Governor, OverBudget, Reservation};
pub use levels::{LevelPolicy, Levels};
pub use manifest::{Commit, Manifest, Medium, RunFolder};
pub use merge::{RunMerge, subtract_closed};
pub use run::{Codec, RunFile, RunKind, RunOptions, RunProbe, RunReader, RunWriter};
pub use shape::{RecordShape, Records};
pub use vfs::Disk;
