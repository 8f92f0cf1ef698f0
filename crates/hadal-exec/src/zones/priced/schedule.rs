//! The certificate of a cheapest run: the least cost of its firing times as a linear program, and a replay that pays it.

use super::super::concrete::{ConcreteError, ConcreteTrace, TimedEnding};
use super::super::dbm::{Zone, weak};
use super::flow::minimise;
use super::search::Found;
use super::space::{PricedError, PricedSpace, PricedWorker};

/// A run with times that pays the least cost of its steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What the linear program over its firing times gives.
    pub program_cost: i64,
    /// What the replay with these times pays.
    pub replay_cost: i64,
    /// The run.
    pub trace: ConcreteTrace,
    /// What has been paid when each step is done.
    pub paid: Vec<i64>,
}

/// Why a run has no certificate.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// Its steps cannot be timed.
    #[error(transparent)]
    Run(#[from] ConcreteError),
    /// Its prices cannot be computed.
    #[error(transparent)]
    Price(#[from] PricedError),
    /// The least cost is not taken: some bound is strict.
    #[error("the least cost is an infimum that no run pays: a strict bound forbids it")]
    NotAttained,
}

impl PricedSpace {
    /// Times for the steps of a run that pay its least cost.
    pub fn schedule(&self, found: &Found) -> Result<Schedule, ScheduleError> {
        let discrete: Vec<&[u64]> = found.states.iter().map(Vec::as_slice).collect();
        let ending = TimedEnding::Property(self.goal);
        let differences = self.zones.differences(&discrete, &found.labels, ending)?;
        let end = discrete.len();
        let mut times = Zone::all(end);
        for it in &differences {
            let bound = weak(i32::try_from(it.constant).map_err(|_| ConcreteError::NoDelays)?);
            if it.left == it.right {
                if it.constant < 0 {
                    return Err(ConcreteError::NoDelays.into());
                }
            } else if bound < times.entry(it.left, it.right) {
                *times.entry_mut(it.left, it.right) = bound;
            }
        }
        if !times.close() {
            return Err(ConcreteError::NoDelays.into());
        }
        let worker = PricedWorker::new(self);
        let mut rates = Vec::with_capacity(end);
        let mut prices = vec![0];
        let mut locals = Vec::new();
        for (n, state) in discrete.iter().enumerate() {
            rates.push(self.rate(&worker.context(state))?);
            if n > 0 {
                let label = found.labels[n];
                self.zones.locals(label, &mut locals);
                let mut context = worker.context(discrete[n - 1]);
                context.locals = &locals;
                prices.push(self.price(self.zones.action(label), &context)?);
            }
        }
        let mut slopes = vec![0; end + 1];
        for (n, rate) in rates.iter().enumerate() {
            slopes[n] -= rate;
            slopes[n + 1] += rate;
        }
        slopes[0] = 0;
        let (least, tight) = minimise(&times, &slopes).ok_or(ConcreteError::NoDelays)?;
        let program_cost = least + prices.iter().sum::<i64>();
        for (i, j) in tight {
            let bound = times.entry(i, j);
            if !times.constrain(j, i, 1 - (bound - 1)) {
                return Err(ConcreteError::NoDelays.into());
            }
        }
        let at: Vec<i64> = (0..=end).map(|n| i64::from(-(times.entry(0, n) >> 1))).collect();
        let trace = self.zones.replay_at(&discrete, &found.labels, &at).map_err(|error| match error {
            ConcreteError::NotReplayed(_) => ScheduleError::NotAttained,
            other => other.into(),
        })?;
        let mut paid = Vec::with_capacity(end);
        let mut sum = 0;
        for n in 0..end {
            if n > 0 {
                sum += rates[n - 1] * (at[n] - at[n - 1]) + prices[n];
            }
            paid.push(sum);
        }
        let replay_cost = sum + rates[end - 1] * (at[end] - at[end - 1]);
        Ok(Schedule { program_cost, replay_cost, trace, paid })
    }
}
