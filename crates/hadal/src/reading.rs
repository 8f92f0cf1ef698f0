//! Limits hold from the first moment: reading and compiling a model may take as long, and as much memory, as searching it.

use crate::args::CheckArgs;
use crate::outcome::{Decided, Outcome};
use crate::output;
use hadal_check::memory::{default_memory, resident};
use hadal_check::units::size;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Bytes of memory that reading and checking a byte of a model takes, about (measured on texts of 10 to 100 MB).
const BYTES_PER_BYTE: u64 = 60;

/// Smaller texts are read in next to nothing.
const SMALL_BYTES: u64 = 256 << 10;

/// What the program itself takes.
const PROGRAM_BYTES: u64 = 32 << 20;

/// How often the clock and the memory are looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// What reading may take.
pub struct Room {
    /// Bytes of the budget, where one was given.
    pub memory: Option<u64>,
    /// How long it may take.
    pub time: Option<Duration>,
}

/// Watches the clock and the memory until it is dropped.
pub struct Reading {
    _done: Option<Sender<()>>,
}

impl Reading {
    /// Calls `stop`, then ends the process as stopped, when reading these files takes longer than it may or, of files that
    /// are large, more memory than the budget.
    pub fn begin(files: &[&Path], room: Room, stop: impl FnOnce(&str) + Send + 'static) -> Self {
        let budget = room.memory.unwrap_or_else(default_memory);
        let watched = (length(files) > SMALL_BYTES).then_some(budget);
        if room.time.is_none() && watched.is_none() {
            return Reading { _done: None };
        }
        let (done, waiting) = channel::<()>();
        let begun = Instant::now();
        std::thread::spawn(move || {
            let stopped = loop {
                let left = room.time.map_or(GLANCE, |limit| limit.saturating_sub(begun.elapsed()));
                if waiting.recv_timeout(left.min(GLANCE)) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if room.time.is_some_and(|limit| begun.elapsed() >= limit) {
                    break "--time-limit is reached while the model is read and compiled".to_owned();
                }
                if let Some(budget) =
                    watched.filter(|budget| resident() > budget.saturating_add(PROGRAM_BYTES))
                {
                    break format!(
                        "reading and compiling the model takes more than the budget of {} (--memory)",
                        size(budget)
                    );
                }
            };
            stop(&stopped);
            std::process::exit(3)
        });
        Reading { _done: Some(done) }
    }

    /// For `check`: ends the process at once where reading the model would take more memory than the budget. The limit of a
    /// run that is resumed begins when it has read everything back.
    pub fn of_check(args: &CheckArgs, resumed: bool) -> Self {
        let file = args.model.model.as_path();
        let needed = length(&[file]).saturating_mul(BYTES_PER_BYTE);
        let json = args.output.json;
        if let Some(budget) = args.limits.memory
            && needed > budget
            && length(&[file]) > SMALL_BYTES
        {
            let why = format!(
                "reading a model of {} takes about {}, more than the budget of {} (--memory {}M)",
                size(length(&[file])),
                size(needed),
                size(budget),
                needed.div_ceil(1 << 20)
            );
            tell(&why, json);
            std::process::exit(3)
        }
        let time = args.limits.time_limit.filter(|_| !resumed);
        Reading::begin(&[file], Room { memory: args.limits.memory, time }, move |why| tell(why, json))
    }
}

/// Bytes of these files together.
fn length(files: &[&Path]) -> u64 {
    files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|file| file.len()).sum()
}

fn tell(why: &str, json: bool) {
    let decided = Decided { verdict: "stopped", reason: why.to_owned(), property: None };
    let outcome = Outcome { decided, ..Outcome::default() };
    let text = match json {
        true => serde_json::to_string_pretty(&outcome).unwrap_or_default(),
        false => format!("STOPPED: {why}"),
    };
    // The exit code says the same where nobody reads.
    let _ = output::line(&text);
}
