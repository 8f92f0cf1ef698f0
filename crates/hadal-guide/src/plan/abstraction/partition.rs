//! Sums over abstractions among which the costs of rows are dealt out, the largest over several ways to do so.
//!
//! Admissible: along each way, no row counts more than it costs. Consistent and safe, as distances in abstractions are.

use super::collect::{Allowance, Source, collect};
use super::fence::Fence;
use super::order::orders;
use super::{Mapping, additive_sum};
use hadal_exec::rows::RowSpace;
use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};

/// Saturated cost partitioning over abstractions of a ground task.
pub struct Partitioned {
    name: &'static str,
    /// How abstractions that have a table map states.
    mappings: Vec<Mapping>,
    /// For each order, its tables: which mapping, and where its distances begin.
    orders: Vec<Vec<(u32, u32)>>,
    distances: Vec<u32>,
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
        let tables = orders(space, &abstractions, &costs, (allowance.bytes / 2, allowance.work / 2));
        let mut number = vec![u32::MAX; abstractions.len()];
        let mut made = Partitioned {
            name: match source {
                Source::Patterns => "pdb",
                Source::Cartesian => "cartesian",
                Source::Climbed => "ipdb",
                Source::Both => "scp",
                Source::Merged => "merge-and-shrink",
            },
            mappings: Vec::new(),
            orders: Vec::new(),
            distances: Vec::new(),
        };
        for tables in tables {
            let mut order = Vec::with_capacity(tables.len());
            for (one, table) in tables {
                if number[one as usize] == u32::MAX {
                    number[one as usize] = made.mappings.len() as u32;
                    made.mappings.push(abstractions[one as usize].mapping.clone());
                }
                order.push((number[one as usize], made.distances.len() as u32));
                made.distances.extend_from_slice(&table);
            }
            made.orders.push(order);
        }
        made
    }

    /// Something that estimates, for callers that know what they have.
    pub fn sums(&self) -> PartitionedEstimator<'_> {
        PartitionedEstimator { guide: self, states: vec![0; self.mappings.len()], work: 0 }
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> u64 {
        self.distances.len() as u64 * 4 + self.mappings.iter().map(Mapping::bytes).sum::<u64>()
    }

    /// How many abstractions have a part of the costs in some order, and how many orders there are.
    pub fn size(&self) -> (usize, usize) {
        (self.mappings.len(), self.orders.len())
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

/// Looks up sums of distances.
pub struct PartitionedEstimator<'g> {
    guide: &'g Partitioned,
    states: Vec<u32>,
    work: u64,
}

impl PartitionedEstimator<'_> {
    /// The largest sum for a state.
    pub fn cost(&mut self, state: &[u64]) -> u32 {
        let guide = self.guide;
        for (at, mapping) in self.states.iter_mut().zip(&guide.mappings) {
            *at = mapping.of(state);
        }
        let mut best = 0;
        for order in &guide.orders {
            let found = order
                .iter()
                .map(|&(mapping, begin)| guide.distances[(begin + self.states[mapping as usize]) as usize]);
            best = additive_sum(found).max(best);
            self.work += order.len() as u64;
        }
        self.work += 3 * guide.mappings.len() as u64;
        best
    }
}

impl Estimator for PartitionedEstimator<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        Distance(self.cost(state))
    }

    fn work(&self) -> u64 {
        self.work
    }
}
