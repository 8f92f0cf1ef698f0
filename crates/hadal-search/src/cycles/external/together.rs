//! Cycles by sorting and scanning of several workers: each has a part of every set, and what is gathered goes to its owners.
//!
//! Whatever workers say begins with why they must stop, if they must. So one that has to stop says so in whatever round comes
//! next, and all hear it.

use super::kept::Left;
use super::runs::{Files, Stream, precedes};
use super::{Early, External, OnDisk};
use crate::exchange::{
    Exchange, Said, Standing, Stops, Words, agree, bytes_of_one, in_common, kind_of, kind_words,
};
use crate::explore::{Explorer, Folders, Method, Setting};
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::report::{StopReason, Verdict, Violation, ViolationKind};
use crate::run::{out_of_memory, status};
use hadal_store::run::RunFile;
use hadal_store::vfs::at_once;
use std::cmp::Ordering;

/// A search for accepted cycles as one of the workers of an exchange.
#[derive(Clone, Copy)]
pub struct DistributedCycles<'x> {
    engine: External,
    exchange: &'x dyn Exchange,
    /// Runs of former workers, where their number was another.
    former: &'x [&'x dyn Folders],
    moves: bool,
}

impl<'x> DistributedCycles<'x> {
    /// This search among the workers of an exchange.
    pub fn new(engine: External, exchange: &'x dyn Exchange) -> Self {
        DistributedCycles { engine, exchange, former: &[], moves: false }
    }

    /// The same, going on with what other workers committed, of another number: every one of their runs is read by one
    /// worker, these by this one, and all states move to their new owners once.
    pub fn after(self, former: &'x [&'x dyn Folders]) -> Self {
        DistributedCycles { former, moves: true, ..self }
    }

    /// Takes the states of former workers that this one owns, and those of the others to their owners.
    fn redistribute(&self, setting: &Setting, files: &Files) -> Result<Left, Trouble> {
        let mut former: Vec<Ledger> =
            self.former.iter().map(|former| former.open()).collect::<Result<_, _>>()?;
        let point = in_common(self.exchange, &points(&former))?.ok_or(Trouble::NothingToResume)?;
        let mut lefts = Vec::new();
        for ledger in &mut former {
            ledger.go_back_to_moment(Left::moment, point);
            let theirs = Files::new(setting, ledger.disk(), self.exchange)?;
            lefts.push(Left::read(ledger, &theirs, self.engine)?.ok_or(Trouble::NothingToResume)?);
        }
        let known = lefts.first().map_or(Ok(Vec::new()), Left::words)?;
        let known = bytes_of_one(self.exchange, &known)?.ok_or(Trouble::NothingToResume)?;
        let mut left = Left::of_words(&known, Vec::new())?;
        for (n, shape) in left.step.shapes(files).into_iter().enumerate() {
            let mut gather = files.gather(shape).map_err(Early::trouble)?;
            for run in lefts.iter().map(|left| &left.runs[n]) {
                copy(run, |record| gather.push(record)).map_err(Early::trouble)?;
            }
            left.runs.push(at_once(gather.finish()).map_err(Early::trouble)?);
        }
        Ok(left)
    }
}

fn copy(run: &RunFile, mut push: impl FnMut(&[u64]) -> Result<(), Early>) -> Result<(), Early> {
    let mut records = Stream::open(run)?;
    while let Some(record) = records.peek()? {
        push(record)?;
        records.step();
    }
    Ok(())
}

/// The commits that each of some runs keeps.
fn points(runs: &[Ledger]) -> Vec<Vec<u64>> {
    runs.iter().map(|ledger| ledger.moments_kept(Left::moment)).collect()
}

