//! The run that reaches a goal at the earliest time, as the cheapest one where every unit of time costs one.

use crate::error::CheckError;
use hadal_exec::zones::concrete::ConcreteTrace;
use hadal_exec::zones::priced::{Order, PricedError, PricedLimits, PricedSpace, ScheduleError, search};
use hadal_exec::zones::{Extrapolation, ZoneOptions};
use hadal_search::{Violation, ViolationKind};
use hadal_system::timed::TimedFormula;
use hadal_system::{Expr, TimedSystem};

/// The earliest time, and a run that takes it.
pub struct Fastest {
    /// The time; after a strict bound it is not taken itself.
    pub time: i64,
    /// The run, where one takes exactly this time.
    pub run: Option<ConcreteTrace>,
    /// What it runs in.
    pub space: PricedSpace,
}

/// Why the earliest time is not known.
#[derive(Debug, thiserror::Error)]
pub enum FastestError {
    /// The model has no priced zone graph.
    #[error(transparent)]
    Priced(#[from] PricedError),
    /// The question makes no sense, or the search ended before.
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// Looks for the earliest run to what was found: it exists, so the search ends.
pub fn fastest(
    mut timed: TimedSystem,
    options: ZoneOptions,
    found: &Violation,
    memory: u64,
) -> Result<Fastest, FastestError> {
    let question = |what: &str| FastestError::Check(CheckError::Question(what.into()));
    let (ViolationKind::Goal(id) | ViolationKind::Invariant(id)) = found.kind else {
        return Err(question("--fastest looks for goals and broken invariants, not errors of the model"));
    };
    let goal = id.0 as usize;
    timed.formulas.resize(timed.system.properties.len(), None);
    if timed.formulas[goal].is_none() {
        return Err(question("--fastest needs a goal or an invariant"));
    }
    if timed.formulas[goal].as_ref().is_some_and(TimedFormula::asks_deadlock) {
        return Err(question("--fastest does not look for deadlocks"));
    }
    // Time costs one a unit, and nothing else does.
    for timing in &mut timed.timing {
        timing.price = None;
    }
    for (n, process) in timed.processes.iter_mut().enumerate() {
        for stay in &mut process.stays {
            stay.rate = (n == 0).then(|| Expr::constant(1));
        }
    }
    let options = ZoneOptions { extrapolation: Extrapolation::LowerUpperPlus, ..options };
    let space = PricedSpace::new(timed, options, goal)?;
    let answer = search(&space, &Order::Best, None, PricedLimits { memory, seconds: None })?;
    let Some(best) = answer.best.filter(|_| answer.complete) else {
        return Err(question("the memory budget is used up before the earliest time is known"));
    };
    let run = match space.schedule(&best) {
        Ok(schedule) => Some(schedule.trace),
        Err(ScheduleError::NotAttained) => None,
        Err(error) => return Err(CheckError::Internal(error.to_string()).into()),
    };
    Ok(Fastest { time: best.cost, run, space })
}
