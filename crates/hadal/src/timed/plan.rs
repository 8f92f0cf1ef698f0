//! `hadal plan MODEL`: the cheapest run of a priced timed automaton.

use super::{gantt, load, refused};
use crate::args::ResumeArgs;
use crate::args::{ModelArgs, ModelErrors, Symmetry};
use crate::commands::check::interrupt_stops;
use crate::commands::plan::{PlanArgs, RoomArgs, TaskArgs, WrittenArgs};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use hadal_check::Options;
use hadal_check::memory::peak_resident;
use hadal_check::options::{Budget, Place};
use hadal_check::timed::question;
use hadal_check::timed::{Cheapest, DiskError, Sought, cheapest};
use hadal_check::units::{counted, grouped, span};
use hadal_check::usage::cpu_seconds;
use hadal_exec::zones::ZoneOptions;
use hadal_exec::zones::priced::{Order, PricedError, PricedSpace};
use hadal_search::Limits;
use hadal_system::{PropertyKind, TimedSystem};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Shares of layers that broadening takes unless it is told otherwise.
const COVERAGE: [u32; 6] = [1, 20, 40, 60, 80, 100];

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum OrderChoice {
    /// By least cost.
    Best,
    /// Layer by layer: breadth-first branch and bound.
    Breadth,
    /// Deepest first.
    Depth,
    /// Layer by layer, first a share of each, then more.
    Broadening,
}

/// What `hadal plan MODEL` can be asked of a model in real time.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Models in real time")]
pub struct TimedPlanArgs {
    /// Give a constant another value.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_define)]
    pub define: Vec<(String, i64)>,
    /// The goal: an `E<>` property of the model.
    #[arg(long, value_name = "NAME")]
    pub property: Option<String>,
    /// The goal: labels, separated by commas, that must hold together. Default: the only `E<>` property, or all labels.
    #[arg(long, value_name = "NAMES")]
    pub label: Option<String>,
    /// In which order to expand states. All orders but depth continue on disk when RAM runs out. Default: best.
    #[arg(long, value_enum)]
    pub order: Option<OrderChoice>,
    /// Shares of layers in percent, for --order broadening; the last must be 100. Default: 1,20,40,60,80,100.
    #[arg(long, value_name = "K,K,..", value_delimiter = ',')]
    pub coverage: Vec<u32>,
    /// Consider only runs of at most this cost.
    #[arg(long, value_name = "COST")]
    pub upper_bound: Option<i64>,
    /// Search every order of interchangeable processes (equal runways), not one of them.
    #[arg(long)]
    pub no_symmetry: bool,
    /// Draw the run as a chart in this file: a page if its extension is .html, otherwise SVG.
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
            || self.no_symmetry
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
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// How many processes may take one another's place, by class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    symmetric: Vec<usize>,
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

/// The part of the command that decides what is searched: kept in the run's folder, so that `resume` can repeat it.
#[derive(Serialize, Deserialize)]
struct About {
    /// What lists of runs show.
    model: PathBuf,
    /// Tells it from other runs.
    timed_plan: TimedPlanArgs,
    /// How much it may take, for whoever reads the command.
    #[serde(default)]
    limits: serde_json::Map<String, serde_json::Value>,
}

/// Goes on with a run; `None` where it is no run of a priced model.
pub fn resume(args: &ResumeArgs, about: &serde_json::Value) -> Option<Result<u8, Failure>> {
    let about: About = serde_json::from_value(about.clone()).ok()?;
    let plan = PlanArgs {
        task: TaskArgs { domain: about.model, problem: None },
        room: RoomArgs::from(&args.limits),
        written: WrittenArgs::from(&args.output),
        timed: about.timed_plan,
        ..PlanArgs::default()
    };
    Some(carry_out(&plan, Some(&args.run)))
}

/// Runs `hadal plan MODEL`.
pub fn run(plan: &PlanArgs) -> Result<u8, Failure> {
    carry_out(plan, None)
}

fn carry_out(plan: &PlanArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
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
        model: plan.task.domain.clone(),
        define: args.define.iter().map(|(n, v)| (n.clone(), crate::args::Given::Number(*v))).collect(),
        symmetry: Symmetry::Off,
        interpret: false,
        processes: Vec::new(),
        merge: false,
        model_errors: ModelErrors::Report,
    };
    let reading = plan.reading();
    let mut timed = load(&model, args.property.as_slice(), plan.written.quiet)?;
    drop(reading);
    let goal = goal(&mut timed, args.property.as_deref(), args.label.as_deref())?;
    let mut asked = vec![false; timed.system.properties.len()];
    asked[goal] = true;
    let source = timed.system.source.clone();
    let zones = ZoneOptions { asked, ..ZoneOptions::default() };
    let space = PricedSpace::new(timed, zones, goal).map_err(|error| priced_failure(&source, error))?;
    let space = if args.no_symmetry { space.without_symmetry() } else { space };
    let order = match chosen {
        OrderChoice::Best => Order::Best,
        OrderChoice::Breadth => Order::Breadth,
        OrderChoice::Depth => Order::Depth,
        OrderChoice::Broadening => Order::Broadening(coverage),
    };
    let mut interrupts = Ok(());
    let sought = Sought { order: &order, bound: args.upper_bound, in_ram: plan.room.disk.is_none() };
    let found = cheapest(&space, sought, &options(plan, resumed), |control| {
        interrupts = interrupt_stops(control);
    });
    interrupts?;
    let planned = found.map_err(|error| match error {
        DiskError::Priced(error) => priced_failure(&source, error),
        DiskError::Check(error) => error.into(),
    })?;
    let (outcome, code) = outcome(args, &space, &planned, begun)?;
    let text = match plan.written.json {
        // Plain data always serialises.
        true => serde_json::to_string_pretty(&outcome).unwrap_or_default(),
        false => outcome.text(),
    };
    crate::output::line(&text)?;
    Ok(code)
}

