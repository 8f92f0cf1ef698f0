//! What a sweep says in the end, and what it commits.

use super::{Answered, At, Sweep};
use crate::control::WhenFull;
use crate::explore::Progress;
use crate::finding::Finding;
use crate::fixpoint::{JournalClosed, Keeper, Pass, Seeing, knows_a_run};
use crate::lane::has_found;
use crate::layered::detector::{Detector, Nothing};
use crate::layered::journal::LayerWriter;
use crate::layered::ledger::{Ledger, Reached, RunRecord, Tally};
use crate::layered::{Trouble, path};
use crate::report::{
    DiskFigures, Particular, Proviso, Report, StopReason, Verdict, Violation, ViolationKind,
};
use crate::resting::{Early, Reins};
use crate::run::{Answer, LOOKING_FOR_RUNS, covered, out_of_memory, status};
use hadal_store::vfs::at_once;
use hadal_system::Ascending;
use std::sync::Arc;

impl<'a> Seeing<'a> for Sweep<'a> {
    fn go_on(&mut self, _: u64) -> Result<bool, Trouble> {
        // All of it rests.
        Ok(true)
    }

    fn progress(&self) -> Progress {
        self.progress()
    }

    fn work(&self) -> (u64, u64) {
        (self.work(), if matches!(self.at, At::Between(_)) { self.ahead() } else { 0 })
    }

    fn has_more(&self) -> bool {
        !matches!(self.at, At::End(_))
    }

    fn reins(&self) -> Arc<Reins<'a>> {
        Reins::new(self.task.control, &self.governor, self.standing())
    }

    async fn proceed(mut self: Box<Self>, reins: Arc<Reins<'a>>) -> Result<Box<Self>, Trouble> {
        let disk = self.disk.clone();
        let _turns = disk.brake.take_turns(reins.turn(), disk.traffic.bytes_moved());
        let answered = match std::mem::replace(&mut self.at, At::Known) {
            At::Found(finding, depth) => self.violated(finding, depth, &reins).await.map(Some),
            At::Known => match self.about_runs(&reins).await {
                Ok(Some(verdict)) => {
                    self.proviso = reins.proviso(&verdict).or(self.proviso);
                    Ok(Some(verdict.into()))
                }
                other => other.map(|_| Some(self.all_covered())),
            },
            at => {
                self.at = at;
                return self.advance(&reins).await.map(|()| self);
            }
        };
        let answered = self.conclude(answered).await?;
        self.at = answered.map_or(At::Between(None), At::End);
        Ok(self)
    }
}

