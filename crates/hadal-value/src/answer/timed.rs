//! Questions of continuous time and of the long run.

use super::Solver;
use crate::average::Average;
use crate::bounded::{Rule, indicator};
use crate::graph::Graph;
use crate::timed::{Uniform, rates};
use crate::values::Values;
use crate::{Precision, SolveError, reach};
use hadal_system::chance::{Averaged, Horizon, Sense};
use hadal_system::rows::Rational;

impl Solver<'_> {
    /// The graph whose rewards are how long states last.
    fn lasting(&self, precision: Precision) -> Result<&Graph, SolveError> {
        if precision.exact {
            return Err(SolveError::Time(
                "values of continuous time are bounds, not fractions: leave --exact out",
            ));
        }
        let sojourn = self.system.quantities.sojourn;
        let sojourn = sojourn.ok_or(SolveError::Time("this model has no continuous time"))?;
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
        let mut values = match high {
            None => reach::until(graph, through, target, Sense::Greatest, precision)?,
            Some(high) if high < low => indicator(&vec![false; target.len()], false),
            Some(high) => Uniform::new(graph, high - low)?.at_the_end(indicator(target, false), |s| {
                match (target[s], through[s]) {
                    (true, _) => Rule::One,
                    (_, true) => Rule::Best,
                    _ => Rule::Zero,
                }
            }),
        };
        if low == Rational::from_integer(0) {
            return Ok(values);
        }
        // Until then nothing but `through` is met.
        for (state, _) in through.iter().enumerate().filter(|(_, through)| !**through) {
            (values.lower[state], values.upper[state]) = (0.0, 0.0);
        }
        let rule = |s: usize| if through[s] { Rule::Best } else { Rule::Zero };
        Ok(Uniform::new(graph, low)?.at_the_end(values, rule))
    }

    /// What is earned up to a moment, or by the state at that moment.
    pub(super) fn earned_in_time(
        &self,
        reward: usize,
        horizon: &Horizon,
        precision: Precision,
    ) -> Result<Values, SolveError> {
        let graph = self.lasting(precision)?;
        let rates = rates(self.graph_with(reward), graph)?;
        match horizon {
            Horizon::Moment(time) => {
                self.of_states(reward)?;
                Ok(Uniform::new(graph, *time)?.at_the_end(rates, |_| Rule::Best))
            }
            Horizon::Time(time) => Ok(Uniform::new(graph, *time)?.earned(rates)),
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
            return Err(SolveError::Time(
                "averages in the long run are bounds, not fractions: leave --exact out",
            ));
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
                let rates = rates(graph, lasting)?;
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
