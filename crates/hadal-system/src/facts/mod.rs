//! Static facts of a [`System`], computed once and used by partitioning, reduction and guidance.
//!
//! Facts are about *slots*: the scalars of the state in slot order ([`System::slots`]). An action is walked by an
//! abstract execution (`walk`), per parameter instance where there are not too many, which gives a [`Footprint`].
//! From the footprints follow [`Interference`] between instances, the [`CausalGraph`] and the [`ControlGraph`]s.
//! Everything called "may" is a superset of what can happen, everything called "must" a subset.

mod assume;
pub mod causal;
pub mod control;
mod costs;
mod footprint;
pub mod interference;
mod joining;
mod point;
mod run;
mod slots;
mod summary;
pub mod symmetric;
mod touch;
mod values;
mod walk;

pub use causal::{CausalGraph, Node};
pub use control::ControlGraph;
pub use costs::{CostFacts, cost_facts};
pub use footprint::Footprint;
pub use interference::Interference;
pub use slots::SlotSet;
pub use symmetric::{SymmetricDomain, symmetric_domains};
pub use values::ValueSet;

use crate::domain::DomainId;
use crate::machine;
use crate::space::{Label, PropertyKind};
use crate::system::{Action, ActionId, Property, PropertyBody, System, instance_count, instance_values};
use walk::{AbstractWalk, FUEL, Ground};

/// Actions with more instances than this are walked once for all of them.
const MAX_INSTANCES: u64 = 4096;
/// No more instances than this are walked by themselves in one system.
const MAX_TOTAL_INSTANCES: u64 = 1 << 16;
/// Steps spent on a system before the rest is walked coarsely, once per action.
const BUDGET: u64 = 5_000_000;

/// The static facts of a system.
#[derive(Clone, Debug)]
pub struct Facts {
    /// How many slots the state has.
    pub slots: u32,
    /// Facts of the ways to make an initial state, in the system's order.
    pub starts: Vec<ActionFacts>,
    /// Facts of the actions, by [`ActionId`].
    pub actions: Vec<ActionFacts>,
    /// Facts of the properties, in the system's order.
    pub properties: Vec<PropertyFacts>,
    bases: Vec<u64>,
    slot_domains: Vec<DomainId>,
}

/// The facts of an action.
#[derive(Clone, Debug)]
pub struct ActionFacts {
    /// What holds for every instance.
    pub whole: Footprint,
    /// How many instances the action has.
    pub count: u64,
    instances: Vec<Footprint>,
}

/// The facts of a property.
#[derive(Clone, Debug)]
pub struct PropertyFacts {
    /// Slots that some instance may read.
    pub reads: SlotSet,
    /// Per instance where that is known, the slots it may read.
    instances: Vec<SlotSet>,
    /// Whether evaluating it may meet an error of the model.
    pub may_fault: bool,
}

impl ActionFacts {
    /// The facts of the n-th instance; those of the whole action where instances were not told apart.
    pub fn instance(&self, n: u64) -> &Footprint {
        usize::try_from(n).ok().and_then(|n| self.instances.get(n)).unwrap_or(&self.whole)
    }

    /// Whether [`ActionFacts::instance`] tells instances apart.
    pub fn is_exact(&self) -> bool {
        self.count <= 1 || !self.instances.is_empty()
    }

    /// The footprints that together cover the action: one per instance where they are told apart, else one, each
    /// with the number of its first instance.
    pub fn footprints(&self) -> impl Iterator<Item = (u64, &Footprint)> {
        let apart = self.instances.iter().enumerate().map(|(n, f)| (n as u64, f));
        apart.chain(self.instances.is_empty().then_some((0, &self.whole)))
    }
}

impl PropertyFacts {
    /// The slots the n-th instance may read.
    pub fn instance(&self, n: u64) -> &SlotSet {
        usize::try_from(n).ok().and_then(|n| self.instances.get(n)).unwrap_or(&self.reads)
    }
}

