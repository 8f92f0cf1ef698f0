//! Directed search from the command line: what `--find`, `--guide`, `--order` and `--priority` stand for, and the guided
//! probe that `auto` begins with where a goal is named.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use hadal_exec::model::Model;
use hadal_guide::{Guide, Target, priority, registry};
use hadal_search::directed::{self, DirectedOptions, DirectedSearch, Insertion, Order, Tie, Traces};
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, StopReason, Task, Verdict};
use hadal_store::Governor;
use hadal_system::{PropertyId, PropertyKind, StateSpace};
use serde::{Deserialize, Serialize};

/// States that a probe expands at most.
const PROBE_STATES: u64 = 100_000;
/// States that are looked through breadth-first for a shorter trace than a probe's, at most.
const SHORTER_STATES: u64 = 2_000_000;
/// The share of the budget that a probe may use.
const PROBE_SHARE: u64 = 4;

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
    /// Which state next (implies --find): alternate, greedy, astar, wastar:W, ehc, beam:WIDTH, ida, bfhs, bfs, dfs, ucs.
    #[arg(long, value_name = "NAME")]
    pub order: Option<String>,
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

/// A directed search as asked for, checked.
#[derive(Clone, Debug)]
pub struct DirectedPlan {
    guide: String,
    order: Order,
    priority: String,
    tie: Option<Tie>,
    seed: Option<u64>,
    calibration: Option<Calibration>,
}

impl DirectedArgs {
    /// What is asked for; nothing where the search is not to be directed.
    pub fn plan(&self) -> Result<Option<DirectedPlan>, Failure> {
        let asked = self.find || self.guide.is_some() || self.order.is_some() || self.priority.is_some();
        if !asked {
            return match (&self.tie, self.seed, self.calibration) {
                (None, None, None) => Ok(None),
                _ => Err(Failure::Usage(
                    "--tie, --seed and --calibration belong to a directed search: add --find".into(),
                )),
            };
        }
        let wrong =
            |option: &str, text: &str, why: String| Failure::Usage(format!("--{option} {text}: {why}"));
        let seeded = self.calibration.is_some();
        let order = match &self.order {
            Some(text) => text.parse().map_err(|why| wrong("order", text, why))?,
            None if seeded => Order::Greedy,
            None => Order::Alternating,
        };
        let tie = match &self.tie {
            Some(text) => Some(text.parse().map_err(|why| wrong("tie", text, why))?),
            None => None,
        };
        if seeded && !matches!(order, Order::Greedy | Order::AStar | Order::Breadth | Order::Depth) {
            return Err(Failure::Usage("--calibration goes with --order greedy, astar, bfs or dfs".into()));
        }
        let many_queues = matches!(
            order,
            Order::HillClimbing | Order::Beam(_) | Order::IterativeDeepening | Order::BreadthHeuristic
        );
        if many_queues && self.priority.as_deref().is_some_and(|name| name != "none") {
            return Err(Failure::Usage(format!(
                "--order {order} has no queues that --priority could fill: choose greedy, astar, wastar, bfs, dfs or ucs"
            )));
        }
        Ok(Some(DirectedPlan {
            guide: self.guide.clone().unwrap_or_else(|| "auto".into()),
            order,
            priority: self.priority.clone().unwrap_or_else(|| "none".into()),
            tie,
            seed: self.seed,
            calibration: self.calibration,
        }))
    }
}

/// What a directed search came to, and how it was set up.
pub struct Explored {
    /// The answer.
    pub report: Report,
    /// What was decided and why, line by line.
    pub decisions: Vec<String>,
}

/// Explores as planned.
pub fn explore(
    plan: &DirectedPlan,
    model: &Model,
    task: Task,
    asked: Asked,
    governor: &Governor,
) -> Result<Explored, Failure> {
    let target = target(task.space, task.question, asked);
    let mut decisions = vec![format!("  looking for {}", describe(&target, model))];
    let guide = build_guide(&plan.guide, model, &target, &mut decisions)?;
    let priority = priority::build(&plan.priority, model, &target, &*guide)
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
    let search =
        DirectedSearch { task, governor, guide: &*guide, aim: &target, priority: &*priority, options };
    decisions.push(if search.may_prune() {
        "  states from which the guide proves that nothing asked about can be reached are left out".into()
    } else {
        "  no state is left out: the guide does not prove that what is asked about cannot be reached".into()
    });
    Ok(Explored { report: directed::explore(&search), decisions })
}

/// Where a named goal may be reachable, a short guided search before the breadth-first one. What it finds is replaced by a
/// shortest trace where a bounded breadth-first search finds one. Nothing where the other search is to go on.
pub fn probe(model: &Model, task: Task, governor: &Governor) -> Option<Explored> {
    let properties = task.space.properties();
    task.question.of_kind(properties, PropertyKind::Goal).next()?;
    let target = target(task.space, task.question, Asked::Named);
    let mut decisions =
        vec!["  a goal is named: a guided probe goes before the breadth-first search".to_owned()];
    let guide = build_guide("auto", model, &target, &mut decisions).ok()?;
    let part = governor.part(governor.limit() / PROBE_SHARE);
    let time = task.control.limits.time.map(|limit| limit / 10);
    let limits = Limits { max_states: Some(PROBE_STATES), max_depth: None, time, ..Limits::default() };
    let control = Control::new(limits);
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

fn build_guide<'m>(
    name: &str,
    model: &'m Model,
    target: &Target,
    decisions: &mut Vec<String>,
) -> Result<Box<dyn Guide + 'm>, Failure> {
    let wrong = |error: hadal_guide::GuideError| Failure::Usage(format!("--guide {name}: {error}"));
    if name != "auto" {
        return registry::build(name, model, target).map_err(wrong);
    }
    let prepared = registry::Prepared::new(model, target).map_err(wrong)?;
    let choice = prepared.choose();
    decisions.push(format!("  {}", prepared.summary()));
    decisions.push(format!("  guide {}: {}", choice.name, choice.reason));
    prepared.guide(choice.name).map_err(wrong)
}
