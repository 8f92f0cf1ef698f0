//! Liveness as safety: a space in which a loop that closes is a state to be reached.
//!
//! Schuppan and Biere, "Efficient reduction of finite state model checking to reachability analysis" (STTT 2004); with
//! accepting seeds only: Jabbar, "External memory algorithms for state space exploration in model checking and action
//! planning" (2008), ch. 6. A state is the state of the search, a stage, and the state that the loop began with, which
//! is most significant: records of one seed stand together. Every explorer walks this space; breadth first, the first
//! loop that closes belongs to a shortest lasso.

use crate::report::{Question, Verdict, Violation, ViolationKind};
use hadal_system::{
    ActionInfo, Check, Label, PropertyId, PropertyInfo, PropertyKind, StateSpace, Successors, Worker,
};

/// Which states may begin a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// Accepting ones: fewer states; the lasso is a shortest one among those that begin their loop so.
    Accepting,
    /// All: the lasso is a shortest one.
    Any,
}

/// On the way to a loop.
const STEM: u64 = 0;
/// In a loop that met no accepting state yet.
const BEGUN: u64 = 1;
/// In a loop that met one.
const LIVE: u64 = 2;
/// Back where the loop began.
const CLOSED: u64 = 3;

/// The space.
pub struct LassoSpace<'s> {
    inner: &'s dyn StateSpace,
    property: PropertyId,
    seeds: Seeds,
    properties: Vec<PropertyInfo>,
}

impl<'s> LassoSpace<'s> {
    /// Over a space with one acceptance set, of states, and no strong fairness; `None` for others.
    pub fn new(inner: &'s dyn StateSpace, seeds: Seeds) -> Option<Self> {
        let acceptance = inner.acceptance().filter(|it| it.sets == 1 && it.on_states && it.pairs == 0)?;
        let mut properties = inner.properties().to_vec();
        properties[acceptance.property.0 as usize].kind = PropertyKind::Goal;
        Some(LassoSpace { inner, property: acceptance.property, seeds, properties })
    }

    /// What to ask: the loop, and errors of the model, which are always reported.
    pub fn question(&self, question: &Question) -> Question {
        let mut asked = vec![false; question.asked.len()];
        asked[self.property.0 as usize] = true;
        Question { asked, ..question.clone() }
    }

    /// What was found, as states of the inner space.
    pub fn lasso(&self, verdict: Verdict) -> Verdict {
        let Verdict::Violated(found) = verdict else { return verdict };
        let words = self.inner.words();
        let kind = match found.kind {
            // The claim was over before a loop began.
            ViolationKind::Goal(property)
                if property == self.property && found.path.last().is_none_or(|last| last[words] == STEM) =>
            {
                ViolationKind::Prefix(property)
            }
            ViolationKind::Goal(property) if property == self.property => {
                let loop_from = found.path.iter().position(|state| state[words] != STEM).unwrap_or(0);
                ViolationKind::Cycle { property, loop_from }
            }
            other => other,
        };
        let kept = found.path.iter().filter(|state| state[words] != CLOSED);
        let path = kept.map(|state| state[..words].to_vec()).collect();
        Verdict::Violated(Violation { kind, path, shortest: found.shortest })
    }
}

impl StateSpace for LassoSpace<'_> {
    fn words(&self) -> usize {
        2 * self.inner.words() + 1
    }

    fn bits(&self) -> u32 {
        64 * (self.inner.words() as u32 + 1) + self.inner.bits()
    }

    fn fingerprint(&self) -> u64 {
        let kind = if self.seeds == Seeds::Any { 0x5EED_5EED } else { 0x1A55_01A5 };
        self.inner.fingerprint() ^ kind
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn actions(&self) -> &[ActionInfo] {
        self.inner.actions()
    }

    fn admits(&self, state: &[u64]) -> bool {
        let words = self.inner.words();
        let (own, stage, seed) = (&state[..words], state[words], &state[words + 1..]);
        let seeded = if stage == STEM { seed.iter().all(|word| *word == 0) } else { self.inner.admits(seed) };
        stage <= CLOSED && seeded && self.inner.admits(own)
    }

    fn may_fault(&self) -> bool {
        self.inner.may_fault()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let words = self.inner.words();
        Box::new(LassoWorker {
            space: self,
            inner: self.inner.worker(),
            out: Successors::new(words),
            made: vec![0; 2 * words + 1],
        })
    }

    fn render_label(&self, label: Label) -> String {
        self.inner.render_label(label)
    }

    fn render_start(&self, label: Label) -> String {
        self.inner.render_start(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.inner.render_state(&state[..self.inner.words()])
    }
}

struct LassoWorker<'p> {
    space: &'p LassoSpace<'p>,
    inner: Box<dyn Worker + 'p>,
    out: Successors,
    made: Vec<u64>,
}

impl LassoWorker<'_> {
    /// The n-th of `out` on a stem, and as the beginning of a loop where it may be one.
    fn push_stem(&mut self, n: usize, out: &mut Successors) {
        let label = self.out.labels()[n];
        let state = self.out.state(n);
        let words = state.len();
        self.made.fill(0);
        self.made[..words].copy_from_slice(state);
        out.push(label, &self.made);
        if self.inner.component(state).is_none() {
            return;
        }
        let accepting = self.inner.state_marks(state) & 1 == 1;
        if accepting || self.space.seeds == Seeds::Any {
            self.made[words] = if accepting { LIVE } else { BEGUN };
            self.made[words + 1..].copy_from_slice(state);
            out.push(label, &self.made);
        }
    }

    /// The n-th of `out` inside the loop that began with `seed`.
    fn push_loop(&mut self, n: usize, seed: &[u64], stage: u64, out: &mut Successors) {
        let state = self.out.state(n);
        if self.inner.component(state) != self.inner.component(seed) {
            return;
        }
        let words = state.len();
        self.made[words + 1..].copy_from_slice(seed);
        self.made[..words].copy_from_slice(state);
        self.made[words] = match state == seed && stage == LIVE {
            true => CLOSED,
            false if stage == LIVE || self.inner.state_marks(state) & 1 == 1 => LIVE,
            false => BEGUN,
        };
        out.push(self.out.labels()[n], &self.made);
    }
}

impl Worker for LassoWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.out.clear();
        self.inner.initial(&mut self.out);
        (0..self.out.len()).for_each(|n| self.push_stem(n, out));
        self.out.faults().iter().for_each(|&label| out.push_fault(label));
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let words = self.space.inner.words();
        let (own, seed) = (&state[..words], &state[words + 1..]);
        let stage = state[words];
        if stage == CLOSED {
            return;
        }
        self.out.clear();
        self.inner.successors(own, &mut self.out);
        for n in 0..self.out.len() {
            match stage {
                STEM => self.push_stem(n, out),
                _ => self.push_loop(n, seed, stage, out),
            }
        }
        self.out.faults().iter().for_each(|&label| out.push_fault(label));
    }

    fn check(&mut self, state: &[u64]) -> Check {
        let words = self.space.inner.words();
        match state[words] {
            CLOSED => Check::Hit(self.space.property),
            STEM => self.inner.check(&state[..words]),
            _ => Check::Fine,
        }
    }
}
