//! Estimates from the graphs of single variables and how their steps depend on each other: h^CG and h^cea.

mod cea;
mod cg;
mod order;
mod transitions;

pub(crate) use order::arcs;

use super::graph::all_off;
use crate::guide::{Estimator, Guide, Promises};
use crate::mask::Mask;
use crate::task::Task;
use std::collections::HashMap;
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
    task: Arc<Task>,
    plan: Prepared,
}

enum Prepared {
    CausalGraph(cg::Plan),
    ContextEnhanced(cea::Plan),
}

impl Causal {
    /// `None` where the graphs are too large.
    pub fn new(task: Arc<Task>, kind: Kind) -> Option<Self> {
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

/// Which ways to fire a mask switches off.
struct Off {
    ways: Vec<bool>,
    any: bool,
    known: HashMap<Mask, Vec<bool>>,
}

/// As many masks are kept.
const MAX_MASKS: usize = 4096;

impl Off {
    fn new(task: &Task) -> Self {
        Off { ways: vec![false; task.ways.len()], any: false, known: HashMap::new() }
    }

    fn set(&mut self, task: &Task, off: Option<&Mask>) {
        let Some(off) = off.filter(|off| !off.is_empty()) else {
            self.any = false;
            return;
        };
        self.any = true;
        if !self.known.contains_key(off) {
            if self.known.len() == MAX_MASKS {
                self.known.clear();
            }
            let ways = task.ways.iter().map(|way| all_off(&way.labels, off)).collect();
            self.known.insert(off.clone(), ways);
        }
        if let Some(ways) = self.known.get(off) {
            self.ways.clone_from(ways);
        }
    }

    fn is_off(&self, way: u32) -> bool {
        self.any && self.ways[way as usize]
    }
}
