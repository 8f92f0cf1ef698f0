//! Cartesian abstractions refined by counterexamples (Seipp and Helmert 2018, "Counterexample-guided Cartesian abstraction
//! refinement for classical planning"): an abstract state is a product of sets of values, and wherever a cheapest abstract
//! plan does not work, the state in which it fails is split.
//!
//! Rows that change variables under conditions of their effects are not handled; conditions on derived facts, numbers and
//! monitors count as met.

use super::fence::{Fence, Wanted, wanted};
use super::{Abstraction, Mapping, Split, Transition};
use crate::plan::additive::{INFINITE, add};
use crate::plan::queue::Queue;
use hadal_system::rows::Change;
use std::collections::HashMap;

/// What refining may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) states: u32,
    pub(super) transitions: usize,
    /// Transitions looked at.
    pub(super) work: u64,
}

/// A row, as far as it is seen.
struct Operator {
    needs: Vec<(u32, Wanted)>,
    sets: Vec<(u32, u32)>,
    cost: u32,
}

impl Operator {
    fn sets(&self, variable: u32) -> Option<u32> {
        self.sets.iter().find(|&&(of, _)| of == variable).map(|&(_, value)| value)
    }

    fn allows(&self, variable: u32, value: u32) -> bool {
        self.needs.iter().all(|&(of, wanted)| of != variable || wanted.allows(value))
    }
}

/// Where an abstract plan fails: the variable to split by and the values that it wants.
struct Flaw {
    state: u32,
    variable: u32,
    wanted: Vec<u32>,
}

struct Refinement<'f> {
    fence: &'f Fence<'f>,
    goal: &'f [(u32, Wanted)],
    operators: Vec<Operator>,
    /// Where the set of each variable begins in a cell.
    words: Vec<usize>,
    cells: Vec<Vec<u64>>,
    /// Row and other end of each transition that is no loop.
    out: Vec<Vec<(u32, u32)>>,
    into: Vec<Vec<(u32, u32)>>,
    count: usize,
    tree: Vec<Split>,
    leaf: Vec<u32>,
    goals: Vec<bool>,
    /// The values of the initial state, and its abstract state.
    values: Vec<u32>,
    initial: u32,
    distances: Vec<u32>,
    best: Vec<(u32, u32)>,
    queue: Queue,
    work: u64,
}

/// Refines an abstraction for a goal that is (a part of) the task's; `None` where it says nothing.
pub(super) fn refine(fence: &Fence, goal: &[(u32, Wanted)], limits: Limits) -> Option<Abstraction> {
    if fence.conditional || goal.is_empty() {
        return None;
    }
    let mut refinement = Refinement::new(fence, goal);
    while (refinement.cells.len() as u32) < limits.states
        && refinement.count < limits.transitions
        && refinement.work < limits.work
    {
        refinement.measure();
        let Some(flaw) = refinement.find_flaw() else { break };
        refinement.split(&flaw);
    }
    refinement.finish()
}

impl<'f> Refinement<'f> {
    fn new(fence: &'f Fence<'f>, goal: &'f [(u32, Wanted)]) -> Self {
        let task = fence.space.task();
        let operators = task.rows.iter().zip(0u32..).map(|(row, number)| {
            let mut sets: Vec<(u32, u32)> = Vec::new();
            for effect in &row.effects {
                if let Change::Set(variable, value) = effect.change
                    && fence.is_seen(variable)
                {
                    sets.retain(|&(of, _)| of != variable);
                    sets.push((variable, value));
                }
            }
            let needs = wanted(&row.needs).filter(|&(variable, _)| fence.is_seen(variable)).collect();
            Operator { needs, sets, cost: fence.space.fixed_cost(number).unwrap_or(0) }
        });
        let mut words = vec![0];
        for &size in &fence.sizes {
            words.push(words[words.len() - 1] + (size as usize).div_ceil(64));
        }
        let mut cell = vec![0; words[words.len() - 1]];
        for (&size, &first) in fence.sizes.iter().zip(&words) {
            (0..size as usize).for_each(|value| cell[first + value / 64] |= 1 << (value % 64));
        }
        Refinement {
            fence,
            goal,
            operators: operators.collect(),
            words,
            cells: vec![cell],
            out: vec![Vec::new()],
            into: vec![Vec::new()],
            count: 0,
            tree: vec![Split::Leaf(0)],
            leaf: vec![0],
            // All values are there.
            goals: vec![true],
            values: fence.space.unpack(fence.space.initial()).values,
            initial: 0,
            distances: vec![0],
            best: vec![(0, 0)],
            queue: Queue::default(),
            work: 0,
        }
    }

