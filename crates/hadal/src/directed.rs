//! Directed search from the command line: what `--find`, `--guide`, `--order` and `--priority` stand for, and the guided
//! probe that `auto` begins with where a goal is named.

use crate::failure::Failure;
use crate::preparation::Preparation;
use crate::race::Setting;
use clap::{Args, ValueEnum};
use hadal_exec::model::Model;
use hadal_guide::{Guide, GuideError, Meter, OpenDisk, Room, Target, priority, registry};
use hadal_search::directed::{self, DirectedOptions, DirectedSearch, Insertion, Order, Tie, Traces};
use hadal_search::external::{self, ExternalOptions, ExternalSearch, Flush, Steps, TraceBy};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, StopReason, Task, Verdict};
use hadal_store::Governor;
use hadal_system::{PropertyId, PropertyKind, StateSpace};
use serde::{Deserialize, Serialize};

/// States that a probe expands at most.
const PROBE_STATES: u64 = 100_000;
/// States that are looked through breadth-first for a shorter trace than a probe's, at most.
const SHORTER_STATES: u64 = 2_000_000;
/// What is used unless the user says: traces stay short, and few states are seen.
const DEFAULT_ORDER: Order = Order::Weighted(5000);
const DEFAULT_PRIORITY: &str = "preferred";
/// The share of the budget that a probe may use, and the one that tables of guides may.
const PROBE_SHARE: u64 = 4;
const TABLE_SHARE: u64 = 4;

/// Options of directed search.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectedArgs {
    /// Look for what is wrong, or for the goal that is named, where a guide says it is near. Finds errors in few states;
    /// the trace need not be shortest.
    #[arg(long)]
    pub find: bool,
    /// Estimates that guide the search (implies --find): auto, or a name that docs/directed.md explains.
    #[arg(long, value_name = "NAME")]
    pub guide: Option<String>,
    /// Which state next (implies --find): alternate, greedy, astar, wastar:W, ehc, beam:WIDTH, ida, bfhs, bfs, dfs, ucs;
    /// external-astar works on disk (docs/external-astar.md).
    #[arg(long, value_name = "NAME")]
    pub order: Option<String>,
    /// With --order astar and external-astar, where the search works on disk: how the trace is rebuilt.
    #[arg(long, value_enum, value_name = "WAY")]
    pub trace_by: Option<TraceWay>,
    /// With --order external-astar: do not look for traces that cost more. A run that found nothing goes on with a larger one
    /// by `hadal resume RUN --cost-bound N`.
    #[arg(long, value_name = "N")]
    pub cost_bound: Option<u64>,
    /// With --order external-astar: write successors only when their turn comes, and generate them a second time for that.
    #[arg(long)]
    pub defer_flush: bool,
    /// With --order external-astar: merge, subtract and expand in separate steps with files between them, to measure what
    /// doing all of it in one pass saves.
    #[arg(long)]
    pub no_pipeline: bool,
    /// Which transitions first (implies --find): none, useless, context, preferred and others that docs/directed.md
    /// explains.
    #[arg(long, value_name = "NAME")]
    pub priority: Option<String>,
    /// Which of two equally good states comes first: lifo, fifo, deep, random:SEED.
    #[arg(long, value_name = "RULE")]
    pub tie: Option<String>,
    /// With a directed search: take the transitions of each state in an order drawn by this seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// With a directed search: follow the rules behind published figures to the letter.
    #[arg(long, value_enum, value_name = "RULES")]
    pub calibration: Option<Calibration>,
}

/// Rules to repeat published figures by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Calibration {
    /// Wehrle (2011): states are inserted unless closed, errors noticed when taken out, ties last in first out,
    /// transitions by channel and process.
    Seed,
}

/// How a trace is rebuilt from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum TraceWay {
    /// States on disk carry a word about their parent.
    Parents,
    /// By expanding the states of earlier buckets again.
    Scan,
    /// By searching for the two halves of the trace again; buckets are deleted early where steps can be taken back.
    Divide,
}

impl From<TraceWay> for TraceBy {
    fn from(way: TraceWay) -> Self {
        match way {
            TraceWay::Parents => TraceBy::Parents,
            TraceWay::Scan => TraceBy::Scan,
            TraceWay::Divide => TraceBy::Divide,
        }
    }
}

/// The order that works on disk.
const EXTERNAL: &str = "external-astar";

/// A directed search as asked for, checked.
#[derive(Clone, Debug)]
pub struct DirectedPlan {
    guide: String,
    order: Order,
    /// Whether it works on disk from the beginning.
    external: bool,
    trace_by: Option<TraceWay>,
    /// How External A* writes.
    writing: ExternalOptions,
    priority: String,
    /// Breadth-first search runs beside it.
    race: bool,
    tie: Option<Tie>,
    seed: Option<u64>,
    calibration: Option<Calibration>,
}

