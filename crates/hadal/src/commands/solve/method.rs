//! `hadal solve --method`: the algorithms of the literature by name.

use super::SolveArgs;
use super::arguments::Outcomes;
use super::guide::Origin;
use crate::failure::Failure;
use crate::output;
use clap::ValueEnum;
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path, Sense};
use hadal_system::units::counted;
use hadal_value::iterate::{Order, iterate};
use hadal_value::task::{Aim, Kind, ModelTask};
use hadal_value::trial::{Found, Stop, ao_star, fret, lao_star, ldfs, lrtdp, rtdp};
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
    /// AO*, of graphs without cycles: the best partial solution grows tip by tip.
    Ao,
    /// FRET, for greatest probabilities: as lao without proof, and traps are eliminated.
    Fret,
}

impl Method {
    /// Whether it answers between proved bounds.
    pub fn proves(self, outcomes: Outcomes) -> bool {
        matches!(self, Method::Intervals) || self == Method::Lao && outcomes == Outcomes::Mean
    }

    fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }
}

/// So many walks of RTDP, which does not know when it is done.
const WALKS: u64 = 20_000;
/// After so many updates a method gives up.
const MOST_UPDATES: u64 = 200_000_000;

/// What a method without proof is asked.
struct Question<'o> {
    through: &'o Formula,
    target: &'o Formula,
    reward: Option<usize>,
}

impl<'o> Question<'o> {
    fn of(objective: &'o Objective, method: Method) -> Result<Self, &'static str> {
        if !matches!(objective.states, Formula::Initial) {
            return Err("this method answers for the initial state: leave the filter out");
        }
        match (&objective.asked, method) {
            (
                Asked::Value(
                    Measure::Probability(Path::Until(through, target, Limit::None)),
                    Sense::Greatest,
                ),
                Method::Fret,
            ) => Ok(Question { through, target, reward: None }),
            (_, Method::Fret) => Err(
                "FRET finds greatest probabilities, such as Pmax=? [ F goal ]; --method lao and intervals answer more",
            ),
            (Asked::Value(Measure::Earned(reward, Horizon::Reach(target)), Sense::Least), _) => {
                Ok(Question { through: &Formula::Constant(true), target, reward: Some(*reward) })
            }
            _ => Err(
                "this method finds least rewards before a target, such as Rmin=? [ F goal ]; --method lao, fret and intervals \
                 answer more",
            ),
        }
    }
}

/// Solves by a method without proof and says what it found; returns the exit code.
pub(super) fn run(
    args: &SolveArgs,
    origin: Origin,
    objective: &Objective,
    started: Instant,
) -> Result<u8, Failure> {
    let refused = |reason: &str| Failure::Usage(format!("{}: {reason}", objective.text));
    let (method, outcomes) = (args.method.method, args.method.outcomes);
    let question = Question::of(objective, method).map_err(&refused)?;
    if method == Method::Fret && outcomes != Outcomes::Mean {
        return Err(refused(
            "probabilities are means of outcomes: leave --outcomes out, or ask Rmin=? [ F goal ]",
        ));
    }
    if matches!(method, Method::Lao | Method::Jacobi | Method::GaussSeidel) && args.method.guide != "blind" {
        return Err(refused("guides are of rtdp, lrtdp, ldfs, ao and fret"));
    }
    let guide = origin.guide(&args.method.guide, question.target)?;
    let aim = Aim {
        target: question.target,
        through: question.through,
        reward: question.reward,
        kind: match outcomes {
            Outcomes::Mean => Kind::Expected,
            Outcomes::Sum => Kind::Additive,
            Outcomes::Worst => Kind::Worst,
        },
        estimates: Some(origin.estimates(&*guide, question.reward)),
    };
    let task = ModelTask::new(origin.space(), origin.system().property_bases(), aim).map_err(&refused)?;
    let stop = Stop {
        residual: args.method.precision,
        dead_end: match question.reward {
            Some(_) => args.method.dead_end.unwrap_or(f64::INFINITY),
            None => 1.0,
        },
        most_updates: MOST_UPDATES,
    };
    let circle = "AO* is for graphs without cycles, and its best partial solution leads in a circle: use ldfs or lrtdp";
    let too_many = "there are too many states";
    let (mut residuals, most_sweeps) = (None, args.method.max_sweeps.unwrap_or(u64::MAX));
    let mut sweep = |order| {
        let (found, changes) = iterate(&task, order, stop, most_sweeps)?;
        residuals = Some(changes);
        Some(found)
    };
    let found = match method {
        Method::Rtdp => rtdp(&task, WALKS, stop),
        Method::Lrtdp => lrtdp(&task, stop),
        Method::Ldfs => ldfs(&task, stop),
        Method::Fret => fret(&task, stop),
        Method::Lao => lao_star(&task, stop),
        Method::Ao => ao_star(&task, stop).ok_or_else(|| refused(task.trouble().unwrap_or(circle)))?,
        Method::GaussSeidel => sweep(Order::GaussSeidel).ok_or_else(|| refused(too_many))?,
        Method::Jacobi | Method::Intervals => sweep(Order::Jacobi).ok_or_else(|| refused(too_many))?,
    };
    if let Some(trouble) = task.trouble() {
        return Err(refused(trouble));
    }
    if found.idles {
        return Err(refused(
            "steps that cost nothing, or no more than the precision, lead in a circle, and values may be too low: use \
             --method intervals or lao, or make every step cost something",
        ));
    }
    let found =
        Found { value: if question.reward.is_some() { found.value } else { 1.0 - found.value }, ..found };
    show(args, objective, (&found, residuals.as_deref()), started)
}

fn show(
    args: &SolveArgs,
    objective: &Objective,
    (found, residuals): (&Found, Option<&[f64]>),
    started: Instant,
) -> Result<u8, Failure> {
    let (name, residual) = (args.method.method.name(), args.method.precision);
    // What was reached after the sweeps that were asked for is an answer of its own.
    let swept = args.method.max_sweeps.filter(|&most| residuals.is_some_and(|all| all.len() as u64 >= most));
    if args.written.json {
        let mut object = serde_json::json!({
            "property": objective.name, "formula": objective.text, "method": name, "states": found.states,
            "updates": found.updates, "residual": residual, "seconds": started.elapsed().as_secs_f64(),
        });
        if let Some(residuals) = residuals {
            object["sweeps"] = residuals.len().into();
            object["residuals"] = residuals.into();
        }
        match found.converged {
            true if found.value == f64::INFINITY => object["value"] = "infinity".into(),
            true => object["value"] = found.value.into(),
            false => {
                object["verdict"] = "stopped".into();
                object["reason"] = "values still change, or grow without end".into();
                if swept.is_some() {
                    object["value"] = found.value.into();
                }
            }
        }
        output::line(&object.to_string())?;
    } else {
        let text = match found.converged {
            true if found.value == f64::INFINITY => "infinity (not proved)".to_owned(),
            true => format!("about     {} (residual {residual}, not proved)", found.value),
            false => match swept {
                Some(sweeps) => format!(
                    "stopped: {} after {}, and values still change",
                    found.value,
                    counted(sweeps, "sweep")
                ),
                None => "stopped: values still change, or grow without end".to_owned(),
            },
        };
        let sweeps =
            residuals.map_or(String::new(), |all| format!(", {}", counted(all.len() as u64, "sweep")));
        output::line(&format!(
            "{}\n  {text}\n  {name}: {} states, {} updates{sweeps}\n",
            objective.text, found.states, found.updates
        ))?;
    }
    Ok(if found.converged { 0 } else { 3 })
}
