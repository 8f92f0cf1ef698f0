//! Questions about infinite runs, answered by sweeps over a closed set whose states have numbers.
//!
//! When every state is known, a set of states is a bitmap, and a fixpoint is reached by going over the layers, deepest
//! first, until nothing changes: Emerson and Lei, "Efficient model checking in fragments of the propositional mu-calculus"
//! (LICS 1986), with the order of Fisler et al. ("Is there a best symbolic cycle-detection algorithm?", TACAS 2001) turned
//! round. Nothing is sorted; sweeps change the bitmap in place. The fixpoint is the same for any number of threads, and
//! so are the answer and the run that is shown.

mod bits;
mod closed;
mod following;
mod hull;
mod inside;
mod journaled;
mod kept;
mod lasso;
mod pass;
mod perfect;
mod shortest;
mod trap;

use crate::layered::Trouble;
use crate::report::{StopReason, Verdict, Violation, ViolationKind};
use crate::resting::Early;
use closed::Closed;
pub(crate) use closed::TableClosed;
pub(crate) use following::{Following, Seeing};
use hadal_system::PropertyKind;
pub(crate) use journaled::JournalClosed;
pub(crate) use kept::{Keeper, knows_a_run};
pub(crate) use pass::Pass;

/// What a pass found.
pub(crate) enum Answer {
    /// Nothing is wrong.
    Holds,
    /// Wrong, and a path that a stem must be put in front of: it begins with a reachable state.
    Violated {
        /// What is wrong; a loop begins at the number counted from the path's beginning.
        kind: ViolationKind,
        /// The layer of the first state.
        depth: usize,
        /// From the first state on.
        path: Vec<Vec<u64>>,
        /// Whether nothing shorter of the kind asked for exists.
        shortest: bool,
    },
    /// It ended before it knew.
    Stopped(StopReason),
}

impl<C: Closed> Pass<'_, C> {
    /// Answers everything that is asked about infinite runs; `None` where nothing is wrong. `stem` finds the states from an
    /// initial one to a state of a layer.
    pub(crate) async fn verdict(
        &self,
        stem: impl AsyncFn(usize, Vec<u64>) -> Result<Vec<Vec<u64>>, Early>,
    ) -> Result<Option<Verdict>, Trouble> {
        let (space, question) = (self.task.space, self.task.question);
        let answered = self.answered_before().unwrap_or(0);
        for property in question.of_kind(space.properties(), PropertyKind::Liveness) {
            if property.0 < answered {
                continue;
            }
            if let Some(verdict) = told(self.trap(property).await?, &stem).await? {
                return Ok(Some(verdict));
            }
        }
        let mut about_runs = question
            .of_kind(space.properties(), PropertyKind::Formula)
            .chain(question.of_kind(space.properties(), PropertyKind::Acceptance));
        match space.acceptance() {
            Some(acceptance) if question.asks(acceptance.property) => {
                if about_runs.any(|property| property != acceptance.property) {
                    return Err(Trouble::Liveness);
                }
                if acceptance.by_reaching {
                    return Ok(None);
                }
                told(self.cycle(acceptance).await?, &stem).await
            }
            _ if about_runs.next().is_some() => Err(Trouble::Liveness),
            _ => Ok(None),
        }
    }
}

/// The answer as a verdict, with the way from an initial state.
async fn told(
    answer: Answer,
    stem: &impl AsyncFn(usize, Vec<u64>) -> Result<Vec<Vec<u64>>, Early>,
) -> Result<Option<Verdict>, Trouble> {
    Ok(match answer {
        Answer::Holds => None,
        Answer::Stopped(reason) => Some(Verdict::Stopped(reason)),
        Answer::Violated { kind, depth, path, shortest } => {
            let mut path = path.into_iter();
            let mut whole = match path.next() {
                Some(first) => match stem(depth, first).await {
                    Ok(stem) => stem,
                    Err(Early::Stopped(reason)) => return Ok(Some(Verdict::Stopped(reason))),
                    Err(Early::Trouble(trouble)) => return Err(trouble),
                },
                None => Vec::new(),
            };
            let before = whole.len().saturating_sub(1);
            whole.extend(path);
            let kind = match kind {
                ViolationKind::Cycle { property, loop_from } => {
                    ViolationKind::Cycle { property, loop_from: loop_from + before }
                }
                other => other,
            };
            Some(Verdict::Violated(Violation { kind, path: whole, shortest }))
        }
    })
}
