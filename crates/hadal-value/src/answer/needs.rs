//! The propositions and rewards that a question refers to.

use hadal_system::chance::{Asked, Averaged, Formula, Horizon, Limit, Measure, Path};
use std::collections::BTreeSet;

/// What a question refers to.
#[derive(Default)]
pub(crate) struct Needs {
    pub propositions: BTreeSet<usize>,
    pub rewards: BTreeSet<usize>,
    /// Whether it matters how long states last.
    pub timed: bool,
    /// Whether it matters which states have no choice of their own.
    pub deadlock: bool,
    /// Whether a value is held against a bound somewhere.
    pub compares: bool,
}

impl Needs {
    /// Whether a measure is about formulas that ask for values themselves.
    pub fn asks_inside(measure: &Measure) -> bool {
        let mut needs = Needs::default();
        needs.measure(measure);
        needs.compares
    }

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
            Formula::Compares { value, .. } => {
                self.compares = true;
                self.measure(value);
            }
            Formula::Deadlock => self.deadlock = true,
            Formula::Constant(_) | Formula::Initial => {}
        }
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Probability(path) => self.path(path),
            Measure::Earned(reward, horizon) => {
                self.rewards.insert(*reward);
                match horizon {
                    Horizon::Reach(formula) => self.formula(formula),
                    Horizon::Time(_) | Horizon::Moment(_) => self.timed = true,
                    Horizon::Steps(_) | Horizon::Instant(_) | Horizon::Total => {}
                }
            }
            Measure::Average(of) => {
                self.timed = true;
                match of {
                    Averaged::Share(formula) => self.formula(formula),
                    Averaged::Earned(reward) => {
                        self.rewards.insert(*reward);
                    }
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
                match limit {
                    Limit::Reward(reward, _) => {
                        self.rewards.insert(*reward);
                    }
                    Limit::Time(..) => self.timed = true,
                    Limit::None | Limit::Steps(..) => {}
                }
            }
            Path::Ltl { atoms, .. } => atoms.iter().for_each(|atom| self.formula(atom)),
            Path::Not(path) => self.path(path),
        }
    }
}
