//! From a graph to proved bounds of its initial states, with the values kept where the tier says.

use super::blocks::Blocks;
use super::certain::Search;
use super::equations::{Equations, Kept, Settled, Start};
use super::faithful::Faithful;
use super::graph::{DiskError, run_options};
use super::journal::Journal;
use super::rows::Rows;
use super::sweep::{Bounds, Course, Step};
use super::vector::Vector;
use crate::numbers::Numbers;
use crate::problem::Known;
use hadal_store::Reservation;
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
    let equations = match journal.as_deref_mut().map(recall).transpose()?.flatten() {
        Some(kept) => kept,
        None => {
            let made = equations(rows, initial, question, how, journal.as_deref())?;
            if let Some(journal) = journal.as_deref_mut() {
                note(&made, journal)?;
            }
            made
        }
    };
    iterate(&equations, how, journal)
}

/// Bytes a state: the two sets of a question, four more of a search, what is known.
const SETS: u64 = 2 + 5 + 1;
/// Bytes a state: the sets of a question, what is known, what stays, two more sets, three numbers.
const COMPONENTS: u64 = 2 + 1 + 1 + 2 + 12;
/// Bytes a state: the sets of a question, what is known, its node, whether that has a choice.
const NODES: u64 = 2 + 1 + 4 + 1;

/// What graph search leaves open.
fn equations<R: Rows>(
    rows: &R,
    initial: &[u64],
    question: Question,
    how: How,
    journal: Option<&Journal>,
) -> Result<Equations, DiskError> {
    let states = rows.states() as usize;
    let reserve = |bytes: u64| -> Result<Option<Reservation>, DiskError> {
        let Some(journal) = journal else { return Ok(None) };
        let bytes = rows.states() * bytes;
        let reserved = journal.disk().governor.try_reserve(bytes, "sets of states");
        reserved.map(Some).map_err(|_| DiskError::Values { states: rows.states(), bytes })
    };
    let memory = reserve(SETS)?;
    let search = Search { rows };
    let (known, rewards) = match question {
        Question::Until(through, target) => {
            let (zero, one) = search.certain(through, target, how.sense)?;
            let known = |s: usize| match (zero[s], one[s]) {
                (true, _) => Known::Zero,
                (_, true) => Known::One,
                _ => Known::Open,
            };
            ((0..states).map(known).collect::<Vec<Known>>(), false)
        }
        Question::EarnedBefore(target) => {
            let surely = search.certain(&vec![true; states], target, how.sense.opposite())?.1;
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
    let collapses = rewards == (how.sense == Sense::Least);
    let allowed = |reward: u32| !rewards || reward == 0;
    let mut staying = Vec::new();
    if collapses {
        staying = search.staying(known.iter().map(|k| *k == Known::Open).collect(), allowed)?;
    }
    drop(memory);
    let groups = match staying.contains(&true) {
        true => {
            let _memory = reserve(COMPONENTS)?;
            search.end_components(&staying, allowed)?
        }
        false => Vec::new(),
    };
    drop(staying);
    let _memory = reserve(if groups.is_empty() { NODES } else { NODES + 4 })?;
    let settled = Settled { known: &known, groups: &groups, initial };
    Equations::new(rows, &settled, how.sense, rewards, journal)
}

fn note(equations: &Equations, journal: &mut Journal) -> Result<(), DiskError> {
    let Kept::Run(run) = &equations.kept else { return Ok(()) };
    let mut words =
        vec![equations.nodes, u64::from(equations.sense == Sense::Greatest), u64::from(equations.rewards)];
    for start in &equations.starts {
        words.extend(match start {
            Start::Value(value) => [0, value.to_bits()],
            Start::Node(node) => [1, *node],
        });
    }
    journal.put_words("equations", words);
    journal.put_words("numbers", equations.numbers.encode());
    journal.put_run("equations", run);
    journal.commit()
}

fn recall(journal: &mut Journal) -> Result<Option<Equations>, DiskError> {
    let options = run_options(super::equations::STRIDE, 0, journal.disk().governor.limit());
    let Some(run) = journal.run("equations", &options)? else { return Ok(None) };
    let lost = || DiskError::Damaged("the equations on disk are not whole".into());
    let words = journal.words("equations").filter(|w| w.len() >= 3).ok_or_else(lost)?;
    let numbers = journal.words("numbers").and_then(Numbers::decode).ok_or_else(lost)?;
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
        kept: Kept::Run(run),
    };
    Ok(Some(equations))
}

/// Sweeps to the end.
fn iterate(equations: &Equations, how: How, journal: Option<&mut Journal>) -> Result<Found, DiskError> {
    let precision = how.precision;
    let mut course = Course::new(precision);
    let nodes: Vec<u64> = equations
        .starts
        .iter()
        .filter_map(|start| match start {
            Start::Node(node) => Some(*node),
            Start::Value(_) => None,
        })
        .collect();
    let tier = how.tier.unwrap_or_else(|| match &journal {
        Some(journal) if Vector::bytes(equations.nodes) > journal.disk().governor.available() / 2 => {
            Tier::Blocks
        }
        _ => Tier::SemiExternal,
    });
    let mut values: HashMap<u64, Bounds> = HashMap::new();
    if !nodes.is_empty() {
        let step = |mode| Step { equations, mode, precision };
        let needs = || DiskError::Damaged("this tier needs a folder".into());
        match (tier, journal) {
            (Tier::Ram | Tier::SemiExternal, mut journal) => {
                let mut tier = Vector::new(equations, &mut course, journal.as_deref_mut())?;
                while let Some(mode) = course.mode() {
                    let seen = tier.sweep(&step(mode))?;
                    course.after(seen, precision);
                    if let Some(journal) = journal.as_deref_mut().filter(|journal| journal.is_due()) {
                        tier.commit(&course, journal)?;
                    }
                }
                values.extend(nodes.iter().map(|&node| (node, tier.bounds(node))));
            }
            (Tier::Blocks, journal) => {
                let journal = journal.ok_or_else(needs)?;
                let mut tier = Blocks::new(equations, &mut course, journal)?;
                while let Some(mode) = course.mode() {
                    let seen = tier.sweep(&step(mode), &course, journal)?;
                    course.after(seen, precision);
                }
                for &node in &nodes {
                    values.insert(node, tier.bounds(node)?);
                }
            }
            (Tier::Faithful, journal) => {
                let journal = journal.ok_or_else(needs)?;
                let mut tier = Faithful::new(equations, &mut course, journal)?;
                while let Some(mode) = course.mode() {
                    let seen = tier.sweep(&step(mode), journal)?;
                    course.after(seen, precision);
                    if journal.is_due() {
                        tier.commit(&course, journal)?;
                    }
                }
                values = tier.bounds(&nodes)?;
            }
        }
    }
    let found = |start: &Start| match start {
        Start::Value(value) => (*value, *value),
        Start::Node(node) => match (values[node], course.proved()) {
            (bounds, true) => bounds,
            ((low, _), false) => (low, equations.most()),
        },
    };
    Ok(Found { bounds: equations.starts.iter().map(found).collect(), sweeps: course.sweeps, tier })
}