impl Sweep<'_> {
    /// Takes an answer that another search found, now that every state is known.
    pub(crate) fn decide(&mut self, verdict: Verdict) -> Result<(), Trouble> {
        let answered = at_once(self.conclude(Ok(Some(verdict.into()))))?;
        self.at = answered.map_or(At::Between(None), At::End);
        Ok(())
    }

    /// After a part of the search that came to this: once the answer is known, settles what is open and commits it.
    pub(super) async fn conclude(
        &mut self,
        part: Result<Option<Answered>, Trouble>,
    ) -> Result<Option<Answered>, Trouble> {
        let mut answered = match part {
            Err(trouble) if trouble.is_disk_full() => Verdict::Stopped(StopReason::DiskFull).into(),
            // The layer being found is left; the one before it is expanded again when the run is resumed.
            Err(trouble) if trouble.is_stop() => {
                Verdict::Stopped(self.limit().unwrap_or(StopReason::Interrupted)).into()
            }
            Err(trouble) => return Err(trouble),
            Ok(None) => return Ok(None),
            Ok(Some(answered)) => answered,
        };
        let verdict = &mut answered.verdict;
        // Only then do its figures count what the complete layers do not.
        if !matches!(verdict, Verdict::Violated(_)) {
            self.take_last(verdict);
        }
        if *verdict != Verdict::Stopped(StopReason::DiskFull) {
            match self.settle().await {
                Err(trouble) if trouble.is_disk_full() && matches!(verdict, Verdict::Violated(_)) => {}
                Err(trouble) if trouble.is_disk_full() => *verdict = Verdict::Stopped(StopReason::DiskFull),
                other => other?,
            }
        }
        self.take_last(verdict);
        if *verdict == Verdict::Holds {
            match self.covering().await? {
                Ok(covering) => answered.covering = covering,
                Err(reason) => answered.verdict = Verdict::Stopped(reason),
            }
        }
        if self.is_unsettled() {
            // The last commit stands.
            return Ok(Some(answered));
        }
        if let Verdict::Stopped(StopReason::DiskFull | StopReason::Memory { .. }) = answered.verdict {
            // What detection needs can be made again from the layers, and its room is needed to commit them.
            self.detector = Box::new(Nothing);
        }
        match &answered.verdict {
            Verdict::Stopped(reason) if *reason != StopReason::DiskFull => self.keep_snapshot(),
            // It goes no further, or its room is needed.
            _ => self.ledger.iter_mut().for_each(Ledger::drop_snapshot),
        }
        match self.commit_answer(&status(&answered.verdict), Some(self.reached(&answered))) {
            // What was committed before stands, and the reason is the same.
            Err(trouble) if trouble.is_disk_full() => {}
            Err(Trouble::OverBudget(_))
                if matches!(answered.verdict, Verdict::Stopped(StopReason::Memory { .. })) => {}
            other => other?,
        }
        Ok(Some(answered))
    }

    /// Writes down the closed set, where it is a diagram. Nothing more can be found of a layer that is not complete.
    fn keep_snapshot(&mut self) {
        let Some(ledger) = self.ledger.as_mut().filter(|_| self.mailbox.is_alone()) else { return };
        if let Some(closed) = self.detector.complete_layers() {
            ledger.keep_snapshot(closed, &self.journal);
        }
    }

    /// Lets the detector forget a layer that is dropped, so that what it knows can be written down.
    pub(super) fn take_back(&mut self, layer: LayerWriter) {
        let (Ok(mut reader), mut block) = (self.journal.aside(layer).and_then(|it| it.read()), Vec::new())
        else {
            return;
        };
        while let Ok(true) = reader.next_records(&mut block) {
            let states = Ascending::new(self.journal.shape().stride(), &block);
            // Where it fails, or does not care, nothing is written.
            let Ok(true) = self.detector.take_back(states) else { return };
        }
    }

    /// Commits complete layers.
    pub(super) fn commit(&mut self, status: &str) -> Result<(), Trouble> {
        if self.ledger.as_ref().is_some_and(Ledger::wants_snapshot) {
            self.keep_snapshot();
        }
        self.commit_answer(status, None)
    }

    /// The deepest state, which may stand beyond the complete layers where it is wrong.
    fn reached(&self, answered: &Answered) -> Reached {
        let beyond = self.beyond.as_ref().map_or(0, |beyond| beyond.states);
        let layers = self.journal.depth() as u64 + u64::from(beyond > 0);
        Reached { depth: layers.saturating_sub(1).max(answered.violated_at().unwrap_or(0)), beyond }
    }

    fn commit_answer(&mut self, status: &str, reached: Option<Reached>) -> Result<(), Trouble> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let counted = &self.counted;
        let tally = Tally {
            layers: &counted.layers,
            covers: &counted.counts.covers,
            actions: counted.counts.actions(self.task.space),
            seconds: counted.seconds_before + self.task.control.elapsed().as_secs_f64(),
            stages: &counted.stages,
            reached,
            begun: self.begun,
        };
        ledger.commit(&mut self.journal, tally, status)
    }

    /// The run and what it committed, where the search stopped because the disk is full and may delete layers to go on.
    pub(crate) fn may_make_room(&mut self) -> Option<(Ledger, RunRecord)> {
        let allowed = self.task.control.limits.when_full == WhenFull::DeleteLayers;
        if !allowed || self.verdict() != Verdict::Stopped(StopReason::DiskFull) {
            return None;
        }
        let record = self.ledger.as_ref()?.record().filter(RunRecord::has_old_layers)?;
        Some((self.ledger.take()?, record))
    }

    /// The answer with its figures.
    pub(crate) fn report(&self) -> Report {
        let (covering, depth) = match &self.at {
            At::End(answered) => (answered.covering, self.reached(answered).depth),
            _ => (None, (self.journal.depth() as u64).saturating_sub(1)),
        };
        let row = self.beyond.as_ref().and_then(|beyond| beyond.row.as_ref());
        let beyond = self.beyond.as_ref().map_or(0, |beyond| beyond.states);
        let kept = self.journal.states_kept() + beyond;
        let answer = Answer {
            verdict: self.verdict(),
            states: self.states() + beyond,
            transitions: self.counted.transitions() + row.map_or(0, |row| row.transitions),
            counts: self.beyond.as_ref().map_or(&self.counted.counts, |beyond| &beyond.counts),
            stages: self.counted.stages.clone(),
        };
        Report {
            depth: Some(depth),
            layers: self.counted.layers.iter().chain(row).cloned().collect(),
            disk: Some(DiskFigures {
                read_cost: self.disk.traffic.speed.cost(),
                buckets: self.detector.buckets(),
                cache_states: self.cache.most_states(),
                ..DiskFigures::of(&self.disk, self.journal.bytes())
            }),
            particular: Particular {
                covering,
                peak_states: self.mailbox.is_alone().then_some(self.peak_states.max(kept)),
                cache_distances: self.cache.distances(),
                scalars: self.detector.scalars(),
                ..Particular::default()
            },
            proviso: if has_found(&self.lanes) { Some(Proviso::WrongSeen) } else { self.proviso },
            ..answer.report(self.task, &self.governor)
        }
    }

    /// The whole space has been seen.
    pub(super) fn complete(&mut self) -> Option<Answered> {
        if self.task.question.asks_about_runs(self.task.space) {
            self.at = At::Known;
            return None;
        }
        Some(self.all_covered())
    }

    fn all_covered(&self) -> Answered {
        covered(self.task, &self.counted.counts.covers).into()
    }

    /// Answers questions about infinite runs from the journal: what is needed to explore makes room first.
    async fn about_runs(&mut self, reins: &Reins<'_>) -> Result<Option<Verdict>, Trouble> {
        if self.journal.first_kept() > 0 {
            // States are gone that runs may pass.
            return Ok(Some(Verdict::Stopped(StopReason::DiskFull)));
        }
        // A pass that is killed begins again here.
        self.commit(LOOKING_FOR_RUNS)?;
        let detector: Box<dyn Detector> = std::mem::replace(&mut self.detector, Box::new(Nothing));
        self.cache.give_way()?;
        if self.ledger.as_ref().is_some_and(knows_a_run) {
            reins.found();
        }
        let ranked = detector.numbered();
        let closed = match JournalClosed::new(&self.journal, &self.governor, ranked, reins).await {
            Ok(closed) => closed,
            Err(Early::Trouble(Trouble::OverBudget(full))) => {
                return Ok(Some(Verdict::Stopped(out_of_memory(full))));
            }
            Err(Early::Trouble(trouble)) => return Err(trouble),
            Err(Early::Stopped(reason)) => return Ok(Some(Verdict::Stopped(reason))),
        };
        let (task, threads) = (self.task, self.lanes.len());
        let keeper = self.ledger.as_mut().map(|ledger| Keeper::new(ledger, closed.numbering()));
        let keeper = keeper.as_ref();
        let (governor, moves_on) = (&self.governor, false);
        let pass = Pass { task, closed: &closed, governor, threads, reins, moves_on, keeper };
        let journal = &self.journal;
        let stem = async |depth, state| path::shortest(task, (journal, threads), (depth, state), reins).await;
        match pass.verdict(stem).await {
            Err(Trouble::OverBudget(full)) => Ok(Some(Verdict::Stopped(out_of_memory(full)))),
            other => other,
        }
    }

    /// Turns what was found while expanding layer `depth` into a violation with its path. Where the search is interrupted on
    /// the way, the layer counts as not expanded.
    async fn violated(
        &mut self,
        finding: Finding,
        depth: usize,
        reins: &Reins<'_>,
    ) -> Result<Answered, Trouble> {
        let at = match finding.kind {
            ViolationKind::Deadlock | ViolationKind::Fault(_) => depth,
            _ => depth + 1,
        };
        reins.found();
        let payload = self.payload_of(at, &finding.state)?;
        let (task, threads) = (self.task, self.lanes.len());
        let path = match self.mailbox.is_alone() {
            true => path::shortest(task, (&self.journal, threads), (at, finding.state), reins).await,
            false => {
                let parts = (&self.journal, &mut self.mailbox, threads);
                path::shortest_of_all(task, parts, (at, finding.state), reins).await
            }
        };
        match path {
            Ok(path) => {
                let path_begins_at = at + 1 - path.len();
                let verdict = Verdict::Violated(Violation { kind: finding.kind, path, shortest: true });
                Ok(Answered { path_begins_at, payload, ..verdict.into() })
            }
            Err(Early::Stopped(reason)) => {
                self.proviso = Some(Proviso::WrongSeen);
                Ok(Verdict::Stopped(reason).into())
            }
            Err(Early::Trouble(trouble)) => Err(trouble),
        }
    }

    /// What is kept beside a state at this depth; nothing where its layer could not be finished.
    pub(super) fn payload_of(&self, depth: usize, state: &[u64]) -> Result<Option<Vec<u64>>, Trouble> {
        if state.is_empty() || depth >= self.journal.depth() {
            return Ok(None);
        }
        path::payload_of(&self.journal, depth, state)
    }
}
