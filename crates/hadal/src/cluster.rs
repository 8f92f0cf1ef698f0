//! `--cluster`: the launcher's side of a search over several machines.

use crate::args::CheckArgs;
use crate::commands::about::About;
use crate::failure::Failure;
use crate::outcome::WorkerFigures;
use crate::progress::Progress;
use hadal_check::units::{counted, grouped, size, span};
use hadal_check::{By, CheckError, Chosen, Fair, Lasso, Liveness, Outcome, Run, RunPlace, Running, Verdict};
use hadal_cluster::answer::Answer;
use hadal_cluster::hosts::{Cluster, Host};
use hadal_cluster::launch::{Event, Former, LaunchError, Launched, Orders, Waiting, launch};
use hadal_cluster::message::{Figures, JobLimits};
use hadal_search::directed::not_begun;
use hadal_search::directed::orders::EXTERNAL;
use hadal_search::layered::ledger::{Ledger, Together};
use hadal_search::strategies::ExplorerKind;
use hadal_search::{Control, Report, SearchTask, StopReason, status};
use hadal_store::Governor;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Layers with fewer states are not worth sending, unless it is said otherwise.
const SMALL: u64 = 1 << 16;
/// Why `--cluster-small` is refused.
const NOTHING_SMALL: &str = "divides states from the first one on: leave out --cluster-small";
/// How often the launcher writes down how workers stand.
const NOTES: Duration = Duration::from_secs(2);
/// How often `--events` names every worker.
const EVENTS: Duration = Duration::from_millis(500);

/// What the run's folder keeps of the workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Workers {
    /// In order.
    pub(crate) hosts: Vec<Host>,
    /// The number of their set of folders: it changes with their number.
    pub(crate) set: u64,
    /// The last figures of each.
    pub(crate) figures: Vec<Figures>,
    /// Transitions per second of each between the last two notes; runs of older versions have none.
    #[serde(default)]
    pub(crate) rates: Vec<f64>,
    /// Which of the command's searches they make.
    #[serde(default)]
    search: usize,
    /// What came of the searches in which nothing was wrong.
    #[serde(default)]
    done: Vec<Option<Done>>,
}

/// A search in which nothing was wrong.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Done {
    states: u64,
    transitions: u64,
}

impl Workers {
    /// How each of them stands.
    pub(crate) fn each(&self) -> Vec<WorkerFigures> {
        let rates = self.rates.iter().copied().map(Some).chain(std::iter::repeat(None));
        let worker = |((host, &figures), rate): ((&Host, &Figures), Option<f64>)| WorkerFigures {
            host: host.label().to_owned(),
            weight: host.weight,
            transitions_per_second: rate,
            figures,
        };
        self.hosts.iter().zip(&self.figures).zip(rates).map(worker).collect()
    }
}

/// When each worker had fired how many transitions, to tell rates by.
struct Noted {
    at: Instant,
    transitions: Vec<u64>,
    rates: Vec<f64>,
}

/// Refuses several machines, where they are asked for.
pub(crate) fn must_not_be_asked(args: &CheckArgs, why: &str) -> Result<(), Failure> {
    match args.cluster.cluster {
        Some(_) => Err(Failure::Usage(format!("not over several workers: {why}: leave out --cluster"))),
        None => Ok(()),
    }
}

/// Names the order of a directed search, where that is left open: several workers have one.
pub(crate) fn choose_order(args: &mut CheckArgs) {
    if args.cluster.cluster.is_some() && args.directed.is_asked() && args.directed.order.is_none() {
        args.directed.order = Some(EXTERNAL.to_owned());
    }
}

/// How questions about infinite runs are answered: several workers do it by sorting.
pub(crate) fn running(args: &CheckArgs) -> Running {
    let mut running = args.running.clone();
    if args.cluster.cluster.is_some() && running.liveness == Liveness::Sweep {
        running.liveness = Liveness::ExternalOwcty;
    }
    running
}

