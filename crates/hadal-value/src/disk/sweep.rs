//! Optimistic value iteration (Hartmanns, Kaminski 2020), all values at once from those of the sweep before.
//!
//! What a node becomes depends on the sweep before and on nothing else, and what a sweep says of all nodes is a maximum or a
//! conjunction: so the values have the same bits wherever they are kept and in whatever order nodes are visited.

use super::equations::Equations;
use super::rows::Row;
use crate::optimistic::{lowered, raised};
use hadal_system::chance::Sense;
use std::ops::Range;

/// Over how many sweeps the rate of convergence is measured.
const MEMORY: usize = 8;
/// So many sweeps are averaged.
const LAG: f64 = 8.0;
/// After this many sweeps bounds stay as they are.
const MAX_SWEEPS: u64 = 2_000_000;

/// A lower and an upper bound.
pub(super) type Bounds = (f64, f64);

/// What a sweep does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Lower bounds grow; in place of upper ones stands what they were some sweeps ago, on average.
    Climb,
    /// Upper bounds are guessed from the lower ones first, then as [`Mode::Prove`].
    Guess,
    /// Both bounds are moved, and it is seen whether the upper ones are inductive.
    Prove,
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// By how much a lower bound grew at most, relative to what it is now.
    pub growth: f64,
    /// No upper bound would have to rise: they are proved.
    pub falls: bool,
    /// No upper bound fell.
    pub rests: bool,
    /// Some upper bound fell below its lower bound: the guess was wrong.
    pub refuted: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { growth: 0.0, falls: true, rests: true, refuted: false }
    }
}

impl Seen {
    pub fn and(self, other: Seen) -> Seen {
        Seen {
            growth: self.growth.max(other.growth),
            falls: self.falls && other.falls,
            rests: self.rests && other.rests,
            refuted: self.refuted || other.refuted,
        }
    }

    pub fn encode(self) -> [u64; 2] {
        let flags = [self.falls, self.rests, self.refuted];
        [self.growth.to_bits(), flags.iter().fold(0, |word, &flag| word << 1 | u64::from(flag))]
    }

    pub fn decode(words: &[u64]) -> Seen {
        let flag = |n: u32| words[1] >> n & 1 == 1;
        Seen { growth: f64::from_bits(words[0]), falls: flag(2), rests: flag(1), refuted: flag(0) }
    }
}

/// One step of every node.
pub(super) struct Step<'e> {
    pub equations: &'e Equations,
    /// The stage that is solved now, and its nodes.
    pub stage: u32,
    pub range: Range<u64>,
    pub mode: Mode,
    /// How far bounds may lie apart.
    pub precision: Shares,
    /// What is guessed to be missing below, as a multiple of what sweeps added.
    pub rest: f64,
}

/// What follows a lower bound that grows now: an average of what it was, in which every growth counts for [`LAG`] sweeps. Sweeps may
/// move every other node alone, so one of them does not show where values still grow.
#[inline]
fn behind((low, behind): Bounds) -> f64 {
    if behind > low { low } else { behind + (low - behind) / LAG }
}

/// How far bounds may lie apart, relative to the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// In a stage.
    pub whole: f64,
    /// More than in the stages that it leads to.
    pub own: f64,
}

impl Step<'_> {
    /// Whether a node is swept now.
    #[inline]
    pub fn sweeps(&self, node: u64) -> bool {
        self.range.contains(&node)
    }

    /// The bounds of a place before the sweep, as they count for it.
    #[inline]
    pub fn read(&self, (low, high): Bounds) -> Bounds {
        match self.mode {
            Mode::Guess => {
                // What is missing has the shape of what sweeps add: see `behind`.
                let missing = (self.rest * (low - high).max(0.0)).min(low * self.precision.own / 2.0);
                let share = self.precision.whole - self.precision.own / 2.0;
                (low, raised(low * (1.0 + share) + missing, 2).min(self.equations.most()))
            }
            Mode::Climb | Mode::Prove => (low, high),
        }
    }

    /// The bounds of a node after the sweep. `of` tells the bounds of other nodes before it.
    #[inline]
    pub fn node(&self, row: &Row, own: Bounds, of: impl Fn(u64) -> Bounds, seen: &mut Seen) -> Bounds {
        let (nodes, own) = (self.equations.nodes, self.read(own));
        let value = |place: u64| match place {
            // What was solved before is proved, not guessed.
            place if place < nodes && self.mode == Mode::Guess && !self.sweeps(place) => of(place),
            place if place < nodes => self.read(of(place)),
            place => {
                if place == nodes {
                    (0.0, 0.0)
                } else {
                    (1.0, 1.0)
                }
            }
        };
        let numbers = &self.equations.numbers;
        let low = self.best(row, |p| value(p).0, numbers.below(), lowered).max(own.0);
        if self.mode == Mode::Climb {
            if low > own.0 {
                seen.growth = seen.growth.max((low - own.0) / low);
                return (low, behind(own));
            }
            return own;
        }
        let high = self.best(row, |p| value(p).1, numbers.above(), raised).min(self.equations.most());
        seen.falls &= high <= own.1;
        seen.rests &= high >= own.1;
        let high = high.min(own.1);
        seen.refuted |= high < low;
        (low, high)
    }

    #[inline]
    fn best(
        &self,
        row: &Row,
        of: impl Fn(u64) -> f64,
        numbers: &[f64],
        round: impl Fn(f64, usize) -> f64,
    ) -> f64 {
        let mut best: Option<f64> = None;
        for (branches, reward) in row.choices() {
            let mut sum = numbers[reward as usize];
            if let [(to, 1)] = branches
                && sum == 0.0
            {
                sum = of(*to);
            } else {
                for &(to, weight) in branches {
                    let value = of(to);
                    // No reward is infinite here without being so below a positive weight.
                    sum += numbers[weight as usize] * value;
                }
                sum = round(sum, branches.len());
            }
            best = Some(match (best, self.equations.sense) {
                (None, _) => sum,
                (Some(old), Sense::Least) => old.min(sum),
                (Some(old), Sense::Greatest) => old.max(sum),
            });
        }
        best.unwrap_or(0.0)
    }
}

