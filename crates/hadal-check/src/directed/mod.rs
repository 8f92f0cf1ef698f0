//! Directed search: what `find`, `guide`, `order` and `priority` stand for.

mod explore;
mod probe;

pub(crate) use explore::{Asked, OnDisk, explore, goal, interfering_first, nothing_yet, safety_part};
pub(crate) use probe::probe;

use crate::error::CheckError;
use hadal_guide::Use;
use hadal_search::directed::orders::{EXTERNAL, ORDERS, OrderInfo};
use hadal_search::directed::{Expansion, Order, Tie, Trust};
use hadal_search::external::{ExternalOptions, Flush, Steps, TraceBy};
use hadal_search::strategies::Resumes;
use serde::{Deserialize, Serialize};

/// What is used unless the user says: few states are seen, and the trace is shortened after.
const DEFAULT_ORDER: Order = Order::Greedy;

/// Options of External A*.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct ExternalDirecting {
    /// With --order external-astar or bfhs: ignore traces that cost more. A run of external-astar that found nothing
    /// continues with a larger bound by `hadal resume RUN --cost-bound N`.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub cost_bound: Option<u64>,
    /// With --order external-astar: write successors only when their turn comes, at the price of generating them twice.
    #[cfg_attr(feature = "clap", arg(long))]
    pub defer_flush: bool,
    /// With --order external-astar: merge, subtract and expand in separate steps with files between them, to measure
    /// what one pass saves.
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_pipeline: bool,
}

/// Options of directed search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Directing {
    /// Directed search: look for errors, or for the named goal, where a guide expects them. Finds errors in few states;
    /// the trace need not be shortest.
    #[cfg_attr(feature = "clap", arg(long))]
    pub find: bool,
    /// Estimates that guide the search (implies --find): one of [`hadal_guide::guides`].
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help = guide_help()))]
    pub guide: Option<String>,
    /// Which state next (implies --find): one of [`hadal_search::directed::orders`].
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help = order_help()))]
    pub order: Option<String>,
    /// With --order astar and external-astar, where the search works on disk: how the trace is rebuilt.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "WAY"))]
    pub trace_by: Option<TraceWay>,
    /// With a directed search: what every action of that name costs, or without a name, every other action; may be
    /// repeated. EXPR is a whole number from 0, over the state before and the action's parameters (docs/directed.md). By
    /// default a step costs 1.
    #[cfg_attr(feature = "clap", arg(long, value_name = "[ACTION=]EXPR"))]
    pub cost: Vec<String>,
    /// What External A* alone looks at.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub external: ExternalDirecting,
    /// Which transitions first (implies --find): one of [`hadal_guide::priority::PRIORITIES`].
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help = priority_help()))]
    pub priority: Option<String>,
    /// Which of two equally good states comes first: lifo, fifo, deep, random:SEED.
    #[cfg_attr(feature = "clap", arg(long, value_name = "RULE"))]
    pub tie: Option<String>,
    /// With a directed search: take the transitions of each state in an order drawn by this seed.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// With a directed search: generate all successors of a state, or stop at the first one that is better than the
    /// state.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "HOW"))]
    pub expand: Option<Expand>,
    /// With a directed search in RAM: check the guide's promises against every transition and every state found. No
    /// state is pruned then; a broken promise is an internal error.
    #[cfg_attr(feature = "clap", arg(long))]
    pub check_h: bool,
    /// With a directed search: follow the rules behind published figures to the letter.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "RULES"))]
    pub calibration: Option<Calibration>,
}

#[cfg(feature = "clap")]
fn guide_help() -> String {
    let all = hadal_guide::guides::list();
    format!("Estimates that guide the search (implies --find): {all} (docs/guides.md)")
}

#[cfg(feature = "clap")]
fn priority_help() -> String {
    let all = hadal_guide::priority::list();
    format!("Which transitions first (implies --find): {all} (docs/directed.md)")
}

#[cfg(feature = "clap")]
fn order_help() -> String {
    let all = hadal_search::directed::orders::list();
    format!("Which state next (implies --find): {all} (docs/directed.md, docs/external-astar.md)")
}

/// Rules to repeat published figures by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Calibration {
    /// Wehrle (2011): states are inserted unless closed, errors noticed when taken out, ties last in first out,
    /// transitions by channel and process.
    Seed,
}

/// How states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Expand {
    /// Generate all successors at once.
    Whole,
    /// A successor that is better than its parent comes first; the others wait.
    Partial,
}

/// How a trace is rebuilt from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
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

/// A directed search as asked for, checked.
#[derive(Clone, Debug)]
pub(crate) struct DirectedPlan {
    guide: String,
    order: Order,
    /// Whether it works on disk from the beginning.
    external: bool,
    trace_by: Option<TraceWay>,
    /// How External A* writes.
    writing: ExternalOptions,
    /// The one named; where it depends on the guide, none.
    priority: Option<String>,
    /// Breadth-first search runs beside it.
    race: bool,
    /// Whether what the guide promises is checked.
    trust: Trust,
    expansion: Expansion,
    tie: Option<Tie>,
    seed: Option<u64>,
    calibration: Option<Calibration>,
    /// Of breadth-first heuristic search.
    bound: Option<u64>,
    keep_layers: Option<u64>,
}

impl Directing {
    /// Whether the search is to be directed.
    pub fn is_asked(&self) -> bool {
        self.find || self.guide.is_some() || self.order.is_some() || self.priority.is_some()
    }

