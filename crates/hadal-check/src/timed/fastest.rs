//! The run that reaches a goal at the earliest time, as the cheapest one where every unit of time costs one.

use super::priced::{Cheapest, DiskError, Sought, cheapest};
use crate::error::CheckError;
use crate::options::Options;
use hadal_exec::zones::concrete::ConcreteTrace;
use hadal_exec::zones::priced::{Order, PricedSpace, ScheduleError};
use hadal_exec::zones::{Extrapolation, ZoneOptions};
use hadal_search::{Control, StopReason, Violation, ViolationKind};
use hadal_system::timed::TimedFormula;
use hadal_system::{Expr, TimedSystem};
use std::path::PathBuf;
use std::sync::Arc;

/// What the search for the earliest run came to.
pub struct Fastest {
    /// The time; none where a limit was met before it was known.
    pub time: Result<Earliest, StopReason>,
    /// What it runs in.
    pub space: PricedSpace,
    /// The folder of the search, where there is one.
    pub folder: Option<PathBuf>,
}

/// The earliest time, and a run that takes it.
pub struct Earliest {
    /// The time; after a strict bound it is not taken itself.
    pub time: i64,
    /// The run, where one takes exactly this time.
    pub run: Option<ConcreteTrace>,
}

/// Looks for the earliest run to what was found: it exists, so the search ends. In RAM where it fits, else on disk, where a run
/// that is resumed goes on. `begun` is given the reins of the search on disk.
pub fn fastest(
    mut timed: TimedSystem,
    zones: ZoneOptions,
    found: &Violation,
    options: &Options,
    begun: impl FnOnce(&Arc<Control>),
) -> Result<Fastest, DiskError> {
    let question = |what: &str| DiskError::Check(CheckError::Question(what.into()));
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
    let zones = ZoneOptions { extrapolation: Extrapolation::LowerUpperPlus, ..zones };
    let space = PricedSpace::new(timed, zones, goal)?;
    let sought = Sought { order: &Order::Best, bound: None, in_ram: true };
    let Cheapest { answer, stopped, run: folder, .. } = cheapest(&space, sought, options, begun)?;
    if let Some(reason) = stopped {
        return Ok(Fastest { time: Err(reason), space, folder });
    }
    let best = answer.best;
    let Some(best) = best else {
        return Err(
            CheckError::Internal("what was reached is not reached when time is counted".into()).into()
        );
    };
    let run = match space.schedule(&best) {
        Ok(schedule) => Some(schedule.trace),
        Err(ScheduleError::NotAttained) => None,
        Err(error) => return Err(CheckError::Internal(error.to_string()).into()),
    };
    Ok(Fastest { time: Ok(Earliest { time: best.cost, run }), space, folder })
}
