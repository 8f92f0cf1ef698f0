//! The exchange over timely dataflow.
//!
//! One dataflow: an input of addressed parcels, an operator that routes them whole and puts them into an inbox, a probe
//! behind it. Rounds are its times: a worker that said its word goes on to the next time, and when the probe has passed a
//! round, everything sent in it has arrived everywhere (Murray et al. 2013, "Naiad", sec. 2.3). A thread of its own pumps the
//! dataflow while the search expands.
//!
//! A peer that saw a round end first already sends in the next one, so the inbox is read by round. Timely buffers without
//! bound: a sender stops when a window of bytes to one receiver is under way, and every parcel that the receiver's search
//! takes gives its bytes back.

use crate::block;
use hadal_search::exchange::{Exchange, Lost, Shares, Standing};
use hadal_store::shape::Records;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::{Hooks, Push, WorkerGuards};
use timely::container::NoopBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::{Input, Probe};
use timely::worker::Worker;
use timely::{Accountable, WorkerConfig};

/// Bytes that may be under way from one worker to another.
pub const WINDOW: u64 = 256 << 10;
/// The longest wait for news.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// No version of what is known.
const NOTHING: u64 = u64::MAX;
/// Words before the bytes of a parcel.
const HEAD: usize = 5;

/// Figures of a link, for whoever watches from another thread.
#[derive(Debug, Default)]
pub struct LinkFigures {
    /// States that this worker owns.
    pub own: AtomicU64,
    /// Bytes that arrived and are not taken, with what is taken and not yet offered.
    pub inbox: AtomicU64,
    /// The most bytes that arrived and were not taken.
    pub most_inbox: AtomicU64,
    /// Layers that are committed, once some are.
    pub committed: AtomicU64,
    /// Bytes of states sent.
    pub sent_bytes: AtomicU64,
    /// States sent.
    pub sent_states: AtomicU64,
    /// Bytes of states received.
    pub received_bytes: AtomicU64,
    /// States of others that were expanded here.
    pub helped: AtomicU64,
    /// Microseconds spent waiting for others.
    pub waited: AtomicU64,
}

/// What a parcel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    States,
    Said,
    /// Gives bytes back to the sender.
    Taken,
    /// States to be expanded for the sender, or none.
    Lent,
}

/// What travels.
#[derive(Clone, Debug, Default)]
struct Parcel {
    to: u64,
    from: u64,
    round: u64,
    kind: Kind,
    bytes: Vec<u8>,
}

impl Accountable for Parcel {
    fn record_count(&self) -> i64 {
        1
    }

    fn is_empty(&self) -> bool {
        false
    }
}

impl ContainerBytes for Parcel {
    fn from_bytes(bytes: timely::bytes::arc::Bytes) -> Self {
        let word = |n: usize| {
            let at = bytes.get(8 * n..8 * n + 8).and_then(|bytes| bytes.try_into().ok());
            at.map_or(0, u64::from_le_bytes)
        };
        let kind = match word(3) {
            1 => Kind::Said,
            2 => Kind::Taken,
            3 => Kind::Lent,
            _ => Kind::States,
        };
        let end = (8 * HEAD).saturating_add(word(4) as usize).min(bytes.len());
        let body = bytes.get(8 * HEAD..end).unwrap_or_default().to_vec();
        Parcel { to: word(0), from: word(1), round: word(2), kind, bytes: body }
    }

    fn length_in_bytes(&self) -> usize {
        (8 * HEAD + self.bytes.len()).next_multiple_of(8)
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        let head = [self.to, self.from, self.round, self.kind as u64, self.bytes.len() as u64];
        // The writer is a slice of the length asked for: it takes everything.
        for word in head {
            let _ = writer.write_all(&word.to_le_bytes());
        }
        let _ = writer.write_all(&self.bytes);
        let _ = writer.write_all(&[0; 8][..self.length_in_bytes() - 8 * HEAD - self.bytes.len()]);
    }
}

/// Parcels are addressed whole: nothing is hashed or copied per state.
struct Route;

