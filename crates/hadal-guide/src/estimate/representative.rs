//! What a guide can still promise where symmetric states count as one and representatives are explored.
//!
//! A representative is as far from a symmetric goal as the state it stands for, so lower bounds and proofs of
//! unreachability stay. But the representative of a successor may be estimated differently from the successor itself: a
//! transition may lower the estimate by more than it costs. Where the goal is not symmetric (one instance of a property
//! and not the others), the distance of the representative says nothing.

use hadal_exec::Model;
use hadal_system::guide::Goal;
use hadal_system::guide::{Estimator, Guide, Promises};

/// A guide for representatives.
pub struct Representative<'m> {
    inner: Box<dyn Guide + 'm>,
    symmetric: bool,
    /// A step of the search is one action: where processes go on alone it is several, and fewer steps than the guide counts
    /// may suffice.
    plain: bool,
}

impl<'m> Representative<'m> {
    /// The guide, with what it can promise in this model.
    pub fn wrap(inner: Box<dyn Guide + 'm>, model: &Model, goal: &Goal) -> Box<dyn Guide + 'm> {
        let plain = model.system().has_plain_steps();
        if (model.symmetry().is_none() && plain) || inner.name() == "blind" {
            return inner;
        }
        let bases = model.system().property_bases();
        let asked = |id: u32| goal.properties.iter().any(|property| property.0 == id);
        // All instances of a property, or none.
        let whole = |range: &[u32]| (range[0]..range[1]).all(asked) || !(range[0]..range[1]).any(asked);
        let symmetric = model.symmetry().is_none() || bases.windows(2).all(whole);
        Box::new(Representative { inner, symmetric, plain })
    }
}

impl Guide for Representative<'_> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn promises(&self) -> Promises {
        let inner = self.inner.promises();
        Promises {
            admissible: inner.admissible && self.symmetric && self.plain,
            consistent: false,
            safe: inner.safe && self.symmetric,
            monotone: inner.monotone,
        }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        self.inner.estimator()
    }

    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }
}