/// What the arguments ask of the library.
fn options(plan: &PlanArgs, resumed: Option<&Path>) -> Options {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let gantt = plan.timed.gantt.as_deref().map(absolute);
    let about = About {
        model: absolute(&plan.task.domain),
        timed_plan: TimedPlanArgs { gantt, ..plan.timed.clone() },
        limits: plan.room.spelled(),
    };
    Options {
        budget: Budget {
            memory: plan.room.memory,
            threads: plan.room.threads.map(usize::from),
            disk: plan.room.disk_limit,
            limits: Limits { time: plan.room.time_limit, ..Limits::default() },
        },
        place: Place {
            disk: plan.room.disk.clone(),
            name: None,
            resumed: resumed.map(Path::to_owned),
            // Plain data always serialises.
            about: serde_json::to_value(about).unwrap_or_default(),
        },
        ..Options::default()
    }
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
    planned: &Cheapest,
    begun: Instant,
) -> Result<(PlanOutcome, u8), Failure> {
    let answer = &planned.answer;
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
                    let chart = gantt::svg(space.zones(), &schedule.trace);
                    let is_page = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("html"));
                    let name = &space.zones().timed().system.name;
                    let text = if is_page { gantt::page(name, best.cost, &chart) } else { chart };
                    std::fs::write(path, text)
                        .map_err(|error| Failure::File { path: path.clone(), error })?;
                }
            }
            Err(hadal_exec::zones::priced::ScheduleError::NotAttained) => unattained = true,
            Err(error) => return Err(Failure::Internal(error.to_string())),
        }
    }
    let cost = answer.best.as_ref().map(|best| best.cost);
    let why = planned.stopped.as_ref().map_or(String::new(), |why| format!(" ({why})"));
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
            ("stopped", format!("a run of cost {cost} was found, but a cheaper one may exist{why}"), 3)
        }
        (None, true) => match args.upper_bound {
            Some(bound) => ("unsolvable", format!("no run of at most {bound} reaches the goal"), 1),
            None => ("unsolvable", "no run reaches the goal".to_owned(), 1),
        },
        (None, false) => ("stopped", format!("a limit was met before a run was found{why}"), 3),
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
        disk_bytes: planned.disk_bytes,
        run: planned.run.as_ref().map(|path| path.display().to_string()),
        symmetric: space.symmetric(),
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
        for size in &self.symmetric {
            lines.push(format!(
                "  {size} processes may take one another's place: one order of them is searched"
            ));
        }
        if let Some(bytes) = self.disk_bytes.filter(|&bytes| bytes > 0) {
            lines.push(format!("  {} bytes on disk", grouped(bytes)));
        }
        if let Some(run) = &self.run {
            lines.push(format!("  the run is kept in {run}"));
        }
        if let Some(it) = &self.certificate {
            lines.push(format!(
                "  the same cost by zones ({}), by the linear program of its times ({}) and by replay ({})",
                it.zones, it.linear_program, it.replay
            ));
        }
        lines.join("\n")
    }
}
