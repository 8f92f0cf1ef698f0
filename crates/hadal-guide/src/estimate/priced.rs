//! A guide that counts steps, for paths that are measured in costs.
//!
//! Where every transition costs at least c, a distance of n steps costs at least n times c: the promises stay. Where some
//! cost nothing, only 0 and infinity are left of a guide that is to prove something; one that only says what to try first
//! goes on counting steps, and promises nothing about costs any more.

use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_system::{CostRange, Label};

/// What a guide that counts steps is good for where paths are measured in costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its promises are relied on.
    Proof,
    /// It says where to look first.
    Hint,
}

/// A guide that counts steps, in costs.
pub struct Priced<'g> {
    guide: Box<dyn Guide + 'g>,
    factor: u32,
    proves: bool,
}

impl<'g> Priced<'g> {
    /// The guide where transitions cost as much as `costs` says.
    pub fn new(guide: Box<dyn Guide + 'g>, costs: CostRange, use_for: Use) -> Self {
        let proves = costs.least > 0 || use_for == Use::Proof;
        Priced { guide, factor: if proves { costs.least } else { 1 }, proves }
    }

    /// What steps are multiplied by.
    pub fn factor(&self) -> u32 {
        self.factor
    }
}

impl Guide for Priced<'_> {
    fn name(&self) -> String {
        self.guide.name()
    }

    /// Those of the guide inside; without a proof nothing is promised of costs.
    fn promises(&self) -> Promises {
        let inside = self.guide.promises();
        Promises {
            admissible: inside.admissible && self.proves,
            consistent: inside.consistent && self.proves,
            ..inside
        }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(PricedEstimator { inside: self.guide.estimator(), factor: self.factor })
    }

    fn failure(&self) -> Option<String> {
        self.guide.failure()
    }
}

struct PricedEstimator<'g> {
    inside: Box<dyn Estimator + 'g>,
    factor: u32,
}

impl Estimator for PricedEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        match self.inside.estimate(state, off) {
            Distance::INFINITE => Distance::INFINITE,
            // Cut off, it is still no more than the true distance.
            Distance(steps) => Distance(steps.saturating_mul(self.factor).min(u32::MAX - 1)),
        }
    }

    fn work(&self) -> u64 {
        self.inside.work()
    }

    fn supporters(&self) -> Option<&[Label]> {
        self.inside.supporters()
    }

    fn keep_preferred(&mut self) {
        self.inside.keep_preferred();
    }

    fn preferred(&self) -> &[Label] {
        self.inside.preferred()
    }
}
