//! What a run's folder keeps of the command that made it.

use crate::args::{
    AskedArgs, CheckArgs, ClusterArgs, Deadlock, Given, LimitArgs, ModelArgs, ModelErrors, OutputArgs,
    StoringArgs, Symmetry,
};
use crate::timed::TimedArgs;
use hadal_check::formulas::Formulas;
use hadal_check::{Detecting, Directing, Partitioning, Reductions, Running, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The part of a command that decides what is explored: kept in the run's folder, so that `resume` can repeat it.
#[derive(Serialize, Deserialize)]
pub struct About {
    model: PathBuf,
    define: Vec<(String, Given)>,
    symmetry: Symmetry,
    interpret: bool,
    #[serde(default)]
    model_errors: ModelErrors,
    #[serde(default)]
    processes: Vec<(String, usize)>,
    #[serde(default)]
    merge: bool,
    property: Vec<String>,
    deadlock: Option<Deadlock>,
    #[serde(default)]
    shorten: Option<PathBuf>,
    #[serde(default)]
    strategy: Option<Strategy>,
    #[serde(default)]
    formulas: Formulas,
    #[serde(default)]
    running: Running,
    #[serde(default)]
    reduction: Reductions,
    #[serde(default)]
    partition: Partitioning,
    #[serde(default)]
    directed: Directing,
    #[serde(default)]
    detection: Detecting,
    #[serde(default)]
    timed: TimedArgs,
    #[serde(default)]
    cluster: ClusterArgs,
    /// Properties that an earlier search of the same command answered.
    #[serde(default)]
    settled: Vec<String>,
    /// What decides how far a search gets, for whoever reads the command; whoever resumes the run says it anew.
    #[serde(default)]
    limits: Map<String, Value>,
}

impl About {
    pub fn of(args: &CheckArgs) -> Self {
        let model = absolute(&args.model.model);
        About {
            model,
            define: args.model.define.clone(),
            symmetry: args.model.symmetry,
            interpret: args.model.interpret,
            model_errors: args.model.model_errors,
            processes: args.model.processes.clone(),
            merge: args.model.merge,
            property: args.asked.property.clone(),
            deadlock: args.asked.deadlock,
            shorten: args.asked.shorten.as_deref().map(absolute),
            strategy: Some(args.storing.strategy),
            formulas: args.formulas.clone(),
            running: args.running.clone(),
            reduction: args.reduction.clone(),
            partition: args.storing.partition.clone(),
            directed: args.directed.clone(),
            detection: args.storing.detection.clone(),
            timed: TimedArgs { queries: args.timed.queries.as_deref().map(absolute), ..args.timed.clone() },
            cluster: args.cluster.clone(),
            settled: args.asked.settled.clone(),
            limits: limits(args),
        }
    }
}

/// The path of a file for whoever stands elsewhere.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// How far a search may go and where it may keep what it needs, as the command line spells it.
fn limits(args: &CheckArgs) -> Map<String, Value> {
    let mut limits = args.limits.spelled();
    if let Some(disk) = &args.storing.disk {
        limits.insert("disk".into(), disk.display().to_string().into());
    }
    if let Some(most) = args.asked.several {
        limits.insert("continue".into(), most.into());
    }
    limits
}

impl From<About> for CheckArgs {
    fn from(about: About) -> Self {
        CheckArgs {
            model: ModelArgs {
                model: about.model,
                define: about.define,
                symmetry: about.symmetry,
                interpret: about.interpret,
                model_errors: about.model_errors,
                processes: about.processes,
                merge: about.merge,
            },
            limits: LimitArgs::default(),
            storing: StoringArgs {
                strategy: about.strategy.unwrap_or_default(),
                disk: None,
                partition: about.partition,
                detection: about.detection,
            },
            asked: AskedArgs {
                property: about.property,
                deadlock: about.deadlock,
                several: None,
                shorten: about.shorten,
                settled: about.settled,
            },
            formulas: about.formulas,
            running: about.running,
            reduction: about.reduction,
            directed: about.directed,
            timed: about.timed,
            cluster: about.cluster,
            output: OutputArgs::default(),
        }
    }
}
