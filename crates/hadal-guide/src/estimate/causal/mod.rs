//! Estimates from the graphs of single variables and how their steps depend on each other: h^CG and h^cea.

mod cea;
mod cg;
mod clauses;
mod order;
mod present;
mod transitions;

pub(crate) use order::arcs;

use super::plus;
use crate::task::{AbstractTask, Formula};
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use std::sync::Arc;

/// Variables with where they are wanted.
type Wanted = Vec<(u32, u16)>;

/// Which estimate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// h^CG.
    CausalGraph,
    /// h^cea.
    ContextEnhanced,
}

/// A causal estimate.
pub struct Causal {
    task: Arc<AbstractTask>,
    plan: Prepared,
}

enum Prepared {
    CausalGraph(cg::Plan),
    ContextEnhanced(cea::Plan),
}

impl Causal {
    /// `None` where the graphs are too large.
    pub fn new(task: Arc<AbstractTask>, kind: Kind) -> Option<Self> {
        let plan = match kind {
            Kind::CausalGraph => Prepared::CausalGraph(cg::Plan::of(&task)?),
            Kind::ContextEnhanced => Prepared::ContextEnhanced(cea::Plan::of(&task)?),
        };
        Some(Causal { task, plan })
    }
}

impl Guide for Causal {
    fn name(&self) -> String {
        match self.plan {
            Prepared::CausalGraph(_) => "hcg".into(),
            Prepared::ContextEnhanced(_) => "hcea".into(),
        }
    }

    /// Both take one context for granted where there are many: they may miss what can be reached, and count too much or
    /// too little (Wehrle 2011, example 5.8).
    fn promises(&self) -> Promises {
        Promises { admissible: false, consistent: false, safe: false, monotone: false }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        match &self.plan {
            Prepared::CausalGraph(plan) => Box::new(cg::CausalGraph::new(&self.task, plan)),
            Prepared::ContextEnhanced(plan) => Box::new(cea::ContextEnhanced::new(&self.task, plan)),
        }
    }
}

/// What an estimate says that is too long to be finished: how many atoms of what is looked for do not hold.
fn unmet(task: &AbstractTask, formula: &Formula, state: &[u64]) -> Distance {
    match formula {
        Formula::True => Distance::ZERO,
        Formula::False => Distance::INFINITE,
        Formula::Atom(var, values) => Distance((!task.variables[*var as usize].has(state, values)).into()),
        Formula::And(parts) => {
            parts.iter().fold(Distance::ZERO, |sum, part| plus(sum, unmet(task, part, state)))
        }
        Formula::Or(parts) => {
            parts.iter().fold(Distance::INFINITE, |least, part| least.min(unmet(task, part, state)))
        }
    }
}
