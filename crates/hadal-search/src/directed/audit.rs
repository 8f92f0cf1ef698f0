//! The audit of what a guide promises, while a search uses it: estimates are held against every transition that is fired
//! and against every way to what is found (Jabbar 2008, sec. 2.7, checks the estimates of a user the same way).
//!
//! A search that is audited leaves no state out, so that a wrong proof of hopelessness shows itself.

use super::aims_at;
use super::core::{Core, Successor};
use super::nodes::NONE;
use crate::report::ViolationKind;
use serde::{Deserialize, Serialize};

/// What an audit saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFigures {
    /// Transitions whose two ends were compared.
    pub transitions: u64,
    /// The first promise that was broken, and how.
    pub broken: Option<String>,
}

/// The state of an audit.
#[derive(Default)]
pub(super) struct Audit {
    figures: AuditFigures,
    /// By number of a state: whether the guide proves that nothing can be reached from it, or from one before it.
    hopeless: Vec<bool>,
}

impl Core<'_> {
    /// Compares the estimates of a state and its successor.
    pub(super) fn audit_step(&mut self, from: u32, successor: Successor) {
        if self.guiding.audit.is_none() {
            return;
        }
        let (here, there) = (self.estimate(from), self.estimate(successor.at));
        let state = self.words_at(from).to_vec();
        let cost = self.lane.cost_of(&state, successor.label);
        let promises = self.search.guide.promises();
        let steep = promises.consistent && here.0 > there.0.saturating_add(cost);
        let text = || {
            let label = self.search.task.space.render_label(successor.label);
            format!(
                "it promises to be consistent, and falls from {here} to {there} along `{label}`, which costs {cost}"
            )
        };
        let broken = steep.then(text);
        let Some(audit) = &mut self.guiding.audit else { return };
        audit.figures.transitions += 1;
        audit.figures.broken = audit.figures.broken.take().or(broken);
        let last = from.max(successor.at) as usize;
        if audit.hopeless.len() <= last {
            audit.hopeless.resize(last + 1, false);
        }
        let claimed = promises.safe && (audit.hopeless[from as usize] || !here.is_finite());
        audit.hopeless[successor.at as usize] |= claimed;
    }

    /// Looks at what the guide says of a state in which something it aims at was found, and of the way there.
    pub(super) fn audit_finding(&mut self, kind: ViolationKind, at: u32) {
        if self.guiding.audit.is_none() || at == NONE || !aims_at(self.search.goal, kind) {
            return;
        }
        let promises = self.search.guide.promises();
        let own = self.estimate(at);
        let was_hopeless =
            self.guiding.audit.as_ref().is_some_and(|audit| audit.hopeless.get(at as usize) == Some(&true));
        let mut broken = None;
        if promises.safe && (was_hopeless || !own.is_finite()) {
            broken = Some(
                "it promises that infinity is a proof, and was infinite on the way to what was found".into(),
            );
        } else if promises.consistent && own.0 > 0 {
            broken = Some(format!("it promises to be consistent, and is {own} where something was found"));
        }
        let mut rest = 0u64;
        let path = self.nodes.path(at);
        for (n, &state) in path.iter().enumerate().rev() {
            let h = self.estimate(state);
            if promises.admissible && u64::from(h.0) > rest && broken.is_none() {
                broken = Some(format!(
                    "it promises to be admissible, and is {h} in the state after {n} steps, from where {rest} suffice"
                ));
            }
            rest += u64::from(self.cost_into(state));
        }
        if let Some(audit) = &mut self.guiding.audit {
            audit.figures.broken = audit.figures.broken.take().or(broken);
        }
    }

    /// What the audit saw, where there was one.
    pub(super) fn audited(&mut self) -> Option<AuditFigures> {
        self.guiding.audit.take().map(|audit| audit.figures)
    }
}
