//! External A* of several workers: what they agree on before they search, small searches that each makes for itself, and how
//! states move when the number of workers changes.

use super::engine::{Engine, Found};
use super::record::{self, SearchRecord};
use super::{External, ExternalExplorer, go_on};
use crate::exchange::{Alone, Exchange, Said, Stops, Words, agree, bytes_of_one, in_common};
use crate::explore::{Explored, Explorer, Folders, Method, Phase, Progress, Setting};
use crate::firings::ActionFirings;
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::StopReason;
use crate::run::RUNNING;

/// External A* as one of the workers of an exchange, each of which owns a part of the states.
#[derive(Clone, Copy)]
pub struct DistributedExternal<'x> {
    external: &'x External<'x>,
    exchange: &'x dyn Exchange,
    /// Runs of former workers, where their number was another.
    former: &'x [&'x dyn Folders],
    moves: bool,
    /// Searches with fewer states are made by every worker for itself.
    small: u64,
}

impl<'x> DistributedExternal<'x> {
    /// This search among the workers of an exchange.
    pub fn new(external: &'x External<'x>, exchange: &'x dyn Exchange) -> Self {
        DistributedExternal { external, exchange, former: &[], moves: false, small: 0 }
    }

    /// The same, going on with what other workers committed, of another number: every one of their runs is read by one
    /// worker, these by this one, and all states move to their new owners once.
    pub fn after(self, former: &'x [&'x dyn Folders]) -> Self {
        DistributedExternal { former, moves: true, ..self }
    }

    /// The same, with every worker searching for itself until there are so many states: sending would take longer.
    pub fn sharing_from(self, small: u64) -> Self {
        DistributedExternal { small, ..self }
    }

    /// Takes the states of former workers that this one owns, and those of the others to their owners.
    fn redistribute<'a>(&'a self, setting: Setting<'a>, ledger: Ledger) -> Result<Engine<'a>, Trouble> {
        let mut former: Vec<Ledger> =
            self.former.iter().map(|former| former.open()).collect::<Result<_, _>>()?;
        let moment = in_common(self.exchange, &moments(&former))?.ok_or(Trouble::NothingToResume)?;
        let mut records = Vec::new();
        for ledger in &mut former {
            ledger.go_back_to_moment(record::moment, moment);
            records.push(record::read(ledger).ok_or(Trouble::NothingToResume)?);
        }
        let actions = former.first().and_then(Ledger::record).map_or(Vec::new(), |run| run.actions);
        let known = match former.first().and_then(record::read) {
            Some(record) => serde_json::to_vec(&(record.without_states(), actions))?,
            None => Vec::new(),
        };
        let known = bytes_of_one(self.exchange, &known)?.ok_or(Trouble::NothingToResume)?;
        let (record, actions): (SearchRecord, Vec<ActionFirings>) = serde_json::from_slice(&known)?;
        let mut engine = self.external.engine(setting, self.exchange, ledger, Some(&record))?;
        let disks: Vec<_> = former.iter().map(Ledger::disk).collect();
        engine.adopt(record, &actions, records.iter().zip(disks))?;
        Ok(engine)
    }
}

/// The commits that each of some runs keeps.
fn moments(runs: &[Ledger]) -> Vec<Vec<u64>> {
    runs.iter().map(|ledger| ledger.moments_kept(record::moment)).collect()
}

impl Method for DistributedExternal<'_> {
    /// Goes on with what all workers committed, or begins where they have nothing in common.
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        self.exchange.shares().must_suit(setting.task.space)?;
        let mut ledger = setting.run.open()?;
        let workers = self.exchange.shares().workers();
        if let Some(moment) = in_common(self.exchange, &moments(std::slice::from_ref(&ledger)))? {
            ledger.go_back_to_moment(record::moment, moment);
            let record = record::read(&ledger).ok_or(Trouble::NothingToResume)?;
            let mut engine = self.external.engine(setting, self.exchange, ledger, Some(&record))?;
            go_on(&mut engine, setting.task, record)?;
            return Ok(Box::new(ExternalExplorer { engine, found: None }));
        }
        if self.moves {
            let mut engine = self.redistribute(setting, ledger)?;
            engine.commit(RUNNING)?;
            return Ok(Box::new(ExternalExplorer { engine, found: None }));
        }
        let exchange: &dyn Exchange = if workers == 1 { &Alone } else { self.exchange };
        let mut engine = self.external.engine(setting, exchange, ledger, None)?;
        if workers > 1 && self.small > 0 {
            let ledger = engine.keep_to_itself();
            engine.start()?;
            return Ok(Box::new(Beginning { method: self, at: At::ForItself(engine, ledger) }));
        }
        engine.start()?;
        engine.commit(RUNNING)?;
        Ok(Box::new(ExternalExplorer { engine, found: None }))
    }
}

