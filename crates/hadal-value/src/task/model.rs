//! A state space with choices as a task: getting to a target at the least cost, or with the least chance of failing.

use super::{Actions, Kind, Task};
use crate::follow::holds;
use crate::numbers::nearest;
use crate::table::StateNumbers;
use hadal_system::chance::Formula;
use hadal_system::{Choices, StateSpace, Successors, Worker};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Something that says of a state what it costs at least to arrive from there.
pub type Estimates<'s> = Box<dyn FnMut(&[u64]) -> f64 + Send + 's>;

/// What a task is about.
pub struct Aim<'s> {
    /// Where it ends well.
    pub target: &'s Formula,
    /// Where it may pass: leaving this is failing.
    pub through: &'s Formula,
    /// What choices cost; `None`: nothing, and only failing counts, as 1.
    pub reward: Option<usize>,
    /// What the values of several outcomes become.
    pub kind: Kind,
    /// Estimates that are never too high.
    pub estimates: Option<Estimates<'s>>,
}

/// States are numbered as they are met.
pub struct ModelTask<'s> {
    target: &'s Formula,
    through: &'s Formula,
    reward: Option<usize>,
    kind: Kind,
    bases: Vec<u32>,
    failed: AtomicBool,
    inner: Mutex<Inner<'s>>,
}

struct Inner<'s> {
    worker: Box<dyn Worker + 's>,
    choices: Choices,
    states: StateNumbers,
    estimates: Option<Estimates<'s>>,
    trouble: Option<&'static str>,
}

impl<'s> ModelTask<'s> {
    /// Getting from the initial state of `space` to a target. The error says why it is no such task.
    pub fn new(space: &'s dyn StateSpace, bases: Vec<u32>, aim: Aim<'s>) -> Result<Self, &'static str> {
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
        let choices = Choices::new(space.words(), aim.reward);
        let Aim { target, through, reward, kind, estimates } = aim;
        let inner = Mutex::new(Inner { worker, choices, states, estimates, trouble: None });
        Ok(ModelTask { target, through, reward, kind, bases, failed: AtomicBool::new(false), inner })
    }

    /// Why what was found is no answer, where it is none.
    pub fn trouble(&self) -> Option<&'static str> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).trouble
    }

    fn fail(&self, inner: &mut Inner, trouble: &'static str) {
        inner.trouble = inner.trouble.or(Some(trouble));
        self.failed.store(true, Ordering::Relaxed);
    }
}

impl Task for ModelTask<'_> {
    fn initial(&self) -> u64 {
        0
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn estimate(&self, state: u64) -> f64 {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let here = inner.states.state(state as usize);
        inner.estimates.as_mut().map_or(0.0, |estimates| estimates(here))
    }

    fn terminal(&self, state: u64) -> Option<f64> {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let here = inner.states.state(state as usize);
        let mut asks = |formula| holds(formula, &self.bases, &mut *inner.worker, here);
        let (target, through) = (asks(self.target), asks(self.through));
        match (target, through) {
            (Some(true), _) => Some(0.0),
            (Some(false), Some(false)) => Some(if self.reward.is_some() { f64::INFINITY } else { 1.0 }),
            (Some(false), Some(true)) => None,
            _ => {
                self.fail(inner, "the target has to be a condition on variables");
                Some(0.0)
            }
        }
    }

    fn actions(&self, state: u64, out: &mut Actions) {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let here = inner.states.state(state as usize).to_vec();
        inner.choices.clear();
        if inner.worker.choices(&here, &mut inner.choices).is_err() {
            let trouble =
                "the model has an error in a state that was met; solve it without --method to see where";
            return self.fail(inner, trouble);
        }
        let mut outcomes = Vec::new();
        for n in 0..inner.choices.len() {
            outcomes.clear();
            for branch in inner.choices.range(n) {
                let Some(to) = inner.states.number(inner.choices.branches.state(branch)) else {
                    return self.fail(inner, "there are more states than can be numbered");
                };
                let weight = &inner.choices.numbers[inner.choices.weights[branch] as usize];
                outcomes.push((u64::from(to), nearest(weight)));
            }
            let cost = match self.reward {
                Some(_) => nearest(&inner.choices.numbers[inner.choices.rewards[n] as usize]),
                None => 0.0,
            };
            if cost < 0.0 {
                return self.fail(inner, "a step earns something: costs are at least 0");
            }
            out.push(cost, &outcomes);
        }
    }
}
