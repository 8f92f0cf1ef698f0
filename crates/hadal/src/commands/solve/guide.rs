//! Guides for the methods that begin with estimates. A guide counts steps to the target as if every choice could pick its
//! outcome (all-outcomes determinisation), which is never more than what happens on the average, together or at worst; each
//! step counts as much as the cheapest one.

use crate::failure::Failure;
use hadal_exec::Model;
use hadal_guide::plan::{CostKind, LmCut, Relaxation, Relaxed, RelaxedGuide};
use hadal_guide::{Blind, Distance, Goal, Guide, registry};
use hadal_system::chance::{Amount, Formula};
use hadal_system::{PropertyBody, PropertyId, StateSpace, System};
use hadal_value::chances::RowChances;
use hadal_value::numbers::nearest;
use hadal_value::task::Estimates;

/// Where a state space comes from.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A model in PRISM's language.
    Model(&'a Model),
    /// A task in PPDDL with a system that says what is asked.
    Task(&'a RowChances, &'a System),
}

impl<'a> Origin<'a> {
    pub fn space(self) -> &'a dyn StateSpace {
        match self {
            Origin::Model(model) => model,
            Origin::Task(chances, _) => chances,
        }
    }

    pub fn system(self) -> &'a System {
        match self {
            Origin::Model(model) => model.system(),
            Origin::Task(_, system) => system,
        }
    }

    /// The guide of this name towards a target.
    pub fn guide(self, name: &str, target: &Formula) -> Result<Box<dyn Guide + 'a>, Failure> {
        if name == "blind" {
            return Ok(Box::new(Blind));
        }
        let guide: Box<dyn Guide + 'a> = match self {
            Origin::Model(model) => {
                let Formula::Proposition(p) = target else {
                    return Err(Failure::Usage(
                        "a guide needs a target that is one condition on variables: leave --guide out".into(),
                    ));
                };
                let asked = PropertyId(model.system().property_bases()[*p]);
                let goal = Goal { properties: vec![asked], ..Goal::default() };
                registry::build(name, model, &goal).map_err(|error| Failure::Usage(error.to_string()))?
            }
            Origin::Task(chances, _) => {
                let relaxed = Relaxed::new(chances.rows(), CostKind::Unit);
                match name {
                    "hmax" => Box::new(RelaxedGuide::new(relaxed, Relaxation::Max)),
                    "lmcut" => Box::new(LmCut::new(relaxed)),
                    _ => {
                        return Err(Failure::Usage(
                            "guides of PPDDL problems are blind, hmax and lmcut".into(),
                        ));
                    }
                }
            }
        };
        match guide.promises().admissible {
            true => Ok(guide),
            false => Err(Failure::Usage(format!(
                "--guide {name} may be too high, and the answer would be, too: use hmax or pdb"
            ))),
        }
    }

    /// What a step costs at least.
    fn least_cost(self, reward: usize) -> f64 {
        match self {
            Origin::Task(chances, _) => nearest(&chances.least_cost(reward)),
            Origin::Model(model) => {
                let system = model.system();
                let everywhere = |when: usize| match &system.properties[when].body {
                    PropertyBody::State(expr) => expr.as_const().is_some_and(|value| value != 0),
                    _ => false,
                };
                let items = &system.quantities.rewards[reward].items;
                let always = items.iter().filter(|item| item.actions.is_none() && everywhere(item.when));
                let amounts = always.filter_map(|item| match &item.amount {
                    Amount::Constant(value) => Some(nearest(value)),
                    Amount::Ratio { .. } => None,
                });
                amounts.sum()
            }
        }
    }

    /// Estimates of what is left to be paid; without a reward, of the chance of failing.
    pub fn estimates<'g>(self, guide: &'g dyn Guide, reward: Option<usize>) -> Estimates<'g> {
        let (mut estimator, safe) = (guide.estimator(), guide.promises().safe);
        let (step, lost) = match reward {
            Some(reward) => (self.least_cost(reward), f64::INFINITY),
            None => (0.0, 1.0),
        };
        Box::new(move |state| match estimator.estimate(state, None) {
            Distance::INFINITE => {
                if safe {
                    lost
                } else {
                    0.0
                }
            }
            Distance(steps) => f64::from(steps) * step,
        })
    }
}
