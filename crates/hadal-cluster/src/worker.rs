//! The worker's side of the launcher: it says hello, gets a job, tells how it stands and what it came to. When the launcher
//! is gone, so is the worker.

use crate::VERSION;
use crate::connect;
use crate::link::LinkFigures;
use crate::message::{Figures, FromWorker, Job, ToWorker, Traffic, get, put};
use hadal_search::Control;
use hadal_store::Governor;
use serde::Serialize;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The exit code of a worker that lost the launcher or another worker.
pub const LOST: i32 = 5;
/// How often a worker tells how it stands.
const EVERY: Duration = Duration::from_millis(200);
/// How long a worker tries to reach the launcher.
const PATIENCE: Duration = Duration::from_secs(60);

/// The way to the launcher.
pub struct Launcher {
    reader: Box<dyn BufRead + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
}

/// Why there is nothing to do.
#[derive(Debug, thiserror::Error)]
pub enum NoJob {
    /// The launcher does not want this worker.
    #[error("the launcher turned this worker away: {0}")]
    Refused(String),
    /// It said something else, or nothing.
    #[error("the launcher said nothing that this worker understands")]
    Confused,
    /// It cannot be reached.
    #[error("the launcher cannot be reached: {0}")]
    Io(#[from] io::Error),
}

impl Launcher {
    /// Over the pipes of a process that the launcher started.
    pub fn over_pipes() -> Self {
        Launcher {
            reader: Box::new(BufReader::new(io::stdin())),
            writer: Arc::new(Mutex::new(Box::new(io::stdout()))),
        }
    }

    /// Over a connection to a launcher that waits for workers.
    pub fn at(address: &str) -> io::Result<Self> {
        let begun = Instant::now();
        let stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                // It may be started a little later.
                Err(_) => std::thread::sleep(EVERY),
            }
        };
        connect::prepare(&stream)?;
        Ok(Launcher {
            reader: Box::new(BufReader::new(stream.try_clone()?)),
            writer: Arc::new(Mutex::new(Box::new(stream))),
        })
    }

    /// Says hello and gets what there is to do.
    pub fn job(&mut self, token: &str) -> Result<Job, NoJob> {
        self.say(&FromWorker::Hello { version: VERSION.into(), token: token.into() })?;
        match get(&mut *self.reader)? {
            Some(ToWorker::Job(job)) => Ok(*job),
            Some(ToWorker::Refused { why }) => Err(NoJob::Refused(why)),
            _ => Err(NoJob::Confused),
        }
    }

    /// Tells that the model is read and others can connect; hears where they are.
    pub fn peers(&mut self, fingerprint: u64, address: String) -> Result<Vec<String>, NoJob> {
        self.say(&FromWorker::Ready { fingerprint, address })?;
        match get(&mut *self.reader)? {
            Some(ToWorker::Peers { addresses }) => Ok(addresses),
            Some(ToWorker::Refused { why }) => Err(NoJob::Refused(why)),
            _ => Err(NoJob::Confused),
        }
    }

    /// Tells that this worker cannot do its job.
    pub fn fail(&self, code: u8, why: String) {
        // Where nobody hears it, the exit code says as much.
        let _ = self.say(&FromWorker::Failed { code, why });
    }

    /// Tells what a search came to that was over before it began.
    pub fn over(&self, answer: &impl Serialize) {
        if let Ok(answer) = serde_json::to_value(answer) {
            // A launcher that is gone needs no answer.
            let _ = self.say(&FromWorker::Over { answer });
        }
    }

    fn say(&self, message: &FromWorker) -> io::Result<()> {
        put(&mut **self.writer.lock().unwrap_or_else(PoisonError::into_inner), message)
    }

    /// From now on interrupts reach `control`, the launcher hears how the search stands, and the process ends when the
    /// launcher does.
    pub fn attend(self, watched: Watched) -> Attending {
        let Launcher { mut reader, writer } = self;
        let over = Arc::new(AtomicBool::new(false));
        let (control, is_over) = (Arc::clone(&watched.control), Arc::clone(&over));
        let (finishes, finish) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            loop {
                match get(&mut *reader) {
                    Ok(Some(ToWorker::Interrupt)) => control.interrupt(),
                    Ok(Some(ToWorker::Finish { remove })) => {
                        // Who waits for it is there until then.
                        let _ = finishes.send(remove);
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) if is_over.load(Relaxed) => return,
                    // What is committed stands.
                    Ok(None) | Err(_) => std::process::exit(LOST),
                }
            }
        });
        let watched = Arc::new(watched);
        let (telling, is_over) = (Arc::clone(&watched), Arc::clone(&over));
        let told = Arc::clone(&writer);
        std::thread::spawn(move || {
            while !is_over.load(Relaxed) {
                let standing = FromWorker::Standing(telling.figures());
                let mut writer = told.lock().unwrap_or_else(PoisonError::into_inner);
                if !is_over.load(Relaxed) && put(&mut **writer, &standing).is_err() {
                    std::process::exit(LOST);
                }
                drop(writer);
                std::thread::sleep(EVERY);
            }
        });
        Attending { writer, watched, over, finish }
    }
}

