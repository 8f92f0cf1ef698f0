//! Sums over abstractions among which the costs of rows are dealt out, the largest over several ways to do so.
//!
//! Admissible: along each way, no row counts more than it costs. Consistent and safe, as distances in abstractions are.
//! During a search in RAM, costs are dealt out anew for states on the way (Seipp 2021, "Online saturated cost
//! partitioning for classical planning"): the sums of later states may be larger then, and never too large.

use super::collect::{Allowance, Source, collect};
use super::fence::Fence;
use super::order::{Dealer, MOST_TABLES, Tables, sum, table_bytes};
use super::{Mapping, additive_sum};
use crate::plan::queue::Queue;
use hadal_exec::rows::RowSpace;
use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};

/// Saturated cost partitioning over abstractions of a ground task.
pub struct Partitioned {
    name: &'static str,
    dealer: Dealer,
    /// Ways that were found before the search.
    ways: Ways,
    /// What further ways may take.
    bytes: u64,
}

/// Ways to deal out costs.
#[derive(Clone, Default)]
struct Ways {
    /// For each, its tables: which abstraction, and where its distances begin.
    orders: Vec<Vec<(u32, u32)>>,
    distances: Vec<u32>,
    /// Abstractions that have a table.
    used: Vec<u32>,
    tables: usize,
}

impl Ways {
    fn add(&mut self, tables: &Tables) {
        let mut order = Vec::with_capacity(tables.len());
        for (one, table) in tables {
            order.push((*one, self.distances.len() as u32));
            self.distances.extend_from_slice(table);
            if let Err(at) = self.used.binary_search(one) {
                self.used.insert(at, *one);
            }
        }
        self.tables += order.len();
        self.orders.push(order);
    }

    fn bytes(&self) -> u64 {
        (self.distances.capacity() * 4 + self.tables * 8) as u64
    }

    /// The largest sum for the state whose abstract states these are.
    fn largest(&self, states: &[u32]) -> u32 {
        let sums = self.orders.iter().map(|order| {
            let distances =
                order.iter().map(|&(one, begin)| self.distances[(begin + states[one as usize]) as usize]);
            additive_sum(distances)
        });
        sums.max().unwrap_or(0)
    }
}

impl Partitioned {
    /// Builds abstractions of the task of `space` and deals out costs among them.
    pub fn new(space: &RowSpace, source: Source, allowance: Allowance) -> Self {
        let fence = Fence::new(space);
        let costs: Vec<u32> = (0..space.task().rows.len() as u32)
            // A cost that depends on the state may be nothing.
            .map(|row| space.fixed_cost(row).unwrap_or(0))
            .collect();
        let abstractions = collect(&fence, source, &costs, allowance);
        let dealer = Dealer::new(abstractions, costs);
        let mut ways = Ways::default();
        for tables in dealer.orders(space, (allowance.bytes / 2, allowance.work / 2)) {
            ways.add(&tables);
        }
        let name = match source {
            Source::Patterns => "pdb",
            Source::Cartesian => "cartesian",
            Source::Climbed => "ipdb",
            Source::Both => "scp",
            Source::Merged => "merge-and-shrink",
        };
        Partitioned { name, dealer, bytes: allowance.bytes / 4, ways }
    }

    /// Something that estimates, always alike.
    pub fn sums(&self) -> PartitionedEstimator<'_> {
        PartitionedEstimator {
            guide: self,
            states: vec![0; self.dealer.abstractions.len()],
            more: None,
            estimates: 0,
            work: 0,
        }
    }

    /// Something that estimates, and deals out costs anew for some of the states that it estimates: for searches that
    /// take inconsistent estimates.
    pub fn improving_sums(&self) -> PartitionedEstimator<'_> {
        let more = (!self.dealer.is_forgotten()).then(More::default);
        PartitionedEstimator { more, ..self.sums() }
    }

    /// Forgets what only [`Partitioned::improving_sums`] needs; they improve no more.
    pub fn settle(&mut self) {
        self.dealer.forget();
    }

    /// Bytes of its abstractions and tables.
    pub fn bytes(&self) -> u64 {
        self.dealer.bytes() + self.ways.bytes()
    }

    /// How many abstractions have a part of the costs in some order, and how many orders there are.
    pub fn size(&self) -> (usize, usize) {
        (self.ways.used.len(), self.ways.orders.len())
    }
}

impl Guide for Partitioned {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: true, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(self.sums())
    }
}

