//! Counts what preparing a guide takes, and lets whoever waits for it call it off.

/// Told of work and memory while a guide is prepared.
pub trait Meter {
    /// This much more was done, in units of about a nanosecond, and this many bytes more are held.
    fn spend(&self, work: u64, bytes: u64) -> Result<(), CalledOff>;
}

/// The guide is not wanted any more, or does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalledOff;

/// Nobody waits and nothing is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn spend(&self, _: u64, _: u64) -> Result<(), CalledOff> {
        Ok(())
    }
}
