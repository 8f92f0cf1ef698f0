//! `hadal worker`: one of the processes that explore together.

use super::about::About;
use super::check;
use super::solve;
use crate::args::{CheckArgs, WorkerArgs};
use crate::cluster::read_token;
use crate::failure::Failure;
use crate::timed::{self, TimedQuestion};
use hadal_check::memory::{ENOUGH_MEMORY, default_memory, default_threads};
use hadal_check::timed::Onlooker;
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_check::{By, Check, CheckError, Chosen, Prepared, RunPlace, Verdict};
use hadal_cluster::answer::Answer;
use hadal_cluster::connect::{Listening, Pass};
use hadal_cluster::link::Link;
use hadal_cluster::message::Job;
use hadal_cluster::worker::{LOST, Launcher, NoJob, Watched, end_with_others};
use hadal_search::cycles::external::DistributedCycles;
use hadal_search::directed::not_begun;
use hadal_search::exchange::{Exchange, OwnershipError, Shares};
use hadal_search::explore::{self, Folders, Method, Setting};
use hadal_search::external::DistributedExternal;
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::relaxed::DistributedRelaxed;
use hadal_search::strategies::ExplorerKind;
use hadal_search::strategy::{Distributed, Strategy};
use hadal_search::{Control, Report, SearchTask, StopReason};
use hadal_store::Governor;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What the folder of a search is for that serves another.
const BESIDE: &str = "shortest";

/// Runs the command; returns the exit code.
pub fn run(args: &WorkerArgs) -> Result<u8, Failure> {
    // An interrupt at the terminal reaches the launcher, which tells its workers to stop in order.
    #[cfg(unix)]
    // SAFETY: gives a signal another meaning before there are threads.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    end_with_others();
    let token = match &args.token {
        Some(path) => read_token(path).map_err(|error| Failure::File { path: path.clone(), error })?,
        None => String::new(),
    };
    let mut launcher = match &args.join {
        Some(address) => {
            let unreachable = |error| Failure::File { path: address.into(), error };
            Launcher::at(address).map_err(unreachable)?
        }
        None => Launcher::over_pipes(),
    };
    let mut job = launcher.job(&token).map_err(no_job)?;
    if let Some(address) = &args.join.as_ref().and(args.listen.clone()) {
        job.listen = if address.contains(':') { address.clone() } else { format!("{address}:0") };
    }
    if let Some(asked) = solve::question(&job) {
        return match asked {
            Ok(question) => solve::take_part(&question, &job, launcher),
            Err(failure) => {
                launcher.fail(failure.exit_code(), failure.to_string());
                Ok(failure.exit_code())
            }
        };
    }
    match prepare(&job) {
        Ok((args, subject)) => Worker { args, subject, job }.search(launcher),
        Err(failure) => {
            launcher.fail(failure.exit_code(), failure.to_string());
            Ok(failure.exit_code())
        }
    }
}

fn no_job(why: NoJob) -> Failure {
    Failure::Usage(why.to_string())
}

/// Reads and compiles what the job is about.
fn prepare(job: &Job) -> Result<(CheckArgs, Subject), Failure> {
    let unreadable = |error| Failure::Usage(format!("the command cannot be read: {error}"));
    let mut args: CheckArgs =
        serde_json::from_value::<About>(job.command.clone()).map_err(unreadable)?.into();
    let limits = &job.limits;
    let sharing = limits.sharing.max(1);
    args.limits.memory =
        Some(limits.memory.unwrap_or_else(|| (default_memory() / sharing as u64).max(ENOUGH_MEMORY)));
    let threads = limits.threads.unwrap_or_else(|| (default_threads() / sharing).max(1));
    args.limits.threads = u16::try_from(threads).ok();
    args.limits.disk_limit = limits.disk;
    args.limits.max_states = limits.states;
    args.limits.max_depth = limits.depth;
    args.limits.time_limit = limits.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if timed::reads(&args.model) {
        // The launcher told what there is to warn of.
        args.output.quiet = true;
        let read = TimedQuestion::read(&args, None)?;
        return Ok((args, Subject::Timed(Box::new(read))));
    }
    let (loaded, named) = check::asking(&args, &args.model.load_options()).read()?;
    args.asked.property = named;
    let options = check::options(&args, loaded.language, None)?;
    let prepared = Check::with_options(loaded.system, options).prepare()?;
    Ok((args, Subject::Model(Box::new(prepared))))
}

/// What is searched.
enum Subject {
    /// The states of a model.
    Model(Box<Prepared>),
    /// Those of one in real time.
    Timed(Box<TimedQuestion>),
}

/// Remembers the reins of the search that begins.
#[derive(Default)]
struct Reins(RefCell<Option<Arc<Control>>>);

impl Onlooker for Reins {
    fn during(&self, control: &Arc<Control>, _: &Governor, explore: &mut dyn FnMut()) {
        self.begins(control);
        explore();
    }

    fn begins(&self, control: &Arc<Control>) {
        self.0.replace(Some(Arc::clone(control)));
    }

