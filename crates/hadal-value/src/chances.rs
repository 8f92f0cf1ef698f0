//! A ground task whose rows are outcomes of chance, as a space with choices.

use hadal_exec::rows::RowSpace;
use hadal_system::rows::Rational;
use hadal_system::{
    ActionInfo, Check, ChoiceFault, Choices, Label, PropertyId, PropertyInfo, StateField, StateSpace,
    Successors, Worker,
};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The goal of a task is its only property.
const GOAL: PropertyId = PropertyId(0);

/// Rows grouped into ground actions, each with its outcomes.
pub struct RowChances {
    space: RowSpace,
    /// By row: the ground action and which outcome of it.
    outcome_of: Vec<(u32, u32)>,
    /// By ground action: how likely its outcomes are.
    weights: Vec<Vec<Rational>>,
    /// By reward, then by ground action: what it earns.
    rewards: Vec<Vec<Rational>>,
}

impl RowChances {
    /// Puts rows together; a state that satisfies the goal is the end of a run: `outcome_of` says of each row which ground action it belongs to and which outcome of it it is,
    /// `weights` how likely the outcomes of each ground action are, `rewards` what each earns. Outcomes without a row change
    /// nothing.
    pub fn new(
        space: RowSpace,
        outcome_of: Vec<(u32, u32)>,
        weights: Vec<Vec<Rational>>,
        rewards: Vec<Vec<Rational>>,
    ) -> Self {
        RowChances { space, outcome_of, weights, rewards }
    }

    /// The rows, each an outcome of its own: whoever may choose outcomes pays no more.
    pub fn rows(&self) -> &RowSpace {
        &self.space
    }

    /// What a step costs at least, of a reward.
    pub fn least_cost(&self, reward: usize) -> Rational {
        let costs = self.rewards.get(reward).into_iter().flatten();
        costs.min().copied().unwrap_or_else(|| Rational::from_integer(0))
    }
}

impl StateSpace for RowChances {
    fn words(&self) -> usize {
        self.space.words()
    }

    fn bits(&self) -> u32 {
        self.space.bits()
    }

    fn fields(&self) -> &[StateField] {
        self.space.fields()
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.space.fingerprint(), &self.outcome_of, &self.weights, &self.rewards).hash(&mut hasher);
        hasher.finish()
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        self.space.actions()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(ChanceWorker {
            chances: self,
            inner: self.space.worker(),
            found: Successors::new(self.words()),
            order: Vec::new(),
            numbers: HashMap::from([(Rational::from_integer(0), 0), (Rational::from_integer(1), 1)]),
        })
    }

    fn render_label(&self, label: Label) -> String {
        self.space.render_label(label)
    }

    fn render_start(&self, label: Label) -> String {
        self.space.render_start(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.space.render_state(state)
    }
}

struct ChanceWorker<'c> {
    chances: &'c RowChances,
    inner: Box<dyn Worker + 'c>,
    found: Successors,
    /// Ground action, outcome, and place among the successors.
    order: Vec<(u32, u32, u32)>,
    numbers: HashMap<Rational, u32>,
}

impl ChanceWorker<'_> {
    fn number(&mut self, value: Rational, numbers: &mut Vec<Rational>) -> u32 {
        *self.numbers.entry(value).or_insert_with(|| {
            numbers.push(value);
            numbers.len() as u32 - 1
        })
    }
}

impl Worker for ChanceWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.inner.initial(out);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if self.inner.satisfies(state, GOAL) != Some(true) {
            self.inner.successors(state, out);
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        self.inner.check(state)
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        self.inner.satisfies(state, property)
    }

    fn can_leave(&mut self, state: &[u64]) -> bool {
        self.inner.can_leave(state)
    }

    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        if self.inner.satisfies(state, GOAL) == Some(true) {
            // The run is over: it rests here and earns nothing more.
            out.branches.push(Label(u32::MAX), state);
            out.weights.push(1);
            out.ends.push(out.weights.len() as u32);
            out.rewards.push(0);
            return Ok(());
        }
        self.found.clear();
        self.inner.successors(state, &mut self.found);
        if let Some(&label) = self.found.faults().first() {
            return Err(ChoiceFault::Transition(label));
        }
        self.order.clear();
        for (n, label) in self.found.labels().iter().enumerate() {
            let (action, outcome) = self.chances.outcome_of[label.0 as usize];
            self.order.push((action, outcome, n as u32));
        }
        self.order.sort_unstable();
        // Rows of a disjunction say the same: one is enough.
        self.order.dedup_by_key(|entry| (entry.0, entry.1));
        let rewards = out.reward.and_then(|reward| self.chances.rewards.get(reward));
        let mut at = 0;
        while at < self.order.len() {
            let (action, _, first) = self.order[at];
            let label = self.found.labels()[first as usize];
            let mut missing = Rational::from_integer(1);
            while at < self.order.len() && self.order[at].0 == action {
                let (_, outcome, n) = self.order[at];
                let weight = self.chances.weights[action as usize][outcome as usize];
                missing -= weight;
                out.branches.push(label, self.found.state(n as usize));
                let number = self.number(weight, &mut out.numbers);
                out.weights.push(number);
                at += 1;
            }
            if missing != Rational::from_integer(0) {
                out.branches.push(label, state);
                let number = self.number(missing, &mut out.numbers);
                out.weights.push(number);
            }
            out.ends.push(out.weights.len() as u32);
            let earned = rewards.map(|list| self.number(list[action as usize], &mut out.numbers));
            out.rewards.push(earned.unwrap_or(0));
        }
        // Whoever is stuck never gets to the goal: it does not matter what that earns.
        out.resting = u32::from(rewards.is_some());
        Ok(())
    }
}
