//! Every strategy as data: what `--strategy` may name, what each promises, which options belong to it, what it resumes.
//!
//! The command line, its help, the documents' tables, the tests and the reports read this table. A new way of detecting
//! duplicates layer by layer is a file in [`layered`](crate::layered) and one entry here.

use crate::layered::cache::CacheKind;
use crate::layered::hash::detection::{HASH, STRUCTURED};
use crate::layered::partial::{Bound, PARTIAL};
use crate::layered::phased::PHASED;
use crate::layered::sorted::{
    LAYERED, SORT, SORT_FILE_PER_LAYER, SORT_PER_BATCH, SORT_SEPARATE, SORT_SINGLE_FILE,
};
use crate::partition::{Heuristic, PartitionOptions};
use crate::strategy::Strategy;

/// What hadal knows of a strategy.
#[derive(Debug)]
pub struct StrategyInfo {
    /// As it is typed.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// The explorer behind it.
    pub explorer: ExplorerKind,
    /// Options that belong to it, without the dashes.
    pub options: &'static [&'static str],
    /// What holds of its answers.
    pub promises: Promises,
    /// What it leaves behind when it stops, and goes on from.
    pub resumes: Resumes,
}

/// Which explorer a strategy is.
#[derive(Clone, Copy, Debug)]
pub enum ExplorerKind {
    /// [`crate::auto`].
    Auto,
    /// [`crate::ram::Breadth`].
    Breadth,
    /// [`crate::ram::Depth`].
    Depth,
    /// [`crate::relaxed`].
    Relaxed,
    /// [`crate::partition`], with these settings where no others are given.
    Partition(fn() -> PartitionOptions),
    /// [`crate::auto`], counting [`crate::paths`].
    Paths,
    /// [`crate::strategy`], with these settings.
    Layered(fn() -> Strategy),
}

/// What holds of a strategy's answers beside law 1: every complete exploration is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Traces are shortest, unless the answer says otherwise.
    pub shortest: bool,
    /// States are visited in breadth-first layers: depths are known, and `--max-depth` has a meaning.
    pub layers: bool,
    /// Liveness properties are checked.
    pub liveness: bool,
    /// No state is counted twice, whatever is asked.
    pub counts: bool,
}

/// What a strategy goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumes {
    /// Nothing: it stays in RAM.
    Nothing,
    /// Layers on disk, whichever layered strategy (or `auto`) left them.
    Layers,
    /// What it left itself.
    ItsOwn,
}

const EXACT_LAYERS: Promises = Promises { shortest: true, layers: true, liveness: false, counts: true };
const WITH_LIVENESS: Promises = Promises { liveness: true, ..EXACT_LAYERS };
const WITHOUT_LAYERS: Promises = Promises { shortest: false, layers: false, ..EXACT_LAYERS };
/// Layers are deleted: what was in them may be counted again, which the answer says.
const FORGETTING: Promises = Promises { counts: false, ..EXACT_LAYERS };

