//! Order-relaxed search of several workers: what they agree on before they search, and how states move when the number of
//! workers changes.

use super::record::{self, RelaxedRecord, SECTION};
use super::search::Exploration;
use super::{At, RelaxedExplorer};
use crate::exchange::{Exchange, Mailbox, bytes_of_one, in_common};
use crate::explore::{Explorer, Folders, Method, Setting};
use crate::firings::Counts;
use crate::fixpoint::Following;
use crate::layered::Trouble;
use crate::layered::journal::Journal;
use crate::layered::ledger::Ledger;
use crate::run::RUNNING;
use crate::strategy::{Distributed, Strategy};
use hadal_store::shape::RecordShape;
use hadal_store::vfs::at_once;
use hadal_system::Ascending;

/// An order-relaxed search as one of the workers of an exchange, each of which owns a part of the states.
#[derive(Clone, Copy)]
pub struct DistributedRelaxed<'x> {
    exchange: &'x dyn Exchange,
    /// Runs of former workers, where their number was another.
    former: &'x [&'x dyn Folders],
    moves: bool,
    breadth_first: Distributed<'x>,
}

/// What all former workers knew.
type Past = (u64, Vec<u64>, Vec<u64>, f64, u64);

impl<'x> DistributedRelaxed<'x> {
    /// This search among the workers of an exchange; `breadth_first` finds a shortest path to what is wrong.
    pub fn new(breadth_first: &'x Strategy, exchange: &'x dyn Exchange) -> Result<Self, Trouble> {
        let breadth_first = Distributed::new(breadth_first, exchange)?;
        Ok(DistributedRelaxed { exchange, former: &[], moves: false, breadth_first })
    }

    /// The same, going on with what other workers committed, of another number: every one of their runs is read by one
    /// worker, these by this one, and all states move to their new owners once.
    pub fn after(self, former: &'x [&'x dyn Folders]) -> Self {
        DistributedRelaxed { former, moves: true, ..self }
    }

    /// Takes the states of former workers that this one owns, and those of the others to their owners.
    fn redistribute(&self, exploration: &mut Exploration) -> Result<(), Trouble> {
        let mut former: Vec<Ledger> =
            self.former.iter().map(|former| former.open()).collect::<Result<_, _>>()?;
        let moment = in_common(self.exchange, &moments(&former))?.ok_or(Trouble::NothingToResume)?;
        let mut records = Vec::new();
        for ledger in &mut former {
            ledger.go_back_to_moment(record::moment, moment);
            let record = ledger.section(SECTION).and_then(|bytes| serde_json::from_slice(bytes).ok());
            records.push(record.ok_or(Trouble::NothingToResume)?);
        }
        self.adopt_counts(exploration, &records)?;
        let words = exploration.options.shape.words();
        let shape = RecordShape::states(words + 1);
        let mut mailbox = Mailbox::new(self.exchange, shape, &exploration.governor)?.owned_by(0..words);
        for (ledger, record) in former.iter().zip(&records) {
            let RelaxedRecord { journal, waiting, .. } = record;
            let journal = Journal::open(ledger.disk(), exploration.options, journal)?;
            for set in 0..journal.depth() {
                let waits = waiting.iter().find(|waiting| waiting.set == set);
                let mut expanded = waits.map_or(u64::MAX, |waiting| waiting.expanded);
                let (mut reader, mut block) = (journal.reader(set)?, Vec::new());
                while reader.next_block(&mut block)? {
                    // What waits is sent apart from what is expanded, so that each piece ascends.
                    let cut = expanded.min((block.len() / words) as u64) as usize * words;
                    expanded -= (cut / words) as u64;
                    for (tag, states) in [(0, &block[..cut]), (1, &block[cut..])] {
                        let mut tagged: Vec<u64> = states
                            .chunks_exact(words)
                            .flat_map(|state| state.iter().copied().chain([tag]))
                            .collect();
                        mailbox.sort_out(&mut tagged, &mut |batch| exploration.adopt(batch))?;
                        mailbox.put_in(&tagged, &mut |batch| exploration.adopt(batch))?;
                    }
                }
            }
        }
        mailbox.agree(&[], &mut |batch| exploration.adopt(batch))?;
        Ok(())
    }

    /// What all former workers counted goes on with the first worker.
    fn adopt_counts(&self, exploration: &mut Exploration, records: &[RelaxedRecord]) -> Result<(), Trouble> {
        let mut sum: Option<Past> = None;
        for record in records {
            let RelaxedRecord { transitions, covers, fired, seconds, rounds, .. } = record;
            let counts = Counts { covers: covers.clone(), fired: fired.clone() };
            sum = Some(match sum {
                None => (*transitions, counts.covers, counts.fired, *seconds, *rounds),
                Some((before, covers, fired, seconds, rounds)) => {
                    let mut both = Counts { covers, fired };
                    both.add(&counts);
                    (before + transitions, both.covers, both.fired, seconds, rounds)
                }
            });
        }
        if let Some((transitions, covers, fired, ..)) = &sum {
            let counts = Counts { covers: covers.clone(), fired: fired.clone() };
            exploration.count_before(*transitions, counts);
        }
        let known = sum.map_or(Ok(Vec::new()), |past| serde_json::to_vec(&past))?;
        let known = bytes_of_one(self.exchange, &known)?.ok_or(Trouble::NothingToResume)?;
        let (.., rounds): Past = serde_json::from_slice(&known)?;
        exploration.rounds = rounds;
        exploration.is_begun = true;
        Ok(())
    }
}

/// The commits that each of some runs keeps.
fn moments(runs: &[Ledger]) -> Vec<Vec<u64>> {
    runs.iter().map(|ledger| ledger.moments_kept(record::moment)).collect()
}

impl Exploration<'_> {
    /// Adds states that former workers had closed: each is followed by a word that says whether it waits.
    fn adopt(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let (words, options) = (self.options.shape.words(), self.options);
        let mut left = batch.states().flat();
        while !left.is_empty() {
            let tag = left[words];
            let count = left.chunks_exact(words + 1).take_while(|record| record[words] == tag).count();
            let (group, rest) = left.split_at(count * (words + 1));
            left = rest;
            let states: Vec<u64> =
                group.chunks_exact(words + 1).flat_map(|record| &record[..words]).copied().collect();
            states.chunks_exact(words).for_each(|state| self.pool.note_closed(state));
            let Some(closed) = &mut self.closed else { return Err(Trouble::NothingToResume) };
            at_once(closed.add(Ascending::new(words, &states), options))?;
            if tag == 1 {
                closed.wait();
            }
        }
        Ok(())
    }
}

impl Method for DistributedRelaxed<'_> {
    /// Goes on with what all workers committed, or begins where they have nothing in common.
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        if setting.task.question.asks_about_runs(setting.task.space) {
            return Err(Trouble::Liveness);
        }
        let mut ledger = setting.run.open()?;
        let mut exploration = Exploration::begin(setting, self.exchange)?;
        match in_common(self.exchange, &moments(std::slice::from_ref(&ledger)))? {
            Some(moment) => {
                ledger.go_back_to_moment(record::moment, moment);
                exploration.go_on_from(ledger)?;
            }
            None => {
                let journal = Journal::new(ledger.disk(), exploration.options)?;
                exploration.open_closed(ledger, journal)?;
                if self.moves {
                    self.redistribute(&mut exploration)?;
                    exploration.commit(RUNNING)?;
                }
            }
        }
        let at = At::Relaxed(Following::new(exploration.meeting_others()));
        Ok(Box::new(RelaxedExplorer { setting, at, breadth_first: &self.breadth_first }))
    }
}
