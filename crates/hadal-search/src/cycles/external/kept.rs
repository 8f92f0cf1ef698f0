//! What a search keeps in its run: the sets it is working on, and at which step.

use super::runs::Files;
use super::{Early, External, OnDisk};
use crate::layered::Trouble;
use crate::layered::ledger::{Ledger, Standing};
use crate::report::Verdict;
use crate::run::{RUNNING, status};
use hadal_store::manifest::Manifest;
use hadal_store::run::RunFile;
use hadal_store::shape::RecordShape;
use serde::{Deserialize, Serialize};

const SECTION: &str = "sorting and scanning";

/// The step at which a search begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// All states so far, and those of them that are to be expanded.
    Explore,
    /// Of OWCTY: the set, what is reached from its accepting states, and what of that is to be expanded.
    Reach,
    /// Of OWCTY: the states with their predecessors counted, and those just dropped. `before` states were in the set.
    Drop {
        /// How many states the round began with.
        before: u64,
    },
    /// Of MAP: all states, those that are no longer accepting, the largest predecessors, and those that have just risen.
    Spread,
    /// An accepting state on a cycle.
    Close,
}

/// As it is written.
#[derive(Serialize, Deserialize)]
struct Kept {
    map: bool,
    step: Step,
    states: u64,
    transitions: u64,
    seconds: f64,
    /// How many points were reached before.
    #[serde(default)]
    point: u64,
    runs: Vec<String>,
}

/// What an earlier sitting left.
pub(super) struct Left {
    pub(super) step: Step,
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) seconds: f64,
    pub(super) point: u64,
    /// In the order in which they were kept.
    pub(super) runs: Vec<RunFile>,
}

impl Left {
    /// Reads what was committed last; nothing where another search wrote it.
    pub(super) fn read(ledger: &Ledger, files: &Files, engine: External) -> Result<Option<Self>, Trouble> {
        let Some(section) = ledger.section(SECTION) else { return Ok(None) };
        let kept: Kept = serde_json::from_slice(section)?;
        if kept.map != (engine == External::Map) {
            return Ok(None);
        }
        let shapes = kept.step.shapes(files);
        let runs = kept.runs.iter().zip(shapes).map(|(name, shape)| files.open(name, shape));
        let runs = runs.collect::<Result<_, _>>()?;
        let Kept { step, states, transitions, seconds, point, .. } = kept;
        Ok(Some(Left { step, states, transitions, seconds, point, runs }))
    }

    /// Numbers the commits of workers by the points they had reached.
    pub(super) fn moment(manifest: &Manifest) -> Option<u64> {
        Some(serde_json::from_slice::<Kept>(manifest.sections.get(SECTION)?).ok()?.point)
    }

    /// What is said of it, without its runs.
    pub(super) fn words(&self) -> Result<Vec<u8>, Trouble> {
        Ok(serde_json::to_vec(&(self.step, self.states, self.transitions, self.seconds, self.point))?)
    }

    /// What another worker said, with these runs.
    pub(super) fn of_words(words: &[u8], runs: Vec<RunFile>) -> Result<Self, Trouble> {
        let (step, states, transitions, seconds, point) = serde_json::from_slice(words)?;
        Ok(Left { step, states, transitions, seconds, point, runs })
    }
}

impl Step {
    /// The shapes of the runs that it needs.
    pub(super) fn shapes(self, files: &Files) -> Vec<RecordShape> {
        match self {
            Step::Explore => vec![files.shape(); 2],
            Step::Reach => vec![files.shape(); 3],
            Step::Drop { .. } => vec![files.counted(), files.shape()],
            Step::Spread => vec![files.shape(), files.shape(), files.pairs(), files.pairs()],
            Step::Close => vec![files.shape()],
        }
    }
}

/// A point from which a search can go on.
pub(super) struct Reached {
    step: Step,
    runs: Vec<RunFile>,
    states: u64,
    transitions: u64,
}

impl OnDisk<'_, '_> {
    /// A point from which the search can go on: it is committed where that is due, and where the search must stop here.
    pub(super) async fn reach(&mut self, step: Step, runs: &[&RunFile]) -> Result<(), Early> {
        let (runs, states, transitions) =
            (runs.iter().copied().cloned().collect(), self.states, self.transitions);
        self.reached = Some(Reached { step, runs, states, transitions });
        self.point += 1;
        let rested = self.rest().await;
        if !self.files.is_alone() {
            rested?;
            // One clock decides for all.
            let due = self.files.hear(&[u64::from(self.ledger.is_due())])?;
            return if due.first().is_some_and(|due| due == &[1]) { self.keep(RUNNING) } else { Ok(()) };
        }
        match &rested {
            Err(Early::Stopped(reason)) => self.keep(&status(&Verdict::Stopped(reason.clone())))?,
            Ok(()) if !self.ledger.is_due() => {}
            _ => self.keep(RUNNING)?,
        }
        rested
    }

    /// Commits what was reached last.
    pub(super) fn keep(&mut self, status: &str) -> Result<(), Early> {
        let Some(&Reached { step, ref runs, states, transitions }) = self.reached.as_ref() else {
            return Ok(());
        };
        let seconds = self.seconds_before + self.search.task.control.elapsed().as_secs_f64();
        let kept = Kept {
            map: self.engine == External::Map,
            step,
            states,
            transitions,
            seconds,
            point: self.point,
            runs: runs.iter().map(|run| run.name().to_owned()).collect(),
        };
        let (covers, actions) = (&[][..], Vec::new());
        let standing = Standing { status, states, transitions, covers, actions, seconds };
        let section = serde_json::to_vec(&kept).map_err(Trouble::from)?;
        self.ledger.commit_section((SECTION, section), runs.iter().collect(), standing)?;
        self.tell_others();
        Ok(())
    }
}
