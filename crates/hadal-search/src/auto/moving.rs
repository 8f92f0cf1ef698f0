//! Moving a search from one storage to the next: the table's layers go to the journal, and a detector takes over.

use super::At;
use super::portions::{self, Portions};
use crate::exchange::{Exchange, Mailbox};
use crate::explore::{Run, Setting};
use crate::firings::Counts;
use crate::fixpoint::Following;
use crate::lane::{Lane, Parents};
use crate::layered::Trouble;
use crate::layered::cache::{Cache, CacheKind};
use crate::layered::detector::{Detector, Nothing};
use crate::layered::journal::{Aside, Journal, LayerWriter};
use crate::layered::ledger::{Ledger, Reached, RunRecord, Tally};
use crate::layered::room::{self, make_fit};
use crate::layered::snapshot::Snapshot;
use crate::layered::sweep::{Fallback, Keep, Means, Next, Origin, Partly, Sweep};
use crate::layered::tabled::{TableDetector, TableRoom};
use crate::ram::breadth::{Begun, TABLE};
use crate::ram::layer::Range;
use crate::report::{DiskFigures, Report, Stage, StopReason, Verdict};
use crate::run::storage::{Room, Tier, on_disk};
use crate::run::{Buffers, RUNNING, closed_set, run_options, sorted_runs, status};
use hadal_store::error::ReadError;
use hadal_store::governor::give_back;
use hadal_store::run::{RunOptions, RunReader, RunWriter};
use hadal_store::table::StateTable;
use hadal_store::vfs::{Disk, at_once};
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::Ascending;

/// Shares of the budget, in percent. When the table is left its index goes, and its states are sorted in portions: there is
/// little that must have room beside it.
const TABLE_SHARE: u64 = 90;
/// The part of the budget that is kept for that.
const BESIDE_TABLE_PART: u64 = 16;
/// The cache, which half as much again sorts; where that is too much, it begins smaller.
const CACHE_SHARES: [u64; 3] = [24, 12, 6];
/// The same beside a table, which has what it decides.
const CACHE_SHARES_AT_TABLE: [u64; 3] = [16, 8, 6];
/// What it takes of that with sorting, and the layers of the table with sorting.
const BESIDE_TABLE_SHARE: u64 = 34;
/// The least that it takes with sorting: it is kept while the detector is made.
const LEAST_CACHE_SHARE: u64 = 9;
const DIAGRAM_SHARE: u64 = 65;
/// What the cache and the diagram may take together: the rest is for buffers, small layers and leaving the diagram.
const ELASTIC_SHARE: u64 = 77;
/// The filter in front of sorted runs, once the diagram is gone.
const SCREEN_SHARE: u64 = 25;
/// The part of the budget that is kept while there is a diagram, for leaving it: it hands over what it holds to sorted runs
/// while it stands.
const LEAVING_PART: u64 = 14;
const LEAVING_LEAST: u64 = 160 << 10;
/// Buffers to write a layer while another is read: a large part of a budget of a megabyte or two.
const READ_AND_WRITE: u64 = 112 << 10;
/// The index of a layer that takes one part in so many of the budget has room beside the table; a larger one leaves less for
/// sorting.
const LAYER_PART: u64 = 4;
/// What more than the writer of a layer is held while one is written: a part of a budget of a megabyte or two.
const BUFFERS: u64 = 32 << 10;
/// States that a new detector is offered at a time: limits are looked at in between. They take at most this part of the memory.
const OFFERED: usize = 1 << 17;
const OFFERED_PART: usize = 16;

/// Moves a search from one storage to the next.
#[derive(Clone, Copy)]
pub(crate) struct Moving<'a> {
    pub(crate) setting: Setting<'a>,
    pub(crate) exchange: &'a dyn Exchange,
    pub(crate) first: First,
}

/// Where a layered search keeps its closed states first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// In a table: what workers of a cluster find is sent to the owners in batches, which it decides.
    Table,
    /// In a diagram: the table before it was one without layers.
    Diagram,
}

/// What came of leaving the table.
pub(super) enum Moved<'a> {
    /// The search goes on like this.
    To(Box<Sweep<'a>>),
    /// It had to stop; its complete layers are on disk.
    Stopped(Box<DiskFigures>),
}

/// A detector that was offered the layer being found.
struct Offered<'a> {
    made: Made<'a>,
    stage: Stage,
}

/// A detector, and memory for leaving it where it is a diagram.
struct Made<'a> {
    detector: Box<dyn Detector + 'a>,
    leaving: Option<Reservation>,
    tier: Tier,
}

