//! Layered strategies of several workers: what they agree on before they search, and how states move when their number
//! changes.

use super::{Detection, LayeredExplorer, Layering, Strategy};
use crate::auto::{First, Moving};
use crate::control::WhenFull;
use crate::exchange::{Alone, Exchange, Mailbox, Said, Words};
use crate::explore::{Explored, Explorer, Folders, Method, Payloads, Phase, Progress, Setting};
use crate::firings::{ActionFirings, Counts};
use crate::fixpoint::Following;
use crate::layered::Trouble;
use crate::layered::cover::COVER;
use crate::layered::detector::LayerView;
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, RunRecord, Tally, layers_of};
use crate::layered::room;
use crate::layered::sorted::{SORT, SORT_FILE_PER_LAYER, SORT_SEPARATE, SORT_SINGLE_FILE};
use crate::layered::sweep::{Keep, Sweep};
use crate::report::Layer;
use crate::run::RUNNING;
use crate::strategies::Resumes;
use hadal_store::vfs::at_once;
use serde::{Deserialize, Serialize};

/// Ways of detection that look at nothing but the states a worker owns: all that may cover one have its owner.
static SHARED: [&Detection; 5] = [&SORT, &SORT_SINGLE_FILE, &SORT_FILE_PER_LAYER, &SORT_SEPARATE, &COVER];

/// A layered strategy of several workers, each of which owns a part of the states.
#[derive(Clone, Copy)]
pub struct Distributed<'x> {
    strategy: &'x Strategy,
    /// Whether every worker begins with a table in RAM, and moves on as its budget demands.
    is_auto: bool,
    exchange: &'x dyn Exchange,
    /// Runs of former workers, where their number was another.
    former: &'x [&'x dyn Folders],
    moves: bool,
    /// Layers with fewer states are explored by every worker for itself.
    small: u64,
}

/// What former workers counted.
#[derive(Serialize, Deserialize)]
struct Past {
    layers: serde_json::Value,
    covers: Vec<u64>,
    actions: Vec<ActionFirings>,
    seconds: f64,
}

impl<'x> Distributed<'x> {
    /// This strategy, as one of the workers of an exchange; or why not.
    pub fn new(strategy: &'x Strategy, exchange: &'x dyn Exchange) -> Result<Self, Trouble> {
        if !SHARED.iter().any(|shared| std::ptr::eq(*shared, strategy.detection)) {
            return Err(Trouble::NotShared(
                "duplicates are found by sorting there: use --strategy auto, sort, sort-single-file, \
                 sort-file-per-layer or sort-separate",
            ));
        }
        if strategy.keep() != Keep::ALL {
            return Err(Trouble::NotShared("every layer is kept there: leave out what deletes layers"));
        }
        Ok(Distributed { strategy, is_auto: false, exchange, former: &[], moves: false, small: 0 })
    }

    /// The same with a table in RAM while it fits, then a diagram, then this strategy: each worker by itself, so they may differ.
    pub fn moving_on(self) -> Self {
        Distributed { is_auto: true, ..self }
    }

