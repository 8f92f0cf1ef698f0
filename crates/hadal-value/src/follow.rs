//! Follows a policy: what happens is drawn, run after run.

use hadal_system::chance::Formula;
use hadal_system::random::SplitMix;
use hadal_system::{Choices, Label, PropertyId, StateSpace, Successors, Worker};
use std::collections::HashMap;

/// Why a policy cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Astray {
    /// A line of the file is not a state, an action and a number.
    #[error("line {0} of the policy is not a state, an action and the number of a choice")]
    Line(usize),
    /// The policy says nothing of a state it leads to.
    #[error("the policy says nothing of the state {0}")]
    Unknown(String),
    /// The policy names a choice that a state does not have.
    #[error("the policy takes choice {0} in the state {1}, which does not have it")]
    NoChoice(u32, String),
    /// The model has an error.
    #[error("the model has an error in the state {0}")]
    Model(String),
}

/// One run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it ended where it was to end.
    pub arrived: bool,
    /// How many steps it took.
    pub steps: u64,
    /// What it earned.
    pub earned: f64,
}

/// One step, for whoever watches.
#[derive(Debug)]
pub struct Step<'a> {
    /// What was done; `None` where nothing can be.
    pub label: Option<Label>,
    /// How likely what happened was.
    pub weight: f64,
    /// Where it led.
    pub state: &'a [u64],
}

/// A state as policies write it.
pub fn state_text(space: &dyn StateSpace, state: &[u64]) -> String {
    let fields = space.render_state(state);
    fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Whether a formula without probabilities holds in a state; `None` where it cannot be said.
pub fn holds(formula: &Formula, bases: &[u32], worker: &mut dyn Worker, state: &[u64]) -> Option<bool> {
    Some(match formula {
        Formula::Constant(value) => *value,
        Formula::Proposition(p) => worker.satisfies(state, PropertyId(bases[*p]))?,
        Formula::Not(f) => !holds(f, bases, worker, state)?,
        Formula::And(l, r) => holds(l, bases, worker, state)? && holds(r, bases, worker, state)?,
        Formula::Or(l, r) => holds(l, bases, worker, state)? || holds(r, bases, worker, state)?,
        Formula::Initial => {
            let mut starts = Successors::new(state.len());
            worker.initial(&mut starts);
            starts.iter().any(|(_, start)| start == state)
        }
        Formula::Deadlock => {
            let mut next = Successors::new(state.len());
            worker.successors(state, &mut next);
            next.is_empty()
        }
        Formula::Compares { .. } => return None,
    })
}

/// A policy and a source of chance.
pub struct Follower<'s> {
    space: &'s dyn StateSpace,
    worker: Box<dyn Worker + 's>,
    choice_of: HashMap<String, u32>,
    choices: Choices,
    random: SplitMix,
}

impl<'s> Follower<'s> {
    /// Reads a policy as `hadal solve --policy` writes it. The same seed draws the same runs.
    pub fn new(
        space: &'s dyn StateSpace,
        policy: &str,
        reward: Option<usize>,
        seed: u64,
    ) -> Result<Self, Astray> {
        let mut choice_of = HashMap::new();
        for (n, line) in policy.lines().enumerate() {
            let mut parts = line.split('\t');
            let (state, _, number) = (parts.next(), parts.next(), parts.next());
            let number = number.and_then(|text| text.parse().ok()).ok_or(Astray::Line(n + 1))?;
            choice_of.insert(state.unwrap_or_default().to_owned(), number);
        }
        let choices = Choices::new(space.words(), reward);
        Ok(Follower { space, worker: space.worker(), choice_of, choices, random: SplitMix::new(seed) })
    }

    /// A number from 0 to 1, without 1.
    fn draw(&mut self) -> f64 {
        self.random.bits() as f64 / 2f64.powi(64)
    }

    /// One run of at most `steps`; `ends` says of a state whether it arrived there (`Some(true)`), failed (`Some(false)`) or goes
    /// on.
    pub fn run(
        &mut self,
        steps: u64,
        ends: impl Fn(&mut dyn Worker, &[u64]) -> Option<bool>,
        mut tell: impl FnMut(Step),
    ) -> Result<Outcome, Astray> {
        let mut starts = Successors::new(self.space.words());
        self.worker.initial(&mut starts);
        let first = (self.draw() * starts.len() as f64) as usize;
        let mut state = starts.state(first.min(starts.len().saturating_sub(1))).to_vec();
        tell(Step { label: None, weight: 1.0, state: &state });
        let mut outcome = Outcome::default();
        while outcome.steps < steps {
            if let Some(arrived) = ends(&mut *self.worker, &state) {
                outcome.arrived = arrived;
                break;
            }
            let text = state_text(self.space, &state);
            let model = |_| Astray::Model(text.clone());
            self.choices.clear();
            self.worker.choices(&state, &mut self.choices).map_err(model)?;
            let near =
                |number: u32, choices: &Choices| crate::numbers::nearest(&choices.numbers[number as usize]);
            if self.choices.is_empty() {
                outcome.earned += near(self.choices.resting, &self.choices);
                outcome.steps += 1;
                tell(Step { label: None, weight: 1.0, state: &state });
                continue;
            }
            let number = match self.choice_of.get(&text) {
                Some(number) => *number,
                // Without a choice there is nothing to say.
                None if self.choices.len() == 1 => 0,
                None => return Err(Astray::Unknown(text)),
            };
            if number as usize >= self.choices.len() {
                return Err(Astray::NoChoice(number, text));
            }
            let mut left = self.draw();
            let range = self.choices.range(number as usize);
            let mut taken = range.end - 1;
            for branch in range {
                let weight = near(self.choices.weights[branch], &self.choices);
                if left < weight {
                    taken = branch;
                    break;
                }
                left -= weight;
            }
            outcome.earned += near(self.choices.rewards[number as usize], &self.choices);
            outcome.steps += 1;
            state.copy_from_slice(self.choices.branches.state(taken));
            let label = self.choices.branches.labels()[taken];
            let weight = near(self.choices.weights[taken], &self.choices);
            tell(Step { label: Some(label), weight, state: &state });
        }
        if let Some(arrived) = ends(&mut *self.worker, &state) {
            outcome.arrived = arrived;
        }
        Ok(outcome)
    }
}
