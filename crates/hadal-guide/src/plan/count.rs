//! Counting landmarks (Richter and Westphal 2010): those not yet accepted on the way to a state, and those that are needed
//! again.
//!
//! What was accepted is a set of bits that a search keeps with each state. Not admissible; it depends on the path, so it is
//! no [`crate::Guide`], and finite everywhere.

use super::landmarks::Landmarks;
use super::relaxed::{CostKind, Relaxed};
use hadal_exec::rows::{Place, RowSpace, RowWorker};

/// The landmarks of a task, ready to be counted.
pub struct LandmarkCount<'s> {
    task: Relaxed<'s>,
    landmarks: Landmarks,
    /// Where each landmark is read off a state, and where the tests of each begin.
    tests: Vec<(Place, u64)>,
    begins: Vec<u32>,
    /// The landmarks that each row may make true.
    achieves: Vec<Vec<u32>>,
}

impl<'s> LandmarkCount<'s> {
    /// Finds the landmarks of a task; each counts what its cheapest first achiever costs, at least one.
    pub fn new(space: &'s RowSpace, kind: CostKind) -> Self {
        let task = Relaxed::new(space, kind);
        let landmarks = Landmarks::new(&task, &mut space.row_worker());
        let mut achieves = vec![Vec::new(); task.row_costs.len()];
        let (mut tests, mut begins) = (Vec::new(), vec![0]);
        for (landmark, number) in landmarks.all.iter().zip(0u32..) {
            for &fact in &landmark.facts {
                tests.push(task.test(fact));
                for &operator in task.added_by.get(fact) {
                    if let Some(achieves) = achieves.get_mut(task.rows[operator as usize] as usize) {
                        achieves.push(number);
                    }
                }
            }
            begins.push(tests.len() as u32);
        }
        LandmarkCount { task, landmarks, tests, begins, achieves }
    }

    /// The landmarks.
    pub fn landmarks(&self) -> &Landmarks {
        &self.landmarks
    }

    /// What is accepted in `state`, entered from one where `accepted` was: a landmark that holds, with all before it
    /// accepted. Returns the count.
    pub fn progress(&self, accepted: &mut [u64], state: &[u64]) -> u32 {
        let all = &self.landmarks.all;
        for (at, landmark) in all.iter().enumerate() {
            if !has(accepted, at as u32)
                && self.holds(state, at)
                && landmark.before.iter().all(|&before| has(accepted, before))
            {
                accepted[at / 64] |= 1 << (at % 64);
            }
        }
        self.count(accepted, state)
    }

    /// The cost of what is not accepted, or needed again.
    pub fn count(&self, accepted: &[u64], state: &[u64]) -> u32 {
        let mut sum = 0u32;
        for (at, landmark) in self.landmarks.all.iter().enumerate() {
            let wanted = !has(accepted, at as u32)
                || !self.holds(state, at)
                    && (landmark.is_goal || landmark.needed_for.iter().any(|&next| !has(accepted, next)));
            if wanted {
                sum = sum.saturating_add(landmark.cost.max(1));
            }
        }
        sum
    }

    #[inline]
    fn holds(&self, state: &[u64], landmark: usize) -> bool {
        let own = self.begins[landmark] as usize..self.begins[landmark + 1] as usize;
        self.tests[own].iter().any(|&(place, value)| place.get(state) == value)
    }

    /// Whether firing `row` may achieve a landmark that is next.
    pub fn prefers(&self, accepted: &[u64], row: u32) -> bool {
        self.achieves[row as usize].iter().any(|&at| {
            !has(accepted, at)
                && self.landmarks.all[at as usize].before.iter().all(|&before| has(accepted, before))
        })
    }

    /// A means to evaluate states of the task.
    pub fn worker(&self) -> RowWorker<'s> {
        self.task.space().row_worker()
    }
}

#[inline]
fn has(accepted: &[u64], at: u32) -> bool {
    accepted[at as usize / 64] >> (at % 64) & 1 == 1
}