    /// The same, going on with what other workers committed, of another number: every one of their runs is read by one
    /// worker, these by this one, and all states move to their new owners once.
    pub fn after(self, former: &'x [&'x dyn Folders]) -> Self {
        Distributed { former, moves: true, ..self }
    }

    /// The same, with every worker exploring everything for itself until a layer has so many states, or all layers four
    /// times as many: sending would take longer.
    pub fn sharing_from(self, small: u64) -> Self {
        Distributed { small, ..self }
    }

    /// How many states a layer has that is worth sharing.
    pub(super) fn small(&self) -> u64 {
        self.small
    }

    /// Commits nothing, so that there is something that all can go back to.
    fn commit_nothing(&self, layering: &Layering, ledger: &mut Ledger) -> Result<(), Trouble> {
        let space = layering.setting.task.space;
        let counts = Counts::zero(space);
        let tally = Tally {
            layers: &[],
            covers: &counts.covers,
            actions: counts.actions(space),
            seconds: 0.0,
            stages: &[],
            reached: None,
            begun: 0,
        };
        ledger.commit(&mut Journal::new(ledger.disk(), layering.options())?, tally, RUNNING)
    }

    /// Goes back to what all workers have kept.
    fn go_back(&self, layering: &Layering, ledger: &mut Ledger) -> Result<RunRecord, Trouble> {
        let kept = ledger.layers_kept();
        let heard = self.mailbox(layering)?.agree_on(&kept)?;
        let in_common = |layers: &&u64| heard.iter().all(|kept| kept.contains(layers));
        let layers = kept.iter().filter(in_common).max().ok_or(Trouble::NothingToResume)?;
        if !ledger.go_back_to(*layers) {
            return Err(Trouble::NothingToResume);
        }
        ledger.record().ok_or(Trouble::NothingToResume)
    }

    /// Goes on with what is committed, together.
    pub(super) fn share<'a>(
        &'a self,
        layering: Layering<'a>,
        ledger: Ledger,
        record: RunRecord,
    ) -> Result<LayeredExplorer<'a>, Trouble> {
        let disk = ledger.disk().clone();
        let mut sweep = match self.is_auto {
            true => moving(&layering).go_on(ledger, record, (room::Disk::Untried, Vec::new()))?,
            false => layering.go_on(ledger, record, room::Disk::Untried)?,
        };
        if let Some(reason) = sweep.stopped() {
            // The others would wait for a worker that stops before it begins.
            layering.setting.task.control.warn(format!("a worker cannot begin: {reason}"));
            return Err(Trouble::NothingToResume);
        }
        sweep.meet_again()?;
        Ok(LayeredExplorer { layering, disk, sweep: Some(Following::new(sweep)) })
    }

    pub(super) fn mailbox<'a>(&'a self, layering: &Layering<'a>) -> Result<Mailbox<'a>, Trouble> {
        Mailbox::new(self.exchange, layering.options().shape, layering.setting.governor)
    }

    /// Moves the layers of former workers to their owners, and commits them.
    fn redistribute(&self, layering: &Layering, ledger: &mut Ledger) -> Result<(), Trouble> {
        let former: Vec<Ledger> = self.former.iter().map(|former| former.open()).collect::<Result<_, _>>()?;
        let mut mailbox = self.mailbox(layering)?;
        let (layers, past) = self.agree_on_past(&mut mailbox, &former)?;
        let mut journals = Vec::new();
        for ledger in &former {
            let record = ledger.record_with(layers).ok_or(Trouble::NothingToResume)?;
            journals.push(ledger.open_journal(layering.options(), &record)?);
        }
        let disk = ledger.disk().clone();
        let mut journal = Journal::new(&disk, layering.options())?;
        let mut detector = layering.adopted(&disk, &journal)?;
        let mut block = Vec::new();
        for depth in 0..layers as usize {
            for former in &journals {
                let mut reader = former.reader(depth)?;
                while reader.next_records(&mut block)? {
                    mailbox.sort_out(&mut block, &mut |batch| detector.offer(batch))?;
                    mailbox.put_in(&block, &mut |batch| detector.offer(batch))?;
                }
            }
            mailbox.agree(&[], &mut |batch| detector.offer(batch))?;
            let mut layer = journal.writer();
            at_once(detector.finish_layer(&mut layer))?;
            journal.push(layer)?;
            let mut close = async |layer: LayerView<'_>| detector.closed(depth as u64, layer).await;
            at_once(journal.view_last(&mut close))?;
        }
        let rows: Vec<Layer> = layers_of(past.layers)?;
        let Past { covers, actions, seconds, .. } = past;
        let tally =
            Tally { layers: &rows, covers: &covers, actions, seconds, stages: &[], reached: None, begun: 0 };
        ledger.commit(&mut journal, tally, RUNNING)
    }

    /// How many layers all former workers have kept, and what they counted in them: all counted the same.
    fn agree_on_past(&self, mailbox: &mut Mailbox, former: &[Ledger]) -> Result<(u64, Past), Trouble> {
        let own: Vec<Vec<u64>> = former.iter().map(Ledger::layers_kept).collect();
        let in_common = |kept: &[Vec<u64>]| -> Vec<u64> {
            let first = kept.first().cloned().unwrap_or_default();
            first.into_iter().filter(|layers| kept.iter().all(|kept| kept.contains(layers))).collect()
        };
        let said = Said::default().word(own.len() as u64).list(&in_common(&own)).into_words();
        let mut kept = Vec::new();
        for words in &mailbox.agree_on(&said)? {
            let mut words = Words::new(words);
            if words.word() > 0 {
                kept.push(words.list().to_vec());
            }
        }
        let layers = in_common(&kept).into_iter().max().ok_or(Trouble::NothingToResume)?;
        let mut bytes = Vec::new();
        if let Some(record) = former.first().and_then(|ledger| ledger.record_with(layers)) {
            let rows = crate::layered::ledger::rows_of(&record.layers)?;
            let RunRecord { covers, actions, seconds, .. } = record;
            bytes = serde_json::to_vec(&Past { layers: rows, covers, actions, seconds })?;
        }
        let words: Vec<u64> = bytes.chunks(8).map(word_of).collect();
        let said = Said::default().word(bytes.len() as u64).list(&words).into_words();
        for words in &mailbox.agree_on(&said)? {
            let mut words = Words::new(words);
            let length = words.word() as usize;
            if length > 0 {
                let mut bytes: Vec<u8> = words.list().iter().flat_map(|word| word.to_le_bytes()).collect();
                bytes.truncate(length);
                return Ok((layers, serde_json::from_slice(&bytes)?));
            }
        }
        Err(Trouble::NothingToResume)
    }
}

