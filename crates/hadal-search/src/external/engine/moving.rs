//! States that move to their owners: when a search that every worker made for itself is divided, and when the number of
//! workers changes.

use super::super::matrix::{Cell, Column};
use super::super::part::{Part, Range, Shelf};
use super::super::record::{self, BucketRecord, SearchRecord};
use super::super::scope::Keeper;
use super::together::Arriving;
use super::{Engine, Found};
use crate::firings::{ActionFirings, Counts};
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use hadal_store::Disk;
use hadal_store::run::RunKind;

impl Engine<'_> {
    /// Searches everything as if there were no other worker, and commits nothing.
    pub(in crate::external) fn keep_to_itself(&mut self) -> Option<Ledger> {
        self.mailbox.keep_quiet(true);
        self.ledger.take()
    }

    /// Whether there are more states than this, duplicates among those that wait included.
    pub(in crate::external) fn is_larger_than(&self, states: u64) -> bool {
        self.figures.states.expanded + self.matrix.raw_open() > states
    }

    /// Buckets expanded.
    pub(in crate::external) fn expansions(&self) -> u64 {
        self.expansions
    }

    /// Goes on until so many buckets are expanded, whatever asks it to stop: others have expanded them and keep what came of them.
    /// What ended the search on the way, or had ended it.
    pub(in crate::external) fn catch_up(
        &mut self,
        expansions: u64,
        mut found: Option<Found>,
    ) -> Result<Option<Found>, Trouble> {
        let control = self.search.task.control;
        control.let_go_on(true);
        while found.is_none() && self.expansions < expansions {
            found = self.go_on_by_one()?;
        }
        control.let_go_on(false);
        Ok(found)
    }

    /// Keeps what this worker owns of everything, and goes on together with the others.
    pub(in crate::external) fn divide(&mut self, ledger: Option<Ledger>) -> Result<(), Trouble> {
        self.mailbox.keep_quiet(false);
        self.ledger = ledger;
        self.in_vain.add(&self.counted());
        self.counts_before = self.counts.clone();
        let ranks: Vec<_> = self.matrix.open.keys().copied().collect();
        for rank in ranks {
            let parts = self.matrix.open.get_mut(&rank).map(|bucket| std::mem::take(&mut bucket.parts));
            let own = self.own_of(parts.unwrap_or_default())?;
            self.matrix.open.entry(rank).or_default().parts = own;
        }
        self.own_states = 0;
        for (h, Column { rows, levels }) in std::mem::take(&mut self.matrix.columns) {
            let merged = levels.iter().filter_map(|level| level.merged.as_ref());
            self.matrix.release(merged.map(Part::resident_words).sum());
            for (g, parts) in rows {
                let own = self.own_of(parts)?;
                self.own_states += own.iter().map(|part| part.records).sum::<u64>();
                if !own.is_empty() {
                    self.matrix.columns.entry(h).or_default().rows.insert(g, own);
                }
            }
        }
        self.add_levels()
    }

    /// Those states of some parts that this worker owns.
    fn own_of(&mut self, parts: Vec<Part>) -> Result<Vec<Part>, Trouble> {
        let (shape, exchange) = (self.shelf.shape(), self.mailbox.exchange());
        let (mut own, mut block) = (Vec::new(), Vec::new());
        for part in parts {
            let mut kept = Keeper::new(&self.shelf, RunKind::Closed);
            let ready = self.shelf.ready(&part)?;
            let mut source = ready.source(shape, Range::ALL)?;
            while source.next_block(&mut block)? {
                for record in block.chunks_exact(shape.stride()) {
                    if exchange.shares().owner(shape.state(record)) == exchange.me() {
                        kept.push(record)?;
                    }
                }
            }
            drop(source);
            drop(ready);
            self.matrix.release(part.resident_words());
            let kept = kept.finish(0)?;
            self.matrix.hold(kept.resident_words())?;
            own.extend(Some(kept).filter(|kept| kept.records > 0));
        }
        Ok(own)
    }

    /// Takes up what former workers of another number committed: `record` is what all of them knew, `former` what this worker
    /// reads of their buckets.
    pub(in crate::external) fn adopt<'r>(
        &mut self,
        record: SearchRecord,
        actions: &[ActionFirings],
        former: impl Iterator<Item = (&'r SearchRecord, &'r Disk)> + Clone,
    ) -> Result<(), Trouble> {
        let covers = record.covers.clone();
        self.restore(record)?;
        self.counts_before = Counts::of_record(covers, actions);
        self.counts = self.counts_before.clone();
        for arriving in [Arriving::Open, Arriving::Closed] {
            let mut failed = None;
            for (record, disk) in former.clone() {
                let shelf = Shelf { disk: disk.clone(), options: self.shelf.options };
                let buckets = match arriving {
                    Arriving::Open => &record.open,
                    Arriving::Closed => &record.closed,
                };
                self.give_away((arriving, buckets), &shelf, &mut failed)?;
            }
            let (mailbox, mut receiving) = self.receiving(arriving, &mut failed);
            mailbox.agree(&[], &mut |batch| receiving.take(batch))?;
            if let Some(trouble) = failed {
                return Err(trouble);
            }
        }
        let rows = self.matrix.columns.values().flat_map(|column| column.rows.values().flatten());
        self.own_states = rows.map(|part| part.records).sum();
        self.add_levels()
    }

    /// Sends the states of some buckets to their owners.
    fn give_away(
        &mut self,
        (arriving, buckets): (Arriving, &[BucketRecord]),
        shelf: &Shelf,
        failed: &mut Option<Trouble>,
    ) -> Result<(), Trouble> {
        let (shape, mut block, mut sorted) = (shelf.shape(), Vec::new(), Vec::new());
        for bucket in record::parts_of(buckets, shelf) {
            let (cell, parts): (Cell, Vec<Part>) = bucket?;
            let (f, g) = cell.rank();
            for part in parts {
                let ready = shelf.ready(&part)?;
                let mut source = ready.source(shape, Range::ALL)?;
                while source.next_block(&mut block)? {
                    sorted.clear();
                    for record in block.chunks_exact(shape.stride()) {
                        sorted.extend_from_slice(record);
                        sorted.extend_from_slice(&[g, f]);
                    }
                    let (mailbox, mut receiving) = self.receiving(arriving, failed);
                    mailbox.sort_out(&mut sorted, &mut |batch| receiving.take(batch))?;
                    mailbox.put_in(&sorted, &mut |batch| receiving.take(batch))?;
                }
            }
        }
        Ok(())
    }
}
