//! What launcher and workers say to each other: one JSON object a line, over pipes or a connection.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

/// The longest line: a report with a long trace.
const LONGEST: u64 = 1 << 30;

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum FromWorker {
    /// First of all.
    Hello {
        /// [`crate::VERSION`].
        version: String,
        /// What a worker that was not started by the launcher must know.
        token: String,
    },
    /// The model is read, and others can connect.
    Ready {
        /// Of the model.
        fingerprint: u64,
        /// Where it listens.
        address: String,
    },
    /// How it stands, now and then.
    Standing(Figures),
    /// The search is over.
    Done {
        /// What it came to, as the command understands it.
        answer: serde_json::Value,
        /// The last figures.
        figures: Figures,
    },
    /// It ended without the others: before it began, or because nothing it does has room any more. What is committed stands.
    Over {
        /// What it came to.
        answer: serde_json::Value,
    },
    /// It cannot go on.
    Failed {
        /// The exit code that a search alone would have ended with; [`crate::worker::LOST`] where another worker cannot be
        /// reached, which may be different next time.
        code: u8,
        /// Why.
        why: String,
    },
}

/// What the launcher says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum ToWorker {
    /// What to do.
    Job(Box<Job>),
    /// Where the workers listen, in order.
    Peers {
        /// One for each.
        addresses: Vec<String>,
    },
    /// Stop at the next good moment.
    Interrupt,
    /// Everybody is done.
    Finish {
        /// Whether the run's folders are not needed any more.
        remove: bool,
    },
    /// There is nothing to do for this worker.
    Refused {
        /// Why.
        why: String,
    },
}

/// What a worker is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Which worker it is.
    pub me: usize,
    /// Its weight and those of the others.
    pub weights: Vec<u64>,
    /// Scalars that decide who owns a state; all where none is named.
    pub by: Vec<String>,
    /// Which of the command's searches it is.
    pub search: usize,
    /// Layers with fewer states are explored by every worker for itself.
    pub small: u64,
    /// What workers show each other.
    pub token: String,
    /// Where it listens.
    pub listen: String,
    /// The command, as run folders keep it.
    pub command: serde_json::Value,
    /// Its own run folder.
    pub folder: PathBuf,
    /// Folders of former workers, of another number, that it reads; none where it goes on with its own.
    pub former: Option<Vec<PathBuf>>,
    /// What it may take.
    pub limits: JobLimits,
}

/// What a worker may take.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct JobLimits {
    /// Bytes of memory; as hadal chooses where it is not given.
    pub memory: Option<u64>,
    /// Threads; as hadal chooses where it is not given.
    pub threads: Option<usize>,
    /// How many workers share its machine, which divide what is not given.
    pub sharing: usize,
    /// Bytes on disk.
    pub disk: Option<u64>,
    /// Distinct states, of all workers together.
    pub states: Option<u64>,
    /// Layers.
    pub depth: Option<u64>,
    /// Seconds.
    pub seconds: Option<f64>,
}

/// How a worker stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Distinct states that it owns, in complete layers.
    pub states: u64,
    /// Distinct states of all workers.
    pub states_of_all: u64,
    /// Transitions it fired.
    pub transitions: u64,
    /// The layer being expanded.
    pub depth: u64,
    /// States of that layer that it owns.
    pub frontier: u64,
    /// How many of them are expanded.
    pub expanded: u64,
    /// What went to and fro.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Bytes held under its budget.
    pub memory_bytes: u64,
    /// Bytes on its disk.
    pub disk_bytes: u64,
    /// Layers that are committed.
    pub committed: u64,
    /// Processor seconds.
    pub cpu_seconds: f64,
    /// Seconds spent waiting for others.
    pub waiting_seconds: f64,
}

impl Figures {
    /// States of the layer being expanded that it owns and has not expanded yet.
    pub fn to_expand(&self) -> u64 {
        self.frontier.saturating_sub(self.expanded)
    }
}

/// What a worker sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes that wait in its inbox.
    pub inbox_bytes: u64,
    /// The most that waited there.
    pub most_inbox_bytes: u64,
    /// Bytes of states it sent.
    pub sent_bytes: u64,
    /// States it sent.
    pub sent_states: u64,
    /// Bytes of states it received.
    pub received_bytes: u64,
    /// States of other workers that it expanded when it had none left; runs of older versions have none.
    #[serde(default)]
    pub helped_states: u64,
}

/// Writes a line.
pub fn put(writer: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

/// Reads a line; none at the end.
pub fn get<T: for<'de> Deserialize<'de>>(reader: &mut dyn BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    io::Read::take(reader, LONGEST).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        // Whoever wrote it ended on the way.
        Some(_) => Ok(None),
    }
}