impl Distributor<Parcel> for Route {
    fn partition<T: Clone, P: Push<Message<T, Parcel>>>(
        &mut self,
        parcel: &mut Parcel,
        time: &T,
        pushers: &mut [P],
    ) {
        if let Some(pusher) = pushers.get_mut(parcel.to as usize) {
            Message::push_at(parcel, time.clone(), pusher);
        }
    }

    fn flush<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, _: &T, _: &mut [P]) {}
}

/// One worker's link to all others.
pub struct Link {
    me: usize,
    shares: Shares,
    figures: Arc<LinkFigures>,
    desk: Arc<Desk>,
    /// What was known when something was first asked since the last wait; [`NOTHING`] if nothing was.
    seen: AtomicU64,
    /// The thread that pumps, and what waits for its end.
    thread: Option<Thread>,
    pump: Mutex<WorkerGuards<()>>,
}

/// What the search and the pump hand to each other.
struct Desk {
    papers: Mutex<Papers>,
    news: Condvar,
}

#[derive(Default)]
struct Papers {
    /// Grows with everything that arrives.
    version: u64,
    out: Vec<Outgoing>,
    closes: bool,
    /// The round that comes next, and how many are over for everybody.
    round: u64,
    complete: u64,
    /// States that arrived, and how many bytes that is.
    arrived: VecDeque<Parcel>,
    held: u64,
    said: BTreeMap<u64, Vec<Option<Vec<u64>>>>,
    lent: VecDeque<Parcel>,
    /// Bytes under way, by receiver.
    under_way: Vec<u64>,
}

enum Outgoing {
    Parcel(Parcel),
    /// Nothing more comes before this round.
    Round(u64),
}

impl Link {
    /// Over connections to the other workers, which stand in order with none at this one's place.
    pub fn new(me: usize, sockets: Vec<Option<TcpStream>>, shares: Shares) -> io::Result<Link> {
        let mut hooks = Hooks::default();
        // Buffers that are empty are given back: what a connection holds is what is under way, and one that is being filled.
        hooks.refill.limit = Some(0);
        let within = ProcessBuilder::new_typed_vector(1, hooks.refill.clone(), None);
        let (builders, threads) = initialize_networking_from_sockets(within, sockets, me, 1, hooks)?;
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        let papers = Papers { under_way: vec![0; shares.workers()], ..Papers::default() };
        let desk = Arc::new(Desk { papers: Mutex::new(papers), news: Condvar::new() });
        let figures: Arc<LinkFigures> = Arc::default();
        let (at, counted) = (Arc::clone(&desk), Arc::clone(&figures));
        let run = move |worker: &mut Worker| pump(worker, &at, &counted);
        let started =
            timely::execute::execute_from(builders, Box::new(threads), WorkerConfig::default(), run);
        let pump = started.map_err(io::Error::other)?;
        let thread = pump.guards().first().map(|guard| guard.thread().clone());
        Ok(Link { me, shares, figures, desk, seen: AtomicU64::new(NOTHING), thread, pump: Mutex::new(pump) })
    }

    /// Its figures.
    pub fn figures(&self) -> &Arc<LinkFigures> {
        &self.figures
    }

    /// The most bytes that may arrive before they are taken.
    pub fn inbox_bytes(&self) -> u64 {
        // A parcel that finds nothing under way goes, however large.
        (self.shares.workers() as u64 - 1) * 2 * WINDOW
    }

    /// Ends the connection in order, which waits until the others end theirs.
    pub fn close(self) {
        self.desk.papers().closes = true;
        self.wake();
        drop(self.pump.into_inner().unwrap_or_else(PoisonError::into_inner).join());
    }

