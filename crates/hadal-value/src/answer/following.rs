//! Policies, which may be as large as the graph, and the folder where they are until they are told.

use crate::spool::{Spool, Spooling};
use hadal_store::Disk;
use hadal_system::Label;
use std::io;
use std::path::PathBuf;

/// A policy: what is done in each state that can be reached under it.
#[derive(Clone, Debug)]
pub struct Policy {
    steps: Spool,
    /// Between what the value of the initial states lies when the policy is followed, solved anew from the chain under it.
    pub value: (f64, f64),
}

impl Policy {
    pub(crate) fn new(steps: Spool, value: (f64, f64)) -> Self {
        Policy { steps, value }
    }

    /// How many states it reaches.
    pub fn states(&self) -> u64 {
        self.steps.len()
    }

    /// Tells every state with the label that its choice begins with, and the number of that among the choices of the state.
    pub fn each(&self, mut each: impl FnMut(&[u64], Label, u32) -> io::Result<()>) -> io::Result<()> {
        self.steps.scan(|record| each(&record[1..], Label((record[0] >> 32) as u32), record[0] as u32))
    }
}

/// A policy being written down.
pub(crate) struct Following(Spooling, Vec<u64>);

impl Following {
    /// Of states of so many words; in a file where there is a disk.
    pub fn new(words: usize, disk: Option<&Disk>) -> io::Result<Self> {
        Ok(Following(Spooling::new(words + 1, disk)?, Vec::new()))
    }

    pub fn push(&mut self, state: &[u64], label: Label, choice: u32) -> io::Result<()> {
        self.1.clear();
        self.1.push(u64::from(label.0) << 32 | u64::from(choice));
        self.1.extend_from_slice(state);
        self.0.push(&self.1)
    }

    pub fn finish(self) -> io::Result<Spool> {
        self.0.finish()
    }
}

/// A folder that is no longer needed once the answer was told.
#[derive(Debug)]
pub struct Leftover(pub(crate) PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        // What is left behind is only space.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
