//! How searches end, whatever their order and storage.

use crate::lane::SearchTask;
use crate::report::{StopReason, Verdict, Violation, ViolationKind};
use hadal_store::governor::OverBudget;
use hadal_system::PropertyKind;

/// What a commit says of a search that goes on.
pub(crate) const RUNNING: &str = "running";

/// What the last commit of a search without layers says where every state was seen: the verdict may depend on more.
pub(crate) const COMPLETE: &str = "complete";
/// What a commit says of a search that has seen every state and still has questions about infinite runs.
pub(crate) const LOOKING_FOR_RUNS: &str = "every state is known; looking for runs";

/// The whole space has been seen and no state is wrong: what is left to be wrong is that something was never covered.
pub(crate) fn complete(task: SearchTask, covers: &[u64]) -> Verdict {
    match covered(task, covers) {
        Verdict::Holds => task.question.seen_all(task.space),
        other => other,
    }
}

/// The same, where questions about infinite runs were answered.
pub(crate) fn covered(task: SearchTask, covers: &[u64]) -> Verdict {
    let mut asked = task.question.of_kind(task.space.properties(), PropertyKind::Cover);
    match asked.find(|cover| covers[cover.0 as usize] == 0) {
        Some(cover) => {
            let kind = ViolationKind::Uncovered(cover);
            // No path leads to what is nowhere, so none is shorter.
            Verdict::Violated(Violation { kind, path: Vec::new(), shortest: true })
        }
        None => Verdict::Holds,
    }
}

/// The memory budget is used up; says one that would go further.
pub(crate) fn out_of_memory(full: OverBudget) -> StopReason {
    StopReason::Memory { needed: full.limit.saturating_add(full.asked.max(full.limit / 2)) }
}

/// What a last commit says of a verdict.
pub fn status(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(_) => "violated".to_owned(),
        Verdict::Stopped(reason) => format!("stopped: {reason}"),
    }
}
