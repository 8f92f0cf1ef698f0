//! A state space with choices as a task: getting to a target at the least cost.

use super::{Actions, Task};
use crate::follow::holds;
use crate::numbers::nearest;
use crate::table::StateNumbers;
use hadal_system::chance::Formula;
use hadal_system::{Choices, StateSpace, Successors, Worker};
use std::sync::{Mutex, PoisonError};

/// States are numbered as they are met.
pub struct ModelTask<'s> {
    target: &'s Formula,
    bases: Vec<u32>,
    inner: Mutex<Inner<'s>>,
}

struct Inner<'s> {
    worker: Box<dyn Worker + 's>,
    choices: Choices,
    states: StateNumbers,
    trouble: Option<&'static str>,
}

impl<'s> ModelTask<'s> {
    /// Getting from the initial state of `space` to a state of `target`, where choices cost what they earn of `reward`. The
    /// error says why it is no such task.
    pub fn new(
        space: &'s dyn StateSpace,
        bases: Vec<u32>,
        target: &'s Formula,
        reward: usize,
    ) -> Result<Self, &'static str> {
        let mut worker = space.worker();
        let mut starts = Successors::new(space.words());
        worker.initial(&mut starts);
        let mut states = StateNumbers::new(space.words());
        for (_, state) in starts.iter() {
            states.number(state);
        }
        if states.len() != 1 {
            return Err("trials begin in the initial state: this model has several");
        }
        let choices = Choices::new(space.words(), Some(reward));
        let inner = Mutex::new(Inner { worker, choices, states, trouble: None });
        Ok(ModelTask { target, bases, inner })
    }

    /// Why what was found is no answer, where it is none.
    pub fn trouble(&self) -> Option<&'static str> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).trouble
    }
}

impl Task for ModelTask<'_> {
    fn initial(&self) -> u64 {
        0
    }

    fn terminal(&self, state: u64) -> Option<f64> {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let state = inner.states.state(state as usize);
        match holds(self.target, &self.bases, &mut *inner.worker, state) {
            Some(true) => Some(0.0),
            Some(false) => None,
            None => {
                inner.trouble = Some("the target has to be a condition on variables");
                Some(0.0)
            }
        }
    }

    fn actions(&self, state: u64, out: &mut Actions) {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let here = inner.states.state(state as usize).to_vec();
        inner.choices.clear();
        if inner.worker.choices(&here, &mut inner.choices).is_err() {
            inner.trouble = Some(
                "the model has an error in a state that was met; solve it without --method to see where",
            );
            return;
        }
        let choices = &inner.choices;
        let near = |number: u32| nearest(&choices.numbers[number as usize]);
        let mut outcomes = Vec::new();
        for n in 0..choices.len() {
            outcomes.clear();
            for branch in choices.range(n) {
                let Some(to) = inner.states.number(choices.branches.state(branch)) else {
                    inner.trouble = Some("there are more states than can be numbered");
                    return;
                };
                outcomes.push((u64::from(to), near(choices.weights[branch])));
            }
            let cost = near(choices.rewards[n]);
            if cost <= 0.0 {
                inner.trouble = Some(
                    "a step costs nothing, and trials would repeat it forever: every step must cost something",
                );
            }
            out.push(cost, &outcomes);
        }
    }
}
