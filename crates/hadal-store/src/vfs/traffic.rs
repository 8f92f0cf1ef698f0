//! What was moved between memory and disk: bytes, records, and blocks in transfers, as models of external memory count them
//! (Aggarwal and Vitter 1988).

use super::{ReadSpeed, SECTOR};
use crate::run::RunKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Blocks of [`SECTOR`] bytes that were moved one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// The blocks; one that is moved in part counts.
    pub blocks: u64,
    /// In how many operations.
    pub operations: u64,
    /// Operations that did not go on where the one before in the same stream ended.
    pub jumps: u64,
}

/// What was moved of runs of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransfersOfKind {
    /// The kind; nothing stands for what no kind is counted for.
    pub kind: Option<RunKind>,
    /// From the disk.
    pub read: Transfers,
    /// To the disk.
    pub written: Transfers,
}

/// Where an operation takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Where the one before in its stream ended.
    Next,
    /// Elsewhere.
    Jump,
}

#[derive(Debug, Default)]
struct Counter {
    bytes: AtomicU64,
    blocks: AtomicU64,
    operations: AtomicU64,
    jumps: AtomicU64,
}

impl Counter {
    fn count(&self, bytes: u64, position: Position) {
        let add = |counter: &AtomicU64, count| counter.fetch_add(count, Ordering::Relaxed);
        add(&self.bytes, bytes);
        add(&self.blocks, bytes.div_ceil(SECTOR as u64));
        add(&self.operations, 1);
        add(&self.jumps, u64::from(position == Position::Jump));
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn transfers(&self) -> Transfers {
        let [blocks, operations, jumps] =
            [&self.blocks, &self.operations, &self.jumps].map(|it| it.load(Ordering::Relaxed));
        Transfers { blocks, operations, jumps }
    }
}

/// Kinds that are counted, and the rest.
const KINDS: usize = RunKind::ALL.len() + 1;

/// What was read and written, and what reading costs.
#[derive(Debug, Default)]
pub struct Traffic {
    /// What reads cost.
    pub speed: ReadSpeed,
    read: AtomicU64,
    written: AtomicU64,
    records_read: AtomicU64,
    records_written: AtomicU64,
    /// Streams read and written, by what they hold; the last for those of no kind.
    by_kind: [(Counter, Counter); KINDS],
    /// Nanoseconds that took.
    nanos_by_kind: [(AtomicU64, AtomicU64); RunKind::ALL.len()],
}

impl Traffic {
    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Bytes read and written so far.
    pub fn bytes_moved(&self) -> u64 {
        self.bytes_read() + self.bytes_written()
    }

    /// Records of runs read, and written, so far.
    pub fn records(&self) -> (u64, u64) {
        (self.records_read.load(Ordering::Relaxed), self.records_written.load(Ordering::Relaxed))
    }

    /// Counts records of a run that are read.
    pub(crate) fn count_records_read(&self, records: u64) {
        self.records_read.fetch_add(records, Ordering::Relaxed);
    }

    /// Counts records of a run that are written.
    pub(crate) fn count_records_written(&self, records: u64) {
        self.records_written.fetch_add(records, Ordering::Relaxed);
    }

    /// Bytes of runs of this kind read, and written, so far.
    pub fn of_kind(&self, kind: RunKind) -> (u64, u64) {
        let (read, written) = &self.by_kind[kind as usize];
        (read.bytes(), written.bytes())
    }

    /// Time that reading and writing runs of this kind took so far, all threads together.
    pub fn time_of_kind(&self, kind: RunKind) -> (Duration, Duration) {
        let (read, written) = &self.nanos_by_kind[kind as usize];
        let time = |nanos: &AtomicU64| Duration::from_nanos(nanos.load(Ordering::Relaxed));
        (time(read), time(written))
    }

    /// Counts the time since a read began.
    pub(crate) fn count_reading(&self, kind: Option<RunKind>, begun: Instant) {
        if let Some(kind) = kind {
            let nanos = begun.elapsed().as_nanos() as u64;
            self.nanos_by_kind[kind as usize].0.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    /// Counts the time since a write began.
    pub(crate) fn count_writing(&self, kind: Option<RunKind>, begun: Instant) {
        if let Some(kind) = kind {
            let nanos = begun.elapsed().as_nanos() as u64;
            self.nanos_by_kind[kind as usize].1.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    /// Blocks that streams moved, by what they hold.
    pub fn transfers(&self) -> [TransfersOfKind; KINDS] {
        std::array::from_fn(|n| {
            let (read, written) = &self.by_kind[n];
            let kind = RunKind::ALL.get(n).copied();
            TransfersOfKind { kind, read: read.transfers(), written: written.transfers() }
        })
    }

    /// Blocks that streams moved, either way.
    pub fn blocks(&self) -> u64 {
        self.transfers().iter().map(|it| it.read.blocks + it.written.blocks).sum()
    }

    /// Counts what a stream reads.
    pub(crate) fn count_read(&self, kind: Option<RunKind>, bytes: u64, position: Position) {
        self.add_read(bytes);
        self.by_kind[place_of(kind)].0.count(bytes, position);
    }

    /// Counts what a stream writes.
    pub(crate) fn count_written(&self, kind: Option<RunKind>, bytes: u64, position: Position) {
        self.add_written(bytes);
        self.by_kind[place_of(kind)].1.count(bytes, position);
    }

    /// Counts bytes that somebody reads past the streams of runs.
    pub fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that somebody writes past the streams of runs.
    pub fn add_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn place_of(kind: Option<RunKind>) -> usize {
    kind.map_or(RunKind::ALL.len(), |kind| kind as usize)
}
