//! Lower and upper bounds of the unknowns, each proved: optimistic value iteration (Hartmanns, Kaminski 2020), component by
//! component in topological order.
//!
//! Lower bounds are iterated from 0 with sums rounded down. An upper bound is guessed above them and kept only where one
//! more iteration, rounded up, nowhere exceeds it: what is inductive lies above the least solution (Park). Every sum of `k`
//! products is moved outward by `(k + 3) 2^-53`, relative, which is more than its rounding errors add up to. Lower bounds that
//! grow slowly leap ahead, as far as one more iteration confirms, and components that take many sweeps are solved at once, if they can be.

mod chunks;
mod direct;
mod leap;

use crate::Precision;
use crate::numbers::Numbers;
use crate::problem::Problem;
use chunks::Chunks;
use direct::{Direct, Widths};
use hadal_system::chance::Sense;
use leap::Leap;
use std::ops::Range;

/// Half a unit in the last place.
const HALF_ULP: f64 = 1.1102230246251565e-16;
/// Below this, products may lose digits to underflow.
const TINY: f64 = 1e-280;
/// Over how many sweeps the rate of convergence is measured.
const MEMORY: usize = 8;
/// After this many sweeps over a component its bounds stay as they are.
const MAX_SWEEPS: u64 = 2_000_000;

/// Proved bounds of every node.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Not above the values; the last entry is 1.
    pub lower: Vec<f64>,
    /// Not below the values, infinite where nothing was proved; the last entry is 1.
    pub upper: Vec<f64>,
    /// Sweeps over the component that needed most.
    pub sweeps: u64,
}

/// Bounds such that upper and lower ones differ by at most the precision, relative, wherever that is found. They have the same
/// bits for any number of threads.
pub fn solve(problem: &Problem, numbers: &Numbers, wanted: &Precision) -> Bounds {
    let precision = wanted.relative;
    let n = problem.nodes();
    let mut bounds = Bounds { lower: vec![0.0; n + 1], upper: vec![f64::INFINITY; n + 1], sweeps: 0 };
    bounds.lower[n] = 1.0;
    bounds.upper[n] = 1.0;
    let (below, above) = (numbers.below(), numbers.above());
    let backup = Backup { problem, numbers, below, above, threads: wanted.threads, room: wanted.spare };
    let (depths, most) = depths(problem);
    for (component, range) in problem.component_ranges().enumerate() {
        if range.len() == 1 {
            let node = range.start;
            (bounds.lower[node], bounds.upper[node]) = backup.alone(node, &bounds);
            continue;
        }
        // Components share the precision: those that lead to others may be wider by what they get from them.
        let share = precision * f64::from(depths[component]) / f64::from(most.max(1));
        let slack = precision / f64::from(most.max(1));
        let sweeps = backup.component(range, (share, slack), &mut bounds);
        bounds.sweeps = bounds.sweeps.max(sweeps);
    }
    bounds
}

/// For each component, how many components with cycles lie on a way from it, itself included; and the most of all.
fn depths(problem: &Problem) -> (Vec<u32>, u32) {
    let mut component_of = vec![0u32; problem.nodes() + 1];
    let mut depths = Vec::new();
    let mut most = 0;
    for (number, range) in problem.component_ranges().enumerate() {
        let mut depth = 0;
        for node in range.clone() {
            component_of[node] = number as u32;
        }
        for node in range.clone() {
            for choice in problem.choices_of(node) {
                for branch in problem.branches_of(choice) {
                    let target = problem.targets[branch] as usize;
                    if target < range.start {
                        depth = depth.max(depths[component_of[target] as usize]);
                    }
                }
            }
        }
        depth += u32::from(range.len() > 1);
        most = most.max(depth);
        depths.push(depth);
    }
    (depths, most)
}

struct Backup<'a> {
    problem: &'a Problem,
    numbers: &'a Numbers,
    below: &'a [f64],
    above: &'a [f64],
    threads: usize,
    /// What solving a component at once may take, in bytes.
    room: Option<u64>,
}

