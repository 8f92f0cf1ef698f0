//! The passes of a branch and bound, and what is committed of them.

use super::{BranchOptions, BranchPass, Branched, Costs};
use crate::control::{Control, Limits};
use crate::explore::{Run, Setting};
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::layered::cover::CoverDetector;
use crate::layered::detector::Detector;
use crate::layered::journal::{Journal, JournalRecord};
use crate::layered::ledger::{Ledger, Standing};
use crate::layered::path;
use crate::report::StopReason;
use crate::run::{Buffers, COMPLETE, RUNNING, run_options};
use hadal_store::Disk;
use hadal_store::run::RunOptions;
use hadal_store::sort::sort_unique;
use hadal_store::vfs::at_once;
use hadal_system::{Ascending, Cover, Successors, Worker};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const SECTION: &str = "branch";
/// The share of the budget of closed states in RAM, in percent.
const CLOSED_SHARE: u64 = 50;
/// The share of the budget that a batch of successors takes at most, in parts.
const BATCH_PART: u64 = 16;

/// What a search has done and found: everything that a commit keeps besides the layers themselves.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    options: BranchOptions,
    /// Only costs below this matter.
    below: Option<u64>,
    /// The largest cost that was admitted to each layer, in any pass.
    admitted: Vec<u64>,
    /// How many states of each cost the last layer had before its share was taken.
    histogram: BTreeMap<u64, u64>,
    /// Passes that are over, and the one under way.
    passes: Vec<BranchPass>,
    now: BranchPass,
    /// The best goal of earlier passes, with the way there.
    best: Option<(u64, Vec<Vec<u64>>)>,
    /// The best goal of this pass, and the layer it would be in.
    target: Option<(u64, Vec<u64>)>,
    journal: Option<JournalRecord>,
    seconds: f64,
}

/// Why a layer was not expanded to its end.
enum Cut {
    Stopped(StopReason),
    Faulty,
}

pub(super) struct Engine<'a> {
    setting: Setting<'a>,
    costs: Costs,
    cover: &'a dyn Cover,
    options: RunOptions,
    ledger: Ledger,
    disk: Disk,
    record: Record,
    journal: Journal,
    detector: CoverDetector<'a>,
    worker: Box<dyn Worker + 'a>,
    batch: Vec<u64>,
    most_batch: usize,
    _memory: hadal_store::Reservation,
}

impl<'a> Engine<'a> {
    pub(super) fn new(setting: Setting<'a>, costs: Costs, options: &BranchOptions) -> Result<Self, Trouble> {
        let ledger = setting.run.open()?;
        let space = setting.task.space;
        let cover = space.cover().ok_or(Trouble::NothingToResume)?;
        let record = match setting.run {
            Run::Resumed(_) => {
                let kept = ledger.section(SECTION).ok_or(Trouble::NothingToResume)?;
                serde_json::from_slice(kept)?
            }
            _ => Record::new(options),
        };
        let disk = ledger.disk().clone();
        let options = run_options(space, setting.governor, Buffers::Few);
        let journal = match &record.journal {
            Some(journal) => Journal::open(&disk, options, journal)?,
            None => Journal::new(&disk, options)?,
        };
        let most_batch = (setting.governor.limit() / BATCH_PART).clamp(64 << 10, 8 << 20);
        let memory = setting.governor.try_reserve(2 * most_batch, "successors")?;
        let mut detector = detector(cover, &disk, options)?;
        at_once(journal.view_all(&mut async |depth, layer| detector.adopt(depth, layer).await))?;
        Ok(Engine {
            costs,
            cover,
            options,
            disk,
            record,
            journal,
            detector,
            worker: space.worker(),
            batch: Vec::new(),
            most_batch: most_batch as usize / 8,
            _memory: memory,
            ledger,
            setting,
        })
    }

    pub(super) fn run(mut self) -> Result<Branched, Trouble> {
        self.commit(RUNNING)?;
        while self.record.passes.len() < self.record.options.coverage.len() {
            let coverage = self.record.options.coverage[self.record.passes.len()];
            if self.journal.depth() == 0 {
                self.record.now = BranchPass { coverage, below: self.record.below, ..BranchPass::default() };
            }
            loop {
                if self.ledger.is_due() {
                    self.commit(RUNNING)?;
                }
                let before = self.record.clone();
                let cut = match self.layer() {
                    Err(trouble) if trouble.is_disk_full() => Some(Cut::Stopped(StopReason::DiskFull)),
                    other => match other? {
                        Ok(true) => None,
                        Ok(false) => break,
                        Err(cut) => Some(cut),
                    },
                };
                match cut {
                    None => {}
                    Some(Cut::Faulty) => return self.ended(None, true),
                    Some(Cut::Stopped(reason)) => {
                        // The layer is expanded again by whoever goes on.
                        self.record = before;
                        self.commit("stopped")?;
                        return self.ended(Some(reason), false);
                    }
                }
            }
            self.end_pass()?;
        }
        let proved = self.record.options.coverage.last() == Some(&100);
        self.commit(COMPLETE)?;
        self.ended((!proved).then_some(StopReason::Unanswered), false)
    }

