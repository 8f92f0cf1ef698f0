//! h^add (Bonet and Geffner 2001; Wehrle 2011, sec. 2.6): as h^L, but what a row needs is paid for one by one. Also
//! h^FF with the supporters of h^add.

use super::network::{LINK_WORK, NONE, Network};
use super::{Masks, label_of};
use crate::task::{FastMap, NO_NUMBER};
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator};
use std::cell::OnceCell;

/// What is made of the costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The cost of what is looked for.
    Sum,
    /// The number of different transitions that the cheapest supporters need.
    Trace,
}

/// Costs above this are this.
const MOST: u32 = 100_000;
const UNREACHED: u32 = u32::MAX;

pub struct Sums<'g> {
    network: &'g Network,
    measure: Measure,
    masks: Masks,
    cost: Vec<u32>,
    supporter: Vec<u32>,
    reached_by: Vec<u32>,
    waits: Vec<u32>,
    /// What each row's needs cost so far.
    sums: Vec<u32>,
    /// Facts by cost; a fact may stand in several, the least counts.
    buckets: Vec<Vec<u32>>,
    /// Buckets from this one on are empty.
    used: usize,
    waiting: usize,
    /// Links followed so far, in all estimates.
    followed: u64,
    /// The transitions disabled in the last estimate, and whether it was finite.
    mask: Option<Mask>,
    is_finite: bool,
    /// The transitions behind it, worked out where they are asked for.
    labels: OnceCell<(Vec<Label>, Vec<Label>)>,
}

impl<'g> Sums<'g> {
    pub fn new(network: &'g Network, measure: Measure) -> Self {
        Sums {
            network,
            measure,
            masks: Masks::default(),
            cost: vec![UNREACHED; network.facts],
            supporter: vec![NONE; network.facts],
            reached_by: vec![NONE; network.atoms],
            waits: network.needs.clone(),
            sums: vec![0; network.needs.len()],
            buckets: Vec::new(),
            used: 0,
            waiting: 0,
            followed: 0,
            mask: None,
            is_finite: false,
            labels: OnceCell::new(),
        }
    }

    fn offer(&mut self, fact: u32, cost: u32, row: u32) {
        if cost < self.cost[fact as usize] {
            self.cost[fact as usize] = cost;
            self.supporter[fact as usize] = row;
            if self.buckets.len() <= cost as usize {
                self.buckets.resize(cost as usize + 1, Vec::new());
            }
            self.buckets[cost as usize].push(fact);
            self.used = self.used.max(cost as usize + 1);
            self.waiting += 1;
        }
    }

    fn fire(&mut self, row: u32) {
        let network = self.network;
        let price = u32::from(row < network.first_goal_row);
        let cost = (self.sums[row as usize] + price).min(MOST);
        let facts = network.links.facts_of_row.get(row);
        self.followed += facts.len() as u64;
        for &fact in facts {
            self.offer(fact, cost, row);
        }
    }

    fn sweep(&mut self, state: &[u64], off: Option<&Mask>) -> Option<u32> {
        let network = self.network;
        self.cost.fill(UNREACHED);
        self.reached_by.fill(NONE);
        self.waits.copy_from_slice(&network.needs);
        self.sums.fill(0);
        self.buckets[..self.used].iter_mut().for_each(Vec::clear);
        self.used = 0;
        self.waiting = 0;
        self.followed += network.setup_work();
        if let Some(off) = off {
            for &row in self.masks.switched_off(network, off) {
                self.waits[row as usize] = u32::MAX;
            }
        }
        for (var, variable) in network.variables.iter().enumerate() {
            let base = network.bases[var];
            variable.each_number(state, |n| {
                if n == NO_NUMBER {
                    (base..network.bases[var + 1]).for_each(|fact| self.offer(fact, 0, NONE));
                } else {
                    self.offer(base + u32::from(n), 0, NONE);
                }
            });
        }
        for &row in &network.free {
            if self.waits[row as usize] == 0 {
                self.fire(row);
            }
        }
        let mut cost = 0;
        while self.waiting > 0 {
            let Some(fact) = self.buckets[cost as usize].pop() else {
                cost += 1;
                continue;
            };
            self.waiting -= 1;
            if self.cost[fact as usize] != cost {
                continue;
            }
            if fact == network.goal {
                return Some(cost);
            }
            for &atom in network.links.atoms_of_fact.get(fact) {
                if self.reached_by[atom as usize] != NONE {
                    continue;
                }
                self.reached_by[atom as usize] = fact;
                let rows = network.links.rows_of_atom.get(atom);
                self.followed += rows.len() as u64 + 2;
                for &row in rows {
                    let at = row as usize;
                    self.sums[at] = (self.sums[at] + cost).min(MOST);
                    self.waits[at] = self.waits[at].wrapping_sub(1);
                    if self.waits[at] == 0 {
                        self.fire(row);
                    }
                }
            }
        }
        None
    }

    /// The rows behind the goal's cost, each once.
    fn kept(&self) -> Vec<u32> {
        let network = self.network;
        let mut seen = FastMap::default();
        let (mut stack, mut kept) = (vec![network.goal], Vec::new());
        while let Some(fact) = stack.pop() {
            let row = self.supporter[fact as usize];
            if row == NONE || seen.insert(fact, ()).is_some() {
                continue;
            }
            let atoms = network.links.atoms_of_row.get(row);
            stack.extend(atoms.iter().map(|&atom| self.reached_by[atom as usize]));
            if network.operator_of[row as usize] != NONE {
                kept.push(row);
            }
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// The transitions that the last estimate rests on, and those of them that can fire now.
    fn labels(&self) -> &(Vec<Label>, Vec<Label>) {
        self.labels.get_or_init(|| {
            if !self.is_finite {
                return (Vec::new(), Vec::new());
            }
            let network = self.network;
            let label = |&row: &u32| {
                let operator = network.operator_of[row as usize];
                label_of(&network.labels[operator as usize], self.mask.as_ref())
            };
            let now = |row: &&u32| {
                let atoms = network.links.atoms_of_row.get(**row);
                atoms.iter().all(|&atom| self.cost[self.reached_by[atom as usize] as usize] == 0)
            };
            let sorted = |mut labels: Vec<Label>| {
                labels.sort_unstable();
                labels.dedup();
                labels
            };
            let kept = self.kept();
            let first = kept.iter().filter(now).filter_map(label).collect();
            (sorted(kept.iter().filter_map(label).collect()), sorted(first))
        })
    }
}

impl Estimator for Sums<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let off = off.filter(|off| !off.is_empty());
        self.labels.take();
        self.mask = off.cloned();
        let cost = self.sweep(state, off);
        self.is_finite = cost.is_some();
        match (cost, self.measure) {
            (None, _) => Distance::INFINITE,
            (Some(cost), Measure::Sum) => Distance(cost),
            (Some(_), Measure::Trace) => Distance(self.kept().len() as u32),
        }
    }

    fn work(&self) -> u64 {
        self.followed * LINK_WORK
    }

    fn supporters(&self) -> Option<&[Label]> {
        Some(&self.labels().0)
    }

    fn preferred(&self) -> &[Label] {
        &self.labels().1
    }
}
