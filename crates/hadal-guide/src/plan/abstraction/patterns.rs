//! Which variables are projected on: all small patterns that are interesting (Pommerening, Röger and Helmert 2013, "Getting
//! the most out of pattern databases for classical planning"), and for every goal one that grows along the causal graph.

use super::fence::Fence;
use hadal_system::rows::{Change, Need};
use std::collections::{BTreeSet, HashSet};

/// Variables of a systematic pattern.
const LARGEST: usize = 3;

/// Arcs of the causal graph: from a variable that rows need to those that they change.
pub(super) struct Causes {
    /// The variables that rows need which change each variable.
    before: Vec<Vec<u32>>,
    /// The variables that change together with each variable, where one of them is a goal.
    beside: Vec<Vec<u32>>,
    goals: Vec<u32>,
}

impl Causes {
    pub(super) fn new(fence: &Fence) -> Self {
        let count = fence.sizes.len();
        let (mut before, mut beside) = (vec![BTreeSet::new(); count], vec![BTreeSet::new(); count]);
        for row in &fence.space.task().rows {
            let sets: Vec<u32> = row
                .effects
                .iter()
                .filter_map(|effect| match effect.change {
                    Change::Set(variable, _) if fence.is_seen(variable) => Some(variable),
                    _ => None,
                })
                .collect();
            let whens = row.effects.iter().flat_map(|effect| &effect.when);
            for need in row.needs.iter().chain(whens) {
                if let Need::Is(variable, _) | Need::IsNot(variable, _) = *need
                    && fence.is_seen(variable)
                {
                    sets.iter().filter(|&&set| set != variable).for_each(|&set| {
                        before[set as usize].insert(variable);
                    });
                }
            }
            for &one in &sets {
                for &other in sets.iter().filter(|&&other| other != one) {
                    beside[one as usize].insert(other);
                }
            }
        }
        let mut goals: Vec<u32> = fence.goal.iter().map(|&(variable, _)| variable).collect();
        goals.sort_unstable();
        goals.dedup();
        let lists =
            |sets: Vec<BTreeSet<u32>>| sets.into_iter().map(|set| set.into_iter().collect()).collect();
        Causes { before: lists(before), beside: lists(beside), goals }
    }

    /// The variables that the goal asks about.
    pub(super) fn goals(&self) -> &[u32] {
        &self.goals
    }

    /// The variables that a pattern may grow by: those that its variables need, and goals that change with one of them.
    pub(super) fn relevant(&self, pattern: &[u32]) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for &variable in pattern {
            found.extend_from_slice(&self.before[variable as usize]);
            found.extend(self.beside[variable as usize].iter().filter(|other| self.goals.contains(other)));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|variable| !pattern.contains(variable));
        found
    }

    /// All interesting patterns of up to three variables, the smallest first: each has a goal, and each of its variables
    /// is needed for another one or is a goal that changes with another one. At most `most`.
    pub(super) fn systematic(&self, most: usize) -> Vec<Vec<u32>> {
        let mut seen: HashSet<Vec<u32>> = HashSet::new();
        let mut patterns: Vec<Vec<u32>> = self.goals.iter().map(|&goal| vec![goal]).collect();
        seen.extend(patterns.iter().cloned());
        let mut at = 0;
        while at < patterns.len() && patterns.len() < most {
            let pattern = patterns[at].clone();
            at += 1;
            if pattern.len() == LARGEST {
                continue;
            }
            for &variable in &pattern {
                let goals = self.beside[variable as usize].iter().filter(|&v| self.goals.contains(v));
                let needing = self
                    .goals
                    .iter()
                    .filter(|&&goal| self.before[goal as usize].binary_search(&variable).is_ok());
                for &next in self.before[variable as usize].iter().chain(goals).chain(needing) {
                    if pattern.contains(&next) || patterns.len() >= most {
                        continue;
                    }
                    let mut larger = pattern.clone();
                    larger.push(next);
                    larger.sort_unstable();
                    if seen.insert(larger.clone()) {
                        patterns.push(larger);
                    }
                }
            }
        }
        patterns
    }

    /// For every goal a pattern of at most `states` abstract states: what most of its variables need comes next.
    pub(super) fn growing(&self, fence: &Fence, states: u64) -> Vec<Vec<u32>> {
        let mut patterns = Vec::new();
        for &goal in &self.goals {
            let mut pattern = vec![goal];
            let mut size = u64::from(fence.sizes[goal as usize]);
            loop {
                let mut counts: Vec<(usize, u32)> = Vec::new();
                for &variable in &pattern {
                    for &next in self.before[variable as usize].iter().chain(&self.beside[variable as usize])
                    {
                        let fits = size * u64::from(fence.sizes[next as usize]) <= states;
                        if pattern.contains(&next) || !fits {
                            continue;
                        }
                        match counts.iter_mut().find(|(_, of)| *of == next) {
                            Some((count, _)) => *count += 1,
                            None => counts.push((1, next)),
                        }
                    }
                }
                // The most needed, goals among equals, then the first.
                let best = counts.into_iter().max_by_key(|&(count, variable)| {
                    (count, self.goals.contains(&variable), std::cmp::Reverse(variable))
                });
                let Some((_, next)) = best else { break };
                size *= u64::from(fence.sizes[next as usize]);
                pattern.push(next);
            }
            pattern.sort_unstable();
            if pattern.len() > 1 && !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        patterns
    }
}
