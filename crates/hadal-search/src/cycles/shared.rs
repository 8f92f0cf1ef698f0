//! A space seen as a graph that several threads explore together.

use super::graph::End;
use crate::explore::Setting;
use crate::finding::Finding;
use crate::lane::SearchTask;
use crate::ram::breadth::TRANSITION_WORK;
use crate::report::{Violation, ViolationKind};
use crate::resting::Reins;
use hadal_store::table::{StateRef, StateTable, Writer};
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::{Acceptance, Successors, Worker};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

/// What all threads share.
pub(super) struct Shared<'a> {
    pub(super) task: SearchTask<'a>,
    pub(super) reins: &'a Reins<'a>,
    pub(super) governor: &'a Governor,
    pub(super) threads: usize,
    pub(super) acceptance: Acceptance,
    table: &'a StateTable,
    /// Flags of each writer's states.
    flags: Vec<RwLock<Vec<AtomicU8>>>,
    memory: Mutex<Reservation>,
    pub(super) transitions: AtomicU64,
    over: AtomicBool,
    ended: Mutex<Option<End>>,
}

/// A transition: where it leads, and the acceptance sets it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) to: StateRef,
    pub(super) marks: u64,
}

/// Its transitions are counted.
const EXPANDED: u8 = 1;

impl<'a> Shared<'a> {
    pub(super) fn new(
        (search, reins): (&Setting<'a>, &'a Reins<'a>),
        acceptance: Acceptance,
        table: &'a StateTable,
    ) -> Self {
        Shared {
            task: search.task,
            reins,
            governor: search.governor,
            threads: search.threads,
            acceptance,
            table,
            flags: (0..table.writer_count()).map(|_| RwLock::default()).collect(),
            memory: Mutex::new(search.governor.empty("flags of states")),
            transitions: AtomicU64::new(0),
            over: AtomicBool::new(false),
            ended: Mutex::new(None),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.table.len()
    }

    pub(super) fn state(&self, at: StateRef) -> &[u64] {
        self.table.state(at)
    }

    /// The reference behind a word of one of its references.
    pub(super) fn reference(&self, word: u64) -> StateRef {
        // Words are only ever made of references to this table, which forgets nothing.
        self.table.reference(word).expect("the state is in the table")
    }

    /// Lets every thread end.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends everything for this reason; the first one counts.
    pub(super) fn end(&self, reason: End) {
        self.ended.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(reason);
        self.stop();
    }

    /// Why it ended, where no answer was found.
    pub(super) fn reason(&self) -> Option<End> {
        self.ended.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    pub(super) fn has(&self, at: StateRef, flag: u8) -> bool {
        let flags = self.flags[at.writer()].read().unwrap_or_else(|e| e.into_inner());
        flags.get(at.number() as usize).is_some_and(|held| held.load(Ordering::Acquire) & flag != 0)
    }

    /// Sets a flag; whether it was not set.
    pub(super) fn set(&self, at: StateRef, flag: u8) -> Result<bool, OverBudget> {
        let n = at.number() as usize;
        {
            let flags = self.flags[at.writer()].read().unwrap_or_else(|e| e.into_inner());
            if let Some(held) = flags.get(n) {
                return Ok(held.fetch_or(flag, Ordering::AcqRel) & flag == 0);
            }
        }
        let mut flags = self.flags[at.writer()].write().unwrap_or_else(|e| e.into_inner());
        let length = (n + 1).next_power_of_two().max(1024);
        if flags.len() < length {
            let more = (length - flags.len()) as u64;
            self.memory.lock().unwrap_or_else(|e| e.into_inner()).try_grow(more)?;
            flags.resize_with(length, AtomicU8::default);
        }
        Ok(flags[n].fetch_or(flag, Ordering::AcqRel) & flag == 0)
    }
}

/// What one thread explores with.
pub(super) struct Hand<'s, 'a> {
    pub(super) shared: &'s Shared<'a>,
    /// Its number.
    pub(super) number: usize,
    writer: Writer<'s>,
    worker: Box<dyn Worker + 's>,
    out: Successors,
    marks: Vec<u64>,
    /// Transitions fired since the last rest, and states expanded.
    fired: u64,
    /// How many there may be before the next.
    may_fire: u64,
}

/// After so many it is time to look up.
const MAY_FIRE: u64 = 1024;

impl<'s, 'a> Hand<'s, 'a> {
    pub(super) fn new(shared: &'s Shared<'a>, writer: Writer<'s>) -> Self {
        let space = shared.task.space;
        Hand {
            shared,
            number: writer.number(),
            writer,
            worker: space.worker(),
            out: Successors::new(space.words()),
            marks: Vec::new(),
            fired: 0,
            may_fire: 1,
        }
    }

    pub(super) fn component(&mut self, at: StateRef) -> Option<u32> {
        self.worker.component(self.shared.state(at))
    }

    /// Whether a state is in the only acceptance set.
    pub(super) fn accepting(&mut self, at: StateRef) -> bool {
        let state = self.shared.state(at);
        self.worker.component(state).is_some() && self.worker.state_marks(state) & 1 == 1
    }

    pub(super) fn initial(&mut self) -> Result<Vec<StateRef>, End> {
        self.out.clear();
        self.worker.initial(&mut self.out);
        if let Some(&label) = self.out.faults().first() {
            let kind = ViolationKind::StartFault(label);
            return Err(End::Wrong(Violation { kind, path: Vec::new(), shortest: true }));
        }
        self.marks.clear();
        self.marks.resize(self.out.len(), 0);
        let mut list = Vec::new();
        self.intern(&mut list)?;
        Ok(list.into_iter().map(|step| step.to).collect())
    }

    /// Appends the transitions out of a state to `list`. Threads begin at different ones.
    pub(super) async fn successors(&mut self, at: StateRef, list: &mut Vec<Step>) -> Result<(), End> {
        if self.fired >= self.may_fire {
            self.rest().await?;
        }
        let state = self.shared.state(at);
        self.out.clear();
        self.worker.successors(state, &mut self.out);
        self.worker.marks(state, &self.out, &mut self.marks);
        self.fired += 1 + self.out.len() as u64;
        if let Some(&label) = self.out.faults().first() {
            let kind = ViolationKind::Fault(label);
            return Err(End::Wrong(Violation { kind, path: vec![state.to_vec()], shortest: false }));
        }
        if self.shared.set(at, EXPANDED)? {
            self.shared.transitions.fetch_add(self.out.len() as u64, Ordering::Relaxed);
        }
        let from = list.len();
        self.intern(list)?;
        let found = list.len() - from;
        if found > 1 {
            list[from..].rotate_left(self.number % found);
        }
        Ok(())
    }

    /// Lets the next step come, if the work of this one is done.
    pub(super) async fn rest(&mut self) -> Result<(), End> {
        let Shared { reins, transitions, .. } = self.shared;
        reins.count(std::mem::take(&mut self.fired) * TRANSITION_WORK);
        reins.note(self.shared.len(), transitions.load(Ordering::Relaxed));
        reins.rest().await?;
        self.may_fire = reins.allows(TRANSITION_WORK, MAY_FIRE);
        Ok(())
    }

    fn intern(&mut self, list: &mut Vec<Step>) -> Result<(), End> {
        let table = self.shared.table;
        let mut fresh = Vec::new();
        self.writer.insert_all(self.out.states(), |_, _| {}, |_, at| fresh.push(at))?;
        for at in fresh {
            let (task, state) = (self.shared.task, table.state(at));
            let check = self.worker.check(state);
            if let Some(found) = Finding::from_check(check, state, task.space.properties(), task.question) {
                let path = vec![state.to_vec()];
                return Err(End::Wrong(Violation { kind: found.kind, path, shortest: false }));
            }
        }
        for ((_, state), &marks) in self.out.iter().zip(&self.marks) {
            if let Some(to) = table.find(state) {
                list.push(Step { to, marks });
            }
        }
        Ok(())
    }
}
