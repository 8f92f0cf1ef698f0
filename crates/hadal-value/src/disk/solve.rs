//! From a graph to proved bounds of its initial states, with the values kept where the tier says.

use super::blocks::Blocks;
use super::certain::Search;
use super::equations::{Equations, Kept, Settled, Start, number};
use super::faithful::Faithful;
use super::graph::{DiskError, run_options};
use super::journal::Journal;
use super::rows::Rows;
use super::stages::Stages;
use super::sweep::{Bounds, Course, Step};
use super::vector::Vector;
use crate::numbers::Numbers;
use crate::problem::Known;
use hadal_store::{Governor, Reservation};
use hadal_system::chance::Sense;
use std::collections::HashMap;

/// Where values and equations are kept. All tiers give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Everything in RAM.
    Ram,
    /// Values in RAM, equations on disk.
    SemiExternal,
    /// Values on disk, a block of them in RAM at a time.
    Blocks,
    /// As published: edges that carry values, sorted anew in every sweep.
    Faithful,
}

impl Tier {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Ram => "ram",
            Tier::SemiExternal => "semi-external",
            Tier::Blocks => "blocks",
            Tier::Faithful => "faithful",
        }
    }
}

/// What is asked of a graph.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// The probability of `through U target`.
    Until(&'a [bool], &'a [bool]),
    /// What is earned before a target.
    EarnedBefore(&'a [bool]),
}

/// Bounds of the initial states.
#[derive(Clone, Debug)]
pub struct Found {
    /// Lower and upper bounds, in the order of the initial states.
    pub bounds: Vec<(f64, f64)>,
    /// Sweeps over the equations.
    pub sweeps: u64,
    /// Where values were kept.
    pub tier: Tier,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Whether choices make values small or large.
    pub sense: Sense,
    /// How far bounds may lie apart, relative to the value.
    pub precision: f64,
    /// Where values are kept; `None`: in RAM where they fit, else in blocks.
    pub tier: Option<Tier>,
}

/// Answers a question about `rows` for the states `initial`. A tier on disk needs a journal.
pub fn solve<R: Rows>(
    rows: &R,
    initial: &[u64],
    question: Question,
    how: How,
    mut journal: Option<&mut Journal>,
) -> Result<Found, DiskError> {
    let (equations, stages) = match journal.as_deref_mut().map(recall).transpose()?.flatten() {
        Some(kept) => kept,
        None => {
            let settling = settle(rows, question, how.sense, journal.as_deref().map(governor))?;
            write_down(rows, &settling, initial, how.sense, journal.as_deref_mut())?
        }
    };
    let mut values: HashMap<u64, Bounds> = HashMap::new();
    for start in &equations.starts {
        if let Start::Node(node) = start {
            values.insert(*node, (0.0, equations.most()));
        }
    }
    let keep = |node: u64, bounds: Bounds| {
        if let Some(value) = values.get_mut(&node) {
            *value = bounds;
        }
    };
    let open = equations.starts.iter().any(|start| matches!(start, Start::Node(_)));
    let (sweeps, tier) = iterate((&equations, &stages), how, open, journal, keep)?;
    let found = |start: &Start| match start {
        Start::Value(value) => (*value, *value),
        Start::Node(node) => values[node],
    };
    Ok(Found { bounds: equations.starts.iter().map(found).collect(), sweeps, tier })
}

/// Bounds of every state.
#[derive(Debug)]
pub struct Everywhere {
    /// Lower and upper bounds, by state.
    pub bounds: Vec<(f64, f64)>,
    /// What graph search found, by state.
    pub(super) known: Vec<Known>,
    /// States with the same number are one node, if any are.
    pub(super) groups: Vec<u32>,
    /// Sweeps over the equations.
    pub sweeps: u64,
    /// Where values were kept while they were found.
    pub tier: Tier,
    /// What all of it takes.
    _memory: Option<Reservation>,
}

/// Bytes a state: bounds of states and nodes, what is known, nodes, end components.
const EVERYWHERE: u64 = 16 + 16 + 1 + 4 + 4;

