//! Orders in which abstractions take what they need of the costs, and the tables that come of them: saturated cost
//! partitioning with diverse orders (Seipp, Keller and Helmert 2020, "Saturated cost partitioning for optimal classical
//! planning"), greedy by what an abstraction says of a sampled state for what it takes from others.

use super::Abstraction;
use crate::plan::additive::{INFINITE, add};
use crate::plan::queue::Queue;
use hadal_exec::rows::{Firing, RowSpace};
use hadal_system::random::Xorshift;

/// States that orders are judged by.
const SAMPLES: usize = 200;
/// The longest walk to a sampled state.
const LONGEST: u32 = 400;
/// Orders in a row that are no better before the search for orders ends.
const PATIENCE: usize = 40;

/// Tables of all orders: more would make estimates slow.
pub(super) const MOST_TABLES: usize = 6000;

/// One order's tables: abstractions with the distances that their part of the costs gives.
pub(super) type Tables = Vec<(u32, Vec<u32>)>;

/// Abstractions that share the costs of rows, and what is known of each by itself.
pub(super) struct Dealer {
    pub(super) abstractions: Vec<Abstraction>,
    costs: Vec<u32>,
    /// Distances where an abstraction has all of the costs.
    whole: Vec<Vec<u32>>,
    /// How much of what others need each abstraction takes.
    stolen: Vec<f64>,
    /// Transitions and states that one order looks at.
    pub(super) pass: u64,
}

impl Dealer {
    pub(super) fn new(abstractions: Vec<Abstraction>, costs: Vec<u32>) -> Self {
        let mut queue = Queue::default();
        let whole: Vec<Vec<u32>> = abstractions.iter().map(|one| one.distances(&costs, &mut queue)).collect();
        let stolen = stolen(&abstractions, &whole, &costs);
        let pass: u64 = abstractions.iter().map(|one| one.transitions() as u64 + u64::from(one.states)).sum();
        let pass = pass + costs.len() as u64;
        Dealer { abstractions, costs, whole, stolen, pass }
    }

    /// Keeps of the abstractions how they map states, and nothing else.
    pub(super) fn forget(&mut self) {
        self.whole = Vec::new();
        for one in &mut self.abstractions {
            one.transitions = Vec::new();
            one.classes = Vec::new();
            one.begins = Vec::new();
            one.goals = Vec::new();
        }
    }

    /// Whether nothing can be dealt out any more.
    pub(super) fn is_forgotten(&self) -> bool {
        self.whole.len() != self.abstractions.len()
    }

    /// Bytes of the abstractions and of what is known of them.
    pub(super) fn bytes(&self) -> u64 {
        let whole: usize = self.whole.iter().map(Vec::len).sum();
        self.abstractions.iter().map(Abstraction::bytes).sum::<u64>() + whole as u64 * 4
    }

    /// Deals out the costs in an order that is greedy for a state, given by its abstract states.
    pub(super) fn deal(&self, states: &[u32], queue: &mut Queue) -> Tables {
        let mut order: Vec<u32> = (0..self.abstractions.len() as u32).collect();
        let score = |&one: &u32| {
            let value = self.whole[one as usize][states[one as usize] as usize];
            f64::from(if value == INFINITE { u32::MAX / 2 } else { value })
                / (self.stolen[one as usize] + 1.0)
        };
        order.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
        partition(&self.abstractions, &order, &self.costs, queue)
    }

    fn abstract_states(&self, state: &[u64]) -> Vec<u32> {
        self.abstractions.iter().map(|one| one.mapping.of(state)).collect()
    }

