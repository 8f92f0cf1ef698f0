//! The main loop of PART (Evangelista and Kristensen 2011, sec. 2): choose a partition, visit it, commit.

use super::PartitionOptions;
use super::component::{Component, components};
use super::diagram::Diagram;
use super::figures::{PartitionFigures, PartitionSizes};
use super::files::{self, Dealer, Io, Partition};
use super::heuristic::Chooser;
use super::queue::Queues;
use super::record::{self, Files, SECTION, SearchRecord, names};
use super::resident::Resident;
use super::sample::take_sample;
use super::shelf::Shelf;
use super::trail::{ROOT, Trail};
use super::visit::VisitEnd;
use crate::explore::{Phase, Progress, Setting};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::lane::{Lane, Parents, SearchTask, total_counts};
use crate::layered::Trouble;
use crate::layered::ledger::{Ledger, Standing};
use crate::report::{DiskFigures, Particular, Report, Stage, StopReason, Verdict, Violation};
use crate::run::{Answer, Buffers, COMPLETE, RUNNING, complete, run_options, status};
use hadal_store::run::{RunFile, RunKind, RunSlice};
use hadal_store::vfs::CachedFolder;
use hadal_store::{Governor, Reservation};
use std::sync::Arc;

/// Shares of the budget, in percent; the rest is for streams to and from files, and for what is known of partitions.
const RESIDENT_SHARE: u64 = 45;
const QUEUE_SHARE: u64 = 15;
const SORT_SHARE: u64 = 8;
/// States that left RAM lately.
const SHELF_SHARE: u64 = 4;
const TRAIL_SHARE: u64 = 3;
/// Files that were written lately.
const RECENT_SHARE: u64 = 5;
/// Bytes that a partition takes in RAM besides its states: its node, its lists of files.
const PARTITION_BYTES: u64 = 256;
/// What a transition counts as, its part in reading and writing included: about nanoseconds.
const TRANSITION_WORK: u64 = 120;
/// Commits are spaced by work, so that the same search does the same every time. In its unit: a record that is read or
/// written, and for a commit a file and a partition that is described.
const RECORD_WORK: u64 = 60;
const FILE_WORK: u64 = 4_000_000;
const PARTITION_WORK: u64 = 2000;
/// Commits take at most one part in so many of the work.
const COMMIT_PART: u64 = 20;

/// A partitioned search under way.
pub(super) struct Exploration<'a> {
    pub(super) task: SearchTask<'a>,
    pub(super) options: PartitionOptions,
    governor: Governor,
    pub(super) ledger: Ledger,
    pub(super) splitting: Splitting,
    pub(super) parts: Parts,
    pub(super) resident: Resident,
    pub(super) queues: Queues,
    pub(super) trail: Trail,
    pub(super) dealer: Dealer,
    pub(super) shelf: Shelf,
    /// Time spent on files in this sitting.
    pub(super) io: Io,
    pub(super) lane: Lane<'a>,
    pub(super) figures: PartitionFigures,
    /// What earlier sittings did.
    before: Before,
    /// Bytes written when files were last looked after, and how many more there may be before they are again.
    pub(super) tidied: (u64, u64),
    /// The work that was done at the last commit, and the work that it was.
    committed: u64,
    commit_work: u64,
    /// Whether anything is committed.
    can_be_resumed: bool,
    partition_memory: Reservation,
    /// The work of a step was done before what is in RAM was expanded.
    is_paused: bool,
}

/// What partitions can be split by.
pub(super) struct Splitting {
    pub(super) components: Vec<Component>,
    pub(super) chooser: Chooser,
    /// How often transitions modified each component, as far as it was looked at.
    pub(super) updates: Vec<u64>,
}

/// The partitions there are, and which states belong to which.
pub(super) struct Parts {
    pub(super) diagram: Diagram,
    pub(super) partitions: Vec<Partition>,
}

