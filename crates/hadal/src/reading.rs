//! Limits hold from the first moment: reading a model may take as long, and as much memory, as searching it.

use crate::args::CheckArgs;
use crate::outcome::{Decided, Outcome};
use crate::output;
use hadal_check::units::size;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

/// Bytes of memory that reading and checking a byte of a model takes, about (measured on texts of 10 to 100 MB).
const BYTES_PER_BYTE: u64 = 60;

/// Smaller texts are read in next to nothing.
const SMALL_BYTES: u64 = 256 << 10;

/// Watches the clock until it is dropped.
pub struct Reading {
    _done: Option<Sender<()>>,
}

impl Reading {
    /// Ends the process as stopped when the time limit passes before this is dropped.
    pub fn begin(args: &CheckArgs) -> Self {
        let Some(limit) = args.limits.time_limit else { return Reading { _done: None } };
        let (done, waiting) = channel::<()>();
        let json = args.output.json;
        std::thread::spawn(move || {
            if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                stopped("--time-limit is reached while the model is read and compiled", json);
            }
        });
        Reading { _done: Some(done) }
    }
}

/// Ends the process as stopped where reading the model would take more memory than the budget.
pub fn must_fit(args: &CheckArgs) {
    let Some(budget) = args.limits.memory else { return };
    let Ok(file) = std::fs::metadata(&args.model.model) else { return };
    let needed = file.len().saturating_mul(BYTES_PER_BYTE);
    if needed > budget && file.len() > SMALL_BYTES {
        let why = format!(
            "reading a model of {} takes about {}, more than the budget of {} (--memory {}M)",
            size(file.len()),
            size(needed),
            size(budget),
            needed.div_ceil(1 << 20)
        );
        stopped(&why, args.output.json);
    }
}

fn stopped(why: &str, json: bool) -> ! {
    let decided = Decided { verdict: "stopped", reason: why.to_owned(), property: None };
    let outcome = Outcome { decided, ..Outcome::default() };
    let text = match json {
        true => serde_json::to_string_pretty(&outcome).unwrap_or_default(),
        false => format!("STOPPED: {why}"),
    };
    // The exit code says the same where nobody reads.
    let _ = output::line(&text);
    std::process::exit(3)
}
