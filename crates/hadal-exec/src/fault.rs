//! Errors of the model met while running it: what happened, where, said so that a person understands it.

use hadal_system::{DomainId, DomainKind, Domains, Span};

/// An error of the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of error it is.
    pub kind: FaultKind,
    /// Where it was met.
    pub span: Span,
    /// The values involved and what would have been allowed.
    pub message: String,
}

/// The kinds of errors a model can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An undefined scalar was read.
    Undefined,
    /// An index outside the array's index domain.
    Index,
    /// A value outside the domain of what was to hold it.
    Range,
    /// Division or remainder by zero.
    Division,
    /// A result that does not fit 64 bits.
    Overflow,
    /// A loop or quantifier with step 0.
    ZeroStep,
    /// A failed assertion.
    Assertion,
    /// An error statement.
    Error,
    /// A `while` loop that turned more than [`hadal_system::MAX_LOOP_TURNS`] times.
    RunawayLoop,
    /// Calls nested deeper than [`hadal_system::MAX_CALL_DEPTH`].
    RunawayRecursion,
    /// A function ended without its result.
    MissingReturn,
}

impl Fault {
    /// A fault at `span`.
    pub fn new(kind: FaultKind, span: Span, message: impl Into<String>) -> Self {
        Fault { kind, span, message: message.into() }
    }
}

/// The values a domain allows, for a message: `0..2`, `{idle, busy}`, `proc_1..proc_3`.
pub fn describe_domain(domains: &Domains, id: DomainId) -> String {
    let domain = &domains[id];
    match &domain.kind {
        DomainKind::Bool | DomainKind::Enum(_) => {
            let names: Vec<_> = domain.values().take(17).map(|v| domains.render(id, Some(v))).collect();
            if names.len() > 16 {
                format!("{{{}, ...}}", names[..16].join(", "))
            } else {
                format!("{{{}}}", names.join(", "))
            }
        }
        DomainKind::Range => {
            let spans: Vec<_> = domain.intervals.iter().map(|(lo, hi)| format!("{lo}..{hi}")).collect();
            spans.join(", ")
        }
        DomainKind::Scalarset(_) => {
            let first = domains.render(id, Some(domain.min()));
            if domain.size() == 1 {
                first
            } else {
                format!("{first}..{}", domains.render(id, Some(domain.max())))
            }
        }
        DomainKind::Union(members) => {
            let parts: Vec<_> = members.iter().map(|&m| describe_domain(domains, m)).collect();
            parts.join(" or ")
        }
    }
}
