//! Infinite runs of zone graphs: what claims about them are combined with.
//!
//! Zones by equality, with constants that are the same from below and above, keep accepted runs (Tripakis 2009; Li 2009). A
//! run may also end by staying: for ever, where invariants let time pass, or stuck, where nothing can happen any more. Such
//! stays are loops of their own here, so a claim must not see how often a state is repeated.

use super::code::Context;
use super::concrete::ConcreteError;
use super::dbm::Zone;
use super::deadlock;
use super::space::ZoneSpace;
use super::timing::Set;
use super::worker::ZoneWorker;
use crate::interpret::Interpreter;
use hadal_system::timed::GoingOn;
use hadal_system::{
    ActionInfo, Check, Label, PropertyId, PropertyInfo, StateSpace, Successors, Worker, state::hash,
};

/// A zone graph whose states may be stayed in, where that ends a run.
pub struct ZoneRuns<'s> {
    space: &'s ZoneSpace,
    actions: Vec<ActionInfo>,
    stay: Label,
}

/// What is known about time along a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopTime {
    /// Every round takes at least one unit, or the run waits for ever.
    Diverges,
    /// The run is stuck, and time with it.
    Stops,
    /// The run is stuck, though time passes.
    Stuck,
    /// No time passes in any round.
    Still,
    /// Nothing in the loop makes time pass: it may be Zeno.
    Unknown,
}

impl<'s> ZoneRuns<'s> {
    /// Of a zone graph by equality.
    pub fn new(space: &'s ZoneSpace) -> Self {
        let mut actions = space.actions().to_vec();
        let labels = actions.last().map_or(0, |action| action.labels.end);
        actions.push(ActionInfo { name: "stay".into(), labels: labels..labels + 1 });
        ZoneRuns { space, actions, stay: Label(labels) }
    }

    /// The zone graph.
    pub fn space(&self) -> &'s ZoneSpace {
        self.space
    }

    /// Along the loop that leads from the last state of `path` back to the state of number `from`: what is known of time.
    pub fn loop_time(&self, path: &[Vec<u64>], from: usize) -> Result<LoopTime, ConcreteError> {
        let space = self.space;
        let around: Vec<&Vec<u64>> = path[from..].iter().chain([&path[from]]).collect();
        let interpreter = space.model.interpreter();
        let context = |state: &'_ [u64]| -> Vec<u64> { state[space.zones.words..].to_vec() };
        let mut worker = ZoneWorker::new(space);
        let mut out = Successors::new(space.words());
        let mut sets: Vec<(usize, i32)> = Vec::new();
        let mut least: Vec<(usize, i32)> = Vec::new();
        let (mut still, mut moved) = (true, false);
        for (n, pair) in around.windows(2).enumerate() {
            let (before, after) = (context(pair[0]), context(pair[1]));
            let at = Context { state: &before, locals: &[], interpreter: &interpreter, shapes: &[] };
            let wrong = |_| ConcreteError::NotReplayed(from + n);
            still &= space.is_still(&at).map_err(wrong)?;
            out.clear();
            worker.successors(pair[0], &mut out);
            let Some((label, _)) = out.iter().find(|(_, state)| *state == pair[1].as_slice()) else {
                continue;
            };
            moved = true;
            let mut locals = Vec::new();
            space.locals(label, &mut locals);
            let action = space.action(label);
            let shapes = &space.model.system().actions[action].locals;
            let first = Context { state: &before, locals: &locals, interpreter: &interpreter, shapes };
            let second = Context { state: &after, ..first };
            for bound in &space.timing[action].guard {
                if let Some(entry) = bound.entry(&first).map_err(wrong)?
                    && (entry.left, entry.bound >> 1 < 0) == (0, true)
                {
                    least.push((entry.minus, -(entry.bound >> 1)));
                }
            }
            for reset in &space.timing[action].resets {
                if let Some(Set { clock, from: 0, value }) = reset.set(&first, &second).map_err(wrong)? {
                    sets.push((clock, value));
                }
            }
        }
        if !moved {
            let state = context(&path[from]);
            let at = Context { state: &state, locals: &[], interpreter: &interpreter, shapes: &[] };
            let ends = space.time_ends(&at).map_err(|_| ConcreteError::NotReplayed(from))?;
            let stuck = out.is_empty();
            return Ok(match (ends, stuck) {
                (true, _) => LoopTime::Stops,
                (false, true) => LoopTime::Stuck,
                (false, false) => LoopTime::Diverges,
            });
        }
        let passes = |&(clock, value): &(usize, i32)| least.iter().any(|&(c, at)| c == clock && at > value);
        Ok(match still {
            true => LoopTime::Still,
            false if sets.iter().any(passes) => LoopTime::Diverges,
            false => LoopTime::Unknown,
        })
    }
}

impl StateSpace for ZoneRuns<'_> {
    fn words(&self) -> usize {
        self.space.words()
    }

    fn bits(&self) -> u32 {
        self.space.bits()
    }

    fn fingerprint(&self) -> u64 {
        hash(&[self.space.fingerprint(), u64::from(self.stay.0)])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(RunsWorker {
            runs: self,
            zones: ZoneWorker::new(self.space),
            inner: self.space.model.worker(),
            interpreter: self.space.model.interpreter(),
            zone: Zone::zero(self.space.zones.size - 1),
        })
    }

    fn render_label(&self, label: Label) -> String {
        if label == self.stay { "stay".into() } else { self.space.render_label(label) }
    }

    fn render_start(&self, label: Label) -> String {
        self.space.render_start(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.space.render_state(state)
    }
}

struct RunsWorker<'r> {
    runs: &'r ZoneRuns<'r>,
    zones: ZoneWorker<'r>,
    inner: Box<dyn Worker + 'r>,
    interpreter: Interpreter<'r>,
    zone: Zone,
}

impl RunsWorker<'_> {
    /// Whether a run may stay for ever; an error of the model is met elsewhere.
    fn may_stay(&mut self, state: &[u64]) -> bool {
        let space = self.runs.space;
        let (packed, discrete) = state.split_at(space.zones.words);
        let at = Context { state: discrete, locals: &[], interpreter: &self.interpreter, shapes: &[] };
        if space.time_ends(&at) == Ok(false) {
            return true;
        }
        space.zones.packing.unpack(packed, &mut self.zone);
        let stuck = deadlock::parts(space, &mut *self.inner, &at, &self.zone, GoingOn::Stuck);
        stuck.is_some_and(|parts| !parts.is_empty())
    }
}

impl Worker for RunsWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.zones.initial(out);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        self.zones.successors(state, out);
        if self.may_stay(state) {
            out.push(self.runs.stay, state);
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        self.zones.check(state)
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        self.zones.satisfies(state, property)
    }
}
