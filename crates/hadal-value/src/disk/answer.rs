//! Questions answered on disk, in a folder that a run which was killed goes on from; or in RAM by the same sweeps.

use super::asked::{Solver, TIMED};
use super::graph::{DiskGraph, DiskOptions};
use super::journal::Journal;
use super::solve::Tier;
use crate::answer::{Answer, Needs, Size};
use crate::build::{BuildOptions, build};
use crate::evidence::Wanted::Nothing;
use crate::{Precision, SolveError};
use hadal_store::Governor;
use hadal_system::chance::Objective;
use hadal_system::{PropertyId, StateSpace, System};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Where a question is answered.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// A folder for the run's own folder, which is called after the question and goes with the answer.
    pub folder: &'a Path,
    /// How many bytes of RAM it may take.
    pub memory: u64,
    /// Where values are kept; `None`: in RAM where they fit, else in blocks.
    pub tier: Option<Tier>,
}

/// What is looked up before anything is explored.
pub(super) struct Wanted {
    pub propositions: Vec<usize>,
    marks: Vec<PropertyId>,
    /// Whether states without a choice of their own are marked behind the propositions.
    deadlock: bool,
    reward: Option<usize>,
}

impl Wanted {
    fn of(system: &System, objective: &Objective, precision: Precision) -> Result<Self, SolveError> {
        let refused = |reason| Err(SolveError::NotOnDisk(reason));
        if precision.exact {
            return refused(
                "values are bounds, not fractions, which eliminating unknowns needs all equations in RAM for: give more --memory \
                 with --tier auto, or a smaller --precision",
            );
        }
        if precision.paths != Nothing {
            return refused("paths are looked for in RAM: give more --memory with --tier auto");
        }
        let mut needs = Needs::default();
        needs.asked(&objective.asked);
        needs.formula(&objective.states);
        if needs.timed {
            return refused(TIMED);
        }
        if needs.rewards.len() > 1 {
            return refused(
                "a question has one reward: ask of each on its own, or give more --memory with --tier auto",
            );
        }
        let propositions: Vec<usize> = needs.propositions.into_iter().collect();
        let bases = system.property_bases();
        let marks = propositions.iter().map(|&p| PropertyId(bases[p])).collect();
        let (deadlock, reward) = (needs.deadlock, needs.rewards.first().copied());
        Ok(Wanted { propositions, marks, deadlock, reward })
    }
}

/// Explores `space` on disk and answers. Asked again after it was killed, it goes on from the last commit.
pub fn answer(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    precision: Precision,
    place: &Place,
) -> Result<Answer, SolveError> {
    // What is not answered leaves no folder behind.
    Wanted::of(system, objective, precision)?;
    let fingerprint = fingerprint(space, system, objective, (precision, place.tier));
    let path = place.folder.join(format!("values-{fingerprint:016x}"));
    let mut journal = Journal::open(&path, fingerprint, &Governor::new(place.memory))?;
    let answer = answer_with(space, system, objective, (precision, place.tier), &mut journal)?;
    drop(journal);
    // What is left behind is only space.
    let _ = std::fs::remove_dir_all(&path);
    Ok(answer)
}

/// The same with a journal that is at hand.
pub fn answer_with(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    (precision, tier): (Precision, Option<Tier>),
    journal: &mut Journal,
) -> Result<Answer, SolveError> {
    let wanted = Wanted::of(system, objective, precision)?;
    let resumed = journal.resumed();
    let options =
        DiskOptions { reward: wanted.reward, marks: wanted.marks.clone(), deadlock: wanted.deadlock };
    let graph = DiskGraph::build_in(space, &options, journal)?;
    let solver = Solver {
        rows: &graph,
        space,
        initial: &graph.initial,
        marks: &graph.marks,
        wanted: &wanted,
        system,
        precision,
        tier,
        disk: Some(journal.disk().clone()),
    };
    let mut answer = solver.answer(objective, Some(journal))?;
    answer.size = Size {
        states: graph.states,
        choices: graph.choices,
        branches: graph.branches,
        deadlocks: graph.deadlocks,
    };
    answer.resumed = resumed;
    Ok(answer)
}

/// Explores `space` in RAM and answers by the sweeps of the other tiers.
pub fn answer_in_ram(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: crate::Options,
) -> Result<Answer, SolveError> {
    let wanted = Wanted::of(system, objective, options.precision)?;
    let limits = BuildOptions {
        reward: wanted.reward,
        marks: wanted.marks.clone(),
        memory: options.memory,
        max_states: options.max_states,
        absorbing: None,
    };
    let mut built = build(space, &limits)?;
    if wanted.deadlock {
        let mut mark = vec![false; built.graph.states()];
        built.graph.deadlocks.iter().for_each(|&state| mark[state as usize] = true);
        built.marks.push(mark);
    }
    let initial: Vec<u64> = built.graph.initial.iter().map(|&s| u64::from(s)).collect();
    let solver = Solver {
        rows: &built,
        space,
        initial: &initial,
        marks: &built.marks,
        wanted: &wanted,
        system,
        precision: options.precision,
        tier: Some(Tier::Ram),
        disk: None,
    };
    let mut answer = solver.answer(objective, None)?;
    answer.size = Size::of(&built.graph);
    Ok(answer)
}

/// A number that another model, question or way to answer it would not have.
pub(super) fn fingerprint(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    (precision, tier): (Precision, Option<Tier>),
) -> u64 {
    let mut hasher = DefaultHasher::new();
    space.fingerprint().hash(&mut hasher);
    format!("{:?}", system.quantities).hash(&mut hasher);
    format!("{:?}", system.actions).hash(&mut hasher);
    format!("{:?}", system.properties).hash(&mut hasher);
    format!("{:?} {:?} {:?}", objective.asked, objective.states, objective.summary).hash(&mut hasher);
    (precision.policy, precision.certificate).hash(&mut hasher);
    precision.relative.to_bits().hash(&mut hasher);
    tier.map(Tier::name).hash(&mut hasher);
    hasher.finish()
}
