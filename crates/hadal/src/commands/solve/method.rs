//! `hadal solve --method`: the algorithms of the literature by name.

use super::SolveArgs;
use crate::failure::Failure;
use crate::output;
use clap::ValueEnum;
use hadal_system::chance::{Asked, Formula, Horizon, Measure, Objective, Sense};
use hadal_system::{StateSpace, System};
use hadal_value::iterate::{Order, iterate};
use hadal_value::task::ModelTask;
use hadal_value::trial::{Stop, ldfs, lrtdp, rtdp};
use std::time::Instant;

/// How values are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Optimistic value iteration between proved bounds, component by component.
    Intervals,
    /// LAO*, between proved bounds: the explored part of the graph grows where the best policy leads.
    Lao,
    /// Value iteration, all values at once, until none changes by more than the precision.
    Jacobi,
    /// Value iteration in place.
    GaussSeidel,
    /// Random walks of the greedy policy (real-time dynamic programming).
    Rtdp,
    /// As rtdp, with labels for solved states.
    Lrtdp,
    /// Learning depth-first search.
    Ldfs,
}

/// So many walks of RTDP, which does not know when it is done.
const WALKS: u64 = 20_000;
/// After so many updates a method gives up.
const MOST_UPDATES: u64 = 200_000_000;
/// What is dearer is infinite.
const ENDLESS: f64 = 1e9;

/// Solves by a method without proof and says what it found; returns the exit code.
pub(super) fn run(
    args: &SolveArgs,
    (space, system): (&dyn StateSpace, &System),
    objective: &Objective,
    started: Instant,
) -> Result<u8, Failure> {
    let (Asked::Value(Measure::Earned(reward, Horizon::Reach(target)), Sense::Least), Formula::Initial) =
        (&objective.asked, &objective.states)
    else {
        return Err(Failure::Usage(
            "this method finds least rewards before a target, such as Rmin=? [ F goal ]; --method lao and intervals \
             answer more"
                .into(),
        ));
    };
    let refused = |reason: &str| Failure::Usage(format!("{}: {reason}", objective.text));
    let task = ModelTask::new(space, system.property_bases(), target, *reward).map_err(&refused)?;
    let stop = Stop { residual: args.method.precision, dead_end: ENDLESS, most_updates: MOST_UPDATES };
    let found = match args.method.method {
        Method::Rtdp => rtdp(&task, WALKS, stop),
        Method::Lrtdp => lrtdp(&task, stop),
        Method::Ldfs => ldfs(&task, stop),
        Method::Jacobi | Method::GaussSeidel | Method::Lao | Method::Intervals => {
            let order = if args.method.method == Method::Jacobi { Order::Jacobi } else { Order::GaussSeidel };
            iterate(&task, order, stop).ok_or_else(|| refused("there are too many states"))?
        }
    };
    if let Some(trouble) = task.trouble() {
        return Err(refused(trouble));
    }
    let done = found.converged && found.value < ENDLESS / 2.0;
    let name = args.method.method.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    if args.written.json {
        let mut object = serde_json::json!({
            "property": objective.name, "formula": objective.text, "method": name, "states": found.states,
            "updates": found.updates, "residual": args.method.precision, "seconds": started.elapsed().as_secs_f64(),
        });
        match done {
            true => object["value"] = found.value.into(),
            false => {
                object["verdict"] = "stopped".into();
                object["reason"] = "values still change, or grow without end".into();
            }
        }
        output::line(&object.to_string())?;
    } else {
        let text = match done {
            true => format!("about     {} (residual {}, not proved)", found.value, args.method.precision),
            false => "stopped: values still change, or grow without end".to_owned(),
        };
        output::line(&format!(
            "{}\n  {text}\n  {name}: {} states, {} updates\n",
            objective.text, found.states, found.updates
        ))?;
    }
    Ok(if done { 0 } else { 3 })
}
