//! A task as a state space with choices: what explores on disk explores it, too.

use super::{Actions, Kind, Task};
use hadal_system::rows::Rational;
use hadal_system::{
    ChoiceFault, Choices, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};
use std::collections::HashMap;

/// The states of a decision task. Its one property is met by terminal states.
pub struct TaskSpace<'t> {
    task: &'t dyn Task,
    properties: Vec<PropertyInfo>,
}

impl<'t> TaskSpace<'t> {
    /// Of a task whose outcomes are averaged and whose terminal states cost nothing; `None` for others.
    pub fn new(task: &'t dyn Task) -> Option<Self> {
        let goal =
            PropertyInfo { name: "terminal".into(), kind: PropertyKind::Proposition, span: Span::default() };
        (task.kind() == Kind::Expected).then(|| TaskSpace { task, properties: vec![goal] })
    }
}

/// The fraction with the least denominator up to a million that is this number up to rounding.
fn fraction(value: f64) -> Rational {
    for below in 1..1000i128 {
        let above = (value * below as f64).round();
        if (above / below as f64 - value).abs() <= 1e-14 * value.abs() {
            return Rational::new(above as i128, below);
        }
    }
    Rational::new((value * 1e12).round() as i128, 1_000_000_000_000)
}

impl StateSpace for TaskSpace<'_> {
    fn words(&self) -> usize {
        1
    }

    fn fingerprint(&self) -> u64 {
        0x7461_736B
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let numbers = HashMap::from([(0f64.to_bits(), 0), (1f64.to_bits(), 1)]);
        Box::new(TaskWorker { task: self.task, actions: Actions::default(), numbers })
    }

    fn render_label(&self, label: Label) -> String {
        format!("action {}", label.0)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("state".into(), format!("{:#x}", state[0]))]
    }
}

struct TaskWorker<'t> {
    task: &'t dyn Task,
    actions: Actions,
    numbers: HashMap<u64, u32>,
}

impl TaskWorker<'_> {
    fn number(&mut self, value: f64, numbers: &mut Vec<Rational>) -> u32 {
        *self.numbers.entry(value.to_bits()).or_insert_with(|| {
            numbers.push(fraction(value));
            numbers.len() as u32 - 1
        })
    }
}

impl Worker for TaskWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[self.task.initial()]);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if self.task.terminal(state[0]).is_some() {
            return;
        }
        self.actions.clear();
        self.task.actions(state[0], &mut self.actions);
        for n in 0..self.actions.len() {
            for &(to, _) in self.actions.outcomes(n) {
                out.push(Label(n as u32), &[to]);
            }
        }
    }

    fn satisfies(&mut self, state: &[u64], _: PropertyId) -> Option<bool> {
        Some(self.task.terminal(state[0]).is_some())
    }

    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        let from = out.branches.len();
        self.successors(state, &mut out.branches);
        if from == out.branches.len() {
            return Ok(());
        }
        for n in 0..self.actions.len() {
            for at in 0..self.actions.outcomes(n).len() {
                let probability = self.actions.outcomes(n)[at].1;
                let number = self.number(probability, &mut out.numbers);
                out.weights.push(number);
            }
            out.ends.push(out.weights.len() as u32);
            let cost = self.actions.cost(n);
            let reward = if out.reward.is_some() { self.number(cost, &mut out.numbers) } else { 0 };
            out.rewards.push(reward);
        }
        Ok(())
    }
}