/// Which sweep comes next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    /// Of all stages.
    pub sweeps: u64,
    /// The stage that is solved now.
    pub stage: u32,
    /// Sweeps over it.
    here: u64,
    mode: Option<Mode>,
    step: f64,
    before: [f64; MEMORY],
    tries: u64,
    proved: bool,
    rest: f64,
}

impl Course {
    pub fn new(precision: Shares) -> Self {
        Course {
            sweeps: 0,
            stage: 0,
            here: 0,
            mode: Some(Mode::Climb),
            step: precision.own / 4.0,
            before: [f64::INFINITY; MEMORY],
            tries: 0,
            proved: true,
            rest: 0.0,
        }
    }

    /// Goes on to the next stage.
    pub fn next_stage(&mut self, precision: Shares) {
        let (sweeps, stage, proved) = (self.sweeps, self.stage + 1, self.proved);
        *self = Course { sweeps, stage, proved, ..Course::new(precision) };
    }

    /// What the next sweep does; `None` at the end of the stage.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// What is guessed to be missing below, as a multiple of what sweeps added.
    pub fn rest(&self) -> f64 {
        self.rest
    }

    /// Whether the upper bounds of all stages so far hold.
    pub fn proved(&self) -> bool {
        self.proved
    }

    /// Takes what a sweep found.
    pub fn after(&mut self, seen: Seen, precision: Shares) {
        self.sweeps += 1;
        self.here += 1;
        match self.mode {
            Some(Mode::Climb) => {
                let earlier = std::mem::replace(&mut self.before[self.here as usize % MEMORY], seen.growth);
                if seen.growth > self.step && self.here <= MAX_SWEEPS {
                    return;
                }
                // Growth that shrinks by `rate` a sweep adds up to growth / (1 - rate): a guess before that is small would be
                // refuted.
                let rate = if seen.growth == 0.0 {
                    0.0
                } else {
                    (seen.growth / earlier).powf(1.0 / MEMORY as f64).min(0.999_999)
                };
                let enough = precision.own * (1.0 - rate) / 4.0;
                if seen.growth <= enough || self.here > MAX_SWEEPS {
                    self.tries = 20 + self.here / 4;
                    // Twice what a series would still add: a guess of that shape falls everywhere.
                    self.rest = 2.0 * rate / (1.0 - rate) / LAG;
                    self.mode = Some(Mode::Guess);
                } else {
                    self.step = enough;
                }
            }
            Some(Mode::Guess | Mode::Prove) => {
                if seen.falls && !seen.refuted {
                    self.mode = None;
                } else if seen.refuted || seen.rests || self.tries == 0 {
                    // Lower bounds that do not grow any more make no better guess.
                    let spent = self.step == 0.0 || self.here > MAX_SWEEPS;
                    self.mode = if spent { None } else { Some(Mode::Climb) };
                    self.proved &= !spent;
                    self.step = if self.step < 4e-17 { 0.0 } else { self.step / 4.0 };
                } else {
                    self.tries -= 1;
                    self.mode = Some(Mode::Prove);
                }
            }
            None => {}
        }
    }

    pub fn encode(&self) -> Vec<u64> {
        let mode = match self.mode {
            None => 0,
            Some(Mode::Climb) => 1,
            Some(Mode::Guess) => 2,
            Some(Mode::Prove) => 3,
        };
        let place = self.here << 32 | u64::from(self.stage);
        let (step, rest) = (self.step.to_bits(), self.rest.to_bits());
        let mut words = vec![self.sweeps, mode, step, self.tries, u64::from(self.proved), place, rest];
        words.extend(self.before.iter().map(|b| b.to_bits()));
        words
    }

    pub fn decode(words: &[u64]) -> Option<Self> {
        let before = words.get(7..7 + MEMORY)?;
        Some(Course {
            sweeps: words[0],
            stage: words[5] as u32,
            here: words[5] >> 32,
            mode: match words[1] {
                0 => None,
                1 => Some(Mode::Climb),
                2 => Some(Mode::Guess),
                _ => Some(Mode::Prove),
            },
            step: f64::from_bits(words[2]),
            tries: words[3],
            proved: words[4] == 1,
            rest: f64::from_bits(words[6]),
            before: std::array::from_fn(|n| f64::from_bits(before[n])),
        })
    }
}
