//! Fact landmarks of a ground task and orders between them.
//!
//! Landmarks of the delete relaxation are found all at once: the landmarks of a fact are itself and what all its achievers
//! share, as a greatest fixpoint (Zhu and Givan 2003; Keyder, Richter and Helmert 2010 for the statement with one fact).
//! Orders are natural, greedy-necessary (every first achiever needs it) and reasonable (Hoffmann, Porteous and Sebastia
//! 2004; Richter and Westphal 2010). Reasonable orders that would close a cycle are left out. A landmark may also be one of
//! up to four facts.

use super::relaxed::{NO_ROW, Relaxed};
use std::collections::HashSet;

/// Turns of the fixpoint, counted in operators looked at.
const MOST_WORK: u64 = 400_000_000;

/// Facts of which one must become true, at most.
const LARGEST: usize = 4;
/// Facts of one kind that are looked at for such a landmark.
const MOST_LOOKED_AT: usize = 4096;

/// A landmark and its orders.
#[derive(Clone, Debug, Default)]
pub struct Landmark {
    /// The fact, or several of which one must become true.
    pub facts: Vec<u32>,
    /// Whether the goal asks for it.
    pub is_goal: bool,
    /// What the cheapest row that achieves it for the first time costs.
    pub cost: u32,
    /// Landmarks that come before it.
    pub before: Vec<u32>,
    /// Landmarks after it of which it is a greedy-necessary condition.
    pub needed_for: Vec<u32>,
}

/// The landmarks of a task, from its initial state.
#[derive(Clone, Debug, Default)]
pub struct Landmarks {
    /// All of them.
    pub all: Vec<Landmark>,
    /// Those that the initial state has accepted.
    pub initial: Vec<u64>,
    /// The landmark of each fact; `u32::MAX` where it is none.
    of_fact: Vec<u32>,
}

impl Landmarks {
    /// Finds the landmarks of a relaxed task. There are none where finding them would take too much work, or more than
    /// `bytes`.
    pub fn new(task: &Relaxed, bytes: u64) -> Self {
        let none = || Landmarks { initial: vec![0], ..Landmarks::default() };
        if Sets::bytes(task) > bytes {
            return none();
        }
        let Some(sets) = Sets::new(task) else { return none() };
        if !task.goal.iter().all(|&fact| sets.reached[fact as usize]) {
            return none();
        }
        let mut is_landmark = vec![false; task.facts()];
        for &fact in &task.goal {
            sets.of(fact).for_each(|landmark| is_landmark[landmark as usize] = true);
        }
        let mut found = Landmarks { of_fact: vec![u32::MAX; task.facts()], ..Landmarks::default() };
        for fact in (0..task.facts() as u32).filter(|&fact| is_landmark[fact as usize]) {
            // Facts that follow, differences and comparisons are not read off a state at once.
            if task.value_of(fact).is_none() {
                continue;
            }
            found.of_fact[fact as usize] = found.all.len() as u32;
            let is_goal = task.goal.binary_search(&fact).is_ok();
            found.all.push(Landmark { facts: vec![fact], is_goal, ..Landmark::default() });
        }
        found.order(task, &sets);
        found.add_disjunctions(task, &sets);
        found.order_reasonably(task);
        let count = found.all.len();
        found.initial = vec![0; count.div_ceil(64).max(1)];
        let start = task.space().initial();
        for at in 0..count {
            let holds = found.all[at].facts.iter().any(|&fact| task.holds(start, fact));
            if holds && found.all[at].before.is_empty() {
                found.initial[at / 64] |= 1 << (at % 64);
            }
        }
        found
    }

    /// Words of a set of landmarks.
    pub fn words(&self) -> usize {
        self.initial.len()
    }

    /// The landmark that a fact is.
    #[inline]
    pub fn of_fact(&self, fact: u32) -> Option<u32> {
        self.of_fact.get(fact as usize).copied().filter(|&at| at != u32::MAX)
    }

    fn order(&mut self, task: &Relaxed, sets: &Sets) {
        for at in 0..self.all.len() {
            let fact = self.all[at].facts[0];
            let mut before: Vec<u32> = sets.of(fact).filter_map(|other| self.of_fact(other)).collect();
            before.retain(|&other| other as usize != at);
            // What every first achiever needs.
            let mut shared: Option<Vec<u32>> = None;
            let mut cost = u32::MAX;
            for &operator in task.added_by.get(fact) {
                let needs = task.needs.get(operator);
                if !sets.is_first(needs, fact) {
                    continue;
                }
                if task.rows[operator as usize] != NO_ROW {
                    cost = cost.min(task.costs[operator as usize]);
                } else {
                    cost = 0;
                }
                match &mut shared {
                    None => shared = Some(needs.to_vec()),
                    Some(shared) => shared.retain(|need| needs.binary_search(need).is_ok()),
                }
            }
            self.all[at].cost = if cost == u32::MAX { 0 } else { cost };
            if !sets.initial[fact as usize] {
                for need in shared.unwrap_or_default() {
                    if let Some(other) = self.of_fact(need) {
                        self.all[other as usize].needed_for.push(at as u32);
                    }
                }
            } else {
                before.clear();
            }
            self.all[at].before = before;
        }
    }

