//! The part of m4 that BEEM's family files (`.mdve`) are written in, so that no m4 is needed at run time.
//!
//! A family file becomes a model by expanding its macros with the parameters given from outside. The rules are
//! m4's: words that name a macro are replaced and the result is read again; arguments are expanded while they are
//! collected; quotes come off one layer at a time. BEEM reads its files with `//` as the comment and with words that
//! may end in `!` or `?` (so that `ch!` can be a macro), and with a small library of loops, queues and channels,
//! which [`library`] provides.
//!
//! Expansion always ends: steps, text and nesting are bounded ([`Limits`]).

mod builtin;
mod evaluate;
mod expand;
mod library;
mod traced;

pub use evaluate::evaluate;
pub use expand::{Expanded, Limits, expand};

use hadal_system::Span;

/// Why a family file could not be expanded, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where in the family file expansion stood.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}
