//! Questions that several workers answer: the launcher's side, and what both sides say.

use super::SolveArgs;
use crate::args::Given;
use crate::cluster::read_token;
use crate::commands::about::absolute;
use crate::failure::Failure;
use crate::outcome::WorkerFigures;
use crate::output;
use hadal_check::units::{counted, size, span};
use hadal_cluster::answer::Disagreement;
use hadal_cluster::hosts::Host;
use hadal_cluster::launch::{Conclusion, Event, Former, LaunchError, Launched, Orders, Waiting, launch};
use hadal_cluster::message::{Figures, JobLimits};
use hadal_search::{Control, Limits};
use hadal_system::chance::Objective;
use hadal_value::Answer;
use hadal_value::answer::{Moved, Size};
use hadal_value::disk::Tier;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the launcher writes down who began.
const WORKERS: &str = "workers.json";

/// A question as workers are told it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) struct Question {
    pub model: PathBuf,
    pub problem: Option<PathBuf>,
    pub define: Vec<(String, Given)>,
    pub properties: Option<PathBuf>,
    pub formula: Option<String>,
    pub property: Option<String>,
    pub precision: f64,
}

impl Question {
    fn of(args: &SolveArgs, objective: &Objective, is_ppddl: bool) -> Self {
        let asked = &args.asked;
        // Of all properties of a file, each is a question of its own.
        let all = asked.formula.is_none() && asked.property.is_none() && !is_ppddl;
        Question {
            model: absolute(&args.model.model),
            problem: args.model.problem.as_deref().map(absolute),
            define: args.model.define.clone(),
            properties: asked.properties.as_deref().map(absolute),
            formula: asked.formula.clone(),
            property: if all { Some(objective.name.clone()) } else { asked.property.clone() },
            precision: args.method.precision,
        }
    }
}

/// What a worker came to: numbers with all their bits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::commands) struct Solved {
    essence: Essence,
    moved: [u64; 4],
    resumed: bool,
}

/// What all workers say alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Essence {
    bounds: Option<(u64, u64)>,
    verdict: Option<bool>,
    count: Option<u64>,
    size: [u64; 4],
    sweeps: u64,
}

impl Conclusion for Solved {
    fn is_stopped(&self) -> bool {
        false
    }
}

impl From<&Answer> for Solved {
    fn from(answer: &Answer) -> Self {
        let (size, moved) = (&answer.size, answer.moved.unwrap_or_default());
        Solved {
            essence: Essence {
                bounds: answer.value.map(|(low, high)| (low.to_bits(), high.to_bits())),
                verdict: answer.verdict,
                count: answer.count,
                size: [size.states, size.choices, size.branches, size.deadlocks],
                sweeps: answer.sweeps,
            },
            moved: [moved.read, moved.written, moved.sweeping, moved.sweep],
            resumed: answer.resumed,
        }
    }
}

/// One answer of all workers.
fn united(answers: &[Solved]) -> Result<Answer, Disagreement> {
    let Some(first) = answers.first() else { return Err(Disagreement("there are none".into())) };
    if let Some(other) = answers.iter().position(|answer| answer.essence != first.essence) {
        return Err(Disagreement(format!("worker 0 and worker {other}")));
    }
    let total = |at: usize| answers.iter().map(|answer| answer.moved[at]).sum();
    let [states, choices, branches, deadlocks] = first.essence.size;
    Ok(Answer {
        value: first.essence.bounds.map(|(low, high)| (f64::from_bits(low), f64::from_bits(high))),
        verdict: first.essence.verdict,
        count: first.essence.count,
        size: Size { states, choices, branches, deadlocks },
        sweeps: first.essence.sweeps,
        tier: Tier::SemiExternal.name(),
        moved: Some(Moved { read: total(0), written: total(1), sweeping: total(2), sweep: total(3) }),
        resumed: first.resumed,
        ..Answer::default()
    })
}

/// Refuses what several workers do not do.
pub(super) fn must_suit(args: &SolveArgs) -> Result<(), Failure> {
    if args.cluster.cluster.is_none() {
        return Ok(());
    }
    let (method, written) = (&args.method, &args.written);
    let refused =
        |why: &str| Err(Failure::Usage(format!("not over several workers: {why}: leave out --cluster")));
    if method.exact || written.policy.is_some() || written.certificate.is_some() || written.paths.is_some() {
        return refused("fractions, policies, certificates and paths are found by one process");
    }
    if method.method != super::Method::Intervals {
        return refused("only --method intervals is shared");
    }
    if !matches!(method.tier, super::TierName::Auto | super::TierName::SemiExternal) {
        return refused("every worker has all values in RAM, as with --tier semi-external");
    }
    if args.room.max_states.is_some() {
        return refused("--max-states counts the states of one process");
    }
    if written.export.is_some() {
        return refused("--export is of one process");
    }
    if !args.cluster.cluster_by.is_empty() || args.cluster.cluster_small.is_some() {
        let why = "values are divided by the order of states: leave out --cluster-by and --cluster-small";
        return Err(Failure::Usage(why.into()));
    }
    Ok(())
}

/// Why there is no answer.
pub(super) enum Trouble {
    /// What is committed stays, and the same command goes on.
    Stopped(String),
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Failed(failure)
    }
}

impl From<LaunchError> for Trouble {
    fn from(error: LaunchError) -> Self {
        match &error {
            LaunchError::Worker { code: 3, .. } => Trouble::Stopped(error.to_string()),
            LaunchError::Worker { code: 2, .. } | LaunchError::Ownership(_) => {
                Trouble::Failed(Failure::Usage(error.to_string()))
            }
            LaunchError::Disagreement(_) => Trouble::Failed(Failure::Internal(error.to_string())),
            _ => Trouble::Failed(Failure::Damaged(error.to_string())),
        }
    }
}