#[derive(Default)]
struct Before {
    transitions: u64,
    counts: Counts,
    seconds: f64,
    search: super::DiskWork,
    reorganisation: super::DiskWork,
}

impl<'a> Exploration<'a> {
    /// A search at the initial states.
    pub(super) fn begin(setting: Setting<'a>, options: &PartitionOptions) -> Result<Self, Trouble> {
        let mut new = Self::new(setting, options.clone(), setting.run.open()?)?;
        if let Some(branch) = new.splitting.chooser.first() {
            new.parts.diagram.refine(0, branch, &new.splitting.components);
            new.make_partitions()?;
        }
        new.lane.generate_initial(ROOT);
        new.place_waiting(&[])?;
        // Initial states do not cross from anywhere.
        new.figures.cross_transitions = 0;
        Ok(new)
    }

    /// A search as it was committed.
    pub(super) fn again(setting: Setting<'a>, options: &PartitionOptions) -> Result<Self, Trouble> {
        let ledger = setting.run.open()?;
        let record: Option<SearchRecord> =
            ledger.section(SECTION).and_then(|bytes| serde_json::from_slice(bytes).ok());
        let record = record.ok_or(Trouble::NothingToResume)?;
        let actions = ledger.record().map_or(Vec::new(), |run| run.actions);
        let options = PartitionOptions { heuristic: record.heuristic, ..options.clone() };
        let mut new = Self::new(setting, options, ledger)?;
        new.parts.diagram = record.diagram.prepared(&new.splitting.components);
        new.make_partitions()?;
        let disk = new.dealer.disk().clone();
        let (bare, with_word) = (new.dealer.options(0), new.dealer.options(1));
        let mut files = Files::new(&disk, &record.files);
        for (partition, record) in new.parts.partitions.iter_mut().zip(&record.partitions) {
            files.restore(partition, record, [&bare, &with_word])?;
        }
        drop(files);
        new.trail.open(&record.trail)?;
        if let Some(name) = &record.queues {
            new.queues.restore(name, &mut new.parts.partitions)?;
        }
        if record.updates.len() == new.splitting.updates.len() {
            new.splitting.updates = record.updates;
        }
        new.before = Before {
            transitions: record.transitions,
            counts: Counts::of_record(record.covers, &actions),
            seconds: record.seconds,
            search: record.figures.search,
            reorganisation: record.figures.reorganisation,
        };
        new.can_be_resumed = true;
        let bound = new.figures.sizes.bound;
        new.figures = record.figures;
        new.figures.sizes.bound = bound;
        new.figures.search = Default::default();
        new.figures.reorganisation = Default::default();
        Ok(new)
    }

