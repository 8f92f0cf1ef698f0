//! Exact values over fractions: policy iteration (Howard 1960) from the policy that value iteration found, each policy's
//! equations solved component by component by eliminating unknowns, those with few neighbours first.

use crate::SolveError;
use crate::build::BuildError;
use crate::numbers::Numbers;
use crate::optimistic::Bounds;
use crate::problem::Problem;
use dashu_int::IBig;
use dashu_int::ops::BitTest;
use dashu_ratio::RBig;
use hadal_system::chance::Sense;
use hadal_system::rows::Rational;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A fraction as a large one.
pub fn fraction(value: &Rational) -> RBig {
    RBig::from_parts_signed(IBig::from(*value.numer()), IBig::from(*value.denom()))
}

/// The values of all nodes.
pub fn solve(
    problem: &Problem,
    numbers: &Numbers,
    bounds: &Bounds,
    room: Option<u64>,
) -> Result<Vec<RBig>, SolveError> {
    let fractions: Vec<RBig> = (0..numbers.len()).map(|n| fraction(&numbers.exact(n as u32))).collect();
    let n = problem.nodes();
    let values = vec![RBig::ZERO; n + 1];
    let mut solver = Exactly { problem, numbers: &fractions, values, held: 0, room };
    solver.values[n] = RBig::ONE;
    let mut policy: Vec<u32> = (0..n).map(|node| solver.promising(node, numbers, bounds)).collect();
    for range in problem.component_ranges() {
        let mut left = false;
        loop {
            let evaluated = solver.evaluate(range.clone(), &policy);
            if let Err(error @ SolveError::Build(_)) = evaluated {
                return Err(error);
            }
            if let Err(error) = evaluated {
                // The bounds were too wide to tell choices that never leave: begin with ones that do.
                if std::mem::replace(&mut left, true) {
                    return Err(error);
                }
                leave(problem, range.clone(), &mut policy[range.clone()]);
                continue;
            }
            if !solver.improve(range.clone(), &mut policy) {
                break;
            }
        }
        solver.held += range.map(|node| bytes(&solver.values[node])).sum::<u64>();
    }
    solver.values.truncate(n);
    Ok(solver.values)
}

/// Gives each node of a component a choice that may lead nearer to what lies outside, so that it is left for certain; `policy` is
/// that of the component.
pub(crate) fn leave(problem: &Problem, range: Range<usize>, policy: &mut [u32]) {
    let mut placed = vec![false; range.len()];
    loop {
        let before = placed.clone();
        for node in range.clone().filter(|node| !before[node - range.start]) {
            let nearer = |choice: &usize| {
                problem.branches_of(*choice).any(|branch| {
                    let target = problem.targets[branch] as usize;
                    !range.contains(&target) || before[target - range.start]
                })
            };
            // A branch to a known value 0 is not written down: a choice whose weights do not add up leaves, too.
            if let Some(choice) = problem.choices_of(node).find(nearer) {
                policy[node - range.start] = choice as u32;
                placed[node - range.start] = true;
            }
        }
        if before == placed {
            return;
        }
    }
}

struct Exactly<'a> {
    problem: &'a Problem,
    numbers: &'a [RBig],
    values: Vec<RBig>,
    /// What the values of components that are done take, in bytes, and what all fractions may.
    held: u64,
    room: Option<u64>,
}

/// What a fraction takes, with its place in a list.
pub(crate) fn bytes(fraction: &RBig) -> u64 {
    96 + (fraction.numerator().bit_len() + fraction.denominator().bit_len()) as u64 / 8
}

fn row_bytes(row: &BTreeMap<u32, RBig>, constant: &RBig) -> u64 {
    row.values().chain([constant]).map(bytes).sum()
}

