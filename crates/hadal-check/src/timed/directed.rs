//! Directed search on zones: guides estimate on the discrete part, and keep what they promise, since every step of the
//! zone graph is one of the discrete system (Kupferschmid et al. 2006, on guiding the search in timed automata).

use crate::by::{By, Chosen};
use crate::directed::{Directing, TraceWay};
use crate::error::CheckError;
use crate::space::{SpaceOutcome, SpaceRun};
use hadal_exec::zones::ZoneSpace;
use hadal_guide::priority::build_timed;
use hadal_guide::priority::edges::ClockUse;
use hadal_guide::registry::Prepared;
use hadal_search::directed::{Directed, DirectedOptions, Order};
use hadal_search::external::{External, ExternalOptions, TraceBy};
use hadal_search::{Question, SearchTask, Setting};
use hadal_system::guide::{Distance, Estimator, Goal, Guide, Mask, Promises};
use hadal_system::timed::ClockRef;
use hadal_system::{Label, PropertyId, PropertyKind, StateSpace, TimedSystem};

/// What is used unless an order is named: traces stay short.
const USUAL_ORDER: Order = Order::Weighted(5000);

/// A guide of the discrete part.
struct OverZones<'g> {
    guide: Box<dyn Guide + 'g>,
    /// Words of the zone, in front.
    skip: usize,
}

struct OverZonesEstimator<'g> {
    estimator: Box<dyn Estimator + 'g>,
    skip: usize,
}

impl Guide for OverZones<'_> {
    fn name(&self) -> String {
        self.guide.name()
    }

    fn promises(&self) -> Promises {
        self.guide.promises()
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(OverZonesEstimator { estimator: self.guide.estimator(), skip: self.skip })
    }

    fn failure(&self) -> Option<String> {
        self.guide.failure()
    }
}

impl Estimator for OverZonesEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        self.estimator.estimate(&state[self.skip..], off)
    }

    fn work(&self) -> u64 {
        self.estimator.work()
    }

    fn supporters(&self) -> Option<&[Label]> {
        self.estimator.supporters()
    }

    fn keep_preferred(&mut self) {
        self.estimator.keep_preferred();
    }

    fn preferred(&self) -> &[Label] {
        self.estimator.preferred()
    }
}

/// Options of directed search that do not go with zones.
pub(super) fn refuse(args: &Directing) -> Result<(), CheckError> {
    let refused = |what: &str| Err(CheckError::Question(format!("{what} is not supported with clocks")));
    if args.calibration.is_some() || args.check_h {
        return refused("--calibration or --check-h");
    }
    if !is_external(args) && (args.trace_by.is_some() || args.external.cost_bound.is_some()) {
        return refused("--trace-by or --cost-bound without --order external-astar");
    }
    if args.trace_by == Some(TraceWay::Divide) {
        return Err(CheckError::Question(
            "--trace-by divide looks for states of the trace again, and zones that others cover are not kept: leave it out"
                .into(),
        ));
    }
    if is_external(args) && args.priority.as_deref().is_some_and(|name| name != "none") {
        return Err(CheckError::Question(
            "--order external-astar expands whole buckets: a --priority has nothing to say there".into(),
        ));
    }
    Ok(())
}

/// Whether states are kept on disk, by cost so far and estimate.
pub(super) fn is_external(args: &Directing) -> bool {
    args.order.as_deref() == Some("external-astar")
}

/// Which clocks the actions of a system test and reset.
fn clock_use(timed: &TimedSystem) -> ClockUse {
    let numbers = |clock: &ClockRef| match clock {
        ClockRef::Zero => 0..0,
        ClockRef::One(n) => n - 1..*n,
        ClockRef::Among { first, count, .. } => first - 1..first - 1 + count,
    };
    let reads = timed.timing.iter().map(|timing| {
        timing.guard.iter().flat_map(|bound| numbers(&bound.left).chain(numbers(&bound.minus))).collect()
    });
    let resets = timed
        .timing
        .iter()
        .map(|timing| timing.resets.iter().flat_map(|reset| numbers(&reset.clock)).collect());
    ClockUse { clocks: timed.clocks.len() as u32, reads: reads.collect(), resets: resets.collect() }
}

/// Looks for what is asked where a guide says it is near.
pub(super) fn explore(
    args: &Directing,
    space: &ZoneSpace,
    question: &Question,
    (run, by): (&SpaceRun, Option<(By, usize)>),
) -> Result<SpaceOutcome, CheckError> {
    let wrong = |what: String| CheckError::Question(what);
    let properties = space
        .properties()
        .iter()
        .enumerate()
        .filter(|(_, info)| matches!(info.kind, PropertyKind::Invariant | PropertyKind::Goal))
        .map(|(n, _)| PropertyId(n as u32))
        .filter(|&id| question.asks(id));
    let goal = Goal { properties: properties.collect(), ..Goal::default() };
    if goal.properties.is_empty() {
        return Err(wrong("--find needs something to look for: name a property or a --label".into()));
    }
    let prepared = Prepared::new(space.model(), &goal).map_err(|error| wrong(error.to_string()))?;
    let name = args.guide.as_deref().unwrap_or("auto");
    let chosen = if name == "auto" { prepared.choose().name } else { name };
    let guide = prepared.guide(chosen).map_err(|error| wrong(format!("--guide {name}: {error}")))?;
    let guide = OverZones { guide, skip: space.zone_words() };
    if is_external(args) {
        let options = ExternalOptions {
            trace_by: args.trace_by.map_or(TraceBy::default(), Into::into),
            bound: args.external.cost_bound,
            ..ExternalOptions::default()
        };
        let external = External { guide: &guide, goal: &goal, options };
        return match by {
            Some(by) => run.finish_with(by, Chosen::External(&external)),
            None => run.finish_by(&external),
        };
    }
    if by.is_some() {
        return Err(wrong("several workers share no order but --order external-astar".into()));
    }
    let order: Order = match &args.order {
        Some(text) => text.parse().map_err(|why| wrong(format!("--order {text}: {why}")))?,
        None => USUAL_ORDER,
    };
    let tie = match &args.tie {
        Some(text) => Some(text.parse().map_err(|why| wrong(format!("--tie {text}: {why}")))?),
        None => None,
    };
    let priority = args.priority.as_deref().unwrap_or("none");
    let priority = build_timed(priority, space.model(), &goal, &guide, &clock_use(space.timed()))
        .map_err(|error| wrong(format!("--priority {error}")))?;
    let options = DirectedOptions { order, tie, seed: args.seed, ..DirectedOptions::default() };
    let (control, governor) = (run.control(), run.governor());
    let task = SearchTask { space, question, control };
    let directed = Directed { guide: &guide, goal: &goal, priority: &*priority, options };
    let report = hadal_search::explore(&directed, Setting::in_ram(task, governor, 1))?.report;
    Ok(SpaceOutcome { report, warnings: control.warnings(), run: None })
}
