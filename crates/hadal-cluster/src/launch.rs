//! The launcher: starts workers, brings them together, watches them, and starts all again from their last common commit
//! when one is lost.

mod place;

use crate::answer::Disagreement;
use crate::connect;
use crate::hosts::Host;
use crate::message::{Figures, FromWorker, Job, JobLimits, ToWorker, put};
use crate::worker::LOST;
use crate::{VERSION, hosts};
use hadal_search::Control;
use place::{Post, Started};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

pub use place::Waiting;

/// How often workers are started again without a commit in between.
const MOST_IDLE: u32 = 3;
/// How long workers may take to say hello, and to begin: some prepare a guide first.
const PATIENCE: Duration = Duration::from_secs(120);
const LONG_PATIENCE: Duration = Duration::from_secs(3600);
/// How long after an interrupt the launcher waits for the others once a worker has stopped: one that was interrupted before it met
/// them leaves them waiting for ever.
const AFTER_INTERRUPT: Duration = Duration::from_secs(30);
/// How often the launcher looks around.
const LOOK: Duration = Duration::from_millis(50);

/// What workers are to do, and where.
pub struct Orders {
    /// The workers.
    pub hosts: Vec<Host>,
    /// The program that is a worker when it is started with `worker`.
    pub program: PathBuf,
    /// What reaches another host: `ssh`, with options.
    pub ssh: Vec<String>,
    /// Where workers are waited for, instead of being started.
    pub waiting: Option<Waiting>,
    /// The command, as run folders keep it.
    pub command: serde_json::Value,
    /// The folder of the run.
    pub folder: PathBuf,
    /// The number of these workers' set of folders below it.
    pub set: u64,
    /// Which of the command's searches it is.
    pub search: usize,
    /// Workers of another number that committed something in another set.
    pub former: Option<Former>,
    /// What each worker may take.
    pub limits: JobLimits,
    /// Scalars that decide who owns a state.
    pub by: Vec<String>,
    /// Layers with fewer states are explored by every worker for itself.
    pub small: u64,
    /// Whether the folders stay when the search is done.
    pub keep: bool,
}

/// Workers that began a run.
pub struct Former {
    /// They.
    pub hosts: Vec<Host>,
    /// The number of their set of folders.
    pub set: u64,
}

/// Why a cluster gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A worker cannot be started, or said something that cannot be.
    #[error("worker {worker} ({host}): {why}")]
    Worker {
        /// Which.
        worker: usize,
        /// Where.
        host: String,
        /// Why.
        why: String,
        /// The exit code that fits.
        code: u8,
    },
    /// Workers are lost again and again.
    #[error(
        "worker {worker} ({host}) was lost {times} times without a commit in between{why}; the run can be resumed"
    )]
    Hopeless {
        /// The last one.
        worker: usize,
        /// Where.
        host: String,
        /// How often.
        times: u32,
        /// What the last one said about it.
        why: String,
    },
    /// Somebody interrupted before all workers were ready.
    #[error("interrupted before it began")]
    Interrupted,
    /// They contradict each other.
    #[error(transparent)]
    Disagreement(#[from] Disagreement),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The weights, or what decides who owns a state.
    #[error(transparent)]
    Ownership(#[from] hadal_search::exchange::OwnershipError),
}

/// What happens while workers search.
#[derive(Debug)]
pub enum Event<'e> {
    /// How all of them stand.
    Standing(&'e [Figures]),
    /// One is lost, and all are started again.
    Lost {
        /// Which.
        worker: usize,
        /// Where.
        host: &'e str,
        /// How often workers were lost so far.
        times: u32,
    },
}

/// What a worker comes to.
pub trait Conclusion: DeserializeOwned {
    /// Whether it ended before it knew: its folder is needed.
    fn is_stopped(&self) -> bool;
}

/// What a cluster came to.
pub struct Launched<A> {
    /// What each worker came to.
    pub answers: Vec<A>,
    /// The last figures of each.
    pub workers: Vec<Figures>,
    /// How often workers were lost.
    pub lost: u32,
}

/// A worker that is lost, and what it said about it.
type LostOne = (usize, Option<String>);

/// What comes of waiting for all workers.
enum Heard {
    /// What each said.
    All(Vec<FromWorker>),
    /// One is lost.
    Lost(LostOne),
    /// One ended without the others: what it came to.
    Over(serde_json::Value),
}

/// How an attempt ended.
enum LaunchEnd<A> {
    Done(Vec<A>),
    /// Without this worker, which may have said why.
    Lost(usize, Option<String>),
}

/// Lets workers search a space of this fingerprint until they have an answer.
pub fn launch<A: Conclusion>(
    orders: &Orders,
    fingerprint: u64,
    control: &Control,
    watch: &mut dyn FnMut(Event),
) -> Result<Launched<A>, LaunchError> {
    let (mut lost, mut idle, mut committed) = (0, 0, 0);
    loop {
        // Until everybody has committed what came from others, what is half done is begun again.
        let moves = committed == 0;
        let mut attempt = Attempt::new(orders, moves, control)?;
        let ended = attempt.run(fingerprint, control, watch);
        let workers = std::mem::take(&mut attempt.figures);
        drop(attempt);
        match ended? {
            LaunchEnd::Done(answers) => {
                return Ok(Launched { answers, workers, lost });
            }
            LaunchEnd::Lost(worker, why) => {
                let now = workers.iter().map(|figures| figures.committed).min().unwrap_or(0);
                (lost, idle) = (lost + 1, if now > committed { 1 } else { idle + 1 });
                committed = committed.max(now);
                let host = orders.hosts[worker].label();
                if idle > MOST_IDLE {
                    let why = why.map_or_else(String::new, |why| format!(": {why}"));
                    return Err(LaunchError::Hopeless { worker, host: host.to_owned(), times: idle, why });
                }
                watch(Event::Lost { worker, host, times: lost });
            }
        }
    }
}

/// One attempt to let workers search: all are gone when it is.
struct Attempt<'o> {
    orders: &'o Orders,
    started: Vec<Started>,
    posts: Receiver<Post>,
    figures: Vec<Figures>,
    /// What was said and not yet asked for.
    later: VecDeque<Post>,
    moves: bool,
}

