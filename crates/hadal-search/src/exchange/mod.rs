//! Several workers explore one space: every state has an owner, generated states travel to it, and owners decide what is
//! new.
//!
//! An [`Exchange`] is one worker's way to the others. It moves blocks of states and lets all workers say something in turn:
//! what everybody says in a round is known to everybody once all have said it, and everything that was sent in the round has
//! arrived by then. Searches that take an exchange do the same in the same order on every worker, so they agree without
//! anyone in charge. [`Alone`] is the exchange of a search in one process.
//!
//! Ownership is permanent: it stands for the pools, locks and merges of Jabbar's distributed External A* (2008, ch. 7), where
//! whoever is free takes a part of a bucket.

mod agreed;
mod helping;
mod mailbox;
mod routed;
mod said;
mod shares;

pub(crate) use agreed::{agree, bytes_of_one, in_common};
pub(crate) use helping::{HELPED_FROM, Heard, Helping, PIECE};
pub(crate) use mailbox::Mailbox;
pub(crate) use said::{Said, Stops, Words};
pub use said::{cycle_of, kind_of, kind_words, stop_of, stop_words};
pub use shares::{OwnershipError, Shares};

use hadal_store::shape::Records;

/// A worker was lost, or the way to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a worker of the cluster was lost: {0}")]
pub struct Lost(pub String);

/// One worker's way to the others. Rounds are numbered through, the same for all workers. One thread sends, says and hears; all may
/// lend.
pub trait Exchange: Sync {
    /// Which worker this is.
    fn me(&self) -> usize;

    /// Who owns which states.
    fn shares(&self) -> &Shares;

    /// The round that comes next: 0, unless an earlier search used the exchange.
    fn round(&self) -> u64;

    /// Sends states, ascending, to their owner; `false` where so much is under way to it that it must take some first.
    fn send(&self, round: u64, to: usize, records: Records<'_>) -> Result<bool, Lost>;

    /// Replaces `records` by a block that arrived in the round; `false` where none is there.
    fn arrived(&self, round: u64, records: &mut Vec<u64>) -> Result<bool, Lost>;

    /// Gives states to another worker that is free, to be expanded in the sender's place. No states mean that the sender is free
    /// itself. They arrive in the order in which they are given.
    fn lend(&self, round: u64, to: usize, records: Records<'_>) -> Result<(), Lost>;

    /// Replaces `records` by what another worker lent in the round, and says which worker.
    fn lent(&self, round: u64, records: &mut Vec<u64>) -> Result<Option<usize>, Lost>;

    /// Says something to all, and that nothing more is sent in the round.
    fn say(&self, round: u64, words: &[u64]) -> Result<(), Lost>;

    /// What all workers said in the round, by worker, once all have. Everything sent in it has arrived then.
    fn heard(&self, round: u64) -> Result<Option<Vec<Vec<u64>>>, Lost>;

    /// Waits until there may be something new, for a short time at most.
    fn wait(&self);

    /// Takes note of how the search stands, for whoever watches.
    fn tell(&self, standing: Standing) {
        let _ = standing;
    }
}

/// How a worker stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// States that it owns.
    pub own: u64,
    /// Bytes of states that arrived and are not yet offered.
    pub inbox: u64,
    /// The depth up to which everything is committed, once something is.
    pub committed: Option<u64>,
    /// States of others that it expanded.
    pub helped: u64,
}

/// The exchange of a search in one process.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Exchange for Alone {
    fn me(&self) -> usize {
        0
    }

    fn shares(&self) -> &Shares {
        Shares::ALONE
    }

    fn round(&self) -> u64 {
        0
    }

    fn send(&self, _: u64, _: usize, _: Records<'_>) -> Result<bool, Lost> {
        Err(Lost("there is no other".into()))
    }

    fn arrived(&self, _: u64, _: &mut Vec<u64>) -> Result<bool, Lost> {
        Ok(false)
    }

    fn lend(&self, _: u64, _: usize, _: Records<'_>) -> Result<(), Lost> {
        Err(Lost("there is no other".into()))
    }

    fn lent(&self, _: u64, _: &mut Vec<u64>) -> Result<Option<usize>, Lost> {
        Ok(None)
    }

    fn say(&self, _: u64, _: &[u64]) -> Result<(), Lost> {
        Ok(())
    }

    fn heard(&self, _: u64) -> Result<Option<Vec<Vec<u64>>>, Lost> {
        Err(Lost("there is no other".into()))
    }

    fn wait(&self) {}
}
