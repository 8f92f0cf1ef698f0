//! Safe abstraction in real time: parts that no clock knows, which can always be brought where they are needed in no time
//! (Wehrle 2011, sec. 5.5.1).

use crate::error::CheckError;
use hadal_exec::zones::ZoneSpace;
use hadal_exec::zones::concrete::{ConcreteTrace, TimedEnding};
use hadal_guide::shrink::{self, LabelTrace, Stage, TraceEnding};
use hadal_system::timed::{Bound, ClockRef, Reset, TimedSystem};
use hadal_system::visit::{self, Node};
use hadal_system::{Base, Expr, PropertyBody, VarId};

/// A timed system without its safe parts.
pub struct Safely {
    /// What is left.
    pub timed: TimedSystem,
    /// What was left out, stage by stage.
    pub stages: Vec<Stage>,
    /// The same for people.
    pub notes: Vec<String>,
}

/// Leaves out what is safe for the properties that are asked about, which are about states and not about deadlocks.
pub fn safely(timed: &TimedSystem, asked: &[bool]) -> Safely {
    let mut left = timed.clone();
    for (n, property) in left.system.properties.iter_mut().enumerate() {
        if !asked.get(n).copied().unwrap_or(false) {
            property.body = PropertyBody::State(Expr::constant(1));
        }
    }
    let mut safely = Safely { timed: left, stages: Vec::new(), notes: Vec::new() };
    let clauses = timed.formulas.iter().flatten().flat_map(|formula| &formula.clauses);
    if clauses.clone().any(|clause| clause.going_on.is_some()) {
        safely.notes.push("nothing is left out of the model: deadlocks are checked".into());
        return safely;
    }
    let compared: Vec<&Bound> = clauses.flat_map(|clause| &clause.bounds).collect();
    loop {
        let now = &safely.timed;
        let may = |part: &[VarId], moves: &[usize]| is_timeless(now, &compared, part, moves);
        let Some(stage) = shrink::safe_where(&now.system, &may) else { break };
        let name = |&var: &VarId| timed.system.variable(var).name.clone();
        let names: Vec<String> = stage.removed.iter().map(name).collect();
        safely.notes.push(format!("safely left out: {}", names.join(", ")));
        safely.timed.system = stage.system.clone();
        safely.stages.push(stage);
    }
    if safely.stages.is_empty() {
        safely.notes.push("no part without clocks can be left out safely".into());
    }
    safely
}

/// Whether no clock knows a part, and time passes wherever it is.
fn is_timeless(timed: &TimedSystem, compared: &[&Bound], part: &[VarId], moves: &[usize]) -> bool {
    let reads = |expr: &Expr| {
        let mut found = false;
        visit::expr(expr, &mut |node| {
            found |= matches!(node, Node::Place(place) if matches!(place.base, Base::Global(var) if part.contains(&var)));
        });
        found
    };
    let clock = |clock: &ClockRef| matches!(clock, ClockRef::Among { index, .. } if reads(index));
    let bound = |it: &Bound| {
        it.when.as_ref().is_some_and(&reads) || reads(&it.value) || clock(&it.left) || clock(&it.minus)
    };
    let reset = |it: &Reset| {
        it.when.as_ref().is_some_and(&reads) || reads(&it.value) || clock(&it.clock) || clock(&it.from)
    };
    let moved = moves.iter().map(|&action| &timed.timing[action]);
    let timed_moves =
        moved.into_iter().any(|it| !it.guard.is_empty() || !it.resets.is_empty() || it.price.is_some());
    let known = timed.timing.iter().any(|it| it.guard.iter().any(&bound) || it.resets.iter().any(&reset));
    let stays = timed.system.processes.iter().zip(&timed.processes).any(|(process, stays)| {
        let own = part.contains(&process.location);
        let waits = process.locations.iter().any(|location| location.committed);
        stays.stays.iter().any(|stay| {
            stay.invariant.iter().any(&bound)
                || own && (waits || stay.urgent || !stay.invariant.is_empty() || stay.rate.is_some())
        })
    });
    !timed_moves && !known && !stays && !timed.rush.iter().any(reads) && !compared.iter().any(|it| bound(it))
}

/// The run of the whole model behind a path of zones of what was left.
pub fn lifted(
    whole: &ZoneSpace,
    (left, stages): (&ZoneSpace, &[Stage]),
    path: &[Vec<u64>],
    ending: TimedEnding,
) -> Result<ConcreteTrace, CheckError> {
    let internal = |what: String| CheckError::Internal(what);
    let mut labels = left.labels(path).map_err(|error| internal(error.to_string()))?.into_iter();
    let start = labels.next().ok_or_else(|| internal("a trace without states".into()))?;
    let trace_ending = match ending {
        TimedEnding::Fault(label) => TraceEnding::Fault(label),
        _ => TraceEnding::State,
    };
    let trace = LabelTrace { start, labels: labels.collect(), ending: trace_ending };
    let system = &whole.timed().system;
    let trace = shrink::lift(system, stages, trace).map_err(|error| internal(error.to_string()))?;
    let states = shrink::states(system, &trace).map_err(|error| internal(error.to_string()))?;
    let discrete: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
    let labels: Vec<_> = std::iter::once(trace.start).chain(trace.labels).collect();
    whole.run_along(&discrete, &labels, ending).map_err(|error| internal(error.to_string()))
}
