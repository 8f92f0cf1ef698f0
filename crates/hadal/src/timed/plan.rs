//! `hadal plan MODEL`: the cheapest run of a priced timed automaton.

use super::{gantt, load, question, refused};
use crate::args::{ModelArgs, ModelErrors, Symmetry};
use crate::commands::plan::PlanArgs;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use hadal_check::memory::{default_memory, peak_resident};
use hadal_check::units::{counted, grouped, span};
use hadal_check::usage::cpu_seconds;
use hadal_exec::zones::ZoneOptions;
use hadal_exec::zones::priced::{Answer, Order, PricedError, PricedLimits, PricedSpace, search};
use hadal_system::{PropertyKind, TimedSystem};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Shares of layers that broadening takes unless it is told otherwise.
const COVERAGE: [u32; 6] = [1, 20, 40, 60, 80, 100];

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderChoice {
    /// By least cost.
    Best,
    /// Layer by layer: breadth-first branch and bound.
    Breadth,
    /// Deepest first.
    Depth,
    /// Layer by layer, a share of each first, then more.
    Broadening,
}

/// What `hadal plan MODEL` can be asked of a model in real time.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Models in real time")]
pub struct TimedPlanArgs {
    /// Gives a constant a value: NAME=VALUE.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_define)]
    pub define: Vec<(String, i64)>,
    /// The goal: a property `E<>` of the model.
    #[arg(long, value_name = "NAME")]
    pub property: Option<String>,
    /// The goal: labels, parted by commas, that must hold together. Default: the only `E<>` property, or all labels.
    #[arg(long, value_name = "NAMES")]
    pub label: Option<String>,
    /// In which order states are expanded. Default: best.
    #[arg(long, value_enum)]
    pub order: Option<OrderChoice>,
    /// Shares of layers in percent, for --order broadening; the last must be 100. Default: 1,20,40,60,80,100.
    #[arg(long, value_name = "K,K,..", value_delimiter = ',')]
    pub coverage: Vec<u32>,
    /// Only runs of at most this cost matter.
    #[arg(long, value_name = "COST")]
    pub upper_bound: Option<i64>,
    /// Draw the run as a chart (SVG) into this file.
    #[arg(long, value_name = "FILE")]
    pub gantt: Option<PathBuf>,
}

impl TimedPlanArgs {
    /// Whether anything is asked.
    pub fn is_given(&self) -> bool {
        !self.define.is_empty()
            || self.property.is_some()
            || self.label.is_some()
            || self.order.is_some()
            || !self.coverage.is_empty()
            || self.upper_bound.is_some()
            || self.gantt.is_some()
    }
}

fn parse_define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.parse().map_err(|_| "expected a number after `=`".to_owned())?))
}

/// What was found.
#[derive(Debug, Serialize)]
struct PlanOutcome {
    verdict: &'static str,
    reason: String,
    cost: Option<i64>,
    optimal: bool,
    expanded: u64,
    generated: u64,
    stored: u64,
    seconds: f64,
    cpu_seconds: f64,
    peak_memory_bytes: u64,
    passes: Vec<PassView>,
    certificate: Option<Certificate>,
    schedule: Vec<StepView>,
}

#[derive(Debug, Serialize)]
struct PassView {
    coverage: u32,
    upper_bound: Option<i64>,
    cost: Option<i64>,
    expanded: u64,
    generated: u64,
}

/// The same cost three ways.
#[derive(Debug, Serialize)]
struct Certificate {
    zones: i64,
    linear_program: i64,
    replay: i64,
}

#[derive(Debug, Serialize)]
struct StepView {
    time: String,
    delay: String,
    action: String,
    paid: i64,
}

