//! The one constructor of reports.

use crate::firings::Counts;
use crate::lane::SearchTask;
use crate::report::{Particular, Report, Stage, Verdict};
use hadal_store::Governor;

/// What every search can say when it ends.
pub(crate) struct Answer<'c> {
    pub(crate) verdict: Verdict,
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) counts: &'c Counts,
    pub(crate) stages: Vec<Stage>,
}

impl Answer<'_> {
    /// The report, in which everything else is absent: whoever knows more adds it.
    pub(crate) fn report(self, task: SearchTask, governor: &Governor) -> Report {
        Report {
            verdict: self.verdict,
            states: self.states,
            transitions: self.transitions,
            depth: None,
            layers: Vec::new(),
            covers: self.counts.covers.clone(),
            actions: self.counts.actions(task.space),
            peak_memory: governor.peak(),
            stages: self.stages,
            disk: None,
            proviso: None,
            particular: Particular::default(),
        }
    }
}

impl Report {
    /// Of a search that ended before it saw a state.
    pub(crate) fn of_nothing(
        task: SearchTask,
        governor: &Governor,
        verdict: Verdict,
        stage: Stage,
    ) -> Report {
        let counts = Counts::zero(task.space);
        let answer = Answer { verdict, states: 0, transitions: 0, counts: &counts, stages: vec![stage] };
        Report { actions: Vec::new(), ..answer.report(task, governor) }
    }
}