    fn has(&self, state: u32, variable: u32, value: u32) -> bool {
        let at = self.words[variable as usize] + value as usize / 64;
        self.cells[state as usize][at] >> (value % 64) & 1 == 1
    }

    fn values(&self, state: u32, variable: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.fence.sizes[variable as usize]).filter(move |&value| self.has(state, variable, value))
    }

    /// Whether an operator leads from one state to another as far as one variable is concerned.
    fn leads(&self, operator: u32, variable: u32, (from, to): (u32, u32)) -> bool {
        let it = &self.operators[operator as usize];
        let allowed = |&value: &u32| it.allows(variable, value);
        match it.sets(variable) {
            Some(value) => self.has(to, variable, value) && self.values(from, variable).any(|v| allowed(&v)),
            None => self.values(from, variable).any(|v| allowed(&v) && self.has(to, variable, v)),
        }
    }

    fn is_goal(&self, state: u32) -> bool {
        self.goal
            .iter()
            .all(|&(variable, wanted)| self.values(state, variable).any(|value| wanted.allows(value)))
    }

    /// The distance of every state to the goal, and the first step of a cheapest way.
    fn measure(&mut self) {
        self.distances.clear();
        self.distances.resize(self.cells.len(), INFINITE);
        self.best.resize(self.cells.len(), (0, 0));
        self.queue.clear();
        for (state, _) in (0..).zip(&self.goals).filter(|(_, goal)| **goal) {
            self.distances[state as usize] = 0;
            self.queue.push(0, state);
        }
        while let Some((distance, at)) = self.queue.pop() {
            if self.distances[at as usize] != distance {
                continue;
            }
            self.work += self.into[at as usize].len() as u64;
            for &(operator, from) in &self.into[at as usize] {
                let there = add(distance, self.operators[operator as usize].cost);
                if there < self.distances[from as usize] {
                    self.distances[from as usize] = there;
                    self.best[from as usize] = (operator, at);
                    self.queue.push(there, from);
                }
            }
        }
    }

    /// Follows a cheapest abstract plan in the task; where it fails.
    fn find_flaw(&self) -> Option<Flaw> {
        let (mut values, mut at) = (self.values.clone(), self.initial);
        if self.distances[at as usize] == INFINITE {
            return None;
        }
        // Best steps come nearer to a goal by every step, in the order in which states were settled.
        while !self.goals[at as usize] {
            let (operator, to) = self.best[at as usize];
            let it = &self.operators[operator as usize];
            let failed =
                it.needs.iter().filter(|&&(variable, wanted)| !wanted.allows(values[variable as usize]));
            let wishes = failed.map(|&(variable, _)| {
                let fits = |&value: &u32| {
                    it.allows(variable, value)
                        && (it.sets(variable).is_some() || self.has(to, variable, value))
                };
                (variable, self.values(at, variable).filter(fits).collect())
            });
            if let Some(flaw) = self.choose(at, wishes.collect()) {
                return Some(flaw);
            }
            let before = values.clone();
            it.sets.iter().for_each(|&(variable, value)| values[variable as usize] = value);
            let strayed = (0..values.len() as u32).filter(|&variable| {
                self.fence.is_seen(variable) && !self.has(to, variable, values[variable as usize])
            });
            let wishes = strayed.map(|variable| {
                debug_assert_eq!(before[variable as usize], values[variable as usize]);
                let fits = |&value: &u32| it.allows(variable, value) && self.has(to, variable, value);
                (variable, self.values(at, variable).filter(fits).collect())
            });
            if let Some(flaw) = self.choose(at, wishes.collect()) {
                return Some(flaw);
            }
            at = to;
        }
        let missed =
            self.goal.iter().filter(|&&(variable, wanted)| !wanted.allows(values[variable as usize]));
        let wishes = missed.map(|&(variable, wanted)| {
            (variable, self.values(at, variable).filter(|&value| wanted.allows(value)).collect())
        });
        self.choose(at, wishes.collect())
    }

    /// Of several ways to split a state the one by the variable that is split most already.
    fn choose(&self, state: u32, wishes: Vec<(u32, Vec<u32>)>) -> Option<Flaw> {
        let left = |variable: u32| {
            let size = self.fence.sizes[variable as usize] as usize;
            self.values(state, variable).count() * 1000 / size
        };
        let best = wishes.into_iter().min_by_key(|&(variable, _)| (left(variable), variable));
        best.map(|(variable, wanted)| Flaw { state, variable, wanted })
    }

    /// Splits a state: the wanted values go to a new one.
    fn split(&mut self, flaw: &Flaw) {
        let Flaw { state, variable, .. } = *flaw;
        let fresh = self.cells.len() as u32;
        let first = self.words[variable as usize];
        let width = self.words[variable as usize + 1] - first;
        let mut bits = vec![0u64; width];
        flaw.wanted.iter().for_each(|&value| bits[value as usize / 64] |= 1 << (value % 64));
        let mut cell = self.cells[state as usize].clone();
        cell[first..first + width].copy_from_slice(&bits);
        let old = &mut self.cells[state as usize][first..first + width];
        old.iter_mut().zip(&bits).for_each(|(old, bits)| *old &= !bits);
        self.cells.push(cell);
        if state == self.initial && flaw.wanted.contains(&self.values[variable as usize]) {
            self.initial = fresh;
        }
        self.goals[state as usize] = self.is_goal(state);
        self.goals.push(self.is_goal(fresh));
        self.out.push(Vec::new());
        self.into.push(Vec::new());
        let node = self.leaf[state as usize];
        let (then, otherwise) = (self.tree.len() as u32, self.tree.len() as u32 + 1);
        self.tree.push(Split::Leaf(fresh));
        self.tree.push(Split::Leaf(state));
        let place = self.fence.space.layout().finite[variable as usize];
        self.tree[node as usize] = Split::Inner { place, values: bits, then, otherwise };
        self.leaf[state as usize] = otherwise;
        self.leaf.push(then);
        self.rewire(state, fresh, variable);
    }

    fn rewire(&mut self, state: u32, fresh: u32, variable: u32) {
        let (out, into) =
            (std::mem::take(&mut self.out[state as usize]), std::mem::take(&mut self.into[state as usize]));
        self.count -= out.len() + into.len();
        self.work += (out.len() + into.len()) as u64;
        let mut others: Vec<u32> = out.iter().chain(&into).map(|&(_, other)| other).collect();
        others.sort_unstable();
        others.dedup();
        for other in others {
            self.out[other as usize].retain(|&(_, to)| to != state);
            self.into[other as usize].retain(|&(_, from)| from != state);
        }
        for (operator, from) in into {
            for to in [state, fresh] {
                if self.leads(operator, variable, (from, to)) {
                    self.connect(operator, from, to);
                }
            }
        }
        for (operator, to) in out {
            for from in [state, fresh] {
                if self.leads(operator, variable, (from, to)) {
                    self.connect(operator, from, to);
                }
            }
        }
        // What was a loop may lead from one part to the other.
        let fence = self.fence;
        for &operator in &fence.changed_by[variable as usize] {
            if !self.could_loop(operator, state, variable) {
                continue;
            }
            for (from, to) in [(state, fresh), (fresh, state)] {
                if self.leads(operator, variable, (from, to)) {
                    self.connect(operator, from, to);
                }
            }
        }
        self.work += fence.changed_by[variable as usize].len() as u64;
    }

    /// Whether an operator leads from a cell to itself as far as variables other than `but` are concerned.
    fn could_loop(&self, operator: u32, state: u32, but: u32) -> bool {
        let it = &self.operators[operator as usize];
        let variables = it.needs.iter().map(|need| need.0).chain(it.sets.iter().map(|set| set.0));
        variables
            .filter(|&variable| variable != but)
            .all(|variable| self.leads(operator, variable, (state, state)))
    }

    fn connect(&mut self, operator: u32, from: u32, to: u32) {
        self.out[from as usize].push((operator, to));
        self.into[to as usize].push((operator, from));
        self.count += 1;
    }

    fn finish(self) -> Option<Abstraction> {
        let states = self.cells.len() as u32;
        let goals = (0..states).filter(|&state| self.goals[state as usize]).collect();
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut classes: Vec<Vec<u32>> = Vec::new();
        let mut transitions = Vec::with_capacity(self.count);
        for (list, from) in self.out.iter().zip(0..) {
            for &(operator, to) in list {
                let class = *numbers.entry(operator).or_insert_with(|| {
                    classes.push(vec![operator]);
                    classes.len() as u32 - 1
                });
                transitions.push(Transition { to, from, class });
            }
        }
        let mapping = Mapping::Splits(self.tree);
        let initial = mapping.of(self.fence.space.initial());
        Abstraction::new(mapping, (states, initial), goals, classes, transitions)
    }
}
