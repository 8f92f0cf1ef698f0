//! Choosing what to split a partition by (Evangelista and Kristensen 2011, sec. 5): SA, SS, RD, EE, PD, DE, the baselines
//! of sec. 6.3, and an adaptive choice among them.

use super::component::{Component, Scope, WAYS, hashed};
use super::diagram::{Branch, class};
use super::sample::Sample;
use hadal_system::state::hash;
use serde::{Deserialize, Serialize};

/// Partitions of the static baselines.
const STATIC_WAYS: usize = 256;
/// Where more than this share of the transitions cross, saving them is worth more than equal parts.
const MUCH_CROSSING: f64 = 0.5;
/// Splits before what crosses says anything.
const FIRST_SPLITS: u64 = 4;

/// How partitions are split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Heuristic {
    /// DE, and EE where many transitions cross.
    #[default]
    Adaptive,
    /// Static analysis: what the fewest actions write.
    Sa,
    /// Static sample: what was modified least in a randomised sample.
    Ss,
    /// At random.
    Rd,
    /// Event execution: what was modified least so far.
    Ee,
    /// Partition distribution: what gives the most equal parts.
    Pd,
    /// Both: fewest modifications times deviation.
    De,
    /// Baseline: a fixed hash of the whole state.
    StaticGhc,
    /// Baseline: a hash of the whole state, refined.
    DynamicGhc,
    /// Baseline: a fixed hash of one process's part.
    StaticLhc,
    /// Baseline: a hash of one process's part; half of the classes move when a partition overflows.
    DynamicLhc,
}

impl Heuristic {
    /// All of them, by name.
    pub const ALL: [(&'static str, Heuristic); 11] = [
        ("adaptive", Heuristic::Adaptive),
        ("sa", Heuristic::Sa),
        ("ss", Heuristic::Ss),
        ("rd", Heuristic::Rd),
        ("ee", Heuristic::Ee),
        ("pd", Heuristic::Pd),
        ("de", Heuristic::De),
        ("s-ghc", Heuristic::StaticGhc),
        ("d-ghc", Heuristic::DynamicGhc),
        ("s-lhc", Heuristic::StaticLhc),
        ("d-lhc", Heuristic::DynamicLhc),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        // Every value stands in the list.
        Self::ALL.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }

    /// Whether it looks at a sample before the search.
    pub(super) fn needs_sample(self) -> bool {
        matches!(self, Heuristic::Ss | Heuristic::StaticLhc | Heuristic::DynamicLhc)
    }

    /// Whether it asks how many ways to fire may write a scalar.
    pub(super) fn needs_writers(self) -> bool {
        self == Heuristic::Sa
    }

    /// Whether it needs to know what transitions modify.
    pub(super) fn needs_updates(self) -> bool {
        matches!(self, Heuristic::Adaptive | Heuristic::Ee | Heuristic::De)
    }
}

/// What is known when a partition is to be split.
pub(super) struct Situation<'a> {
    /// Some of its states, one after the other.
    pub(super) states: &'a [u64],
    pub(super) words: usize,
    /// States in the partition for each one of `states`.
    pub(super) scale: f64,
    /// What the diagram asks on the way to it.
    pub(super) path: Vec<Branch>,
    /// How often transitions modified each component.
    pub(super) updates: &'a [u64],
    /// Splits so far.
    pub(super) refinements: u64,
    /// The share of the transitions that led to partitions not in RAM.
    pub(super) crossing: f64,
}

/// Splits partitions.
pub(super) struct Chooser {
    heuristic: Heuristic,
    /// Modifications of each component in the sample, where one was taken.
    sampled: Vec<u64>,
    /// The process for LHC, by component.
    process: Option<usize>,
}

/// How a candidate would split the states.
struct Split {
    component: usize,
    deviation: f64,
    /// Share of the states in the largest part.
    largest: f64,
}

impl Chooser {
    pub(super) fn new(heuristic: Heuristic, components: &[Component], sample: Option<&Sample>) -> Self {
        let sampled = sample.map_or_else(Vec::new, |sample| sample.updates.clone());
        let process = sample.and_then(|sample| {
            let sampled = Population { states: &sample.states, words: sample.words, scale: 1.0 };
            let splits = splits(components, Scope::Process, sampled, &[]);
            let cost = |split: &Split| sample.updates[split.component] as f64 * split.deviation.max(1.0);
            least(splits, cost).map(|split| split.component)
        });
        Chooser { heuristic, sampled, process }
    }

    /// What the search starts with, for heuristics that do not start with one partition.
    pub(super) fn first(&self) -> Option<Branch> {
        let ways = STATIC_WAYS;
        match self.heuristic {
            Heuristic::StaticGhc => Some(Branch::Hash { of: None, salt: 0, ways }),
            Heuristic::StaticLhc => Some(Branch::Hash { of: self.process, salt: 0, ways }),
            _ => None,
        }
    }