    /// The options that are given and need a directed search, or some orders of it, without their dashes.
    fn given(&self) -> Vec<&'static str> {
        let given = [
            ("cost", !self.cost.is_empty()),
            ("check-h", self.check_h),
            ("cost-bound", self.external.cost_bound.is_some()),
            ("defer-flush", self.external.defer_flush),
            ("no-pipeline", self.external.no_pipeline),
            ("trace-by", self.trace_by.is_some()),
            ("calibration", self.calibration.is_some()),
            ("expand", self.expand.is_some()),
            ("priority", self.priority.as_deref().is_some_and(|name| name != "none")),
            ("seed", self.seed.is_some()),
            ("tie", self.tie.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }

    /// What is asked for; nothing where the search is not to be directed.
    pub(crate) fn plan(&self, keep_layers: Option<u64>) -> Result<Option<DirectedPlan>, CheckError> {
        if !self.is_asked() {
            return match self.given().first() {
                None => Ok(None),
                Some(option) => Err(CheckError::Question(format!(
                    "--{option} belongs to a directed search: add --find, --guide, or an order such as --order astar"
                ))),
            };
        }
        let wrong =
            |option: &str, text: &str, why: String| CheckError::Question(format!("--{option} {text}: {why}"));
        let seeded = self.calibration.is_some();
        let external = self.order.as_deref() == Some(EXTERNAL);
        let order = match &self.order {
            Some(_) if external => Order::AStar,
            Some(text) => text.parse().map_err(|why| wrong("order", text, why))?,
            None if seeded => Order::Greedy,
            None => DEFAULT_ORDER,
        };
        let info = self.order.as_deref().and_then(OrderInfo::named).unwrap_or_else(|| order.info());
        // Costs and whole expansion go with every order.
        let whole = self.expand != Some(Expand::Partial);
        let always = |option: &str| option == "cost" || option == "expand" && whole;
        if let Some(option) = self.given().into_iter().find(|option| !always(option) && !info.takes(option)) {
            let takers = ORDERS.iter().filter(|info| info.takes(option)).map(OrderInfo::spelling);
            return Err(CheckError::Question(format!(
                "--{option} does not go with --order {}: choose {}",
                info.spelling(),
                takers.collect::<Vec<_>>().join(", ")
            )));
        }
        if keep_layers.is_some() {
            self.may_free_layers()?;
        }
        let tie = match &self.tie {
            Some(text) => Some(text.parse().map_err(|why| wrong("tie", text, why))?),
            None => None,
        };
        if self.expand == Some(Expand::Partial) && seeded {
            return Err(CheckError::Question("--expand partial goes without --calibration".into()));
        }
        Ok(Some(DirectedPlan {
            guide: self.guide.clone().unwrap_or_else(|| "auto".into()),
            order,
            external,
            trace_by: self.trace_by,
            writing: ExternalOptions {
                bound: self.external.cost_bound,
                flush: if self.external.defer_flush { Flush::Deferred } else { Flush::AtOnce },
                steps: if self.external.no_pipeline { Steps::Apart } else { Steps::Fused },
                ..ExternalOptions::default()
            },
            priority: match &self.priority {
                None if self.order.is_some() || seeded => Some("none".into()),
                name => name.clone(),
            },
            race: self.order.is_none() && !seeded && !self.check_h,
            trust: if self.check_h { Trust::Audited } else { Trust::Believed },
            expansion: match self.expand {
                Some(Expand::Partial) => Expansion::Partial,
                // Unless an order is named, a step down is followed at once.
                None if self.order.is_none() && !seeded => Expansion::Partial,
                Some(Expand::Whole) | None => Expansion::Whole,
            },
            tie,
            seed: self.seed,
            calibration: self.calibration,
            bound: self.external.cost_bound,
            keep_layers,
        }))
    }

    /// Whether the order is one that may keep some layers only.
    pub(crate) fn takes_kept_layers(&self) -> bool {
        self.order.as_deref().and_then(OrderInfo::named).is_some_and(|info| info.takes("keep-layers"))
    }

    /// Refuses what does not go with layers that are freed.
    fn may_free_layers(&self) -> Result<(), CheckError> {
        let beside =
            [("tie", self.tie.is_some()), ("check-h", self.check_h), ("cost", !self.cost.is_empty())];
        if let Some((option, _)) = beside.into_iter().find(|(_, is_given)| *is_given) {
            return Err(CheckError::Question(format!(
                "--{option} does not go with --keep-layers, which forgets layers of equal depth"
            )));
        }
        match self.external.cost_bound {
            Some(_) => Ok(()),
            None => Err(CheckError::Question(
                "a search that frees layers ends at a bound: add --cost-bound N to --keep-layers".into(),
            )),
        }
    }
}

impl DirectedPlan {
    /// Whether it works on disk, or may go on there.
    pub(crate) fn uses_disk(&self) -> bool {
        self.external || self.order.info().resumes != Resumes::Nothing
    }

    /// What a guide is for: whether the order relies on what it promises.
    fn use_of_guide(&self) -> Use {
        match self.order.info().promises.optimal {
            true => Use::Proof,
            false => Use::Hint,
        }
    }

    /// Whether breadth-first search is to run beside it.
    pub(crate) fn races(&self) -> bool {
        self.race
    }
}
