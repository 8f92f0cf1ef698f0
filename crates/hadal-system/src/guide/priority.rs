//! Which transitions to follow first: a layer over a guide that sorts successors into numbered queues by the transition
//! that made them, not by the state they are (Wehrle 2011, ch. 3 and 4).
//!
//! A [`Priority`] is built once for a search; each thread takes a [`Judge`], which places one successor at a time.

use super::{Distance, Estimator};
use crate::space::Label;

/// How the next queue is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The lowest that is not empty.
    Lowest,
    /// The first two in turns, the others when both are empty.
    Alternate,
}

/// One transition from a state that is being expanded.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The state.
    pub state: &'a [u64],
    /// Its estimate.
    pub here: Distance,
    /// The transition that led to it; `None` in an initial state.
    pub incoming: Option<Label>,
    /// The queue it was taken from.
    pub queue: u32,
    /// The active context it was reached in, where the layer keeps one; 0 in an initial state.
    pub context: u64,
    /// The transition.
    pub label: Label,
    /// The estimate of where it leads.
    pub there: Distance,
}

/// Where a successor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Into this queue.
    pub queue: u32,
    /// Into this one too.
    pub also: Option<u32>,
    /// In this active context.
    pub context: u64,
}

impl Placement {
    /// Into this queue only.
    pub fn queue(queue: u32) -> Self {
        Placement { queue, also: None, context: 0 }
    }
}

/// Sorts successors into queues.
pub trait Priority: Sync {
    /// How it is written on the command line.
    fn name(&self) -> String;

    /// How queues take turns.
    fn selection(&self) -> Selection {
        Selection::Lowest
    }

    /// Whether the active context is part of a state: the same state in another context is another one.
    fn keeps_context(&self) -> bool {
        false
    }

    /// Whether it looks at estimates: they must then be made when states are found.
    fn uses_estimates(&self) -> bool {
        false
    }

    /// What a queue's entries count as in the figures: true where they were put off.
    fn is_deferred(&self, queue: u32) -> bool {
        queue > 0
    }

    /// Something that places successors; each thread takes its own.
    fn judge(&self) -> Box<dyn Judge + '_>;
}

/// Places successors for one thread.
pub trait Judge: Send {
    /// Told before the successors of a state are placed.
    fn begin(&mut self, state: &[u64], here: Distance, estimator: &mut dyn Estimator) {
        let _ = (state, here, estimator);
    }

    /// Whether a transition of that state is to be looked at before others.
    fn comes_first(&self, label: Label) -> bool {
        let _ = label;
        false
    }

    /// Where a successor goes; `None` where it may be left out without losing anything that is looked for.
    fn place(&mut self, step: &Step, estimator: &mut dyn Estimator) -> Option<Placement>;
}

/// Everything in one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPriority;

impl Priority for NoPriority {
    fn name(&self) -> String {
        "none".into()
    }

    fn judge(&self) -> Box<dyn Judge + '_> {
        Box::new(NoPriority)
    }
}

impl Judge for NoPriority {
    fn place(&mut self, _: &Step, _: &mut dyn Estimator) -> Option<Placement> {
        Some(Placement::queue(0))
    }
}