    /// Adds landmarks of several facts: of each kind of facts that all first achievers of a landmark need, one must be true
    /// before (Richter and Westphal 2010, sec. 4.1). Facts are of a kind where they have the same predicate.
    fn add_disjunctions(&mut self, task: &Relaxed, sets: &Sets) {
        let mut seen: HashSet<Vec<u32>> = HashSet::new();
        for at in 0..self.all.len() {
            let fact = self.all[at].facts[0];
            if sets.initial[fact as usize] {
                continue;
            }
            let achievers: Vec<&[u32]> = task
                .added_by
                .get(fact)
                .iter()
                .map(|&operator| task.needs.get(operator))
                .filter(|needs| sets.is_first(needs, fact))
                .collect();
            let Some((one, others)) = achievers.split_first() else { continue };
            let mut kinds: Vec<&str> = one.iter().filter_map(|&need| kind(task, need)).collect();
            kinds.sort_unstable();
            kinds.dedup();
            for wanted in kinds {
                let of_kind = |needs: &[u32]| -> Vec<u32> {
                    needs.iter().copied().filter(|&need| kind(task, need) == Some(wanted)).collect()
                };
                let mut facts = of_kind(one);
                let shared = others.iter().all(|needs| {
                    let found = of_kind(needs);
                    facts.extend_from_slice(&found);
                    !found.is_empty() && facts.len() <= MOST_LOOKED_AT
                });
                facts.sort_unstable();
                facts.dedup();
                let tells = |&fact: &u32| sets.initial[fact as usize] || self.of_fact(fact).is_some();
                if !shared || facts.len() < 2 || facts.len() > LARGEST || facts.iter().any(tells) {
                    continue;
                }
                if seen.insert(facts.clone()) {
                    let achieving = facts.iter().flat_map(|&fact| task.added_by.get(fact));
                    let cost = achieving.map(|&operator| task.costs[operator as usize]).min().unwrap_or(0);
                    let made = self.all.len() as u32;
                    self.all[at].before.push(made);
                    let needed_for = vec![at as u32];
                    self.all.push(Landmark { facts, cost, needed_for, ..Landmark::default() });
                }
            }
        }
    }

    /// Adds reasonable orders: achieving `first` after `second` would undo `second`.
    fn order_reasonably(&mut self, task: &Relaxed) {
        let count = self.all.len();
        let mut parents: Vec<Vec<u32>> = vec![Vec::new(); count];
        for at in 0..count {
            for &child in &self.all[at].needed_for {
                parents[child as usize].push(at as u32);
            }
        }
        let mut orders = Vec::new();
        for second in 0..count as u32 {
            let mut others: Vec<u32> = Vec::new();
            if self.all[second as usize].is_goal {
                others.extend((0..count as u32).filter(|&other| self.all[other as usize].is_goal));
            } else {
                // What must hold together with it, or before that, for something that needs it.
                for &child in &self.all[second as usize].needed_for {
                    for &other in self.all[child as usize].before.iter().chain(&parents[child as usize]) {
                        others.push(other);
                    }
                }
                others.sort_unstable();
                others.dedup();
            }
            for &first in others.iter().filter(|&&first| first != second) {
                if self.interferes(task, &parents, first, second) {
                    orders.push((first, second));
                }
            }
        }
        for (first, second) in orders {
            if !self.all[second as usize].before.contains(&first) && !self.leads(second, first) {
                self.all[second as usize].before.push(first);
            }
        }
    }

    /// Whether making `first` true makes `second` false.
    fn interferes(&self, task: &Relaxed, parents: &[Vec<u32>], first: u32, second: u32) -> bool {
        let excludes = |a: u32, b: u32| {
            let ([a], [b]) = (&*self.all[a as usize].facts, &*self.all[b as usize].facts) else {
                return false;
            };
            let (a, b) = (task.value_of(*a), task.value_of(*b));
            a.zip(b).is_some_and(|(a, b)| a.0 == b.0 && a.1 != b.1)
        };
        excludes(first, second)
            || parents[first as usize].iter().any(|&needed| needed != second && excludes(needed, second))
    }

