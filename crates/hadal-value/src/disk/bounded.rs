//! Values of bounded questions: as many scans as there are steps, values of all states in RAM: two bounds, rounded outward, or a
//! fraction. Bounds are committed now and then.

use super::DiskError;
use super::company::Changes;
use super::graph::run_options;
use super::journal::Journal;
use super::rows::{Row, Rows};
use super::vector::{recall_bounds, write_bounds};
use crate::SolveError;
use crate::bounded::Rule;
use crate::build::BuildError;
use crate::exact::{self, fraction};
use crate::numbers::Numbers;
use crate::optimistic::{lowered, raised};
use dashu_ratio::RBig;
use hadal_store::{Reservation, RunFile};
use hadal_system::chance::Sense;

type Bounds = (f64, f64);

/// What is swept.
pub(super) struct Sweeps<'r, R> {
    pub rows: &'r R,
    pub sense: Sense,
    /// Whether rewards are added.
    pub rewards: bool,
}

/// What a state has while it is swept.
pub(super) trait Swept: Clone + PartialEq {
    /// A number of a graph; numbers 0 and 1 are 0 and 1.
    fn number(numbers: &Numbers, at: u32) -> Self;
    /// What a choice gives.
    fn sum(numbers: &Numbers, reward: u32, branches: &[(u64, u32)], values: &[Self]) -> Self;
    /// The better of two.
    fn better(self, other: Self, sense: Sense) -> Self;
    /// What it takes beside its place in a list, in bytes.
    fn bytes(&self) -> u64;
    /// Commits values and words that say how far they are.
    fn commit(values: &[Self], words: Vec<u64>, journal: &mut Journal) -> Result<(), DiskError>;
    /// Goes back to values that were committed.
    fn restore(values: &mut [Self], run: &RunFile, journal: &Journal) -> Result<(), DiskError>;
    /// Tells other workers what this one changed, and hears what they changed.
    fn meet(values: &mut [Self], changes: &mut Changes) -> Result<(), DiskError>;
}

impl Swept for Bounds {
    fn number(numbers: &Numbers, at: u32) -> Self {
        (numbers.below()[at as usize], numbers.above()[at as usize])
    }

    #[inline]
    fn sum(numbers: &Numbers, reward: u32, branches: &[(u64, u32)], values: &[Self]) -> Self {
        if let ([(to, 1)], 0) = (branches, reward) {
            return values[*to as usize];
        }
        let (mut low, mut high) = Bounds::number(numbers, reward);
        for &(to, weight) in branches {
            let value = values[to as usize];
            low += numbers.below()[weight as usize] * value.0;
            high += numbers.above()[weight as usize] * value.1;
        }
        (lowered(low, branches.len()), raised(high, branches.len()))
    }

    #[inline]
    fn better(self, other: Self, sense: Sense) -> Self {
        match sense {
            Sense::Least => (self.0.min(other.0), self.1.min(other.1)),
            Sense::Greatest => (self.0.max(other.0), self.1.max(other.1)),
        }
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn commit(values: &[Self], words: Vec<u64>, journal: &mut Journal) -> Result<(), DiskError> {
        let own = journal.own().cloned().unwrap_or(0..values.len() as u64);
        let run = write_bounds(journal, own.map(|state| (state, values[state as usize])))?;
        journal.put_run(SWEPT, &run);
        journal.put_words(SWEPT, words);
        journal.commit()
    }

    fn restore(values: &mut [Self], run: &RunFile, journal: &Journal) -> Result<(), DiskError> {
        recall_bounds(run, journal.company(), values)
    }

    fn meet(values: &mut [Self], changes: &mut Changes) -> Result<(), DiskError> {
        changes.meet(values, |_, new| new).map(drop)
    }
}

impl Swept for RBig {
    fn number(numbers: &Numbers, at: u32) -> Self {
        fraction(&numbers.exact(at))
    }

    fn sum(numbers: &Numbers, reward: u32, branches: &[(u64, u32)], values: &[Self]) -> Self {
        let mut sum = RBig::number(numbers, reward);
        for &(to, weight) in branches {
            sum += RBig::number(numbers, weight) * &values[to as usize];
        }
        sum
    }

    fn better(self, other: Self, sense: Sense) -> Self {
        match sense {
            Sense::Least => self.min(other),
            Sense::Greatest => self.max(other),
        }
    }

    fn bytes(&self) -> u64 {
        exact::bytes(self)
    }