    fn new(setting: Setting<'a>, options: PartitionOptions, ledger: Ledger) -> Result<Self, Trouble> {
        let Setting { task, governor, .. } = setting;
        let share = |percent: u64| governor.limit() / 100 * percent;
        let writers = options.heuristic.needs_writers().then(|| task.space.writers()).flatten();
        let components = components(task.space, writers.as_deref());
        let sample = match options.heuristic.needs_sample() {
            true => Some(take_sample(
                task.space,
                &components,
                options.sample_states,
                &governor.part(share(RESIDENT_SHARE)),
            )?),
            false => None,
        };
        let chooser = Chooser::new(options.heuristic, &components, sample.as_ref());
        drop(sample);
        let words = task.space.words();
        let run_options = run_options(task.space, governor, Buffers::Smallest);
        let half = options.resident_states.map_or(u64::MAX, |states| states / 2);
        let resident = Resident::new(words, share(RESIDENT_SHARE), half, governor)?;
        // A bound in states leaves memory for what the operating system would remember of files elsewhere.
        let spare = match options.resident_states {
            Some(_) if !options.may_overflow => share(RESIDENT_SHARE).saturating_sub(resident.bytes()),
            _ => 0,
        };
        let recent = governor.part(if spare > 0 { spare / 2 } else { share(RECENT_SHARE) });
        let shelved = share(SHELF_SHARE) + spare / 2;
        let io = Io::default();
        let disk = ledger.disk().through(|folder| Arc::new(CachedFolder::new(folder, recent)));
        let figures = PartitionFigures {
            heuristic: options.heuristic.name().to_owned(),
            components: components.len() as u64,
            sizes: PartitionSizes { bound: resident.bound, ..PartitionSizes::default() },
            ..PartitionFigures::default()
        };
        Ok(Exploration {
            governor: governor.clone(),
            splitting: Splitting { chooser, updates: vec![0; components.len()], components },
            parts: Parts { diagram: Diagram::new(), partitions: vec![Partition::default()] },
            resident,
            queues: Queues::new(&disk, run_options, (share(QUEUE_SHARE), half), &io)?,
            trail: Trail::new(&disk, run_options, share(TRAIL_SHARE))?,
            dealer: Dealer::new(&disk, run_options, share(SORT_SHARE), &io)?,
            shelf: Shelf::new(&disk, run_options, shelved, &io)?,
            io,
            lane: Lane::new(task, Parents::Kept),
            figures,
            before: Before { counts: Counts::zero(task.space), ..Before::default() },
            tidied: (0, 0),
            committed: 0,
            commit_work: 0,
            can_be_resumed: false,
            partition_memory: governor.empty("partitions"),
            is_paused: false,
            task,
            options,
            ledger,
        })
    }

    /// Gives every partition of the diagram its place.
    pub(super) fn make_partitions(&mut self) -> Result<(), Trouble> {
        let count = self.parts.diagram.partitions();
        self.partition_memory.try_resize(count as u64 * PARTITION_BYTES)?;
        self.parts.partitions.resize_with(count, Partition::default);
        Ok(())
    }

    /// Goes on for this much work. Returns the answer once there is one.
    pub(super) fn go_on(&mut self, work: u64) -> Result<Option<Verdict>, Trouble> {
        // A fault in making an initial state.
        if self.resident.partitions.is_empty()
            && let Some(finding) = self.lane.finding.take()
        {
            return self.violated(finding).map(Some);
        }
        let until = self.work().saturating_add(work);
        loop {
            if let Some(verdict) = self.visit_one(until)? {
                return Ok(Some(verdict));
            }
            if self.work() >= until {
                return Ok(None);
            }
        }
    }

    /// Ends the search here.
    pub(super) fn stop(&mut self, reason: StopReason) -> Result<Verdict, Trouble> {
        self.evict(None)?;
        let verdict = Verdict::Stopped(reason);
        self.commit(&status(&verdict))?;
        Ok(verdict)
    }

