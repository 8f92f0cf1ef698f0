//! The loop of a layered search: expand a layer, let the detector find the next, commit (Lamborn 2014, sec. 3.1).

use super::cache::Cache;
use super::detector::{Detector, Found, Nothing};
use super::journal::Journal;
use super::ledger::{Ledger, RunRecord, Tally};
use super::{Trouble, path};
use crate::control::WhenFull;
use crate::finding::Finding;
use crate::firings::Counts;
use crate::fixpoint::{JournalClosed, Keeper, Pass};
use crate::lane::{Lane, Sink, Task, has_found, take_finding, total_counts};
use crate::report::{
    CoverFigures, DiskFigures, Layer, Proviso, Report, Stage, StopReason, Verdict, Violation, ViolationKind,
};
use crate::run::{Answer, RUNNING, covered, out_of_memory, status};
use hadal_store::vfs::Disk;
use hadal_store::{Governor, Reservation};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// States a thread takes at a time.
const PIECE: usize = 256;
/// Blocks with fewer states are expanded by one thread.
const SHARED_FROM: usize = 2048;

/// Makes the detector that takes over; it knows no layer yet.
pub(crate) type Fallback<'a> = Box<dyn FnOnce() -> Result<Box<dyn Detector + 'a>, Trouble> + 'a>;

/// A layered search that is under way.
pub(crate) struct Sweep<'a> {
    pub(crate) task: Task<'a>,
    pub(crate) governor: Governor,
    pub(crate) lanes: Vec<Lane<'a>>,
    pub(crate) detector: Box<dyn Detector + 'a>,
    pub(crate) journal: Journal,
    /// Figures of the expanded layers.
    pub(crate) layers: Vec<Layer>,
    /// Figures of the layer being expanded.
    pub(crate) figures: Layer,
    /// Transitions of the layer being expanded that were fired before this search took over.
    pub(crate) transitions_before: u64,
    /// What earlier sittings counted.
    pub(crate) counts_before: Counts,
    /// What was counted when the last layer was complete.
    pub(crate) counts: Counts,
    /// Seconds spent in earlier sittings.
    pub(crate) seconds_before: f64,
    pub(crate) disk: Disk,
    /// Where progress is committed; a search for a trace commits nothing.
    pub(crate) ledger: Option<Ledger>,
    pub(crate) stages: Vec<Stage>,
    /// States of the current layer still to expand, where another search began it.
    pub(crate) rest: Option<(Vec<u64>, Reservation)>,
    /// What to turn to when the detector's memory is used up.
    pub(crate) fallback: Option<Fallback<'a>>,
    pub(crate) cache: Cache,
    pub(crate) keep: Keep,
    /// Whether deleted layers, or a bound, qualify the answer.
    pub(crate) proviso: Option<Proviso>,
    /// The depth of the first state of a violation's path: above 0 where layers before it are deleted.
    pub(crate) path_begins_at: usize,
    /// What was counted in states that were explored again.
    pub(crate) counts_again: Counts,
    /// What is left of the states up to covering, once everything is seen.
    pub(crate) covering: Option<CoverFigures>,
}

/// Which layers stay on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keep {
    /// At most this many bytes of layers; the two last ones stay in any case.
    pub(crate) bytes: Option<u64>,
    /// At most this many layers, and at least two.
    pub(crate) layers: Option<u64>,
    /// Nothing new lies deeper than this.
    pub(crate) diameter: Option<u64>,
}

impl Keep {
    /// Every layer.
    pub(crate) const ALL: Keep = Keep { bytes: None, layers: None, diameter: None };
}

/// What the disk had done when a layer began.
struct DiskMark {
    read: u64,
    written: u64,
    waited: f64,
}

impl<'a> Sweep<'a> {
    /// Goes on until everything is seen, something is wrong, or a limit is met; a full disk is such a limit.
    pub(crate) fn run(&mut self) -> Result<Verdict, Trouble> {
        let mut verdict = match self.expand_all() {
            Err(trouble) if trouble.is_disk_full() => Verdict::Stopped(StopReason::DiskFull),
            other => other?,
        };
        if verdict != Verdict::Stopped(StopReason::DiskFull) {
            match self.settle() {
                Err(trouble) if trouble.is_disk_full() && matches!(verdict, Verdict::Violated(_)) => {}
                Err(trouble) if trouble.is_disk_full() => verdict = Verdict::Stopped(StopReason::DiskFull),
                other => other?,
            }
        }
        if verdict == Verdict::Holds {
            self.covering = self.detector.covering()?;
        }
        if self.is_unsettled() {
            // The last commit stands.
            return Ok(verdict);
        }
        if verdict == Verdict::Stopped(StopReason::DiskFull) {
            // What detection needs can be made again from the layers, and its room is needed to commit them.
            self.detector = Box::new(Nothing);
        }
        match self.commit(&status(&verdict)) {
            // What was committed before stands, and the reason is the same.
            Err(trouble) if trouble.is_disk_full() => {}
            other => other?,
        }
        Ok(verdict)
    }

