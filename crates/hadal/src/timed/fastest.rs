//! `--fastest`: the run that reaches a goal at the earliest time, as the cheapest one where every unit of time costs one.

use super::plan::priced_failure;
use super::view;
use crate::failure::Failure;
use crate::trace::TraceView;
use hadal_exec::zones::priced::{Order, PricedLimits, PricedSpace, ScheduleError, search};
use hadal_exec::zones::{Extrapolation, ZoneOptions};
use hadal_search::{Violation, ViolationKind};
use hadal_system::timed::TimedFormula;
use hadal_system::{Expr, TimedSystem};

/// The earliest time, and a run that takes it.
pub struct Fastest {
    /// For people; after a strict bound it is not taken itself.
    pub time: String,
    /// The run, where one takes exactly this time.
    pub trace: Option<TraceView>,
}

/// Looks for the earliest run to what was found: it exists, so the search ends.
pub fn fastest(
    mut timed: TimedSystem,
    options: ZoneOptions,
    found: &Violation,
    memory: u64,
) -> Result<Fastest, Failure> {
    let (ViolationKind::Goal(id) | ViolationKind::Invariant(id)) = found.kind else {
        return Err(Failure::Usage(
            "--fastest looks for goals and broken invariants, not errors of the model".into(),
        ));
    };
    let goal = id.0 as usize;
    timed.formulas.resize(timed.system.properties.len(), None);
    if timed.formulas[goal].is_none() {
        return Err(Failure::Usage("--fastest needs a goal or an invariant".into()));
    }
    if timed.formulas[goal].as_ref().is_some_and(TimedFormula::asks_deadlock) {
        return Err(Failure::Usage("--fastest does not look for deadlocks".into()));
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
    let source = timed.system.source.clone();
    let options = ZoneOptions { extrapolation: Extrapolation::LowerUpperPlus, ..options };
    let failed = |error| priced_failure(&source, error);
    let space = PricedSpace::new(timed, options, goal).map_err(failed)?;
    let limits = PricedLimits { memory, seconds: None };
    let answer = search(&space, &Order::Best, None, limits).map_err(failed)?;
    let Some(best) = answer.best.filter(|_| answer.complete) else {
        return Err(Failure::Usage("the memory budget is used up before the earliest time is known".into()));
    };
    match space.schedule(&best) {
        Ok(schedule) => {
            let trace = view::shown(space.zones(), found, &schedule.trace);
            Ok(Fastest { time: best.cost.to_string(), trace: Some(TraceView { shortest: false, ..trace }) })
        }
        Err(ScheduleError::NotAttained) => {
            Ok(Fastest { time: format!("{} (not taken itself)", best.cost), trace: None })
        }
        Err(error) => Err(Failure::Internal(error.to_string())),
    }
}
