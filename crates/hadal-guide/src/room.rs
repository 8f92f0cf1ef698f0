//! The memory and the disk that guides may keep tables in.

use crate::GuideError;
use hadal_store::error::WriteError;
use hadal_store::{Disk, Governor};
use hadal_system::guide::{CalledOff, Meter, Unmetered};
use std::cell::OnceCell;

/// Opens the disk that tables go to, with the budget that its buffers count against.
pub type OpenDisk<'m> = dyn Fn(&Governor) -> Result<Disk, WriteError> + 'm;

/// Room for the tables of guides, their indexes and the caches they are looked up through.
pub struct Room<'m> {
    budget: Governor,
    threads: usize,
    open: Option<&'m OpenDisk<'m>>,
    ram: bool,
    disk: OnceCell<Disk>,
    alarm: Option<&'m (dyn Fn() + Sync)>,
    meter: &'m dyn Meter,
}

impl Default for Room<'_> {
    fn default() -> Self {
        Room::new(Governor::unlimited(), 1)
    }
}

impl<'m> Room<'m> {
    /// Room for tables in RAM within `budget`, to be looked up by so many threads.
    pub fn new(budget: Governor, threads: usize) -> Self {
        Room {
            budget,
            threads: threads.max(1),
            open: None,
            ram: true,
            disk: OnceCell::new(),
            alarm: None,
            meter: &Unmetered,
        }
    }

    /// Tables that do not fit go to a disk, which is opened with the first of them.
    pub fn with_disk(self, open: &'m OpenDisk<'m>) -> Self {
        Room { open: Some(open), ..self }
    }

    /// Every table goes to the disk, also where it would fit in RAM.
    pub fn without_ram(self) -> Self {
        Room { ram: false, ..self }
    }

    /// Called when a table can no longer be read, so that the search can be stopped.
    pub fn with_alarm(self, alarm: &'m (dyn Fn() + Sync)) -> Self {
        Room { alarm: Some(alarm), ..self }
    }

    /// Making tables is counted, and may be called off. Their memory is counted by the budget alone.
    pub fn with_meter(self, meter: &'m dyn Meter) -> Self {
        Room { meter, ..self }
    }

    /// Counts work of about so many nanoseconds.
    pub(crate) fn spend(&self, work: u64) -> Result<(), CalledOff> {
        self.meter.spend(work, 0)
    }

    /// What tables and caches hold counts here.
    pub fn budget(&self) -> &Governor {
        &self.budget
    }

    /// The disk, if tables went to it.
    pub fn opened_disk(&self) -> Option<&Disk> {
        self.disk.get()
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn alarm(&self) -> Option<&'m (dyn Fn() + Sync)> {
        self.alarm
    }

    pub(crate) fn allows_ram(&self) -> bool {
        self.ram
    }

    pub(crate) fn has_disk(&self) -> bool {
        self.open.is_some()
    }

    /// The disk, if there is one.
    pub(crate) fn disk(&self) -> Result<Option<&Disk>, GuideError> {
        let Some(open) = self.open else { return Ok(None) };
        if self.disk.get().is_none() {
            let disk = open(&self.budget).map_err(|error| GuideError::Storage(error.to_string()))?;
            let _ = self.disk.set(disk);
        }
        Ok(self.disk.get())
    }
}