/// What a layered search that begins, or goes on, has besides its origin.
struct Outfit<'a> {
    lanes: Vec<Lane<'a>>,
    /// Memory for the cache and the diagram.
    elastic: Governor,
    made: Option<Made<'a>>,
    mailbox: Mailbox<'a>,
}

impl<'a> Moving<'a> {
    fn share(&self, percent: u64) -> u64 {
        self.setting.governor.limit() / 100 * percent
    }

    fn leaving_bytes(&self) -> u64 {
        (self.setting.governor.limit() / LEAVING_PART).max(LEAVING_LEAST)
    }

    /// What the cache and the diagram may take together, beside so many bytes of a mailbox.
    fn elastic_bytes(&self, mail: u64) -> u64 {
        let limit = self.setting.governor.limit();
        let dense = self.options().dense(limit);
        // What is left besides is the mailbox's: layers are still to be written while others are read.
        let buffers = match mail {
            0 => READ_AND_WRITE,
            _ => READ_AND_WRITE + RunWriter::own_bytes(&dense) + 2 * RunReader::footprint(&dense),
        };
        let others = self.leaving_bytes() + Journal::resident_bytes(limit) + buffers + mail;
        self.share(ELASTIC_SHARE).min(limit.saturating_sub(others))
    }

    /// What writing a layer of so many states takes.
    fn writing_bytes(&self, states: u64) -> u64 {
        RunWriter::footprint(&self.options().dense(self.setting.governor.limit()), states) + BUFFERS
    }

    /// The way to other workers, and what is held of the budget for it.
    fn mailbox(&self) -> Result<(Mailbox<'a>, u64), Trouble> {
        let mailbox = Mailbox::new(self.exchange, self.options().shape, self.setting.governor)?;
        // A worker has inboxes also while it explores small layers for itself.
        let held = if self.first == First::Table { self.setting.governor.current() } else { 0 };
        Ok((mailbox, held))
    }

    /// What the table may take: what leaving it needs has room beside it.
    pub(super) fn table_bytes(&self) -> u64 {
        let limit = self.setting.governor.limit();
        let layer = limit / LAYER_PART / self.options().shape.bytes() as u64;
        let beside = Journal::resident_bytes(limit) + self.writing_bytes(layer) + limit / BESIDE_TABLE_PART;
        self.share(TABLE_SHARE).min(limit.saturating_sub(beside))
    }

    fn options(&self) -> RunOptions {
        run_options(self.setting.task.space, self.setting.governor, Buffers::Many)
    }

    /// Stands in while the storage changes.
    pub(super) fn nothing(&self) -> Report {
        let verdict = Verdict::Stopped(StopReason::Interrupted);
        Report::of_nothing(self.setting.task, self.setting.governor, verdict, TABLE)
    }