impl DirectedArgs {
    /// What is asked for; nothing where the search is not to be directed.
    pub fn plan(&self) -> Result<Option<DirectedPlan>, Failure> {
        let asked = self.find || self.guide.is_some() || self.order.is_some() || self.priority.is_some();
        if !asked {
            if self.cost_bound.is_some() || self.defer_flush || self.no_pipeline {
                return Err(Failure::Usage(format!(
                    "--cost-bound, --defer-flush and --no-pipeline go with --order {EXTERNAL}"
                )));
            }
            return match (&self.tie, self.seed, self.calibration, self.trace_by) {
                (None, None, None, None) => Ok(None),
                _ => Err(Failure::Usage(
                    "--tie, --seed, --calibration and --trace-by belong to a directed search: add --find"
                        .into(),
                )),
            };
        }
        let wrong =
            |option: &str, text: &str, why: String| Failure::Usage(format!("--{option} {text}: {why}"));
        let seeded = self.calibration.is_some();
        let external = self.order.as_deref() == Some(EXTERNAL);
        let order = match &self.order {
            Some(_) if external => Order::AStar,
            Some(text) => text.parse().map_err(|why| wrong("order", text, why))?,
            None if seeded => Order::Greedy,
            None => DEFAULT_ORDER,
        };
        let tie = match &self.tie {
            Some(text) => Some(text.parse().map_err(|why| wrong("tie", text, why))?),
            None => None,
        };
        if seeded && !matches!(order, Order::Greedy | Order::AStar | Order::Breadth | Order::Depth) {
            return Err(Failure::Usage("--calibration goes with --order greedy, astar, bfs or dfs".into()));
        }
        let has_priority = self.priority.as_deref().is_some_and(|name| name != "none");
        if external && (seeded || has_priority || self.tie.is_some() || self.seed.is_some()) {
            return Err(Failure::Usage(format!(
                "--order {EXTERNAL} expands whole buckets: leave out --priority, --tie, --seed and --calibration"
            )));
        }
        if self.trace_by.is_some() && order != Order::AStar {
            return Err(Failure::Usage(format!("--trace-by goes with --order astar or {EXTERNAL}")));
        }
        if !external && (self.cost_bound.is_some() || self.defer_flush || self.no_pipeline) {
            return Err(Failure::Usage(format!(
                "--cost-bound, --defer-flush and --no-pipeline go with --order {EXTERNAL}"
            )));
        }
        let many_queues = matches!(
            order,
            Order::HillClimbing | Order::Beam(_) | Order::IterativeDeepening | Order::BreadthHeuristic
        );
        if many_queues && has_priority {
            return Err(Failure::Usage(format!(
                "--order {order} has no queues that --priority could fill: choose greedy, astar, wastar, bfs, dfs or ucs"
            )));
        }
        Ok(Some(DirectedPlan {
            guide: self.guide.clone().unwrap_or_else(|| "auto".into()),
            order,
            external,
            trace_by: self.trace_by,
            writing: ExternalOptions {
                bound: self.cost_bound,
                flush: if self.defer_flush { Flush::Deferred } else { Flush::AtOnce },
                steps: if self.no_pipeline { Steps::Apart } else { Steps::Fused },
                ..ExternalOptions::default()
            },
            priority: match &self.priority {
                Some(name) => name.clone(),
                None if self.order.is_none() && !seeded => DEFAULT_PRIORITY.into(),
                None => "none".into(),
            },
            race: self.order.is_none() && !seeded,
            tie,
            seed: self.seed,
            calibration: self.calibration,
        }))
    }
}

impl DirectedPlan {
    /// Whether breadth-first search is to run beside it.
    pub fn races(&self) -> bool {
        self.race
    }
}

/// What a directed search came to, and how it was set up.
pub struct Explored {
    /// The answer.
    pub report: Report,
    /// What was decided and why, line by line.
    pub decisions: Vec<String>,
}

/// The disk of a directed search, which is used where RAM is not enough.
pub struct OnDisk<'a> {
    /// Opens the run folder.
    pub ledger: &'a dyn Fn() -> Result<Ledger, Trouble>,
    /// Opens the folder of tables that guides look up.
    pub tables: &'a OpenDisk<'a>,
    /// Whether there is a run in it that goes on.
    pub resumed: bool,
    /// Threads.
    pub threads: usize,
}

