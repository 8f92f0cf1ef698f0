//! LAO* on disk (after Hansen, Zilberstein 2001): a part of the graph grows where the best policy leads, with both bounds proved.
//!
//! The part is a sorted file of states, some of them expanded; the others are tips. Every round writes its edges by two
//! external sorts and solves it twice by scans: tips taken for targets give one bound, taken for places without a way out
//! the other. Tips that the favourable policy reaches are expanded next, layer by layer until the part is half as large
//! again, so the rounds together cost little more than the last one. Rounds are committed.

use super::answer::Place;
use super::everywhere::{Everywhere, solve_everywhere};
use super::graph::{Cursor, DiskError, DiskGraph, DiskOptions, run_options};
use super::journal::Journal;
use super::parts::Sets;
use super::policy::{self, Induced};
use super::solve::{How, Tier};
use crate::answer::{Answer, Leftover, Size};
use crate::build::BuildError;
use crate::follow::holds;
use crate::growing::{METHOD, NESTED, Question};
use crate::values::other_probability;
use crate::{Options, SolveError};
use hadal_store::sort::Sorter;
use hadal_store::{Governor, RunFile};
use hadal_system::chance::{Objective, Sense};
use hadal_system::{StateSpace, Successors, System};
use std::sync::Arc;

/// Tells the folder from that of all states.
const ENVELOPE: u64 = 0x004C_414F;
/// Bounds of the part are made at most so much sharper than asked for.
const SHARPEST: f64 = 1e-4;

const KNOWN: &str = "known";
const EXPANDED: &str = "expanded";

/// Explores as much of `space`, a state space of `system`, as the answer needs, in a folder that a run which was killed goes on
/// from.
pub fn answer_growing(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: Options,
    place: &Place,
) -> Result<Answer, SolveError> {
    // What is not answered leaves no folder behind.
    Question::of(objective).ok_or(SolveError::Method(METHOD))?;
    let fingerprint =
        super::answer::fingerprint(space, system, objective, (options.precision, None)) ^ ENVELOPE;
    let path = place.folder.join(format!("envelope-{fingerprint:016x}"));
    let mut journal = Journal::open(&path, fingerprint, &Governor::new(place.memory))?;
    let mut answer = answer_growing_with(space, system, objective, options, &mut journal)?;
    answer.folder = Some(Arc::new(Leftover(path)));
    Ok(answer)
}

