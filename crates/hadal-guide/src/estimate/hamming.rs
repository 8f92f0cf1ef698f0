//! Hamming distance (Yang and Dill 1998; Wehrle 2011, sec. 1.4.1): how many bits of the packed state differ from the
//! nearest state that is looked for, among the scalars that what is looked for mentions.

use crate::task::{AbstractTask, Formula};
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use std::sync::Arc;

/// Counts the bits to change.
pub struct Hamming {
    task: Arc<AbstractTask>,
}

impl Hamming {
    pub fn new(task: Arc<AbstractTask>) -> Self {
        Hamming { task }
    }
}

impl Guide for Hamming {
    fn name(&self) -> String {
        "hamming".into()
    }

    /// One step may change many bits, and the mask plays no part. Infinite only where what is looked for is impossible.
    fn promises(&self) -> Promises {
        Promises { admissible: false, consistent: false, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(HammingEstimator { task: &self.task })
    }
}

struct HammingEstimator<'g> {
    task: &'g AbstractTask,
}

impl Estimator for HammingEstimator<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        let task = self.task;
        let mut atom = |var: u32, values: &crate::task::Bits| {
            let variable = &task.variables[var as usize];
            let mut least = u32::MAX - 1;
            variable.each_code(state, |code| {
                for n in values.iter() {
                    least = least.min((code ^ variable.codes[n]).count_ones());
                }
            });
            least
        };
        let sum =
            |a: u32, b: u32| if a == u32::MAX || b == u32::MAX { u32::MAX } else { a.saturating_add(b) };
        let goal: &Formula = &task.goal;
        Distance(goal.fold(0, u32::MAX, &mut atom, &sum))
    }
}