    /// What to split by. The second says whether it is a hash of the whole state for want of a component.
    pub(super) fn choose(&self, components: &[Component], at: &Situation) -> (Branch, bool) {
        let chosen = match self.heuristic {
            Heuristic::DynamicGhc => Some(by_hash(components, at)),
            Heuristic::StaticGhc | Heuristic::StaticLhc => None,
            Heuristic::DynamicLhc => self.process.and_then(|of| halve_classes(components, of, at)),
            _ => self.component(components, at).map(Branch::Component),
        };
        match chosen {
            Some(branch) => (branch, false),
            None => (by_hash(components, at), true),
        }
    }

    fn component(&self, components: &[Component], at: &Situation) -> Option<usize> {
        let used: Vec<usize> = at
            .path
            .iter()
            .filter_map(|branch| match branch {
                Branch::Component(n) => Some(*n),
                _ => None,
            })
            .collect();
        let population = Population { states: at.states, words: at.words, scale: at.scale };
        let mut splits = splits(components, Scope::Scalar, population, &used);
        let wide = self::splits(components, Scope::Variable, population, &used);
        splits.extend(wide);
        let updates = |split: &Split| at.updates[split.component] as f64;
        let heuristic = match self.heuristic {
            Heuristic::Adaptive if at.refinements >= FIRST_SPLITS && at.crossing > MUCH_CROSSING => {
                Heuristic::Ee
            }
            Heuristic::Adaptive => Heuristic::De,
            fixed => fixed,
        };
        let best = match heuristic {
            Heuristic::Sa => {
                least(splits, |s| components[s.component].writers.map_or(f64::MAX, |n| n as f64))
            }
            Heuristic::Ss => least(splits, |s| self.sampled[s.component] as f64),
            Heuristic::Rd => least(splits, |s| hash(&[s.component as u64, at.refinements]) as f64),
            Heuristic::Ee => least(splits, updates),
            Heuristic::Pd => least(splits, |s| s.deviation),
            _ => least(splits, |s| updates(s) * s.deviation.max(1.0)),
        };
        best.map(|split| split.component)
    }
}

/// The candidate of the least cost; of equal ones the most even, then the first.
fn least(splits: Vec<Split>, cost: impl Fn(&Split) -> f64) -> Option<Split> {
    splits.into_iter().min_by(|a, b| {
        let by_cost = cost(a).total_cmp(&cost(b));
        by_cost.then(a.largest.total_cmp(&b.largest)).then(a.component.cmp(&b.component))
    })
}

/// States of so many words, each of which stands for `scale` others.
#[derive(Clone, Copy)]
struct Population<'a> {
    states: &'a [u64],
    words: usize,
    scale: f64,
}

/// Every unused component of a scope that splits the states at all.
fn splits(components: &[Component], scope: Scope, population: Population<'_>, used: &[usize]) -> Vec<Split> {
    let Population { states, words, scale } = population;
    let wanted = |n: &usize| components[*n].scope == scope && !used.contains(n);
    let total = (states.len() / words) as f64;
    (0..components.len())
        .filter(wanted)
        .filter_map(|component| {
            let mut sizes = vec![0u64; components[component].ways()];
            let all = states.chunks_exact(words);
            match components[component].bits() {
                Some((bits, true)) => all.for_each(|state| sizes[bits.of(state) as usize] += 1),
                Some((bits, false)) => all.for_each(|state| sizes[hashed(bits.of(state))] += 1),
                None => all.for_each(|state| sizes[components[component].branch(state)] += 1),
            }
            let parts: Vec<f64> = sizes.into_iter().filter(|&n| n > 0).map(|n| n as f64).collect();
            if parts.len() < 2 {
                return None;
            }
            let mean = total / parts.len() as f64;
            let variance = parts.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / parts.len() as f64;
            let largest = parts.iter().copied().fold(0.0, f64::max) / total;
            Some(Split { component, deviation: variance.sqrt() * scale, largest })
        })
        .collect()
}

fn halve_classes(components: &[Component], of: usize, at: &Situation) -> Option<Branch> {
    let states = at.states.chunks_exact(at.words);
    let mut classes: Vec<u64> = states.map(|state| class(&components[of], state)).collect();
    classes.sort_unstable();
    classes.dedup();
    (classes.len() > 1).then(|| Branch::Classes { of, from: classes[classes.len() / 2] })
}

/// A hash of the whole state; a bit in which two states differ, should no hash tell them apart.
fn by_hash(components: &[Component], at: &Situation) -> Branch {
    let first = &at.states[..at.words];
    let depth = at.path.len() as u64;
    let hashes = (1..9).map(|try_| Branch::Hash { of: None, salt: depth * 8 + try_, ways: WAYS });
    let tells_apart = |branch: &Branch| {
        let way = branch.way(components, first);
        at.states.chunks_exact(at.words).any(|state| branch.way(components, state) != way)
    };
    let bits = (0..at.words as u32 * 64).map(Branch::Bit);
    let fallback = Branch::Hash { of: None, salt: hash(&[depth]), ways: WAYS };
    hashes.chain(bits).find(tells_apart).unwrap_or(fallback)
}