/// Refuses what several workers cannot answer, or not in this way.
pub(crate) fn must_suit(args: &CheckArgs) -> Result<(), Failure> {
    if args.cluster.cluster.is_none() {
        return Ok(());
    }
    if matches!(args.storing.strategy.explorer, ExplorerKind::Relaxed) && args.cluster.cluster_small.is_some()
    {
        return Err(Failure::Usage(format!("an order-relaxed search {NOTHING_SMALL}")));
    }
    if args.running.fair != Fair::Off {
        return must_not_be_asked(args, "fair runs are looked for by one process");
    }
    if args.running.has_engine() || args.running.lasso != Lasso::default() {
        return must_not_be_asked(
            args,
            "accepted cycles are found by sorting there: --liveness external-owcty",
        );
    }
    if args.directed.order.as_deref().is_some_and(|order| order != EXTERNAL) {
        return must_not_be_asked(args, "of directed searches only --order external-astar is shared");
    }
    if args.reduction.decompose {
        return must_not_be_asked(args, "parts of a model are searched one after the other by one process");
    }
    if args.storing.detection.used_operators {
        return must_not_be_asked(args, "operators are marked by one process: leave out --used-operators");
    }
    match args.storing.strategy.explorer {
        ExplorerKind::Auto | ExplorerKind::Layered(_) | ExplorerKind::Relaxed => Ok(()),
        _ => must_not_be_asked(args, &format!("--strategy {} runs in one process", args.storing.strategy)),
    }
}

/// The same of models in real time.
pub(crate) fn must_suit_time(args: &CheckArgs) -> Result<(), Failure> {
    if args.timed.fastest {
        return must_not_be_asked(args, "--fastest is a search by one process, as hadal plan is");
    }
    if args.asked.several.is_some() {
        return must_not_be_asked(
            args,
            "in real time --continue makes a search for each property by one process",
        );
    }
    if !args.cluster.cluster_by.is_empty() {
        let why =
            "--cluster-by would part zones, and those of one discrete part have one owner: leave it out";
        return Err(Failure::Usage(why.into()));
    }
    Ok(())
}

/// Refuses several machines, where values are asked for that many searches find one after the other.
pub(crate) fn must_be_one_search(args: &CheckArgs, measures: bool) -> Result<(), Failure> {
    match measures || args.timed.response_time {
        true => must_not_be_asked(args, "sup, inf and --response-time are bisected by one process"),
        false => Ok(()),
    }
}

/// Lets workers search, or go on with the run in the folder `resumed`; `workers` is how each of them stood at the end.
pub(crate) fn finish(
    args: &CheckArgs,
    (search, resumed): (&Run, Option<&Path>),
    progress: &Progress,
    workers: &mut Vec<WorkerFigures>,
) -> Result<Outcome, CheckError> {
    if args.cluster.cluster.is_none() {
        return search.finish();
    }
    let launching = Launching::new(args, resumed, progress)?;
    let by = |number, task: SearchTask, governor: &Governor, chosen: Chosen| {
        launching.search(number, (task, chosen), governor)
    };
    let mut outcome = search.finish_by(By::Others(&by))?;
    *workers = launching.each();
    outcome.decisions.extend(launching.decisions());
    let (run, warning) = launching.conclude(matches!(outcome.report.verdict, Verdict::Stopped(_)));
    outcome.run = run.or(outcome.run);
    outcome.warnings.extend(warning);
    Ok(outcome)
}

/// How all workers stand, for the line of progress.
fn standing(workers: &[Figures]) -> String {
    let least = workers.iter().map(|worker| worker.states).min().unwrap_or(0);
    let most = workers.iter().map(|worker| worker.states).max().unwrap_or(0);
    let inbox = workers.iter().map(|worker| worker.traffic.inbox_bytes).max().unwrap_or(0);
    let owned =
        if least == most { grouped(most) } else { format!("{} to {}", grouped(least), grouped(most)) };
    format!(", {} with {owned} states, {} in an inbox", counted(workers.len() as u64, "worker"), size(inbox))
}

/// A worker for people.
fn described((number, worker): (usize, &WorkerFigures)) -> String {
    let WorkerFigures { host, figures, .. } = worker;
    format!(
        "  worker {number} ({host}): {}, {} fired, {} expanded for others, {} sent in {}, at most {} in its inbox, {} on disk, {} of processor time, {} \
         waiting for others",
        counted(figures.states, "state"),
        counted(figures.transitions, "transition"),
        counted(figures.traffic.helped_states, "state"),
        counted(figures.traffic.sent_states, "state"),
        size(figures.traffic.sent_bytes),
        size(figures.traffic.most_inbox_bytes),
        size(figures.disk_bytes),
        span(figures.cpu_seconds),
        span(figures.waiting_seconds),
    )
}

fn hosts(cluster: &Cluster) -> Result<Vec<Host>, CheckError> {
    cluster.hosts().map_err(|error| CheckError::Question(error.to_string()))
}

/// The searches of a command that the launcher lets workers make.
pub(crate) struct Launching<'a> {
    args: &'a CheckArgs,
    hosts: Vec<Host>,
    place: RunPlace,
    resumed: bool,
    progress: &'a Progress,
    figures: RefCell<Vec<Figures>>,
    noted: RefCell<Noted>,
    kept: RefCell<Option<Kept>>,
}