    /// Finds orders, within bytes of tables and transitions looked at.
    pub(super) fn orders(&self, space: &RowSpace, (bytes, work): (u64, u64)) -> Vec<Tables> {
        let mut queue = Queue::default();
        let (costs, whole) = (&self.costs, &self.whole);
        let start = self.abstract_states(space.initial());
        let first = whole.iter().zip(&start).map(|(table, &at)| table[at as usize]).max().unwrap_or(0);
        let mut samples = vec![start];
        if first != INFINITE {
            let dead = |state: &[u64]| {
                let tables = whole.iter().zip(&self.abstractions);
                tables.into_iter().any(|(table, one)| table[one.mapping.of(state) as usize] == INFINITE)
            };
            let mean =
                (costs.iter().map(|&cost| u64::from(cost)).sum::<u64>() / costs.len().max(1) as u64).max(1);
            let length = (2 * u64::from(first) / mean).clamp(8, u64::from(LONGEST)) as u32;
            samples.extend(walks(space, length, dead).iter().map(|state| self.abstract_states(state)));
        }
        let mut best = vec![0u32; samples.len()];
        let mut kept: Vec<Tables> = Vec::new();
        let (mut held, mut idle) = (0, 0);
        for (at, sample) in samples.iter().enumerate() {
            if !kept.is_empty() && (self.pass * (at as u64 + 1) > work || idle > PATIENCE) {
                break;
            }
            let tables = self.deal(sample, &mut queue);
            let size = table_bytes(&tables);
            let count: usize = kept.iter().map(Vec::len).sum();
            if !kept.is_empty() && (held + size > bytes || count + tables.len() > MOST_TABLES) {
                break;
            }
            let mut better = false;
            for (best, sample) in best.iter_mut().zip(&samples) {
                let sum = sum(&tables, sample);
                if sum > *best {
                    *best = sum;
                    better = true;
                }
            }
            idle = if better { 0 } else { idle + 1 };
            if better || kept.is_empty() {
                held += size;
                kept.push(tables);
            }
        }
        kept
    }
}

/// Bytes of the tables of an order.
pub(super) fn table_bytes(tables: &Tables) -> u64 {
    tables.iter().map(|(_, table)| table.len() as u64 * 4).sum()
}

/// What the tables of an order say of a state, given by its abstract states.
pub(super) fn sum(tables: &Tables, states: &[u32]) -> u32 {
    tables.iter().fold(0, |sum, (one, table)| add(sum, table[states[*one as usize] as usize]))
}

/// Deals out the costs in an order.
fn partition(abstractions: &[Abstraction], order: &[u32], costs: &[u32], queue: &mut Queue) -> Tables {
    let mut left = costs.to_vec();
    let mut tables = Tables::new();
    for &one in order {
        let abstraction = &abstractions[one as usize];
        let table = abstraction.distances(&left, queue);
        if table.iter().any(|&distance| distance != 0) {
            abstraction.use_up(&table, &mut left);
            tables.push((one, table));
        }
    }
    tables
}

/// How much of what others need each abstraction takes, by itself.
fn stolen(abstractions: &[Abstraction], whole: &[Vec<u32>], costs: &[u32]) -> Vec<f64> {
    let mut needed = vec![0.0; costs.len()];
    for (one, table) in abstractions.iter().zip(whole) {
        one.each_use(table, |row, part| needed[row as usize] += f64::from(part));
    }
    let taken = |(one, table): (&Abstraction, &Vec<u32>)| {
        let mut sum = 0.0;
        one.each_use(table, |row, part| {
            let part = f64::from(part);
            let spare = f64::from(costs[row as usize]) - (needed[row as usize] - part);
            sum += (part - spare.max(0.0)).max(0.0);
        });
        sum
    };
    abstractions.iter().zip(whole).map(taken).collect()
}

/// States at the ends of random walks, always the same ones. Walks begin again where they are `dead`.
pub(super) fn walks(space: &RowSpace, length: u32, dead: impl Fn(&[u64]) -> bool) -> Vec<Vec<u64>> {
    let mut worker = space.row_worker();
    let mut dice = Xorshift::golden();
    let mut roll = move |bound: u32| (dice.bits() % u64::from(bound.max(1))) as u32;
    let mut rows = Vec::new();
    let mut found = Vec::new();
    for _ in 0..SAMPLES {
        let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
        for _ in 0..roll(length) + 1 {
            worker.applicable(&state, &mut rows);
            if rows.is_empty() {
                break;
            }
            let row = rows[roll(rows.len() as u32) as usize];
            if matches!(worker.fire(&state, row, &mut next), Firing::Reached(_)) {
                std::mem::swap(&mut state, &mut next);
            }
            if dead(&state) {
                state.copy_from_slice(space.initial());
            }
        }
        found.push(state);
    }
    found
}
