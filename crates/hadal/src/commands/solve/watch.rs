//! Ends a run whose time is up, or that is interrupted. What a run on disk has committed stays.

use super::SolveArgs;
use crate::failure::Failure;
use crate::output;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Watches until the process ends.
pub(super) struct Watch {
    speaking: Arc<Mutex<()>>,
}

impl Watch {
    /// Begins; `started` is when the time began.
    pub fn begin(args: &SolveArgs, started: Instant) -> Result<Self, Failure> {
        let speaking = Arc::new(Mutex::new(()));
        let json = args.written.json;
        let lock = Arc::clone(&speaking);
        ctrlc::set_handler(move || end(&lock, json, "interrupted", 130))
            .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))?;
        if let Some(limit) = args.room.time_limit {
            let lock = Arc::clone(&speaking);
            std::thread::spawn(move || {
                std::thread::sleep(limit.saturating_sub(started.elapsed()));
                end(&lock, json, "--time-limit is reached", 3)
            });
        }
        Ok(Watch { speaking })
    }

    /// Nothing else is said, and the process does not end, before this is dropped.
    pub fn speak(&self) -> MutexGuard<'_, ()> {
        self.speaking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(speaking: &Mutex<()>, json: bool, why: &str, code: i32) {
    let _alone = speaking.lock().unwrap_or_else(PoisonError::into_inner);
    let object = serde_json::json!({ "verdict": "stopped", "reason": why });
    let text = if json { object.to_string() } else { format!("stopped: {why}") };
    // The exit code says the same where nobody reads.
    drop(output::line(&text));
    std::process::exit(code)
}
