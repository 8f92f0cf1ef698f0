//! Small layers, which every worker explores for itself: where they end, each keeps what it owns of them. Where a worker must
//! stop before, all keep the layers that every one of them has.

use super::distributed::{At, DistributedExplorer};
use crate::Report;
use crate::exchange::{Said, Stops, Words};
use crate::explore::Explored;
use crate::firings::Counts;
use crate::layered::Trouble;
use crate::layered::journal::Journal;
use crate::layered::ledger::{Ledger, Tally};
use crate::layered::sweep::Sweep;
use crate::report::{Layer, StopReason, Verdict};
use crate::run::{RUNNING, status};
use crate::strategies::Resumes;

/// How far a worker explored small layers for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Small {
    Ended = 1,
    Wide = 2,
    /// It must stop: so must all.
    Stopped = 3,
}

/// What is counted in some layers.
struct InLayers<'a> {
    rows: &'a [Layer],
    counts: &'a Counts,
}

impl<'a> DistributedExplorer<'a> {
    /// Explores small layers; when one is wide, or everything is known, meets the others.
    pub(super) fn explore_small(&mut self) -> Result<(), Trouble> {
        let At::ForItself(sweep, _) = &mut self.at else { return Ok(()) };
        let over = sweep.go_on(1)?;
        let small = self.method.small();
        let wide = sweep.search().is_some_and(|sweep| sweep.is_wider_than(small));
        if !over && !wide {
            return Ok(());
        }
        let At::ForItself(sweep, ledger) = std::mem::replace(&mut self.at, At::Nowhere) else {
            return Ok(());
        };
        let sweep = sweep.end()?;
        let (own, reason) = match (over, sweep.verdict()) {
            (false, _) => (Small::Wide, None),
            (true, Verdict::Stopped(StopReason::DepthLimit)) => (Small::Ended, None),
            (true, Verdict::Stopped(reason)) => (Small::Stopped, Some(reason)),
            (true, _) => (Small::Ended, None),
        };
        let (depth, counted) = sweep.standing_at();
        let said = Said::default().stop(reason.as_ref()).word(own as u64).word(depth as u64);
        let said = said.word(counted.layers.len() as u64).counts(&counted.counts);
        let heard = self.method.mailbox(&self.layering)?.agree_on(&said.into_words())?;
        let (mut stops, mut differ, mut least) = (Stops::default(), false, None);
        for words in &heard {
            let mut words = Words::new(words);
            stops.add(&mut words);
            differ |= words.word() != own as u64;
            // Of the layers that all have, this one knows what is counted in them and no more.
            let complete = (words.word() as usize, words.word() as usize);
            if least.as_ref().is_none_or(|&(other, _)| complete < other) {
                least = Some((complete, words.counts()));
            }
        }
        match (stops.reason(), least) {
            (Some(reason), Some(((layers, _), counts))) => {
                self.keep_common(*sweep, ledger, (layers, counts), reason)
            }
            // All end at the same state, as all do the same.
            _ if differ => Err(Trouble::NotShared("the workers do not read the same model")),
            _ if own == Small::Wide => self.divide(*sweep, ledger),
            _ => {
                self.at = At::Over(Box::new(Explored::leaving(sweep.report(), Resumes::Layers)));
                Ok(())
            }
        }
    }

    /// Keeps what this worker owns of the small layers, commits it, and goes on together with the others.
    fn divide(&mut self, sweep: Sweep, mut ledger: Ledger) -> Result<(), Trouble> {
        let (whole, counted) = sweep.into_parts();
        let counted = InLayers { rows: &counted.layers, counts: &counted.counts };
        self.keep_own(&whole, whole.depth(), counted, (&mut ledger, RUNNING))?;
        drop(whole);
        let record = ledger.record().ok_or(Trouble::NothingToResume)?;
        self.at = At::Shared(Box::new(self.method.share(self.layering, ledger, record)?));
        Ok(())
    }

    /// Stops: keeps what this worker owns of so many layers, in which so much is counted, as all do.
    fn keep_common(
        &mut self,
        sweep: Sweep,
        mut ledger: Ledger,
        (layers, counts): (usize, Counts),
        reason: StopReason,
    ) -> Result<(), Trouble> {
        let verdict = Verdict::Stopped(reason);
        let report = sweep.report();
        let (whole, counted) = sweep.into_parts();
        let rows = &counted.layers[..counted.layers.len().min(layers.saturating_sub(1))];
        if layers > 0 {
            let kept = InLayers { rows, counts: &counts };
            match self.keep_own(&whole, layers, kept, (&mut ledger, &status(&verdict))) {
                // All begin anew, then.
                Err(trouble) if trouble.is_disk_full() => {}
                other => other?,
            }
        }
        let report = Report {
            verdict,
            states: (0..layers).map(|depth| whole.states(depth)).sum(),
            transitions: rows.iter().map(|row| row.transitions).sum(),
            depth: Some(layers.saturating_sub(1) as u64),
            layers: rows.to_vec(),
            actions: counts.actions(self.layering.setting.task.space),
            covers: counts.covers,
            ..report
        };
        self.at = At::Over(Box::new(Explored::leaving(report, Resumes::Layers)));
        Ok(())
    }

    /// Commits what this worker owns of the first layers.
    fn keep_own(
        &self,
        whole: &Journal,
        layers: usize,
        counted: InLayers,
        (ledger, status): (&mut Ledger, &str),
    ) -> Result<(), Trouble> {
        let (shape, exchange) = (whole.shape(), self.layering.exchange);
        let (shares, me) = (exchange.shares(), exchange.me());
        let mut journal = Journal::new(ledger.disk(), self.layering.options())?;
        let mut block = Vec::new();
        for depth in 0..layers {
            let mut layer = journal.writer();
            let mut reader = whole.reader(depth)?;
            while reader.next_records(&mut block)? {
                let records = block.chunks_exact(shape.stride());
                let own = records.filter(|record| shares.owner(shape.state(record)) == me);
                let own: Vec<u64> = own.flatten().copied().collect();
                layer.write(&own)?;
            }
            journal.push(layer)?;
        }
        let task = self.layering.setting.task;
        let tally = Tally {
            layers: counted.rows,
            covers: &counted.counts.covers,
            actions: counted.counts.actions(task.space),
            seconds: task.control.elapsed().as_secs_f64(),
            stages: &[],
            reached: None,
            begun: 0,
        };
        ledger.commit(&mut journal, tally, status)
    }
}
