//! The classic searches for accepted cycles, in RAM: to compare with, and to check the sweeps of [`crate::fixpoint`] by.
//!
//! All of them explore with one [`graph::Graph`], which numbers states, remembers how each was met, and reports errors of
//! the model on the way. An engine answers with a state on an accepted cycle; the way round is found afterwards.

pub mod as_safety;
mod cndfs;
mod couvreur;
pub mod external;
mod graph;
mod nested;
mod offline;
mod round;
mod shared;
mod streett;
mod ufscc;

use crate::explore::Setting;
use crate::ram::breadth::TABLE;
use crate::report::{Report, StopReason, Verdict, Violation, ViolationKind};
use crate::run::out_of_memory;
use graph::{End, Graph};
use hadal_store::OverBudget;
use hadal_store::table::StateTable;
use hadal_system::Acceptance;
use shared::Shared;

/// Which search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Nested depth-first search.
    Nested,
    /// Nested depth-first search that looks at the claim's components first.
    Driven,
    /// Strongly connected components.
    Components,
    /// One way catch them young.
    Owcty,
    /// Maximal accepting predecessors.
    Map,
    /// Nested depth-first search on several threads.
    SharedNested,
    /// Strongly connected components on several threads.
    SharedComponents,
}

/// What an engine needs that the space does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuited {
    /// The space says nothing about accepted runs.
    #[error("nothing is asked about infinite runs that a claim accepts")]
    NoAcceptance,
    /// It needs one acceptance set, on states.
    #[error("this search needs one acceptance set of states; fairness has more: use sweep or scc")]
    SeveralSets,
    /// It knows nothing of strong fairness.
    #[error("this search knows no strong fairness: use sweep or scc")]
    Pairs,
}

/// An engine's answer: a state on an accepted cycle, and the states that the cycle may pass.
struct Seed {
    state: u64,
    among: Option<std::collections::HashSet<u64>>,
    /// The acceptance sets that the cycle has to meet besides passing the state.
    wanted: u64,
}

/// Looks for an accepted cycle, or sees every state without meeting one.
pub fn explore(search: &Setting, engine: Engine) -> Result<Report, Unsuited> {
    let acceptance = search.task.space.acceptance().ok_or(Unsuited::NoAcceptance)?;
    let any_sets = matches!(engine, Engine::Components | Engine::SharedComponents);
    if !any_sets && (acceptance.sets != 1 || !acceptance.on_states) {
        return Err(Unsuited::SeveralSets);
    }
    if acceptance.pairs > 0 && engine != Engine::Components {
        return Err(Unsuited::Pairs);
    }
    let ended = match engine {
        Engine::SharedNested | Engine::SharedComponents => together(search, acceptance, engine),
        _ => alone(search, acceptance, engine),
    };
    Ok(ended.unwrap_or_else(|full| stopped_as(search, Verdict::Stopped(out_of_memory(full)))))
}

/// On one thread.
fn alone(search: &Setting, acceptance: Acceptance, engine: Engine) -> Result<Report, OverBudget> {
    let mut graph = Graph::new(search, acceptance)?;
    let found = match engine {
        Engine::Driven => nested::search(&mut graph, nested::Guide::Components),
        Engine::Components if acceptance.pairs > 0 => streett::search(&mut graph),
        Engine::Components | Engine::SharedComponents => couvreur::search(&mut graph),
        Engine::Owcty => offline::owcty(&mut graph),
        Engine::Map => offline::map(&mut graph),
        Engine::Nested | Engine::SharedNested => nested::search(&mut graph, nested::Guide::None),
    };
    let verdict = match found {
        Ok(None) => Verdict::Holds,
        Ok(Some(seed)) => closed(&mut graph, &seed),
        Err(end) => ended(end),
    };
    let (states, transitions) = (graph.len(), graph.transitions);
    Ok(Report { states, transitions, ..stopped_as(search, verdict) })
}

/// On all threads. What they find is looked for again on one, with the way there.
fn together(search: &Setting, acceptance: Acceptance, engine: Engine) -> Result<Report, OverBudget> {
    let mut states = StateTable::new(search.task.space.words(), 0, search.threads.max(1), search.governor)?;
    let (table, writers) = states.share();
    let shared = Shared::new(search, acceptance, table);
    let found = match engine {
        Engine::SharedComponents => {
            ufscc::search(&shared, writers).map(|found| (found.seed, Some(found.among)))
        }
        _ => cndfs::search(&shared, writers).map(|seed| (seed, None)),
    };
    let (reason, count) = (shared.reason(), shared.len());
    let transitions = shared.transitions.load(std::sync::atomic::Ordering::Relaxed);
    // The search on one thread needs the memory.
    drop(shared);
    drop(states);
    let verdict = match (found, reason) {
        (Some((seed, among)), _) => {
            let mut graph = Graph::new(search, acceptance)?;
            match located(&mut graph, &seed, among) {
                Ok(seed) => closed(&mut graph, &seed),
                Err(end) => ended(end),
            }
        }
        (None, Some(End::Wrong(Violation { kind, path, .. }))) if path.len() == 1 => {
            let mut graph = Graph::new(search, acceptance)?;
            match graph.seek(&path[0]) {
                Ok(Some(n)) => Verdict::Violated(Violation { kind, path: graph.path(n), shortest: false }),
                Ok(None) => Verdict::Stopped(StopReason::Incomplete),
                Err(end) => ended(end),
            }
        }
        (None, Some(end)) => ended(end),
        (None, None) => Verdict::Holds,
    };
    Ok(Report { states: count, transitions, ..stopped_as(search, verdict) })
}

/// What threads found, in a graph of one.
fn located(graph: &mut Graph, seed: &[u64], among: Option<Vec<Vec<u64>>>) -> Result<Seed, End> {
    // Whatever they found, they reached.
    let Some(state) = graph.seek(seed)? else { return Err(End::Stopped(StopReason::Incomplete)) };
    let wanted = if among.is_some() && !graph.acceptance.weak { graph.all() } else { 0 };
    let among = among.map(|among| graph.adopt(&among)).transpose()?;
    Ok(Seed { state, among: among.map(|among| among.into_iter().collect()), wanted })
}

/// The lasso through a seed.
fn closed(graph: &mut Graph, seed: &Seed) -> Verdict {
    let round = match round::close(graph, seed) {
        Ok(round) => round,
        Err(end) => return ended(end),
    };
    let mut path = graph.path(round[0]);
    let kind = ViolationKind::Cycle { property: graph.acceptance.property, loop_from: path.len() - 1 };
    path.extend(round[1..].iter().map(|&n| graph.state(n).to_vec()));
    Verdict::Violated(Violation { kind, path, shortest: false })
}

fn ended(end: End) -> Verdict {
    match end {
        End::Wrong(violation) => Verdict::Violated(violation),
        End::Full(full) => Verdict::Stopped(out_of_memory(full)),
        End::Stopped(reason) => Verdict::Stopped(reason),
    }
}

fn stopped_as(search: &Setting, verdict: Verdict) -> Report {
    Report::of_nothing(search.task, search.governor, verdict, TABLE)
}
