//! Patterns found by hill climbing (after Haslum, Botea, Helmert, Bonet and Koenig 2007, "Domain-independent construction of
//! pattern database heuristics for cost-optimal planning"): beginning with single goals, the pattern that gains most in
//! sampled states from one more variable gets it, until nothing gains or the work is used up.
//!
//! A variable's gain is what the larger pattern says beyond the smaller one and the variable's own pattern together: what
//! is left over is what no sum of the two has.

use super::Abstraction;
use super::fence::Fence;
use super::patterns::Causes;
use super::project::project;
use crate::plan::additive::INFINITE;
use crate::plan::queue::Queue;
use std::collections::HashSet;

/// What hill climbing may take.
pub(super) struct Climbing<'a> {
    /// States that patterns are judged by.
    pub(super) samples: &'a [Vec<u64>],
    /// What rows cost.
    pub(super) costs: &'a [u32],
    /// Abstract states of a pattern.
    pub(super) states: u64,
    /// Transitions of a pattern.
    pub(super) transitions: usize,
    /// Transitions looked at.
    pub(super) work: u64,
}

/// A pattern with what it says of the samples.
struct Judged {
    pattern: Vec<u32>,
    says: Vec<u32>,
    /// What it says beyond the pattern that it grew from.
    gain: u64,
}

impl Climbing<'_> {
    /// The patterns that were worth it, the largest gain first.
    pub(super) fn climb(mut self, fence: &Fence, causes: &Causes) -> Vec<Vec<u32>> {
        let mut queue = Queue::default();
        let mut seen: HashSet<Vec<u32>> = HashSet::new();
        let mut single: Vec<Option<Vec<u32>>> = vec![None; fence.sizes.len()];
        let mut open: Vec<Judged> = Vec::new();
        for &goal in causes.goals() {
            let Some(says) = self.judge(fence, &[goal], &mut queue) else { continue };
            single[goal as usize] = Some(says.clone());
            open.push(Judged { pattern: vec![goal], says, gain: u64::MAX });
        }
        let mut found = Vec::new();
        while let Some(best) = (0..open.len()).max_by_key(|&at| (open[at].gain, std::cmp::Reverse(at))) {
            let grown = open.swap_remove(best);
            if grown.gain == 0 || self.work == 0 {
                break;
            }
            if grown.pattern.len() > 1 {
                found.push(grown.pattern.clone());
            }
            for next in causes.relevant(&grown.pattern) {
                let mut pattern = grown.pattern.clone();
                pattern.push(next);
                pattern.sort_unstable();
                if !seen.insert(pattern.clone()) {
                    continue;
                }
                let Some(says) = self.judge(fence, &pattern, &mut queue) else { continue };
                let alone = |sample: usize| single[next as usize].as_ref().map_or(0, |says| says[sample]);
                let gains = (0..says.len()).filter(|&sample| says[sample] != INFINITE).map(|sample| {
                    let apart = u64::from(grown.says[sample]) + u64::from(alone(sample));
                    u64::from(says[sample]).saturating_sub(apart)
                });
                let gain = gains.sum();
                if gain > 0 {
                    open.push(Judged { pattern, says, gain });
                }
            }
        }
        found
    }

    /// What a pattern says of the samples; `None` where it is too large.
    fn judge(&mut self, fence: &Fence, pattern: &[u32], queue: &mut Queue) -> Option<Vec<u32>> {
        let sizes = pattern.iter().map(|&variable| u64::from(fence.sizes[variable as usize]));
        let states = sizes.fold(1u64, u64::saturating_mul);
        if states > self.states || self.work == 0 {
            return None;
        }
        let made: Option<Abstraction> = project(fence, pattern, self.transitions);
        let transitions = made.as_ref().map_or(self.transitions, Abstraction::transitions) as u64;
        self.work = self.work.saturating_sub(states + 4 * transitions);
        let made = made?;
        let distances = made.distances(self.costs, queue);
        Some(self.samples.iter().map(|state| distances[made.mapping.of(state) as usize]).collect())
    }
}