    pub(super) fn work(&self) -> u64 {
        self.lane.transitions * TRANSITION_WORK
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            phase: if self.resident.partitions.is_empty() { Phase::Between } else { Phase::Within },
            depth: None,
            states: self.trail.len(),
            transitions: self.transitions(),
            work: self.work(),
            ahead: 0,
            memory: self.governor.current(),
            disk: self.disk_bytes(),
        }
    }

    /// Bytes of all files.
    fn disk_bytes(&self) -> u64 {
        let shared: u64 = files::files(&self.parts.partitions).values().map(|(run, _)| run.bytes()).sum();
        shared + self.trail.files().iter().map(RunFile::bytes).sum::<u64>()
    }

    /// Does the next thing: leaves RAM, splits a partition, or visits one. Returns the answer once there is one.
    pub(super) fn visit_one(&mut self, until: u64) -> Result<Option<Verdict>, Trouble> {
        if std::mem::take(&mut self.is_paused) {
            return self.expand_on(until);
        }
        let Some(next) = self.longest_queue() else {
            if self.figures.search.writes > 0 {
                self.evict(None)?;
                self.commit(COMPLETE)?;
            }
            return Ok(Some(complete(self.task, &self.counts().covers)));
        };
        if !self.resident.partitions.is_empty() && (self.options.one_at_a_time || !self.fits(next)) {
            self.evict(None)?;
            self.commit_if_due()?;
            return Ok(None);
        }
        if self.parts.partitions[next as usize].states >= self.resident.bound {
            self.split_on_disk(next)?;
            return Ok(None);
        }
        self.load(next)?;
        self.expand_on(until)
    }

    /// Expands what is in RAM, and does what its end asks for.
    fn expand_on(&mut self, until: u64) -> Result<Option<Verdict>, Trouble> {
        match self.expand(until)? {
            VisitEnd::Exhausted => {}
            VisitEnd::Paused => self.pause(),
            VisitEnd::Full => {
                self.relieve()?;
                self.commit_if_due()?;
            }
            VisitEnd::Due => {
                self.evict(None)?;
                self.commit(RUNNING)?;
            }
            VisitEnd::Found(finding) => return self.violated(finding).map(Some),
            VisitEnd::Stopped(reason) => return self.stop(reason).map(Some),
        }
        Ok(None)
    }

    /// The partition with the most to do.
    fn longest_queue(&self) -> Option<u32> {
        let pending = self.parts.partitions.iter().enumerate().map(|(n, p)| (p.pending(), n));
        let (most, partition) = pending.max_by_key(|&(pending, n)| (pending, std::cmp::Reverse(n)))?;
        (most > 0).then_some(partition as u32)
    }

    /// Whether a partition can join those in RAM and leave them room to grow.
    fn fits(&self, partition: u32) -> bool {
        let partition = &self.parts.partitions[partition as usize];
        let (bound, used) = (self.resident.bound, self.resident.len());
        used + partition.states + partition.pending().min(bound / 4) <= bound / 4 * 3
    }

    /// Turns a finding in a state that is in RAM into a violation with its path. Nothing is committed: the state counts
    /// as seen only after it was reported.
    fn violated(&mut self, finding: Finding) -> Result<Verdict, Trouble> {
        let at = self.resident.find(&finding.state).and_then(|at| self.resident.number(at));
        self.resident.clear()?;
        let path = match at {
            Some(number) => self.trail.path(self.task.space, number)?,
            None => Vec::new(),
        };
        debug_assert!(
            path.last().is_none_or(|last| *last == finding.state),
            "the trail leads to the finding"
        );
        let shortest = path.len() <= 1;
        Ok(Verdict::Violated(Violation { kind: finding.kind, path, shortest }))
    }

    fn commit_if_due(&mut self) -> Result<(), Trouble> {
        let spacing = self.options.commit_every.as_nanos() as u64;
        let spacing = spacing.max(self.commit_work * COMMIT_PART);
        // A search that goes on to disk can be resumed from then on.
        if !self.can_be_resumed || self.since_commit() >= spacing { self.commit(RUNNING) } else { Ok(()) }
    }

    /// The work since the last commit, what partitions cost included.
    pub(super) fn since_commit(&self) -> u64 {
        self.spent() - self.committed
    }

    fn spent(&self) -> u64 {
        let (search, splitting) = (&self.figures.search, &self.figures.reorganisation);
        let records = search.reads + search.writes + splitting.reads + splitting.writes;
        self.work() + records * RECORD_WORK
    }

    /// Ends the step: the next one expands what is in RAM.
    pub(super) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Makes everything durable. No partition may be in RAM.
    fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        self.shelf.clear(&mut self.parts.partitions)?;
        self.tidy()?;
        self.trail.flush()?;
        let queues = self.queues.copy_to_disk(&mut self.parts.partitions)?;
        let (counts, seconds) = (self.counts(), self.seconds());
        let mut figures = self.figures_now();
        figures.sizes.descending.clear();
        let (files, partitions) = record::describe(&self.parts.partitions);
        let record = SearchRecord {
            heuristic: self.options.heuristic,
            diagram: self.parts.diagram.clone(),
            files,
            partitions,
            trail: names(self.trail.files()),
            queues: queues.as_ref().map(|run| run.name().to_owned()),
            transitions: self.transitions(),
            covers: counts.covers.clone(),
            seconds,
            updates: self.splitting.updates.clone(),
            figures,
        };
        let shared = files::files(&self.parts.partitions).into_values().map(|(run, _)| run);
        let runs = shared.chain(self.trail.files()).chain(&queues).collect();
        let section = serde_json::to_vec(&record)?;
        let (files_committed, partitions_described) =
            (record.files.len() as u64, record.partitions.len() as u64);
        let (states, transitions) = (self.trail.len(), record.transitions);
        let actions = counts.actions(self.task.space);
        let standing = Standing { status, states, transitions, covers: &counts.covers, actions, seconds };
        self.io.measure(|| self.ledger.commit_section((SECTION, section), runs, standing))?;
        self.commit_work = files_committed * FILE_WORK + partitions_described * PARTITION_WORK;
        self.committed = self.spent();
        self.can_be_resumed = true;
        Ok(())
    }

    pub(super) fn transitions(&self) -> u64 {
        self.before.transitions + self.lane.transitions
    }

    fn seconds(&self) -> f64 {
        self.before.seconds + self.task.control.elapsed().as_secs_f64()
    }

    fn counts(&self) -> Counts {
        let mut counts = total_counts(std::slice::from_ref(&self.lane), self.task.space);
        counts.add(&self.before.counts);
        counts
    }

    /// Bytes of runs read and written. Manifests are not counted: their lengths depend on how long seconds are when
    /// written out.
    pub(super) fn bytes_moved(&self) -> (u64, u64) {
        let traffic = &self.ledger.disk().traffic;
        let of_kinds = RunKind::ALL.map(|kind| traffic.of_kind(kind));
        of_kinds.iter().fold((0, 0), |(read, written), kind| (read + kind.0, written + kind.1))
    }

    /// The figures, with what earlier sittings did.
    fn figures_now(&self) -> PartitionFigures {
        let mut figures = self.figures.clone();
        let (read, written) = self.bytes_moved();
        figures.search.bytes_read = read.saturating_sub(figures.reorganisation.bytes_read);
        figures.search.bytes_written = written.saturating_sub(figures.reorganisation.bytes_written);
        figures.search.io_seconds = self.io.seconds() - figures.reorganisation.io_seconds;
        figures.search = figures.search + self.before.search;
        figures.reorganisation = figures.reorganisation + self.before.reorganisation;
        figures.search.seconds = self.seconds() - figures.reorganisation.seconds;
        figures.sizes.bound = self.resident.bound;
        figures.sizes.largest =
            self.parts.partitions.iter().map(|p| p.states).fold(figures.sizes.largest, u64::max);
        figures.diagram_depth = self.parts.diagram.depth() as u64;
        figures.sizes.describe(self.parts.partitions.iter().map(|p| p.states));
        let closed = || self.parts.partitions.iter().flat_map(|p| &p.closed);
        let on_disk: u64 = closed().map(RunSlice::records).sum();
        let bytes: u64 = closed().map(RunSlice::bytes).sum();
        figures.bytes_per_state = (on_disk > 0).then(|| bytes as f64 / on_disk as f64);
        figures
    }

    pub(super) fn report(&self, verdict: Verdict) -> Report {
        let counts = self.counts();
        let answer = Answer {
            verdict,
            states: self.trail.len(),
            transitions: self.transitions(),
            counts: &counts,
            stages: vec![Stage { storage: "partitions", states: 0, depth: 0 }],
        };
        Report {
            disk: Some(DiskFigures::of(self.ledger.disk(), self.disk_bytes())),
            particular: Particular { partition: Some(self.figures_now()), ..Particular::default() },
            ..answer.report(self.task, &self.governor)
        }
    }
}
