//! Workers that are threads of one process.

use hadal_search::exchange::{Exchange, Lost, Shares, Standing};
use hadal_store::shape::Records;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Where they meet.
struct Hall {
    state: Mutex<State>,
    news: Condvar,
    shares: Shares,
    /// Most blocks under way to a worker.
    window: usize,
}

#[derive(Default)]
struct State {
    /// By receiver: round and records.
    blocks: Vec<VecDeque<(u64, Vec<u64>)>>,
    said: HashMap<u64, Vec<Option<Vec<u64>>>>,
    /// By receiver: round, sender and records.
    lent: Vec<VecDeque<(u64, usize, Vec<u64>)>>,
    /// States that each expanded for others.
    helped: Vec<u64>,
    most_waiting: usize,
    gone: bool,
}

/// One of them.
pub struct Place<'h> {
    hall: &'h Hall,
    me: usize,
    round: AtomicU64,
}

impl Hall {
    fn new(weights: &[u64], window: usize) -> Self {
        let blocks = vec![VecDeque::new(); weights.len()];
        let lent = vec![VecDeque::new(); weights.len()];
        let helped = vec![0; weights.len()];
        let state = Mutex::new(State { blocks, lent, helped, ..State::default() });
        Hall { state, news: Condvar::new(), shares: Shares::weighted(weights).unwrap(), window }
    }
}

impl Exchange for Place<'_> {
    fn me(&self) -> usize {
        self.me
    }

    fn shares(&self) -> &Shares {
        &self.hall.shares
    }

    fn round(&self) -> u64 {
        self.round.load(Ordering::Relaxed)
    }

    fn send(&self, round: u64, to: usize, records: Records<'_>) -> Result<bool, Lost> {
        assert_ne!(to, self.me, "own states stay");
        let mut state = self.hall.state.lock().unwrap();
        if state.blocks[to].len() >= self.hall.window {
            return Ok(false);
        }
        state.blocks[to].push_back((round, records.flat().to_vec()));
        state.most_waiting = state.most_waiting.max(state.blocks[to].len());
        self.hall.news.notify_all();
        Ok(true)
    }

    fn arrived(&self, round: u64, records: &mut Vec<u64>) -> Result<bool, Lost> {
        let mut state = self.hall.state.lock().unwrap();
        let blocks = &mut state.blocks[self.me];
        let Some(at) = blocks.iter().position(|block| block.0 == round) else { return Ok(false) };
        *records = blocks.remove(at).unwrap().1;
        self.hall.news.notify_all();
        Ok(true)
    }

    fn lend(&self, round: u64, to: usize, records: Records<'_>) -> Result<(), Lost> {
        let mut state = self.hall.state.lock().unwrap();
        state.lent[to].push_back((round, self.me, records.flat().to_vec()));
        self.hall.news.notify_all();
        Ok(())
    }

    fn lent(&self, round: u64, records: &mut Vec<u64>) -> Result<Option<usize>, Lost> {
        let mut state = self.hall.state.lock().unwrap();
        let lent = &mut state.lent[self.me];
        let Some(at) = lent.iter().position(|block| block.0 == round) else { return Ok(None) };
        let (_, from, block) = lent.remove(at).unwrap();
        *records = block;
        Ok(Some(from))
    }

    fn say(&self, round: u64, words: &[u64]) -> Result<(), Lost> {
        self.round.store(round + 1, Ordering::Relaxed);
        let mut state = self.hall.state.lock().unwrap();
        let workers = self.hall.shares.workers();
        let said = state.said.entry(round).or_insert_with(|| vec![None; workers]);
        assert!(said[self.me].replace(words.to_vec()).is_none(), "once a round");
        self.hall.news.notify_all();
        Ok(())
    }

    fn heard(&self, round: u64) -> Result<Option<Vec<Vec<u64>>>, Lost> {
        let mut state = self.hall.state.lock().unwrap();
        let said: Option<Vec<_>> = state.said[&round].iter().cloned().collect();
        match said {
            None if state.gone => Err(Lost("a thread ended".into())),
            said => {
                // Some were free when nobody had anything left.
                state.lent[self.me].retain(|block| block.0 > round);
                Ok(said)
            }
        }
    }

    fn tell(&self, standing: Standing) {
        let mut state = self.hall.state.lock().unwrap();
        state.helped[self.me] = state.helped[self.me].max(standing.helped);
    }

    fn wait(&self) {
        let state = self.hall.state.lock().unwrap();
        drop(self.hall.news.wait_timeout(state, Duration::from_millis(1)).unwrap());
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.hall.state.lock().unwrap_or_else(|e| e.into_inner()).gone = true;
        self.hall.news.notify_all();
    }
}

/// Lets each worker do its work on a thread of its own; nothing may be left behind on the way.
pub fn on_all<T: Send>(weights: &[u64], window: usize, work: &(dyn Fn(&Place) -> T + Sync)) -> Vec<T> {
    on_all_helping(weights, window, work).0
}

/// The same, and how many states each expanded for others.
pub fn on_all_helping<T: Send>(
    weights: &[u64],
    window: usize,
    work: &(dyn Fn(&Place) -> T + Sync),
) -> (Vec<T>, Vec<u64>) {
    let hall = Hall::new(weights, window);
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..weights.len())
            .map(|me| {
                let hall = &hall;
                scope.spawn(move || work(&Place { hall, me, round: AtomicU64::new(0) }))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let state = hall.state.into_inner().unwrap();
    assert!(state.most_waiting <= window, "{} blocks waited", state.most_waiting);
    assert!(state.blocks.iter().all(VecDeque::is_empty), "nothing is left");
    (done, state.helped)
}