/// The same with a journal that is at hand.
pub fn answer_growing_with(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: Options,
    journal: &mut Journal,
) -> Result<Answer, SolveError> {
    let question = &Question::of(objective).ok_or(SolveError::Method(METHOD))?;
    let resumed = journal.resumed();
    let bases = system.property_bases();
    let mut part = Part::open(space, journal)?;
    let (mut sweeps, mut precision) = (0, options.precision.relative / 4.0);
    loop {
        let (target, through) = part.sets(question, &bases)?;
        let tip: Vec<bool> =
            (0..target.len()).map(|s| !part.expanded[s] && !target[s] && through[s]).collect();
        let wanted = DiskOptions { reward: question.reward, ..DiskOptions::default() };
        let graph = DiskGraph::of_part(space, &wanted, (&part.known, &part.expanded), journal)?;
        let solve = |tips_win: bool| -> Result<(Sets, Everywhere), DiskError> {
            let target = (0..target.len()).map(|s| target[s] || tips_win && tip[s]).collect();
            let sets =
                Sets { through: through.clone(), target, rewards: question.reward.is_some(), total: None };
            let how = How { sense: question.sense, precision, tier: Some(Tier::SemiExternal) };
            let mut passing = Journal::passing(journal.disk());
            let found = solve_everywhere(&graph, &[], sets.question(), how, Some(&mut passing))?;
            Ok((sets, found))
        };
        let (wins, loses) = (solve(true)?, solve(false)?);
        sweeps += wins.1.sweeps + loses.1.sweeps;
        // A reward ends at a target, and is infinite where none is reached.
        let (low, high, guide) = match (question.reward, question.sense) {
            (None, Sense::Greatest) => (&loses, &wins, &wins),
            (None, Sense::Least) => (&loses, &wins, &loses),
            (Some(_), _) => (&wins, &loses, &wins),
        };
        let mut ends = vec![(0.0, 0.0); graph.initial.len()];
        for (found, upper) in [(low, false), (high, true)] {
            found.1.bounds.scan(|state, bounds| {
                for at in (0..ends.len()).filter(|&at| graph.initial[at] == state) {
                    if upper { ends[at].1 = bounds.1 } else { ends[at].0 = bounds.0 }
                }
            })?;
        }
        let bounds: Vec<(f64, f64)> = ends
            .into_iter()
            .map(|bounds| if question.negated { other_probability(bounds) } else { bounds })
            .collect();
        let wide = |&(low, high): &(f64, f64)| {
            low != high && !(high.is_finite() && high - low <= options.precision.relative * high)
        };
        let choices = policy::of(&graph, (&guide.0, question.sense), &guide.1, Some(journal.disk()))?;
        let mut next = policy::reached(&Induced { rows: &graph, policy: &choices.of }, &graph.initial)?;
        next.iter_mut().zip(&tip).for_each(|(next, tip)| *next &= tip);
        let (wide, done) = (bounds.iter().any(wide), !next.contains(&true));
        if wide && done && precision > options.precision.relative * SHARPEST {
            precision /= 8.0;
            continue;
        }
        if !wide || done {
            let least = (question.sense == Sense::Least) != question.negated;
            let pick = |of: fn(&(f64, f64)) -> f64| match least {
                true => bounds.iter().map(of).fold(f64::INFINITY, f64::min),
                false => bounds.iter().map(of).fold(0.0, f64::max),
            };
            let value = (pick(|b| b.0), pick(|b| b.1));
            let size = Size {
                states: part.expanded.iter().filter(|e| **e).count() as u64,
                choices: graph.choices,
                branches: graph.branches,
                deadlocks: graph.deadlocks,
            };
            let value = Some(value);
            return Ok(Answer {
                value,
                size,
                sweeps,
                resumed,
                tier: Tier::SemiExternal.name(),
                ..Answer::default()
            });
        }
        drop((wins, loses));
        part.expand(next, (question, &bases), options.max_states, journal)?;
    }
}

/// The states that are known.
struct Part<'s> {
    space: &'s dyn StateSpace,
    known: RunFile,
    /// By rank.
    expanded: Vec<bool>,
}

impl<'s> Part<'s> {
    /// As it was committed; the initial states where nothing was.
    fn open(space: &'s dyn StateSpace, journal: &mut Journal) -> Result<Self, SolveError> {
        let limit = journal.disk().governor.limit();
        let options = run_options(space.words(), space.fingerprint(), limit);
        if let Some(known) = journal.run(KNOWN, &options).map_err(SolveError::from)? {
            let bits = journal.words(EXPANDED).unwrap_or_default();
            let states = known.records() as usize;
            if bits.len() != states.div_ceil(64) {
                return Err(DiskError::Damaged("the part on disk is not whole".into()).into());
            }
            let expanded = (0..states).map(|s| bits[s / 64] >> (s % 64) & 1 == 1).collect();
            return Ok(Part { space, known, expanded });
        }
        let mut starts = Successors::new(space.words());
        space.worker().initial(&mut starts);
        let mut sorter = Sorter::new(journal.disk(), options, limit / 4);
        for (_, state) in starts.iter() {
            sorter.push(state).map_err(DiskError::from)?;
        }
        let known = sorter.into_run().map_err(DiskError::from)?;
        if known.records() == 0 {
            return Err(BuildError::NoStart.into());
        }
        let expanded = vec![false; known.records() as usize];
        Ok(Part { space, known, expanded })
    }

