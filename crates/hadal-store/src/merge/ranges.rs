//! Merging range by range on several threads: what comes out is what one merge of everything gives, in the same order.
//!
//! Each thread merges a range of states of all inputs, one thread the next range after the other's; what they made of the
//! ranges before is written meanwhile, in order. Equal states lie in one range, so duplicates are found as ever. (The
//! dissertation's design of parallel detection parts states by a hash, and queues parts of a layer: Lamborn 2014, sec.
//! 5.3.2.2. Parts by range need no files of their own.)

use super::inputs::{MergeInputs, Ranges};
use super::{BlockSource, RunMerge};
use crate::error::{MergeError, ReadError, WriteError};
use crate::shape::{RecordShape, Records};
use crate::vfs::Disk;
use std::panic::resume_unwind;

/// What merging met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    pub(super) duplicates: u64,
    pub(super) comparisons: u64,
}

impl Met {
    fn of(merge: &RunMerge<'_>) -> Self {
        Met { duplicates: merge.duplicates(), comparisons: merge.comparisons() }
    }

    fn add(&mut self, other: Met) {
        self.duplicates += other.duplicates;
        self.comparisons += other.comparisons;
    }
}

/// Where merged records go.
pub(super) type Takes<'t> = dyn FnMut(Records<'_>) -> Result<(), WriteError> + 't;

/// Merges range by range. Each thread has one of `helpers`, whose `work` leaves of a batch what is to go on to `take`.
pub(super) async fn merge_ranges<H: Send>(
    disk: &Disk,
    (inputs, ranges): (&MergeInputs<'_>, &Ranges),
    helpers: &mut [H],
    work: impl Fn(&mut H, RecordShape, &mut Vec<u64>) -> Result<(), ReadError> + Sync,
    take: &mut Takes<'_>,
) -> Result<Met, MergeError> {
    let shape = ranges.shape();
    let threads = helpers.len().min(ranges.threads);
    let bytes = 3 * threads as u64 * ranges.piece_bytes;
    let buffers = disk.governor.try_reserve(bytes, "merging on threads").map_err(ReadError::from)?;
    let (mut made, mut making) = (vec![Vec::<u64>::new(); threads], vec![Vec::<u64>::new(); threads]);
    let (mut met, mut next) = (Met::default(), 0);
    while next < ranges.count() || made.iter().any(|flat| !flat.is_empty()) {
        let now = threads.min(ranges.count() - next);
        let (ended, written) = std::thread::scope(|scope| {
            let each = helpers.iter_mut().zip(&mut making).take(now).zip(next..);
            let mut spawned = Vec::new();
            for ((helper, out), number) in each {
                let work = &work;
                spawned.push(scope.spawn(move || {
                    let mut merge = inputs.merge_range(ranges, number)?;
                    let mut batch = Vec::new();
                    while merge.next_block(&mut batch)? {
                        work(helper, shape, &mut batch)?;
                        out.extend_from_slice(&batch);
                    }
                    Ok::<Met, ReadError>(Met::of(&merge))
                }));
            }
            let written = made.iter().try_for_each(|flat| take(Records::new(shape, flat)));
            // A thread that panics takes the search with it.
            let joined = spawned.into_iter().map(|thread| thread.join());
            let ended: Result<Vec<Met>, ReadError> =
                joined.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic))).collect();
            (ended, written)
        });
        written?;
        ended?.into_iter().for_each(|more| met.add(more));
        made.iter_mut().for_each(Vec::clear);
        std::mem::swap(&mut made, &mut making);
        next += now;
        disk.rest().await?;
    }
    drop(buffers);
    Ok(met)
}

#[cfg(test)]
mod tests {
    use super::super::{MergeInputs, MergeLimits, merge_unique, subtract_together};
    use crate::Governor;
    use crate::levels::{LevelPolicy, Levels};
    use crate::run::{Codec, RunFile, RunKind, RunOptions, RunReader, RunWriter};
    use crate::shape::{RecordShape, Records};
    use crate::sort::dedupe_sorted;
    use crate::vfs::{Disk, Folder, IoThreads, at_once};
    use hadal_system::random::Xorshift;
    use std::sync::Arc;

