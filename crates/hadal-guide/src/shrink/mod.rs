//! Reductions that make a smaller [`System`] of a system before anything is searched (Wehrle 2011, ch. 5).
//!
//! [`cone`] leaves out what cannot influence the question, [`safe`] what can always be brought where it is needed,
//! [`split`] takes a question apart into questions about parts that have nothing to do with each other. Variables and
//! labels keep their numbers: what is left out keeps one value and its actions can never fire. [`lift`] turns a trace
//! of the smaller system into one of the system it was made of.
//!
//! None of them keeps deadlocks, covers or liveness: they are for broken invariants, met goals and errors of the model.

mod cone;
mod lift;
mod local;
mod remove;
mod safe;
mod split;
mod standing;

pub use cone::cone;
pub use lift::{LabelTrace, LiftError, TraceEnding, lift, states};
pub use safe::{safe, safe_where};
pub use split::{Part, Split, split};

use hadal_system::{ActionId, System, VarId};
use local::LocalGraph;

/// A system made smaller, and what lifting needs to know.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The smaller system.
    pub system: System,
    /// The variables that were left out.
    pub removed: Vec<VarId>,
    /// How many actions can never fire in it.
    pub disabled: usize,
    /// How the removed part moves by itself, where it must be moved.
    local: Option<LocalGraph>,
    /// The last actions of the smaller system: each is one of the whole system's while the removed part is in certain states.
    copies: Vec<ActionCopy>,
}

/// An action whose body reads a removed part, for some of the part's states.
#[derive(Clone, Debug)]
struct ActionCopy {
    of: ActionId,
    /// Numbers of the part's states in which the action does this.
    states: Vec<usize>,
}