/// The run's folder, which is that of the first search, and what it says of the workers.
struct Kept {
    ledger: Ledger,
    workers: Option<Workers>,
}

impl Kept {
    fn done(&self) -> Vec<Option<Done>> {
        self.workers.as_ref().map_or(Vec::new(), |workers| workers.done.clone())
    }
}

impl<'a> Launching<'a> {
    /// Of a command that several workers carry out, or go on with in the folder `resumed`.
    pub(crate) fn new(
        args: &'a CheckArgs,
        resumed: Option<&Path>,
        progress: &'a Progress,
    ) -> Result<Self, CheckError> {
        let hosts = match &args.cluster.cluster {
            Some(cluster) => hosts(cluster)?,
            None => Vec::new(),
        };
        let place = match resumed {
            Some(path) => RunPlace::existing(path),
            None => {
                let parent =
                    args.storing.disk.as_deref().unwrap_or(Path::new(hadal_check::folder::DEFAULT_DISK));
                let stem = args.model.model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
                RunPlace::new(parent, stem.as_deref().unwrap_or("model"))
            }
        };
        Ok(Launching {
            args,
            hosts,
            place,
            resumed: resumed.is_some(),
            progress,
            figures: RefCell::default(),
            noted: RefCell::new(Noted { at: Instant::now(), transitions: Vec::new(), rates: Vec::new() }),
            kept: RefCell::default(),
        })
    }

    /// How each worker stands.
    pub(crate) fn each(&self) -> Vec<WorkerFigures> {
        self.workers((0, 0), Vec::new()).each()
    }

    /// What each worker did, line by line.
    pub(crate) fn decisions(&self) -> Vec<String> {
        self.each().iter().enumerate().map(described).collect()
    }

    /// Ends the run of a command that is answered, or is stopped: its folder, where it stays, or what to warn of.
    pub(crate) fn conclude(&self, is_stopped: bool) -> (Option<PathBuf>, Option<String>) {
        if self.resumed || self.args.storing.disk.is_some() || is_stopped {
            return (Some(self.place.path.clone()), None);
        }
        let left = self.place.remove().is_err();
        (None, left.then(|| format!("cannot remove {}", self.place.path.display())))
    }

    /// How the workers of a set stand that make the search of a number, after what was done before.
    fn workers(&self, (search, set): (usize, u64), done: Vec<Option<Done>>) -> Workers {
        Workers {
            hosts: self.hosts.clone(),
            set,
            figures: self.figures.borrow().clone(),
            rates: self.noted.borrow().rates.clone(),
            search,
            done,
        }
    }

    /// Whether every one of some workers committed something, as far as this machine sees their folders.
    fn have_begun(&self, workers: &Workers) -> bool {
        let set = self.place.path.join(format!("set-{}", workers.set));
        workers.hosts.iter().enumerate().all(|(worker, host)| {
            let folder = set.join(format!("worker-{worker}"));
            host.name.is_some() || host.disk.is_some() || hadal_check::folder::look_at(&folder).is_ok()
        })
    }

    /// Opens the run's folder.
    fn open(
        &self,
        fingerprint: u64,
        governor: &Governor,
        about: &serde_json::Value,
    ) -> Result<Kept, CheckError> {
        let ledger = match self.resumed {
            true => self.place.open(governor, fingerprint, about)?,
            false => self.place.create(governor, fingerprint, about)?,
        };
        let workers = ledger.kept_together().and_then(|it| serde_json::from_slice(it).ok());
        Ok(Kept { ledger, workers })
    }

    /// Tells rates anew if the last were told a while ago, or never.
    fn tell_rates(&self) {
        let (figures, mut noted) = (self.figures.borrow(), self.noted.borrow_mut());
        let passed = noted.at.elapsed();
        if figures.is_empty() || passed < NOTES / 2 && !noted.rates.is_empty() {
            return;
        }
        let before = noted.transitions.iter().copied().chain(std::iter::repeat(0));
        // Workers that were started again have fired fewer than before.
        let since = |(now, before): (&Figures, u64)| now.transitions.saturating_sub(before) as f64;
        let rates = figures.iter().zip(before).map(|pair| since(pair) / passed.as_secs_f64()).collect();
        let transitions = figures.iter().map(|worker| worker.transitions).collect();
        *noted = Noted { at: Instant::now(), transitions, rates };
    }

