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

use crate::explore::{Explored, Explorer, Method, Progress, Setting};
use crate::layered::Trouble;
use crate::ram::breadth::TABLE;
use crate::report::{Report, StopReason, Verdict, Violation, ViolationKind};
use crate::resting::{Reins, Resting};
use crate::run::out_of_memory;
use crate::strategies::Resumes;
use graph::{End, Graph};
use hadal_store::OverBudget;
use hadal_store::table::StateTable;
use hadal_system::Acceptance;
use shared::Shared;
use std::sync::Arc;

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
    #[error("there is no question about infinite runs that a claim accepts")]
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
impl Method for Engine {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let acceptance = self.suits(&setting)?;
        let reins = Reins::new(setting.task.control, setting.governor, Progress::NOTHING);
        let (engine, search) = (*self, Arc::clone(&reins));
        Ok(Box::new(Resting::new(reins, async move {
            let under = Under { setting: &setting, reins: &search, acceptance };
            let ended = match engine {
                Engine::SharedNested | Engine::SharedComponents => under.together(engine).await,
                _ => under.alone(engine).await,
            };
            let report = ended.unwrap_or_else(|full| under.stopped_as(Verdict::Stopped(out_of_memory(full))));
            Ok(Explored::leaving(report, Resumes::Nothing))
        })))
    }
}

impl Engine {
    fn suits(self, search: &Setting) -> Result<Acceptance, Unsuited> {
        let acceptance = search.task.space.acceptance().ok_or(Unsuited::NoAcceptance)?;
        let any_sets = matches!(self, Engine::Components | Engine::SharedComponents);
        if !any_sets && (acceptance.sets != 1 || !acceptance.on_states) {
            return Err(Unsuited::SeveralSets);
        }
        if acceptance.pairs > 0 && self != Engine::Components {
            return Err(Unsuited::Pairs);
        }
        Ok(acceptance)
    }
}

/// A search under way.
struct Under<'s> {
    setting: &'s Setting<'s>,
    reins: &'s Reins<'s>,
    acceptance: Acceptance,
}

impl<'s> Under<'s> {
    fn graph(&self) -> Result<Graph<'s>, OverBudget> {
        Graph::new((self.setting, self.reins), self.acceptance)
    }

    fn stopped_as(&self, verdict: Verdict) -> Report {
        let proviso = self.reins.proviso(&verdict);
        Report { proviso, ..Report::of_nothing(self.setting.task, self.setting.governor, verdict, TABLE) }
    }

    /// On one thread.
    async fn alone(&self, engine: Engine) -> Result<Report, OverBudget> {
        let mut graph = self.graph()?;
        let found = match engine {
            Engine::Driven => nested::search(&mut graph, nested::Guide::Components).await,
            Engine::Components if self.acceptance.pairs > 0 => streett::search(&mut graph).await,
            Engine::Components | Engine::SharedComponents => couvreur::search(&mut graph).await,
            Engine::Owcty => offline::owcty(&mut graph).await,
            Engine::Map => offline::map(&mut graph).await,
            Engine::Nested | Engine::SharedNested => nested::search(&mut graph, nested::Guide::None).await,
        };
        let verdict = match found {
            Ok(None) => Verdict::Holds,
            Ok(Some(seed)) => closed(&mut graph, &seed).await,
            Err(end) => ended(end),
        };
        let (states, transitions) = (graph.len(), graph.transitions);
        Ok(Report { states, transitions, ..self.stopped_as(verdict) })
    }

    /// On all threads. What they find is looked for again on one, with the way there.
    async fn together(&self, engine: Engine) -> Result<Report, OverBudget> {
        let search = self.setting;
        let mut states =
            StateTable::new(search.task.space.words(), 0, search.threads.max(1), search.governor)?;
        let (table, writers) = states.share();
        let shared = Shared::new((search, self.reins), self.acceptance, table);
        let found = match engine {
            Engine::SharedComponents => {
                ufscc::search(&shared, writers).await.map(|found| (found.seed, Some(found.among)))
            }
            _ => cndfs::search(&shared, writers).await.map(|seed| (seed, None)),
        };
        let (reason, count) = (shared.reason(), shared.len());
        let transitions = shared.transitions.load(std::sync::atomic::Ordering::Relaxed);
        // The search on one thread needs the memory.
        drop(shared);
        drop(states);
        let verdict = match (found, reason) {
            (Some((seed, among)), _) => {
                self.reins.found();
                let mut graph = self.graph()?;
                match located(&mut graph, &seed, among).await {
                    Ok(seed) => closed(&mut graph, &seed).await,
                    Err(end) => ended(end),
                }
            }
            (None, Some(End::Wrong(Violation { kind, path, .. }))) if path.len() == 1 => {
                self.reins.found();
                let mut graph = self.graph()?;
                match graph.seek(&path[0]).await {
                    Ok(Some(n)) => {
                        Verdict::Violated(Violation { kind, path: graph.path(n), shortest: false })
                    }
                    Ok(None) => Verdict::Stopped(StopReason::Incomplete),
                    Err(end) => ended(end),
                }
            }
            (None, Some(end)) => ended(end),
            (None, None) => Verdict::Holds,
        };
        Ok(Report { states: count, transitions, ..self.stopped_as(verdict) })
    }
}

/// What threads found, in a graph of one.
async fn located(graph: &mut Graph<'_>, seed: &[u64], among: Option<Vec<Vec<u64>>>) -> Result<Seed, End> {
    // Whatever they found, they reached.
    let Some(state) = graph.seek(seed).await? else { return Err(End::Stopped(StopReason::Incomplete)) };
    let wanted = if among.is_some() && !graph.acceptance.weak { graph.all() } else { 0 };
    let among = among.map(|among| graph.adopt(&among)).transpose()?;
    Ok(Seed { state, among: among.map(|among| among.into_iter().collect()), wanted })
}

/// The lasso through a seed.
async fn closed(graph: &mut Graph<'_>, seed: &Seed) -> Verdict {
    graph.reins.found();
    let round = match round::close(graph, seed).await {
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