impl<'o> Attempt<'o> {
    fn new(orders: &'o Orders, moves: bool, control: &Control) -> Result<Self, LaunchError> {
        let (sender, posts) = std::sync::mpsc::channel();
        let mut started = Vec::new();
        for (worker, host) in orders.hosts.iter().enumerate() {
            let failed = |error: io::Error| LaunchError::Worker {
                worker,
                host: host.label().to_owned(),
                why: format!("it cannot be started: {error}"),
                code: 2,
            };
            started.push(match &orders.waiting {
                Some(waiting) => waiting.next(worker, &sender, control)?,
                None => Started::process(orders.command_for(host), worker, &sender).map_err(failed)?,
            });
        }
        let figures = vec![Figures::default(); orders.hosts.len()];
        Ok(Attempt { orders, started, posts, figures, later: VecDeque::new(), moves })
    }

    fn wrong(&self, worker: usize, why: String, code: u8) -> LaunchError {
        LaunchError::Worker { worker, host: self.orders.hosts[worker].label().to_owned(), why, code }
    }

    fn run<A: Conclusion>(
        &mut self,
        fingerprint: u64,
        control: &Control,
        watch: &mut dyn FnMut(Event),
    ) -> Result<LaunchEnd<A>, LaunchError> {
        let token = connect::token()?;
        // Those that were waited for have said hello already.
        if self.orders.waiting.is_none() {
            let said =
                match self.hear_each((control, PATIENCE), |said| matches!(said, FromWorker::Hello { .. }))? {
                    Heard::All(said) => said,
                    Heard::Lost((lost, why)) => return Ok(LaunchEnd::Lost(lost, why)),
                    Heard::Over(answer) => return self.over(answer),
                };
            for (worker, said) in said.into_iter().enumerate() {
                if let FromWorker::Hello { version, .. } = said
                    && version != VERSION
                {
                    let why = format!("it is version {version}, and the launcher is {VERSION}");
                    return Err(self.wrong(worker, why, 2));
                }
            }
        }
        for worker in 0..self.started.len() {
            let job = self.orders.job(worker, &token, self.moves);
            if put(&mut self.started[worker].writer, &ToWorker::Job(Box::new(job))).is_err() {
                return Ok(LaunchEnd::Lost(worker, None));
            }
        }
        let mut addresses = Vec::new();
        let said = match self
            .hear_each((control, LONG_PATIENCE), |said| matches!(said, FromWorker::Ready { .. }))?
        {
            Heard::All(said) => said,
            Heard::Lost((lost, why)) => return Ok(LaunchEnd::Lost(lost, why)),
            Heard::Over(answer) => return self.over(answer),
        };
        for (worker, said) in said.into_iter().enumerate() {
            let FromWorker::Ready { fingerprint: own, address } = said else { continue };
            if own != fingerprint {
                let why = format!("it reads another model (fingerprint {own:016x}, not {fingerprint:016x})");
                return Err(self.wrong(worker, why, 2));
            }
            addresses.push(address);
        }
        for worker in 0..self.started.len() {
            let peers = ToWorker::Peers { addresses: addresses.clone() };
            if put(&mut self.started[worker].writer, &peers).is_err() {
                return Ok(LaunchEnd::Lost(worker, None));
            }
        }
        self.supervise(control, watch)
    }

