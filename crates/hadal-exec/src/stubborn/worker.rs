//! A thread's successor function with stubborn sets.
//!
//! At first all successors are generated, and those outside the set dropped. In a search that goes on, guards and bodies are
//! compiled apart: guards say what is enabled, and only the bodies of what was chosen run. Which successors there are does
//! not depend on it.

use super::Stubborn;
use super::closure::{Closure, Progress};
use super::relation::Relation;
use super::rows::{has, meet};
use crate::chosen::Chosen;
use crate::model::ModelWorker;
use hadal_system::{DeadlockNotion, Label, Successors, Worker, WrapsWorker};

/// After so many states it pays to compile guards and bodies apart.
pub(super) const HOT: u32 = 400_000;
/// In so many states it is tried whether guards alone tell enough.
const TRIED: u32 = 4096;

pub(super) struct StubbornWorker<'m> {
    space: &'m Stubborn<'m>,
    inner: ModelWorker<'m>,
    /// One for each relation.
    closures: Vec<Closure<'m>>,
    firing: Firing<'m>,
    /// What is enabled, and what of that is chosen.
    enabled: Successors,
    labels: Vec<Label>,
}

/// How successors are generated.
enum Firing<'m> {
    /// All of them; so many more states until that changes.
    All(u32),
    /// Those that are chosen; in how many states that was tried, and in how many it could not be done.
    Chosen { by: &'m Chosen, tried: u32, failed: u32 },
    /// All of them for ever.
    Never,
}

impl<'m> StubbornWorker<'m> {
    pub(super) fn new(space: &'m Stubborn<'m>, closures: Vec<Closure<'m>>) -> Self {
        let enabled = Successors::new(hadal_system::StateSpace::words(space.model));
        let inner = space.model.own_worker();
        StubbornWorker {
            space,
            inner,
            closures,
            firing: Firing::All(space.hot_after),
            enabled,
            labels: Vec::new(),
        }
    }

    /// How much work it was to choose sets.
    pub(super) fn work(&self) -> u64 {
        self.closures.iter().map(|it| it.work).sum()
    }

    /// Appends the successors of the set without generating others. False, and nothing, where that cannot be done.
    fn fire_chosen(&mut self, state: &[u64], out: &mut Successors) -> bool {
        match &mut self.firing {
            Firing::Never => false,
            Firing::All(0) => {
                let by = self.space.model.chosen();
                self.firing = by.map_or(Firing::Never, |by| Firing::Chosen { by, tried: 0, failed: 0 });
                self.fire_chosen(state, out)
            }
            Firing::All(left) => {
                *left -= 1;
                false
            }
            &mut Firing::Chosen { by, tried, failed } => {
                let fired = self.choose_and_fire(by, state, out);
                let (tried, failed) = (tried + 1, failed + u32::from(!fired));
                self.firing = match tried {
                    TRIED if failed > TRIED / 2 => Firing::Never,
                    TRIED => Firing::Chosen { by, tried: 0, failed: 0 },
                    _ => Firing::Chosen { by, tried, failed },
                };
                fired
            }
        }
    }

    fn choose_and_fire(&mut self, by: &Chosen, state: &[u64], out: &mut Successors) -> bool {
        self.enabled.clear();
        by.enabled(state, &mut self.enabled);
        let labels = self.enabled.labels();
        let number = self.space.relation(state);
        let (relation, closure) = (&self.space.relations[number], &mut self.closures[number]);
        // Errors, deadlocks and what fires only where nothing else can are left to the other way.
        if !self.enabled.faults().is_empty() || labels.is_empty() || relation.is_ranked(labels[0]) {
            return false;
        }
        closure.restart();
        for &label in labels {
            let group = relation.group(label);
            closure.enabled[group / 64] |= 1 << (group % 64);
        }
        // A body that may meet an error must run, whatever is chosen.
        if meet(&closure.enabled, relation.risky()) {
            return false;
        }
        let moving = relation.moving();
        let all_move = closure.enabled.iter().zip(moving).all(|(enabled, moving)| enabled & !moving == 0);
        if self.space.deadlocks != DeadlockNotion::Stuck && !all_move {
            return false;
        }
        closure.effective.copy_from_slice(&closure.enabled);
        let kept = closure.stubborn(state, progress(self.space, relation), self.space.lengths);
        self.labels.clear();
        self.labels.extend(labels.iter().filter(|label| has(kept, relation.group(**label))));
        self.inner.fire(by, state, &self.labels, out)
    }
}

/// Where ranks count, something enabled in the set keeps higher ones away.
fn progress(space: &Stubborn, relation: &Relation) -> Progress {
    match space.deadlocks {
        DeadlockNotion::Off if !relation.has_ranks() => Progress::NotNeeded,
        _ => Progress::Needed,
    }
}

impl WrapsWorker for StubbornWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut self.inner
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if self.fire_chosen(state, out) {
            return;
        }
        let (from, faults) = (out.len(), out.faults().len());
        self.inner.successors(state, out);
        // What meets an error is found here; nothing need be saved behind it.
        if out.faults().len() > faults || out.len() == from {
            return;
        }
        let Stubborn { relations, deadlocks, lengths, .. } = self.space;
        let number = self.space.relation(state);
        let (relation, closure) = (&relations[number], &mut self.closures[number]);
        // All successors have one rank; what fires only where nothing else can is not put off.
        if relation.is_ranked(out.labels()[from]) {
            return;
        }
        closure.restart();
        for n in from..out.len() {
            let group = relation.group(out.labels()[n]);
            let bit = 1u64 << (group % 64);
            closure.enabled[group / 64] |= bit;
            if *deadlocks == DeadlockNotion::Stuck || out.state(n) != state {
                closure.effective[group / 64] |= bit;
            }
        }
        let kept = closure.stubborn(state, progress(self.space, relation), *lengths);
        out.retain_from(from, |label, _| has(kept, relation.group(label)));
    }
}
