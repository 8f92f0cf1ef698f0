//! The default: a table in RAM while it fits, then a decision diagram, then sorted runs on disk. Nothing is explored
//! twice when the storage changes.

use crate::lane::{Lane, Parents, Task};
use crate::layered::detector::{Detector, LayerView};
use crate::layered::diagram::DiagramDetector;
use crate::layered::journal::Journal;
use crate::layered::sorted::SortedDetector;
use crate::layered::{Cache, Partial, Sweep, Trouble};
use crate::ram::Search;
use crate::ram::breadth::{Ended, Range, Walk, needed};
use crate::report::{Report, StopReason, Verdict};
use hadal_store::levels::LevelPolicy;
use hadal_store::run::RunOptions;
use hadal_store::shape::RecordShape;
use hadal_store::sort::sort_records;
use hadal_store::table::StateTable;
use hadal_store::vfs::Disk;
use hadal_store::{Governor, OverBudget};
use hadal_system::PropertyKind;
use std::sync::atomic::Ordering;

/// Shares of the budget, in percent.
const TABLE_SHARE: u64 = 45;
const CACHE_SHARE: u64 = 28;
const DIAGRAM_SHARE: u64 = 35;

/// A search that may use the disk.
pub struct AutoSearch<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: Task<'a>,
    /// Where layers go once the table is full; its governor is the budget.
    pub disk: &'a dyn Fn() -> Result<Disk, Trouble>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How many threads, at least 1.
    pub threads: usize,
}

/// Explores breadth-first, moving from one storage to the next as the budget demands.
pub fn explore(search: &AutoSearch) -> Result<Report, Trouble> {
    let writers = search.threads.max(1);
    let words = search.task.space.words();
    let table_budget = search.governor.part(share(search.governor, TABLE_SHARE));
    let ram = Search { task: search.task, governor: &table_budget, threads: writers };
    let mut lanes: Vec<Lane> = (0..writers).map(|n| Lane::new(search.task, n, Parents::Forgotten)).collect();
    let mut table = StateTable::new(words, 0, writers, &table_budget)?;
    let (ended, progress) = {
        let mut walk = Walk::new(&ram, &table);
        let ended = walk.run(&mut lanes);
        match ended {
            Ended::Full(left, full) => {
                walk.close_layer();
                let ranges: Vec<Vec<Range>> = walk.layer_ranges().collect();
                ((left, full), Begun { ranges, layers: std::mem::take(&mut walk.layers) })
            }
            Ended::Whole => return Ok(walk.report(&lanes, Verdict::Holds)),
            Ended::Decided(verdict) => return Ok(walk.report(&lanes, verdict)),
            Ended::Stopped(reason) => return Ok(walk.report(&lanes, Verdict::Stopped(reason))),
        }
    };
    let (left, full) = ended;
    let properties = search.task.space.properties();
    let liveness = search.task.question.of_kind(properties, PropertyKind::Liveness).next().is_some();
    if liveness || progress.ranges.len() < 2 {
        // Marking backwards needs every state at hand; and without room for the initial states there is no search.
        return Ok(stopped_full(&table, &lanes, progress, full, search));
    }
    table.drop_index();
    let disk = (search.disk)()?;
    let options = RunOptions::new(RecordShape::states(words), search.task.space.fingerprint());
    let mut journal = Journal::new(&disk, options)?;
    let diagram_budget = search.governor.part(share(search.governor, DIAGRAM_SHARE));
    let mut detector: Box<dyn Detector> =
        Box::new(DiagramDetector::new(words, search.task.space.bits(), writers, &diagram_budget)?);
    // The last range is the layer being found, the one before it the layer being expanded.
    let found = progress.ranges.len() - 1;
    for layer in &progress.ranges[..found] {
        let states = sorted_states(&table, layer, search.governor)?;
        let mut writer = journal.writer();
        writer.push_all(&states.flat)?;
        journal.push(writer)?;
        match detector.adopt(LayerView::States(&states.flat)) {
            Err(Trouble::OverBudget(_)) => detector = on_disk(&disk, options, &journal)?,
            other => other?,
        }
    }
    let next = sorted_states(&table, &progress.ranges[found], search.governor)?;
    match detector.offer(&next.flat) {
        Err(Trouble::OverBudget(_)) => {
            detector = on_disk(&disk, options, &journal)?;
            detector.offer(&next.flat)?;
        }
        other => other?,
    }
    drop(next);
    let rest = sorted_states(&table, &left, search.governor)?;
    drop(table);
    let finished: u64 = progress.layers.iter().map(|layer| layer.transitions).sum();
    let fired: u64 = lanes.iter().map(|lane| lane.transitions).sum();
    let gauges = &search.task.control.gauges;
    gauges.states.store((0..journal.depth()).map(|d| journal.states(d)).sum(), Ordering::Relaxed);
    let mut sweep = Sweep {
        task: search.task,
        governor: search.governor.clone(),
        cache: Cache::new(words, writers, share(search.governor, CACHE_SHARE), search.governor)?,
        lanes,
        detector,
        journal,
        layers: progress.layers,
        transitions_before: fired - finished,
        rest: Some(rest.flat),
        fallback: Some(Box::new(move |journal| on_disk(&disk, options, journal))),
    };
    let verdict = sweep.run()?;
    Ok(sweep.report(verdict))
}

/// A detector on disk that knows the layers of the journal.
fn on_disk<'a>(
    disk: &Disk,
    options: RunOptions,
    journal: &Journal,
) -> Result<Box<dyn Detector + 'a>, Trouble> {
    let mut detector = SortedDetector::new(disk, options, LevelPolicy::Merging { ratio: 3 }, Partial::Full)?;
    for depth in 0..journal.depth() {
        journal.view(depth, &mut |layer| detector.adopt(layer))?;
    }
    Ok(Box::new(detector))
}

/// What the table search had done when it was full.
struct Begun {
    ranges: Vec<Vec<Range>>,
    layers: Vec<crate::report::Layer>,
}

/// States in ascending order, under the budget.
struct Sorted {
    flat: Vec<u64>,
    _memory: hadal_store::Reservation,
}

fn sorted_states(table: &StateTable, ranges: &[Range], governor: &Governor) -> Result<Sorted, OverBudget> {
    let states: u64 = ranges.iter().map(|r| r.to - r.from).sum();
    let shape = RecordShape::states(table.words());
    let bytes = states * shape.bytes() as u64 + hadal_store::sort::scratch_bytes(shape, states as usize);
    let memory = governor.try_reserve(bytes, "sorting")?;
    let mut flat = Vec::with_capacity(states as usize * table.words());
    for range in ranges {
        table.copy_states(range.writer, range.from, range.to, &mut flat);
    }
    sort_records(shape, &mut flat);
    Ok(Sorted { flat, _memory: memory })
}

fn share(governor: &Governor, percent: u64) -> u64 {
    governor.limit() / 100 * percent
}

fn stopped_full(
    table: &StateTable,
    lanes: &[Lane],
    begun: Begun,
    full: OverBudget,
    search: &AutoSearch,
) -> Report {
    Report {
        verdict: Verdict::Stopped(StopReason::Memory { needed: needed(full) }),
        states: table.len(),
        transitions: lanes.iter().map(|lane| lane.transitions).sum(),
        depth: Some(begun.layers.len() as u64),
        covers: crate::lane::total_covers(lanes, search.task.space.properties().len()),
        layers: begun.layers,
        peak_memory: search.governor.peak(),
    }
}