    /// Moves what the full table holds to the journal and a detector; the pieces `left` are still to be expanded. Where the
    /// search must stop meanwhile, its complete layers are committed.
    pub(super) fn leave_table(&self, mut begun: Begun<'a>, left: &[Range]) -> Result<Moved<'a>, Trouble> {
        begun.table.drop_index();
        let Begun { table, lanes, ranges, layers, counts } = begun;
        let Setting { task, governor, run, .. } = self.setting;
        let mut ledger = run.open()?;
        let disk = ledger.disk().clone();
        let found = ranges.len() - 1;
        let mut journal = self.journal_of(&table, &ranges[..found], &disk)?;
        let next = self.aside(&table, &ranges[found], &journal)?;
        let rest = self.aside(&table, left, &journal)?.read()?;
        // The table goes before the detector comes.
        drop(table);
        give_back();
        let elastic = governor.part(self.elastic_bytes(0));
        let cached = elastic.try_reserve(self.share(LEAST_CACHE_SHARE), "candidates")?;
        let made = self.offered(&journal, &elastic, next, &disk);
        drop(cached);
        let stage = made.as_ref().map_or(TABLE, |made| made.stage);
        // From here on a killed search loses at most what the next commit would have added.
        let seconds = task.control.elapsed().as_secs_f64();
        let stages = vec![TABLE, stage];
        let actions = counts.actions(task.space);
        let mut tally = Tally {
            layers: &layers,
            covers: &counts.covers,
            actions,
            seconds,
            stages: &stages,
            reached: None,
            begun: 0,
        };
        let Offered { made, .. } = match made {
            Err(trouble) if trouble.is_stop() => {
                tally.stages = &stages[..1];
                ledger.commit(&mut journal, tally, &status(&Verdict::Stopped(StopReason::Interrupted)))?;
                return Ok(Moved::Stopped(Box::new(figures(&ledger, journal.bytes()))));
            }
            made => made?,
        };
        ledger.commit(&mut journal, tally, RUNNING)?;
        let finished: u64 = layers.iter().map(|layer| layer.transitions).sum();
        let fired: u64 = lanes.iter().map(|lane| lane.transitions).sum();
        let offered = portions::states(&ranges[found]);
        let partly = Some(Partly { fired: fired - finished, offered, rest });
        let ledger = Some(ledger);
        let origin = Origin { disk, ledger, journal, layers, counts, seconds: 0.0, stages, partly, begun: 0 };
        let mailbox = Mailbox::alone(self.options().shape, governor);
        let sweep = self.sweep(Outfit { lanes, elastic, made: Some(made), mailbox }, origin)?;
        Ok(Moved::To(Box::new(sweep)))
    }

    /// A detector that knows the journal's layers and was offered the layer being found; ends early where the search must.
    fn offered(
        &self,
        journal: &Journal,
        elastic: &Governor,
        next: Aside,
        disk: &Disk,
    ) -> Result<Offered<'a>, Trouble> {
        let control = self.setting.task.control;
        let _armed = control.brake(disk);
        let (mut made, mut stage) = self.detector(None, journal, elastic)?;
        let shape = self.options().shape;
        let most = (elastic.limit() as usize / OFFERED_PART / shape.bytes()).min(OFFERED) * shape.stride();
        let offer = |detector: &mut dyn Detector| -> Result<(), Trouble> {
            let _memory = elastic.try_reserve(most as u64 * 8, "the layer being found")?;
            let (mut reader, mut block, mut batch) = (next.read()?, Vec::new(), Vec::with_capacity(most));
            loop {
                let more = reader.next_records(&mut block)?;
                if !batch.is_empty() && (!more || batch.len() + block.len() > most) {
                    if control.must_stop(0).is_some() {
                        return Err(ReadError::Stopped.into());
                    }
                    detector.offer(Ascending::new(shape.stride(), &batch))?;
                    batch.clear();
                }
                if !more {
                    return Ok(());
                }
                batch.extend_from_slice(&block);
            }
        };
        match offer(&mut *made.detector) {
            Err(Trouble::OverBudget(_)) => {
                // What it held is needed for the next.
                made = Made { detector: Box::new(Nothing), leaving: None, tier: Tier::SortedRuns };
                let disk = &disk.with_workers(self.setting.threads);
                made.detector = on_disk(disk, self.options(), journal, self.share(SCREEN_SHARE))?;
                stage.storage = Tier::SortedRuns.name();
                offer(&mut *made.detector)?;
            }
            other => other?,
        }
        Ok(Offered { made, stage })
    }

    fn sweep(&self, outfit: Outfit<'a>, origin: Origin) -> Result<Sweep<'a>, Trouble> {
        let Outfit { lanes, elastic, made, mailbox } = outfit;
        let Setting { task, governor, .. } = self.setting;
        let (detector, fallback) = match made {
            Some(Made { detector, leaving, tier }) => {
                let fallback = leaving.map(|leaving| self.fallback((tier, leaving), &origin.disk, &elastic));
                (Some(detector), fallback)
            }
            None => (None, None),
        };
        let means = Means {
            cache: self.cache(lanes.len(), &elastic)?,
            lanes,
            detector,
            fallback,
            keep: Keep::ALL,
            mailbox,
        };
        let mut sweep = Sweep::new(task, governor, means, origin);
        sweep.suit_journal();
        Ok(sweep)
    }

    /// What follows a storage that leaves memory for it.
    fn fallback(
        &self,
        (tier, leaving): (Tier, Reservation),
        disk: &Disk,
        elastic: &Governor,
    ) -> Fallback<'a> {
        let (options, disk, screen) = (self.options(), disk.clone(), self.share(SCREEN_SHARE));
        if tier != Tier::Table {
            let disk = disk.with_workers(self.setting.threads);
            return Fallback::Beside(Box::new(move || {
                drop(leaving);
                Ok(Box::new(sorted_runs(&disk, options, screen)?))
            }));
        }
        let (moving, elastic) = (Moving { first: First::Diagram, ..*self }, elastic.clone());
        Fallback::After(Box::new(move |journal| {
            drop(leaving);
            let (Made { detector, leaving, tier }, _) = moving.detector(None, journal, &elastic)?;
            let fallback = leaving.map(|leaving| moving.fallback((tier, leaving), &disk, &elastic));
            Ok(Next { detector, fallback })
        }))
    }

