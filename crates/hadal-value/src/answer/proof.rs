//! What stands behind an answer: its certificate, and what comes of its policy.

use super::{Policy, Solver};
use crate::certificate::{Certificate, Solved};
use crate::policy::induced;
use crate::{Precision, SolveError, reach};
use hadal_system::chance::{Horizon, Limit, Measure, Path, Sense};

impl Solver<'_> {
    /// Everything that shows the bounds of the initial states to be right.
    pub(super) fn certify(
        &mut self,
        measure: &Measure,
        sense: Sense,
        text: &str,
    ) -> Result<Certificate, SolveError> {
        // What was answered may have been sharpened: bounds of that width at least.
        let precision = Precision { exact: false, policy: false, ..self.options.precision };
        let precision = Precision { relative: precision.relative / 8.0, ..precision };
        let (inner, sense, negated) = match measure {
            Measure::Probability(Path::Not(path)) => {
                (Measure::Probability((**path).clone()), sense.opposite(), true)
            }
            other => (other.clone(), sense, false),
        };
        let n = self.graph().states();
        let refused = |reason| Err(SolveError::NoCertificate(reason));
        let (through, target, reward) = match &inner {
            Measure::Probability(Path::Until(through, target, Limit::None)) => {
                (self.formula(through)?, self.formula(target)?, None)
            }
            Measure::Earned(reward, Horizon::Reach(target)) => {
                (vec![true; n], self.formula(target)?, Some(*reward))
            }
            Measure::Probability(Path::Ltl { .. } | Path::Not(_)) => {
                return refused(
                    "a formula with several temporal operators is solved on a product, which is not written down",
                );
            }
            Measure::Earned(_, Horizon::Total) | Measure::Average(_) => {
                return refused("what is earned without a target has no rank to show progress with");
            }
            Measure::Probability(_) | Measure::Earned(..) => {
                return refused(
                    "with a bound the value is what so many sweeps give, and nothing is shorter than computing it again: \
                     --exact does that in fractions",
                );
            }
        };
        let values = self.measure(&inner, sense, precision)?;
        let escape = match reward.is_some() && values.lower.contains(&f64::INFINITY) {
            true => reach::until(self.graph(), &through, &target, sense.opposite(), precision)?.upper,
            false => Vec::new(),
        };
        let graph = reward.map_or_else(|| self.graph(), |reward| self.graph_with(reward));
        let solved = Solved {
            graph,
            through: &through,
            target: &target,
            values: &values,
            sense,
            rewards: reward.is_some(),
            escape: &escape,
        };
        let least = (sense == Sense::Least) != negated;
        let starts = graph.initial.iter().map(|&s| (values.lower[s as usize], values.upper[s as usize]));
        let starts = starts.map(|(l, u)| match negated {
            true => ((1.0 - u).next_down(), (1.0 - l).next_up()),
            false => (l, u),
        });
        let value = starts.reduce(|a, b| match least {
            true => (a.0.min(b.0), a.1.min(b.1)),
            false => (a.0.max(b.0), a.1.max(b.1)),
        });
        solved.certify(self.built, text, value.unwrap_or((0.0, f64::INFINITY)))
    }

    /// What comes of a policy from the initial states.
    pub(super) fn follow(
        &mut self,
        measure: &Measure,
        sense: Sense,
        policy: &[u32],
    ) -> Result<Policy, SolveError> {
        // The question of a complement is solved for the opposite.
        let (inner, sense, negated) = match measure {
            Measure::Probability(Path::Not(path)) => {
                (Measure::Probability((**path).clone()), sense.opposite(), true)
            }
            other => (other.clone(), sense, false),
        };
        let precision = Precision { exact: false, policy: false, ..self.options.precision };
        let graph = match &inner {
            Measure::Earned(reward, _) => self.graph_with(*reward),
            Measure::Probability(_) | Measure::Average(_) => self.graph(),
        };
        let (chain, states) = induced(graph, policy);
        let values = match &inner {
            Measure::Earned(_, Horizon::Reach(formula)) => {
                let target = self.formula(formula)?;
                let target: Vec<bool> = states.iter().map(|&s| target[s as usize]).collect();
                reach::earned_before(&chain, &target, sense, precision)?
            }
            Measure::Probability(Path::Until(left, right, _)) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let of = |list: &[bool]| -> Vec<bool> { states.iter().map(|&s| list[s as usize]).collect() };
                reach::until(&chain, &of(&through), &of(&target), sense, precision)?
            }
            _ => return Err(SolveError::NoPolicy),
        };
        let values = if negated { values.complement() } else { values };
        let at = |list: &[f64]| chain.initial.iter().map(|&s| list[s as usize]).fold(f64::INFINITY, f64::min);
        let most = chain.initial.iter().map(|&s| values.upper[s as usize]).fold(0.0, f64::max);
        let step = |&s: &u32| {
            let (state, choice) = (self.built.states.state(s as usize).to_vec(), policy[s as usize]);
            (state, self.built.labels[choice as usize], choice - self.graph().first_choice[s as usize])
        };
        let steps = states.iter().map(step).collect();
        Ok(Policy { steps, value: (at(&values.lower), most) })
    }
}
