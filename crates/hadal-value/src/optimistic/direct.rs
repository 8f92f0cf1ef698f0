//! Components whose bounds move slowly are solved at once: the policy that looks best is evaluated by eliminating unknowns and
//! improved until nothing improves (Howard 1960), in floating point. That is a guess, as good as any: bounds are put around it, and
//! stay only if one more iteration, rounded outward, confirms them.
//!
//! Elimination adds, multiplies and divides positive numbers only: what leaves a node is kept as a sum, not as what its loop leaves
//! of 1 (Grassmann, Taksar, Heyman 1985). So values keep nearly all of their digits even where a component is left once in a billion
//! steps. How far below and above the guess bounds have to be to move towards each other everywhere is found in the same way: by what
//! the values add up to on the way out, under those choices that are as good as the best, up to the precision.

use super::{Backup, Bounds, pick, raised, start};
use crate::numbers::nearest;
use hadal_system::rows::Rational;
use num_traits::CheckedAdd;
use std::collections::BTreeSet;
use std::ops::Range;

/// At most so many policies are evaluated.
const POLICIES: u32 = 40;
/// A choice is better if it is so by more than this part, a hundred roundings: where a component is left once in millions of steps, what
/// is not gained in each of them adds up.
const BETTER: f64 = 2e-14;
/// A choice is slower if it is so by more than this part.
const SLOWER: f64 = 1e-11;
/// Sweeps before the first guess, and how much longer it takes from one guess to the next.
const FIRST: u64 = 512;
const LONGER: u64 = 4;
/// A product of an elimination takes as long as so many branches of a sweep.
const PRODUCT: u64 = 8;
/// Entries that elimination may make, by branches of the component, and in any case.
const FILL: u64 = 4;
const LEAST_FILL: u64 = 1 << 14;
/// What an entry takes, in bytes, with its place in a column and room to grow.
const ENTRY: u64 = 48;

/// When a component is solved at once.
pub(super) struct Direct {
    next: u64,
}

impl Direct {
    pub fn new() -> Self {
        Direct { next: FIRST }
    }

    /// Whether it is time to, after so many sweeps.
    pub fn is_due(&mut self, sweeps: u64) -> bool {
        let due = sweeps >= self.next;
        if due {
            self.next = sweeps * LONGER;
        }
        due
    }
}

/// What bounds may be apart: `share` with all that a component leads to, `slack` of its own.
pub(super) type Widths = (f64, f64);