/// Answers a question about `rows` for all states, whose bounds are in RAM at the end.
pub fn solve_everywhere<R: Rows>(
    rows: &R,
    question: Question,
    how: How,
    mut journal: Option<&mut Journal>,
) -> Result<Everywhere, DiskError> {
    let Settling { known, groups, rewards } =
        settle(rows, question, how.sense, journal.as_deref().map(governor))?;
    let memory = reserve(rows.states(), EVERYWHERE, journal.as_deref().map(governor))?;
    let (equations, stages) = match journal.as_deref_mut().map(recall).transpose()?.flatten() {
        Some(kept) => kept,
        None => {
            let settling = Settling { known: known.clone(), groups: groups.clone(), rewards };
            write_down(rows, &settling, &[], how.sense, journal.as_deref_mut())?
        }
    };
    let (node_of, nodes) = number(&Settled { known: &known, groups: &groups, initial: &[] });
    let mut values = vec![(0.0, equations.most()); nodes as usize];
    let keep = |node: u64, bounds: Bounds| {
        if let Some(value) = values.get_mut(node as usize) {
            *value = bounds;
        }
    };
    let (sweeps, tier) = iterate((&equations, &stages), how, nodes > 0, journal, keep)?;
    let bounds = known.iter().zip(&node_of).map(|(known, &node)| match known {
        Known::Zero => (0.0, 0.0),
        Known::One => (1.0, 1.0),
        Known::Infinite => (f64::INFINITY, f64::INFINITY),
        Known::Open => values[stages.renumbered(u64::from(node)) as usize],
    });
    let bounds = bounds.collect();
    Ok(Everywhere { bounds, known, groups, sweeps, tier, _memory: memory })
}

fn governor(journal: &Journal) -> &Governor {
    &journal.disk().governor
}

/// Sets memory aside for so many bytes a state, where there is a budget.
fn reserve(states: u64, bytes: u64, governor: Option<&Governor>) -> Result<Option<Reservation>, DiskError> {
    let Some(governor) = governor else { return Ok(None) };
    let bytes = states * bytes;
    governor.try_reserve(bytes, "sets of states").map(Some).map_err(|_| DiskError::Values { states, bytes })
}

/// Bytes a state: the two sets of a question, four more of a search, what is known.
const SETS: u64 = 2 + 5 + 1;
/// Bytes a state: the sets of a question, what is known, what stays, two more sets, three numbers.
const COMPONENTS: u64 = 2 + 1 + 1 + 2 + 12;
/// Bytes a state: the sets of a question, what is known, its node, whether that has a choice.
const NODES: u64 = 2 + 1 + 4 + 1;

/// What graph search says of every state.
struct Settling {
    known: Vec<Known>,
    groups: Vec<u32>,
    rewards: bool,
}

fn settle<R: Rows>(
    rows: &R,
    question: Question,
    sense: Sense,
    governor: Option<&Governor>,
) -> Result<Settling, DiskError> {
    let states = rows.states() as usize;
    let memory = reserve(rows.states(), SETS, governor)?;
    let search = Search { rows };
    let (known, rewards) = match question {
        Question::Until(through, target) => {
            let (zero, one) = search.certain(through, target, sense)?;
            let known = |s: usize| match (zero[s], one[s]) {
                (true, _) => Known::Zero,
                (_, true) => Known::One,
                _ => Known::Open,
            };
            ((0..states).map(known).collect::<Vec<Known>>(), false)
        }
        Question::EarnedBefore(target) => {
            let surely = search.certain(&vec![true; states], target, sense.opposite())?.1;
            let known = |s: usize| match (target[s], surely[s]) {
                (true, _) => Known::Zero,
                (_, false) => Known::Infinite,
                _ => Known::Open,
            };
            ((0..states).map(known).collect(), true)
        }
    };
    // Whoever could stay in an end component for ever would have a least probability of 0, and a greatest reward that is
    // infinite; whoever stays where nothing is earned pays nothing, but never arrives: such places are one node.
    let collapses = rewards == (sense == Sense::Least);
    let allowed = |reward: u32| !rewards || reward == 0;
    let mut staying = Vec::new();
    if collapses {
        staying = search.staying(known.iter().map(|k| *k == Known::Open).collect(), allowed)?;
    }
    drop(memory);
    let groups = match staying.contains(&true) {
        true => {
            let _memory = reserve(rows.states(), COMPONENTS, governor)?;
            search.end_components(&staying, allowed)?
        }
        false => Vec::new(),
    };
    Ok(Settling { known, groups, rewards })
}

/// What graph search leaves open, as equations that a later process finds.
fn write_down<R: Rows>(
    rows: &R,
    settling: &Settling,
    initial: &[u64],
    sense: Sense,
    journal: Option<&mut Journal>,
) -> Result<(Equations, Stages), DiskError> {
    let bytes = if settling.groups.is_empty() { NODES } else { NODES + 4 };
    let _memory = reserve(rows.states(), bytes, journal.as_deref().map(governor))?;
    let settled = Settled { known: &settling.known, groups: &settling.groups, initial };
    let equations = Equations::new(rows, &settled, sense, settling.rewards, journal.as_deref())?;
    let (equations, stages) = equations.in_stages(journal.as_deref())?;
    if let Some(journal) = journal {
        note(&equations, &stages, journal)?;
    }
    Ok((equations, stages))
}