/// Explores as planned, without anything beside it.
pub fn explore(
    plan: &DirectedPlan,
    setting: Setting,
    preparation: &Preparation,
    disk: Option<OnDisk>,
) -> Result<Explored, Failure> {
    let Setting { model, task, asked, governor, .. } = setting;
    let target = target(task.space, task.question, asked);
    let mut decisions = vec![format!("  looking for {}", describe(&target, model))];
    let stop = || task.control.interrupt();
    let threads = disk.as_ref().map_or(1, |disk| disk.threads);
    let mut room = Room::new(governor.part(governor.limit() / TABLE_SHARE), threads)
        .with_alarm(&stop)
        .with_meter(preparation);
    if let Some(disk) = &disk {
        room = room.with_disk(disk.tables);
    }
    let guide = match build_guide(&plan.guide, model, &target, preparation, room, &mut decisions) {
        Ok(guide) => guide,
        Err(GuideError::CalledOff) => {
            decisions.push("  preparing the guide was called off".into());
            let reason = preparation.stopped().unwrap_or(StopReason::Interrupted);
            return Ok(Explored { report: directed::not_begun(task, governor, reason), decisions });
        }
        Err(error) => return Err(Failure::Usage(format!("--guide {}: {error}", plan.guide))),
    };
    // What the guide holds is not there for the search.
    let held = governor.current();
    let left = governor.part(governor.limit().saturating_sub(held));
    let explored = explore_with(plan, model, task, (&*guide, &target), &left, disk, decisions);
    if let Some(why) = guide.failure() {
        return Err(Failure::Damaged(format!("a table of the guide cannot be read: {why}")));
    }
    let mut explored = explored?;
    explored.report.peak_memory += held;
    Ok(explored)
}

fn explore_with(
    plan: &DirectedPlan,
    model: &Model,
    task: Task,
    (guide, target): (&dyn Guide, &Target),
    governor: &Governor,
    disk: Option<OnDisk>,
    mut decisions: Vec<String>,
) -> Result<Explored, Failure> {
    let disk = match disk {
        Some(disk) if plan.external || disk.resumed => {
            return external(plan, task, (guide, target), governor, disk, decisions);
        }
        disk => disk,
    };
    let priority = priority::build(&plan.priority, model, target, guide)
        .map_err(|why| Failure::Usage(why.to_string()))?;
    let options = DirectedOptions {
        order: plan.order,
        tie: plan.tie,
        insertion: match plan.calibration {
            Some(Calibration::Seed) => Insertion::UnlessClosed,
            None => Insertion::WhenBetter,
        },
        ranks: plan.calibration.map(|Calibration::Seed| priority::published_order(model.system())),
        seed: plan.seed,
        traces: if plan.calibration.is_some() { Traces::AsFound } else { Traces::Shortened },
    };
    let search = DirectedSearch { task, governor, guide, aim: target, priority: &*priority, options };
    decisions.push(if search.may_prune() {
        "  states from which the guide proves that nothing asked about can be reached are left out".into()
    } else {
        "  no state is left out: the guide does not prove that what is asked about cannot be reached".into()
    });
    let report = directed::explore(&search);
    let plain =
        plan.priority == "none" && plan.tie.is_none() && plan.seed.is_none() && plan.calibration.is_none();
    if matches!(report.verdict, Verdict::Stopped(StopReason::Memory { .. }))
        && plan.order == Order::AStar
        && plain
        && let Some(disk) = disk
    {
        decisions.push(format!(
            "  the memory budget was used up after {} states: searched again as {EXTERNAL}, on disk",
            report.states
        ));
        return external(plan, task, (guide, target), governor, disk, decisions);
    }
    Ok(Explored { report, decisions })
}

/// External A*.
fn external(
    plan: &DirectedPlan,
    task: Task,
    (guide, aim): (&dyn Guide, &Target),
    governor: &Governor,
    disk: OnDisk,
    mut decisions: Vec<String>,
) -> Result<Explored, Failure> {
    let trace_by = plan.trace_by.map(TraceBy::from).unwrap_or_default();
    let options = ExternalOptions { trace_by, ..plan.writing.clone() };
    let (ledger, threads) = (disk.ledger, disk.threads);
    let search = ExternalSearch { task, guide, aim, ledger, governor, threads, options };
    let explored = if disk.resumed { external::resume(&search) } else { external::search(&search) };
    let explored = explored.map_err(crate::check::trouble)?;
    let figures = &explored.figures;
    decisions.push(format!(
        "  {} buckets by cost and estimate, {} states expanded of {} generated; duplicates up to {} rows back",
        figures.buckets.len(),
        figures.expanded,
        figures.generated,
        figures.locality
    ));
    if figures.expanded_again > 0 {
        decisions
            .push(format!("  {} states were expanded again for successors left out", figures.expanded_again));
    }
    if let (None, Some(least)) = (figures.cost, figures.least_beyond) {
        decisions
            .push(format!("  what lies beyond the bound costs {least} at least, as far as the guide knows"));
    }
    if let Some(cost) = figures.cost {
        decisions.push(if figures.optimal {
            format!("  the trace costs {cost}, and nothing is cheaper: the guide never overestimates")
        } else {
            format!("  the trace costs {cost}; that nothing is cheaper is not proved")
        });
    }
    Ok(Explored { report: explored.report, decisions })
}

