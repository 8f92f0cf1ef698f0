//! Questions of continuous time and of the long run.

use super::Solver;
use crate::average::Average;
use crate::bounded::{Rule, indicator};
use crate::graph::Graph;
use crate::timed::{Lasting, Uniform};
use crate::values::Values;
use crate::{Precision, SolveError, reach};
use hadal_system::chance::{Averaged, Horizon, Sense};
use hadal_system::rows::Rational;

/// Why there are no exact values.
pub(crate) const NO_FRACTIONS: &str =
    "values of continuous time and of the long run are bounds, not fractions: leave --exact out";

/// Why some models are not asked about time.
pub(crate) const NO_TIME: &str = "this model has no continuous time";

impl Solver<'_> {
    /// The graph whose rewards are how long states last.
    fn lasting(&self, precision: Precision) -> Result<&Graph, SolveError> {
        if precision.exact {
            return Err(SolveError::Time(NO_FRACTIONS));
        }
        let sojourn = self.system.quantities.sojourn;
        let sojourn = sojourn.ok_or(SolveError::Time(NO_TIME))?;
        Ok(self.graph_with(sojourn))
    }

    /// The probability of `through U target` between two moments.
    pub(super) fn within(
        &self,
        (through, target): (&[bool], &[bool]),
        (low, high): (Rational, Option<Rational>),
        precision: Precision,
    ) -> Result<Values, SolveError> {
        let graph = self.lasting(precision)?;
        let lasting = Lasting::of(graph);
        let mut values = match high {
            None => reach::until(graph, through, target, Sense::Greatest, precision)?,
            Some(high) if high < low => indicator(&vec![false; target.len()], false),
            Some(high) => {
                let rule = |s: usize| match (target[s], through[s]) {
                    (true, _) => Rule::One,
                    (_, true) => Rule::Best,
                    _ => Rule::Zero,
                };
                let uniform = Uniform::new(graph, &lasting, high - low)?;
                uniform.at_the_end(indicator(target, false), rule, &mut ())?
            }
        };
        if low == Rational::from_integer(0) {
            return Ok(values);
        }
        // Until then nothing but `through` is met.
        for (state, _) in through.iter().enumerate().filter(|(_, through)| !**through) {
            (values.lower[state], values.upper[state]) = (0.0, 0.0);
        }
        let rule = |s: usize| if through[s] { Rule::Best } else { Rule::Zero };
        Uniform::new(graph, &lasting, low)?.at_the_end(values, rule, &mut ())
    }

    /// What is earned up to a moment, or by the state at that moment.
    pub(super) fn earned_in_time(
        &self,
        reward: usize,
        horizon: &Horizon,
        precision: Precision,
    ) -> Result<Values, SolveError> {
        let graph = self.lasting(precision)?;
        let lasting = Lasting::of(graph);
        let rates = lasting.rates(visits(self.graph_with(reward)))?;
        match horizon {
            Horizon::Moment(time) => {
                self.of_states(reward)?;
                Uniform::new(graph, &lasting, *time)?.at_the_end(rates, |_| Rule::Best, &mut ())
            }
            Horizon::Time(time) => Uniform::new(graph, &lasting, *time)?.earned(rates, &mut ()),
            _ => Err(SolveError::Time("this is no question of continuous time")),
        }
    }

    /// The average of a step, or of a unit of time, in the long run.
    pub(super) fn average(
        &mut self,
        of: &Averaged,
        sense: Sense,
        precision: Precision,
    ) -> Result<Values, SolveError> {
        if precision.exact {
            return Err(SolveError::Time(NO_FRACTIONS));
        }
        let inside = match of {
            Averaged::Share(formula) => Some(self.formula(formula)?),
            Averaged::Earned(_) => None,
        };
        let timed = self.system.quantities.sojourn.map(|sojourn| self.graph_with(sojourn));
        let graph = match of {
            Averaged::Earned(reward) => self.graph_with(*reward),
            Averaged::Share(_) => self.graph(),
        };
        let numbers = &graph.numbers;
        let earned = match (&inside, timed) {
            (Some(inside), _) => {
                let mut earned = Vec::with_capacity(graph.choices());
                for (state, &inside) in inside.iter().enumerate() {
                    let share = if inside { (1.0, 1.0) } else { (0.0, 0.0) };
                    earned.resize(earned.len() + graph.choices_of(state).len(), share);
                }
                earned
            }
            (None, Some(lasting)) => {
                let rates = Lasting::of(lasting).rates(visits(graph))?;
                rates.lower.into_iter().zip(rates.upper).collect()
            }
            (None, None) => (0..graph.choices())
                .map(|choice| graph.reward_of(choice) as usize)
                .map(|reward| (numbers.below()[reward], numbers.above()[reward]))
                .collect(),
        };
        let rates = timed.map(|lasting| {
            let lasts =
                |state: usize| lasting.numbers.exact(lasting.reward_of(lasting.choices_of(state).start));
            (0..lasting.states()).map(|state| crate::numbers::nearest(&lasts(state).recip())).collect()
        });
        let mut values = Average { graph, earned, rates, sense }.solve(precision)?;
        if inside.is_some() {
            values.upper.iter_mut().for_each(|upper| *upper = upper.min(1.0));
        }
        Ok(values)
    }
}

/// What states earn on a visit.
fn visits(graph: &Graph) -> impl Iterator<Item = Rational> {
    // A reward of 0 everywhere has no numbers of its own.
    (0..graph.states()).map(|s| graph.numbers.exact(graph.reward_of(graph.choices_of(s).start)))
}