    /// The largest cache that there is room for.
    fn cache(&self, lanes: usize, elastic: &Governor) -> Result<Cache, OverBudget> {
        let form = (self.options().shape, self.setting.task.space.bits());
        let new = |share| Cache::new(CacheKind::Table, form, lanes, self.share(share), elastic);
        let [first, smaller @ ..] = match self.first {
            First::Table => CACHE_SHARES_AT_TABLE,
            First::Diagram => CACHE_SHARES,
        };
        smaller.into_iter().fold(new(first), |made, share| made.or_else(|_| new(share)))
    }

    fn lanes(&self) -> Vec<Lane<'a>> {
        let Setting { task, threads, .. } = self.setting;
        (0..threads.max(1)).map(|_| Lane::new(task, Parents::Forgotten)).collect()
    }

    /// A search from the initial states that commits nothing.
    pub(crate) fn begin(&self, disk: &Disk) -> Result<Sweep<'a>, Trouble> {
        let (mailbox, mail) = self.mailbox()?;
        let journal = Journal::new(disk, self.options())?;
        let elastic = self.setting.governor.part(self.elastic_bytes(mail));
        let (made, stage) = self.detector(None, &journal, &elastic)?;
        let origin = Origin {
            disk: disk.clone(),
            ledger: None,
            journal,
            layers: Vec::new(),
            counts: Counts::zero(self.setting.task.space),
            seconds: 0.0,
            stages: vec![stage],
            partly: None,
            begun: 0,
        };
        self.sweep(Outfit { lanes: self.lanes(), elastic, made: Some(made), mailbox }, origin)
    }

    /// Goes on from what was committed, after these `stages`; stops at once where the disk has no room for the detector.
    pub(crate) fn go_on(
        &self,
        mut ledger: Ledger,
        record: RunRecord,
        (known, mut stages): (room::Disk, Vec<Stage>),
    ) -> Result<Sweep<'a>, Trouble> {
        let Setting { task, governor, .. } = self.setting;
        let disk = ledger.disk().clone();
        let (mailbox, mail) = self.mailbox()?;
        let elastic = governor.part(self.elastic_bytes(mail));
        let when_full = task.control.limits.when_full;
        let armed = task.control.brake_reading_back(&disk);
        let cached = elastic.try_reserve(self.share(LEAST_CACHE_SHARE), "candidates")?;
        let snapshot = ledger.snapshot().cloned();
        let fitted = make_fit(&mut ledger, self.options(), record, (known, when_full), |journal| {
            self.detector(snapshot.as_ref(), journal, &elastic)
        })?;
        drop((armed, cached));
        let made = fitted.made.map(|(made, stage)| {
            stages.push(stage);
            made
        });
        let origin = Origin { stages, ..Origin::of_record(ledger, fitted.journal, fitted.record) };
        self.sweep(Outfit { lanes: self.lanes(), elastic, made, mailbox }, origin)
    }

    /// A diagram that knows the journal's layers, from what is on disk where there is one; or sorted runs where that does not fit.
    fn detector(
        &self,
        snapshot: Option<&Snapshot>,
        journal: &Journal,
        elastic: &Governor,
    ) -> Result<(Made<'a>, Stage), Trouble> {
        let governor = self.setting.governor;
        let states = (0..journal.depth()).map(|d| journal.states(d)).sum();
        let depth = (journal.depth() as u64).saturating_sub(1);
        if self.first == First::Table {
            let leaving = governor.try_reserve(self.leaving_bytes(), "leaving the table")?;
            if let Some(detector) = self.table(journal, elastic)? {
                let tier = Tier::Table;
                let stage = Stage { storage: tier.name(), states, depth };
                return Ok((Made { detector, leaving: Some(leaving), tier }, stage));
            }
        }
        let leaving = governor.try_reserve(self.leaving_bytes(), "leaving the diagram")?;
        let room = Room {
            disk: journal.disk(),
            control: self.setting.task.control,
            snapshot,
            options: self.options(),
            diagram: elastic.part(self.share(DIAGRAM_SHARE)),
            screen: self.share(SCREEN_SHARE),
            threads: self.setting.threads,
        };
        let (detector, tier) = closed_set(self.setting.task.space, journal, room)?;
        let leaving = (tier == Tier::Diagram).then_some(leaving);
        Ok((Made { detector, leaving, tier }, Stage { storage: tier.name(), states, depth }))
    }

    /// A table that knows the journal's layers, where it has room for them.
    fn table(
        &self,
        journal: &Journal,
        elastic: &Governor,
    ) -> Result<Option<Box<dyn Detector + 'a>>, Trouble> {
        let room = TableRoom {
            disk: journal.disk(),
            options: self.options(),
            bits: self.setting.task.space.bits(),
            memory: elastic.part(elastic.limit().saturating_sub(self.share(BESIDE_TABLE_SHARE))),
            threads: self.setting.threads,
        };
        let made = TableDetector::new(room).and_then(|mut table| {
            at_once(journal.view_all(&mut async |depth, layer| table.adopt(depth, layer).await))?;
            Ok(table)
        });
        match made {
            Ok(table) => Ok(Some(Box::new(table))),
            Err(Trouble::OverBudget(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Writes layers of the table to a new journal.
    fn journal_of(&self, table: &StateTable, layers: &[Vec<Range>], disk: &Disk) -> Result<Journal, Trouble> {
        let mut journal = Journal::new(disk, self.options())?;
        journal.make_dense();
        for layer in layers {
            journal.push(self.written(table, layer, &journal)?)?;
        }
        Ok(journal)
    }

    /// Writes a part of the table that is no layer of the journal.
    fn aside(&self, table: &StateTable, part: &[Range], journal: &Journal) -> Result<Aside, Trouble> {
        journal.aside(self.written(table, part, journal)?)
    }

    fn written(&self, table: &StateTable, part: &[Range], journal: &Journal) -> Result<LayerWriter, Trouble> {
        let mut writer = journal.writer();
        let bytes = self.writing_bytes(portions::states(part));
        let buffers = self.setting.governor.try_reserve(bytes, "write buffers")?;
        let mut portions = Portions::of(table, part, self.setting.governor)?;
        drop(buffers);
        while let Some(portion) = portions.next() {
            writer.push_all(portion)?;
        }
        Ok(writer)
    }

    /// Commits the complete layers of a table search that stopped, so that it can be resumed.
    pub(super) fn keep_for_later(
        &self,
        begun: &Begun,
        report: &Report,
    ) -> Result<Option<DiskFigures>, Trouble> {
        let kept = self.commit_table(begun, report)?;
        Ok(kept.map(|(ledger, bytes)| figures(&ledger, bytes)))
    }

    /// Writes the complete layers to a new run; returns it with their bytes.
    fn commit_table(&self, begun: &Begun, report: &Report) -> Result<Option<(Ledger, u64)>, Trouble> {
        // The layer being found is not complete; where the layer before it is, expanding it again finds it again.
        let complete = begun.ranges.len().saturating_sub(1);
        let Setting { task, run, .. } = self.setting;
        if complete == 0 || matches!(run, Run::Nowhere) {
            return Ok(None);
        }
        let mut ledger = run.open()?;
        let mut journal = self.journal_of(&begun.table, &begun.ranges[..complete], ledger.disk())?;
        let tally = Tally {
            layers: &begun.layers,
            covers: &begun.counts.covers,
            actions: begun.counts.actions(task.space),
            seconds: task.control.elapsed().as_secs_f64(),
            stages: &report.stages,
            reached: report.depth.map(|depth| Reached { depth, beyond: 0 }),
            begun: 0,
        };
        ledger.commit(&mut journal, tally, &status(&report.verdict))?;
        Ok(Some((ledger, journal.bytes())))
    }

    /// Every state is in the table, and looking for runs stopped: for want of memory beside the table it goes on from disk,
    /// else it may be resumed.
    pub(super) fn after_table(&self, mut begun: Begun<'a>, mut report: Report) -> Result<At<'a>, Trouble> {
        begun.table.drop_index();
        match &report.verdict {
            Verdict::Stopped(StopReason::Memory { .. }) => {
                let Some((ledger, _)) = self.commit_table(&begun, &report)? else {
                    return Ok(At::Nowhere(Box::new(report)));
                };
                drop(begun);
                let record = ledger.record().ok_or(Trouble::NothingToResume)?;
                let sweep = self.go_on(ledger, record, (room::Disk::Untried, report.stages))?;
                return Ok(At::Layers(Following::new(sweep)));
            }
            // Going on later would not answer it either.
            Verdict::Stopped(StopReason::Unanswered) => {}
            _ => report.disk = self.keep_for_later(&begun, &report)?,
        }
        Ok(At::Nowhere(Box::new(report)))
    }
}

/// What a run of so many bytes took.
fn figures(ledger: &Ledger, bytes: u64) -> DiskFigures {
    DiskFigures::of(ledger.disk(), bytes)
}