impl Facts {
    /// Computes the facts of a well-formed system.
    pub fn of(system: &System) -> Self {
        Self::within(system, Budget::FULL)
    }

    /// Facts that cost little and say less: every action is walked once for all its instances, loops are not
    /// unrolled, calls not followed.
    pub fn coarse(system: &System) -> Self {
        Self::within(system, Budget { instances: 0, steps: 0, least: 0 })
    }

    /// The facts of a system that has more actions than the one these are about, behind those, and is the same otherwise.
    pub fn with_more(&self, system: &System) -> Self {
        let ground = Ground::of(system);
        let mut walk = AbstractWalk::new(&ground);
        let mut budget = Budget::FULL;
        let mut facts = self.clone();
        let more = &system.actions[self.actions.len()..];
        facts.actions.extend(more.iter().map(|action| action_facts(&mut walk, action, &mut budget)));
        facts.bases = system.label_bases(&system.actions);
        apply_assumptions(system, &self.properties, &mut facts.actions[self.actions.len()..]);
        facts
    }

    fn within(system: &System, mut budget: Budget) -> Self {
        let ground = Ground::of(system);
        let mut walk = AbstractWalk::new(&ground);
        let of = |a| action_facts(&mut walk, a, &mut budget);
        let mut actions: Vec<_> = system.actions.iter().map(of).collect();
        let of = |a| action_facts(&mut walk, a, &mut budget);
        let mut starts: Vec<_> = system.starts.iter().map(of).collect();
        let properties: Vec<_> = (system.properties.iter())
            .map(|property| property_facts(&mut walk, property, &mut budget))
            .collect();
        let slots = ground.slot_domains.len() as u32;
        let bases = system.label_bases(&system.actions);
        let slot_domains = ground.slot_domains.iter().flatten().copied().collect();
        apply_assumptions(system, &properties, &mut actions);
        apply_assumptions(system, &properties, &mut starts);
        Facts { slots, starts, actions, properties, bases, slot_domains }
    }

    /// The facts of the action instance behind a label.
    pub fn footprint(&self, label: Label) -> Option<&Footprint> {
        let label = u64::from(label.0);
        let at = self.bases.partition_point(|&base| base <= label).checked_sub(1)?;
        self.actions.get(at).map(|action| action.instance(label - self.bases[at]))
    }

    /// The domain of a slot.
    pub fn slot_domain(&self, slot: u32) -> DomainId {
        self.slot_domains[slot as usize]
    }

    /// The label of an action's n-th instance.
    pub fn label(&self, action: ActionId, n: u64) -> Label {
        // Labels are numbered in 32 bits; a system with more instances cannot be explored at all.
        Label((self.bases[action.0 as usize] + n) as u32)
    }

    /// Every footprint of the actions, each with its action and the number of its first instance.
    pub fn footprints(&self) -> impl Iterator<Item = (ActionId, u64, &Footprint)> {
        let numbered = self.actions.iter().enumerate();
        numbered.flat_map(|(a, facts)| facts.footprints().map(move |(n, f)| (ActionId(a as u32), n, f)))
    }

    /// The slots that some action may write.
    pub fn ever_written(&self) -> SlotSet {
        let mut all = SlotSet::new();
        self.actions.iter().for_each(|a| all.extend(&a.whole.may_write));
        all
    }
}

/// A state without an assumption does not exist: whether an action that may write what an assumption reads
/// fires depends on everything the assumption and the written values depend on.
fn apply_assumptions(system: &System, properties: &[PropertyFacts], actions: &mut [ActionFacts]) {
    let assumed = system.properties.iter().zip(properties);
    let assumed = assumed.filter(|(property, _)| property.kind == PropertyKind::Assumption);
    for (_, assumption) in assumed {
        for action in &mut *actions {
            for print in action.instances.iter_mut().chain([&mut action.whole]) {
                if print.may_write.meets(&assumption.reads) {
                    print.reads.extend(&assumption.reads);
                    print.tests = print.reads.clone();
                    print.may_drop = true;
                    print.may_fault |= assumption.may_fault;
                    print.body_may_fault |= assumption.may_fault;
                }
            }
        }
    }
}

