//! Estimates in the system where values only accumulate: the monotonicity abstraction of model checking, the delete
//! relaxation of planning.

mod layers;
mod merge;
mod network;
mod sums;

use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Estimator, Guide, Promises};
use std::collections::HashMap;
use std::sync::Arc;

pub use network::Network;

/// Which of several rows that make a fact appear in the same round is taken for its supporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supporter {
    /// The first in the order of transitions.
    First,
    /// The one whose needs appeared earliest, in sum.
    Cheapest,
}

/// Which estimate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// h^L, h^max.
    Rounds,
    /// h^U, h^FF.
    Trace(Supporter),
    /// h^add.
    Sum,
    /// h^FF with the supporters of h^add.
    SumTrace,
}

/// A relaxed estimate.
pub struct Relaxed {
    name: &'static str,
    network: Arc<Network>,
    kind: Kind,
}

impl Relaxed {
    /// The estimate of this kind; those of one task share its network.
    pub fn new(name: &'static str, network: Arc<Network>, kind: Kind) -> Self {
        Relaxed { name, network, kind }
    }
}

#[cfg(test)]
use crate::task::AbstractTask;

#[cfg(test)]
impl Relaxed {
    /// With shared effects taken together, however few there are.
    pub fn merged(name: &'static str, task: &AbstractTask, kind: Kind) -> Self {
        Relaxed { name, network: Arc::new(Network::merging_above(task, 0)), kind }
    }
}

impl Guide for Relaxed {
    fn name(&self) -> String {
        self.name.into()
    }

    /// Whatever a transition does, the rows of its operator do at once and for good: a state's successor has nothing that is
    /// not there one round later, and nothing reachable is missed. Rounds and costs only grow with fewer rows; a trace
    /// that is extracted may become shorter.
    fn promises(&self) -> Promises {
        match self.kind {
            Kind::Rounds => Promises { admissible: true, consistent: true, safe: true, monotone: true },
            Kind::Sum => Promises { admissible: false, consistent: false, safe: true, monotone: true },
            Kind::Trace(_) | Kind::SumTrace => {
                Promises { admissible: false, consistent: false, safe: true, monotone: false }
            }
        }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        match self.kind {
            Kind::Rounds => Box::new(layers::Layers::new(&self.network, layers::Measure::Rounds)),
            Kind::Trace(choice) => {
                Box::new(layers::Layers::new(&self.network, layers::Measure::Trace(choice)))
            }
            Kind::Sum => Box::new(sums::Sums::new(&self.network, sums::Measure::Sum)),
            Kind::SumTrace => Box::new(sums::Sums::new(&self.network, sums::Measure::Trace)),
        }
    }
}

/// The rows that masks switch off, for masks seen lately.
#[derive(Default)]
struct Masks {
    known: HashMap<Mask, Vec<u32>>,
}

/// As many masks are kept.
const MAX_MASKS: usize = 8192;

impl Masks {
    fn switched_off(&mut self, network: &Network, off: &Mask) -> &[u32] {
        if !self.known.contains_key(off) {
            if self.known.len() == MAX_MASKS {
                self.known.clear();
            }
            self.known.insert(off.clone(), network.switched_off(off));
        }
        self.known.get(off).map_or(&[], Vec::as_slice)
    }
}

/// The first of the labels that can fire.
fn label_of(labels: &[(u32, u32)], off: Option<&Mask>) -> Option<Label> {
    let mut all = labels.iter().flat_map(|&(first, last)| first..=last).map(Label);
    all.find(|&label| off.is_none_or(|off| !off.contains(label)))
}