    /// Makes the search of this number, or says what an earlier sitting found in it.
    pub(crate) fn search(
        &self,
        number: usize,
        (task, chosen): (SearchTask, Chosen),
        governor: &Governor,
    ) -> Result<Report, CheckError> {
        if number == 0 && matches!(chosen, Chosen::Cycles(_)) && self.args.cluster.cluster_small.is_some() {
            return Err(CheckError::Question(format!("a search for cycles {NOTHING_SMALL}")));
        }
        let (begun, control) = (Instant::now(), task.control);
        let about = serde_json::to_value(About::of(self.args))
            .map_err(|error| CheckError::Question(format!("a run cannot remember this command: {error}")))?;
        let fingerprint = task.space.fingerprint();
        let mut held = self.kept.borrow_mut();
        let kept = match &mut *held {
            Some(kept) => kept,
            none => none.insert(self.open(fingerprint, governor, &about)?),
        };
        if let Some(&Some(Done { states, transitions })) = kept.done().get(number) {
            let report = not_begun(task, governor, StopReason::Incomplete);
            return Ok(Report { verdict: Verdict::Holds, states, transitions, ..report });
        }
        let before = kept.ledger.record().map_or(0.0, |record| record.seconds);
        // Workers that made another search have nothing to do with this one, nor have those that were gone before all had begun.
        let begins = kept.workers.as_ref().is_some_and(|workers| {
            workers.search != number || !same_owners(&workers.hosts, &self.hosts) && !self.have_begun(workers)
        });
        let same = kept.workers.as_ref().filter(|_| !begins);
        let former = same.filter(|workers| !same_owners(&workers.hosts, &self.hosts));
        let former = former.map(|workers| Former { hosts: workers.hosts.clone(), set: workers.set });
        let last = kept.workers.as_ref().map_or(1, |workers| workers.set);
        let set = last + u64::from(former.is_some() || begins);
        let orders = Orders { former, set, search: number, ..self.orders(about)? };
        // What was begun for workers of this number, and never became theirs.
        let _ = std::fs::remove_dir_all(orders.folder.join(format!("set-{}", set + 1)));
        // Until the states have moved, the run is that of the former workers.
        let mut moved = orders.former.is_none();
        if moved {
            self.note(kept, (number, set), (control, "running", before))?;
        }
        if begins {
            let _ = std::fs::remove_dir_all(orders.folder.join(format!("set-{last}")));
        }
        let (mut noted, mut told) = (Instant::now(), Instant::now());
        let mut trouble = None;
        let launched: Result<Launched<Answer>, _> =
            launch(&orders, fingerprint, control, &mut |event| match event {
                Event::Standing(figures) => {
                    self.figures.replace(figures.to_vec());
                    self.progress.beside(standing(figures));
                    moved |= figures.iter().all(|figures| figures.committed > 0);
                    if noted.elapsed() >= NOTES && trouble.is_none() && moved {
                        noted = Instant::now();
                        let standing = (control, "running", before + begun.elapsed().as_secs_f64());
                        trouble = self.note(kept, (number, set), standing).err();
                    }
                    if told.elapsed() >= EVENTS {
                        told = Instant::now();
                        self.tell(control, figures);
                    }
                }
                Event::Lost { worker, host, times } => {
                    control.warn(format!(
                    "worker {worker} ({host}) was lost: all workers start again from their last common commit"
                ));
                    let seconds = control.elapsed().as_secs_f64();
                    self.progress.event(|| {
                    serde_json::json!({
                        "event": "lost", "seconds": seconds, "worker": worker, "host": host, "times": times
                    })
                });
                }
            });
        let Launched { answers, workers, .. } = match launched {
            Err(LaunchError::Interrupted) => {
                let report = not_begun(task, governor, StopReason::Interrupted);
                self.note(kept, (number, set), (control, &status(&report.verdict), before))?;
                return Ok(report);
            }
            launched => launched.map_err(as_check_error)?,
        };
        let report = Answer::united(&answers).map_err(|error| as_check_error(error.into()))?;
        drop(answers);
        self.figures.replace(workers.clone());
        self.tell(control, &workers);
        let status = status(&report.verdict);
        let gauges = &control.gauges;
        if let Some(depth) = report.depth {
            gauges.depth.store(depth, Relaxed);
        }
        // What workers count while they search includes small layers, which each of them explores.
        gauges.states.store(report.states, Relaxed);
        gauges.transitions.store(report.transitions, Relaxed);
        if let (Verdict::Holds, Some(workers)) = (&report.verdict, &mut kept.workers) {
            workers.done.resize(workers.done.len().max(number + 1), None);
            let (states, transitions) = (report.states, report.transitions);
            workers.done[number] = Some(Done { states, transitions });
        }
        self.note(kept, (number, set), (control, &status, before + begun.elapsed().as_secs_f64()))?;
        if let Some(former) = &orders.former {
            // Of no use any more; on other machines it stays until somebody removes it.
            let _ = std::fs::remove_dir_all(orders.folder.join(format!("set-{}", former.set)));
        }
        Ok(report)
    }

