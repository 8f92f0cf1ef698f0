//! The delete relaxation of a ground task in flat arrays: facts, and operators that only add.
//!
//! Every estimate of this folder rests on it. It leaves out what makes facts false, so whatever cannot be reached here
//! cannot be reached at all. Conditional effects are operators of their own that share their row's cost; derived facts and
//! monitors are operators that cost nothing; a comparison is a fact that any change of its numbers towards it may add.

mod build;
mod size;

use super::resources::Resources;
use build::Builder;
use hadal_exec::rows::{Place, RowSpace, RowWorker};
use hadal_system::rows::RowTask;

/// An operator that belongs to no row: a rule, or the step of a monitor.
pub const NO_ROW: u32 = u32::MAX;

/// What a row counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// What it costs at least.
    Real,
    /// One.
    Unit,
    /// What it costs at least, plus one.
    PlusOne,
}

/// Lists of numbers, one after the other.
#[derive(Clone, Debug)]
pub struct Lists {
    begins: Vec<u32>,
    flat: Vec<u32>,
}

impl Default for Lists {
    fn default() -> Self {
        Lists { begins: vec![0], flat: Vec::new() }
    }
}

impl Lists {
    /// Adds a list behind the others.
    pub(super) fn push(&mut self, list: &[u32]) {
        self.flat.extend_from_slice(list);
        self.begins.push(self.flat.len() as u32);
    }

    /// For each of `count` numbers, the lists it stands in.
    pub(super) fn turned(&self, count: usize) -> Self {
        let mut sizes = vec![0u32; count + 1];
        self.flat.iter().for_each(|&at| sizes[at as usize + 1] += 1);
        for at in 0..count {
            sizes[at + 1] += sizes[at];
        }
        let mut next = sizes.clone();
        let mut flat = vec![0; self.flat.len()];
        for list in 0..self.len() {
            for &at in self.get(list as u32) {
                flat[next[at as usize] as usize] = list as u32;
                next[at as usize] += 1;
            }
        }
        Lists { begins: sizes, flat }
    }

    /// How many lists.
    pub fn len(&self) -> usize {
        self.begins.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The n-th.
    #[inline]
    pub fn get(&self, list: u32) -> &[u32] {
        &self.flat[self.begins[list as usize] as usize..self.begins[list as usize + 1] as usize]
    }
}

/// What a fact says of a comparison's term. That a term is nothing is two facts: changes lead to it from one side or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Side {
    /// The comparison itself.
    Whole,
    /// It is not below nothing.
    Least,
    /// It is not above nothing.
    Most,
}

impl Side {
    /// Turns what is not to be above nothing into what is not to be below it.
    pub(super) fn sign(self) -> f64 {
        if self == Side::Most { -1.0 } else { 1.0 }
    }
}

/// A comparison, or one side of it, that is a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Compared {
    pub(super) comparison: u32,
    pub(super) side: Side,
    pub(super) fact: u32,
}

/// An operator that makes a comparison true by changing a number, and by how much it comes nearer each time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    pub(super) operator: u32,
    pub(super) comparison: u32,
    pub(super) side: Side,
    pub(super) by: f64,
    /// By how much all changes of the row together bring it nearer each time, at most.
    pub(super) net: f64,
    /// How near values that are assigned bring it, without making it true.
    pub(super) nearest: f64,
}

/// Left off of ratios of floating-point numbers, so that rounding never makes them too large.
const ROUNDING: f64 = 1e-9;

/// A relaxed task.
pub struct Relaxed<'s> {
    space: &'s RowSpace,
    /// The first fact of each finite variable; its values follow.
    first_fact: Vec<u32>,
    places: Vec<Place>,
    /// Facts that say a variable does not have a value.
    differs: Vec<(Place, u32, u32)>,
    /// Comparisons that are facts.
    compares: Vec<Compared>,
    facts: usize,
    /// What each operator needs.
    pub(super) needs: Lists,
    /// What each operator adds.
    pub(super) adds: Lists,
    /// The operators that need each fact.
    pub(super) needed_by: Lists,
    /// The operators that add each fact.
    pub(super) added_by: Lists,
    /// How many facts each operator needs.
    pub(super) need_counts: Vec<u32>,
    /// Operators that need nothing.
    pub(super) free: Vec<u32>,
    /// The row of each operator, or [`NO_ROW`].
    pub(super) rows: Vec<u32>,
    /// What each operator costs.
    pub(super) costs: Vec<u32>,
    /// What each row costs.
    pub(super) row_costs: Vec<u32>,
    pub(super) goal: Vec<u32>,
    pub(super) gains: Vec<Gain>,
    /// What rows use up and make, where they do.
    pub(super) resources: Option<Resources>,
}

