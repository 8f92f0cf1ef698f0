//! How a zone graph is made, and why there may be none.

use super::cover::Covering;
use super::dbm::LARGEST_CONSTANT;
use crate::model::{ModelError, ModelOptions};
use hadal_system::Span;

/// The most words of a state, so that it can be written with something beside it.
pub const MOST_WORDS: usize = 8000;

/// How zones are made finitely many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Extrapolation {
    /// By lower and upper bounds apart, the coarsest: keeps what is reachable.
    #[default]
    LowerUpperPlus,
    /// By lower and upper bounds apart.
    LowerUpper,
    /// By largest constants, with the same sharpness as `LowerUpperPlus`: keeps deadlocks as well.
    MaxPlus,
    /// By largest constants.
    Max,
}

/// How the zone graph is made.
#[derive(Clone, Debug, Default)]
pub struct ZoneOptions {
    /// How the discrete part is run.
    pub model: ModelOptions,
    /// Abstraction of zones.
    pub extrapolation: Extrapolation,
    /// When a zone makes another needless.
    pub covering: Covering,
    /// The properties that matter, by their place in the system; all where it is empty.
    pub asked: Vec<bool>,
    /// Whether a last clock `now` measures the time since the start.
    pub now: bool,
}

/// Why a timed system has no zone graph here.
#[derive(Debug, thiserror::Error)]
pub enum ZoneError {
    /// The discrete part cannot be run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A constant that is not known well enough.
    #[error(
        "the bound of a clock may be any number, or is beyond {LARGEST_CONSTANT}: give the variables in it ranges"
    )]
    Unbounded {
        /// Where it stands.
        span: Span,
    },
    /// Zones that no state has room for.
    #[error(
        "a zone of {clocks} clocks takes {words} words, more than the {MOST_WORDS} that a state may have"
    )]
    TooWide {
        /// How many clocks there are.
        clocks: usize,
        /// Words of a state.
        words: usize,
    },
    /// Too many differences of clocks.
    #[error(
        "differences of clocks are compared with too many values: zones would have to be split along each"
    )]
    ManyDiagonals {
        /// Where the first stands.
        span: Span,
    },
    /// Differences of clocks, and clocks that are set to others.
    #[error(
        "a difference of two clocks is compared, and somewhere a clock is set to another one: together they are not supported"
    )]
    DiagonalCopies {
        /// Where the first difference stands.
        span: Span,
    },
}

impl ZoneError {
    /// Where the model says so, if anywhere.
    pub fn span(&self) -> Option<Span> {
        match self {
            ZoneError::Model(_) | ZoneError::TooWide { .. } => None,
            ZoneError::Unbounded { span }
            | ZoneError::ManyDiagonals { span }
            | ZoneError::DiagonalCopies { span } => Some(*span),
        }
    }
}
