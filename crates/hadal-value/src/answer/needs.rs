//! The propositions and rewards that a question refers to.

use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Path};
use std::collections::BTreeSet;

/// What a question refers to.
#[derive(Default)]
pub(crate) struct Needs {
    pub propositions: BTreeSet<usize>,
    pub rewards: BTreeSet<usize>,
}

impl Needs {
    pub fn asked(&mut self, asked: &Asked) {
        match asked {
            Asked::Value(measure, _) => self.measure(measure),
            Asked::Truth(formula) => self.formula(formula),
        }
    }

    pub fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Proposition(p) => {
                self.propositions.insert(*p);
            }
            Formula::Not(f) => self.formula(f),
            Formula::And(l, r) | Formula::Or(l, r) => {
                self.formula(l);
                self.formula(r);
            }
            Formula::Compares { value, .. } => self.measure(value),
            Formula::Constant(_) | Formula::Initial | Formula::Deadlock => {}
        }
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Probability(path) => self.path(path),
            Measure::Earned(reward, horizon) => {
                self.rewards.insert(*reward);
                if let Horizon::Reach(formula) = horizon {
                    self.formula(formula);
                }
            }
        }
    }

    fn path(&mut self, path: &Path) {
        match path {
            Path::Next(f) => self.formula(f),
            Path::Until(l, r, limit) => {
                self.formula(l);
                self.formula(r);
                if let Limit::Reward(reward, _) = limit {
                    self.rewards.insert(*reward);
                }
            }
            Path::Ltl { atoms, .. } => atoms.iter().for_each(|atom| self.formula(atom)),
            Path::Not(path) => self.path(path),
        }
    }
}