/// What of a search the launcher hears about.
pub struct Watched {
    /// Its reins.
    pub control: Arc<Control>,
    /// Its budget.
    pub governor: Governor,
    /// Its link.
    pub link: Arc<LinkFigures>,
    /// Processor seconds of this process.
    pub cpu_seconds: fn() -> f64,
}

impl Watched {
    fn figures(&self) -> Figures {
        let (gauges, link) = (&self.control.gauges, &self.link);
        Figures {
            states: link.own.load(Relaxed),
            states_of_all: gauges.states.load(Relaxed),
            transitions: gauges.transitions.load(Relaxed),
            depth: gauges.depth.load(Relaxed),
            frontier: gauges.frontier.load(Relaxed),
            expanded: gauges.expanded.load(Relaxed),
            traffic: Traffic {
                inbox_bytes: link.inbox.load(Relaxed),
                most_inbox_bytes: link.most_inbox.load(Relaxed),
                sent_bytes: link.sent_bytes.load(Relaxed),
                sent_states: link.sent_states.load(Relaxed),
                received_bytes: link.received_bytes.load(Relaxed),
                helped_states: link.helped.load(Relaxed),
            },
            memory_bytes: self.governor.current(),
            disk_bytes: gauges.disk.load(Relaxed),
            committed: link.committed.load(Relaxed),
            cpu_seconds: (self.cpu_seconds)(),
            waiting_seconds: link.waited.load(Relaxed) as f64 / 1e6,
        }
    }
}

/// A launcher that is attended to while the search runs.
pub struct Attending {
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    watched: Arc<Watched>,
    over: Arc<AtomicBool>,
    finish: Receiver<bool>,
}

impl Attending {
    /// Tells what the search came to, and waits until all have. Whether the run's folder may go.
    pub fn done(self, answer: &impl Serialize) -> io::Result<bool> {
        let answer = serde_json::to_value(answer)?;
        self.end(&FromWorker::Done { answer, figures: self.watched.figures() })?;
        // A launcher that is gone has nothing removed.
        Ok(self.finish.recv().unwrap_or(false))
    }

    /// Tells what the search came to that ends without the others.
    pub fn over(self, answer: &impl Serialize) -> io::Result<()> {
        self.end(&FromWorker::Over { answer: serde_json::to_value(answer)? })
    }

    /// Tells that the search cannot go on.
    pub fn fail(self, code: u8, why: String) -> io::Result<()> {
        self.end(&FromWorker::Failed { code, why })
    }

    fn end(&self, message: &FromWorker) -> io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.store(true, Relaxed);
        put(&mut **writer, message)
    }
}

/// Ends the process where a thread of the transport meets the end of another worker: its panic is its way to say so, and what
/// is committed stands.
pub fn end_with_others() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or_default();
        let thread = std::thread::current();
        let is_transport = thread
            .name()
            .is_some_and(|name| ["timely:send", "timely:recv"].iter().any(|it| name.starts_with(it)));
        if is_transport || text.starts_with("timely communication error") || text.contains("MergeQueue") {
            std::process::exit(LOST);
        }
        usual(panic);
    }));
}
