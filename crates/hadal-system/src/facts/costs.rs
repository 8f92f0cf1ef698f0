//! What the actions of a system cost, as far as that can be told from their expressions.

use super::footprint;
use super::values::ValueSet;
use super::walk::{AbstractWalk, Ground};
use crate::cost::{CostRange, MOST_COST};
use crate::machine;
use crate::system::{Action, System};

/// What is known of all costs before the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostFacts {
    /// Bounds of those costs that meet no error.
    pub range: CostRange,
    /// Whether evaluating one may meet an error of the model.
    pub may_fault: bool,
}

/// Bounds of what the actions of a well-formed system cost: by the domains of what their expressions read.
pub fn cost_facts(system: &System) -> CostFacts {
    let ground = Ground::of(system);
    let mut walk = AbstractWalk::new(&ground);
    let all = system.actions.iter().map(|action| of_action(&mut walk, action));
    let joined = all.reduce(|a, b| CostFacts {
        range: CostRange { least: a.range.least.min(b.range.least), most: a.range.most.max(b.range.most) },
        may_fault: a.may_fault || b.may_fault,
    });
    joined.unwrap_or(CostFacts { range: CostRange::STEPS, may_fault: false })
}

fn of_action<'a>(walk: &mut AbstractWalk<'a>, action: &'a Action) -> CostFacts {
    let Some(cost) = &action.cost else { return CostFacts { range: CostRange::STEPS, may_fault: false } };
    let params: Vec<_> = action.params.iter().map(|p| (p, footprint::param_values(walk.ground, p))).collect();
    walk.begin(&action.locals, params.into_iter());
    let values = machine::value(walk, cost).unwrap_or_else(|_| ValueSet::empty());
    let met = std::mem::take(&mut walk.met);
    // Where there is no value every evaluation meets an error.
    let (low, high) = values.bounds().unwrap_or((0, 0));
    let fits = |value: i64| u32::try_from(value.max(0)).unwrap_or(MOST_COST).min(MOST_COST);
    CostFacts {
        range: CostRange { least: fits(low), most: fits(high) },
        may_fault: met.faults || met.drops || low < 0 || high > i64::from(MOST_COST),
    }
}