/// Every strategy, in the order of docs/strategies.md.
pub static STRATEGIES: &[StrategyInfo] = &[
    StrategyInfo {
        name: "auto",
        help: "A table in RAM, then a decision diagram, then the disk, as the budget demands. Shortest traces",
        explorer: ExplorerKind::Auto,
        options: &[],
        promises: WITH_LIVENESS,
        resumes: Resumes::Layers,
    },
    StrategyInfo {
        name: "bfs",
        help: "Breadth-first in RAM: shortest traces",
        explorer: ExplorerKind::Breadth,
        options: &[],
        promises: WITH_LIVENESS,
        resumes: Resumes::Nothing,
    },
    StrategyInfo {
        name: "dfs",
        help: "Depth-first in RAM",
        explorer: ExplorerKind::Depth,
        options: &[],
        promises: WITHOUT_LAYERS,
        resumes: Resumes::Nothing,
    },
    StrategyInfo {
        name: "relaxed",
        help: "Certainly new states at once, the others in batches: faster on deep graphs; depths are not known",
        explorer: ExplorerKind::Relaxed,
        options: &[],
        promises: Promises { shortest: true, ..WITHOUT_LAYERS },
        resumes: Resumes::ItsOwn,
    },
    StrategyInfo {
        name: "part",
        help: "Partition by partition, split as the budget demands. Traces need not be shortest",
        explorer: ExplorerKind::Partition(PartitionOptions::default),
        options: &["part-heuristic", "part-states", "part-one", "part-overflow", "shortest"],
        promises: WITHOUT_LAYERS,
        resumes: Resumes::ItsOwn,
    },
    StrategyInfo {
        name: "bao-jones",
        help: "As Bao and Jones's disk Murphi: partitions by a fixed hash of the state, one at a time in RAM",
        explorer: ExplorerKind::Partition(|| PartitionOptions {
            heuristic: Heuristic::StaticGhc,
            one_at_a_time: true,
            ..PartitionOptions::default()
        }),
        options: &["part-states", "part-overflow", "shortest"],
        promises: WITHOUT_LAYERS,
        resumes: Resumes::ItsOwn,
    },
    StrategyInfo {
        name: "paths",
        help: "As auto, without diagrams: says how many shortest paths lead to what is found",
        explorer: ExplorerKind::Paths,
        options: &[],
        promises: WITH_LIVENESS,
        resumes: Resumes::ItsOwn,
    },
    layered(
        "sort",
        "On disk, layer by layer: duplicates found by sorting, closed states in runs that merge as they grow",
        &["cache", "cache-distances"],
        || Strategy::by(&SORT),
    ),
    layered("sort-single-file", "As sort, closed states in one file", &["cache", "cache-distances"], || {
        Strategy::by(&SORT_SINGLE_FILE)
    }),
    layered(
        "sort-file-per-layer",
        "As sort, closed states in one file per layer",
        &["cache", "cache-distances"],
        || Strategy::by(&SORT_FILE_PER_LAYER),
    ),
    layered(
        "sort-separate",
        "As sort, candidates merged on their own first",
        &["cache", "cache-distances"],
        || Strategy::by(&SORT_SEPARATE),
    ),
    layered(
        "hash",
        "On disk: duplicates found in hash buckets",
        &[
            "cache",
            "cache-distances",
            "bound",
            "trust-bound",
            "shared-table",
            "partition",
            "first-partition",
            "save-partition",
            "split-by",
        ],
        || Strategy::by(&HASH),
    ),
    layered(
        "bfs-hd3",
        "As BFS-HD3, the baseline of Evangelista and Kristensen: hash buckets without a cache before them",
        &["cache-distances", "partition", "first-partition", "save-partition", "split-by"],
        || Strategy { cache: CacheKind::Buffer, ..Strategy::by(&HASH) },
    ),
    layered(
        "phased",
        "On disk: duplicates found in phases of sorted candidates",
        &["cache", "cache-distances", "bound", "trust-bound"],
        || Strategy::by(&PHASED),
    ),
    layered(
        "partial",
        "On disk: compared with recent layers, with full checks now and then; counts are exact",
        &["cache", "cache-distances", "bound", "trust-bound"],
        || Strategy::by(&PARTIAL),
    ),
    StrategyInfo {
        promises: FORGETTING,
        ..layered(
            "layered",
            "On disk: old layers are deleted when there is no room (--keep-layers, --keep-bytes)",
            &["cache", "cache-distances", "keep-layers", "keep-bytes", "in-ram", "diameter"],
            // A cache that remembers deleted layers would make the numbers depend on the budget.
            || Strategy { cache: CacheKind::Buffer, ..Strategy::by(&LAYERED) },
        )
    },
    layered(
        "structured",
        "On disk: states in tables by some of their scalars, of which those that successors fall into are in RAM",
        &[],
        || Strategy { cache: CacheKind::Off, ..Strategy::by(&STRUCTURED) },
    ),
    layered(
        "stern-dill",
        "As Stern and Dill's disk Murphi: a pass over all old states whenever memory is full",
        &["cache", "cache-distances"],
        || Strategy { cache: CacheKind::Table, ..Strategy::by(&SORT_PER_BATCH) },
    ),
    layered(
        "della-penna",
        "As Della Penna et al.: a random number of recent layers is looked at, with full checks now and then",
        &["cache", "cache-distances"],
        || Strategy { cache: CacheKind::Table, bound: Some(Bound::Random), ..Strategy::by(&PARTIAL) },
    ),
    layered(
        "selective",
        "As Evangelista's selective detection: only layers that many duplicates lay in are looked at, with full checks now and then",
        &["cache", "cache-distances"],
        || Strategy { bound: Some(Bound::Selected), ..Strategy::by(&PARTIAL) },
    ),
    layered(
        "roscoe",
        "As Roscoe's checker for FDR: sorted batches without a cache, one sorted list of all states, merged in every layer",
        &["cache-distances"],
        || Strategy { cache: CacheKind::Buffer, ..Strategy::by(&SORT_SINGLE_FILE) },
    ),
    layered(
        "mr-bfs",
        "As Munagala and Ranade's external search: two layers are looked at, with full checks now and then",
        &["cache", "cache-distances"],
        || Strategy { cache: CacheKind::Buffer, bound: Some(Bound::Layers(2)), ..Strategy::by(&PARTIAL) },
    ),
    StrategyInfo {
        promises: FORGETTING,
        ..layered(
            "frontier",
            "As Korf's frontier search: only the last layers are kept",
            &["cache", "cache-distances", "in-ram", "diameter", "used-operators"],
            || Strategy {
                cache: CacheKind::Buffer,
                keep_layers: Some(3),
                ..Strategy::by(&SORT_FILE_PER_LAYER)
            },
        )
    },
];

