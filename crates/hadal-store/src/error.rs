//! What can go wrong with files: reading, writing, and merging (which does both).

use std::io;

use crate::governor::OverBudget;

/// A file that does not hold what it must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Corrupted {
    /// Name of the file in the run folder.
    pub file: String,
    /// The block, where one block is at fault.
    pub block: Option<u64>,
    /// What is wrong with it.
    pub what: &'static str,
}

impl std::fmt::Display for Corrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.block {
            Some(block) => write!(f, "`{}`, block {block}, is corrupted: {}", self.file, self.what),
            None => write!(f, "`{}` is corrupted: {}", self.file, self.what),
        }
    }
}

/// Whether a checksum is the one that was computed. Under fuzzing every one is, so that what lies behind is reached.
pub(crate) fn checksums_agree(computed: u64, found: u64) -> bool {
    computed == found || cfg!(fuzzing)
}

/// Why a run could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not what was written.
    #[error(transparent)]
    Corrupted(#[from] Corrupted),
    /// A healthy file of something else: another model, another kind of record, another version.
    #[error("`{file}` does not belong here: {what}")]
    Foreign {
        /// Name of the file in the run folder.
        file: String,
        /// What differs.
        what: &'static str,
    },
    /// The operating system refused.
    #[error("cannot read `{file}`: {source}")]
    Io {
        /// Name of the file in the run folder.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The buffers do not fit the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// Somebody pulled the [brake](crate::vfs::Brake).
    #[error("reading was stopped")]
    Stopped,
}

/// Why a run could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No space left. What was committed before is intact.
    #[error("the disk is full: `{file}` could not be written")]
    DiskFull {
        /// Name of the file in the run folder.
        file: String,
    },
    /// The operating system refused.
    #[error("cannot write `{file}`: {source}")]
    Io {
        /// Name of the file in the run folder.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The caller broke the promise that states strictly ascend.
    #[error("states for `{file}` do not strictly ascend")]
    NotAscending {
        /// Name of the file in the run folder.
        file: String,
    },
    /// The buffers do not fit the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// Why a merge stopped.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// An input failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output failed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ReadError {
    pub(crate) fn io(file: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Corrupted::file(file, "it ends too early").into(),
            _ => ReadError::Io { file: file.to_owned(), source },
        }
    }
}

impl WriteError {
    pub(crate) fn io(file: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                WriteError::DiskFull { file: file.to_owned() }
            }
            _ => WriteError::Io { file: file.to_owned(), source },
        }
    }
}

impl MergeError {
    /// Whether the cause is a full disk, which pauses a run and loses nothing.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, MergeError::Write(WriteError::DiskFull { .. }))
    }
}

impl Corrupted {
    pub(crate) fn file(file: &str, what: &'static str) -> Self {
        Corrupted { file: file.to_owned(), block: None, what }
    }

    pub(crate) fn block(file: &str, block: u64, what: &'static str) -> Self {
        Corrupted { file: file.to_owned(), block: Some(block), what }
    }
}