impl<'s> Relaxed<'s> {
    /// Relaxes the task of `space`.
    pub fn new(space: &'s RowSpace, kind: CostKind) -> Self {
        Builder::new(space).build(kind)
    }

    /// Bytes that relaxing a task and estimating its states with that take, about; not less than they do.
    pub fn foreseen_bytes(task: &RowTask) -> u64 {
        size::Size::of(task).bytes()
    }

    /// How many facts there are.
    pub fn facts(&self) -> usize {
        self.facts
    }

    /// The space that is relaxed.
    pub fn space(&self) -> &'s RowSpace {
        self.space
    }

    /// How many operators there are.
    pub fn operators(&self) -> usize {
        self.rows.len()
    }

    /// The fact that a finite variable has a value.
    pub fn fact(&self, variable: u32, value: u32) -> u32 {
        self.first_fact[variable as usize] + value
    }

    /// The variable and the value of a fact, where it is such a fact.
    pub(super) fn value_of(&self, fact: u32) -> Option<(u32, u32)> {
        let variable = self.first_fact.partition_point(|&first| first <= fact).checked_sub(1)?;
        let value = fact - self.first_fact[variable];
        let size = self.space.task().variables.get(variable)?.values.len() as u32;
        (value < size).then_some((variable as u32, value))
    }

    /// Calls `each` with the facts of a state; derived facts are not among them, operators add them.
    #[inline]
    pub(super) fn facts_of(&self, state: &[u64], worker: &mut RowWorker, mut each: impl FnMut(u32)) {
        for (place, first) in self.places.iter().zip(&self.first_fact) {
            each(first + place.get(state) as u32);
        }
        for &(place, value, fact) in &self.differs {
            if place.get(state) != u64::from(value) {
                each(fact);
            }
        }
        for &Compared { comparison, side, fact } in &self.compares {
            let holds = match side {
                Side::Whole => worker.compares(state, comparison),
                Side::Least | Side::Most => {
                    let term = self.space.task().comparisons[comparison as usize].term;
                    let sign = worker.value(state, term).map(|value| value.numer().signum());
                    sign.is_some_and(|sign| if side == Side::Least { sign >= 0 } else { sign <= 0 })
                }
            };
            if holds {
                each(fact);
            }
        }
    }

    /// How far a side of a comparison is from being met; nothing where it is, or where its value is undefined.
    pub(super) fn missing(&self, gain: &Gain, state: &[u64], worker: &mut RowWorker) -> f64 {
        let comparison = self.space.task().comparisons[gain.comparison as usize];
        let Some(value) = worker.value(state, comparison.term) else { return 0.0 };
        let missing = -gain.side.sign() * *value.numer() as f64 / *value.denom() as f64;
        missing.min(gain.nearest).max(0.0)
    }

    /// How often the row of a gain would have to fire if it alone made the comparison true. Of any rows that make it true
    /// together, the counts divided by theirs make one at least. Never below one.
    pub(super) fn least_times(&self, gain: &Gain, state: &[u64], worker: &mut RowWorker) -> f64 {
        (self.missing(gain, state, worker) / gain.net * (1.0 - ROUNDING)).max(1.0)
    }

    /// Where the fact of a value is read off a state, and what stands there. For such facts only.
    pub(super) fn test(&self, fact: u32) -> (Place, u64) {
        let (variable, value) = self.value_of(fact).unwrap_or_default();
        (self.places[variable as usize], u64::from(value))
    }

    /// Whether a fact of a value holds in a state. Others count as false.
    pub fn holds(&self, state: &[u64], fact: u32) -> bool {
        self.value_of(fact)
            .is_some_and(|(variable, value)| self.places[variable as usize].get(state) == u64::from(value))
    }
}