    fn disk(folder: &tempfile::TempDir, workers: usize) -> Disk {
        let vfs = Arc::new(Folder::create(folder.path()).unwrap());
        Disk::new(vfs, IoThreads::new(1), Governor::new(8 << 20), 0).with_workers(workers)
    }

    /// Ascending records of two words of state and one of payload, some of them near each other.
    fn records(random: &mut Xorshift, count: usize, shape: RecordShape) -> Vec<u64> {
        let mut rows: Vec<[u64; 3]> = (0..count)
            .map(|_| {
                let bits = random.bits();
                [bits >> 60, bits & 0xffff, bits >> 16 & 3]
            })
            .collect();
        rows.sort_unstable_by_key(|row| (row[2], row[1], row[0]));
        let mut flat = rows.concat();
        dedupe_sorted(shape, &mut flat);
        flat
    }

    fn write(disk: &Disk, options: &RunOptions, flat: &[u64]) -> RunFile {
        let mut run = RunWriter::create(disk, RunKind::Candidates, options).unwrap();
        run.push_all(Records::new(options.shape, flat)).unwrap();
        run.finish().unwrap()
    }

    fn drain(run: &RunFile) -> Vec<u64> {
        let (mut reader, mut all, mut block) = (RunReader::open(run).unwrap(), Vec::new(), Vec::new());
        while reader.next_block(&mut block).unwrap() {
            all.extend_from_slice(&block);
        }
        all
    }

    /// One thread and three give the same records, payloads and figures, and the ranges cover everything once.
    #[test]
    fn threads_change_neither_what_is_merged_nor_what_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let shape = RecordShape::with_payload(2, 1);
        let options = RunOptions {
            codec: Codec::Lz4,
            block_bytes: 1 << 10,
            chunk_bytes: 1 << 12,
            ..RunOptions::new(shape, 7)
        };
        let mut random = Xorshift::golden();
        let lists: Vec<Vec<u64>> = (0..5).map(|n| records(&mut random, 10_000 * (n + 1), shape)).collect();
        let held = records(&mut random, 3000, shape);
        let closed = records(&mut random, 40_000, shape);
        let mut outcomes = Vec::new();
        for workers in [1, 3] {
            let disk = disk(&folder, workers);
            let runs: Vec<RunFile> = lists.iter().map(|list| write(&disk, &options, list)).collect();
            let inputs = MergeInputs { runs: runs.clone(), held: Some(Records::new(shape, &held)) };
            let ranges = inputs.ranges(&disk, shape, 0).unwrap();
            assert_eq!(ranges.map_or(0, |ranges| ranges.count()) > 5, workers > 1);
            let mut levels = Levels::new(&disk, options, LevelPolicy::FilePerLayer);
            at_once(levels.add_sorted(Records::new(shape, &closed))).unwrap();
            let mut passes: Vec<_> = (0..workers).map(|_| levels.filter().unwrap()).collect();
            let mut fresh = Vec::<u64>::new();
            let done =
                at_once(subtract_together(&disk, (&inputs, shape), (&mut passes, 1 << 10), &mut fresh))
                    .unwrap();
            let limits = MergeLimits { fan_in: 9 };
            let (merged, duplicates) =
                at_once(merge_unique(&disk, runs, RunKind::Closed, &options, limits)).unwrap();
            assert!(done.duplicates_closed > 1000 && done.duplicates_within > 1000 && done.fresh > 1000);
            assert_eq!(done.fresh as usize * shape.stride(), fresh.len());
            let counts = (done.duplicates_within, done.duplicates_closed, done.fresh, duplicates);
            outcomes.push((fresh, drain(&merged), counts));
            drop((passes, levels));
            assert_eq!(disk.governor.current(), 0);
        }
        assert!(outcomes[0] == outcomes[1]);
    }

    #[test]
    fn little_is_merged_by_one_thread() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, shape) = (disk(&folder, 4), RecordShape::with_payload(2, 1));
        let options = RunOptions::new(shape, 7);
        let run = write(&disk, &options, &records(&mut Xorshift::golden(), 1000, shape));
        assert!(MergeInputs::of_runs(vec![run]).ranges(&disk, shape, 0).unwrap().is_none());
    }
}
