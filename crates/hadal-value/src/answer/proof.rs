//! What stands behind an answer: its certificate, and what comes of its policy.

use super::{Following, Needs, Policy, Solver};
use crate::bounded::{Rule, Sweep, indicator};
use crate::certificate::{Certificate, Claim, Claims, INSIDE, Kind, Solved, Steps};
use crate::evidence::{Evidence, NOT_ONE, Needed, paths_of, sides};
use crate::policy::induced;
use crate::values::{Values, other_probability};
use crate::{Precision, SolveError, reach};
use hadal_system::chance::{Horizon, Limit, Measure, Path, Sense};

/// A certificate says something of at most so many states, each with its steps left.
const MOST_CLAIMS: u64 = 20_000_000;

impl Solver<'_> {
    /// Everything that shows the bounds of the initial states to be right.
    pub(super) fn certify(
        &mut self,
        measure: &Measure,
        sense: Sense,
        text: &str,
    ) -> Result<Certificate, SolveError> {
        if Needs::asks_inside(measure) {
            return Err(SolveError::NoCertificate(INSIDE));
        }
        if let Some(steps) = Steps::of(measure, sense) {
            return self.certify_steps(&steps, text);
        }
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
                return refused("bounds on rewards and on time have none: --exact computes in fractions");
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

    /// The same for a bound on steps: claims for every number of steps that may be left.
    fn certify_steps(&mut self, steps: &Steps, text: &str) -> Result<Certificate, SolveError> {
        let n = self.graph().states();
        let (through, target) = match steps.kind {
            Kind::Until { through, target, .. } => (self.formula(through)?, self.formula(target)?),
            Kind::Earned(_) | Kind::Instant(_) => (vec![true; n], vec![false; n]),
        };
        if let Kind::Instant(reward) = steps.kind {
            self.of_states(reward)?;
        }
        let graph = steps.reward().map_or_else(|| self.graph(), |reward| self.graph_with(reward));
        let settled =
            |state: u32, left: u64| steps.settled(left, through[state as usize], target[state as usize]);
        // Which states matter with so many steps left.
        let mut layers = vec![graph.initial.clone()];
        let (mut claims, mut seen) = (0, vec![u64::MAX; n]);
        for left in (1..=steps.total).rev() {
            let mut next = Vec::new();
            let open = layers[layers.len() - 1].iter().filter(|&&s| settled(s, left).is_none());
            for &state in open {
                claims += 1;
                for &to in graph.choices_of(state as usize).flat_map(|choice| graph.targets_of(choice)) {
                    if std::mem::replace(&mut seen[to as usize], left) != left {
                        next.push(to);
                    }
                }
            }
            if claims > MOST_CLAIMS {
                return Err(SolveError::NoCertificate(
                    "there are too many states and steps to claim something of each",
                ));
            }
            layers.push(next);
        }
        let numbers = &graph.numbers;
        let mut values = match steps.kind {
            Kind::Until { .. } => indicator(&target, false),
            Kind::Earned(_) => indicator(&vec![false; n], false),
            Kind::Instant(_) => {
                let at = |s: usize| graph.reward_of(graph.choices_of(s).start) as usize;
                let lower = (0..n).map(|s| numbers.below()[at(s)]).collect();
                let upper = (0..n).map(|s| numbers.above()[at(s)]).collect();
                Values { lower, upper, ..indicator(&[], false) }
            }
        };
        let sweep = Sweep { graph, sense: steps.sense, rewards: matches!(steps.kind, Kind::Earned(_)) };
        let mut claims = Claims::new(self.built.states.words(), None)?;
        for left in 1..=steps.total {
            values = sweep.run(values, 1, |state| match settled(state as u32, left) {
                Some(true) => Rule::One,
                Some(false) => Rule::Zero,
                None => Rule::Best,
            });
            let layer = &layers[(steps.total - left) as usize];
            for &state in layer.iter().filter(|&&s| settled(s, left).is_none()) {
                let at = state as usize;
                let (lower, upper) = (values.lower[at], values.upper[at]);
                let state = self.built.states.state(at).to_vec();
                claims.push(&Claim { state, lower, upper, rank: left as u32, escape: None })?;
            }
        }
        let least = (steps.sense == Sense::Least) != steps.negated;
        let starts = graph.initial.iter().map(|&s| (values.lower[s as usize], values.upper[s as usize]));
        let starts = starts.map(|bounds| if steps.negated { other_probability(bounds) } else { bounds });
        let value = starts.reduce(|a, b| match least {
            true => (a.0.min(b.0), a.1.min(b.1)),
            false => (a.0.max(b.0), a.1.max(b.1)),
        });
        let value = value.unwrap_or((0.0, f64::INFINITY));
        Ok(Certificate { formula: text.to_owned(), value, claims: claims.finish()? })
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
        let mut steps = Following::new(self.built.states.words(), None)?;
        for &s in &states {
            let (state, choice) = (self.built.states.state(s as usize), policy[s as usize]);
            let number = choice - self.graph().first_choice[s as usize];
            steps.push(state, self.built.labels[choice as usize], number)?;
        }
        Ok(Policy::new(steps.finish()?, (at(&values.lower), most)))
    }

    /// Paths of the chain under the best policy that show what is needed.
    pub(super) fn evidence(
        &mut self,
        measure: &Measure,
        sense: Sense,
        needed: Option<Needed>,
    ) -> Result<Evidence, SolveError> {
        let (path, sense, needed) = sides(measure, sense, needed)?;
        let Path::Until(through, target, _) = &path else { return Err(SolveError::NoPaths(NOT_ONE)) };
        if self.graph().initial.len() != 1 {
            return Err(SolveError::NoPaths("paths begin in the initial state: this model has several"));
        }
        let (through, target) = (self.formula(through)?, self.formula(target)?);
        let precision = Precision { policy: true, exact: false, ..self.options.precision };
        let values = reach::until(self.graph(), &through, &target, sense, precision)?;
        let policy = values.policy.ok_or(SolveError::NoPolicy)?;
        let (chain, states) = induced(self.graph(), &policy);
        let of = |list: &[bool]| -> Vec<bool> { states.iter().map(|&s| list[s as usize]).collect() };
        let (paths, probability) = paths_of(&chain, (of(&through), of(&target)), &needed)?;
        let told = |(path, probability): (Vec<u32>, _)| {
            let of = |&s: &u32| states[s as usize] as usize;
            crate::evidence::Path {
                states: path.iter().map(|s| self.built.states.state(of(s)).to_vec()).collect(),
                labels: path[..path.len() - 1]
                    .iter()
                    .map(|s| self.built.labels[policy[of(s)] as usize])
                    .collect(),
                probability,
            }
        };
        Ok(Evidence { paths: paths.into_iter().map(told).collect(), probability, fails: needed.fails })
    }
}