impl Backup<'_> {
    /// Puts proved bounds around the values of a component, if a guess can be made with as much work as so many sweeps take; whether
    /// it could.
    pub(super) fn solve_at_once(
        &self,
        range: &Range<usize>,
        (share, slack): Widths,
        sweeps: u64,
        bounds: &mut Bounds,
    ) -> bool {
        let branches = self.branches(range);
        let most = (branches * FILL).max(LEAST_FILL);
        let fill = self.room.map_or(most, |room| most.min(room / ENTRY));
        let mut work = sweeps.saturating_mul(branches) / PRODUCT;
        let Some(policy) = self.proper(range, bounds) else { return false };
        let mut guess = Guess { backup: self, range, policy, values: Vec::new(), fill };
        let Some((values, slowness)) = guess.solve(bounds, slack, &mut work) else { return false };
        // As far apart as may be: what is below then grows and what is above falls by more than rounding takes.
        let ratio = slowness
            .iter()
            .zip(&values)
            .map(|(slow, value)| if *slow > 0.0 { value / slow } else { f64::INFINITY });
        let least = ratio.fold(f64::INFINITY, f64::min);
        let part = if least.is_finite() { least * slack / 4.0 } else { 0.0 };
        let saved: Vec<f64> = bounds.lower[range.clone()].to_vec();
        for ((node, value), slow) in range.clone().zip(&values).zip(&slowness) {
            bounds.lower[node] = (value - part * slow).max(bounds.lower[node]);
            bounds.upper[node] = raised(value * (1.0 + share - slack * 0.75) + part * slow, 2);
        }
        let holds = range.clone().all(|node| {
            self.down(node, |n| bounds.lower[n]) >= bounds.lower[node]
                && self.up(node, |n| bounds.upper[n]) <= bounds.upper[node]
        });
        if !holds {
            bounds.lower[range.clone()].copy_from_slice(&saved);
            bounds.upper[range.clone()].fill(f64::INFINITY);
        }
        holds
    }

    fn branches(&self, range: &Range<usize>) -> u64 {
        let first = |node: usize| self.problem.first_branch[self.problem.first_choice[node] as usize];
        u64::from(first(range.end) - first(range.start))
    }

    /// What a choice is worth under some values.
    fn worth(&self, choice: usize, of: impl Fn(usize) -> f64) -> f64 {
        let sum = self.problem.branches_of(choice).map(|branch| {
            let weight = self.below[self.problem.weights[branch] as usize];
            weight * of(self.problem.targets[branch] as usize)
        });
        self.below[self.problem.reward_of(choice) as usize] + sum.sum::<f64>()
    }

    /// The choices that look best, and lead out of the component.
    fn proper(&self, range: &Range<usize>, bounds: &Bounds) -> Option<Vec<u32>> {
        let best = |node: usize| {
            let mut best = (start(self.problem.sense), None);
            for choice in self.problem.choices_of(node) {
                let worth = self.worth(choice, |n| bounds.lower[n]);
                if best.1.is_none() || pick(self.problem.sense, worth, best.0) != best.0 {
                    best = (worth, Some(choice as u32));
                }
            }
            best.1
        };
        range.clone().map(best).collect()
    }
}

/// A guess that is being made.
struct Guess<'g> {
    backup: &'g Backup<'g>,
    range: &'g Range<usize>,
    policy: Vec<u32>,
    values: Vec<f64>,
    fill: u64,
}