    fn expand_all(&mut self) -> Result<Verdict, Trouble> {
        loop {
            let depth = self.journal.depth() - 1;
            if self.layers.len() > depth {
                // The run was committed when its last layer was expanded: there is nothing left to do.
                return self.complete();
            }
            let limits = &self.task.control.limits;
            if limits.max_depth.is_some_and(|max| depth as u64 >= max) && self.rest.is_none() {
                return Ok(Verdict::Stopped(StopReason::DepthLimit));
            }
            if let Some(bound) = self.keep.diameter.filter(|&bound| depth as u64 > bound) {
                // Whatever is here was met before, in a layer that is gone.
                self.proviso = Some(Proviso::Diameter { bound });
                return self.complete();
            }
            let before = self.fired() - std::mem::take(&mut self.transitions_before);
            let mark = self.disk_mark();
            let stopped = self.expand_layer(depth)?;
            if stopped.is_none() {
                self.drain()?;
            }
            if let Some(reason) = stopped {
                return Ok(Verdict::Stopped(reason));
            }
            if let Some(finding) = take_finding(&mut self.lanes) {
                return self.violated(finding, depth);
            }
            let mut layer = self.journal.writer();
            let begun = Instant::now();
            let found = self.detector.finish_layer(&mut layer)?;
            let unique = layer.states();
            self.figures.candidates += found.besides;
            self.figures.transitions = self.fired() - before;
            self.figures.states = self.journal.states(depth);
            if let Some(partial) = self.detector.partial() {
                self.journal.keep_apart_from(partial.settled() as usize);
            }
            let pushed = if unique > 0 { self.journal.push(layer) } else { Ok(()) };
            if unique == 0 || self.journal.depth() > depth + 1 {
                // The layer counts as expanded exactly if the journal has the next one, also when something fails here.
                self.figures.seconds.detecting += begun.elapsed().as_secs_f64();
                self.end_row(found, unique, &mark);
                self.counts = self.counts_now();
            }
            pushed?;
            if unique == 0 {
                return self.complete();
            }
            self.task.control.gauges.states.fetch_add(unique, Ordering::Relaxed);
            let (detector, begun) = (&mut self.detector, Instant::now());
            self.journal.view_last(&mut |layer| detector.closed(depth as u64 + 1, layer))?;
            self.figures.seconds.detecting += begun.elapsed().as_secs_f64();
            if self.detector.struggles() {
                self.fall_back()?;
            }
            if self.detector.partial().is_some_and(|partial| partial.is_due()) {
                self.settle()?;
            }
            self.delete_old()?;
            if let Some(warning) = self.ledger.as_mut().and_then(|ledger| ledger.foresee(&self.journal)) {
                self.task.control.warn(warning);
            }
            if self.ledger.as_ref().is_some_and(Ledger::is_due) && !self.is_unsettled() {
                self.commit(RUNNING)?;
            }
        }
    }

    /// Completes the figures of the expanded layer.
    fn end_row(&mut self, found: Found, unique: u64, mark: &DiskMark) {
        let now = self.disk_mark();
        let mut row = std::mem::take(&mut self.figures);
        row.duplicates_cache = row.transitions - row.candidates;
        row.unique = unique;
        row.duplicates_within = found.within;
        row.duplicates_earlier = found.earlier;
        row.duplicates_either = row.candidates - unique - found.within - found.earlier;
        row.by_distance = found.by_distance;
        row.bytes_read = now.read - mark.read;
        row.bytes_written = now.written - mark.written;
        row.seconds.waiting = now.waited - mark.waited;
        self.layers.push(row);
    }

    fn disk_mark(&self) -> DiskMark {
        let disk = &self.disk;
        DiskMark {
            read: disk.traffic.bytes_read(),
            written: disk.traffic.bytes_written(),
            waited: disk.threads.waited().as_secs_f64(),
        }
    }

    /// Whether layers may still hold states of earlier ones, so that they cannot be committed.
    fn is_unsettled(&mut self) -> bool {
        let depth = self.journal.depth() as u64;
        self.detector.partial().is_some_and(|partial| partial.settled() < depth)
    }

