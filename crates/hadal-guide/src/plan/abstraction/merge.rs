//! Merge-and-shrink: which factors are merged when. Pairs whose common rows lead near the goal come first (the DFP order:
//! Sievers, Wehrle and Helmert 2014, "Generalized label reduction for merge-and-shrink heuristics"), and factors are shrunk
//! by bisimulation before each merge. What is left when nothing more fits shares the costs as other abstractions do.

use super::Abstraction;
use super::factor::{DEAD, Factor, IDLE};
use super::fence::Fence;
use crate::plan::additive::INFINITE;
use hadal_exec::rows::Place;
use std::collections::HashMap;

/// States of a factor before a merge.
const MOST_STATES: u32 = 20_000;
/// Transitions of a factor.
const MOST_TRANSITIONS: usize = 2_000_000;

/// How a factor's states follow from values: a table for a variable, or one for a pair of what two parts say.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Leaf { place: Place, table: Vec<u32> },
    Pair { left: Box<Tree>, right: Box<Tree>, width: u32, table: Vec<u32> },
}

impl Tree {
    pub(super) fn leaf(place: Place, size: u32) -> Tree {
        Tree::Leaf { place, table: (0..size).collect() }
    }

    /// The pair of what two trees say; the second has `width` states.
    pub(super) fn merged(self, right: Tree, width: u32) -> Tree {
        let left = self.states();
        let table = (0..left * width).collect();
        Tree::Pair { left: Box::new(self), right: Box::new(right), width, table }
    }

    fn table(&self) -> &[u32] {
        match self {
            Tree::Leaf { table, .. } | Tree::Pair { table, .. } => table,
        }
    }

    fn states(&self) -> u32 {
        self.table().iter().filter(|&&state| state != DEAD).max().map_or(0, |state| state + 1)
    }

    pub(super) fn renumber(&mut self, place: &[u32]) {
        let (Tree::Leaf { table, .. } | Tree::Pair { table, .. }) = self;
        for state in table.iter_mut().filter(|state| **state != DEAD) {
            *state = place[*state as usize];
        }
    }

    /// Whether some values lead to no state.
    pub(super) fn may_be_dead(&self) -> bool {
        self.table().contains(&DEAD)
            || matches!(self, Tree::Pair { left, right, .. } if left.may_be_dead() || right.may_be_dead())
    }

    /// The state for packed values, or [`DEAD`].
    pub(super) fn of(&self, state: &[u64]) -> u32 {
        match self {
            Tree::Leaf { place, table } => table[place.get(state) as usize],
            Tree::Pair { left, right, width, table } => match (left.of(state), right.of(state)) {
                (DEAD, _) | (_, DEAD) => DEAD,
                (left, right) => table[(left * width + right) as usize],
            },
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        let own = self.table().len() as u64 * 4 + 64;
        match self {
            Tree::Leaf { .. } => own,
            Tree::Pair { left, right, .. } => own + left.bytes() + right.bytes(),
        }
    }
}

/// Merges and shrinks the variables of a task, within bytes of transitions.
pub(super) fn merge_and_shrink(fence: &Fence, costs: &[u32], (bytes, work): (u64, u64)) -> Vec<Abstraction> {
    let seen: Vec<u32> = (0..fence.sizes.len() as u32).filter(|&variable| fence.is_seen(variable)).collect();
    if (seen.len() as u64).saturating_mul(costs.len() as u64) > work {
        return Vec::new();
    }
    let mut factors: Vec<Factor> =
        seen.into_iter().map(|variable| Factor::atomic(fence, variable, costs)).collect();
    let most = MOST_TRANSITIONS.min((bytes / 32) as usize);
    let mut left = work;
    // Pairs whose product is too large, until the next merge.
    let mut refused: Vec<(u32, u32)> = Vec::new();
    while let Some((one, two)) = choose(&factors, &refused) {
        let (at, other) = (one as usize, two as usize);
        let looked_at = (costs.len() * factors.len()) as u64;
        let Some(rest) = left.checked_sub(looked_at) else { break };
        left = rest;
        let limits = [at, other].map(|which| balanced(&factors, at + other - which));
        factors[at].shrink(limits[0]);
        factors[other].shrink(limits[1]);
        let states = u64::from(factors[at].states) * u64::from(factors[other].states);
        let size = factors[at].product_size(&factors[other]);
        if states > u64::from(MOST_STATES) || size > most {
            refused.push((one, two));
            continue;
        }
        let Some(rest) = left.checked_sub(size as u64 * 4) else { break };
        left = rest;
        // The second stands behind the first.
        let second = factors.swap_remove(other);
        let merged = factors.swap_remove(at).merge(&second, costs);
        factors.push(merged);
        refused.clear();
    }
    for factor in &mut factors {
        factor.shrink(MOST_STATES);
    }
    factors.into_iter().filter_map(Factor::finish).collect()
}

/// How many states a factor may have before it is merged with another: both as many, or what the smaller leaves.
fn balanced(factors: &[Factor], other: usize) -> u32 {
    MOST_STATES / factors[other].states.clamp(1, MOST_STATES.isqrt())
}

/// The pair of factors to merge next: that whose common rows come nearest to the goal.
fn choose(factors: &[Factor], refused: &[(u32, u32)]) -> Option<(u32, u32)> {
    // For each factor and class, the least distance that its transitions lead to.
    let ranks: Vec<Vec<u32>> = factors
        .iter()
        .map(|factor| {
            let nearest = |class: &Vec<(u32, u32)>| {
                class.iter().map(|&(_, to)| factor.distances[to as usize]).min().unwrap_or(INFINITE)
            };
            factor.classes.iter().map(nearest).collect()
        })
        .collect();
    let mut weights: HashMap<(u32, u32), u32> = HashMap::new();
    let rows = factors.first().map_or(0, |factor| factor.class_of.len());
    let mut touched: Vec<(u32, u32)> = Vec::new();
    for row in 0..rows {
        touched.clear();
        for (factor, number) in factors.iter().zip(0u32..) {
            let class = factor.class_of[row];
            if class != IDLE {
                touched.push((number, ranks[number as usize][class as usize]));
            }
        }
        for (at, &(one, near)) in touched.iter().enumerate() {
            for &(two, other) in &touched[at + 1..] {
                let weight = weights.entry((one, two)).or_insert(INFINITE);
                *weight = near.max(other).min(*weight);
            }
        }
    }
    let size = |&(one, two): &(u32, u32)| {
        u64::from(factors[one as usize].states) * u64::from(factors[two as usize].states)
    };
    let open = weights.into_iter().filter(|(pair, _)| !refused.contains(pair));
    open.min_by_key(|(pair, weight)| (*weight, size(pair), *pair)).map(|(pair, _)| pair)
}