    /// The end of an attempt in which a worker ended without the others.
    fn over<A: Conclusion>(&self, answer: serde_json::Value) -> Result<LaunchEnd<A>, LaunchError> {
        let answer = serde_json::from_value(answer).map_err(|error| self.wrong(0, error.to_string(), 4))?;
        Ok(LaunchEnd::Done(vec![answer]))
    }

    /// Waits until each worker said one such thing, one is lost, or one is done.
    fn hear_each(
        &mut self,
        (control, patience): (&Control, Duration),
        is_asked: fn(&FromWorker) -> bool,
    ) -> Result<Heard, LaunchError> {
        let begun = Instant::now();
        let mut said: Vec<Option<FromWorker>> = (0..self.started.len()).map(|_| None).collect();
        while let Some(missing) = said.iter().position(Option::is_none) {
            match self.posts.recv_timeout(LOOK) {
                Ok(Post { worker, said: Some(FromWorker::Failed { code, why }) }) => {
                    return match i32::from(code) == LOST {
                        true => Ok(Heard::Lost((worker, Some(why)))),
                        false => Err(self.wrong(worker, why, code)),
                    };
                }
                Ok(Post { said: Some(FromWorker::Over { answer }), .. }) => {
                    return Ok(Heard::Over(answer));
                }
                Ok(Post { worker, said: Some(it) }) if is_asked(&it) => said[worker] = Some(it),
                Ok(post @ Post { said: Some(_), .. }) => self.later.push_back(post),
                Ok(Post { worker, said: None }) => return Ok(Heard::Lost((worker, None))),
                Err(_) if control.is_interrupted() => {
                    return Err(LaunchError::Interrupted);
                }
                Err(_) if begun.elapsed() > patience => {
                    return Err(self.wrong(missing, "it does not answer".into(), 2));
                }
                Err(_) => {}
            }
        }
        Ok(Heard::All(said.into_iter().flatten().collect()))
    }