impl Method for DistributedCycles<'_> {
    /// Goes on with what all workers committed, or begins where they have nothing in common.
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        self.engine.suits(&setting)?;
        let mut ledger = setting.run.open()?;
        let files = Files::new(&setting, ledger.disk(), self.exchange)?;
        let left = match in_common(self.exchange, &points(std::slice::from_ref(&ledger)))? {
            Some(point) => {
                ledger.go_back_to_moment(Left::moment, point);
                Left::read(&ledger, &files, self.engine)?
            }
            None if self.moves => Some(self.redistribute(&setting, &files)?),
            None => None,
        };
        Ok(self.engine.search(setting, (files, ledger), left))
    }
}

impl Early {
    /// As those see it who do not stop early.
    fn trouble(self) -> Trouble {
        match self {
            Early::Trouble(trouble) => trouble,
            Early::Stopped(_) | Early::Agreed(_) | Early::Wrong(..) => Trouble::NothingToResume,
        }
    }
}

impl OnDisk<'_, '_> {
    /// The first of the states in which workers found something wrong. The transitions of the layer that is being expanded are
    /// counted up to it; `before` were counted before.
    pub(super) fn first_wrong(
        &mut self,
        own: Option<(ViolationKind, Vec<u64>)>,
        (layer, before): (&RunFile, u64),
    ) -> Result<Option<(ViolationKind, Vec<u64>)>, Early> {
        if self.files.is_alone() {
            return Ok(own);
        }
        let own = own.map(|(kind, state)| {
            let (kind, id) = kind_words(kind);
            [&[kind, id], &state[..]].concat()
        });
        let mut all = self.files.hear(&own.unwrap_or_default())?;
        all.retain(|words| words.len() > 2);
        let Some(first) = all.into_iter().min_by(|a, b| precedes(&a[2..], &b[2..])) else { return Ok(None) };
        let state = first[2..].to_vec();
        let (mut states, mut fired) = (Stream::open(layer)?, 0);
        while let Some(next) = states.peek()?.filter(|next| precedes(next, &state) == Ordering::Less) {
            let next = next.to_vec();
            states.step();
            self.expand(&next);
            fired += self.out.len() as u64;
        }
        self.transitions = before + self.files.total(fired)?;
        Ok(kind_of(first[0], first[1] as u32).map(|kind| (kind, state)))
    }

    /// Sees to it that all workers stop where one must, and that all keep the same.
    pub(super) fn stop_together(
        &mut self,
        said: Result<Option<Violation>, Early>,
    ) -> Result<Result<Option<Violation>, Early>, Trouble> {
        if self.files.is_alone() {
            return Ok(said);
        }
        let reason = match said {
            Ok(_) | Err(Early::Wrong(..)) => return Ok(said),
            Err(Early::Agreed(reason)) => reason,
            Err(Early::Stopped(reason)) => self.tell(reason)?,
            Err(Early::Trouble(trouble)) if trouble.is_stop() => self.tell(StopReason::Interrupted)?,
            Err(Early::Trouble(trouble)) if trouble.is_disk_full() => self.tell(StopReason::DiskFull)?,
            Err(Early::Trouble(Trouble::OverBudget(full))) => self.tell(out_of_memory(full))?,
            Err(Early::Trouble(trouble)) => return Err(trouble),
        };
        // Where the disk of one worker is full, what all committed before stands.
        if reason != StopReason::DiskFull {
            self.keep(&status(&Verdict::Stopped(reason.clone()))).map_err(Early::trouble)?;
        }
        Ok(Err(Early::Agreed(reason)))
    }

    /// Tells that this worker must stop, in whatever round comes next; why all do.
    fn tell(&self, reason: StopReason) -> Result<StopReason, Trouble> {
        let said = Said::default().stop(Some(&reason)).list(&[]).into_words();
        let mut stops = Stops::default();
        let heard = agree(self.files.exchange, &said)?;
        heard.iter().for_each(|words| stops.add(&mut Words::new(words)));
        Ok(stops.reason().unwrap_or(reason))
    }

    /// Tells whoever watches how this worker stands.
    pub(super) fn tell_others(&self) {
        let standing = Standing { own: self.own, committed: Some(self.point), ..Standing::default() };
        self.files.exchange.tell(standing);
    }
}
