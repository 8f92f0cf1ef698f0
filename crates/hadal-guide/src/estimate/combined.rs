//! Several estimates at once: the greatest.

use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};

/// The greatest of several estimates.
pub struct GreatestOf<'m> {
    parts: Vec<Box<dyn Guide + 'm>>,
}

impl<'m> GreatestOf<'m> {
    pub fn new(parts: Vec<Box<dyn Guide + 'm>>) -> Self {
        GreatestOf { parts }
    }
}

impl Guide for GreatestOf<'_> {
    fn name(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| part.name()).collect();
        format!("max({})", parts.join(","))
    }

    /// The greatest of several lower bounds is one; it is infinite as soon as one of them is, so all must be safe.
    fn promises(&self) -> Promises {
        let all = |promise: fn(Promises) -> bool| self.parts.iter().all(|part| promise(part.promises()));
        Promises {
            admissible: all(|p| p.admissible),
            consistent: all(|p| p.consistent),
            safe: all(|p| p.safe),
            monotone: all(|p| p.monotone),
        }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        let parts = self.parts.iter().map(|part| part.estimator()).collect();
        Box::new(GreatestEstimator { parts, greatest: 0 })
    }

    fn failure(&self) -> Option<String> {
        self.parts.iter().find_map(|part| part.failure())
    }
}

struct GreatestEstimator<'g> {
    parts: Vec<Box<dyn Estimator + 'g>>,
    /// Which one the last estimate is of.
    greatest: usize,
}

impl Estimator for GreatestEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let mut greatest = Distance::ZERO;
        self.greatest = 0;
        for (n, part) in self.parts.iter_mut().enumerate() {
            let value = part.estimate(state, off);
            if value > greatest {
                greatest = value;
                self.greatest = n;
            }
        }
        greatest
    }

    fn work(&self) -> u64 {
        self.parts.iter().map(|part| part.work()).sum()
    }

    fn preferred(&self) -> &[Label] {
        self.parts.get(self.greatest).map_or(&[], |part| part.preferred())
    }
}