/// Who began, and in which set of folders.
#[derive(Serialize, Deserialize)]
struct Begun {
    hosts: Vec<Host>,
    set: u64,
}

impl Begun {
    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(WORKERS)).ok()?).ok()
    }

    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let beside = folder.join("workers.new");
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        std::fs::rename(beside, folder.join(WORKERS))
    }
}

/// Lets workers answer a question whose number is `fingerprint`; how each of them stood in the end.
pub(super) fn solve(
    args: &SolveArgs,
    (objective, is_ppddl): (&Objective, bool),
    fingerprint: u64,
) -> Result<(Answer, Vec<WorkerFigures>), Trouble> {
    let cluster = &args.cluster;
    let hosts = match &cluster.cluster {
        Some(workers) => workers.hosts().map_err(|error| Failure::Usage(error.to_string()))?,
        None => Vec::new(),
    };
    let place = args.room.disk.as_deref().unwrap_or(Path::new(hadal_check::folder::DEFAULT_DISK));
    let folder = place.join(format!("values-{fingerprint:016x}-cluster"));
    let failed = |error| Failure::File { path: folder.clone(), error };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let folder = std::path::absolute(&folder).map_err(failed)?;
    let begun = Begun::read(&folder);
    let weights = |hosts: &[Host]| hosts.iter().map(|host| host.weight).collect::<Vec<_>>();
    let former = begun.filter(|begun| weights(&begun.hosts) != weights(&hosts));
    let last = Begun::read(&folder).map_or(1, |begun| begun.set);
    let set = last + u64::from(former.is_some());
    // What was begun for other workers, and never became theirs.
    let unused = if former.is_some() { set } else { set + 1 };
    let _ = std::fs::remove_dir_all(folder.join(format!("set-{unused}")));
    let now = Begun { hosts, set };
    // Until the states have moved, the run is that of the former workers.
    let mut moved = former.is_none();
    if moved {
        now.write(&folder).map_err(failed)?;
    }
    let question = Question::of(args, objective, is_ppddl);
    let command = serde_json::json!({ "solve": question });
    let former = former.map(|Begun { hosts, set }| Former { hosts, set });
    let orders = orders(args, (&now, former), command, &folder)?;
    let control = Control::new(Limits::default());
    let mut trouble = None;
    let launched: Launched<Solved> = launch(&orders, fingerprint, &control, &mut |event| match event {
        Event::Standing(figures) => {
            if !moved && figures.iter().all(|figures| figures.committed > 0) {
                moved = true;
                trouble = now.write(&folder).err();
            }
        }
        Event::Lost { worker, host, .. } => {
            output::note!(
                "worker {worker} ({host}) was lost: all workers start again from their last common commit"
            );
        }
    })?;
    if let Some(error) = trouble {
        return Err(failed(error).into());
    }
    let answer = united(&launched.answers).map_err(LaunchError::from)?;
    if let Err(error) = std::fs::remove_dir_all(&folder) {
        output::note!("cannot remove {}: {error}", folder.display());
    }
    Ok((answer, each(&now.hosts, &launched.workers)))
}

fn each(hosts: &[Host], figures: &[Figures]) -> Vec<WorkerFigures> {
    let worker = |(host, &figures): (&Host, &Figures)| WorkerFigures {
        host: host.label().to_owned(),
        weight: host.weight,
        transitions_per_second: None,
        figures,
    };
    hosts.iter().zip(figures).map(worker).collect()
}

/// What each worker did, for people.
pub(super) fn lines(workers: &[WorkerFigures]) -> String {
    let line = |(number, worker): (usize, &WorkerFigures)| {
        let WorkerFigures { host, figures, .. } = worker;
        format!(
            "  worker {number} ({host}): {}, {} sent in {}, at most {} in its inbox, {} of processor time, {} waiting for others\n",
            counted(figures.states, "state"),
            counted(figures.traffic.sent_states, "record"),
            size(figures.traffic.sent_bytes),
            size(figures.traffic.most_inbox_bytes),
            span(figures.cpu_seconds),
            span(figures.waiting_seconds),
        )
    };
    workers.iter().enumerate().map(line).collect()
}

fn orders(
    args: &SolveArgs,
    (now, former): (&Begun, Option<Former>),
    command: serde_json::Value,
    folder: &Path,
) -> Result<Orders, Failure> {
    let cluster = &args.cluster;
    let failed = |path: &Path, error| Failure::File { path: path.to_owned(), error };
    let program = match &cluster.cluster_program {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(|error| failed(Path::new("hadal"), error))?,
    };
    let waiting = match (&cluster.cluster_wait, &cluster.cluster_token) {
        (Some(address), Some(file)) => {
            let token = read_token(file).map_err(|error| failed(file, error))?;
            let waiting = Waiting::at(address, token).map_err(|error| failed(Path::new(address), error))?;
            if let Ok(address) = waiting.address() {
                output::note!("waiting for {} workers at {address}", now.hosts.len());
            }
            Some(waiting)
        }
        _ => None,
    };
    let ssh = cluster.cluster_ssh.as_deref().unwrap_or("ssh -o BatchMode=yes");
    Ok(Orders {
        hosts: now.hosts.clone(),
        program,
        ssh: ssh.split_whitespace().map(str::to_owned).collect(),
        waiting,
        command,
        folder: folder.to_owned(),
        set: now.set,
        search: 0,
        former,
        limits: JobLimits { memory: args.room.memory, ..JobLimits::default() },
        by: Vec::new(),
        small: 0,
        keep: false,
    })
}
