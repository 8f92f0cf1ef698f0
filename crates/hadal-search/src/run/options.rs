//! Buffers of run files under a small budget.

use hadal_store::Governor;
use hadal_store::run::RunOptions;
use hadal_store::shape::RecordShape;
use hadal_system::{Payload, StateSpace};

/// How many runs are open at once, about: how much of the budget one may take for its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffers {
    /// A handful.
    Few,
    /// A dozen and more.
    Many,
    /// As many, each with the least that works.
    Smallest,
}

impl Buffers {
    /// The most bytes of one buffer.
    pub(crate) fn most(self, governor: &Governor) -> usize {
        let (share, least) = match self {
            Buffers::Few => (256, 8 << 10),
            Buffers::Many => (512, 8 << 10),
            Buffers::Smallest => (512, 4 << 10),
        };
        (governor.limit() / share).max(least) as usize
    }
}

/// Options of runs of states with the payloads of their space: a small budget cannot spare the usual buffers.
pub(crate) fn run_options(space: &dyn StateSpace, governor: &Governor, buffers: Buffers) -> RunOptions {
    run_options_keeping(space, space.payload(), governor, buffers)
}

/// The same with other payloads beside the states, for searches that keep some of their own.
pub(crate) fn run_options_keeping(
    space: &dyn StateSpace,
    payload: Payload,
    governor: &Governor,
    buffers: Buffers,
) -> RunOptions {
    let usual = RunOptions::new(RecordShape::keeping(space.words(), payload), space.fingerprint());
    let most = buffers.most(governor);
    RunOptions { block_bytes: usual.block_bytes.min(most), chunk_bytes: usual.chunk_bytes.min(most), ..usual }
}
