//! Partial-order reduction: a [`StateSpace`] that fires only a stubborn set of transitions in each state.
//!
//! Kept are the reachability of broken invariants, met goals and errors of the model, and of deadlocks where they are
//! asked about; with [`Traces::Shortest`] each in as few steps as before. [`Stubborn::for_runs`] keeps the wrong runs of a
//! claim instead. Which states exist is not kept, nor how often something is covered. The order of the search does not
//! matter. With symmetry, traces always stay shortest: that argument is about one state at a time, and distances are the
//! same within an orbit.

mod births;
mod build;
mod chain;
mod channels;
mod closure;
mod condition;
mod cycles;
mod demand;
mod memo;
mod plain;
mod print;
mod probe;
mod relation;
mod rows;
mod sites;

use crate::model::Model;
use closure::{Closure, Lengths, Progress};
use hadal_system::{
    DeadlockNotion, PropertyBody, PropertyId, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker, state,
};
use relation::{Kept, Relation};
use std::collections::HashSet;

/// In so many states, or a layer more, the sets are tried.
const TRIED: usize = 3000;
/// Where more than this part of them is met with the sets, in per cent, everything is fired.
const MOST_MET: usize = 85;

/// What is kept of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// The shortest ones.
    Shortest,
    /// Some; more states are left out.
    Some,
}

/// A model reduced by stubborn sets.
pub struct Stubborn<'m> {
    model: &'m Model,
    relation: Relation,
    deadlocks: DeadlockNotion,
    lengths: Lengths,
    /// The property whose runs are kept.
    about: u64,
    /// Whether everything is fired.
    idle: bool,
}

impl<'m> Stubborn<'m> {
    /// Prepares the reduction for the model's invariants and goals, errors, and these deadlocks. `None` where the
    /// model has too many actions.
    pub fn new(model: &'m Model, deadlocks: DeadlockNotion, traces: Traces) -> Option<Self> {
        let relation = Relation::of(model.system(), model.layout(), &Kept::Errors)?;
        let free = traces == Traces::Some && model.symmetry().is_none();
        let lengths = if free { Lengths::Free } else { Lengths::Kept };
        Some(Stubborn { model, relation, deadlocks, lengths, about: u64::MAX, idle: false }.tried())
    }

    /// Prepares the reduction for a property about infinite runs that does not see how often a state is repeated: there is a
    /// wrong run of the reduced space exactly where there is one of the model. Errors of the model are kept, too; runs are not to
    /// be fair. `None` where the model has too many actions, or states that stand for symmetric ones.
    pub fn for_runs(model: &'m Model, property: PropertyId) -> Option<Self> {
        let (at, _) = model.system().property_instance(property)?;
        let seen = match &model.system().properties[at].body {
            PropertyBody::Claim(claim) if claim.stutter_invariant => claim.propositions.clone(),
            PropertyBody::State(_) => vec![at],
            _ => return None,
        };
        if model.symmetry().is_some() {
            return None;
        }
        let relation = Relation::of(model.system(), model.layout(), &Kept::Runs(seen))?;
        let deadlocks = DeadlockNotion::Stuck;
        let (lengths, about) = (Lengths::Runs, property.0.into());
        Some(Stubborn { model, relation, deadlocks, lengths, about, idle: false }.tried())
    }

    /// Whether nothing is left out, since next to nothing could be in the states that were tried.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// Tries the sets in the states near the initial ones: where nearly all of those are met with them, too, choosing them
    /// would only take time.
    fn tried(mut self) -> Self {
        let (whole, depth) = near(&mut *self.model.worker(), self.model.words(), usize::MAX);
        if whole >= TRIED {
            let (met, _) = near(&mut self.own_worker(), self.model.words(), depth);
            self.idle = met * 100 > whole * MOST_MET;
        }
        self
    }

    fn own_worker(&self) -> StubbornWorker<'_> {
        let (inner, closure) = (self.model.worker(), Closure::new(&self.relation));
        StubbornWorker { space: self, inner, closure }
    }

    /// Whether a shortest trace is still there.
    pub fn keeps_shortest(&self) -> bool {
        self.lengths == Lengths::Kept
    }
}

impl WrapsSpace for Stubborn<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.model
    }

    fn fingerprint(&self) -> u64 {
        let kind = match self.deadlocks {
            DeadlockNotion::Off => 1,
            DeadlockNotion::Stuck => 2,
            DeadlockNotion::Stuttering => 3,
        };
        state::hash(&[
            self.model.fingerprint(),
            0x5374_7562_626F_726E,
            kind,
            (self.lengths == Lengths::Free).into(),
            self.about,
        ])
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        if self.idle { self.model.worker() } else { Box::new(self.own_worker()) }
    }
}

struct StubbornWorker<'m> {
    space: &'m Stubborn<'m>,
    inner: Box<dyn Worker + 'm>,
    closure: Closure<'m>,
}

impl WrapsWorker for StubbornWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.inner
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let (from, faults) = (out.len(), out.faults().len());
        self.inner.successors(state, out);
        // What meets an error is found here; nothing need be saved behind it.
        if out.faults().len() > faults || out.len() == from {
            return;
        }
        let Stubborn { relation, deadlocks, lengths, .. } = self.space;
        // All successors have one rank; what fires only where nothing else can is not put off.
        if relation.is_ranked(out.labels()[from]) {
            return;
        }
        self.closure.restart();
        for n in from..out.len() {
            let group = relation.group(out.labels()[n]);
            let bit = 1u64 << (group % 64);
            self.closure.enabled[group / 64] |= bit;
            if *deadlocks == DeadlockNotion::Stuck || out.state(n) != state {
                self.closure.effective[group / 64] |= bit;
            }
        }
        // Where ranks count, something enabled in the set keeps higher ones away.
        let progress = match deadlocks {
            DeadlockNotion::Off if !relation.has_ranks() => Progress::NotNeeded,
            _ => Progress::Needed,
        };
        let kept = self.closure.stubborn(state, progress, *lengths);
        out.retain_from(from, |label, _| {
            let group = relation.group(label);
            kept[group / 64] >> (group % 64) & 1 == 1
        });
    }
}

/// How many states there are in the first layers: all of at most `depth` steps, up to the layer that has the last of
/// [`TRIED`]; and the steps to there.
fn near(worker: &mut dyn Worker, words: usize, depth: usize) -> (usize, usize) {
    let mut out = Successors::new(words);
    worker.initial(&mut out);
    let mut seen: HashSet<Box<[u64]>> = HashSet::new();
    let mut layer: Vec<Box<[u64]>> = Vec::new();
    let mut steps = 0;
    loop {
        let mut next: Vec<Box<[u64]>> = Vec::new();
        for (_, state) in out.iter() {
            if !seen.contains(state) {
                seen.insert(state.into());
                next.push(state.into());
            }
        }
        layer.clear();
        layer.append(&mut next);
        if layer.is_empty() || steps == depth || seen.len() >= TRIED && depth == usize::MAX {
            return (seen.len(), steps);
        }
        steps += 1;
        out.clear();
        for state in &layer {
            worker.successors(state, &mut out);
        }
    }
}