/// A search that every worker begins for itself.
struct Beginning<'a> {
    method: &'a DistributedExternal<'a>,
    at: At<'a>,
}

#[allow(clippy::large_enum_variant, reason = "there is one per search")]
enum At<'a> {
    /// Every worker searches everything.
    ForItself(Engine<'a>, Option<Ledger>),
    /// Everybody what it owns; or it is over.
    Shared(Box<ExternalExplorer<'a>>),
    /// Between the others.
    Nowhere,
}

impl Beginning<'_> {
    /// Searches for itself; when there is much, or everything is known, meets the others.
    fn search_alone(&mut self) -> Result<(), Trouble> {
        let At::ForItself(engine, _) = &mut self.at else { return Ok(()) };
        // All look after every bucket, whatever their threads: so all see at the same time that there is much.
        let found = match engine.go_on_by_one() {
            Err(trouble) if trouble.is_disk_full() => Some(Found::Stopped(StopReason::DiskFull)),
            other => other?,
        };
        if found.is_none() && !engine.is_larger_than(4 * self.method.small) {
            return Ok(());
        }
        let own = early(found.as_ref());
        let said = Said::default().stop(own.as_ref()).word(engine.expansions());
        let (stopped, furthest) = self.hear(&said.into_words())?;
        let At::ForItself(mut engine, ledger) = std::mem::replace(&mut self.at, At::Nowhere) else {
            return Ok(());
        };
        let found = match stopped {
            // Whoever must stop ends where the first is: so nothing is lost that one has.
            Some(reason) => match engine.catch_up(furthest, found.filter(|_| own.is_none()))? {
                Some(found) => Some(found),
                None => {
                    engine.divide(ledger)?;
                    Some(Found::Stopped(reason))
                }
            },
            None if found.is_none() => {
                engine.divide(ledger)?;
                engine.commit(RUNNING)?;
                None
            }
            None => found,
        };
        self.at = At::Shared(Box::new(ExternalExplorer { engine, found }));
        Ok(())
    }

    /// Why all must stop, where one must, and how many buckets the first has expanded.
    fn hear(&self, words: &[u64]) -> Result<(Option<StopReason>, u64), Trouble> {
        let (mut stops, mut furthest) = (Stops::default(), 0);
        for words in &agree(self.method.exchange, words)? {
            let mut words = Words::new(words);
            stops.add(&mut words);
            furthest = furthest.max(words.word());
        }
        Ok((stops.reason(), furthest))
    }
}

/// Why a search that is not at its end must stop, where it must: at its end, all are.
fn early(found: Option<&Found>) -> Option<StopReason> {
    match found {
        Some(Found::Stopped(StopReason::DepthLimit | StopReason::CostBound)) => None,
        Some(Found::Stopped(reason)) => Some(reason.clone()),
        _ => None,
    }
}

impl Explorer for Beginning<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        match &mut self.at {
            At::ForItself(..) => self.search_alone()?,
            At::Shared(explorer) => return explorer.step(work),
            At::Nowhere => {}
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        match &self.at {
            At::ForItself(engine, _) => engine.progress(),
            At::Shared(explorer) => explorer.progress(),
            At::Nowhere => Progress { phase: Phase::Over, ..Progress::NOTHING },
        }
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        match self.at {
            At::ForItself(engine, _) => engine.conclude(Found::Stopped(StopReason::Interrupted)),
            At::Shared(explorer) => explorer.finish(),
            At::Nowhere => Err(Trouble::NothingToResume),
        }
    }
}
