//! What a commit keeps of External A*: the files of every bucket, and what was counted.

use super::figures::ExternalFigures;
use super::matrix::{Cell, Matrix, OpenBucket};
use super::part::{Part, Place, Shelf, Stored};
use super::{Flush, StopAt, TraceBy};
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use hadal_store::manifest::Manifest;
use hadal_store::run::{RunFile, RunOptions};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The manifest section it stands in.
pub(super) const SECTION: &str = "external";

/// A search between two expansions.
#[derive(Serialize, Deserialize)]
pub(super) struct SearchRecord {
    pub(super) trace_by: TraceBy,
    pub(super) stop_at: StopAt,
    pub(super) bound: Option<u64>,
    #[serde(default)]
    pub(super) flush: Flush,
    /// How far states are written.
    #[serde(default)]
    pub(super) reach: Option<u64>,
    /// Row, column and the least f left out of buckets that left out any.
    #[serde(default)]
    pub(super) left_out: Vec<(u64, u32, u64)>,
    pub(super) expansions: u64,
    pub(super) covers: Vec<u64>,
    pub(super) seconds: f64,
    pub(super) figures: ExternalFigures,
    pub(super) open: Vec<BucketRecord>,
    pub(super) closed: Vec<BucketRecord>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct BucketRecord {
    g: u64,
    h: u32,
    #[serde(rename = "n", default)]
    raw: u64,
    #[serde(rename = "p")]
    parts: Vec<PartRecord>,
}

/// A file, how many records of it belong to the part, and the part's number if the file is a bundle.
#[derive(Serialize, Deserialize)]
struct PartRecord(String, u64, #[serde(default)] Option<u64>);

/// What was committed last.
pub(super) fn read(ledger: &Ledger) -> Option<SearchRecord> {
    serde_json::from_slice(ledger.section(SECTION)?).ok()
}

/// Numbers the commits of workers by the expansions before them.
pub(super) fn moment(manifest: &Manifest) -> Option<u64> {
    #[derive(Deserialize)]
    struct Expansions {
        expansions: u64,
    }
    let record: Expansions = serde_json::from_slice(manifest.sections.get(SECTION)?).ok()?;
    Some(record.expansions)
}

impl SearchRecord {
    /// What all workers know: the buckets without their states.
    pub(super) fn without_states(mut self) -> Self {
        self.open.iter_mut().for_each(|bucket| bucket.parts.clear());
        self.closed.clear();
        self
    }
}

impl BucketRecord {
    pub(super) fn cell(&self) -> Cell {
        Cell { g: self.g, h: self.h }
    }
}

/// All buckets; every part must have a copy on disk.
pub(super) fn buckets(matrix: &Matrix) -> (Vec<BucketRecord>, Vec<BucketRecord>) {
    let open = matrix.open.iter().map(|(&rank, bucket)| {
        let Cell { g, h } = Cell::of_rank(rank);
        BucketRecord { g, h, raw: bucket.raw, parts: bucket.parts.iter().filter_map(part).collect() }
    });
    let closed = matrix.columns.iter().flat_map(|(&h, column)| {
        let rows = column.rows.iter();
        rows.map(move |(&g, parts)| BucketRecord {
            g,
            h,
            raw: 0,
            parts: parts.iter().filter_map(part).collect(),
        })
    });
    (open.collect(), closed.collect())
}

fn part(part: &Part) -> Option<PartRecord> {
    Some(match part.stored()? {
        Stored::Run(run) => PartRecord(run.name().to_owned(), part.records, None),
        Stored::Bundle { run, id } => PartRecord(run.name().to_owned(), part.records, Some(*id)),
    })
}

/// Puts the buckets of a record into an empty matrix.
pub(super) fn restore(record: &SearchRecord, matrix: &mut Matrix, shelf: &Shelf) -> Result<(), Trouble> {
    let mut files = Files { shelf, bundled: shelf.bundle_options(), open: HashMap::new() };
    for bucket in &record.open {
        let cell = Cell { g: bucket.g, h: bucket.h };
        let parts = files.parts(bucket)?;
        matrix.open.insert(cell.rank(), OpenBucket { raw: bucket.raw, parts });
    }
    for bucket in &record.closed {
        let parts = files.parts(bucket)?;
        matrix.columns.entry(bucket.h).or_default().rows.insert(bucket.g, parts);
    }
    Ok(())
}

/// The parts of every bucket of a record, open ones first.
pub(super) fn parts_of<'r>(
    buckets: &'r [BucketRecord],
    shelf: &'r Shelf,
) -> impl Iterator<Item = Result<(Cell, Vec<Part>), Trouble>> + 'r {
    let mut files = Files { shelf, bundled: shelf.bundle_options(), open: HashMap::new() };
    buckets.iter().map(move |bucket| Ok((bucket.cell(), files.parts(bucket)?)))
}

/// Opens each file once.
struct Files<'a> {
    shelf: &'a Shelf,
    bundled: RunOptions,
    open: HashMap<String, RunFile>,
}

impl Files<'_> {
    fn parts(&mut self, bucket: &BucketRecord) -> Result<Vec<Part>, Trouble> {
        bucket.parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(&mut self, PartRecord(name, records, id): &PartRecord) -> Result<Part, Trouble> {
        let run = match self.open.get(name) {
            Some(run) => run.clone(),
            None => {
                let options = if id.is_some() { &self.bundled } else { &self.shelf.options };
                let run = RunFile::open(&self.shelf.disk, name, options)?;
                self.open.insert(name.clone(), run.clone());
                run
            }
        };
        let stored = match *id {
            Some(id) => Stored::Bundle { run, id },
            None => Stored::Run(run),
        };
        Ok(Part { records: *records, place: Place::Stored(stored), made_in: 0 })
    }
}
