//! Options of the strategies that detect duplicates layer by layer on disk (docs/strategies.md), and running one of them.

use crate::error::CheckError;
#[cfg(feature = "clap")]
use crate::options::parse_size;
use crate::strategy::Strategy;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::hash::{Sampling, SplitBy};
use hadal_search::layered::partial::Bound;
use hadal_search::strategy::{self, PartitionSource};
use hadal_search::{Control, Explored};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Options of the layered strategies; each belongs to some of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Detecting {
    /// With a layered disk strategy: what is remembered of generated states before they are written.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "KIND"))]
    pub cache: Option<CacheChoice>,
    /// With a layered disk strategy: count generated states by how many others came since they were generated
    /// before, which says what a cache of any size would find. With several threads their order, and so the count, varies.
    #[cfg_attr(feature = "clap", arg(long))]
    pub cache_distances: bool,
    /// With --strategy partial, hash or phased: compare with this many recent layers, or with a number that follows the
    /// duplicates seen (auto), and with all layers now and then.
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAYERS|auto", value_parser = parse_bound, alias = "partial"))]
    pub bound: Option<Bound>,
    /// With --bound LAYERS: trust the bound and never compare with all layers. No state is missed, but distant ones are
    /// explored and counted again.
    #[cfg_attr(feature = "clap", arg(long, requires = "bound"))]
    pub trust_bound: bool,
    /// With --strategy hash: use one table in turn, as the cache while a layer is expanded and for buckets after that.
    #[cfg_attr(feature = "clap", arg(long))]
    pub shared_table: bool,
    /// With --strategy layered: keep at most this many layers on disk, at least 2: the one being expanded and the one
    /// being found. With --order bfhs and --cost-bound: the same in RAM.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..)))]
    pub keep_layers: Option<u64>,
    /// With --strategy layered: keep at most this many bytes of layers on disk.
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", value_parser = parse_size))]
    pub keep_bytes: Option<u64>,
    /// With --strategy layered or frontier: keep layers in RAM, under the budget, and nothing on disk.
    #[cfg_attr(feature = "clap", arg(long))]
    pub in_ram: bool,
    /// With --strategy frontier: mark beside every state the operators that lead back to the layer before, and do not fire
    /// them. Then one layer is kept besides the one being found.
    #[cfg_attr(feature = "clap", arg(long))]
    pub used_operators: bool,
    /// With --strategy layered or frontier: trust that no shortest path is longer than this, so that every deeper state
    /// is a duplicate.
    #[cfg_attr(feature = "clap", arg(long, value_name = "DEPTH"))]
    pub diameter: Option<u64>,
    /// With --strategy hash: partition states by these scalars (comma-separated), or as in this file from
    /// --save-partition.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAMES|FILE"))]
    pub partition: Option<String>,
    /// With --strategy hash: how to choose the scalars of the first partition.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "RULE", conflicts_with = "partition"))]
    pub first_partition: Option<SamplingChoice>,
    /// With --strategy hash: write the partition to this file at the end.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub save_partition: Option<PathBuf>,
    /// With --strategy hash: what to split a bucket by that is too large.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "RULE"))]
    pub split_by: Option<SplitChoice>,
}

/// What is remembered of generated states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum CacheChoice {
    /// Nothing: small sorted batches.
    Off,
    /// Nothing, but batches as large as memory allows, written without repetitions.
    Buffer,
    /// A table that is emptied when full.
    Table,
    /// A table that forgets its older half when full.
    Lru,
}

/// How the first scalars are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SamplingChoice {
    /// Those with the most values in a sample that goes deep.
    Sampled,
    /// One more than sampled.
    OneMore,
    /// Those with the most values in the first states of a breadth-first search.
    Bfs,
    /// Any that vary.
    Random,
}

impl From<CacheChoice> for CacheKind {
    fn from(choice: CacheChoice) -> Self {
        match choice {
            CacheChoice::Off => CacheKind::Off,
            CacheChoice::Buffer => CacheKind::Buffer,
            CacheChoice::Table => CacheKind::Table,
            CacheChoice::Lru => CacheKind::Lru,
        }
    }
}

impl From<SplitChoice> for SplitBy {
    fn from(choice: SplitChoice) -> Self {
        match choice {
            SplitChoice::MinMax => SplitBy::SmallestLargest,
            SplitChoice::Fewest => SplitBy::Fewest,
            SplitChoice::Random => SplitBy::Random,
        }
    }
}

impl SamplingChoice {
    fn sampling(self) -> Sampling {
        match self {
            SamplingChoice::Sampled => Sampling::Deep,
            SamplingChoice::OneMore => Sampling::OneMore,
            SamplingChoice::Bfs => Sampling::BreadthFirst,
            SamplingChoice::Random => Sampling::Random(RANDOM_SEED),
        }
    }
}

/// The same choice in every run.
const RANDOM_SEED: u64 = 1;

/// What a bucket is split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SplitChoice {
    /// The scalar whose largest new bucket is smallest.
    MinMax,
    /// The scalar with the fewest values.
    Fewest,
    /// Any scalar.
    Random,
}

