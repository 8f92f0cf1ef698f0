//! The expansion of a block of states on all lanes.

use crate::lane::{Lane, Sink};
use hadal_system::States;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// States a thread takes at a time.
const PIECE: usize = 256;
/// Blocks with fewer states are expanded by one thread.
const SHARED_FROM: usize = 2048;

/// How the expansion of a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    /// Every state of the block is expanded and its successors are in the cache.
    Whole,
    /// The cache is full; batches wait in the lanes.
    Full,
}

/// What is left of a block.
pub(crate) struct Left {
    /// The first state nobody has taken.
    next: AtomicUsize,
    /// Pieces taken and not finished.
    returned: Mutex<Vec<(usize, usize)>>,
}

impl Left {
    /// All of it.
    pub(crate) fn all() -> Self {
        Left { next: AtomicUsize::new(0), returned: Mutex::new(Vec::new()) }
    }

    /// Expands on all lanes, each with its own sink, until nothing is left or the cache is full. Of each record of the block
    /// the last `words` words are the state, those before them its payload.
    pub(crate) fn expand(
        &self,
        lanes: &mut [Lane],
        sinks: &mut [impl Sink],
        block: States,
        words: usize,
    ) -> BlockEnd {
        let states = block.len();
        let full = Mutex::new(BlockEnd::Whole);
        let work = |(lane, sink): (&mut Lane, &mut _)| {
            let ran_full = || *full.lock().unwrap_or_else(|e| e.into_inner()) = BlockEnd::Full;
            if lane.finish_batch(sink).is_err() {
                return ran_full();
            }
            while let Some((from, to)) = self.take(states) {
                let state = |n: u64, payload: &mut Vec<u64>| {
                    let record = block.state(from + n as usize);
                    let (own, state) = record.split_at(record.len() - words);
                    payload.extend_from_slice(own);
                    (state, 0)
                };
                if let Err((done, _)) = lane.expand(sink, (to - from) as u64, state) {
                    if from + (done as usize) < to {
                        let rest = (from + done as usize, to);
                        self.returned.lock().unwrap_or_else(|e| e.into_inner()).push(rest);
                    }
                    return ran_full();
                }
            }
        };
        let alone = lanes.len() == 1 || states < SHARED_FROM;
        let each = lanes.iter_mut().zip(sinks);
        if alone {
            // The first takes all pieces; the others may have a batch waiting.
            each.for_each(work);
        } else {
            std::thread::scope(|scope| {
                for lane in each {
                    scope.spawn(|| work(lane));
                }
            });
        }
        full.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn take(&self, states: usize) -> Option<(usize, usize)> {
        self.returned.lock().unwrap_or_else(|e| e.into_inner()).pop().or_else(|| {
            let from = self.next.fetch_add(PIECE, Ordering::Relaxed);
            (from < states).then(|| (from, states.min(from + PIECE)))
        })
    }
}
