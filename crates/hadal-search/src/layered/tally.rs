//! What a layered search counts: rows of figures by layer, covers and firings, and what earlier sittings left.

use super::detector::Found;
use crate::firings::Counts;
use crate::report::{DetectionWork, Layer, Stage};
use hadal_store::run::RunKind;
use hadal_store::vfs::Disk;
use hadal_system::StateSpace;

/// Everything that is counted.
pub(crate) struct Counted {
    /// Figures of the expanded layers.
    pub(crate) layers: Vec<Layer>,
    /// Figures of the layer being expanded.
    pub(in crate::layered) row: Layer,
    /// Generated states that this worker left to be decided by their owners, where there are several.
    pub(in crate::layered) passed: Option<u64>,
    /// What was counted when the last layer was complete.
    pub(crate) counts: Counts,
    /// What earlier sittings counted.
    before: Counts,
    /// What was counted in states that were explored again.
    again: Counts,
    /// Seconds spent in earlier sittings.
    pub(in crate::layered) seconds_before: f64,
    /// How states were stored in this sitting.
    pub(in crate::layered) stages: Vec<Stage>,
}

impl Counted {
    /// As an earlier sitting left it.
    pub(in crate::layered) fn new(
        space: &dyn StateSpace,
        layers: Vec<Layer>,
        counts: Counts,
        seconds_before: f64,
        stages: Vec<Stage>,
    ) -> Self {
        let (before, again) = (counts.clone(), Counts::zero(space));
        Counted { layers, row: Layer::default(), passed: None, counts, before, again, seconds_before, stages }
    }

    /// As a search of the same sitting left it, whose lanes still have what they counted; of the layer being found this
    /// many states were offered.
    pub(in crate::layered) fn go_on_with(&mut self, space: &dyn StateSpace, offered: u64) {
        self.before = Counts::zero(space);
        self.row.candidates = offered;
    }

    /// Transitions out of the expanded layers.
    pub(in crate::layered) fn transitions(&self) -> u64 {
        self.layers.iter().map(|layer| layer.transitions).sum()
    }

    /// What all sittings counted, if this one counted `now`.
    pub(in crate::layered) fn sum(&self, mut now: Counts) -> Counts {
        now.add(&self.before);
        now.take_off(&self.again);
        now
    }

    /// Takes off what was counted in states that were explored again.
    pub(in crate::layered) fn take_off(&mut self, again: &Counts) {
        self.again.add(again);
        self.counts.take_off(again);
    }

    /// Completes this worker's figures of the expanded layer.
    pub(in crate::layered) fn end_row(
        &mut self,
        found: Found,
        unique: u64,
        before: &DiskMark,
        now: &DiskMark,
    ) -> Layer {
        let mut row = std::mem::take(&mut self.row);
        row.duplicates_cache = row.transitions - self.passed.take().unwrap_or(row.candidates);
        row.unique = unique;
        row.duplicates.within = found.within;
        row.duplicates.earlier = found.earlier;
        row.duplicates.either = row.candidates - unique - found.within - found.earlier;
        row.by_distance = found.by_distance;
        row.window = found.window;
        row.detection = DetectionWork { layer_read: row.detection.layer_read, ..found.work };
        before.complete(&mut row, now);
        row
    }
}

impl DiskMark {
    /// Adds what was done since the figures of a layer were completed.
    pub(in crate::layered) fn complete(&self, row: &mut Layer, now: &DiskMark) {
        row.bytes_read = now.read - self.read;
        row.bytes_written = now.written - self.written;
        row.seconds.waiting = now.waited - self.waited;
        let since =
            |kind: usize| (now.kinds[kind].0 - self.kinds[kind].0, now.kinds[kind].1 - self.kinds[kind].1);
        let work = &mut row.detection;
        (work.candidates_read, work.candidates_written) = since(RunKind::Candidates as usize);
        (work.closed_read, work.closed_written) = since(RunKind::Closed as usize);
        let layers = since(RunKind::Frontier as usize);
        // The files of layers are closed states' too: what is read of them after the expansion is looked up.
        work.closed_read += layers.0.saturating_sub(work.layer_read);
        work.next_written = layers.1;
        let time =
            |kind: usize| (now.times[kind].0 - self.times[kind].0, now.times[kind].1 - self.times[kind].1);
        let files = &mut row.seconds.files;
        (files.candidates_read, files.candidates_written) = time(RunKind::Candidates as usize);
        (files.closed_read, files.closed_written) = time(RunKind::Closed as usize);
        let layers = time(RunKind::Frontier as usize);
        files.closed_read += (layers.0 - files.layer_read).max(0.0);
        files.next_written = layers.1;
    }
}

/// What the disk had done when a layer began.
pub(in crate::layered) struct DiskMark {
    read: u64,
    written: u64,
    waited: f64,
    /// Bytes of runs read and written, by kind.
    kinds: [(u64, u64); RunKind::ALL.len()],
    /// Seconds that took.
    times: [(f64, f64); RunKind::ALL.len()],
}

impl DiskMark {
    /// Bytes of layers that were read since, and how many seconds that took.
    pub(in crate::layered) fn layers_read(&self, disk: &Disk) -> (u64, f64) {
        let (bytes, seconds) =
            (disk.traffic.of_kind(RunKind::Frontier).0, times_of(disk, RunKind::Frontier).0);
        let kind = RunKind::Frontier as usize;
        (bytes - self.kinds[kind].0, seconds - self.times[kind].0)
    }

    pub(in crate::layered) fn of(disk: &Disk) -> Self {
        DiskMark {
            read: disk.traffic.bytes_read(),
            written: disk.traffic.bytes_written(),
            waited: disk.threads.waited().as_secs_f64(),
            kinds: RunKind::ALL.map(|kind| disk.traffic.of_kind(kind)),
            times: RunKind::ALL.map(|kind| times_of(disk, kind)),
        }
    }
}

/// Seconds that reading and writing runs of this kind took.
fn times_of(disk: &Disk, kind: RunKind) -> (f64, f64) {
    let (read, written) = disk.traffic.time_of_kind(kind);
    (read.as_secs_f64(), written.as_secs_f64())
}
