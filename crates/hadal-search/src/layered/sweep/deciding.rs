//! Who decides about states: a detector, and the next one where that has no memory for them.

use super::Sweep;
use super::parts::Fallback;
use crate::exchange::Mailbox;
use crate::layered::Trouble;
use crate::layered::detector::{Detector, Nothing};
use crate::layered::journal::Journal;
use crate::layered::ledger::Ledger;
use crate::layered::sorted::SortedDetector;
use crate::report::{Layer, Stage};
use hadal_store::governor::give_back;
use hadal_store::vfs::at_once;
use hadal_system::Ascending;

impl<'a> Sweep<'a> {
    /// Exchanges the detector for the next one, if there is one; says whether.
    pub(super) async fn fall_back(&mut self) -> Result<bool, Trouble> {
        self.deciding().1.fall_back().await
    }

    /// The way to the others, and what decides about states.
    pub(super) fn deciding(&mut self) -> (&mut Mailbox<'a>, Deciding<'_, 'a>) {
        self.mailbox.pass_on(self.detector.writers().is_some());
        let deciding = Deciding {
            states: self.states(),
            detector: &mut self.detector,
            fallback: &mut self.fallback,
            journal: &mut self.journal,
            row: &mut self.counted.row,
            passed: &mut self.counted.passed,
            stages: &mut self.counted.stages,
            ledger: &mut self.ledger,
        };
        (&mut self.mailbox, deciding)
    }

    /// Lets layers be written in the way that suits the detector.
    pub(crate) fn suit_journal(&mut self) {
        suit(&mut self.journal, &*self.detector);
    }
}

fn suit(journal: &mut Journal, detector: &dyn Detector) {
    match detector.asks_runs() {
        true => journal.make_askable(),
        false => journal.make_dense(),
    }
}

/// What decides about states: the detector, or the next one where it has no memory for them.
pub(super) struct Deciding<'s, 'a> {
    detector: &'s mut Box<dyn Detector + 'a>,
    fallback: &'s mut Option<Fallback<'a>>,
    journal: &'s mut Journal,
    row: &'s mut Layer,
    passed: &'s mut Option<u64>,
    stages: &'s mut Vec<Stage>,
    ledger: &'s mut Option<Ledger>,
    /// States of complete layers.
    states: u64,
}

impl<'a> Deciding<'_, 'a> {
    /// Takes states that arrived.
    pub(super) fn take(&mut self, batch: Ascending) -> Result<(), Trouble> {
        let mut taken = self.detector.offer(batch);
        while let Err(Trouble::OverBudget(_)) = taken {
            if !at_once(self.fall_back())? {
                break;
            }
            taken = self.detector.offer(batch);
        }
        taken
    }

    async fn fall_back(&mut self) -> Result<bool, Trouble> {
        let Some(fallback) = self.fallback.take() else { return Ok(false) };
        let besides = self.detector.besides();
        self.row.candidates += besides;
        self.passed.iter_mut().for_each(|passed| *passed += besides);
        let idle: Box<dyn Detector + 'a> = Box::new(Nothing);
        *self.detector = match fallback {
            Fallback::Beside(make) => {
                let next = make()?;
                let before = std::mem::replace(self.detector, idle);
                self.next_beside(before, next).await?
            }
            Fallback::After(make) => {
                let aside = std::mem::replace(self.detector, idle).leave()?;
                let next = make(self.journal)?;
                *self.fallback = next.fallback;
                match aside {
                    Some(mut aside) => self.next_after(&mut aside, next.detector).await?,
                    None => next.detector,
                }
            }
        };
        give_back();
        let (storage, depth) = (self.detector.name(), (self.journal.depth() as u64).saturating_sub(1));
        self.stages.push(Stage { storage, states: self.states, depth });
        suit(self.journal, &**self.detector);
        // There is no diagram to go on with any more.
        self.ledger.iter_mut().for_each(Ledger::drop_snapshot);
        Ok(true)
    }

    /// The next detector with all that the one before knew.
    async fn next_beside(
        &mut self,
        mut before: Box<dyn Detector + 'a>,
        mut next: Box<dyn Detector + 'a>,
    ) -> Result<Box<dyn Detector + 'a>, Trouble> {
        before.hand_over(&mut *next).await?;
        drop(before);
        // The one before is gone, and with it what it held of the budget.
        self.journal.view_all(&mut async |depth, layer| next.adopt(depth, layer).await).await?;
        Ok(next)
    }

    /// The next detector, which knows the layers, with what was put aside; or the one after it.
    async fn next_after(
        &mut self,
        aside: &mut SortedDetector,
        mut next: Box<dyn Detector + 'a>,
    ) -> Result<Box<dyn Detector + 'a>, Trouble> {
        let handed = aside.hand_over(&mut *next).await;
        match (handed, self.fallback.take()) {
            (Err(Trouble::OverBudget(_)), Some(Fallback::Beside(make))) => {
                // What it took of the layer comes again.
                drop(next);
                let mut next = make()?;
                self.journal.view_all(&mut async |depth, layer| next.adopt(depth, layer).await).await?;
                aside.hand_over(&mut *next).await?;
                Ok(next)
            }
            (handed, fallback) => {
                *self.fallback = fallback;
                handed.map(|()| next)
            }
        }
    }
}
