//! From arguments to a validated plan: everything a search needs, with defaults filled in.

use crate::args::{CheckArgs, Deadlock, Strategy, Symmetry, WhenFull};
use crate::directed::DirectedPlan;
use crate::failure::Failure;
use hadal_exec::model::{Engine, ModelOptions};
use hadal_exec::symmetry::SymmetryMode;
use hadal_lang::Language;
use hadal_search::{DeadlockNotion, Limits};
use hadal_system::{Expr, PropertyBody, PropertyKind, System};

/// The least budget in which every strategy works.
const LEAST_MEMORY: u64 = 16 << 20;

/// What `check` will do.
#[derive(Debug)]
pub struct Plan {
    /// Budget in bytes.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Order and storage.
    pub strategy: Strategy,
    /// The strategy with its options, where it is one of the layered ones on disk.
    pub layered: Option<hadal_search::strategy::Strategy>,
    /// A directed search, where one is asked for.
    pub directed: Option<DirectedPlan>,
    /// The notion of deadlock.
    pub deadlock: DeadlockNotion,
    /// When to stop.
    pub limits: Limits,
}

impl Plan {
    /// Validates the arguments against each other and the model's language.
    pub fn new(args: &CheckArgs, language: &Language, system: &System) -> Result<Self, Failure> {
        let layered = args.detection.strategy(args.strategy)?;
        let directed = args.directed.plan()?;
        if directed.is_some() && args.strategy != Strategy::Auto {
            return Err(Failure::Usage(format!(
                "a directed search has an order of its own: leave out --strategy {}",
                args.strategy.name()
            )));
        }
        let without_layers =
            directed.is_some() || matches!(args.strategy, Strategy::Dfs | Strategy::Part | Strategy::Relaxed);
        if layered.is_some() || without_layers {
            if args.limits.max_depth.is_some() && layered.is_none() {
                return Err(Failure::Usage(
                    "--max-depth needs breadth-first layers: leave out --strategy, --find and what implies it".into(),
                ));
            }
            // A directed search in RAM looks for errors first and leaves liveness to the search after it.
            let leaves_liveness = directed.as_ref().is_some_and(|directed| !directed.uses_disk());
            if system.properties.iter().any(|p| p.kind == PropertyKind::Liveness)
                && !args.property_excludes_liveness(system)
                && !leaves_liveness
            {
                return Err(Failure::Usage(
                    "the model has liveness properties, which --strategy auto and bfs check, and --find after it found no \
                     error: leave out --strategy (or --order astar and external-astar), or choose other properties with \
                     --property"
                        .into(),
                ));
            }
        }
        if matches!(args.strategy, Strategy::Bfs | Strategy::Dfs) && args.limits.disk_limit.is_some() {
            return Err(Failure::Usage(format!(
                "--disk-limit would do nothing with --strategy {}, which stays in RAM",
                args.strategy.name()
            )));
        }
        let has_layers = args.strategy == Strategy::Auto || layered.is_some();
        if args.limits.when_full == WhenFull::DeleteLayers && !has_layers {
            return Err(Failure::Usage(format!(
                "--when-full delete-layers would do nothing with --strategy {}, which keeps no layers on disk",
                args.strategy.name()
            )));
        }
        let deadlock = match args.deadlock {
            // Naming properties asks about those only, unless deadlock is asked for as well.
            None if !args.property.is_empty() => DeadlockNotion::Off,
            None | Some(Deadlock::On) => language.deadlock,
            Some(Deadlock::Off) => DeadlockNotion::Off,
            Some(Deadlock::Stuck) => DeadlockNotion::Stuck,
            Some(Deadlock::Stuttering) => DeadlockNotion::Stuttering,
        };
        let memory = args.limits.memory.unwrap_or_else(default_memory);
        if memory < LEAST_MEMORY {
            return Err(Failure::Usage(format!(
                "--memory {memory} is too small: buffers alone take some megabytes; give at least {}M",
                LEAST_MEMORY >> 20
            )));
        }
        Ok(Plan {
            memory,
            threads: args.limits.threads.map_or_else(default_threads, usize::from),
            strategy: args.strategy,
            layered,
            directed,
            deadlock,
            limits: Limits {
                max_states: args.limits.max_states,
                max_depth: args.limits.max_depth,
                time: args.limits.time_limit,
                when_full: match args.limits.when_full {
                    WhenFull::Pause => hadal_search::WhenFull::Pause,
                    WhenFull::DeleteLayers => hadal_search::WhenFull::DeleteLayers,
                },
            },
        })
    }
}

impl CheckArgs {
    fn property_excludes_liveness(&self, system: &System) -> bool {
        !self.property.is_empty()
            && system
                .properties
                .iter()
                .all(|p| p.kind != PropertyKind::Liveness || !self.property.contains(&p.name))
    }
}

/// How the model is to be run.
pub fn model_options(symmetry: Symmetry, interpret: bool) -> ModelOptions {
    ModelOptions {
        engine: if interpret { Engine::Interpreted } else { Engine::Compiled },
        symmetry: match symmetry {
            Symmetry::Off => SymmetryMode::Off,
            Symmetry::Heuristic => SymmetryMode::Heuristic,
            Symmetry::Exact => SymmetryMode::Exact,
            Symmetry::Auto => SymmetryMode::Auto,
        },
    }
}

/// Leaves only the named properties, or all but goals where none is named (and all assumptions, which are part of the
/// model): the others become trivial.
pub fn select_properties(system: &mut System, names: &[String]) -> Result<Vec<bool>, Failure> {
    for name in names {
        if !system.properties.iter().any(|p| p.name == *name) {
            let known: Vec<_> = system.properties.iter().map(|p| format!("`{}`", p.name)).collect();
            let known = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            };
            return Err(Failure::Usage(format!("the model has no property `{name}`; {known}")));
        }
    }
    let mut asked = Vec::new();
    let bases = system.property_bases();
    for (n, property) in system.properties.iter_mut().enumerate() {
        // A goal is a question of its own: meeting it would end the search for everything else.
        let selected = match names {
            [] => !matches!(property.kind, PropertyKind::Goal | PropertyKind::Proposition),
            names => names.contains(&property.name),
        };
        asked.extend(std::iter::repeat_n(selected, (bases[n + 1] - bases[n]) as usize));
        if !selected {
            match property.kind {
                PropertyKind::Invariant => property.body = PropertyBody::State(Expr::constant(1)),
                PropertyKind::Goal => property.body = PropertyBody::State(Expr::constant(0)),
                PropertyKind::Assumption
                | PropertyKind::Cover
                | PropertyKind::Liveness
                | PropertyKind::Proposition
                | PropertyKind::Rest => {}
            }
        }
    }
    Ok(asked)
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get()).min(64)
}

/// Three quarters of what the machine has free, or 1 GiB where it does not say.
fn default_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    available.map_or(1 << 30, |kib| kib * 1024 / 4 * 3)
}
