//! The causal graph heuristic h^CG (Helmert 2004; Wehrle 2011, sec. 5.4): each variable goes its own way to where it is
//! wanted; what a step needs of variables before it in the causal order is paid for by their ways, from where they were left.

use super::order::predecessors;
use super::present::Present;
use super::transitions::{Afters, Transitions};
use super::{Wanted, unmet};
use crate::estimate::plus;
use crate::task::{AbstractTask, Bits, Formula, NO_NUMBER};
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What does not change between states.
pub struct Plan {
    pub transitions: Transitions,
    afters: Afters,
    predecessors: Vec<Vec<u32>>,
    /// First row of each variable: one row per value to start from.
    rows: Vec<u32>,
    /// First cell of each row: one cell per value to reach.
    cells: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl Plan {
    pub fn of(task: &AbstractTask) -> Option<Self> {
        let transitions = Transitions::of(task)?;
        let predecessors = predecessors(task, &transitions);
        let (mut rows, mut cells) = (vec![0], vec![0]);
        for variable in &task.variables {
            let values = variable.values.len() as u32;
            rows.push(rows[rows.len() - 1] + values);
            (0..values).for_each(|_| cells.push(cells[cells.len() - 1] + values));
        }
        Some(Plan { afters: Afters::of(task), transitions, predecessors, rows, cells })
    }
}

pub struct CausalGraph<'g> {
    task: &'g AbstractTask,
    plan: &'g Plan,
    present: Present,
    /// Cost of each cell; valid where its row's stamp is the present one.
    cost: Vec<u32>,
    /// The transition into each cell.
    step: Vec<u32>,
    stamps: Vec<u32>,
}

impl<'g> CausalGraph<'g> {
    pub fn new(task: &'g AbstractTask, plan: &'g Plan) -> Self {
        let cells = plan.cells[plan.cells.len() - 1] as usize;
        CausalGraph {
            task,
            plan,
            present: Present::new(task),
            cost: vec![UNREACHED; cells],
            step: vec![UNREACHED; cells],
            stamps: vec![0; plan.rows[plan.rows.len() - 1] as usize],
        }
    }

    fn row(&self, var: u32, from: u16) -> usize {
        (self.plan.rows[var as usize] + u32::from(from)) as usize
    }

    fn cell(&self, var: u32, from: u16, to: u16) -> usize {
        self.plan.cells[self.row(var, from)] as usize + to as usize
    }

    /// The cheapest of the wanted values from here, and its cost.
    fn nearest(&mut self, var: u32, from: u16, wanted: &Bits) -> (u16, u32) {
        if wanted.contains(from as usize) {
            return (from, 0);
        }
        self.settle(var, from);
        let first = self.cell(var, from, 0);
        let costs = wanted.iter().map(|to| (self.cost[first + to], to as u16));
        costs.min().map_or((from, UNREACHED), |(cost, to)| (to, cost))
    }

    /// Computes what it costs a variable to go from one value to each other.
    fn settle(&mut self, var: u32, from: u16) {
        let row = self.row(var, from);
        if std::mem::replace(&mut self.stamps[row], self.present.stamp) == self.present.stamp {
            return;
        }
        let (task, plan) = (self.task, self.plan);
        let before = &plan.predecessors[var as usize];
        let values = task.variables[var as usize].values.len();
        let first = plan.cells[row] as usize;
        self.cost[first..first + values].fill(UNREACHED);
        self.cost[first + from as usize] = 0;
        // Where each predecessor was left when a value was reached.
        let mut contexts: Vec<Option<Vec<u16>>> = vec![None; values];
        contexts[from as usize] = Some(before.iter().map(|&q| self.present.values[q as usize]).collect());
        let mut settled = vec![false; values];
        let mut open = BinaryHeap::from([Reverse((0u32, from))]);
        while let Some(Reverse((cost, at))) = open.pop() {
            if self.present.is_over() {
                return;
            }
            if std::mem::replace(&mut settled[at as usize], true) {
                continue;
            }
            let Some(context) = contexts[at as usize].clone() else { continue };
            for n in plan.transitions.out_of(var, at as usize) {
                let transition = plan.transitions.get(n);
                self.present.looked_at += 1;
                if settled[transition.to as usize] || self.present.is_off(transition.operator) {
                    continue;
                }
                let Some((price, next)) = self.price(n, before, &context) else { continue };
                let price = price.saturating_add(cost).saturating_add(1).min(UNREACHED - 1);
                let to = first + transition.to as usize;
                if price < self.cost[to] {
                    self.cost[to] = price;
                    self.step[to] = n;
                    contexts[transition.to as usize] = Some(next);
                    open.push(Reverse((price, transition.to)));
                }
            }
        }
    }

