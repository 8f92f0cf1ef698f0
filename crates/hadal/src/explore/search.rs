//! The search behind the page: `hadal check` in a process of its own, whose events the page watches as they are written.

use super::http::Event;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use tempfile::TempDir;

/// The file of events in the search's folder.
const EVENTS: &str = "events.jsonl";

/// A search that was begun.
pub struct LiveSearch {
    child: Mutex<Child>,
    /// A folder that only this user reads, removed with the search.
    folder: TempDir,
}

impl LiveSearch {
    /// Begins `hadal check` with these arguments.
    pub fn begin(arguments: &[String]) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("hadal-explore-").tempdir()?;
        let events = folder.path().join(EVENTS);
        // The file is there before the page looks at it.
        File::create(&events)?;
        let child = Command::new(std::env::current_exe()?)
            .arg("check")
            .args(arguments)
            .args(["--json", "--quiet", "--until-input-ends", "--events"])
            .arg(&events)
            // Nothing is written there: it ends when this process does, however that ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(LiveSearch { child: Mutex::new(child), folder })
    }

    /// Asks it to stop at the next good moment; what it has on disk can be resumed.
    pub fn stop(&self) {
        let child = self.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: sends a signal to a process that was not waited for yet, so the number is still its own.
        #[cfg(unix)]
        unsafe {
            libc::kill(child.id() as libc::pid_t, libc::SIGINT);
        }
    }

    fn is_over(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        !matches!(child.try_wait(), Ok(None))
    }

    /// What it writes, from the beginning, line by line.
    pub fn watch(self: std::sync::Arc<Self>) -> std::io::Result<Box<dyn FnMut() -> Event + Send>> {
        let mut lines = BufReader::new(File::open(self.folder.path().join(EVENTS))?);
        let mut line = String::new();
        Ok(Box::new(move || {
            let was_over = self.is_over();
            match lines.read_line(&mut line) {
                // The last part of a line may not be written yet.
                Ok(_) if line.ends_with('\n') => Event::Data(std::mem::take(&mut line).trim_end().to_owned()),
                _ if was_over => Event::Over,
                _ => Event::Nothing,
            }
        }))
    }
}

impl Drop for LiveSearch {
    fn drop(&mut self) {
        self.stop();
    }
}
