//! Options of the strategies that detect duplicates layer by layer on disk (docs/strategies.md), and running one of them.

use crate::args::{Strategy, parse_size};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use hadal_search::Report;
use hadal_search::layered::Trouble;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::hash::{Sampling, SplitBy};
use hadal_search::layered::partial::Bound;
use hadal_search::strategy::{self, Detection, PartitionSource, StrategySearch};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Options of the layered strategies; each belongs to some of them.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DetectionArgs {
    /// With a layered disk strategy: what is remembered of generated states before they are written.
    #[arg(long, value_enum, value_name = "KIND")]
    pub cache: Option<CacheChoice>,
    /// With --strategy partial, hash or phased: compare with this many recent layers, or with as many as the duplicates
    /// seen ask for (auto), and with all now and then.
    #[arg(long, value_name = "LAYERS|auto", value_parser = parse_bound, alias = "partial")]
    pub bound: Option<Bound>,
    /// With --strategy layered: most layers kept on disk.
    #[arg(long, value_name = "N")]
    pub keep_layers: Option<u64>,
    /// With --strategy layered: most bytes of layers kept on disk.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub keep_bytes: Option<u64>,
    /// With --strategy layered or frontier: no shortest path is longer than this, so what is deeper was seen before.
    #[arg(long, value_name = "DEPTH")]
    pub diameter: Option<u64>,
    /// With --strategy hash: part states by these scalars (comma-separated), or as in this file of --save-partition.
    #[arg(long, value_name = "NAMES|FILE")]
    pub partition: Option<String>,
    /// With --strategy hash: how the scalars are chosen that states are parted by at first.
    #[arg(long, value_enum, value_name = "RULE", conflicts_with = "partition")]
    pub first_partition: Option<SamplingChoice>,
    /// With --strategy hash: write the partition to this file at the end.
    #[arg(long, value_name = "FILE")]
    pub save_partition: Option<PathBuf>,
    /// With --strategy hash: what a bucket that is too large is split by.
    #[arg(long, value_enum, value_name = "RULE")]
    pub split_by: Option<SplitChoice>,
}

/// What is remembered of generated states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum SplitChoice {
    /// The scalar whose largest new bucket is smallest.
    MinMax,
    /// The scalar with the fewest values.
    Fewest,
    /// Any scalar.
    Random,
}

impl DetectionArgs {
    /// The strategy with these options, or none where `strategy` is not one of the layered ones; refuses options that
    /// would do nothing.
    pub fn strategy(&self, strategy: Strategy) -> Result<Option<strategy::Strategy>, Failure> {
        let name = strategy.name();
        let refuse = |option: &str, of: &str| {
            Failure::Usage(format!("{option} belongs to {of}; it would do nothing with --strategy {name}"))
        };
        let Some(mut chosen) = strategy::Strategy::named(&name) else {
            return match *self == DetectionArgs::default() {
                true => Ok(None),
                false => Err(refuse(self.first_given(), "the layered disk strategies")),
            };
        };
        if self.cache.is_some() && strategy == Strategy::Structured {
            return Err(Failure::Usage(
                "--cache would do nothing with --strategy structured, which knows duplicates at once".into(),
            ));
        }
        if let Some(cache) = self.cache {
            chosen.cache = match cache {
                CacheChoice::Off => CacheKind::Off,
                CacheChoice::Buffer => CacheKind::Buffer,
                CacheChoice::Table => CacheKind::Table,
                CacheChoice::Lru => CacheKind::Lru,
            };
        }
        if let Some(bound) = self.bound {
            match strategy {
                Strategy::Partial => chosen.detection = Detection::Partial(bound),
                Strategy::Hash | Strategy::Phased => chosen.bound = Some(bound),
                _ => return Err(refuse("--bound", "--strategy partial, hash and phased")),
            }
        }
        let deletes = matches!(strategy, Strategy::Layered | Strategy::Frontier);
        if (self.keep_layers.is_some() || self.keep_bytes.is_some()) && strategy != Strategy::Layered {
            return Err(refuse("--keep-layers and --keep-bytes", "--strategy layered"));
        }
        if strategy == Strategy::Layered && self.keep_layers.is_none() && self.keep_bytes.is_none() {
            return Err(Failure::Usage(
                "--strategy layered deletes old layers: say when, with --keep-layers N or --keep-bytes SIZE"
                    .into(),
            ));
        }
        chosen.keep_layers = self.keep_layers.or(chosen.keep_layers);
        chosen.keep_bytes = self.keep_bytes;
        if self.diameter.is_some() && !deletes {
            return Err(refuse("--diameter", "--strategy layered or frontier"));
        }
        chosen.diameter = self.diameter;
        match &mut chosen.detection {
            Detection::Hash { partition, split_by } => {
                if let Some(text) = &self.partition {
                    *partition = partition_source(text)?;
                }
                if let Some(choice) = self.first_partition {
                    *partition = PartitionSource::Sampled(choice.sampling());
                }
                *split_by = match self.split_by {
                    None | Some(SplitChoice::MinMax) => SplitBy::SmallestLargest,
                    Some(SplitChoice::Fewest) => SplitBy::Fewest,
                    Some(SplitChoice::Random) => SplitBy::Random,
                };
            }
            _ => {
                let of_hash = [
                    (self.partition.is_some(), "--partition"),
                    (self.first_partition.is_some(), "--first-partition"),
                    (self.save_partition.is_some(), "--save-partition"),
                    (self.split_by.is_some(), "--split-by"),
                ];
                if let Some((_, option)) = of_hash.iter().find(|(given, _)| *given) {
                    return Err(refuse(option, "--strategy hash"));
                }
            }
        }
        Ok(Some(chosen))
    }

    fn first_given(&self) -> &'static str {
        let given = [
            (self.cache.is_some(), "--cache"),
            (self.bound.is_some(), "--bound"),
            (self.keep_layers.is_some(), "--keep-layers"),
            (self.keep_bytes.is_some(), "--keep-bytes"),
            (self.diameter.is_some(), "--diameter"),
            (self.partition.is_some(), "--partition"),
            (self.first_partition.is_some(), "--first-partition"),
            (self.save_partition.is_some(), "--save-partition"),
        ];
        given.iter().find(|(given, _)| *given).map_or("--split-by", |(_, name)| name)
    }

    /// Explores, or goes on with a run, and saves the partition where that is asked.
    pub fn explore(&self, search: &StrategySearch, resumed: Option<&Path>) -> Result<Report, Trouble> {
        let explored = match resumed {
            Some(_) => strategy::resume(search)?,
            None => strategy::explore(search)?,
        };
        if let (Some(path), Some(text)) = (&self.save_partition, &explored.partition)
            && let Err(error) = std::fs::write(path, text)
        {
            eprintln!("warning: cannot save the partition to {}: {error}", path.display());
        }
        Ok(explored.report)
    }
}

fn parse_bound(text: &str) -> Result<Bound, String> {
    match text {
        "auto" => Ok(Bound::Auto),
        layers => match layers.parse() {
            Ok(layers @ 1..) => Ok(Bound::Layers(layers)),
            _ => Err("a number of layers, at least 1, or auto".into()),
        },
    }
}

fn partition_source(text: &str) -> Result<PartitionSource, Failure> {
    if !Path::new(text).is_file() {
        return Ok(PartitionSource::Names(text.split(',').map(|name| name.trim().to_owned()).collect()));
    }
    match std::fs::read_to_string(text) {
        Ok(saved) => Ok(PartitionSource::Saved(saved)),
        Err(error) => Err(Failure::Usage(format!("cannot read the partition {text}: {error}"))),
    }
}