/// What changes the storage of a worker.
fn moving<'a>(layering: &Layering<'a>) -> Moving<'a> {
    Moving { setting: layering.setting, exchange: layering.exchange, first: First::Table }
}

/// Up to eight bytes as a word.
fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl Method for Distributed<'_> {
    /// Goes on with what all workers committed, or begins where one has committed nothing.
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let task = setting.task;
        if task.question.asks_about_runs(task.space) {
            return Err(Trouble::NotShared(
                "questions about infinite runs are answered by one process: leave out --cluster",
            ));
        }
        if task.control.limits.when_full == WhenFull::DeleteLayers {
            return Err(Trouble::NotShared("every layer is kept there: leave out --when-full delete-layers"));
        }
        self.exchange.shares().must_suit(task.space)?;
        let layering = Layering { setting, strategy: self.strategy, exchange: self.exchange };
        let mut ledger = setting.run.open()?;
        match (ledger.layers_kept().is_empty(), self.moves) {
            (true, true) => self.redistribute(&layering, &mut ledger)?,
            (true, false) => self.commit_nothing(&layering, &mut ledger)?,
            (false, _) => {}
        }
        let record = self.go_back(&layering, &mut ledger)?;
        if record.journal.layers() == 0 && self.small > 0 && self.exchange.shares().workers() > 1 {
            let disk = ledger.disk().clone();
            let alone = Layering { exchange: &Alone, ..layering };
            let sweep = match self.is_auto {
                true => moving(&alone).begin(&disk)?,
                false => alone.begin(&disk, None)?,
            };
            let at = At::ForItself(Following::new(sweep), ledger);
            return Ok(Box::new(DistributedExplorer { method: self, layering, at }));
        }
        let shared = self.share(layering, ledger, record)?;
        Ok(Box::new(DistributedExplorer { method: self, layering, at: At::Shared(Box::new(shared)) }))
    }

    fn payloads(&self) -> Payloads {
        Payloads::Refused("workers of a cluster exchange bare states")
    }
}

/// A search of several workers under way.
pub(super) struct DistributedExplorer<'a> {
    pub(super) method: &'a Distributed<'a>,
    pub(super) layering: Layering<'a>,
    pub(super) at: At<'a>,
}

/// Who explores.
#[allow(clippy::large_enum_variant, reason = "there is one per search")]
pub(super) enum At<'a> {
    /// Every worker everything, for itself.
    ForItself(Following<'a, Sweep<'a>>, Ledger),
    /// Everybody what it owns.
    Shared(Box<LayeredExplorer<'a>>),
    /// It is over.
    Over(Box<Explored>),
    /// Between the others.
    Nowhere,
}

impl Explorer for DistributedExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        match &mut self.at {
            At::ForItself(..) => self.explore_small()?,
            At::Shared(explorer) => return explorer.step(work),
            At::Over(_) | At::Nowhere => {}
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        match &self.at {
            At::ForItself(sweep, _) => sweep.progress(),
            At::Shared(explorer) => explorer.progress(),
            At::Over(explored) => Progress {
                phase: Phase::Over,
                depth: explored.report.depth,
                states: explored.report.states,
                transitions: explored.report.transitions,
                ..Progress::NOTHING
            },
            At::Nowhere => Progress::NOTHING,
        }
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        match self.at {
            At::ForItself(sweep, _) => {
                let mut sweep = sweep.end()?;
                sweep.interrupt()?;
                Ok(Explored::leaving(sweep.report(), Resumes::Layers))
            }
            At::Shared(explorer) => explorer.finish(),
            At::Over(explored) => Ok(*explored),
            At::Nowhere => Err(Trouble::NothingToResume),
        }
    }
}
