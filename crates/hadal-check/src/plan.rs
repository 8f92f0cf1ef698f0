//! From options to a validated plan: everything a search needs, with defaults filled in.

use crate::directed::DirectedPlan;
use crate::error::CheckError;
use crate::memory::{LEAST_MEMORY, default_memory, default_threads};
use crate::options::Options;
use hadal_search::WhenFull;
use hadal_search::strategies::ExplorerKind;
use hadal_search::strategy::Strategy as Layered;

/// What a check will do.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Budget in bytes.
    pub(crate) memory: u64,
    /// Threads.
    pub(crate) threads: usize,
    /// The strategy with its options, where it is one of the layered ones on disk.
    pub(crate) layered: Option<Layered>,
    /// A directed search, where one is asked for.
    pub(crate) directed: Option<DirectedPlan>,
}

impl Plan {
    /// Validates the options against each other and what is asked.
    pub(crate) fn new(options: &Options, asks_liveness: bool) -> Result<Self, CheckError> {
        let strategy = options.strategy;
        let mut detecting = options.detecting.clone();
        let kept = match options.directing.takes_kept_layers() {
            true => detecting.keep_layers.take(),
            false => None,
        };
        let layered = detecting.strategy(strategy)?;
        let directed = options.directing.plan(kept)?;
        if directed.is_some() && !strategy.is_default() {
            return Err(CheckError::Question(format!(
                "a directed search has an order of its own: leave out --strategy {strategy}"
            )));
        }
        let limits = &options.budget.limits;
        let has_layers = directed.is_none() && strategy.promises.layers;
        if limits.max_depth.is_some() && !has_layers {
            return Err(CheckError::Question(
                "--max-depth needs breadth-first layers: leave out --strategy, --find and what implies it"
                    .into(),
            ));
        }
        // A directed search in RAM looks for errors first and leaves liveness to the search after it.
        let keeps_liveness = match &directed {
            Some(directed) => !directed.uses_disk(),
            None => strategy.promises.liveness,
        };
        if !keeps_liveness && asks_liveness {
            return Err(CheckError::Question(
                "the model has liveness properties, which --strategy auto and bfs check, and --find after it found no \
                 error: leave out --strategy (or --order astar and external-astar), or choose other properties with \
                 --property"
                    .into(),
            ));
        }
        if matches!(strategy.explorer, ExplorerKind::Paths) && !options.reductions.is_empty() {
            return Err(CheckError::Question(format!(
                "--strategy {strategy} counts the paths of the whole model: leave out --por, --coi, \
                 --safe-abstraction and --decompose"
            )));
        }
        let in_ram = layered.as_ref().is_some_and(|layered| layered.in_ram);
        let on_disk = options.budget.disk.is_some() || options.place.disk.is_some();
        if in_ram && (on_disk || limits.when_full == WhenFull::DeleteLayers) {
            return Err(CheckError::Question(
                "--disk, --disk-limit and --when-full would do nothing with --in-ram, which keeps nothing on disk"
                    .into(),
            ));
        }
        if strategy.stays_in_ram() && options.budget.disk.is_some() {
            return Err(CheckError::Question(format!(
                "--disk-limit would do nothing with --strategy {strategy}, which stays in RAM"
            )));
        }
        if let Some(option) = options.partitioning.given()
            && !strategy.takes(option)
        {
            return Err(CheckError::Question(format!(
                "--{option} belongs to --strategy part; it would do nothing with --strategy {strategy}"
            )));
        }
        let layers_on_disk =
            matches!(strategy.explorer, ExplorerKind::Auto | ExplorerKind::Paths | ExplorerKind::Layered(_));
        if limits.when_full == WhenFull::DeleteLayers && !layers_on_disk {
            return Err(CheckError::Question(format!(
                "--when-full delete-layers would do nothing with --strategy {strategy}, which keeps no layers on disk"
            )));
        }
        let memory = options.budget.memory.unwrap_or_else(default_memory);
        if memory < LEAST_MEMORY {
            return Err(CheckError::Question(format!(
                "--memory {memory} is too small: buffers alone take several hundred kilobytes; give at least {}M",
                LEAST_MEMORY >> 20
            )));
        }
        let threads = options.budget.threads.unwrap_or_else(default_threads).clamp(1, 64);
        Ok(Plan { memory, threads, layered, directed })
    }
}
