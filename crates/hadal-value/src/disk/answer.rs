//! Questions answered on disk, in a folder that a run which was killed goes on from; or in RAM by the same sweeps.

use super::asked::{Solver, uncomplemented};
use super::company::Company;
use super::earning::{Column, Earned, Earning, column_of};
use super::graph::{DiskGraph, DiskOptions};
use super::journal::Journal;
use super::moving::move_in;
use super::rows::ByRank;
use super::solve::Tier;
use crate::answer::{Answer, Leftover, Moved, Needs, Size};
use crate::build::{BuildOptions, Built, build};
use crate::product::{Beside, Product};
use crate::{Precision, SolveError};
use hadal_store::Governor;
use hadal_system::chance::{Asked, Formula, Measure, Objective};
use hadal_system::{PropertyId, StateSpace, System};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// One of several workers that answer together.
pub struct Member<'a> {
    /// All of them.
    pub company: Company,
    /// The folder of its own run.
    pub folder: &'a Path,
    /// What it may take.
    pub governor: Governor,
    /// Folders of workers of another number that committed something: those that this one reads.
    pub former: &'a [PathBuf],
}

/// What is looked up before anything is explored.
pub(super) struct Wanted {
    pub propositions: Vec<usize>,
    marks: Vec<PropertyId>,
    /// Whether states without a choice of their own are marked behind the propositions.
    deadlock: bool,
    reward: Option<usize>,
    /// Other rewards, and how long states last where that matters.
    others: Vec<usize>,
}

impl Wanted {
    fn of(system: &System, objective: &Objective) -> Self {
        let mut needs = Needs::default();
        needs.asked(&objective.asked);
        needs.formula(&objective.states);
        needs.rewards.extend(system.quantities.sojourn.filter(|_| needs.timed));
        let propositions: Vec<usize> = needs.propositions.into_iter().collect();
        let bases = system.property_bases();
        let marks = propositions.iter().map(|&p| PropertyId(bases[p])).collect();
        let mut rewards = needs.rewards.into_iter();
        let (deadlock, reward, others) = (needs.deadlock, rewards.next(), rewards.collect());
        Wanted { propositions, marks, deadlock, reward, others }
    }

    fn options(&self) -> DiskOptions {
        DiskOptions {
            reward: self.reward,
            others: self.others.clone(),
            marks: self.marks.clone(),
            deadlock: self.deadlock,
        }
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
    let fingerprint = fingerprint(space, system, objective, (precision, place.tier));
    let path = place.folder.join(format!("values-{fingerprint:016x}"));
    let mut journal = Journal::open(&path, fingerprint, &Governor::new(place.memory))?;
    let answer = answer_with(space, system, objective, (precision, place.tier), &mut journal);
    if matches!(&answer, Err(error) if error.is_resumable()) {
        return answer;
    }
    let folder = Some(Arc::new(Leftover(path)));
    answer.map(|answer| Answer { folder, ..answer })
}

/// The same with a journal that is at hand.
pub fn answer_with(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    (precision, tier): (Precision, Option<Tier>),
    journal: &mut Journal,
) -> Result<Answer, SolveError> {
    let wanted = Wanted::of(system, objective);
    let asked = Question { space, system, objective, precision, tier, wanted: &wanted };
    let followed = followed(objective);
    match followed.as_ref().and_then(beside) {
        None => asked.on_disk(space, (wanted.options(), false), journal),
        Some(beside) => {
            let product = Product::new(space, system.property_bases(), beside)?;
            let options = DiskOptions { marks: product.marks(), ..DiskOptions::default() };
            let found = asked.on_disk(&product, (options, true), journal);
            found.map_err(|error| product.refusal().unwrap_or(error))
        }
    }
}

/// Answers together with other workers, all of which do the same. They have the value of one process to the bit. Asked again after
/// any of them was killed, they go on from their last common commit.
pub fn answer_among(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    precision: Precision,
    member: &Member,
) -> Result<Answer, SolveError> {
    let Member { company, folder, governor, former } = member;
    let tier = Some(Tier::SemiExternal);
    let fingerprint = fingerprint(space, system, objective, (precision, tier));
    let mut journal = Journal::open_among(folder, fingerprint, governor, company)?;
    let begun = former.iter().filter(|path| path.is_dir());
    let former: Result<Vec<Journal>, _> =
        begun.map(|path| Journal::open(path, fingerprint, governor)).collect();
    journal.follows(former?);
    answer_with(space, system, objective, (precision, tier), &mut journal)
}

/// Explores `space` in RAM and answers by the sweeps of the other tiers.
pub fn answer_in_ram(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: crate::Options,
) -> Result<Answer, SolveError> {
    let precision = options.precision;
    let wanted = Wanted::of(system, objective);
    let asked = Question { space, system, objective, precision, tier: Some(Tier::Ram), wanted: &wanted };
    let limits = BuildOptions {
        reward: wanted.reward,
        marks: wanted.marks.clone(),
        memory: options.memory,
        max_states: options.max_states,
        absorbing: None,
    };
    let followed = followed(objective);
    match followed.as_ref().and_then(beside) {
        None => {
            let mut built = build(space, &limits)?;
            if wanted.deadlock {
                let mut mark = vec![false; built.graph.states()];
                built.graph.deadlocks.iter().for_each(|&state| mark[state as usize] = true);
                built.marks.push(mark);
            }
            let columns = columns(space, &wanted, (&limits, &mut built))?;
            asked.in_ram(&built, &columns, false)
        }
        Some(beside) => {
            let product = Product::new(space, system.property_bases(), beside)?;
            let limits = BuildOptions { reward: None, marks: product.marks(), ..limits };
            let found = build(&product, &limits).map_err(SolveError::from);
            let found = found.and_then(|built| asked.in_ram(&built, &[], true));
            found.map_err(|error| product.refusal().unwrap_or(error))
        }
    }
}

/// What choices earn of other rewards.
fn columns(
    space: &dyn StateSpace,
    wanted: &Wanted,
    (limits, built): (&BuildOptions, &mut Built),
) -> Result<Vec<Column>, SolveError> {
    let mut columns = Vec::with_capacity(wanted.others.len());
    let order = if wanted.others.is_empty() { Vec::new() } else { ByRank::of(built).order() };
    for &reward in &wanted.others {
        let limits = BuildOptions { reward: Some(reward), marks: Vec::new(), ..limits.clone() };
        let other = build(space, &limits)?.graph;
        columns.push(Column { reward, kept: Earned::Ram(column_of(&mut built.graph, &other, &order)) });
    }
    Ok(columns)
}

/// What is asked of a space, and how.
struct Question<'a> {
    space: &'a dyn StateSpace,
    system: &'a System,
    objective: &'a Objective,
    precision: Precision,
    tier: Option<Tier>,
    wanted: &'a Wanted,
}

