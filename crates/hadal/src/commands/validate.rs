//! `hadal validate`: is this list of steps a plan, and what does it cost.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use hadal_check::units::counted;
use hadal_lang::diagnostic::render_plain;
use hadal_lang::pddl::{self, Validation};
use hadal_system::Source;
use serde_json::json;
use std::path::{Path, PathBuf};

/// `hadal validate DOMAIN PROBLEM PLAN`.
#[derive(Args, Clone, Debug)]
pub struct ValidateArgs {
    /// The domain (PDDL).
    pub domain: PathBuf,
    /// The problem (PDDL).
    pub problem: PathBuf,
    /// The plan: a step `(name object ...)` per line.
    pub plan: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Checks the plan; 0 where it is one, 1 where it is not.
pub fn run(args: &ValidateArgs) -> Result<u8, Failure> {
    let (domain, problem) = (read(&args.domain)?, read(&args.problem)?);
    let plan = read(&args.plan)?;
    let refused = |refused| Failure::from(&refused);
    let task = pddl::read(&domain, &problem).map_err(refused)?;
    if !args.json {
        for (source, warning) in &task.warnings {
            crate::output::aside(format_args!("{}", render_plain(source, warning)));
        }
    }
    let validation = pddl::validate_task(&task.task, &plan.text);
    if args.json {
        output::line(&as_json(&validation).to_string())?;
    } else {
        output::raw(as_text(&validation, &args.plan).as_bytes())?;
    }
    Ok(u8::from(!validation.is_valid()))
}

fn read(path: &Path) -> Result<Source, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::File { path: path.into(), error })?;
    if bytes.len() > u32::MAX as usize {
        return Err(Failure::Usage(format!("{}: larger than 4 GiB", path.display())));
    }
    Ok(Source::new(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
}

fn as_json(validation: &Validation) -> serde_json::Value {
    let violated: serde_json::Map<String, serde_json::Value> =
        validation.violated.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
    json!({
        "verdict": if validation.is_valid() { "valid" } else { "invalid" },
        "plan_length": validation.steps,
        "cost": validation.metric.map(|metric| metric.to_string()),
        "violated": violated,
        "flaw": validation.flaw.as_ref().map(|flaw| json!({
            "line": flaw.line,
            "step": flaw.step,
            "action": flaw.action,
            "reason": flaw.reason,
        })),
    })
}

fn as_text(validation: &Validation, plan: &Path) -> String {
    let plan = plan.display();
    let Some(flaw) = &validation.flaw else {
        let cost = validation.metric.map_or("undefined".to_string(), |metric| metric.to_string());
        let mut text = format!("{plan}: valid, {}, cost {cost}\n", counted(validation.steps as u64, "step"));
        for (name, count) in &validation.violated {
            text.push_str(&format!("  preference {name} is violated {}\n", counted(*count, "time")));
        }
        return text;
    };
    match (flaw.line, flaw.step) {
        (Some(line), Some(step)) => {
            format!("{plan}:{line}: invalid: step {step} {} cannot be taken: {}\n", flaw.action, flaw.reason)
        }
        (Some(line), None) => format!("{plan}:{line}: invalid: {}\n", flaw.reason),
        _ => format!("{plan}: invalid after {}: {}\n", counted(validation.steps as u64, "step"), flaw.reason),
    }
}