impl Guess<'_> {
    /// The values of the best policy, and how much they add up to before the component is left.
    fn solve(&mut self, bounds: &Bounds, slack: f64, work: &mut u64) -> Option<(Vec<f64>, Vec<f64>)> {
        let mut led_out = false;
        for _ in 0..POLICIES {
            let gains = |choice: usize| self.gained_outside(choice, bounds);
            let Some(values) = self.evaluate(gains, work) else {
                // Choices that never leave looked best: begin with some that do.
                if *work == 0 || std::mem::replace(&mut led_out, true) {
                    return None;
                }
                crate::exact::leave(self.backup.problem, self.range.clone(), &mut self.policy);
                continue;
            };
            self.values = values;
            // What changes for ever changes by roundings: whether it matters is seen from the bounds.
            if !self.improve(bounds) {
                break;
            }
        }
        let slow = self.slowness(bounds, slack, work)?;
        Some((std::mem::take(&mut self.values), slow))
    }

    /// What a choice gains beside what nodes of the component are worth.
    fn gained_outside(&self, choice: usize, bounds: &Bounds) -> f64 {
        self.backup.worth(choice, |n| if self.range.contains(&n) { 0.0 } else { bounds.lower[n] })
    }

    fn worth(&self, choice: usize, bounds: &Bounds, values: &[f64]) -> f64 {
        let of = |n: usize| match self.range.contains(&n) {
            true => values[n - self.range.start],
            false => bounds.lower[n],
        };
        self.backup.worth(choice, of)
    }

    /// Takes better choices where there are any.
    fn improve(&mut self, bounds: &Bounds) -> bool {
        let sense = self.backup.problem.sense;
        let mut changed = false;
        for (at, node) in self.range.clone().enumerate() {
            let mut best = self.values[at];
            for choice in self.backup.problem.choices_of(node) {
                let worth = self.worth(choice, bounds, &self.values);
                if (worth - best).abs() > BETTER * best && pick(sense, worth, best) == worth {
                    (best, self.policy[at], changed) = (worth, choice as u32, true);
                }
            }
        }
        changed
    }

    /// What the values of all nodes that are met add up to, at most, under choices as good as the best.
    fn slowness(&self, bounds: &Bounds, slack: f64, work: &mut u64) -> Option<Vec<f64>> {
        let (range, problem) = (self.range.clone(), self.backup.problem);
        let is_good = |choice: usize, at: usize| {
            let worth = self.worth(choice, bounds, &self.values);
            (worth - self.values[at]).abs() <= slack * self.values[at]
        };
        let good: Vec<Vec<u32>> = range
            .clone()
            .enumerate()
            .map(|(at, node)| {
                problem.choices_of(node).filter(|&c| is_good(c, at)).map(|c| c as u32).collect()
            })
            .collect();
        let node_of = |at: usize| self.values[at];
        let mut policy = self.policy.clone();
        for _ in 0..POLICIES {
            let slow = eliminate((self.backup, &range), &policy, |at, _| node_of(at), self.fill, work)?;
            let inside = |choice: usize| {
                let of = |n: usize| if range.contains(&n) { slow[n - range.start] } else { 0.0 };
                self.backup.worth(choice, of) - self.backup.below[problem.reward_of(choice) as usize]
            };
            let mut changed = false;
            for (at, good) in good.iter().enumerate() {
                let mut most = inside(policy[at] as usize);
                for &choice in good {
                    let sum = inside(choice as usize);
                    if sum > most * (1.0 + SLOWER) {
                        (most, policy[at], changed) = (sum, choice, true);
                    }
                }
            }
            if !changed {
                return Some(slow);
            }
        }
        None
    }

    fn evaluate(&self, gains: impl Fn(usize) -> f64, work: &mut u64) -> Option<Vec<f64>> {
        eliminate((self.backup, self.range), &self.policy, |_, choice| gains(choice), self.fill, work)
    }
}

/// Solves `x = gain + sum of weight * x` for the nodes of a component under a policy; `None` where some node never leaves it, or where
/// that takes more than it may.
fn eliminate(
    (backup, range): (&Backup, &Range<usize>),
    policy: &[u32],
    gain: impl Fn(usize, usize) -> f64,
    fill: u64,
    work: &mut u64,
) -> Option<Vec<f64>> {
    let size = range.len();
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); size];
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); size];
    let (mut gains, mut leaves) = (Vec::with_capacity(size), Vec::with_capacity(size));
    for (at, &choice) in policy.iter().enumerate() {
        gains.push(gain(at, choice as usize));
        leaves.push(leaving(backup, range, choice as usize));
        for branch in backup.problem.branches_of(choice as usize) {
            let target = backup.problem.targets[branch] as usize;
            if range.contains(&target) && target != range.start + at {
                let weight = backup.below[backup.problem.weights[branch] as usize];
                rows[at].push(((target - range.start) as u32, weight));
            }
        }
        rows[at].sort_unstable_by_key(|entry| entry.0);
        rows[at].dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        rows[at].iter().for_each(|&(to, _)| columns[to as usize].push(at as u32));
    }
    let mut entries: u64 = rows.iter().map(|row| row.len() as u64).sum();
    let mut waiting: BTreeSet<(usize, u32)> = BTreeSet::new();
    let mut keys: Vec<usize> = (0..size).map(|at| rows[at].len() * columns[at].len()).collect();
    waiting.extend(keys.iter().enumerate().map(|(at, &key)| (key, at as u32)));
    let (mut order, mut merged) = (Vec::with_capacity(size), Vec::new());
    while let Some((_, me)) = waiting.pop_first() {
        order.push(me);
        let at = me as usize;
        let row = std::mem::take(&mut rows[at]);
        let out = leaves[at] + row.iter().map(|entry| entry.1).sum::<f64>();
        if out <= 0.0 {
            return None;
        }
        for from in std::mem::take(&mut columns[at]) {
            let source = from as usize;
            let old = &rows[source];
            let spent = (old.len() + row.len()) as u64;
            *work = work.saturating_sub(spent);
            let Ok(there) = old.binary_search_by_key(&me, |entry| entry.0) else { continue };
            let factor = old[there].1 / out;
            gains[source] += factor * gains[at];
            leaves[source] += factor * leaves[at];
            merge(old, &row, (me, from, factor), &mut merged, |to| columns[to as usize].push(from));
            entries += merged.len() as u64;
            entries -= old.len() as u64;
            std::mem::swap(&mut rows[source], &mut merged);
            touch(source, (&rows, &columns), &mut keys, &mut waiting);
        }
        for &(to, _) in &row {
            let column = &mut columns[to as usize];
            if let Some(place) = column.iter().position(|&from| from == me) {
                column.swap_remove(place);
            }
            touch(to as usize, (&rows, &columns), &mut keys, &mut waiting);
        }
        (gains[at], rows[at]) = (gains[at] / out, row);
        rows[at].iter_mut().for_each(|entry| entry.1 /= out);
        if *work == 0 || entries > fill {
            *work = 0;
            return None;
        }
    }
    let mut values = vec![0.0; size];
    for &at in order.iter().rev() {
        let rest: f64 = rows[at as usize].iter().map(|&(to, weight)| weight * values[to as usize]).sum();
        values[at as usize] = gains[at as usize] + rest;
    }
    values.iter().all(|value| value.is_finite()).then_some(values)
}

