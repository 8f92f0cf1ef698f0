//! `hadal simulate --policy`: follows a policy of `hadal solve`, with chance drawn; one run is shown, of many it is said what comes
//! of them.

use crate::args::SimulateArgs;
use crate::commands::solve::{Asking, load, ppddl, questions};
use crate::failure::Failure;
use crate::output;
use hadal_exec::{Model, ModelOptions};
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path as Paths};
use hadal_system::units::counted;
use hadal_system::{StateSpace, System, Worker};
use hadal_value::follow::{Follower, Step, holds, state_text};
use std::path::Path;

/// Where a run ends, and what is counted.
struct Goal<'o> {
    through: &'o Formula,
    target: &'o Formula,
    reward: Option<usize>,
    negated: bool,
}

fn goal(objective: &Objective) -> Option<Goal<'_>> {
    let measure = match &objective.asked {
        Asked::Value(measure, _) => measure,
        Asked::Truth(Formula::Compares { value, .. }) => value,
        Asked::Truth(_) => return None,
    };
    let until = |path, negated| match path {
        &Paths::Until(ref through, ref target, Limit::None) => {
            Some(Goal { through, target, reward: None, negated })
        }
        _ => None,
    };
    match measure {
        Measure::Probability(Paths::Not(path)) => until(path, true),
        Measure::Probability(path) => until(path, false),
        Measure::Earned(reward, Horizon::Reach(target)) => {
            Some(Goal { through: &Formula::Constant(true), target, reward: Some(*reward), negated: false })
        }
        Measure::Earned(..) | Measure::Average(_) => None,
    }
}

/// Follows the policy in a file.
pub fn run(args: &SimulateArgs, policy: &Path) -> Result<u8, Failure> {
    let text =
        std::fs::read_to_string(policy).map_err(|error| Failure::File { path: policy.to_owned(), error })?;
    let asking = Asking {
        model: &args.model.model,
        problem: args.problem.as_deref(),
        define: &args.model.define,
        properties: None,
        formula: args.formula.as_deref(),
        property: None,
    };
    if asking.is_ppddl() {
        // The goal ends a run, whatever is asked.
        let (space, system, objective) = ppddl(&asking)?;
        return follow(args, &text, (&space, &system), Some(&objective));
    }
    let (loaded, objectives) = match args.formula {
        Some(_) => questions(&asking)?,
        None => (load(&asking)?, Vec::new()),
    };
    let model = Model::new(loaded.into_system(), ModelOptions::default())
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.model.display())))?;
    follow(args, &text, (&model, model.system()), objectives.first())
}

/// Draws one run and shows it, or many and says what comes of them.
fn follow(
    args: &SimulateArgs,
    policy: &str,
    (space, system): (&dyn StateSpace, &System),
    objective: Option<&Objective>,
) -> Result<u8, Failure> {
    let goal = match objective {
        Some(objective) => Some(goal(objective).ok_or_else(|| {
            Failure::Usage("runs are counted for unbounded probabilities and rewards before a target".into())
        })?),
        None => None,
    };
    if args.runs > 1 && goal.is_none() {
        return Err(Failure::Usage("say with --formula what is counted".into()));
    }
    let bases = system.property_bases();
    let ends = |worker: &mut dyn Worker, state: &[u64]| {
        let goal = goal.as_ref()?;
        match (holds(goal.target, &bases, worker, state), holds(goal.through, &bases, worker, state)) {
            (Some(true), _) => Some(true),
            (_, Some(false)) => Some(false),
            _ => None,
        }
    };
    let reward = goal.as_ref().and_then(|goal| goal.reward);
    let astray = |error: hadal_value::follow::Astray| Failure::Usage(error.to_string());
    let mut follower = Follower::new(space, policy, reward, args.seed).map_err(astray)?;
    if args.runs <= 1 {
        let mut lines = Vec::new();
        let outcome =
            follower.run(args.steps, ends, |step| lines.push(shown(space, &step))).map_err(astray)?;
        for (n, line) in lines.iter().enumerate() {
            output::line(&format!("{n:>5}  {line}"))?;
        }
        if goal.is_some() {
            let what = if outcome.arrived { "arrived" } else { "not arrived" };
            output::line(&format!("{what} after {} steps, earned {}", outcome.steps, outcome.earned))?;
        }
        return Ok(0);
    }
    let (mut sum, mut squares, mut open) = (0.0, 0.0, 0u64);
    for _ in 0..args.runs {
        let outcome = follower.run(args.steps, ends, |_| {}).map_err(astray)?;
        let value = match &goal {
            Some(goal) if goal.reward.is_some() => {
                open += u64::from(!outcome.arrived);
                outcome.earned
            }
            Some(goal) => f64::from(u8::from(outcome.arrived != goal.negated)),
            None => 0.0,
        };
        sum += value;
        squares += value * value;
    }
    let runs = args.runs as f64;
    let mean = sum / runs;
    let error = ((squares / runs - mean * mean).max(0.0) / runs).sqrt();
    output::line(&format!(
        "{} of at most {} (seed {})",
        counted(args.runs, "run"),
        counted(args.steps, "step"),
        args.seed
    ))?;
    output::line(&format!("  mean {mean:.6}, standard error {error:.6}"))?;
    if open > 0 {
        output::line(&format!("  {} did not arrive: give them more --steps", counted(open, "run")))?;
    }
    Ok(0)
}

/// A step in one line.
fn shown(space: &dyn StateSpace, step: &Step) -> String {
    let state = state_text(space, step.state);
    match step.label {
        None => state,
        Some(label) => {
            let name = space.render_label(label);
            let name = name.split(", outcome:").next().unwrap_or_default().to_owned();
            format!("{name}  ({:.4})  {state}", step.weight)
        }
    }
}
