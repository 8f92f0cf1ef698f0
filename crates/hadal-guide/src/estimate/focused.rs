//! A guide that looks at a part of what is looked for only.
//!
//! Where errors of the model may be met almost anywhere, as far as is known, an estimate of the distance to all of them says
//! nothing. Guides that are no lower bounds anyway then look at the rest, and prove nothing about the whole.

use hadal_system::guide::{Estimator, Guide, Promises};

/// A guide to a part of what is looked for.
pub struct Focused<'m> {
    inner: Box<dyn Guide + 'm>,
}

impl<'m> Focused<'m> {
    pub fn new(inner: Box<dyn Guide + 'm>) -> Self {
        Focused { inner }
    }
}

impl Guide for Focused<'_> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn promises(&self) -> Promises {
        let monotone = self.inner.promises().monotone;
        Promises { admissible: false, consistent: false, safe: false, monotone }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        self.inner.estimator()
    }

    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }
}
