//! From a graph to proved bounds of its initial states, with the values kept where the tier says.

use super::blocks::Blocks;
use super::certain::{Search, any};
use super::company::union;
use super::components::solved_at_once;
use super::equations::{Equations, Kept, Settled, Start};
use super::faithful::Faithful;
use super::graph::{DiskError, run_options};
use super::journal::Journal;
use super::rows::Rows;
use super::stages::Stages;
use super::sweep::{Bounds, Course, Step};
use super::vector::Vector;
use crate::components::NONE;
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
    /// What is earned at most without end.
    EarnedForEver,
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

pub(super) fn governor(journal: &Journal) -> &Governor {
    &journal.disk().governor
}

/// Sets memory aside for so many bytes a state, where there is a budget.
pub(super) fn reserve(
    states: u64,
    bytes: u64,
    governor: Option<&Governor>,
) -> Result<Option<Reservation>, DiskError> {
    let Some(governor) = governor else { return Ok(None) };
    let bytes = states * bytes;
    governor.try_reserve(bytes, "sets of states").map(Some).map_err(|_| DiskError::Values { states, bytes })
}

/// Bytes a state: the two sets of a question, four more of a search, what is known.
const SETS: u64 = 2 + 5 + 1;
/// Bytes a state: the sets of a question, what is known, what stays, two more sets, three numbers.
pub(super) const COMPONENTS: u64 = 2 + 1 + 1 + 2 + 12;
/// Bytes a state: the sets of a question, what is known, its node, whether that has a choice.
const NODES: u64 = 2 + 1 + 4 + 1;

/// Bytes a state that equations in company take beside these: where a node leads, and whether that was told.
const SHARED: u64 = 8 + 1;

/// What graph search says of every state.
pub(super) struct Settling {
    pub known: Vec<Known>,
    pub groups: Vec<u32>,
    pub rewards: bool,
}

