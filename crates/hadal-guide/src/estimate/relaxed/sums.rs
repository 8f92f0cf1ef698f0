//! h^add (Bonet and Geffner 2001; Wehrle 2011, sec. 2.6): as h^L, but what an operator needs is paid for one by one. Also
//! h^FF with the supporters of h^add.

use super::network::{LINK_WORK, NONE, Network};
use super::{Masks, label_of};
use crate::guide::{Distance, Estimator};
use crate::mask::Mask;
use crate::task::NO_NUMBER;
use hadal_system::Label;

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
    /// What each operator's needs cost so far.
    sums: Vec<u32>,
    /// Facts by cost; a fact may stand in several, the least counts.
    buckets: Vec<Vec<u32>>,
    /// Buckets from this one on are empty.
    used: usize,
    waiting: usize,
    /// Links followed so far, in all estimates.
    followed: u64,
    entered: Vec<bool>,
    touched: Vec<u32>,
    supporters: Vec<Label>,
    preferred: Vec<Label>,
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
            entered: vec![false; network.facts],
            touched: Vec::new(),
            supporters: Vec::new(),
            preferred: Vec::new(),
        }
    }

    fn offer(&mut self, fact: u32, cost: u32, operator: u32) {
        if cost < self.cost[fact as usize] {
            self.cost[fact as usize] = cost;
            self.supporter[fact as usize] = operator;
            if self.buckets.len() <= cost as usize {
                self.buckets.resize(cost as usize + 1, Vec::new());
            }
            self.buckets[cost as usize].push(fact);
            self.used = self.used.max(cost as usize + 1);
            self.waiting += 1;
        }
    }

    fn fire(&mut self, operator: u32) {
        let network = self.network;
        let price = u32::from(operator < network.first_goal_operator);
        let cost = (self.sums[operator as usize] + price).min(MOST);
        let facts = network.facts_of_operator.get(operator);
        self.followed += facts.len() as u64;
        for &fact in facts {
            self.offer(fact, cost, operator);
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
            for &operator in self.masks.switched_off(network, off) {
                self.waits[operator as usize] = u32::MAX;
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
        for &operator in &network.free {
            if self.waits[operator as usize] == 0 {
                self.fire(operator);
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
            for &atom in network.atoms_of_fact.get(fact) {
                if self.reached_by[atom as usize] != NONE {
                    continue;
                }
                self.reached_by[atom as usize] = fact;
                let operators = network.operators_of_atom.get(atom);
                self.followed += operators.len() as u64 + 2;
                for &operator in operators {
                    let at = operator as usize;
                    self.sums[at] = (self.sums[at] + cost).min(MOST);
                    self.waits[at] = self.waits[at].wrapping_sub(1);
                    if self.waits[at] == 0 {
                        self.fire(operator);
                    }
                }
            }
        }
        None
    }

    /// The transitions behind the goal's cost, each once; how many ways to fire that are.
    fn extract(&mut self, off: Option<&Mask>) -> u32 {
        let network = self.network;
        let mut stack = vec![network.goal];
        let mut ways = Vec::new();
        self.entered[network.goal as usize] = true;
        self.touched.push(network.goal);
        while let Some(fact) = stack.pop() {
            let operator = self.supporter[fact as usize];
            if operator == NONE {
                continue;
            }
            let atoms = network.atoms_of_operator.get(operator);
            for &atom in atoms {
                let needed = self.reached_by[atom as usize];
                if !std::mem::replace(&mut self.entered[needed as usize], true) {
                    self.touched.push(needed);
                    stack.push(needed);
                }
            }
            let way = network.way_of[operator as usize];
            if way == NONE {
                continue;
            }
            ways.push(operator);
            let Some(label) = label_of(&network.labels[way as usize], off) else { continue };
            self.supporters.push(label);
            if atoms.iter().all(|&atom| self.cost[self.reached_by[atom as usize] as usize] == 0) {
                self.preferred.push(label);
            }
        }
        for fact in self.touched.drain(..) {
            self.entered[fact as usize] = false;
        }
        for labels in [&mut self.supporters, &mut self.preferred] {
            labels.sort_unstable();
            labels.dedup();
        }
        ways.sort_unstable();
        ways.dedup();
        ways.len() as u32
    }
}

impl Estimator for Sums<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let off = off.filter(|off| !off.is_empty());
        self.supporters.clear();
        self.preferred.clear();
        let Some(cost) = self.sweep(state, off) else { return Distance::INFINITE };
        let ways = self.extract(off);
        match self.measure {
            Measure::Sum => Distance(cost),
            Measure::Trace => Distance(ways),
        }
    }

    fn work(&self) -> u64 {
        self.followed * LINK_WORK
    }

    fn supporters(&self) -> Option<&[Label]> {
        Some(&self.supporters)
    }

    fn preferred(&self) -> &[Label] {
        &self.preferred
    }
}