    /// Watches until all are done, or one is lost.
    fn supervise<A: Conclusion>(
        &mut self,
        control: &Control,
        watch: &mut dyn FnMut(Event),
    ) -> Result<LaunchEnd<A>, LaunchError> {
        let mut answers: Vec<Option<A>> = (0..self.started.len()).map(|_| None).collect();
        let (mut interrupted, mut told, mut stopped) = (false, Instant::now(), None);
        loop {
            if control.is_interrupted() && !interrupted {
                interrupted = true;
                for started in &mut self.started {
                    // One that is gone is noticed below.
                    let _ = put(&mut started.writer, &ToWorker::Interrupt);
                }
            }
            let post = match self.later.pop_front() {
                Some(post) => Ok(post),
                None => self.posts.recv_timeout(LOOK),
            };
            match post {
                Ok(Post { worker, said: Some(FromWorker::Standing(figures)) }) => {
                    self.figures[worker] = figures;
                }
                Ok(Post { worker, said: Some(FromWorker::Done { answer, figures }) }) => {
                    self.figures[worker] = figures;
                    let means: A = serde_json::from_value(answer)
                        .map_err(|error| self.wrong(worker, error.to_string(), 4))?;
                    if means.is_stopped() {
                        stopped.get_or_insert_with(Instant::now);
                    }
                    answers[worker] = Some(means);
                }
                Ok(Post { said: Some(FromWorker::Over { answer }), .. }) => return self.over(answer),
                Ok(Post { worker, said: Some(FromWorker::Failed { code, why }) }) => {
                    return match i32::from(code) == LOST {
                        true => Ok(LaunchEnd::Lost(worker, Some(why))),
                        false => Err(self.wrong(worker, why, code)),
                    };
                }
                Ok(Post { worker, said: None }) if answers[worker].is_none() => {
                    return Ok(LaunchEnd::Lost(worker, None));
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(LaunchEnd::Lost(0, None)),
            }
            if told.elapsed() >= LOOK {
                told = Instant::now();
                show(&self.figures, control);
                watch(Event::Standing(&self.figures));
            }
            if answers.iter().all(Option::is_some) {
                show(&self.figures, control);
                watch(Event::Standing(&self.figures));
                let answers: Vec<A> = answers.into_iter().flatten().collect();
                let remove = !self.orders.keep && !answers.iter().any(A::is_stopped);
                for started in &mut self.started {
                    // One that is gone has nothing more to say.
                    let _ = put(&mut started.writer, &ToWorker::Finish { remove });
                }
                self.started.iter_mut().for_each(Started::leave);
                return Ok(LaunchEnd::Done(answers));
            }
            if interrupted && stopped.is_some_and(|at| at.elapsed() > AFTER_INTERRUPT) {
                // What all have committed is kept; the others end with this attempt.
                let stopped = answers.iter_mut().find(|answer| answer.as_ref().is_some_and(A::is_stopped));
                return Ok(LaunchEnd::Done(stopped.and_then(Option::take).into_iter().collect()));
            }
        }
    }
}

/// Shows all workers as one search.
fn show(workers: &[Figures], control: &Control) {
    let gauges = &control.gauges;
    let most = |of: fn(&Figures) -> u64| workers.iter().map(of).max().unwrap_or(0);
    let total = |of: fn(&Figures) -> u64| workers.iter().map(of).sum();
    gauges.states.store(most(|it| it.states_of_all), Relaxed);
    gauges.depth.store(most(|it| it.depth), Relaxed);
    gauges.transitions.store(total(|it| it.transitions), Relaxed);
    gauges.frontier.store(total(|it| it.frontier), Relaxed);
    gauges.expanded.store(total(|it| it.expanded), Relaxed);
    gauges.disk.store(total(|it| it.disk_bytes), Relaxed);
}

impl Orders {
    fn command_for(&self, host: &hosts::Host) -> Command {
        match &host.name {
            None => {
                let mut command = Command::new(&self.program);
                command.arg("worker");
                command
            }
            Some(name) => {
                let mut command = Command::new(self.ssh.first().map_or("ssh", String::as_str));
                // The other side's shell reads the words again.
                let program = format!("'{}'", self.program.display().to_string().replace('\'', r"'\''"));
                command.args(self.ssh.iter().skip(1)).arg(name).arg("--").arg(program).arg("worker");
                command
            }
        }
    }

    /// Where a worker of a set keeps its run.
    fn folder_of(&self, set: u64, host: &Host, worker: usize) -> PathBuf {
        let own = PathBuf::from(format!("set-{set}")).join(format!("worker-{worker}"));
        match (&host.disk, self.folder.file_name()) {
            (Some(disk), Some(name)) => disk.join(name).join(own),
            _ => self.folder.join(own),
        }
    }

    /// The folders of former workers that a worker reads: those of its own machine, and its part of those that are on none
    /// of the machines, which must be on a disk that all share.
    fn former_of(&self, me: usize, former: &Former) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for (worker, host) in former.hosts.iter().enumerate() {
            let there: Vec<usize> =
                (0..self.hosts.len()).filter(|&now| self.hosts[now].name == host.name).collect();
            let reader = match there.is_empty() {
                true => worker % self.hosts.len(),
                false => there[worker % there.len()],
            };
            if reader == me {
                folders.push(self.folder_of(former.set, host, worker));
            }
        }
        folders
    }

    fn job(&self, me: usize, token: &str, moves: bool) -> Job {
        let host = &self.hosts[me];
        let sharing = self.hosts.iter().filter(|other| other.name == host.name).count();
        Job {
            me,
            weights: self.hosts.iter().map(|host| host.weight).collect(),
            by: self.by.clone(),
            search: self.search,
            small: self.small,
            token: token.to_owned(),
            listen: host.listens_at(),
            command: self.command.clone(),
            folder: self.folder_of(self.set, host, me),
            former: self.former.as_ref().filter(|_| moves).map(|former| self.former_of(me, former)),
            limits: JobLimits { sharing, ..self.limits },
        }
    }
}