impl Exactly<'_> {
    /// The choice that looks best under the lower bounds.
    fn promising(&self, node: usize, numbers: &Numbers, bounds: &Bounds) -> u32 {
        let mut best: Option<(f64, u32)> = None;
        for choice in self.problem.choices_of(node) {
            let mut sum = numbers.below()[self.problem.reward_of(choice) as usize];
            for branch in self.problem.branches_of(choice) {
                let target = self.problem.targets[branch] as usize;
                sum += numbers.below()[self.problem.weights[branch] as usize] * bounds.lower[target];
            }
            let better = match (best, self.problem.sense) {
                (None, _) => true,
                (Some((old, _)), Sense::Least) => sum < old,
                (Some((old, _)), Sense::Greatest) => sum > old,
            };
            if better {
                best = Some((sum, choice as u32));
            }
        }
        best.map_or(0, |(_, choice)| choice)
    }

    fn value_of(&self, choice: usize) -> RBig {
        let mut sum = self.numbers[self.problem.reward_of(choice) as usize].clone();
        for branch in self.problem.branches_of(choice) {
            let weight = &self.numbers[self.problem.weights[branch] as usize];
            sum += weight * &self.values[self.problem.targets[branch] as usize];
        }
        sum
    }

    /// Takes better choices where there are any.
    fn improve(&self, range: Range<usize>, policy: &mut [u32]) -> bool {
        let mut changed = false;
        for node in range {
            let choices = self.problem.choices_of(node);
            if choices.len() < 2 {
                continue;
            }
            let mut best = self.values[node].clone();
            for choice in choices {
                let value = self.value_of(choice);
                let better = match self.problem.sense {
                    Sense::Least => value < best,
                    Sense::Greatest => value > best,
                };
                if better {
                    best = value;
                    policy[node] = choice as u32;
                    changed = true;
                }
            }
        }
        changed
    }

    /// Solves `x = constant + sum of weight * x` for the nodes of a component under a policy.
    fn evaluate(&mut self, range: Range<usize>, policy: &[u32]) -> Result<(), SolveError> {
        let size = range.len();
        let mut rows: Vec<BTreeMap<u32, RBig>> = vec![BTreeMap::new(); size];
        let mut columns: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); size];
        let mut constants: Vec<RBig> = Vec::with_capacity(size);
        for (at, node) in range.clone().enumerate() {
            let choice = policy[node] as usize;
            let mut constant = self.numbers[self.problem.reward_of(choice) as usize].clone();
            for branch in self.problem.branches_of(choice) {
                let weight = &self.numbers[self.problem.weights[branch] as usize];
                let target = self.problem.targets[branch] as usize;
                if range.contains(&target) {
                    let to = (target - range.start) as u32;
                    *rows[at].entry(to).or_insert(RBig::ZERO) += weight;
                    columns[to as usize].insert(at as u32);
                } else {
                    constant += weight * &self.values[target];
                }
            }
            constants.push(constant);
        }
        let mut taken: Vec<u64> = rows.iter().zip(&constants).map(|(r, c)| row_bytes(r, c)).collect();
        let mut held = self.held + taken.iter().sum::<u64>();
        let mut queue = Queue::new(&rows, &columns);
        let mut order = Vec::with_capacity(size);
        while let Some(at) = queue.pop() {
            order.push(at);
            let me = at as usize;
            if let Some(stay) = rows[me].remove(&at) {
                columns[me].remove(&at);
                let leave = RBig::ONE - stay;
                if leave == RBig::ZERO {
                    return Err(SolveError::Singular(size));
                }
                constants[me] = &constants[me] / &leave;
                rows[me].values_mut().for_each(|weight| *weight = &*weight / &leave);
            }
            let row = std::mem::take(&mut rows[me]);
            for from in std::mem::take(&mut columns[me]) {
                let Some(factor) = rows[from as usize].remove(&at) else { continue };
                let more = &factor * &constants[me];
                constants[from as usize] += more;
                for (&to, weight) in &row {
                    *rows[from as usize].entry(to).or_insert(RBig::ZERO) += &factor * weight;
                    columns[to as usize].insert(from);
                }
                queue.update(from, &rows, &columns);
                let now = row_bytes(&rows[from as usize], &constants[from as usize]);
                held = held + now - std::mem::replace(&mut taken[from as usize], now);
            }
            if let Some(limit) = self.room.filter(|&room| held > room) {
                return Err(BuildError::Memory { limit, states: self.problem.nodes() as u64 }.into());
            }
            for &to in row.keys() {
                columns[to as usize].remove(&at);
                queue.update(to, &rows, &columns);
            }
            rows[me] = row;
        }
        for &at in order.iter().rev() {
            let mut value = constants[at as usize].clone();
            for (&to, weight) in &rows[at as usize] {
                value += weight * &self.values[range.start + to as usize];
            }
            self.values[range.start + at as usize] = value;
        }
        Ok(())
    }
}

/// Which unknown is eliminated next: the one that takes the fewest products.
struct Queue {
    keys: Vec<usize>,
    waiting: BTreeSet<(usize, u32)>,
}

impl Queue {
    fn new(rows: &[BTreeMap<u32, RBig>], columns: &[BTreeSet<u32>]) -> Self {
        let keys: Vec<usize> = rows.iter().zip(columns).map(|(r, c)| r.len() * c.len()).collect();
        let waiting = keys.iter().enumerate().map(|(n, &key)| (key, n as u32)).collect();
        Queue { keys, waiting }
    }

    fn pop(&mut self) -> Option<u32> {
        self.waiting.pop_first().map(|(_, at)| at)
    }

    fn update(&mut self, at: u32, rows: &[BTreeMap<u32, RBig>], columns: &[BTreeSet<u32>]) {
        let key = &mut self.keys[at as usize];
        if self.waiting.remove(&(*key, at)) {
            *key = rows[at as usize].len() * columns[at as usize].len();
            self.waiting.insert((*key, at));
        }
    }
}