impl Detecting {
    /// The strategy with these options, or none where `strategy` is not one of the layered ones; refuses options that
    /// would do nothing.
    pub(crate) fn strategy(&self, strategy: Strategy) -> Result<Option<strategy::Strategy>, CheckError> {
        let Some(mut chosen) = strategy.settings() else {
            return match self.given().next() {
                None => Ok(None),
                Some(option) => Err(refuse(option, strategy)),
            };
        };
        if self.cache.is_some() && chosen.cache == CacheKind::Off && !strategy.takes("cache") {
            return Err(CheckError::Question(format!(
                "--cache would do nothing with --strategy {strategy}, which knows duplicates at once"
            )));
        }
        if let Some(option) = self.given().find(|option| !strategy.takes(option)) {
            return Err(refuse(option, strategy));
        }
        if let Some(cache) = self.cache {
            chosen.cache = cache.into();
        }
        if self.trust_bound && !matches!(self.bound, Some(Bound::Layers(_))) {
            return Err(CheckError::Question(
                "--trust-bound takes a number of layers for right: write --bound LAYERS".to_owned(),
            ));
        }
        chosen.bound = self.bound.or(chosen.bound);
        chosen.trust_bound = self.trust_bound;
        chosen.shared_table = self.shared_table;
        chosen.cache_distances = self.cache_distances;
        if strategy.takes("keep-layers") && self.keep_layers.is_none() && self.keep_bytes.is_none() {
            return Err(CheckError::Question(format!(
                "--strategy {strategy} deletes old layers: say when, with --keep-layers N or --keep-bytes SIZE"
            )));
        }
        chosen.keep_layers = self.keep_layers.or(chosen.keep_layers);
        if self.used_operators {
            chosen.keep_layers = Some(2);
        }
        chosen.keep_bytes = self.keep_bytes;
        chosen.in_ram = self.in_ram;
        chosen.diameter = self.diameter;
        if let Some(text) = &self.partition {
            chosen.partition = partition_source(text)?;
        }
        if let Some(choice) = self.first_partition {
            chosen.partition = PartitionSource::Sampled(choice.sampling());
        }
        if let Some(choice) = self.split_by {
            chosen.split_by = choice.into();
        }
        Ok(Some(chosen))
    }

    /// The options that are given, by their names in the table of strategies.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.cache.is_some(), "cache"),
            (self.cache_distances, "cache-distances"),
            (self.bound.is_some(), "bound"),
            (self.trust_bound, "trust-bound"),
            (self.shared_table, "shared-table"),
            (self.keep_layers.is_some(), "keep-layers"),
            (self.keep_bytes.is_some(), "keep-bytes"),
            (self.in_ram, "in-ram"),
            (self.diameter.is_some(), "diameter"),
            (self.used_operators, "used-operators"),
            (self.partition.is_some(), "partition"),
            (self.first_partition.is_some(), "first-partition"),
            (self.save_partition.is_some(), "save-partition"),
            (self.split_by.is_some(), "split-by"),
        ];
        given.into_iter().filter_map(|(given, name)| given.then_some(name))
    }

    /// Saves the partition of a search, where that is asked.
    pub(crate) fn save_partition(&self, explored: &Explored, control: &Control) {
        if let (Some(path), Some(text)) = (&self.save_partition, &explored.partition)
            && let Err(error) = std::fs::write(path, text)
        {
            control.warn(format!("cannot save the partition to {}: {error}", path.display()));
        }
    }
}

/// Says to which strategies an option belongs.
fn refuse(option: &str, strategy: Strategy) -> CheckError {
    let mut names: Vec<&str> =
        Strategy::all().filter(|other| other.takes(option)).map(|other| other.info().name).collect();
    let last = names.pop().unwrap_or_default();
    let of = match (option, names.as_slice()) {
        ("cache" | "cache-distances", _) => "the layered disk strategies".to_owned(),
        (_, []) => format!("--strategy {last}"),
        (_, others) => format!("--strategy {} and {last}", others.join(", ")),
    };
    CheckError::Question(format!(
        "--{option} belongs to {of}; it would do nothing with --strategy {strategy}"
    ))
}

#[cfg(feature = "clap")]
fn parse_bound(text: &str) -> Result<Bound, String> {
    match text {
        "auto" => Ok(Bound::Auto),
        layers => match layers.parse() {
            Ok(layers @ 1..) => Ok(Bound::Layers(layers)),
            _ => Err("a number of layers, at least 1, or auto".into()),
        },
    }
}

fn partition_source(text: &str) -> Result<PartitionSource, CheckError> {
    if !Path::new(text).is_file() {
        return Ok(PartitionSource::Names(text.split(',').map(|name| name.trim().to_owned()).collect()));
    }
    match std::fs::read_to_string(text) {
        Ok(saved) => Ok(PartitionSource::Saved(saved)),
        Err(error) => Err(CheckError::Question(format!("cannot read the partition {text}: {error}"))),
    }
}