    /// Deletes the oldest layers where the rest is all that may be kept (Lamborn and Hansen 2006).
    fn delete_old(&mut self) -> Result<(), Trouble> {
        let last = self.journal.depth() - 1;
        let mut first = self.journal.first_kept();
        while first + 1 < last && self.must_delete(first, last) {
            self.journal.delete_first();
            first += 1;
            self.proviso = Some(Proviso::LayersDeleted { before: first as u64 });
        }
        if self.proviso.is_some() {
            self.detector.forget_before(first as u64);
        }
        Ok(())
    }

    fn must_delete(&self, first: usize, last: usize) -> bool {
        let many = self.keep.layers.is_some_and(|layers| (last - first + 1) as u64 > layers.max(2));
        many || self.keep.bytes.is_some_and(|bytes| self.journal.bytes_held() > bytes)
    }

    /// Finds the initial states: the first layer.
    pub(crate) fn start(&mut self) -> Result<Option<Verdict>, Trouble> {
        let mut taken = self.lanes[0].start(self.cache.store());
        while taken.is_err() {
            self.drain()?;
            self.cache.make_room()?;
            taken = self.lanes[0].finish_batch(self.cache.store());
        }
        self.drain()?;
        self.figures = Layer::default();
        if let Some(finding) = take_finding(&mut self.lanes) {
            let path = if finding.state.is_empty() { Vec::new() } else { vec![finding.state] };
            return Ok(Some(Verdict::Violated(Violation { kind: finding.kind, path, shortest: true })));
        }
        let mut layer = self.journal.writer();
        self.detector.finish_layer(&mut layer)?;
        self.task.control.gauges.states.store(layer.states(), Ordering::Relaxed);
        let empty = layer.states() == 0;
        self.journal.push(layer)?;
        let detector = &mut self.detector;
        self.journal.view_last(&mut |layer| detector.closed(0, layer))?;
        self.counts = self.counts_now();
        if empty { self.complete().map(Some) } else { Ok(None) }
    }

    fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        let seconds = self.seconds_before + self.task.control.elapsed().as_secs_f64();
        let tally = Tally {
            layers: &self.layers,
            covers: &self.counts.covers,
            actions: self.counts.actions(self.task.space),
            seconds,
            stages: &self.stages,
        };
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        ledger.commit(&mut self.journal, tally, status)
    }

    fn counts_now(&self) -> Counts {
        let mut counts = total_counts(&self.lanes, self.task.space);
        counts.add(&self.counts_before);
        counts.take_off(&self.counts_again);
        counts
    }

    /// Lets layers be written in the way that suits the detector.
    pub(crate) fn suit_journal(&mut self) {
        match self.detector.asks_runs() {
            true => self.journal.make_askable(),
            false => self.journal.make_dense(),
        }
    }

    /// Exchanges the detector for the next one, if there is one; says whether.
    fn fall_back(&mut self) -> Result<bool, Trouble> {
        let Some(make) = self.fallback.take() else { return Ok(false) };
        let mut next = make()?;
        let idle: Box<dyn Detector + 'a> = Box::new(Nothing);
        let states = (0..self.journal.depth()).map(|depth| self.journal.states(depth)).sum();
        self.stages.push(Stage { storage: next.name(), states, depth: self.journal.depth() as u64 - 1 });
        std::mem::replace(&mut self.detector, idle).hand_over(&mut *next)?;
        // The one before is gone, and with it what it held of the budget.
        self.journal.view_all(&mut |depth, layer| next.adopt(depth, layer))?;
        self.detector = next;
        self.suit_journal();
        Ok(true)
    }

    /// The run and what it committed, where the search stopped because the disk is full and may delete layers to go on.
    pub(crate) fn may_make_room(&mut self, verdict: &Verdict) -> Option<(Ledger, RunRecord)> {
        let allowed = self.task.control.limits.when_full == WhenFull::DeleteLayers;
        if !allowed || *verdict != Verdict::Stopped(StopReason::DiskFull) {
            return None;
        }
        let record = self.ledger.as_ref()?.record().filter(RunRecord::has_old_layers)?;
        Some((self.ledger.take()?, record))
    }

    /// The figures, with this verdict.
    pub(crate) fn report(&self, verdict: Verdict) -> Report {
        let traffic = &self.disk.traffic;
        let answer = Answer {
            verdict,
            states: (0..self.journal.depth()).map(|depth| self.journal.states(depth)).sum(),
            transitions: self.layers.iter().map(|layer| layer.transitions).sum(),
            counts: &self.counts,
            stages: self.stages.clone(),
        };
        Report {
            depth: Some((self.journal.depth() as u64).saturating_sub(1)),
            layers: self.layers.clone(),
            disk: Some(DiskFigures {
                bytes: self.journal.bytes(),
                read: traffic.bytes_read(),
                written: traffic.bytes_written(),
                read_cost: traffic.speed.cost(),
                buckets: self.detector.buckets(),
            }),
            covering: self.covering,
            proviso: if has_found(&self.lanes) { Some(Proviso::WrongSeen) } else { self.proviso },
            ..answer.report(self.task, &self.governor)
        }
    }

    /// Transitions fired in this sitting.
    fn fired(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.transitions).sum()
    }

    /// Expands what is left of a layer; says why, if it stopped before the end.
    fn expand_layer(&mut self, depth: usize) -> Result<Option<StopReason>, Trouble> {
        let gauges = &self.task.control.gauges;
        gauges.depth.store(depth as u64, Ordering::Relaxed);
        gauges.frontier.store(self.journal.states(depth), Ordering::Relaxed);
        if self.rest.is_none() {
            gauges.expanded.store(0, Ordering::Relaxed);
        }
        let mut block = Vec::new();
        if let Some((rest, _memory)) = self.rest.take() {
            if let Some(reason) = self.expand_block(&rest)? {
                return Ok(Some(reason));
            }
        } else {
            let mut reader = self.journal.reader(depth)?;
            while reader.next_block(&mut block)? {
                if let Some(reason) = self.expand_block(&block)? {
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }

    /// Expands a block of states bucket by bucket, each with its scope in RAM.
    fn expand_structured(&mut self, block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        let words = self.task.space.words();
        let Some(order) = self.detector.structured().map(|structured| structured.grouped(block)) else {
            return Ok(None);
        };
        let mut group = Vec::new();
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            group.clear();
            for &(_, n) in same {
                group.extend_from_slice(&block[n as usize * words..(n as usize + 1) * words]);
            }
            let (left, begun) = (Left::all(), Instant::now());
            let Some(structured) = self.detector.structured() else { return Ok(None) };
            structured.enter(same[0].0 as usize)?;
            self.figures.seconds.detecting += begun.elapsed().as_secs_f64();
            loop {
                if let Some(reason) = self.limit() {
                    return Ok(Some(reason));
                }
                let begun = Instant::now();
                let Some(structured) = self.detector.structured() else { return Ok(None) };
                let ended = left.expand(&mut self.lanes, structured, &group, words);
                self.figures.seconds.expanding += begun.elapsed().as_secs_f64();
                if ended == Ended::Whole {
                    break;
                }
                structured.make_room()?;
            }
        }
        Ok(None)
    }

    /// The limit that is met, if one is. Where something is wrong, the layer is finished rather than a number of states kept.
    fn limit(&self) -> Option<StopReason> {
        let control = self.task.control;
        let reason = control.must_stop(control.gauges.states.load(Ordering::Relaxed))?;
        (reason != StopReason::StateLimit || !has_found(&self.lanes)).then_some(reason)
    }

    /// Expands a block of states, draining the cache whenever it is full.
    fn expand_block(&mut self, block: &[u64]) -> Result<Option<StopReason>, Trouble> {
        if self.detector.structured().is_some() {
            return self.expand_structured(block);
        }
        let left = Left::all();
        loop {
            if let Some(reason) = self.limit() {
                return Ok(Some(reason));
            }
            let begun = Instant::now();
            let words = self.task.space.words();
            let ended = left.expand(&mut self.lanes, self.cache.store(), block, words);
            self.figures.seconds.expanding += begun.elapsed().as_secs_f64();
            if ended == Ended::Whole {
                return Ok(None);
            }
            self.drain()?;
            self.cache.make_room()?;
        }
    }

    /// Offers what the cache learned to the detector.
    fn drain(&mut self) -> Result<(), Trouble> {
        loop {
            let begun = Instant::now();
            let batch = self.cache.sort_new()?;
            self.figures.seconds.sorting += begun.elapsed().as_secs_f64();
            if batch.is_empty() {
                return Ok(());
            }
            self.figures.candidates += (batch.len() / self.task.space.words()) as u64;
            let begun = Instant::now();
            let mut offered = self.detector.offer(batch);
            while let Err(Trouble::OverBudget(_)) = offered {
                if !self.cache.give_way()? && !self.fall_back()? {
                    break;
                }
                offered = self.detector.offer(self.cache.sorted());
            }
            self.figures.seconds.detecting += begun.elapsed().as_secs_f64();
            offered?;
        }
    }

    /// The whole space has been seen.
    fn complete(&mut self) -> Result<Verdict, Trouble> {
        if self.task.question.asks_about_runs(self.task.space)
            && let Some(verdict) = self.about_runs()?
        {
            return Ok(verdict);
        }
        Ok(covered(self.task, &self.counts.covers))
    }

    /// Answers questions about infinite runs from the journal: what is needed to explore makes room first.
    fn about_runs(&mut self) -> Result<Option<Verdict>, Trouble> {
        if self.journal.first_kept() > 0 {
            // States are gone that runs may pass.
            return Ok(Some(Verdict::Stopped(StopReason::DiskFull)));
        }
        // A pass that is killed begins again here.
        self.commit("every state is known; looking for runs")?;
        self.detector = Box::new(Nothing);
        self.cache.give_way()?;
        let closed = match JournalClosed::new(&self.journal, &self.governor) {
            Err(Trouble::OverBudget(full)) => {
                return Ok(Some(Verdict::Stopped(out_of_memory(full))));
            }
            other => other?,
        };
        let (task, threads) = (self.task, self.lanes.len());
        let keeper = self.ledger.as_mut().map(|ledger| Keeper::new(ledger, JournalClosed::NUMBERING));
        let keeper = keeper.as_ref();
        let pass = Pass { task, closed: &closed, governor: &self.governor, threads, keeper };
        let stem = |depth, state| path::shortest(task, &self.journal, threads, depth, state);
        match pass.verdict(stem) {
            Err(Trouble::OverBudget(full)) => Ok(Some(Verdict::Stopped(out_of_memory(full)))),
            other => other,
        }
    }

    /// Turns what was found while expanding layer `depth` into a violation with its path.
    fn violated(&mut self, finding: Finding, depth: usize) -> Result<Verdict, Trouble> {
        let at = match finding.kind {
            ViolationKind::Deadlock | ViolationKind::Fault(_) => depth,
            _ => depth + 1,
        };
        let path = path::shortest(self.task, &self.journal, self.lanes.len(), at, finding.state)?;
        self.path_begins_at = at + 1 - path.len();
        Ok(Verdict::Violated(Violation { kind: finding.kind, path, shortest: true }))
    }
}

/// How the expansion of a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every state of the block is expanded and its successors are in the cache.
    Whole,
    /// The cache is full; batches wait in the lanes.
    Full,
}