/// Where a named goal may be reachable, a short guided search before the breadth-first one. What it finds is replaced by a
/// shortest trace where a bounded breadth-first search finds one. Nothing where the other search is to go on.
pub fn probe(model: &Model, task: Task, governor: &Governor) -> Option<Explored> {
    let properties = task.space.properties();
    task.question.of_kind(properties, PropertyKind::Goal).next()?;
    let target = target(task.space, task.question, Asked::Named);
    let mut decisions =
        vec!["  a goal is named: a guided probe goes before the breadth-first search".to_owned()];
    let part = governor.part(governor.limit() / PROBE_SHARE);
    let time = task.control.limits.time.map(|limit| limit / 10);
    let limits = Limits { max_states: Some(PROBE_STATES), max_depth: None, time, ..Limits::default() };
    let control = Control::new(limits);
    let preparation = Preparation::new(&control, &part, None);
    let guide = build_guide("auto", model, &target, &preparation, Room::default(), &mut decisions).ok()?;
    let probing = Task { control: &control, ..task };
    let search = DirectedSearch {
        task: probing,
        governor: &part,
        guide: &*guide,
        aim: &target,
        priority: &priority::NoPriority,
        options: DirectedOptions::default(),
    };
    let mut report = directed::explore(&search);
    let Verdict::Violated(found) = &report.verdict else { return None };
    decisions.push(format!("  the probe found it in {} states", report.states));
    let depth = found.path.len() as u64;
    let control = Control::new(Limits {
        max_states: Some(SHORTER_STATES),
        max_depth: Some(depth),
        time,
        ..Limits::default()
    });
    let shorter = Task { control: &control, ..task };
    let breadth = hadal_search::ram::Search { task: shorter, governor: &part, threads: 1 };
    let again = hadal_search::ram::breadth::explore(&breadth);
    decisions.push(match &again.verdict {
        Verdict::Violated(_) => "  breadth-first search found a shortest trace".into(),
        Verdict::Stopped(StopReason::StateLimit) => {
            format!(
                "  breadth-first search found none in {SHORTER_STATES} states: the trace need not be shortest"
            )
        }
        _ => "  breadth-first search met a limit first: the trace need not be shortest".to_owned(),
    });
    if let Verdict::Violated(_) = again.verdict {
        report = Report { directed: report.directed, ..again };
    }
    Some(Explored { report, decisions })
}

/// Whether the user names properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Only those are asked about.
    Named,
    /// Everything is.
    Everything,
}

/// What a guide is to look for: the asked invariants and goals, and errors of the model where no property is named;
/// deadlocks where no property is asked about.
fn target(space: &dyn StateSpace, question: &Question, asked: Asked) -> Target {
    let properties: Vec<PropertyId> = (space.properties().iter().enumerate())
        .filter(|(_, property)| matches!(property.kind, PropertyKind::Invariant | PropertyKind::Goal))
        .map(|(n, _)| PropertyId(n as u32))
        .filter(|&id| question.asks(id))
        .collect();
    let deadlock = question.deadlock != DeadlockNotion::Off && properties.is_empty();
    Target { deadlock, faults: asked == Asked::Everything, properties }
}

fn describe(target: &Target, model: &Model) -> String {
    let mut parts: Vec<String> = match target.properties.as_slice() {
        [] => Vec::new(),
        [only] => vec![format!("`{}`", model.properties()[only.0 as usize].name)],
        many => vec![format!("any of {} properties", many.len())],
    };
    parts.extend(target.deadlock.then(|| "deadlocks".to_owned()));
    parts.extend(target.faults.then(|| "errors of the model".to_owned()));
    if parts.is_empty() { "nothing in particular".into() } else { parts.join(", ") }
}

/// The guide of this name.
fn build_guide<'m>(
    name: &str,
    model: &'m Model,
    target: &Target,
    meter: &dyn Meter,
    room: Room<'m>,
    decisions: &mut Vec<String>,
) -> Result<Box<dyn Guide + 'm>, GuideError> {
    if name == "blind" {
        return registry::build(name, model, target);
    }
    let prepared = registry::Prepared::metered(model, target, meter)?.within(room);
    let mut chosen = name;
    if name == "auto" {
        let choice = prepared.choose();
        decisions.push(format!("  {}", prepared.summary()));
        decisions.push(format!("  guide {}: {}", choice.name, choice.reason));
        chosen = choice.name;
    }
    let guide = prepared.guide(chosen)?;
    if let Some(disk) = prepared.room().opened_disk() {
        let written = disk.traffic.bytes_written();
        decisions.push(format!("  tables of the guide are on disk: {} MiB were written", written >> 20));
    }
    Ok(guide)
}
