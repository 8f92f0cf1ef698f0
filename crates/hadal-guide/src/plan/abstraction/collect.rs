//! Which abstractions a partition of costs is made of, within what they may take.

use super::Abstraction;
use super::cartesian::{Limits, refine};
use super::climb::Climbing;
use super::fence::Fence;
use super::merge::merge_and_shrink;
use super::order::walks;
use super::patterns::Causes;
use super::project::project;
use std::collections::HashSet;

/// Where abstractions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Projections on small patterns, and on one that grows for every goal.
    Patterns,
    /// Cartesian abstractions, one per goal and one for all of them.
    Cartesian,
    /// Projections on patterns that hill climbing finds.
    Climbed,
    /// All of these.
    Both,
    /// Factors of merge-and-shrink.
    Merged,
}

/// What building estimates may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes of abstractions and tables.
    pub bytes: u64,
    /// Transitions looked at.
    pub work: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Allowance { bytes: 256 << 20, work: 400_000_000 }
    }
}

/// Patterns looked at.
const MOST_PATTERNS: usize = 1500;
/// Abstract states of a pattern that grows for a goal.
const GROWN: u64 = 30_000;
/// Abstract states of a pattern that hill climbing finds.
const CLIMBED: u64 = 200_000;
/// Steps of walks to the states that hill climbing looks at.
const WALK: u32 = 60;
/// Transitions of one projection.
const MOST_TRANSITIONS: usize = 400_000;
/// States of one Cartesian abstraction.
const MOST_CELLS: u32 = 2_000;

/// The abstractions of a task.
pub(super) fn collect(
    fence: &Fence,
    source: Source,
    costs: &[u32],
    allowance: Allowance,
) -> Vec<Abstraction> {
    if source == Source::Merged {
        return merge_and_shrink(fence, costs, (allowance.bytes / 2, allowance.work / 4));
    }
    let mut list = Vec::new();
    let mut bytes = allowance.bytes / 2;
    let mut work = allowance.work / 4;
    if matches!(source, Source::Cartesian | Source::Both) {
        let share = if source == Source::Both { 2 } else { 1 };
        cartesian(fence, (&mut list, bytes / share, work));
        bytes = bytes.saturating_sub(list.iter().map(Abstraction::bytes).sum());
    }
    if source == Source::Cartesian {
        return list;
    }
    let causes = Causes::new(fence);
    let climbed = if source == Source::Patterns {
        Vec::new()
    } else {
        let climbing = Climbing {
            samples: &walks(fence.space, WALK, |_| false),
            costs,
            states: CLIMBED.min(bytes / 16),
            transitions: MOST_TRANSITIONS.min((bytes / 16) as usize),
            work,
        };
        climbing.climb(fence, &causes)
    };
    let (grown, systematic) = match source {
        Source::Climbed => (Vec::new(), causes.goals().iter().map(|&goal| vec![goal]).collect()),
        _ => (causes.growing(fence, GROWN), causes.systematic(MOST_PATTERNS)),
    };
    let mut seen = HashSet::new();
    let patterns = grown.into_iter().chain(climbed).chain(systematic);
    for pattern in patterns.filter(|pattern| seen.insert(pattern.clone())) {
        let sees = pattern.iter().map(|&variable| u64::from(fence.sizes[variable as usize]));
        let states = sees.fold(1u64, u64::saturating_mul);
        let most = MOST_TRANSITIONS.min((bytes / 16) as usize).min(work as usize);
        if states * 8 > bytes || states > 1 << 22 {
            continue;
        }
        let Some(made) = project(fence, &pattern, most) else {
            work = work.saturating_sub(states);
            continue;
        };
        work = work.saturating_sub(states + made.transitions() as u64 * 4);
        bytes = bytes.saturating_sub(made.bytes());
        list.push(made);
        if work == 0 || bytes == 0 {
            break;
        }
    }
    list
}

fn cartesian(fence: &Fence, (list, bytes, work): (&mut Vec<Abstraction>, u64, u64)) {
    let mut goals: Vec<Vec<_>> = fence.goal.iter().map(|&goal| vec![goal]).collect();
    if goals.len() > 1 {
        goals.push(fence.goal.clone());
    }
    let parts = goals.len().max(1) as u64;
    for goal in goals {
        let limits = Limits {
            states: MOST_CELLS,
            // A transition stands in two lists while it is refined.
            transitions: (bytes / parts / 32) as usize,
            work: work / parts,
        };
        list.extend(refine(fence, &goal, limits));
    }
}