    fn note(&self, _: &str) {}
}

/// How a search ended.
enum Ended {
    /// All know it.
    Together(Report),
    /// Here, while the others wait.
    Alone(Report),
}

/// Takes part in the search of a model.
fn take_part(prepared: &Prepared, by: By, reins: &Reins) -> Result<Report, CheckError> {
    let run = prepared.begin()?;
    reins.begins(run.control());
    Ok(run.finish_by(by)?.report)
}

/// A worker with its job.
struct Worker {
    args: CheckArgs,
    subject: Subject,
    job: Job,
}

impl Worker {
    fn search(self, launcher: Launcher) -> Result<u8, Failure> {
        let (launcher, is_done) = (RefCell::new(Some(launcher)), Cell::new(false));
        let reins = Reins::default();
        let work = |number, task: SearchTask, governor: &Governor, chosen: Chosen| {
            if number < self.job.search {
                // It was made before, and nothing was wrong.
                let report = not_begun(task, governor, StopReason::Incomplete);
                return Ok(Report { verdict: Verdict::Holds, ..report });
            }
            let (Some(launcher), Some(control)) = (launcher.take(), reins.0.borrow().clone()) else {
                return Err(CheckError::Internal("a worker makes one search".into()));
            };
            let found = self.explore((task, chosen), governor, (launcher, control));
            is_done.set(found.is_ok());
            found
        };
        let by = By::Worker(&work);
        let found = match &self.subject {
            Subject::Model(prepared) => take_part(prepared, by, &reins).map(Some).map_err(Failure::from),
            Subject::Timed(asked) => asked.take_part(&self.args, by, &reins),
        };
        match (found, launcher.take()) {
            (Ok(_), None) => Ok(0),
            // It was over before it began: something that is made first needs more memory or time.
            (Ok(report), Some(launcher)) => {
                match report {
                    Some(report) => launcher.over(&Answer::from(&report)),
                    None => launcher.fail(4, "it was over before it began".into()),
                }
                Ok(0)
            }
            // What comes next is another search.
            (Err(_), None) if is_done.get() => Ok(0),
            (Err(failure), launcher) => {
                if let Some(launcher) = launcher {
                    launcher.fail(failure.exit_code(), failure.to_string());
                }
                // Else it was told already.
                Ok(failure.exit_code())
            }
        }
    }

    /// Finds the others, explores with them, and tells the launcher what came of it.
    fn explore(
        &self,
        (task, chosen): (SearchTask, Chosen),
        governor: &Governor,
        (mut launcher, control): (Launcher, Arc<Control>),
    ) -> Result<Report, CheckError> {
        let job = &self.job;
        let link = match self.connect(task, &mut launcher) {
            Ok(link) => link,
            Err((code, why)) => {
                launcher.fail(code, why.clone());
                return Err(CheckError::Question(why));
            }
        };
        let figures = Arc::clone(link.figures());
        let watched = Watched { control, governor: governor.clone(), link: figures, cpu_seconds };
        let attending = launcher.attend(watched);
        // What reading and compiling needed of the program's file need not stay in memory.
        begin_peak();
        let explored = self.explore_over((task, chosen), governor, &link);
        match explored {
            Ok(Ended::Alone(report)) => {
                // Others wait: the process ends without closing the link in order.
                let _ = attending.over(&Answer::from(&report));
                std::process::exit(3);
            }
            Ok(Ended::Together(report)) => {
                let told = attending.done(&Answer::from(&report));
                link.close();
                let removes =
                    told.map_err(|error| CheckError::Damaged(format!("the launcher is gone: {error}")))?;
                if removes {
                    // The launcher removes what is left on its own machine.
                    let _ = RunPlace::existing(&job.folder).remove();
                }
                Ok(report)
            }
            Err(error) => {
                let failure = Failure::from(error);
                // Others wait: the process ends without closing the link in order.
                let _ = attending.fail(failure.exit_code(), failure.to_string());
                std::process::exit(failure.exit_code().into());
            }
        }
    }

    /// The link to the others; or the exit code that fits, and why there is none.
    fn connect(&self, task: SearchTask, launcher: &mut Launcher) -> Result<Link, (u8, String)> {
        let wrong = |error: OwnershipError| (2, error.to_string());
        let shares = Shares::weighted(&self.job.weights).map_err(wrong)?;
        let shares = shares.suiting(task.space, &self.job.by).map_err(wrong)?;
        join(&self.job, (shares, task.space.fingerprint()), launcher)
    }

