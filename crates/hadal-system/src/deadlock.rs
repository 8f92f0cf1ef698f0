//! When a state counts as a deadlock: one notion for languages, reductions and explorers.

/// When a state counts as a deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadlockNotion {
    /// Never.
    Off,
    /// When no action can fire.
    Stuck,
    /// When no action leads to another state: none can fire, or all lead back to the state itself.
    #[default]
    Stuttering,
}
