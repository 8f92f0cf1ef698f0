//! Counting landmarks (Richter and Westphal 2010): those not yet accepted on the way to a state, and those that are needed
//! again.
//!
//! What was accepted is a set of bits that a search keeps with each state. Not admissible; it depends on the path, so it is
//! no [`crate::Guide`], and finite everywhere.

use super::landmarks::Landmarks;
use super::relaxed::{Lists, NO_ROW, Relaxed};
use hadal_exec::rows::Place;

/// The landmarks of a task, ready to be counted.
pub struct LandmarkCount {
    landmarks: Landmarks,
    /// Where each landmark is read off a state, and where the tests of each begin.
    tests: Vec<(Place, u64)>,
    begins: Vec<u32>,
    /// The landmarks that each row may make true.
    achieves: Lists,
}

impl LandmarkCount {
    /// Finds the landmarks of a task; each counts what its cheapest first achiever costs, at least one. Finding them takes
    /// at most `bytes`; where that is too little, there are none.
    pub fn new(task: &Relaxed, bytes: u64) -> Self {
        let landmarks = Landmarks::new(task, bytes);
        let mut achievers = Lists::default();
        let (mut tests, mut begins) = (Vec::new(), vec![0]);
        for landmark in &landmarks.all {
            tests.extend(landmark.facts.iter().map(|&fact| task.test(fact)));
            let operators = landmark.facts.iter().flat_map(|&fact| task.added_by.get(fact));
            let rows = operators.map(|&operator| task.rows[operator as usize]);
            achievers.push(&rows.filter(|&row| row != NO_ROW).collect::<Vec<u32>>());
            begins.push(tests.len() as u32);
        }
        LandmarkCount { landmarks, tests, begins, achieves: achievers.turned(task.row_costs.len()) }
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
        self.achieves.get(row).iter().any(|&at| {
            !has(accepted, at)
                && self.landmarks.all[at as usize].before.iter().all(|&before| has(accepted, before))
        })
    }
}

#[inline]
fn has(accepted: &[u64], at: u32) -> bool {
    accepted[at as usize / 64] >> (at % 64) & 1 == 1
}