/// The goal as a property of the system.
pub fn goal(timed: &mut TimedSystem, property: Option<&str>, label: Option<&str>) -> Result<usize, Failure> {
    timed.formulas.resize(timed.system.properties.len(), None);
    if let Some(name) = property {
        let found =
            timed.system.properties.iter().position(|p| p.name == name && p.kind == PropertyKind::Goal);
        return found.ok_or_else(|| Failure::Usage(format!("the model has no goal `{name}`")));
    }
    let goals: Vec<usize> = (0..timed.system.properties.len())
        .filter(|&n| timed.system.properties[n].kind == PropertyKind::Goal)
        .collect();
    let labels = match (label, goals.as_slice()) {
        (Some(labels), _) => labels.to_owned(),
        (None, &[only]) => return Ok(only),
        (None, []) if !timed.labels.is_empty() => {
            timed.labels.iter().map(|label| label.name.clone()).collect::<Vec<_>>().join(",")
        }
        (None, []) => {
            return Err(Failure::Usage("the model says no goal: give --label or --property".into()));
        }
        (None, _) => {
            return Err(Failure::Usage("the model has several goals: choose one with --property".into()));
        }
    };
    question::add_labels(timed, &labels)?;
    Ok(timed.system.properties.len() - 1)
}

/// Runs `hadal plan MODEL`.
pub fn run(plan: &PlanArgs) -> Result<u8, Failure> {
    let begun = Instant::now();
    let args = &plan.timed;
    let coverage = if args.coverage.is_empty() { COVERAGE.to_vec() } else { args.coverage.clone() };
    let chosen = args.order.unwrap_or(OrderChoice::Best);
    if chosen == OrderChoice::Broadening && coverage.last() != Some(&100) {
        return Err(Failure::Usage(
            "the last of --coverage must be 100: nothing else proves a cost least".into(),
        ));
    }
    let model = ModelArgs {
        model: plan.domain.clone(),
        define: args.define.iter().map(|(n, v)| (n.clone(), crate::args::Given::Number(*v))).collect(),
        symmetry: Symmetry::Off,
        interpret: false,
        processes: Vec::new(),
        merge: false,
        model_errors: ModelErrors::Report,
    };
    let mut timed = load(&model, None, plan.quiet)?.timed;
    let goal = goal(&mut timed, args.property.as_deref(), args.label.as_deref())?;
    let mut asked = vec![false; timed.system.properties.len()];
    asked[goal] = true;
    let source = timed.system.source.clone();
    let options = ZoneOptions { asked, ..ZoneOptions::default() };
    let space = PricedSpace::new(timed, options, goal).map_err(|error| priced_failure(&source, error))?;
    let order = match chosen {
        OrderChoice::Best => Order::Best,
        OrderChoice::Breadth => Order::Breadth,
        OrderChoice::Depth => Order::Depth,
        OrderChoice::Broadening => Order::Broadening(coverage),
    };
    let limits = PricedLimits {
        memory: plan.memory.unwrap_or_else(default_memory),
        seconds: plan.time_limit.map(|limit| limit.as_secs_f64()),
    };
    let answer =
        search(&space, &order, args.upper_bound, limits).map_err(|error| priced_failure(&source, error))?;
    let (outcome, code) = outcome(args, &space, &answer, begun)?;
    let text = match plan.json {
        // Plain data always serialises.
        true => serde_json::to_string_pretty(&outcome).unwrap_or_default(),
        false => outcome.text(),
    };
    crate::output::line(&text)?;
    Ok(code)
}

/// How a refusal of prices is told.
pub fn priced_failure(source: &hadal_system::Source, error: PricedError) -> Failure {
    match error {
        PricedError::Zones(error) => refused(source, &error),
        other => Failure::Usage(other.to_string()),
    }
}