    /// Fractions belong to the process alone.
    fn commit(_: &[Self], _: Vec<u64>, _: &mut Journal) -> Result<(), DiskError> {
        Ok(())
    }

    fn restore(_: &mut [Self], _: &RunFile, _: &Journal) -> Result<(), DiskError> {
        Ok(())
    }

    fn meet(_: &mut [Self], _: &mut Changes) -> Result<(), DiskError> {
        Ok(())
    }
}

/// The run of values in a journal, and how far they are.
const SWEPT: &str = "swept";

/// How several series of sweeps go on: how many were made, where they are committed, and what they may take.
#[derive(Default)]
pub(super) struct Pace<'j> {
    pub journal: Option<&'j mut Journal>,
    pub sweeps: u64,
    /// What fractions take, and what they may.
    pub memory: Option<Reservation>,
    pub room: Option<u64>,
    /// The number of the series.
    pub series: u64,
}

impl Pace<'_> {
    /// How many steps of the next series were made already, with the values after them.
    fn begin<V: Swept>(&mut self, values: &mut [V]) -> Result<u64, DiskError> {
        let Some(journal) = self.journal.as_deref_mut() else { return Ok(0) };
        let Some(&[series, done, sweeps]) = journal.words(SWEPT) else { return Ok(0) };
        let options = run_options(3, 0, journal.disk().governor.limit());
        match journal.run(SWEPT, &options)? {
            Some(run) if series == self.series => {
                V::restore(values, &run, journal)?;
                self.sweeps = sweeps;
                Ok(done)
            }
            // A later one was committed, whose values replace these.
            Some(_) if series > self.series => Ok(u64::MAX),
            _ => Ok(0),
        }
    }

    /// Sets aside what fractions take.
    fn holds(&mut self, bytes: u64, states: usize) -> Result<(), SolveError> {
        let states = states as u64;
        if let Some(limit) = self.room.filter(|&room| bytes > room) {
            return Err(BuildError::Memory { limit, states }.into());
        }
        if let Some(memory) = &mut self.memory {
            memory.try_resize(bytes).map_err(|over| BuildError::Memory { limit: over.limit, states })?;
        }
        Ok(())
    }
}

impl<R: Rows> Sweeps<'_, R> {
    /// The values after `steps` more steps.
    pub fn run<V: Swept>(
        &self,
        mut values: Vec<V>,
        steps: u64,
        rule: impl Fn(usize) -> Rule,
        pace: &mut Pace,
    ) -> Result<Vec<V>, SolveError> {
        pace.series += 1;
        let mut next = values.clone();
        let mut done = pace.begin(&mut values)?;
        // What values and those after the sweep take.
        let mut held: u64 = values.iter().map(V::bytes).sum();
        let mut later = held;
        let mut changes = Changes::of(self.rows);
        while done < steps {
            let mut full = None;
            if self.rows.company().is_some() {
                next.clone_from(&values);
            }
            self.rows.scan(|at, row| {
                if full.is_some() {
                    return;
                }
                let state = at as usize;
                let value = match rule(state) {
                    Rule::Zero => V::number(self.rows.numbers(), 0),
                    Rule::One => V::number(self.rows.numbers(), 1),
                    Rule::Best => self.best(row, &values),
                };
                let bytes = value.bytes();
                if bytes > 0 {
                    later = later + bytes - next[state].bytes();
                    full = pace.holds(held + later, values.len()).err();
                }
                if next[state] != value {
                    changes.note(at);
                    next[state] = value;
                }
            })?;
            if let Some(error) = full {
                return Err(error);
            }
            V::meet(&mut next, &mut changes)?;
            std::mem::swap(&mut values, &mut next);
            std::mem::swap(&mut held, &mut later);
            done += 1;
            pace.sweeps += 1;
            if values == next {
                break;
            }
            if let Some(journal) = pace.journal.as_deref_mut()
                && journal.is_time()?
            {
                V::commit(&values, vec![pace.series, done, pace.sweeps], journal)?;
            }
        }
        Ok(values)
    }

    fn best<V: Swept>(&self, row: &Row, values: &[V]) -> V {
        let numbers = self.rows.numbers();
        let choices = row.choices().map(|(branches, reward)| {
            V::sum(numbers, if self.rewards { reward } else { 0 }, branches, values)
        });
        choices.reduce(|l, r| l.better(r, self.sense)).unwrap_or_else(|| V::number(numbers, 0))
    }
}