pub(super) fn settle<R: Rows>(
    rows: &R,
    question: Question,
    sense: Sense,
    governor: Option<&Governor>,
) -> Result<Settling, DiskError> {
    let states = rows.states() as usize;
    let search = Search { rows };
    if let Question::EarnedForEver = question {
        let _memory = reserve(rows.states(), COMPONENTS + SETS, governor)?;
        return earned_for_ever(&search);
    }
    let memory = reserve(rows.states(), SETS, governor)?;
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
        Question::EarnedForEver => (Vec::new(), true),
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

/// Whoever can stay where something is earned earns without end; where nothing is earned, end components are one node, whose value
/// is 0 where nothing leaves it.
fn earned_for_ever<R: Rows>(search: &Search<R>) -> Result<Settling, DiskError> {
    let states = search.rows.states() as usize;
    let groups = search.end_components(&vec![true; states], |_| true)?;
    let (mut earns, mut left) = (vec![false; states], vec![false; states]);
    search.rows.scan(|state, row| {
        let group = groups[state as usize];
        if group == NONE {
            return;
        }
        for (branches, reward) in row.choices() {
            let stays = branches.iter().all(|b| groups[b.0 as usize] == group);
            earns[group as usize] |= stays && reward != 0;
            left[group as usize] |= !stays;
        }
    })?;
    union(search.rows.company(), &mut earns)?;
    union(search.rows.company(), &mut left)?;
    let endless: Vec<bool> = groups.iter().map(|&g| g != NONE && earns[g as usize]).collect();
    let infinite = search.grow(&vec![true; states], &endless, any)?;
    let known = (0..states).map(|s| match groups[s] {
        _ if infinite[s] => Known::Infinite,
        group if group != NONE && !left[group as usize] => Known::Zero,
        _ => Known::Open,
    });
    let known = known.collect();
    Ok(Settling { known, groups, rewards: true })
}

/// What graph search leaves open, as equations that a later process finds.
pub(super) fn write_down<R: Rows>(
    rows: &R,
    settling: &Settling,
    initial: &[u64],
    sense: Sense,
    journal: Option<&mut Journal>,
) -> Result<(Equations, Stages), DiskError> {
    let bytes = if settling.groups.is_empty() { NODES } else { NODES + 4 };
    let bytes = if rows.company().is_some() { bytes + SHARED } else { bytes };
    let _memory = reserve(rows.states(), bytes, journal.as_deref().map(governor))?;
    let settled = Settled { known: &settling.known, groups: &settling.groups, initial };
    let (mut equations, stages) = match (rows.company(), journal.as_deref()) {
        (Some(company), Some(journal)) => {
            Equations::shared(rows, (&settled, sense, settling.rewards), company, journal)?
        }
        (_, journal) => {
            Equations::new(rows, &settled, sense, settling.rewards, journal)?.in_stages(journal)?
        }
    };
    if let Some(journal) = journal {
        note(&equations, &stages, journal)?;
        equations.pack(journal.disk())?;
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

pub(super) fn recall(journal: &mut Journal) -> Result<Option<(Equations, Stages)>, DiskError> {
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
    let mut equations = Equations {
        nodes: words[0],
        numbers,
        sense: if words[1] == 1 { Sense::Greatest } else { Sense::Least },
        rewards: words[2] == 1,
        starts: words[3..].chunks_exact(2).map(start).collect(),
        kept: Kept::on_disk(run)?,
        packed: None,
    };
    equations.pack(journal.disk())?;
    Ok(Some((equations, stages)))
}

/// Sweeps stage after stage to the end and tells the bounds of every node; how many sweeps, and where values were kept.
pub(super) fn iterate(
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
        let (range, rest) = (stages.range(stage), course.rest());
        Step { equations, stage, range, mode, precision: precision(stage), rest }
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
    let alone = journal.as_deref().is_none_or(|journal| journal.company().is_alone());
    let budget = journal.as_deref().map(|journal| governor(journal).clone());
    // Where sweeps proved nothing, few equations are solved otherwise.
    let otherwise = |course: &Course| match alone && !course.proved() {
        true => solved_at_once(equations, how.precision, budget.as_ref()),
        false => Ok(None),
    };
    match (tier, journal) {
        (Tier::Ram | Tier::SemiExternal, mut journal) => {
            let mut tier = Vector::new((equations, stages), &mut course, journal.as_deref_mut())?;
            while let Some(mode) = next(&mut course) {
                let step = step(&course, mode);
                let seen = match journal.as_deref_mut() {
                    Some(journal) => journal.counting(|_| tier.sweep(&step))?,
                    None => tier.sweep(&step)?,
                };
                course.after(seen, precision(course.stage));
                if let Some(journal) = journal.as_deref_mut()
                    && journal.is_time()?
                {
                    tier.commit(&course, journal)?;
                }
            }
            match otherwise(&course)? {
                Some(bounds) => tell(&bounds, keep),
                None => tier.tell(told(&course, equations, &mut keep)),
            }
        }
        (Tier::Blocks, journal) => {
            let journal = journal.ok_or_else(needs)?;
            let mut tier = Blocks::new(equations, stages, &mut course, journal)?;
            while let Some(mode) = next(&mut course) {
                let step = step(&course, mode);
                let seen = journal.counting(|journal| tier.sweep(&step, &course, journal))?;
                course.after(seen, precision(course.stage));
            }
            match otherwise(&course)? {
                Some(bounds) => tell(&bounds, keep),
                None => tier.tell(told(&course, equations, &mut keep))?,
            }
        }
        (Tier::Faithful, journal) => {
            let journal = journal.ok_or_else(needs)?;
            let mut tier = Faithful::new(equations, &mut course, journal)?;
            while let Some(mode) = next(&mut course) {
                let step = step(&course, mode);
                let seen = journal.counting(|journal| tier.sweep(&step, journal))?;
                course.after(seen, precision(course.stage));
                if journal.is_due() {
                    tier.commit(&course, journal)?;
                }
            }
            match otherwise(&course)? {
                Some(bounds) => tell(&bounds, keep),
                None => tier.tell(told(&course, equations, &mut keep))?,
            }
        }
    }
    Ok((course.sweeps, tier))
}

fn tell(bounds: &[Bounds], mut keep: impl FnMut(u64, Bounds)) {
    bounds.iter().enumerate().for_each(|(node, &bounds)| keep(node as u64, bounds));
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
