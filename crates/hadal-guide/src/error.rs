//! Why there is no guide.

use hadal_system::guide::CalledOff;

/// Why there is no guide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuideError {
    /// Nothing of that name.
    #[error("no guide is called `{name}`; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The name is right, what stands with it is not.
    #[error("guide `{name}`: {reason}")]
    Malformed {
        /// What was asked for.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// An expression that cannot be read; with the place.
    #[error("{0}")]
    Expression(String),
    /// A table that does not fit, or cannot be written or read.
    #[error("a pattern database cannot be made: {0}")]
    Storage(String),
    /// The model has no such property.
    #[error("the model has no property number {0}")]
    NoProperty(u32),
    /// Preparing it was called off: it took too long or too much memory.
    #[error("preparing the guide was called off")]
    CalledOff,
}

impl From<CalledOff> for GuideError {
    fn from(_: CalledOff) -> Self {
        GuideError::CalledOff
    }
}