impl Backup<'_> {
    /// The value of a node by its best choice, rounded down; `of` tells those of others.
    #[inline]
    fn down(&self, node: usize, of: impl Fn(usize) -> f64) -> f64 {
        let mut best = start(self.problem.sense);
        for choice in self.problem.choices_of(node) {
            let branches = self.problem.branches_of(choice);
            let mut sum = self.below[self.problem.reward_of(choice) as usize];
            let count = branches.len();
            if count == 1 && sum == 0.0 && self.problem.weights[branches.start] == 1 {
                sum = of(self.problem.targets[branches.start] as usize);
            } else {
                for branch in branches {
                    let weight = self.below[self.problem.weights[branch] as usize];
                    sum += weight * of(self.problem.targets[branch] as usize);
                }
                sum = lowered(sum, count);
            }
            best = pick(self.problem.sense, best, sum);
        }
        best
    }

    /// The value of a node by its best choice, rounded up; `of` tells those of others.
    #[inline]
    fn up(&self, node: usize, of: impl Fn(usize) -> f64) -> f64 {
        let mut best = start(self.problem.sense);
        for choice in self.problem.choices_of(node) {
            let branches = self.problem.branches_of(choice);
            let mut sum = self.above[self.problem.reward_of(choice) as usize];
            let count = branches.len();
            if count == 1 && sum == 0.0 && self.problem.weights[branches.start] == 1 {
                sum = of(self.problem.targets[branches.start] as usize);
            } else {
                for branch in branches {
                    let weight = self.above[self.problem.weights[branch] as usize];
                    sum += weight * of(self.problem.targets[branch] as usize);
                }
                sum = raised(sum, count);
            }
            best = pick(self.problem.sense, best, sum);
        }
        best
    }

    /// Both bounds of a node that only leads to itself or to nodes before it.
    fn alone(&self, node: usize, bounds: &Bounds) -> (f64, f64) {
        let mut best = (start(self.problem.sense), start(self.problem.sense));
        for choice in self.problem.choices_of(node) {
            let branches = self.problem.branches_of(choice);
            let count = branches.len();
            let reward = self.problem.reward_of(choice) as usize;
            let (mut low, mut high) = (self.below[reward], self.above[reward]);
            let (mut stay_low, mut stay_high) = (0.0, 0.0);
            if count == 1 && high == 0.0 && self.problem.weights[branches.start] == 1 {
                let target = self.problem.targets[branches.start] as usize;
                (low, high) = (bounds.lower[target], bounds.upper[target]);
            } else {
                for branch in branches {
                    let weight = self.problem.weights[branch] as usize;
                    let target = self.problem.targets[branch] as usize;
                    if target == node {
                        stay_low += self.below[weight];
                        stay_high += self.above[weight];
                    } else {
                        low += self.below[weight] * bounds.lower[target];
                        high += self.above[weight] * bounds.upper[target];
                    }
                }
                (low, high) = (lowered(low, count), raised(high, count));
                if stay_high > 0.0 {
                    // v = sum + stay * v
                    let leave_high = raised(1.0 - lowered(stay_low, count), 2);
                    let leave_low = lowered(1.0 - raised(stay_high, count), 2);
                    low = lowered(low / leave_high, 2);
                    high = if leave_low > 0.0 { raised(high / leave_low, 2) } else { f64::INFINITY };
                }
            }
            best = (pick(self.problem.sense, best.0, low), pick(self.problem.sense, best.1, high));
        }
        best
    }

    /// Bounds of the nodes of a component; returns the sweeps.
    fn component(&self, range: Range<usize>, (share, slack): Widths, bounds: &mut Bounds) -> u64 {
        let mut chunks = Chunks::new(&range, self.threads);
        let mut sweeps = 0;
        let mut step = slack / 4.0;
        let mut before = [f64::INFINITY; MEMORY];
        let (mut leap, mut direct) = (Leap::new(range.clone()), Direct::new());
        // Tries that a guess is given to become inductive: falling values cross a component as slowly as growing ones do.
        let mut tries = 20;
        loop {
            // From below, until the values hardly grow.
            loop {
                let growth = self.grow(&range, &mut chunks, bounds);
                sweeps += 1;
                let earlier = std::mem::replace(&mut before[sweeps as usize % MEMORY], growth);
                if growth == 0.0 || sweeps > MAX_SWEEPS {
                    break;
                }
                let fresh = leap.is_fresh(MEMORY as u64);
                if growth <= step && !fresh {
                    // Growth that shrinks by `rate` a sweep adds up to growth / (1 - rate): a guess before that is below its part
                    // of the slack would be refuted.
                    let rate = (growth / earlier).powf(1.0 / MEMORY as f64).min(0.999_999);
                    let enough = slack * (1.0 - rate) / 4.0;
                    tries = 20 + (4.0 / (1.0 - rate)) as u64;
                    if growth <= enough {
                        break;
                    }
                    step = enough;
                }
                sweeps += leap.after(self, bounds);
                if direct.is_due(sweeps) && self.solve_at_once(&range, (share, slack), sweeps, bounds) {
                    return sweeps + 1;
                }
            }
            sweeps += self.guess(&range, (share, slack), &mut chunks, bounds);
            for _ in 0..tries.max(20 + sweeps / 4) {
                let seen = match &mut chunks {
                    Some(chunks) => chunks.prove(self, bounds),
                    None => self.prove(range.clone(), bounds),
                };
                sweeps += 2;
                if seen.refuted {
                    break;
                }
                if seen.falls {
                    return sweeps;
                }
                if seen.rests {
                    break;
                }
            }
            for node in range.clone() {
                bounds.upper[node] = f64::INFINITY;
            }
            if sweeps > MAX_SWEEPS {
                return sweeps;
            }
            step /= 4.0;
            if step < 1e-17 {
                step = 0.0;
            }
        }
    }

    /// One sweep from below; by how much a bound grew at most.
    fn grow(&self, range: &Range<usize>, chunks: &mut Option<Chunks>, bounds: &mut Bounds) -> f64 {
        match chunks {
            Some(chunks) => chunks.climb(self, bounds),
            None => self.climb(range.clone(), bounds),
        }
    }

    /// Guesses upper bounds; the sweeps that took. What is still missing below has the shape of what sweeps add, which is why a
    /// guess of twice as much falls everywhere, where one in proportion to the values would rise wherever no known value is near.
    fn guess(
        &self,
        range: &Range<usize>,
        (share, slack): Widths,
        chunks: &mut Option<Chunks>,
        bounds: &mut Bounds,
    ) -> u64 {
        let saved = bounds.lower[range.clone()].to_vec();
        let (mut first, mut last) = (0.0, 0.0);
        for sweep in 0..MEMORY {
            last = self.grow(range, chunks, bounds);
            if sweep == 0 {
                first = last;
            }
        }
        // What as many sweeps add is so much less each time, and all of it adds up to `rest`.
        let shrinks = (last / first).powf(MEMORY as f64 / (MEMORY - 1) as f64);
        let rest = if shrinks < 1.0 { shrinks / (1.0 - shrinks) } else { 0.0 };
        for (node, old) in range.clone().zip(saved) {
            let low = bounds.lower[node];
            let missing = (2.0 * rest * (low - old)).min(low * slack / 2.0);
            bounds.upper[node] = raised(low * (1.0 + share - slack / 2.0) + missing, 2);
        }
        MEMORY as u64
    }

    /// One sweep from below over nodes in their order; by how much a bound grew at most, relative to what it is now.
    fn climb(&self, range: Range<usize>, bounds: &mut Bounds) -> f64 {
        let mut growth = 0.0f64;
        for node in range {
            let (old, new) = (bounds.lower[node], self.down(node, |n| bounds.lower[n]));
            if new > old {
                bounds.lower[node] = new;
                growth = growth.max((new - old) / new);
            }
        }
        growth
    }

    /// One sweep that looks whether the guessed upper bounds are inductive.
    fn prove(&self, range: Range<usize>, bounds: &mut Bounds) -> Seen {
        let mut seen = Seen::default();
        for node in range {
            let own = (bounds.lower[node], bounds.upper[node]);
            let new = (self.down(node, |n| bounds.lower[n]), self.up(node, |n| bounds.upper[n]));
            (bounds.lower[node], bounds.upper[node]) = seen.moved(own, new);
            if seen.refuted {
                break;
            }
        }
        seen
    }
}

