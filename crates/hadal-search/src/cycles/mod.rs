//! The classic searches for accepted cycles, in RAM: to compare with, and to check the sweeps of [`crate::fixpoint`] by.
//!
//! All of them explore with one [`graph::Graph`], which numbers states, remembers how each was met, and reports errors of
//! the model on the way. An engine answers with a state on an accepted cycle; the way round is found afterwards.

pub mod as_safety;
mod couvreur;
mod graph;
mod nested;
mod offline;
mod round;

use crate::ram::Search;
use crate::ram::breadth::TABLE;
use crate::report::{Report, StopReason, Verdict, Violation, ViolationKind};
use crate::run::out_of_memory;
use graph::{End, Graph};

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
}

/// An engine's answer: a state on an accepted cycle, and the states that the cycle may pass.
struct Seed {
    state: u64,
    among: Option<std::collections::HashSet<u64>>,
}

/// Looks for an accepted cycle, or sees every state without meeting one.
pub fn explore(search: &Search, engine: Engine) -> Result<Report, Unsuited> {
    let acceptance = search.task.space.acceptance().ok_or(Unsuited::NoAcceptance)?;
    if engine != Engine::Components && (acceptance.sets != 1 || !acceptance.on_states) {
        return Err(Unsuited::SeveralSets);
    }
    let mut graph = match Graph::new(search, acceptance) {
        Ok(graph) => graph,
        Err(full) => return Ok(stopped(search, out_of_memory(full))),
    };
    let found = match engine {
        Engine::Nested => nested::search(&mut graph, nested::Guide::None),
        Engine::Driven => nested::search(&mut graph, nested::Guide::Components),
        Engine::Components => couvreur::search(&mut graph),
        Engine::Owcty => offline::owcty(&mut graph),
        Engine::Map => offline::map(&mut graph),
    };
    let ended = found.and_then(|seed| match seed {
        None => Ok(None),
        Some(seed) => round::close(&mut graph, &seed).map(Some),
    });
    let verdict = match ended {
        Ok(None) => Verdict::Holds,
        Ok(Some(round)) => {
            let mut path = graph.path(round[0]);
            let kind = ViolationKind::Cycle { property: acceptance.property, loop_from: path.len() - 1 };
            path.extend(round[1..].iter().map(|&n| graph.state(n).to_vec()));
            Verdict::Violated(Violation { kind, path, shortest: false })
        }
        Err(End::Wrong(violation)) => Verdict::Violated(violation),
        Err(End::Full(full)) => Verdict::Stopped(out_of_memory(full)),
        Err(End::Stopped(reason)) => Verdict::Stopped(reason),
    };
    Ok(Report {
        states: graph.len(),
        transitions: graph.transitions,
        peak_memory: search.governor.peak(),
        ..stopped_as(search, verdict)
    })
}

fn stopped(search: &Search, reason: StopReason) -> Report {
    stopped_as(search, Verdict::Stopped(reason))
}

fn stopped_as(search: &Search, verdict: Verdict) -> Report {
    Report {
        verdict,
        states: 0,
        transitions: 0,
        depth: None,
        layers: Vec::new(),
        covers: vec![0; search.task.space.properties().len()],
        actions: Vec::new(),
        peak_memory: search.governor.peak(),
        stages: vec![TABLE],
        disk: None,
        partition: None,
        proviso: None,
        covering: None,
        directed: None,
    }
}