    fn wake(&self) {
        self.thread.iter().for_each(Thread::unpark);
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        let papers = self.desk.papers();
        // Nobody else writes it while the papers are held.
        if self.seen.load(Relaxed) == NOTHING {
            self.seen.store(papers.version, Relaxed);
        }
        papers
    }
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves parcels between the desk and the network until the link closes.
fn pump(worker: &mut Worker, desk: &Desk, figures: &LinkFigures) {
    let sink: Rc<RefCell<Vec<Parcel>>> = Rc::default();
    let filled = Rc::clone(&sink);
    let mut input: InputHandle<u64, NoopBuilder<Parcel>> = InputHandle::new_with_builder();
    let probe = worker.dataflow(|scope| {
        let arriving = scope.input_from(&mut input).unary::<NoopBuilder<Parcel>, _, _, _>(
            DistributorPact(|_| Route),
            "arriving",
            move |_, _| {
                move |input, _: &mut OutputBuilderSession<'_, _, _>| {
                    input.for_each(|_, parcel: &mut Parcel| {
                        filled.borrow_mut().push(std::mem::take(parcel));
                    });
                }
            },
        );
        arriving.probe().0
    });
    loop {
        let (out, closes) = {
            let mut papers = desk.papers();
            (std::mem::take(&mut papers.out), papers.closes)
        };
        let is_idle = out.is_empty();
        for outgoing in out {
            match outgoing {
                Outgoing::Parcel(mut parcel) => input.send_batch(&mut parcel),
                Outgoing::Round(round) => input.advance_to(round),
            }
        }
        if closes {
            return;
        }
        match is_idle {
            true => worker.step_or_park(Some(LONGEST_WAIT)),
            // What is sent leaves with a step.
            false => worker.step(),
        };
        let mut papers = desk.papers();
        let before = papers.version;
        sink.borrow_mut().drain(..).for_each(|parcel| papers.take(parcel, figures));
        while papers.complete < papers.round && !probe.less_than(&(papers.complete + 1)) {
            papers.complete += 1;
            papers.version += 1;
        }
        if papers.version != before {
            desk.news.notify_all();
        }
    }
}

impl Papers {
    fn take(&mut self, parcel: Parcel, figures: &LinkFigures) {
        self.version += 1;
        match parcel.kind {
            Kind::States => {
                self.held += parcel.bytes.len() as u64;
                figures.received_bytes.fetch_add(parcel.bytes.len() as u64, Relaxed);
                figures.inbox.store(self.held, Relaxed);
                figures.most_inbox.fetch_max(self.held, Relaxed);
                self.arrived.push_back(parcel);
            }
            Kind::Said => {
                let words = parcel.bytes.chunks_exact(8).map(|bytes| {
                    let mut word = [0; 8];
                    word.copy_from_slice(bytes);
                    u64::from_le_bytes(word)
                });
                let workers = self.under_way.len();
                let said = self.said.entry(parcel.round).or_insert_with(|| vec![None; workers]);
                if let Some(place) = said.get_mut(parcel.from as usize) {
                    *place = Some(words.collect());
                }
            }
            Kind::Lent => {
                figures.received_bytes.fetch_add(parcel.bytes.len() as u64, Relaxed);
                self.lent.push_back(parcel);
            }
            Kind::Taken => {
                if let (Some(under_way), Ok(bytes)) =
                    (self.under_way.get_mut(parcel.from as usize), parcel.bytes.try_into())
                {
                    *under_way = under_way.saturating_sub(u64::from_le_bytes(bytes));
                }
            }
        }
    }
}

impl Exchange for Link {
    fn me(&self) -> usize {
        self.me
    }

    fn shares(&self) -> &Shares {
        &self.shares
    }

    fn round(&self) -> u64 {
        self.papers().round
    }

    fn send(&self, round: u64, to: usize, records: Records<'_>) -> Result<bool, Lost> {
        // One parcel goes, however large; the next waits until it is taken.
        if self.papers().under_way[to] >= WINDOW {
            return Ok(false);
        }
        let bytes = block::encode(records);
        self.figures.sent_bytes.fetch_add(bytes.len() as u64, Relaxed);
        self.figures.sent_states.fetch_add(records.len() as u64, Relaxed);
        let mut papers = self.papers();
        papers.under_way[to] += bytes.len() as u64;
        let (to, from) = (to as u64, self.me as u64);
        papers.out.push(Outgoing::Parcel(Parcel { to, from, round, kind: Kind::States, bytes }));
        drop(papers);
        self.wake();
        Ok(true)
    }

