//! Values of bounded questions: as many scans as there are steps, rounded outward, bounds of all states in RAM.

use super::DiskError;
use super::rows::{Row, Rows};
use crate::bounded::Rule;
use crate::optimistic::{lowered, raised};
use hadal_system::chance::Sense;

/// What is swept.
pub(super) struct Sweeps<'r, R> {
    pub rows: &'r R,
    pub sense: Sense,
    /// Whether rewards are added.
    pub rewards: bool,
}

impl<R: Rows> Sweeps<'_, R> {
    /// The bounds after `steps` more steps, and the scans it took.
    pub fn run(
        &self,
        mut values: Vec<(f64, f64)>,
        steps: u64,
        rule: impl Fn(usize) -> Rule,
    ) -> Result<(Vec<(f64, f64)>, u64), DiskError> {
        let mut next = values.clone();
        for done in 0..steps {
            self.rows.scan(|state, row| {
                let state = state as usize;
                next[state] = match rule(state) {
                    Rule::Zero => (0.0, 0.0),
                    Rule::One => (1.0, 1.0),
                    Rule::Best => self.best(row, &values),
                };
            })?;
            std::mem::swap(&mut values, &mut next);
            if values == next {
                return Ok((values, done + 1));
            }
        }
        Ok((values, steps))
    }

    fn best(&self, row: &Row, values: &[(f64, f64)]) -> (f64, f64) {
        let numbers = self.rows.numbers();
        let mut best: Option<(f64, f64)> = None;
        for (branches, reward) in row.choices() {
            let reward = if self.rewards { reward as usize } else { 0 };
            let (mut low, mut high) = (numbers.below()[reward], numbers.above()[reward]);
            if let ([(to, 1)], 0) = (branches, reward) {
                (low, high) = values[*to as usize];
            } else {
                for &(to, weight) in branches {
                    let value = values[to as usize];
                    low += numbers.below()[weight as usize] * value.0;
                    high += numbers.above()[weight as usize] * value.1;
                }
                (low, high) = (lowered(low, branches.len()), raised(high, branches.len()));
            }
            best = Some(match (best, self.sense) {
                (None, _) => (low, high),
                (Some(b), Sense::Least) => (b.0.min(low), b.1.min(high)),
                (Some(b), Sense::Greatest) => (b.0.max(low), b.1.max(high)),
            });
        }
        best.unwrap_or((0.0, 0.0))
    }
}