    /// Which states are targets, and which may be passed.
    fn sets(&self, question: &Question, bases: &[u32]) -> Result<(Vec<bool>, Vec<bool>), SolveError> {
        let mut worker = self.space.worker();
        let mut states = Cursor::open(&self.known, self.space.words()).map_err(DiskError::from)?;
        let (mut target, mut through) = (Vec::new(), Vec::new());
        while let Some(state) = states.head().map_err(DiskError::from)? {
            let mut asks = |formula| holds(formula, bases, &mut *worker, state);
            let (is_target, passes) = (asks(question.target), asks(question.through));
            let (is_target, passes) = is_target.zip(passes).ok_or(SolveError::Method(NESTED))?;
            target.push(is_target);
            through.push(passes);
            states.step();
        }
        Ok((target, through))
    }

    /// Expands the states of `next`, then what lies behind them until the part is half as large again.
    fn expand(
        &mut self,
        mut next: Vec<bool>,
        (question, bases): (&Question, &[u32]),
        most: Option<u64>,
        journal: &mut Journal,
    ) -> Result<(), SolveError> {
        let count = |set: &[bool]| set.iter().filter(|s| **s).count();
        let enough = count(&self.expanded) * 3 / 2 + 1;
        while next.contains(&true) {
            let old = self.known.clone();
            self.add_successors(&next, journal)?;
            self.expanded.iter_mut().zip(&next).for_each(|(expanded, next)| *expanded |= next);
            // States keep their order, but new ones stand between them.
            let mut moved = Vec::with_capacity(self.known.records() as usize);
            let (mut fresh, words) = (Vec::new(), self.space.words());
            let mut before = Cursor::open(&old, words).map_err(DiskError::from)?;
            let mut states = Cursor::open(&self.known, words).map_err(DiskError::from)?;
            let mut rank = 0;
            while let Some(state) = states.head().map_err(DiskError::from)? {
                let known = before.head().map_err(DiskError::from)? == Some(state);
                moved.push(known && self.expanded[rank]);
                fresh.push(!known);
                if known {
                    before.step();
                    rank += 1;
                }
                states.step();
            }
            self.expanded = moved;
            if most.is_some_and(|most| self.known.records() > most) {
                return Err(BuildError::States(self.known.records() - 1).into());
            }
            if count(&self.expanded) >= enough {
                break;
            }
            let (target, through) = self.sets(question, bases)?;
            next = (0..fresh.len()).map(|s| fresh[s] && !target[s] && through[s]).collect();
        }
        let word = |chunk: &[bool]| chunk.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
        journal.put_run(KNOWN, &self.known);
        journal.put_words(EXPANDED, self.expanded.chunks(64).map(word).collect());
        Ok(journal.commit()?)
    }

    /// Adds what the states of a set lead to.
    fn add_successors(&mut self, set: &[bool], journal: &Journal) -> Result<(), DiskError> {
        let disk = journal.disk().clone();
        let (words, limit) = (self.space.words(), disk.governor.limit());
        let options = run_options(words, self.space.fingerprint(), limit);
        let mut sorter = Sorter::new(&disk, options, limit / 4);
        let (mut worker, mut found) = (self.space.worker(), Successors::new(words));
        let mut states = Cursor::open(&self.known, words)?;
        let mut rank = 0;
        while let Some(state) = states.head()? {
            sorter.push(state)?;
            if set[rank] {
                found.clear();
                worker.successors(state, &mut found);
                if let Some(&label) = found.faults().first() {
                    let name = self.space.render_label(label);
                    let state = self.space.render_state(state);
                    return Err(DiskError::Fault(format!("`{name}` raises an error in {state:?}")));
                }
                for (_, to) in found.iter() {
                    sorter.push(to)?;
                }
            }
            states.step();
            rank += 1;
        }
        drop(states);
        self.known = sorter.into_run()?;
        Ok(())
    }
}