    fn arrived(&self, round: u64, records: &mut Vec<u64>) -> Result<bool, Lost> {
        let mut papers = self.papers();
        let at = papers.arrived.iter().position(|parcel| parcel.round == round);
        let Some(parcel) = at.and_then(|at| papers.arrived.remove(at)) else { return Ok(false) };
        papers.held -= parcel.bytes.len() as u64;
        self.figures.inbox.store(papers.held, Relaxed);
        let (to, from, round) = (parcel.from, self.me as u64, papers.round);
        let bytes = (parcel.bytes.len() as u64).to_le_bytes().to_vec();
        papers.out.push(Outgoing::Parcel(Parcel { to, from, round, kind: Kind::Taken, bytes }));
        drop(papers);
        self.wake();
        match block::decode(&parcel.bytes, records) {
            Some(_) => Ok(true),
            None => Err(Lost(format!("worker {} sent what is no block of states", parcel.from))),
        }
    }

    fn lend(&self, round: u64, to: usize, records: Records<'_>) -> Result<(), Lost> {
        let bytes = if records.is_empty() { Vec::new() } else { block::encode(records) };
        self.figures.sent_bytes.fetch_add(bytes.len() as u64, Relaxed);
        let (to, from) = (to as u64, self.me as u64);
        self.papers().out.push(Outgoing::Parcel(Parcel { to, from, round, kind: Kind::Lent, bytes }));
        self.wake();
        Ok(())
    }

    fn lent(&self, round: u64, records: &mut Vec<u64>) -> Result<Option<usize>, Lost> {
        let mut papers = self.papers();
        let at = papers.lent.iter().position(|parcel| parcel.round == round);
        let Some(parcel) = at.and_then(|at| papers.lent.remove(at)) else { return Ok(None) };
        drop(papers);
        records.clear();
        match parcel.bytes.is_empty() || block::decode(&parcel.bytes, records).is_some() {
            true => Ok(Some(parcel.from as usize)),
            false => Err(Lost(format!("worker {} lent what is no block of states", parcel.from))),
        }
    }

    fn say(&self, round: u64, words: &[u64]) -> Result<(), Lost> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut papers = self.papers();
        for to in 0..self.shares.workers() as u64 {
            let parcel = Parcel { to, from: self.me as u64, round, kind: Kind::Said, bytes: bytes.clone() };
            papers.out.push(Outgoing::Parcel(parcel));
        }
        papers.round = round + 1;
        papers.out.push(Outgoing::Round(round + 1));
        drop(papers);
        self.wake();
        Ok(())
    }

    fn heard(&self, round: u64) -> Result<Option<Vec<Vec<u64>>>, Lost> {
        let mut papers = self.papers();
        if papers.complete <= round {
            return Ok(None);
        }
        // Some were free when nobody had anything left.
        papers.lent.retain(|parcel| parcel.round > round);
        let said: Option<Vec<Vec<u64>>> =
            papers.said.remove(&round).and_then(|said| said.into_iter().collect());
        match said {
            Some(said) => Ok(Some(said)),
            None => Err(Lost("a round ended without the word of all".into())),
        }
    }

    fn wait(&self) {
        let begun = Instant::now();
        let papers = self.desk.papers();
        if self.seen.swap(NOTHING, Relaxed) == papers.version {
            drop(self.desk.news.wait_timeout(papers, LONGEST_WAIT));
        }
        self.figures.waited.fetch_add(begun.elapsed().as_micros() as u64, Relaxed);
    }

    fn tell(&self, standing: Standing) {
        self.figures.own.store(standing.own, Relaxed);
        self.figures.helped.store(standing.helped, Relaxed);
        if let Some(committed) = standing.committed {
            self.figures.committed.store(committed + 1, Relaxed);
        }
    }
}