fn outcome(
    args: &TimedPlanArgs,
    space: &PricedSpace,
    answer: &Answer,
    begun: Instant,
) -> Result<(PlanOutcome, u8), Failure> {
    let mut certificate = None;
    let mut steps = Vec::new();
    let mut unattained = false;
    if let Some(best) = &answer.best {
        match space.schedule(best) {
            Ok(schedule) => {
                certificate = Some(Certificate {
                    zones: best.cost,
                    linear_program: schedule.program_cost,
                    replay: schedule.replay_cost,
                });
                if best.cost != schedule.program_cost || best.cost != schedule.replay_cost {
                    return Err(Failure::Internal(format!("the costs differ: {certificate:?}")));
                }
                for (step, paid) in schedule.trace.steps.iter().zip(&schedule.paid) {
                    steps.push(StepView {
                        time: step.time.to_string(),
                        delay: step.delay.to_string(),
                        action: step.action.clone(),
                        paid: *paid,
                    });
                }
                if let Some(path) = &args.gantt {
                    std::fs::write(path, gantt::svg(space.zones(), &schedule.trace))
                        .map_err(|error| Failure::File { path: path.clone(), error })?;
                }
            }
            Err(hadal_exec::zones::priced::ScheduleError::NotAttained) => unattained = true,
            Err(error) => return Err(Failure::Internal(error.to_string())),
        }
    }
    let cost = answer.best.as_ref().map(|best| best.cost);
    let (verdict, reason, code) = match (cost, answer.complete) {
        (Some(cost), true) if unattained => (
            "solved",
            format!(
                "costs come as near to {cost} as one likes, but no run pays it: a strict bound forbids that"
            ),
            0,
        ),
        (Some(cost), true) => ("solved", format!("the cheapest run costs {cost}"), 0),
        (Some(cost), false) => {
            ("stopped", format!("a run of cost {cost} was found, but a cheaper one may exist"), 3)
        }
        (None, true) => match args.upper_bound {
            Some(bound) => ("unsolvable", format!("no run of at most {bound} reaches the goal"), 1),
            None => ("unsolvable", "no run reaches the goal".to_owned(), 1),
        },
        (None, false) => ("stopped", "a limit was met before a run was found".to_owned(), 3),
    };
    let passes: Vec<PassView> = answer
        .passes
        .iter()
        .map(|pass| PassView {
            coverage: pass.coverage,
            // The search keeps what lies below; people say what is still allowed.
            upper_bound: pass.bound.map(|bound| bound - 1),
            cost: pass.cost,
            expanded: pass.expanded,
            generated: pass.generated,
        })
        .collect();
    let outcome = PlanOutcome {
        verdict,
        reason,
        cost,
        optimal: cost.is_some() && answer.complete,
        expanded: passes.iter().map(|pass| pass.expanded).sum(),
        generated: passes.iter().map(|pass| pass.generated).sum(),
        stored: answer.stored,
        seconds: begun.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds(),
        peak_memory_bytes: peak_resident(),
        passes,
        certificate,
        schedule: steps,
    };
    Ok((outcome, code))
}

impl PlanOutcome {
    fn text(&self) -> String {
        let mut lines: Vec<String> = self
            .schedule
            .iter()
            .map(|step| format!("{:>8}  {}  (paid {})", step.time, step.action, step.paid))
            .collect();
        lines.push(format!("{}: {}", self.verdict.to_uppercase(), self.reason));
        for pass in self.passes.iter().filter(|_| self.passes.len() > 1) {
            let shown = |cost: Option<i64>| cost.map_or("-".into(), |cost| cost.to_string());
            lines.push(format!(
                "  {} % of each layer: bound {}, then {}, {} expanded",
                pass.coverage,
                shown(pass.upper_bound),
                shown(pass.cost),
                counted(pass.expanded, "state")
            ));
        }
        lines.push(format!(
            "  {} expanded, {} generated, {} stored, {}",
            counted(self.expanded, "state"),
            grouped(self.generated),
            grouped(self.stored),
            span(self.seconds)
        ));
        if let Some(it) = &self.certificate {
            lines.push(format!(
                "  the same cost by zones ({}), by the linear program of its times ({}) and by replay ({})",
                it.zones, it.linear_program, it.replay
            ));
        }
        lines.join("\n")
    }
}
