//! Relatively useless transitions (Wehrle 2011, ch. 3): a transition is put off where the estimate says that without it
//! (in the system that lacks it) the way is no longer than the way that begins with it.

use super::Step;
use super::edges::{Edges, Reduction};
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of masks that one thread remembers.
const REMEMBERED: usize = 64 << 20;

/// What the test needs, for all threads.
pub struct Useless {
    edges: Edges,
    reduction: Reduction,
    /// Whether the guide's estimates never fall when transitions are disabled.
    monotone: bool,
    shortcuts: Shortcuts,
}

/// Whether estimates whose outcome is known are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcuts {
    /// They are.
    Taken,
    /// Every estimate is made.
    Avoided,
}

impl Useless {
    /// The test with these edges, for a guide that is `monotone` or not.
    pub fn new(edges: Edges, reduction: Reduction, monotone: bool, shortcuts: Shortcuts) -> Self {
        Useless { edges, reduction, monotone, shortcuts }
    }

    /// Which edges are removed.
    pub fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// The transitions that cannot fire in the system reduced by this one.
    pub fn off(&self, label: Label) -> Mask {
        self.edges.users(&self.edges.removed(label, self.reduction))
    }
}

/// The test for one thread.
pub(super) struct UselessTest<'u> {
    shared: &'u Useless,
    /// The reduced systems met so far; equal ones are kept once.
    masks: HashMap<Label, Arc<Mask>>,
    interned: HashMap<Vec<u32>, Arc<Mask>>,
    bytes: usize,
    /// The transitions that the estimate of the state being expanded rests on, once asked for.
    supporters: Option<Vec<Label>>,
    asked: bool,
}

impl<'u> UselessTest<'u> {
    pub(super) fn new(shared: &'u Useless) -> Self {
        let (masks, interned) = (HashMap::new(), HashMap::new());
        UselessTest { shared, masks, interned, bytes: 0, supporters: None, asked: false }
    }

    pub(super) fn begin(&mut self) {
        self.asked = false;
    }

    /// Whether the transition is relatively useless in the state being expanded.
    pub(super) fn is_useless(&mut self, step: &Step, estimator: &mut dyn Estimator) -> bool {
        if step.there == Distance::INFINITE {
            return true;
        }
        let shortcuts = self.shared.shortcuts == Shortcuts::Taken;
        if shortcuts && self.shared.monotone && step.there < step.here {
            return false;
        }
        let off = self.off(step.label);
        if shortcuts && step.here.is_finite() && self.leaves_supporters(step, &off, estimator) {
            return step.here <= step.there;
        }
        estimator.estimate(step.state, Some(&off)) <= step.there
    }

    /// Whether the estimate of the state rests on none of these transitions, so that it stays without them.
    fn leaves_supporters(&mut self, step: &Step, off: &Mask, estimator: &mut dyn Estimator) -> bool {
        if !self.asked {
            self.asked = true;
            estimator.estimate(step.state, None);
            match (estimator.supporters(), &mut self.supporters) {
                (None, held) => *held = None,
                (Some(new), Some(held)) => {
                    held.clear();
                    held.extend_from_slice(new);
                }
                (Some(new), held) => *held = Some(new.to_vec()),
            }
        }
        self.supporters.as_ref().is_some_and(|labels| labels.iter().all(|&label| !off.contains(label)))
    }

    fn off(&mut self, label: Label) -> Arc<Mask> {
        if let Some(mask) = self.masks.get(&label) {
            return Arc::clone(mask);
        }
        let removed = self.shared.edges.removed(label, self.shared.reduction);
        if self.bytes > REMEMBERED {
            self.masks.clear();
            self.interned.clear();
            self.bytes = 0;
        }
        let mask = match self.interned.get(&removed) {
            Some(mask) => Arc::clone(mask),
            None => {
                let mask = Arc::new(self.shared.edges.users(&removed));
                self.bytes += self.shared.edges.labels() / 8 + removed.len() * 4 + 64;
                self.interned.insert(removed, Arc::clone(&mask));
                mask
            }
        };
        self.masks.insert(label, Arc::clone(&mask));
        mask
    }
}