    /// Finds the next layer; whether there is one.
    fn layer(&mut self) -> Result<Result<bool, Cut>, Trouble> {
        let depth = self.journal.depth();
        let below = self.record.below;
        if depth == 0 {
            let mut out = Successors::new(self.options.shape.words());
            self.worker.initial(&mut out);
            if !out.faults().is_empty() {
                return Ok(Err(Cut::Faulty));
            }
            self.take(&out, below, 0)?;
        } else if let Some(cut) = self.expand(depth, below)? {
            return Ok(Err(cut));
        }
        self.offer()?;
        let mut found = self.journal.writer();
        at_once(self.detector.finish_layer(&mut found))?;
        if found.states() == 0 {
            return Ok(Ok(false));
        }
        self.journal.push(found)?;
        self.admit(depth)?;
        if self.journal.states(depth) == 0 {
            self.journal.pop_empty();
            return Ok(Ok(false));
        }
        let detector = &mut self.detector;
        at_once(self.journal.view(depth, &mut async |layer| detector.closed(depth as u64, layer).await))?;
        self.record.now.stored += self.journal.states(depth);
        self.record.now.depth = depth as u64;
        let gauges = &self.setting.task.control.gauges;
        gauges.depth.store(depth as u64, Ordering::Relaxed);
        gauges.frontier.store(self.journal.states(depth), Ordering::Relaxed);
        gauges.disk.store(self.journal.bytes(), Ordering::Relaxed);
        Ok(Ok(true))
    }

    /// Expands the last layer.
    fn expand(&mut self, depth: usize, below: Option<u64>) -> Result<Option<Cut>, Trouble> {
        let words = self.options.shape.words();
        let mut reader = self.journal.reader(depth - 1)?;
        let (mut block, mut out) = (Vec::new(), Successors::new(words));
        while reader.next_block(&mut block)? {
            let seen = self.record.passes.iter().chain([&self.record.now]).map(|pass| pass.expanded).sum();
            self.setting.task.control.gauges.states.store(seen, Ordering::Relaxed);
            if let Some(reason) = self.setting.task.control.must_stop(seen) {
                return Ok(Some(Cut::Stopped(reason)));
            }
            for state in block.chunks_exact(words) {
                out.clear();
                self.worker.successors(state, &mut out);
                if !out.faults().is_empty() {
                    return Ok(Some(Cut::Faulty));
                }
                self.record.now.expanded += 1;
                self.record.now.generated += out.len() as u64;
                self.take(&out, below, depth as u64)?;
            }
        }
        Ok(None)
    }

    /// Takes successors that are cheap enough; goals make what is cheap enough less, from the next layer on.
    fn take(&mut self, out: &Successors, below: Option<u64>, depth: u64) -> Result<(), Trouble> {
        for (_, state) in out.iter() {
            let cost = (self.costs.least)(state);
            if below.is_some_and(|below| cost >= below) {
                continue;
            }
            if (self.costs.is_goal)(state) {
                if self.record.below.is_none_or(|best| cost < best) {
                    self.record.below = Some(cost);
                    self.record.target = Some((depth, state.to_vec()));
                }
                continue;
            }
            self.batch.extend_from_slice(state);
            if self.batch.len() >= self.most_batch {
                self.offer()?;
            }
        }
        Ok(())
    }

    fn offer(&mut self) -> Result<(), Trouble> {
        if self.batch.is_empty() {
            return Ok(());
        }
        sort_unique(self.options.shape, &mut self.batch);
        self.detector.offer(Ascending::new(self.options.shape.words(), &self.batch))?;
        self.batch.clear();
        Ok(())
    }