/// How likely a choice leaves the component, known values included: what its weights inside do not add up to.
fn leaving(backup: &Backup, range: &Range<usize>, choice: usize) -> f64 {
    let (mut inside, mut rounded) = (Some(Rational::from_integer(0)), 0.0);
    for branch in backup.problem.branches_of(choice) {
        if range.contains(&(backup.problem.targets[branch] as usize)) {
            let weight = backup.problem.weights[branch];
            inside = inside.and_then(|sum| sum.checked_add(&backup.numbers.exact(weight)));
            rounded += backup.below[weight as usize];
        }
    }
    let left = inside.map(|sum| nearest(&(Rational::from_integer(1) - sum)));
    left.unwrap_or(1.0 - rounded).max(0.0)
}

/// Adds `factor` times a row to an older one, without the entries of the two nodes; tells which entries are new.
fn merge(
    old: &[(u32, f64)],
    row: &[(u32, f64)],
    (me, from, factor): (u32, u32, f64),
    out: &mut Vec<(u32, f64)>,
    mut new: impl FnMut(u32),
) {
    out.clear();
    let (mut left, mut right) =
        (old.iter().peekable(), row.iter().filter(|entry| entry.0 != from).peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(&&(to, weight)), other) if other.is_none_or(|&&(next, _)| to <= next) => {
                left.next();
                if to == me {
                    continue;
                }
                let more = right.next_if(|entry| entry.0 == to).map_or(0.0, |entry| factor * entry.1);
                out.push((to, weight + more));
            }
            (_, Some(&&(to, weight))) => {
                right.next();
                new(to);
                out.push((to, factor * weight));
            }
            _ => return,
        }
    }
}

/// What each node says of others, and who says something of each node.
type Entries<'e> = (&'e [Vec<(u32, f64)>], &'e [Vec<u32>]);

/// Puts a node where it belongs among those that wait: those that take the fewest products come first.
fn touch(at: usize, (rows, columns): Entries<'_>, keys: &mut [usize], waiting: &mut BTreeSet<(usize, u32)>) {
    if waiting.remove(&(keys[at], at as u32)) {
        keys[at] = rows[at].len() * columns[at].len();
        waiting.insert((keys[at], at as u32));
    }
}