    fn explore_over(
        &self,
        (task, chosen): (SearchTask, Chosen),
        governor: &Governor,
        link: &Link,
    ) -> Result<Ended, CheckError> {
        let job = &self.job;
        let usual = match (&self.subject, task.space.cover()) {
            (Subject::Timed(_), Some(_)) => Some(Strategy::covering()),
            _ => Strategy::named("sort"),
        };
        let named = self.args.storing.strategy.settings();
        let explorer = &self.args.storing.strategy.explorer;
        let relaxes = matches!(explorer, ExplorerKind::Relaxed);
        // What covers what is not decided by a table.
        let is_auto = matches!(explorer, ExplorerKind::Auto) && task.space.cover().is_none();
        let Some(strategy) = named.or(usual) else {
            return Err(CheckError::Internal("there is no such strategy".into()));
        };
        let _inbox = governor
            .try_reserve(link.inbox_bytes(), "states on their way")
            .map_err(hadal_search::layered::Trouble::from)?;
        let exchange: &dyn Exchange = link;
        let former = job.former.as_deref().unwrap_or_default();
        if job.former.is_some() {
            // What an earlier attempt to move states left.
            let _ = std::fs::remove_dir_all(&job.folder);
        }
        let fingerprint = task.space.fingerprint();
        let open = |path: &PathBuf| {
            let place = RunPlace::existing(path);
            move || place.open(governor, fingerprint, &serde_json::Value::Null)
        };
        let opened: Vec<_> = former.iter().map(open).collect();
        let opened: Vec<&dyn Folders> = opened.iter().map(|open| open as &dyn Folders).collect();
        let (layered, external, relaxed, cycles);
        let method: &dyn Method = match chosen {
            Chosen::Strategy if relaxes => {
                let method = DistributedRelaxed::new(&strategy, exchange)?;
                relaxed = if job.former.is_some() { method.after(&opened) } else { method };
                &relaxed
            }
            Chosen::Cycles(engine) => {
                let method = DistributedCycles::new(engine, exchange);
                cycles = if job.former.is_some() { method.after(&opened) } else { method };
                &cycles
            }
            Chosen::Strategy => {
                let method = Distributed::new(&strategy, exchange)?.sharing_from(job.small);
                let method = if is_auto { method.moving_on() } else { method };
                layered = if job.former.is_some() { method.after(&opened) } else { method };
                &layered
            }
            Chosen::External(search) => {
                let method = DistributedExternal::new(search, exchange).sharing_from(job.small);
                external = if job.former.is_some() { method.after(&opened) } else { method };
                &external
            }
        };
        let place = RunPlace::existing(&job.folder).limited_to(job.limits.disk);
        let folders = WorkerFolders { job, place, governor, fingerprint };
        let threads = usize::from(self.args.limits.threads.unwrap_or(1));
        let setting = Setting { task, governor, threads, run: explore::Run::New(&folders) };
        match explore::explore(method, setting) {
            // It could not tell the others.
            Err(trouble) if trouble.is_disk_full() || trouble.is_stop() => {
                let reason = match trouble.is_disk_full() {
                    true => StopReason::DiskFull,
                    false => task.control.must_stop(0).unwrap_or(StopReason::Interrupted),
                };
                let states = task.control.gauges.states.load(Ordering::Relaxed);
                Ok(Ended::Alone(Report { states, ..not_begun(task, governor, reason) }))
            }
            explored => Ok(Ended::Together(explored?.report)),
        }
    }
}

/// The link to workers that do the same, by its number; or the exit code that fits, and why there is none.
pub(super) fn join(
    job: &Job,
    (shares, fingerprint): (Shares, u64),
    launcher: &mut Launcher,
) -> Result<Link, (u8, String)> {
    let wrong = |error: &dyn std::fmt::Display| (2, error.to_string());
    let lost = |error: &dyn std::fmt::Display| (LOST as u8, error.to_string());
    let listening = Listening::at(&job.listen)
        .map_err(|error| wrong(&format!("cannot listen at {}: {error}", job.listen)))?;
    let address = listening.address().map_err(|error| wrong(&error))?;
    let addresses = launcher.peers(fingerprint, address).map_err(|error| wrong(&error))?;
    let pass = Pass { token: job.token.clone(), fingerprint };
    let sockets = listening.connect(job.me, &addresses, &pass).map_err(|error| lost(&error))?;
    Link::new(job.me, sockets, shares).map_err(|error| lost(&error))
}

/// The folders of a worker: its run, and one beside it for a search that serves the first.
struct WorkerFolders<'w> {
    job: &'w Job,
    place: RunPlace,
    governor: &'w Governor,
    fingerprint: u64,
}

impl Folders for WorkerFolders<'_> {
    fn open(&self) -> Result<Ledger, Trouble> {
        let WorkerFolders { job, place, governor, fingerprint } = self;
        if hadal_check::folder::look_at(&job.folder).is_ok() {
            return place.open(governor, *fingerprint, &job.command);
        }
        // What is there was never committed.
        let _ = std::fs::remove_dir_all(&job.folder);
        place.create(governor, *fingerprint, &job.command)
    }

    fn beside(&self) -> Result<Ledger, Trouble> {
        let beside = self.place.beside(BESIDE);
        // An earlier attempt may have left it.
        let _ = std::fs::remove_dir_all(&beside.path);
        beside.create(self.governor, self.fingerprint, &serde_json::Value::Null)
    }
}

impl Drop for WorkerFolders<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place.beside(BESIDE).path);
    }
}