    /// Takes the share of the last layer: the cheapest states, all that cost as much as the last of them, and all that cost
    /// no more than what was admitted before.
    fn admit(&mut self, depth: usize) -> Result<(), Trouble> {
        let (words, least) = (self.options.shape.words(), self.costs.least);
        let below = self.record.below.unwrap_or(u64::MAX);
        let mut histogram: BTreeMap<u64, u64> = BTreeMap::new();
        let mut block = Vec::new();
        let mut reader = self.journal.reader(depth)?;
        while reader.next_block(&mut block)? {
            for state in block.chunks_exact(words) {
                *histogram.entry(least(state)).or_default() += 1;
            }
        }
        let cheap: u64 = histogram.range(..below).map(|(_, states)| states).sum();
        let share = (cheap * u64::from(self.record.now.coverage) / 100).max(1);
        let mut counted = 0;
        let dearest = histogram.range(..below).find(|(_, states)| {
            counted += **states;
            counted >= share
        });
        if self.record.admitted.len() <= depth {
            self.record.admitted.resize(depth + 1, 0);
        }
        if let Some((&dearest, _)) = dearest {
            self.record.admitted[depth] = self.record.admitted[depth].max(dearest);
        }
        let most = self.record.admitted[depth];
        let is_kept = |cost: u64| cost < below && cost <= most;
        let all = histogram.keys().all(|&cost| is_kept(cost));
        self.record.histogram = histogram;
        if all {
            return Ok(());
        }
        let mut kept = self.journal.writer();
        let mut reader = self.journal.reader(depth)?;
        while reader.next_block(&mut block)? {
            let states = block.chunks_exact(words).filter(|state| is_kept(least(state)));
            let states: Vec<u64> = states.flatten().copied().collect();
            kept.write(&states)?;
        }
        self.journal.replace(depth, kept)
    }

    /// Ends a pass: what it found is traced back through its layers, which are then forgotten.
    fn end_pass(&mut self) -> Result<(), Trouble> {
        if let Some((depth, target)) = self.record.target.take() {
            let cost = (self.costs.least)(&target);
            let path = traced(self.setting, &self.journal, (depth as usize, target))?;
            self.record.best = Some((cost, path));
        }
        self.record.now.cost = self.record.best.as_ref().map(|(cost, _)| *cost);
        let over = std::mem::take(&mut self.record.now);
        self.record.passes.push(over);
        self.journal = Journal::new(&self.disk, self.options)?;
        self.detector = detector(self.cover, &self.disk, self.options)?;
        self.commit(RUNNING)
    }

    fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        self.journal.bundle()?;
        self.record.journal = (self.journal.depth() > 0).then(|| self.journal.record());
        self.record.seconds = self.setting.task.control.elapsed().as_secs_f64();
        let passes = self.record.passes.iter().chain([&self.record.now]);
        let (states, transitions) =
            passes.fold((0, 0), |(states, made), pass| (states + pass.expanded, made + pass.generated));
        let section = serde_json::to_vec(&self.record)?;
        let standing = Standing {
            status,
            states,
            transitions,
            covers: &[],
            actions: Vec::new(),
            seconds: self.record.seconds,
        };
        self.ledger.commit_section((SECTION, section), self.journal.runs().collect(), standing)
    }

    fn ended(self, stopped: Option<StopReason>, faulty: bool) -> Result<Branched, Trouble> {
        let disk_bytes = self.disk.vfs.list().map_or(0, |files| files.iter().map(|file| file.bytes).sum());
        let mut passes = self.record.passes;
        let mut best = self.record.best;
        if stopped.is_some() && self.record.now != BranchPass::default() {
            passes.push(self.record.now);
            if let Some((depth, target)) = self.record.target {
                let cost = (self.costs.least)(&target);
                best = Some((cost, traced(self.setting, &self.journal, (depth as usize, target))?));
            }
        }
        Ok(Branched { best, stopped, faulty, passes, disk_bytes })
    }
}

/// The path to the state at this depth, also where the search was asked to stop: it is what the search has to show.
fn traced(setting: Setting, journal: &Journal, target: (usize, Vec<u64>)) -> Result<Vec<Vec<u64>>, Trouble> {
    let control = Control::new(Limits::default());
    let task = SearchTask { control: &control, ..setting.task };
    path::shortest_at_once(task, (journal, setting.threads), target, setting.governor)
}

/// A detector of nothing yet.
fn detector<'a>(
    cover: &'a dyn Cover,
    disk: &Disk,
    options: RunOptions,
) -> Result<CoverDetector<'a>, Trouble> {
    let groups = disk.governor.part(disk.governor.limit() / 100 * CLOSED_SHARE);
    CoverDetector::new(cover, disk, options, &groups)
}

impl Record {
    fn new(options: &BranchOptions) -> Self {
        Record {
            options: options.clone(),
            // A bound without a run is inclusive.
            below: options.bound.map(|bound| bound.saturating_add(1)),
            admitted: Vec::new(),
            histogram: BTreeMap::new(),
            passes: Vec::new(),
            now: BranchPass::default(),
            best: None,
            target: None,
            journal: None,
            seconds: 0.0,
        }
    }
}
