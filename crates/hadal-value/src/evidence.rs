//! Evidence for a comparison with a bound: the most likely paths of the chain under a policy, as many as it takes to be on the
//! other side of the bound (Han, Katoen 2007). Their probabilities are added up exactly.
//!
//! Paths to the target show that it is likely. Paths to where the target cannot be reached any more show that it is not.

use crate::SolveError;
use crate::exact::fraction;
use crate::graph::{Graph, Reverse};
use crate::qualitative::can_reach;
use dashu_ratio::RBig;
use hadal_system::Label;
use hadal_system::chance::{Limit, Measure, Path as Asked, Relation, Sense};
use hadal_system::rows::Rational;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// More paths say nothing to anyone.
const MOST_PATHS: usize = 20_000;
/// Beginnings of paths that are kept at most.
const MOST_BEGINNINGS: usize = 4_000_000;

/// Which paths are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Wanted {
    /// None.
    #[default]
    Nothing,
    /// Those that break the bound of the formula.
    OfFormula,
    /// Those that show how the value compares with a bound.
    Of(Relation, Rational),
}

/// Paths that together are likely enough.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The paths, the most likely first.
    pub paths: Vec<Path>,
    /// How likely they are together.
    pub probability: RBig,
    /// Whether they end where the target cannot be reached any more, and not in the target.
    pub fails: bool,
}

/// One path.
#[derive(Clone, Debug)]
pub struct Path {
    /// Its states.
    pub states: Vec<Vec<u64>>,
    /// What is done in each but the last.
    pub labels: Vec<Label>,
    /// How likely it is.
    pub probability: RBig,
}

/// What paths have to show.
#[derive(Clone, Debug)]
pub(crate) struct Needed {
    /// Whether paths that fail are wanted.
    pub fails: bool,
    /// They are at least so likely together.
    pub bound: RBig,
    /// And more.
    pub above: bool,
}

impl Needed {
    /// What shows that the value for `sense` compares so with a bound, or does not; `None` where that is a claim about all
    /// policies, which no set of paths shows.
    pub fn of(sense: Sense, relation: Relation, bound: &Rational, holds: bool) -> Option<Self> {
        let bound = fraction(bound);
        let large = matches!(relation, Relation::AtLeast | Relation::Above) == holds;
        // What is not at most, or above, is strictly on its side.
        let above = matches!(relation, Relation::Above | Relation::Below) == holds;
        match (sense, large) {
            (Sense::Greatest, true) => Some(Needed { fails: false, bound, above }),
            (Sense::Least, false) => Some(Needed { fails: true, bound: RBig::ONE - bound, above }),
            _ => None,
        }
    }

    fn met(&self, mass: &RBig) -> bool {
        if self.above { *mass > self.bound } else { *mass >= self.bound }
    }
}

/// Why a question has no paths.
pub(crate) const NOT_ONE: &str = "paths are of one U, F or G without a bound";

/// The `U` whose paths are looked for, what for, and what they have to show.
pub(crate) fn sides(
    measure: &Measure,
    sense: Sense,
    needed: Option<Needed>,
) -> Result<(Asked, Sense, Needed), SolveError> {
    let needed = needed.ok_or(SolveError::NoPaths(
        "it is so whatever is chosen, which paths of one policy do not show: --certificate does",
    ))?;
    let Measure::Probability(path) = measure else { return Err(SolveError::NoPaths(NOT_ONE)) };
    match path {
        Asked::Until(_, _, Limit::None) => Ok((path.clone(), sense, needed)),
        Asked::Not(path) if matches!(**path, Asked::Until(_, _, Limit::None)) => {
            // Whoever fails one reaches the other.
            Ok(((**path).clone(), sense.opposite(), Needed { fails: !needed.fails, ..needed }))
        }
        _ => Err(SolveError::NoPaths(NOT_ONE)),
    }
}

/// The most likely paths of a chain to the target through `through`, or to where they fail, as many as are needed.
pub(crate) fn paths_of(
    chain: &Graph,
    (mut through, target): (Vec<bool>, Vec<bool>),
    needed: &Needed,
) -> Result<(Vec<Numbered>, RBig), SolveError> {
    let goal: Vec<bool> = match needed.fails {
        true => {
            let reaches = can_reach(chain, &Reverse::of(chain), &through, &target);
            // A path that meets the target does not fail.
            through.iter_mut().zip(&target).for_each(|(through, target)| *through &= !target);
            reaches.into_iter().map(|reaches| !reaches).collect()
        }
        false => target,
    };
    most_likely(chain, (&through, &goal), needed).ok_or(SolveError::NoPaths(
        "it takes too many, or the policy is too near to the bound: --policy writes the chain, which shows it as well",
    ))
}

