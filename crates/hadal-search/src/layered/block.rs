//! The expansion of a block of states on all lanes.

use crate::lane::{Lane, Sink};
use hadal_store::OverBudget;
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
    /// It was full again and again although it had been emptied: it is too small to take anything.
    Stuck(OverBudget),
}

/// Expansions that got nowhere before there is no hope.
const HOPELESS: u32 = 3;

/// What is left of a block.
pub(crate) struct Left {
    /// The first state nobody has taken.
    next: AtomicUsize,
    /// Pieces taken and not finished.
    returned: Mutex<Vec<(usize, usize)>>,
    stalls: Mutex<Stalls>,
}

/// How often lanes found the cache full without getting on.
#[derive(Default)]
struct Stalls {
    /// How far they had got at the last expansion.
    reached: u64,
    times: u32,
}

impl Left {
    /// All of it.
    pub(crate) fn all() -> Self {
        Left { next: AtomicUsize::new(0), returned: Mutex::default(), stalls: Mutex::default() }
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
        let full = Mutex::new(None);
        let work = |(lane, sink): (&mut Lane, &mut _)| {
            let ran_full = |over| *full.lock().unwrap_or_else(|e| e.into_inner()) = Some(over);
            if let Err(over) = lane.finish_batch(sink) {
                return ran_full(over);
            }
            let plain = block.words() == words && lane.is_plain();
            while let Some((from, to)) = self.take(states) {
                let state = |n: u64, payload: &mut Vec<u64>| {
                    let record = block.state(from + n as usize);
                    let (own, state) = record.split_at(record.len() - words);
                    payload.extend_from_slice(own);
                    (state, 0)
                };
                let expanded = match plain {
                    true => lane.expand_plain(sink, &block.flat()[from * words..to * words]),
                    false => lane.expand(sink, (to - from) as u64, state),
                };
                if let Err((done, over)) = expanded {
                    if from + (done as usize) < to {
                        let rest = (from + done as usize, to);
                        self.returned.lock().unwrap_or_else(|e| e.into_inner()).push(rest);
                    }
                    return ran_full(over);
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
        match full.into_inner().unwrap_or_else(|e| e.into_inner()) {
            None => BlockEnd::Whole,
            Some(over) => self.full(lanes, over),
        }
    }

    /// Whether emptying the cache will help.
    fn full(&self, lanes: &[Lane], over: OverBudget) -> BlockEnd {
        let reached = lanes.iter().map(Lane::reached).sum();
        let mut stalls = self.stalls.lock().unwrap_or_else(|e| e.into_inner());
        let times = if reached == stalls.reached { stalls.times + 1 } else { 0 };
        *stalls = Stalls { reached, times };
        if times < HOPELESS { BlockEnd::Full } else { BlockEnd::Stuck(over) }
    }

    fn take(&self, states: usize) -> Option<(usize, usize)> {
        self.returned.lock().unwrap_or_else(|e| e.into_inner()).pop().or_else(|| {
            let from = self.next.fetch_add(PIECE, Ordering::Relaxed);
            (from < states).then(|| (from, states.min(from + PIECE)))
        })
    }
}