    /// Whether `from` must come before `to` by the orders so far.
    fn leads(&self, from: u32, to: u32) -> bool {
        let mut seen = vec![false; self.all.len()];
        let mut open = vec![to];
        while let Some(at) = open.pop() {
            if at == from {
                return true;
            }
            if !std::mem::replace(&mut seen[at as usize], true) {
                open.extend_from_slice(&self.all[at as usize].before);
            }
        }
        false
    }
}

/// The predicate of a fact, where it is an atom's value.
fn kind<'t>(task: &Relaxed<'t>, fact: u32) -> Option<&'t str> {
    let (variable, value) = task.value_of(fact)?;
    let text = task.space().task().variables[variable as usize].values[value as usize].as_str();
    let end = text.find([' ', ')']).unwrap_or(text.len());
    text.starts_with('(').then(|| &text[..end]).filter(|&name| name != "(not")
}

/// For each fact the facts that are on every relaxed way to it.
struct Sets {
    words: usize,
    bits: Vec<u64>,
    reached: Vec<bool>,
    initial: Vec<bool>,
}

impl Sets {
    /// Bytes that finding them takes.
    fn bytes(task: &Relaxed) -> u64 {
        let (facts, operators) = (task.facts() as u64, task.operators() as u64);
        facts * (facts.div_ceil(64) * 8 + 2) + operators * 9
    }

    fn new(task: &Relaxed) -> Option<Self> {
        let facts = task.facts();
        let words = facts.div_ceil(64);
        let worker = &mut task.space().row_worker();
        let mut sets = Sets {
            words,
            bits: vec![0; facts * words],
            reached: vec![false; facts],
            initial: vec![false; facts],
        };
        let mut queue = std::collections::VecDeque::new();
        let mut queued = vec![false; task.operators()];
        task.facts_of(task.space().initial(), worker, |fact| {
            sets.reached[fact as usize] = true;
            sets.initial[fact as usize] = true;
            sets.bits[fact as usize * words + fact as usize / 64] |= 1 << (fact % 64);
        });
        let mut unmet = task.need_counts.clone();
        for fact in (0..facts as u32).filter(|&fact| sets.initial[fact as usize]) {
            for &operator in task.needed_by.get(fact) {
                unmet[operator as usize] -= 1;
            }
        }
        for operator in (0..task.operators() as u32).filter(|&at| unmet[at as usize] == 0) {
            queue.push_back(operator);
            queued[operator as usize] = true;
        }
        let (mut joined, mut work) = (vec![0u64; words], 0u64);
        while let Some(operator) = queue.pop_front() {
            queued[operator as usize] = false;
            joined.fill(0);
            for &need in task.needs.get(operator) {
                let from = need as usize * words;
                joined.iter_mut().zip(&sets.bits[from..from + words]).for_each(|(to, from)| *to |= from);
            }
            work += (words * (1 + task.needs.get(operator).len() + task.adds.get(operator).len())) as u64;
            if work > MOST_WORK {
                return None;
            }
            for &fact in task.adds.get(operator) {
                if sets.initial[fact as usize] {
                    continue;
                }
                let own = fact as usize * words;
                let target = &mut sets.bits[own..own + words];
                let mut changed = false;
                if sets.reached[fact as usize] {
                    // The fact itself never leaves its set.
                    let own_word = fact as usize / 64;
                    for (at, (to, from)) in target.iter_mut().zip(&joined).enumerate() {
                        let from = if at == own_word { from | 1 << (fact % 64) } else { *from };
                        changed |= *to & from != *to;
                        *to &= from;
                    }
                } else {
                    target.copy_from_slice(&joined);
                    target[fact as usize / 64] |= 1 << (fact % 64);
                    sets.reached[fact as usize] = true;
                    changed = true;
                    for &next in task.needed_by.get(fact) {
                        unmet[next as usize] -= 1;
                    }
                }
                if changed {
                    for &next in task.needed_by.get(fact) {
                        if unmet[next as usize] == 0 && !std::mem::replace(&mut queued[next as usize], true) {
                            queue.push_back(next);
                        }
                    }
                }
            }
        }
        Some(sets)
    }

    /// Whether an operator with these needs can make a fact true for the first time.
    fn is_first(&self, needs: &[u32], fact: u32) -> bool {
        needs.iter().all(|&need| self.reached[need as usize] && !self.has(need, fact))
    }

    fn has(&self, fact: u32, landmark: u32) -> bool {
        self.bits[fact as usize * self.words + landmark as usize / 64] >> (landmark % 64) & 1 == 1
    }

    fn of(&self, fact: u32) -> impl Iterator<Item = u32> + '_ {
        let own = &self.bits[fact as usize * self.words..(fact as usize + 1) * self.words];
        own.iter().enumerate().flat_map(|(at, &word)| {
            (0..64u32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as u32 * 64 + bit)
        })
    }
}
