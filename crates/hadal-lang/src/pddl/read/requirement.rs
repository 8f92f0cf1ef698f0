//! What a domain says it requires, against what it uses. Files in the wild declare too little: that is a warning.

use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// Declared and used requirements.
#[derive(Default)]
pub(super) struct Requirements {
    declared: Vec<String>,
    used: Vec<(&'static str, Span)>,
}

impl Requirements {
    /// A keyword of `:requirements`.
    pub(super) fn declare(&mut self, keyword: &str) {
        let implied: &[&str] = match keyword {
            ":adl" => &[
                ":strips",
                ":typing",
                ":negative-preconditions",
                ":disjunctive-preconditions",
                ":quantified-preconditions",
                ":existential-preconditions",
                ":universal-preconditions",
                ":equality",
                ":conditional-effects",
            ],
            ":quantified-preconditions" => &[":existential-preconditions", ":universal-preconditions"],
            ":fluents" | ":action-costs" | ":goal-utilities" => &[":numeric-fluents"],
            ":constraints" => &[":preferences"],
            ":mdp" => &[":probabilistic-effects", ":rewards"],
            _ => &[],
        };
        self.declared.push(keyword.to_string());
        self.declared.extend(implied.iter().map(|keyword| keyword.to_string()));
    }

    /// Something at `span` needs `requirement`.
    pub(super) fn needs(&mut self, requirement: &'static str, span: Span) {
        if !self.used.iter().any(|(used, _)| *used == requirement) {
            self.used.push((requirement, span));
        }
    }

    /// Whether `keyword` was declared.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.declared.iter().any(|declared| declared == keyword)
    }

    /// Warns about what is used without being declared, once.
    pub(super) fn report(&mut self, findings: &mut Diagnostics) {
        for (requirement, span) in std::mem::take(&mut self.used) {
            if !self.has(requirement) {
                let message = format!("`{requirement}` is used but not declared in :requirements");
                findings.push(Diagnostic::warning(span, message));
                self.declared.push(requirement.to_string());
            }
        }
    }
}
