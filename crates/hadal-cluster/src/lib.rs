//! Several machines explore one state space: the transport behind [`hadal_search::exchange::Exchange`], the launcher that
//! starts and supervises workers, and the worker's side of it.
//!
//! Every worker is a process with threads of its own, its own memory budget and its own run folder. States travel over
//! timely dataflow ([`link`], the only file that knows it); its progress tracking says when a round is over. Timely has no
//! flow control and no fault tolerance: a window of bytes that the receiver gives back bounds every inbox, and the launcher
//! restarts all workers from their last common commit when one is lost.

pub mod answer;
mod block;
pub mod connect;
pub mod hosts;
pub mod launch;
pub mod link;
pub mod message;
pub mod worker;

/// What launcher and workers must have in common: the version of the program and of what they say to each other.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+2");