/// What is left of a block.
pub(crate) struct Left {
    /// The first state nobody has taken.
    next: AtomicUsize,
    /// Pieces taken and not finished.
    returned: Mutex<Vec<(usize, usize)>>,
}

impl Left {
    /// All of it.
    pub(crate) fn all() -> Self {
        Left { next: AtomicUsize::new(0), returned: Mutex::new(Vec::new()) }
    }

    /// Expands on all lanes until nothing is left or the cache is full.
    pub(crate) fn expand(&self, lanes: &mut [Lane], sink: &impl Sink, block: &[u64], words: usize) -> Ended {
        let states = block.len() / words;
        let full = Mutex::new(Ended::Whole);
        let work = |lane: &mut Lane| {
            let ran_full = || *full.lock().unwrap_or_else(|e| e.into_inner()) = Ended::Full;
            if lane.finish_batch(sink).is_err() {
                return ran_full();
            }
            while let Some((from, to)) = self.take(states) {
                let state = |n: u64| {
                    let at = (from + n as usize) * words;
                    (&block[at..at + words], 0)
                };
                if let Err((done, _)) = lane.expand(sink, (to - from) as u64, state) {
                    if from + (done as usize) < to {
                        let rest = (from + done as usize, to);
                        self.returned.lock().unwrap_or_else(|e| e.into_inner()).push(rest);
                    }
                    return ran_full();
                }
            }
        };
        match lanes {
            // The first takes all pieces; the others may have a batch waiting.
            few if few.len() == 1 || states < SHARED_FROM => few.iter_mut().for_each(work),
            many => std::thread::scope(|scope| {
                for lane in many {
                    scope.spawn(|| work(lane));
                }
            }),
        }
        full.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn take(&self, states: usize) -> Option<(usize, usize)> {
        self.returned.lock().unwrap_or_else(|e| e.into_inner()).pop().or_else(|| {
            let from = self.next.fetch_add(PIECE, Ordering::Relaxed);
            (from < states).then(|| (from, states.min(from + PIECE)))
        })
    }
}
