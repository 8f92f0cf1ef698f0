//! Lower bounds that grow slowly leap: what they grew by over some sweeps is added as often as a geometric series would. That is a
//! guess, which stays only if one more iteration, rounded down, is nowhere below it: the equations have one solution, so what is
//! inductive from below is not above it.

use super::{Backup, Bounds};
use std::ops::Range;

/// Over so many sweeps growth is measured.
const STRIDE: u64 = 8;
/// So many sweeps may lower a guess before it is given up.
const CHECKS: u64 = 2;
/// A guess is this part of what the series adds up to, at most.
const PART: f64 = 0.9;
/// Bounds that grow by less than this part of what they grew by over as many sweeps before are there soon.
const SLOW: f64 = 0.3;
/// At most so many sweeps lie between two guesses.
const LONGEST: u64 = 512;

/// Leaps of one component.
pub(super) struct Leap {
    range: Range<usize>,
    /// Bounds some sweeps ago.
    mark: Vec<f64>,
    /// By how much they grew over the sweeps before.
    grew: f64,
    /// Sweeps since the last guess, and how many there have to be.
    since: u64,
    wait: u64,
    part: f64,
    leapt: bool,
}

impl Leap {
    pub fn new(range: Range<usize>) -> Self {
        let (grew, wait) = (f64::INFINITY, 2 * STRIDE);
        Leap { range, mark: Vec::new(), grew, since: 0, wait, part: PART, leapt: false }
    }

    /// Counts a sweep; whether fewer than `sweeps` were made since a leap, so that growth says nothing about convergence.
    pub fn is_fresh(&mut self, sweeps: u64) -> bool {
        self.since += 1;
        self.leapt && self.since <= sweeps
    }

    /// Leaps if it is time to; the sweeps that took.
    pub fn after(&mut self, backup: &Backup, bounds: &mut Bounds) -> u64 {
        if !self.since.is_multiple_of(STRIDE) {
            return 0;
        }
        let lower = &bounds.lower[self.range.clone()];
        let growth =
            lower.iter().zip(&self.mark).map(|(now, old)| if *now > 0.0 { (now - old) / now } else { 0.0 });
        let grew = if self.mark.is_empty() { f64::INFINITY } else { growth.fold(0.0, f64::max) };
        let rate = grew / std::mem::replace(&mut self.grew, grew);
        let mut made = 0;
        if self.since >= self.wait && rate > SLOW && rate < 1.0 {
            let guess = self.leap(backup, rate, bounds);
            made = guess.1;
            if guess.0 {
                (self.part, self.wait) = ((self.part * 1.2).min(PART), 2 * STRIDE);
            } else {
                (self.part, self.wait) = (self.part * 0.6, (self.wait * 2).min(LONGEST));
            }
            (self.since, self.grew, self.leapt) = (0, f64::INFINITY, self.leapt || guess.0);
        }
        self.mark.clear();
        self.mark.extend_from_slice(&bounds.lower[self.range.clone()]);
        made
    }

    /// Whether a guess is inductive, which then stands, and how many sweeps that took.
    fn leap(&self, backup: &Backup, rate: f64, bounds: &mut Bounds) -> (bool, u64) {
        let saved = bounds.lower[self.range.clone()].to_vec();
        let times = self.part * rate / (1.0 - rate);
        for (lower, old) in bounds.lower[self.range.clone()].iter_mut().zip(&self.mark) {
            *lower += times * (*lower - old);
        }
        for check in 1..=CHECKS {
            let mut holds = true;
            for (node, &proved) in self.range.clone().zip(&saved) {
                let new = backup.down(node, |n| bounds.lower[n]);
                if new < bounds.lower[node] {
                    bounds.lower[node] = new.max(proved);
                    holds = false;
                }
            }
            if holds {
                return (true, check);
            }
        }
        bounds.lower[self.range.clone()].copy_from_slice(&saved);
        (false, CHECKS)
    }
}
