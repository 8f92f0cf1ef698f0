//! A space seen as a graph of numbered states.

use crate::explore::Setting;
use crate::finding::Finding;
use crate::ram::breadth::TRANSITION_WORK;
use crate::report::{StopReason, Violation, ViolationKind};
use crate::resting::Reins;
use hadal_store::table::StateTable;
use hadal_store::{OverBudget, Reservation};
use hadal_system::{Acceptance, Label, Successors, Worker};

/// Why a search ended early.
pub(super) enum End {
    Full(OverBudget),
    Stopped(StopReason),
    Wrong(Violation),
}

impl From<StopReason> for End {
    fn from(reason: StopReason) -> Self {
        End::Stopped(reason)
    }
}

impl From<OverBudget> for End {
    fn from(full: OverBudget) -> Self {
        End::Full(full)
    }
}

/// A transition: where it leads, and the acceptance sets it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) to: u64,
    pub(super) marks: u64,
}

pub(super) struct Graph<'a> {
    search: &'a Setting<'a>,
    pub(super) reins: &'a Reins<'a>,
    pub(super) acceptance: Acceptance,
    worker: Box<dyn Worker + 'a>,
    table: StateTable,
    out: Successors,
    marks: Vec<u64>,
    /// From where each state was first met; itself of an initial one.
    parents: Vec<u64>,
    memory: Reservation,
    /// Transitions out of each state, counted the first time it is expanded.
    expanded: Vec<bool>,
    pub(super) transitions: u64,
    /// The pairs of strong fairness able in the state expanded last.
    pub(super) able: u64,
    /// Transitions fired since the last rest, and states expanded.
    fired: u64,
    /// How many there may be before the next.
    may_fire: u64,
}

/// After so many it is time to look up.
const MAY_FIRE: u64 = 4096;
/// What a state counts as in a round over all, in which nothing is generated.
const ROUND_WORK: u64 = 20;

impl<'a> Graph<'a> {
    pub(super) fn new(
        (search, reins): (&'a Setting<'a>, &'a Reins<'a>),
        acceptance: Acceptance,
    ) -> Result<Self, OverBudget> {
        let words = search.task.space.words();
        Ok(Graph {
            search,
            reins,
            acceptance,
            worker: search.task.space.worker(),
            table: StateTable::new(words, 0, 1, search.governor)?,
            out: Successors::new(words),
            marks: Vec::new(),
            parents: Vec::new(),
            memory: search.governor.empty("how states were met"),
            expanded: Vec::new(),
            transitions: 0,
            able: 0,
            fired: 0,
            may_fire: 1,
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.table.len()
    }

    pub(super) fn state(&self, n: u64) -> &[u64] {
        self.table.nth(0, n)
    }

    pub(super) fn component(&mut self, n: u64) -> Option<u32> {
        self.worker.component(self.table.nth(0, n))
    }

    /// Whether a state is in the only acceptance set.
    pub(super) fn accepting(&mut self, n: u64) -> bool {
        let state = self.table.nth(0, n);
        self.worker.component(state).is_some() && self.worker.state_marks(state) & 1 == 1
    }

    /// All sets, as marks.
    pub(super) fn all(&self) -> u64 {
        self.acceptance.always()
    }

    /// Explores breadth-first until it meets this state, which can be reached.
    pub(super) async fn seek(&mut self, wanted: &[u64]) -> Result<Option<u64>, End> {
        self.initial()?;
        let (mut at, mut list) = (0, Vec::new());
        loop {
            if let Some(found) = self.table.find(wanted) {
                return Ok(Some(found.number()));
            }
            if at == self.len() {
                return Ok(None);
            }
            list.clear();
            self.successors(at, &mut list).await?;
            at += 1;
        }
    }

    /// Takes up states that can be reached; their numbers.
    pub(super) fn adopt(&mut self, states: &[Vec<u64>]) -> Result<Vec<u64>, End> {
        let mut numbers = Vec::new();
        for state in states {
            self.out.clear();
            self.out.push(Label(0), state);
            let mut list = Vec::new();
            self.intern(None, &mut list)?;
            numbers.extend(list.iter().map(|edge| edge.to));
        }
        Ok(numbers)
    }

    /// The states by which a state was first met, an initial one first.
    pub(super) fn path(&self, n: u64) -> Vec<Vec<u64>> {
        let mut path = vec![self.state(n).to_vec()];
        let mut at = n;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
            path.push(self.state(at).to_vec());
        }
        path.reverse();
        path
    }

    pub(super) fn initial(&mut self) -> Result<Vec<u64>, End> {
        self.out.clear();
        self.worker.initial(&mut self.out);
        if let Some(&label) = self.out.faults().first() {
            let kind = ViolationKind::StartFault(label);
            return Err(End::Wrong(Violation { kind, path: Vec::new(), shortest: true }));
        }
        let mut list = Vec::new();
        self.intern(None, &mut list)?;
        Ok(list.into_iter().map(|edge| edge.to).collect())
    }

    /// Appends the transitions out of a state to `list`.
    pub(super) async fn successors(&mut self, n: u64, list: &mut Vec<Edge>) -> Result<(), End> {
        if self.fired >= self.may_fire {
            self.reins.count(std::mem::take(&mut self.fired) * TRANSITION_WORK);
            self.reins.note(self.len(), self.transitions);
            self.reins.rest().await?;
            self.may_fire = self.reins.allows(TRANSITION_WORK, MAY_FIRE);
        }
        let state = self.table.nth(0, n);
        self.out.clear();
        self.worker.successors(state, &mut self.out);
        self.worker.marks(state, &self.out, &mut self.marks);
        self.able = self.worker.able(state, &self.out);
        self.fired += 1 + self.out.len() as u64;
        if let Some(&label) = self.out.faults().first() {
            let kind = ViolationKind::Fault(label);
            return Err(End::Wrong(Violation { kind, path: self.path(n), shortest: false }));
        }
        if !std::mem::replace(&mut self.expanded[n as usize], true) {
            self.transitions += self.out.len() as u64;
        }
        self.intern(Some(n), list)
    }

    /// Rests before a round over all states.
    pub(super) async fn round(&mut self) -> Result<(), End> {
        self.reins.count(self.len() * ROUND_WORK);
        Ok(self.reins.rest().await?)
    }

    fn intern(&mut self, from: Option<u64>, list: &mut Vec<Edge>) -> Result<(), End> {
        let mut fresh = Vec::new();
        self.table.insert_all(self.out.states(), |_, _| {}, |_, at| fresh.push(at.number()))?;
        self.memory.try_resize((9 * self.table.len()).next_power_of_two())?;
        for n in fresh {
            self.parents.push(from.unwrap_or(n));
            self.expanded.push(false);
            let (task, state) = (self.search.task, self.table.nth(0, n));
            let check = self.worker.check(state);
            if let Some(found) = Finding::from_check(check, state, task.space.properties(), task.question) {
                return Err(End::Wrong(Violation { kind: found.kind, path: self.path(n), shortest: false }));
            }
        }
        for (k, (_, state)) in self.out.iter().enumerate() {
            if let Some(at) = self.table.find(state) {
                let marks = if from.is_some() { self.marks[k] } else { 0 };
                list.push(Edge { to: at.number(), marks });
            }
        }
        Ok(())
    }
}