/// A path as numbers of states, and how likely it is.
pub(crate) type Numbered = (Vec<u32>, RBig);

/// The most likely paths of a chain from its initial state to `goal` through `through`, each as its states, as many as are
/// needed; `None` where it takes too many.
fn most_likely(
    chain: &Graph,
    (through, goal): (&[bool], &[bool]),
    needed: &Needed,
) -> Option<(Vec<Numbered>, RBig)> {
    let best = best_ends(chain, through, goal);
    let (mut beginnings, mut open) = (Vec::<(u32, u32, f64)>::new(), BinaryHeap::new());
    let start = *chain.initial.first()?;
    beginnings.push((u32::MAX, start, 1.0));
    open.push(Ranked(best[start as usize], 0));
    let (mut paths, mut mass, mut about) = (Vec::new(), RBig::ZERO, 0.0);
    if best[start as usize] == 0.0 {
        return None;
    }
    if needed.met(&mass) {
        return Some((paths, mass));
    }
    let bound = needed.bound.to_f64().value();
    let mut summed = 0;
    while let Some(Ranked(_, at)) = open.pop() {
        let (_, state, probability) = beginnings[at as usize];
        if goal[state as usize] {
            let path = unwound(&beginnings, at);
            let exact = probability_of(chain, &path);
            about += probability;
            paths.push((path, exact));
            // Fractions are added up when floating point says that it is worth it.
            if about >= bound * (1.0 - 1e-9) {
                for (_, exact) in &paths[summed..] {
                    mass += exact;
                }
                summed = paths.len();
                if needed.met(&mass) {
                    return Some((paths, mass));
                }
            }
            if paths.len() >= MOST_PATHS {
                return None;
            }
            continue;
        }
        for branch in chain.branches_of(state as usize) {
            let to = chain.targets[branch];
            let rank = probability * chain.numbers.below()[chain.weights[branch] as usize];
            if best[to as usize] > 0.0 && rank > 0.0 {
                open.push(Ranked(rank * best[to as usize], beginnings.len() as u32));
                beginnings.push((at, to, rank));
            }
        }
        if beginnings.len() > MOST_BEGINNINGS {
            return None;
        }
    }
    None
}

/// A number in the order of its likelihood.
struct Ranked(f64, u32);

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    /// Of equals, what was met first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

/// How likely the most likely path from each state to the goal is (Dijkstra 1959).
fn best_ends(chain: &Graph, through: &[bool], goal: &[bool]) -> Vec<f64> {
    let reverse = Reverse::of(chain);
    let mut best = vec![0.0; chain.states()];
    let mut open = BinaryHeap::new();
    for state in (0..chain.states()).filter(|&s| goal[s]) {
        best[state] = 1.0;
        open.push(Ranked(1.0, state as u32));
    }
    while let Some(Ranked(value, state)) = open.pop() {
        if value < best[state as usize] {
            continue;
        }
        for &choice in reverse.leading_to(state as usize) {
            let from = reverse.state_of[choice as usize] as usize;
            if goal[from] || !through[from] {
                continue;
            }
            for branch in chain.branches_of(choice as usize).filter(|&b| chain.targets[b] == state) {
                let along = value * chain.numbers.below()[chain.weights[branch] as usize];
                if along > best[from] {
                    best[from] = along;
                    open.push(Ranked(along, from as u32));
                }
            }
        }
    }
    best
}

fn unwound(beginnings: &[(u32, u32, f64)], mut at: u32) -> Vec<u32> {
    let mut path = Vec::new();
    while at != u32::MAX {
        let (before, state, _) = beginnings[at as usize];
        path.push(state);
        at = before;
    }
    path.reverse();
    path
}

fn probability_of(chain: &Graph, path: &[u32]) -> RBig {
    let mut probability = RBig::ONE;
    for step in path.windows(2) {
        let mut taken = chain.branches_of(step[0] as usize).filter(|&b| chain.targets[b] == step[1]);
        if let Some(branch) = taken.next() {
            probability *= fraction(&chain.numbers.exact(chain.weights[branch]));
        }
    }
    probability
}
