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
mod counting;
mod cycles;
mod demands;
mod frozen;
mod growing;
mod local;
mod memo;
mod plain;
mod precondition;
mod print;
mod probe;
mod relation;
mod rounds;
mod rows;
mod sites;
mod trial;
mod worker;

use crate::model::Model;
use closure::{Closure, Effort, Lengths};
use frozen::Frozen;
use hadal_system::facts::Facts;
use hadal_system::{DeadlockNotion, PropertyBody, PropertyId, StateSpace, Worker, WrapsSpace, state};
use relation::{Kept, Relation};
use trial::Near;
use worker::StubbornWorker;

/// As many settings of what processes were given are looked at by themselves: each is a relation to be worked out.
const MAX_FROZEN: usize = 1;
/// Working out one takes time with the square of the groups: with more than this it is left.
const MOST_GROUPS: usize = 1000;
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
    /// Of the model, then with what processes were given in place of their variables.
    relations: Vec<Relation>,
    /// What each further relation is for.
    settings: Vec<Vec<u64>>,
    frozen: Option<Frozen>,
    deadlocks: DeadlockNotion,
    lengths: Lengths,
    /// The property whose runs are kept.
    about: u64,
    /// Which sets are looked for.
    effort: Effort,
    /// Whether everything is fired.
    idle: bool,
    /// States after which a worker generates only what is chosen.
    hot_after: u32,
}

impl<'m> Stubborn<'m> {
    /// Prepares the reduction for the model's invariants and goals, errors, and these deadlocks. `None` where the
    /// model has too many actions.
    pub fn new(model: &'m Model, deadlocks: DeadlockNotion, traces: Traces) -> Option<Self> {
        let free = traces == Traces::Some && model.symmetry().is_none();
        let lengths = if free { Lengths::Free } else { Lengths::Kept };
        Self::made(model, Kept::Errors, deadlocks, lengths, u64::MAX)
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
        Self::made(model, Kept::Runs(seen), DeadlockNotion::Stuck, Lengths::Runs, property.0.into())
    }

    fn made(
        model: &'m Model,
        kept: Kept,
        deadlocks: DeadlockNotion,
        lengths: Lengths,
        about: u64,
    ) -> Option<Self> {
        let relations = vec![Relation::of(model.system(), model.layout(), model.facts(), &kept)?];
        let (settings, frozen, idle) = (Vec::new(), None, false);
        let effort = Effort::Full;
        let mut made = Stubborn {
            model,
            relations,
            settings,
            frozen,
            deadlocks,
            lengths,
            about,
            effort,
            idle,
            hot_after: worker::HOT,
        };
        made.try_sets(&kept);
        Some(made)
    }

    /// The same with no other sets than those of some processes, whatever was found to pay.
    pub fn by_processes(self) -> Self {
        Stubborn { effort: Effort::Local, idle: false, ..self }
    }

    /// The same that generates only the successors of the sets from the first state on, instead of when a search has become
    /// long enough to compile guards and bodies apart for it.
    pub fn hot(self) -> Self {
        Stubborn { hot_after: 0, ..self }
    }

    /// Whether nothing is left out, since next to nothing could be in the states that were tried.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// Tries the sets in the states near the initial ones: where nearly all of those are met with them, too, choosing them
    /// would only take time; sets of processes take little, and others must be worth it. Of what processes were given, what is met there is looked at by itself.
    fn try_sets(&mut self, kept: &Kept) {
        let (system, layout) = (self.model.system(), self.model.layout());
        // Symmetric states stand for each other, whatever was given to whom.
        if self.model.symmetry().is_none() && self.relations[0].groups <= MOST_GROUPS {
            self.frozen = Frozen::find(system, layout, self.model.facts());
        }
        let mut met: Vec<Vec<u64>> = Vec::new();
        let model = self.model;
        let whole = Near::explore(
            model,
            &mut *model.worker(),
            usize::MAX,
            |_| true,
            |state| {
                if let Some(frozen) = self.frozen.as_ref().filter(|it| it.holds(state))
                    && met.len() < MAX_FROZEN
                    && !met.iter().any(|known| frozen.key(state).eq(frozen.key(known)))
                {
                    met.push(state.to_vec());
                }
            },
        );
        for state in met {
            let Some(frozen) = &self.frozen else { break };
            let frozen_system = frozen.system(system, &state);
            let facts = Facts::of(&frozen_system);
            if let Some(relation) = Relation::of(&frozen_system, layout, &facts, kept) {
                self.relations.push(relation);
                self.settings.push(frozen.key(&state).collect());
            }
        }
        if !whole.is_telling() {
            return;
        }
        if whole.shows_nothing(&mut *model.worker(), &mut self.own_worker(Effort::Full)) {
            self.idle = true;
            return;
        }
        let met = |effort: Effort, goes_on: &dyn Fn(&StubbornWorker) -> bool| {
            let mut worker = self.own_worker(effort);
            let near = Near::explore(model, &mut worker, whole.depth(), goes_on, |_| {});
            (near, worker.work())
        };
        if self.lengths == Lengths::Free {
            let (local, _) = met(Effort::Local, &|_| true);
            if !local.is_idle(&whole) {
                let (full, work) = met(Effort::Full, &|worker| !trial::is_enough(worker.work()));
                if !full.pays(work, &local) {
                    self.effort = Effort::Local;
                }
                return;
            }
        }
        let (full, _) = met(Effort::Full, &|_| true);
        self.idle = full.is_idle(&whole);
    }

    fn own_worker(&self, effort: Effort) -> StubbornWorker<'_> {
        let closures = self.relations.iter().map(|relation| Closure::new(relation, effort)).collect();
        StubbornWorker::new(self, closures)
    }

    /// The number of the relation for a state.
    fn relation(&self, state: &[u64]) -> usize {
        match &self.frozen {
            Some(frozen) if !self.settings.is_empty() && frozen.holds(state) => {
                let same = |key: &Vec<u64>| frozen.key(state).eq(key.iter().copied());
                self.settings.iter().position(same).map_or(0, |n| n + 1)
            }
            _ => 0,
        }
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
            // Another one whenever other sets are chosen: a run continues with the sets it began with.
            0x5374_7562_626F_7271,
            kind,
            (self.lengths == Lengths::Free).into(),
            self.about,
        ])
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        if self.idle { self.model.worker() } else { Box::new(self.own_worker(self.effort)) }
    }
}