    fn orders(&self, command: serde_json::Value) -> Result<Orders, CheckError> {
        let args = &self.args.cluster;
        let failed = |path: &Path, error| CheckError::File { path: path.to_owned(), error };
        let program = match &args.cluster_program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(|error| failed(Path::new("hadal"), error))?,
        };
        let waiting = match (&args.cluster_wait, &args.cluster_token) {
            (Some(address), Some(file)) => {
                let token = read_token(file).map_err(|error| failed(file, error))?;
                let waiting =
                    Waiting::at(address, token).map_err(|error| failed(Path::new(address), error))?;
                if let Ok(address) = waiting.address() {
                    let workers = self.hosts.len();
                    self.progress.event(|| {
                        let address = address.to_string();
                        serde_json::json!({ "event": "waiting", "address": address, "workers": workers })
                    });
                    self.progress.line(&format!("waiting for {workers} workers at {address}"));
                }
                Some(waiting)
            }
            _ => None,
        };
        let limits = &self.args.limits;
        let ssh = args.cluster_ssh.as_deref().unwrap_or("ssh -o BatchMode=yes");
        let folder =
            std::path::absolute(&self.place.path).map_err(|error| failed(&self.place.path, error))?;
        Ok(Orders {
            hosts: self.hosts.clone(),
            program,
            ssh: ssh.split_whitespace().map(str::to_owned).collect(),
            waiting,
            command,
            folder,
            set: 1,
            search: 0,
            former: None,
            limits: JobLimits {
                memory: limits.memory,
                threads: limits.threads.map(usize::from),
                sharing: 1,
                disk: limits.disk_limit,
                states: limits.max_states,
                depth: limits.max_depth,
                seconds: limits.time_limit.map(|time| time.as_secs_f64()),
            },
            by: args.cluster_by.clone(),
            small: args.cluster_small.unwrap_or(SMALL),
            keep: self.resumed || self.args.storing.disk.is_some(),
        })
    }

    /// Writes down how the workers stand.
    fn note(
        &self,
        kept: &mut Kept,
        of: (usize, u64),
        (control, status, seconds): (&Control, &str, f64),
    ) -> Result<(), CheckError> {
        let gauges = &control.gauges;
        self.tell_rates();
        let workers = self.workers(of, kept.done());
        let total = |of: fn(&Figures) -> u64| workers.figures.iter().map(of).sum();
        let together = Together {
            status: status.to_owned(),
            states: gauges.states.load(Relaxed),
            transitions: gauges.transitions.load(Relaxed),
            depth: gauges.depth.load(Relaxed),
            memory_bytes: total(|worker| worker.memory_bytes),
            disk_bytes: total(|worker| worker.disk_bytes),
            seconds,
        };
        let section =
            serde_json::to_vec(&workers).map_err(|error| CheckError::Internal(error.to_string()))?;
        kept.workers = Some(workers);
        Ok(kept.ledger.keep_together(section, &together)?)
    }

    /// Names every worker among the events.
    fn tell(&self, control: &Control, figures: &[Figures]) {
        let seconds = control.elapsed().as_secs_f64();
        for (worker, (host, figures)) in self.hosts.iter().zip(figures).enumerate() {
            self.progress.event(|| {
                serde_json::json!({
                    "event": "worker", "seconds": seconds, "worker": worker, "host": host.label(), "figures": figures
                })
            });
        }
    }
}

/// Whether states stay where they are: as many workers, with the same weights.
fn same_owners(before: &[Host], now: &[Host]) -> bool {
    before.iter().map(|host| host.weight).eq(now.iter().map(|host| host.weight))
}

/// The word in a file.
pub(crate) fn read_token(path: &Path) -> std::io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    match text.trim() {
        "" => Err(std::io::Error::other("it is empty, and whoever joins must know a word")),
        token => Ok(token.to_owned()),
    }
}

fn as_check_error(error: LaunchError) -> CheckError {
    match &error {
        LaunchError::Worker { code: 2, .. } | LaunchError::Ownership(_) => {
            CheckError::Question(error.to_string())
        }
        LaunchError::Disagreement(_) => CheckError::Internal(error.to_string()),
        _ => CheckError::Damaged(error.to_string()),
    }
}
