//! Values of decision processes: probabilities and expected rewards between proved bounds, or exactly.
//!
//! [`build::build`] explores a state space into a [`graph::Graph`]. Graph search settles what is certain
//! ([`qualitative`]), end components that would leave the equations without a unique solution are collapsed
//! ([`components`]), and what is left ([`problem`]) is solved component by component: by [`optimistic`] value iteration with
//! a proof, or [`exact`]ly over fractions. [`answer::answer`] does all of it for a question.

pub mod answer;
pub mod asking;
mod average;
pub mod bounded;
pub mod build;
pub mod certificate;
pub mod chances;
pub mod components;
pub mod disk;
pub mod evidence;
pub mod exact;
pub mod explicit;
pub mod follow;
pub mod graph;
pub mod growing;
pub mod implicit;
pub mod iterate;
mod ltl;
pub mod numbers;
pub mod optimistic;
mod phase;
pub mod policy;
pub mod problem;
mod product;
pub mod qualitative;
pub mod reach;
pub mod sliding;
mod spool;
pub mod table;
pub mod task;
mod timed;
pub mod trial;
pub mod values;

pub use answer::{Answer, Options, answer};

/// How sharp values have to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// How far apart the bounds may be, relative to the value.
    pub relative: f64,
    /// Whether the values themselves are wanted.
    pub exact: bool,
    /// Whether a policy is wanted.
    pub policy: bool,
    /// Whether a certificate is wanted.
    pub certificate: bool,
    /// How many threads sweep; values do not depend on it.
    pub threads: usize,
    /// Which paths are wanted.
    pub paths: evidence::Wanted,
    /// What fractions may take, in bytes.
    pub room: Option<u64>,
    /// What is left beside graph and solver, in bytes: components may be solved at once there.
    pub spare: Option<u64>,
}

impl Default for Precision {
    fn default() -> Self {
        Precision {
            relative: 1e-6,
            exact: false,
            policy: false,
            certificate: false,
            threads: 1,
            paths: evidence::Wanted::Nothing,
            room: None,
            spare: None,
        }
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SolveError {
    /// The graph cannot be built.
    #[error(transparent)]
    Build(#[from] build::BuildError),
    /// The equations have no unique solution under some choices, which must not happen.
    #[error("the equations of a component with {0} states are singular")]
    Singular(usize),
    /// No state is asked about.
    #[error("no reachable state satisfies the filter")]
    NoState,
    /// A filter asks for the value of one state, and there are more.
    #[error("the filter names {0} states; write min, max, sum or avg")]
    NotOnly(u64),
    /// A filter asks whether a value holds.
    #[error("a value cannot be counted or hold: the filter needs a bound such as >=0.5")]
    ValueAsTruth,
    /// Bounds and exact values both leave a comparison open.
    #[error("the comparison cannot be decided")]
    Undecided,
    /// Rewards of a bound have to be whole numbers.
    #[error("a bound on rewards needs whole rewards, and few enough states")]
    RewardBound,
    /// The graph on disk cannot be built or read.
    #[error("{0}")]
    Disk(String),
    /// Only some questions are answered from disk: which part of this one is not, and what to do.
    #[error("on disk, and in named tiers, {0}")]
    NotOnDisk(&'static str),
    /// The best choice depends on more than the state.
    #[error("this question has no policy of states alone")]
    NoPolicy,
    /// There is no set of paths that shows it.
    #[error("there are no paths to show: {0}")]
    NoPaths(&'static str),
    /// The bounds cannot be shown to be right.
    #[error("there is no certificate: {0}")]
    NoCertificate(&'static str),
    /// The automaton of a formula is too large.
    #[error("the formula is not answered: {0}")]
    Formula(String),
    /// A question of continuous time, or of the long run, that is not answered.
    #[error("{0}")]
    Time(&'static str),
    /// A method that does not fit the question.
    #[error("{0}")]
    Method(&'static str),
    /// `I=` looks at states only.
    #[error("the reward of an instant is that of a state; this reward is earned by actions")]
    InstantOfActions,
}

impl SolveError {
    /// Whether the question may have an answer when it is asked again: an error of the machine, a limit or a stop ended it.
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self, SolveError::Build(_) | SolveError::Disk(_))
    }
}

impl From<std::io::Error> for SolveError {
    fn from(error: std::io::Error) -> Self {
        SolveError::Disk(error.to_string())
    }
}

impl From<disk::DiskError> for SolveError {
    fn from(error: disk::DiskError) -> Self {
        match error {
            disk::DiskError::Fault(reason) => {
                SolveError::Build(build::BuildError::Fault { reason, state: Vec::new(), label: None })
            }
            other => SolveError::Disk(other.to_string()),
        }
    }
}