/// A strategy of the layered loop on disk.
const fn layered(
    name: &'static str,
    help: &'static str,
    options: &'static [&'static str],
    settings: fn() -> Strategy,
) -> StrategyInfo {
    let explorer = ExplorerKind::Layered(settings);
    StrategyInfo { name, help, explorer, options, promises: EXACT_LAYERS, resumes: Resumes::Layers }
}

impl StrategyInfo {
    /// The strategy of this name.
    pub fn named(name: &str) -> Option<&'static StrategyInfo> {
        STRATEGIES.iter().find(|info| info.name == name)
    }

    /// Its settings, where it is one of the layered ones.
    pub fn settings(&self) -> Option<Strategy> {
        match self.explorer {
            ExplorerKind::Layered(settings) => Some(settings()),
            _ => None,
        }
    }

    /// Whether it never uses the disk.
    pub fn stays_in_ram(&self) -> bool {
        matches!(self.explorer, ExplorerKind::Breadth | ExplorerKind::Depth)
    }

    /// Whether one thread explores, however many there are.
    pub fn has_one_thread(&self) -> bool {
        matches!(self.explorer, ExplorerKind::Partition(_))
    }

    /// Whether an option belongs to it.
    pub fn takes(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

/// The layered strategies on disk: name and usual settings.
pub fn on_disk() -> impl Iterator<Item = (&'static str, Strategy)> {
    STRATEGIES.iter().filter_map(|info| Some((info.name, info.settings()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_help_say_one_thing_each() {
        let names: BTreeSet<&str> = STRATEGIES.iter().map(|info| info.name).collect();
        assert_eq!(names.len(), STRATEGIES.len());
        assert!(STRATEGIES.iter().all(|info| !info.help.is_empty() && !info.help.contains('\n')));
    }

    #[test]
    fn what_deletes_layers_does_not_promise_counts() {
        for info in STRATEGIES {
            let deletes =
                info.takes("keep-layers") || info.settings().is_some_and(|s| s.keep_layers.is_some());
            assert_eq!(info.promises.counts, !deletes, "{}", info.name);
        }
    }

    /// docs/strategies.md has a row for every strategy, and names none that does not exist.
    #[test]
    fn the_document_has_a_row_for_every_strategy() {
        let text = include_str!("../../../docs/strategies.md");
        let rows = text.lines().skip_while(|line| !line.starts_with("| strategy |")).skip(2);
        let mut told: Vec<&str> = Vec::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            let first = row.split('|').nth(1).unwrap_or_default();
            told.extend(first.split('`').skip(1).step_by(2));
        }
        let told: BTreeSet<&str> = told.into_iter().collect();
        let known: BTreeSet<&str> = STRATEGIES.iter().map(|info| info.name).collect();
        assert_eq!(told, known);
    }
}