impl Question<'_> {
    /// Answers on the graph of `explored`: the space, or the product with what a path needs.
    fn on_disk(
        &self,
        explored: &dyn StateSpace,
        (options, followed): (DiskOptions, bool),
        journal: &mut Journal,
    ) -> Result<Answer, SolveError> {
        if let Some(former) = journal.former() {
            move_in(former, explored, journal)?;
        }
        let resumed = journal.resumed();
        let graph = DiskGraph::build_in(explored, &options, journal)?;
        let solver = Solver {
            rows: Earning::new(&graph, &graph.columns),
            space: self.space,
            initial: &graph.initial,
            marks: &graph.marks,
            wanted: self.wanted,
            system: self.system,
            precision: self.precision,
            tier: self.tier,
            disk: Some(journal.disk().clone()),
            followed,
        };
        let mut answer = solver.answer(self.objective, Some(journal))?;
        let (traffic, sweeping) = (&journal.disk().traffic, journal.sweeping());
        answer.moved = Some(Moved {
            read: traffic.bytes_read(),
            written: traffic.bytes_written(),
            sweeping: sweeping.all,
            sweep: sweeping.most,
        });
        answer.size = Size {
            states: graph.states,
            choices: graph.choices,
            branches: graph.branches,
            deadlocks: graph.deadlocks,
        };
        answer.resumed = resumed;
        Ok(answer)
    }

    fn in_ram(&self, built: &Built, columns: &[Column], followed: bool) -> Result<Answer, SolveError> {
        let rows = ByRank::of(built);
        let (initial, marks) = (rows.initial(), rows.marks());
        let solver = Solver {
            rows: Earning::new(&rows, columns),
            space: self.space,
            initial: &initial,
            marks: &marks,
            wanted: self.wanted,
            system: self.system,
            precision: self.precision,
            tier: self.tier,
            disk: None,
            followed,
        };
        let mut answer = solver.answer(self.objective, None)?;
        answer.size = Size::of(&built.graph);
        Ok(answer)
    }
}

/// The measure that is solved for the initial states, without complements.
fn followed(objective: &Objective) -> Option<Measure> {
    let (measure, sense) = match (&objective.asked, &objective.states) {
        (Asked::Value(measure, sense), Formula::Initial) => (measure, *sense),
        (Asked::Truth(Formula::Compares { value, relation, .. }), Formula::Initial) => {
            (&**value, relation.hardest())
        }
        _ => return None,
    };
    Some(uncomplemented(measure, sense).0)
}

/// What has to be followed beside states, if the model alone says which of them it looks at.
fn beside(measure: &Measure) -> Option<Beside<'_>> {
    let Measure::Probability(path) = measure else { return None };
    let mut needs = Needs::default();
    let beside = Beside::of(path)?;
    beside.atoms().into_iter().for_each(|atom| needs.formula(atom));
    (!needs.compares).then_some(beside)
}

/// A number that another model, question or way to answer it would not have.
pub fn fingerprint(
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