fn note(equations: &Equations, stages: &Stages, journal: &mut Journal) -> Result<(), DiskError> {
    let Kept::Run(run, _) = &equations.kept else { return Ok(()) };
    let mut words =
        vec![equations.nodes, u64::from(equations.sense == Sense::Greatest), u64::from(equations.rewards)];
    for start in &equations.starts {
        words.extend(match start {
            Start::Value(value) => [0, value.to_bits()],
            Start::Node(node) => [1, *node],
        });
    }
    journal.put_words("equations", words);
    journal.put_words("stages", stages.encode());
    journal.put_words("numbers", equations.numbers.encode());
    journal.put_run("equations", run);
    journal.commit()
}

fn recall(journal: &mut Journal) -> Result<Option<(Equations, Stages)>, DiskError> {
    let options = run_options(super::equations::STRIDE, 0, journal.disk().governor.limit());
    let Some(run) = journal.run("equations", &options)? else { return Ok(None) };
    let lost = || DiskError::Damaged("the equations on disk are not whole".into());
    let words = journal.words("equations").filter(|w| w.len() >= 3).ok_or_else(lost)?;
    let numbers = journal.words("numbers").and_then(Numbers::decode).ok_or_else(lost)?;
    let stages = journal.words("stages").and_then(Stages::decode).ok_or_else(lost)?;
    let start = |pair: &[u64]| match pair[0] {
        0 => Start::Value(f64::from_bits(pair[1])),
        _ => Start::Node(pair[1]),
    };
    let equations = Equations {
        nodes: words[0],
        numbers,
        sense: if words[1] == 1 { Sense::Greatest } else { Sense::Least },
        rewards: words[2] == 1,
        starts: words[3..].chunks_exact(2).map(start).collect(),
        kept: Kept::on_disk(run)?,
    };
    Ok(Some((equations, stages)))
}

/// Sweeps stage after stage to the end and tells the bounds of every node; how many sweeps, and where values were kept.
fn iterate(
    (equations, stages): (&Equations, &Stages),
    how: How,
    open: bool,
    journal: Option<&mut Journal>,
    mut keep: impl FnMut(u64, Bounds),
) -> Result<(u64, Tier), DiskError> {
    let tier = how.tier.unwrap_or_else(|| match &journal {
        Some(journal) if Vector::bytes(equations.nodes) > journal.disk().governor.available() / 2 => {
            Tier::Blocks
        }
        _ => Tier::SemiExternal,
    });
    if !open {
        return Ok((0, tier));
    }
    let precision = |stage: u32| stages.precision(stage, how.precision);
    let mut course = Course::new(precision(0));
    let step = |course: &Course, mode| {
        let stage = course.stage;
        Step { equations, stage, range: stages.range(stage), mode, precision: precision(stage) }
    };
    // The next sweep; a stage that is done makes way for the next.
    let next = |course: &mut Course| loop {
        match course.mode() {
            Some(mode) => return Some(mode),
            None if course.stage + 1 < stages.count() => course.next_stage(precision(course.stage + 1)),
            None => return None,
        }
    };
    let needs = || DiskError::Damaged("this tier needs a folder".into());
    match (tier, journal) {
        (Tier::Ram | Tier::SemiExternal, mut journal) => {
            let mut tier = Vector::new(equations, &mut course, journal.as_deref_mut())?;
            while let Some(mode) = next(&mut course) {
                let seen = tier.sweep(&step(&course, mode))?;
                course.after(seen, precision(course.stage));
                if let Some(journal) = journal.as_deref_mut().filter(|journal| journal.is_due()) {
                    tier.commit(&course, journal)?;
                }
            }
            tier.tell(told(&course, equations, &mut keep));
        }
        (Tier::Blocks, journal) => {
            let journal = journal.ok_or_else(needs)?;
            let mut tier = Blocks::new(equations, stages, &mut course, journal)?;
            while let Some(mode) = next(&mut course) {
                let seen = tier.sweep(&step(&course, mode), &course, journal)?;
                course.after(seen, precision(course.stage));
            }
            tier.tell(told(&course, equations, &mut keep))?;
        }
        (Tier::Faithful, journal) => {
            let journal = journal.ok_or_else(needs)?;
            let mut tier = Faithful::new(equations, &mut course, journal)?;
            while let Some(mode) = next(&mut course) {
                let seen = tier.sweep(&step(&course, mode), journal)?;
                course.after(seen, precision(course.stage));
                if journal.is_due() {
                    tier.commit(&course, journal)?;
                }
            }
            tier.tell(told(&course, equations, &mut keep))?;
        }
    }
    Ok((course.sweeps, tier))
}

/// Tells bounds as far as they are proved.
fn told(
    course: &Course,
    equations: &Equations,
    keep: &mut impl FnMut(u64, Bounds),
) -> impl FnMut(u64, Bounds) {
    let (proved, most) = (course.proved(), equations.most());
    move |node, (low, high)| keep(node, (low, if proved { high } else { most }))
}