    /// What a transition's conditions cost from a context, and the context it leaves.
    fn price(&mut self, transition: u32, before: &[u32], context: &[u16]) -> Option<(u32, Vec<u16>)> {
        let plan = self.plan;
        let transition = plan.transitions.get(transition);
        let mut next = context.to_vec();
        let mut price = 0u32;
        for condition in plan.transitions.conditions(transition) {
            let Ok(at) = before.binary_search(&condition.var) else { continue };
            let (reached, cost) = self.nearest(condition.var, next[at], &condition.values);
            if cost == UNREACHED {
                return None;
            }
            price = price.saturating_add(cost);
            next[at] = reached;
        }
        plan.afters.apply(transition.operator, before, &mut next);
        Some((price, next))
    }

    /// Notes the transitions that the way of a variable to a value begins with.
    fn prefer(&mut self, var: u32, to: u16, depth: usize) {
        let from = self.present.values[var as usize];
        if from == to || depth > self.task.variables.len() {
            return;
        }
        let plan = self.plan;
        let first = self.cell(var, from, 0);
        let mut at = to;
        let mut step = UNREACHED;
        while at != from {
            step = self.step[first + at as usize];
            at = plan.transitions.get(step).from;
        }
        let before = &plan.predecessors[var as usize];
        let transition = plan.transitions.get(step);
        let mut now = true;
        for condition in plan.transitions.conditions(transition) {
            if before.binary_search(&condition.var).is_err() {
                continue;
            }
            let (reached, cost) =
                self.nearest(condition.var, self.present.values[condition.var as usize], &condition.values);
            if cost > 0 && cost != UNREACHED {
                now = false;
                self.prefer(condition.var, reached, depth + 1);
            }
        }
        if now {
            self.present.prefer(&self.task.operators[transition.operator as usize]);
        }
    }

    fn walk(&mut self, formula: &Formula, state: &[u64], wanted: &mut Wanted) -> Distance {
        match formula {
            Formula::True => Distance::ZERO,
            Formula::False => Distance::INFINITE,
            Formula::Atom(var, values) => {
                let variable = &self.task.variables[*var as usize];
                if !variable.is_single() {
                    return Distance(u32::from(!variable.has(state, values)));
                }
                let from = self.present.values[*var as usize];
                if from == NO_NUMBER {
                    return Distance::ZERO;
                }
                let (to, cost) = self.nearest(*var, from, values);
                wanted.push((*var, to));
                Distance(cost)
            }
            Formula::And(parts) => {
                parts.iter().fold(Distance::ZERO, |sum, part| plus(sum, self.walk(part, state, wanted)))
            }
            Formula::Or(parts) => {
                let mut least = (Distance::INFINITE, Wanted::new());
                for part in parts {
                    let mut own = Wanted::new();
                    let value = self.walk(part, state, &mut own);
                    if value < least.0 {
                        least = (value, own);
                    }
                }
                wanted.extend(least.1);
                least.0
            }
        }
    }
}

impl Estimator for CausalGraph<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        if self.present.begin(self.task, state, off) {
            self.stamps.fill(0);
        }
        let mut wanted = Wanted::new();
        let task = self.task;
        let value = self.walk(&task.goal, state, &mut wanted);
        if self.present.is_over() {
            return unmet(task, &task.goal, state);
        }
        if value.is_finite() {
            wanted.into_iter().for_each(|(var, to)| self.prefer(var, to, 0));
        }
        value
    }

    fn work(&self) -> u64 {
        self.present.work()
    }

    fn preferred(&self) -> &[Label] {
        self.present.preferred()
    }
}