/// Dealing out costs anew takes one part in so many of the work of a search.
const SHARE: u64 = 5;
/// What looking at a transition counts, in about nanoseconds.
const LOOK: u64 = 6;
/// Estimates for which costs are dealt out anew are at least so far apart.
const APART: u64 = 10;
/// Ways that did not win once in so many estimates go when there are too many.
const JUDGED: u64 = 2_000;

/// Ways that a search found on its way.
#[derive(Default)]
struct More {
    ways: Ways,
    /// How often each of them was the largest alone.
    wins: Vec<u32>,
    queue: Queue,
    work: u64,
    /// The estimates at which costs were dealt out, and ways were judged, last.
    last: u64,
    judged: u64,
}

impl More {
    fn largest(&mut self, states: &[u32], least: u32) -> u32 {
        let mut best = least;
        let mut winner = None;
        for (at, order) in self.ways.orders.iter().enumerate() {
            let of =
                |&(one, begin): &(u32, u32)| self.ways.distances[(begin + states[one as usize]) as usize];
            let sum = additive_sum(order.iter().map(of));
            if sum > best {
                best = sum;
                winner = Some(at);
            }
        }
        if let Some(winner) = winner {
            self.wins[winner] += 1;
        }
        best
    }

    /// Drops ways that never won since they were judged last.
    fn judge(&mut self) {
        let before = std::mem::take(&mut self.ways);
        let ends = before.orders.iter().skip(1).map(|order| order.first().map_or(0, |&(_, begin)| begin));
        let ends = ends.chain([before.distances.len() as u32]);
        for ((order, end), wins) in before.orders.iter().zip(ends).zip(std::mem::take(&mut self.wins)) {
            if wins == 0 {
                continue;
            }
            let stops = order.iter().skip(1).map(|&(_, begin)| begin).chain([end]);
            let tables = order.iter().zip(stops);
            let cut = |(&(one, begin), stop): (&(u32, u32), u32)| {
                (one, before.distances[begin as usize..stop as usize].to_vec())
            };
            self.ways.add(&tables.map(cut).collect());
            self.wins.push(0);
        }
    }
}

/// Looks up sums of distances.
pub struct PartitionedEstimator<'g> {
    guide: &'g Partitioned,
    /// The abstract state in every abstraction that has a table.
    states: Vec<u32>,
    more: Option<More>,
    estimates: u64,
    work: u64,
}

impl PartitionedEstimator<'_> {
    /// The largest sum for a state.
    pub fn cost(&mut self, state: &[u64]) -> u32 {
        let guide = self.guide;
        let mapping = |one: u32| -> &Mapping { &guide.dealer.abstractions[one as usize].mapping };
        for &one in &guide.ways.used {
            self.states[one as usize] = mapping(one).of(state);
        }
        let mut best = guide.ways.largest(&self.states);
        self.work += (guide.ways.tables + 3 * guide.ways.used.len()) as u64;
        self.estimates += 1;
        let Some(more) = &mut self.more else { return best };
        for &one in &more.ways.used {
            self.states[one as usize] = mapping(one).of(state);
        }
        best = more.largest(&self.states, best);
        self.work += (more.ways.tables + 3 * more.ways.used.len()) as u64;
        let pass = guide.dealer.pass * LOOK;
        let spent = more.work + pass;
        let due = self.estimates >= more.last + APART && spent * SHARE <= self.work + spent;
        if !due || best == super::INFINITE {
            return best;
        }
        more.last = self.estimates;
        more.work = spent;
        for (at, one) in self.states.iter_mut().zip(&guide.dealer.abstractions) {
            *at = one.mapping.of(state);
        }
        let tables = guide.dealer.deal(&self.states, &mut more.queue);
        let found = sum(&tables, &self.states);
        if found <= best {
            return best;
        }
        let full = |more: &More| {
            more.ways.tables + tables.len() > MOST_TABLES
                || more.ways.bytes() + table_bytes(&tables) > guide.bytes
        };
        if full(more) && self.estimates >= more.judged + JUDGED {
            more.judge();
            more.judged = self.estimates;
        }
        if !full(more) {
            more.ways.add(&tables);
            more.wins.push(1);
        }
        found
    }

    /// Bytes of what was found on the way.
    pub fn bytes(&self) -> u64 {
        self.more.as_ref().map_or(0, |more| more.ways.bytes())
    }

    /// How many ways were found on the way.
    pub fn found(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.ways.orders.len())
    }
}

impl Estimator for PartitionedEstimator<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        Distance(self.cost(state))
    }

    fn work(&self) -> u64 {
        self.work + self.more.as_ref().map_or(0, |more| more.work)
    }
}