struct Budget {
    instances: u64,
    steps: u64,
    /// Fuel that every walk gets, whatever was spent before.
    least: u32,
}

impl Budget {
    const FULL: Budget = Budget { instances: MAX_TOTAL_INSTANCES, steps: BUDGET, least: 500 };

    /// Whether this many instances may be told apart; if so, they are paid for.
    fn allows(&mut self, instances: u64) -> bool {
        let allowed = instances <= MAX_INSTANCES.min(self.instances) && self.steps > 0;
        self.instances -= if allowed { instances } else { 0 };
        allowed
    }

    /// The fuel of the next walk.
    fn allowance(&self) -> u32 {
        (self.steps.min(u64::from(FUEL)) as u32).max(self.least)
    }

    fn spend(&mut self, walk: &AbstractWalk) {
        self.steps = self.steps.saturating_sub(u64::from(walk.fuel.used()) + 20);
    }
}

fn action_facts<'a>(walk: &mut AbstractWalk<'a>, action: &'a Action, budget: &mut Budget) -> ActionFacts {
    let system = walk.system;
    let count = instance_count(&action.params, &system.domains);
    if count == 1 || !budget.allows(count) {
        let values: Vec<ValueSet> =
            action.params.iter().map(|p| footprint::param_values(walk.ground, p)).collect();
        walk.fuel.allowance = budget.allowance();
        let whole = footprint::footprint(walk, action, &values);
        budget.spend(walk);
        return ActionFacts { whole, count, instances: Vec::new() };
    }
    let mut instances = Vec::with_capacity(count as usize);
    let mut whole: Option<Footprint> = None;
    for n in 0..count {
        let values = instance_values(&action.params, &system.domains, n);
        let values: Vec<ValueSet> = values.into_iter().map(ValueSet::one).collect();
        walk.fuel.allowance = budget.allowance();
        let print = footprint::footprint(walk, action, &values);
        budget.spend(walk);
        match &mut whole {
            Some(whole) => whole.merge(&print),
            None => whole = Some(print.clone()),
        }
        instances.push(print);
    }
    ActionFacts { whole: whole.unwrap_or_default(), count, instances }
}

fn property_facts<'a>(
    walk: &mut AbstractWalk<'a>,
    property: &'a Property,
    budget: &mut Budget,
) -> PropertyFacts {
    let mut facts = PropertyFacts { reads: SlotSet::new(), instances: Vec::new(), may_fault: false };
    let PropertyBody::State(condition) = &property.body else { return facts };
    let domains = &walk.system.domains;
    let count = instance_count(&property.params, domains);
    let apart = budget.allows(count);
    for n in 0..if apart { count } else { 1 } {
        let values: Vec<ValueSet> = if apart {
            instance_values(&property.params, domains, n).into_iter().map(ValueSet::one).collect()
        } else {
            property.params.iter().map(|p| footprint::param_values(walk.ground, p)).collect()
        };
        walk.fuel.allowance = budget.allowance();
        walk.begin(&property.locals, property.params.iter().zip(values));
        // What it may be is not asked, only what it touches.
        let _ = machine::value(walk, condition);
        budget.spend(walk);
        let met = std::mem::take(&mut walk.met);
        facts.reads.extend(&met.reads);
        facts.may_fault |= met.faults;
        if apart {
            facts.instances.push(met.reads);
        }
    }
    facts
}

impl<'a> Ground<'a> {
    fn of(system: &'a System) -> Self {
        let first_slots = system.first_slots();
        let (mut slot_domains, mut multisets) = (Vec::new(), Vec::new());
        for variable in &system.variables {
            walk::add_slots(system, variable.shape, &mut slot_domains, &mut multisets, false);
        }
        let summaries = summary::summarize(system, &first_slots);
        Ground { system, first_slots, slot_domains, multisets, summaries }
    }
}

#[cfg(test)]
mod tests;