/// What a sweep says of guessed upper bounds.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// None would have to rise: they are proved.
    falls: bool,
    /// None fell.
    rests: bool,
    /// One fell below its lower bound: the guess was wrong.
    refuted: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { falls: true, rests: true, refuted: false }
    }
}

impl Seen {
    /// The bounds of a node after a sweep, from those before and what its choices give.
    #[inline]
    fn moved(&mut self, old: (f64, f64), new: (f64, f64)) -> (f64, f64) {
        self.falls &= new.1 <= old.1;
        self.rests &= new.1 >= old.1;
        let (low, high) = (new.0.max(old.0), new.1.min(old.1));
        self.refuted |= high < low;
        (low, high)
    }
}

#[inline]
fn start(sense: Sense) -> f64 {
    match sense {
        Sense::Least => f64::INFINITY,
        Sense::Greatest => 0.0,
    }
}

#[inline]
fn pick(sense: Sense, left: f64, right: f64) -> f64 {
    match sense {
        Sense::Least => left.min(right),
        Sense::Greatest => left.max(right),
    }
}

/// A sum of `count` products and one more term, moved below its exact value.
#[inline]
pub(crate) fn lowered(sum: f64, count: usize) -> f64 {
    if sum < TINY { 0.0 } else { sum * (1.0 - (count as f64 + 3.0) * HALF_ULP) }
}

/// A sum of `count` products and one more term, moved above its exact value.
#[inline]
pub(crate) fn raised(sum: f64, count: usize) -> f64 {
    if sum == 0.0 {
        0.0
    } else if sum < TINY {
        TINY
    } else {
        sum * (1.0 + (count as f64 + 5.0) * HALF_ULP)
    }
}
