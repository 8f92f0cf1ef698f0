//! Rows with another reward than the one they are written down with: a column of rewards beside them, one for each choice.

use super::DiskError;
use super::company::Company;
use super::graph::{Cursor, POSITIONS, run_options};
use super::rows::{Row, Rows, States};
use crate::graph::Graph;
use crate::numbers::Numbers;
use hadal_store::{Disk, RunFile, RunKind, RunWriter};

/// What every choice earns, in the order of states and their choices.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Which reward of the system it is.
    pub reward: usize,
    pub kept: Earned,
}

/// Where rewards are, as numbers of the graph.
#[derive(Clone, Debug)]
pub(super) enum Earned {
    Ram(Vec<u32>),
    /// In a file: the number; the state and which of its choices.
    Run(RunFile),
}

/// Words of a record in a file.
pub(super) const COLUMN: usize = 2;

impl Column {
    /// The same with numbers as they are called now.
    pub fn renamed(self, called: &[u32], disk: &Disk) -> Result<Self, DiskError> {
        let Earned::Run(run) = &self.kept else { return Ok(self) };
        let mut list = Cursor::open(run, COLUMN)?;
        let mut writing = Writing::new(disk)?;
        while let Some(record) = list.head()? {
            writing.0.push(&[u64::from(called[record[0] as usize]), record[1]])?;
            list.step();
        }
        Ok(Column { kept: Earned::Run(writing.finish()?), ..self })
    }
}

/// A column being written to a file.
pub(super) struct Writing(RunWriter);

impl Writing {
    pub fn new(disk: &Disk) -> Result<Self, DiskError> {
        let options = run_options(COLUMN, 0, disk.governor.limit());
        Ok(Writing(RunWriter::create(disk, RunKind::Closed, &options)?))
    }

    pub fn push(&mut self, state: u64, choice: usize, number: u32) -> Result<(), DiskError> {
        Ok(self.0.push(&[u64::from(number), state << POSITIONS | choice as u64])?)
    }

    pub fn finish(self) -> Result<RunFile, DiskError> {
        Ok(self.0.finish()?)
    }
}

/// The rewards of `other`, a graph with the choices of `graph`, state by state in an order, as numbers of `graph`.
pub(super) fn column_of(graph: &mut Graph, other: &Graph, order: &[u32]) -> Vec<u32> {
    let mut column = Vec::with_capacity(graph.choices());
    for &state in order {
        for choice in other.choices_of(state as usize) {
            column.push(graph.numbers.add(other.numbers.exact(other.reward_of(choice))));
        }
    }
    column
}

/// Rows, and the reward that their choices earn now.
pub(super) struct Earning<'g, R> {
    rows: &'g R,
    columns: &'g [Column],
    shown: Option<&'g Column>,
}

impl<R> Clone for Earning<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Earning<'_, R> {}

impl<'g, R> Earning<'g, R> {
    /// Rows as they are written down, with columns of other rewards.
    pub fn new(rows: &'g R, columns: &'g [Column]) -> Self {
        Earning { rows, columns, shown: None }
    }

    /// The same with this reward: that of its column, or, if there is none, the one that is written down.
    pub fn showing(self, reward: usize) -> Self {
        Earning { shown: self.columns.iter().find(|column| column.reward == reward), ..self }
    }
}

impl<R: Rows> Rows for Earning<'_, R> {
    fn states(&self) -> u64 {
        self.rows.states()
    }

    fn numbers(&self) -> &Numbers {
        self.rows.numbers()
    }

    fn company(&self) -> Option<&Company> {
        self.rows.company()
    }

    fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let Some(column) = self.shown else { return self.rows.scan(each) };
        let mut list = match &column.kept {
            Earned::Ram(list) => Listed::Ram(list.iter()),
            Earned::Run(run) => Listed::Run(Box::new(Cursor::open(run, COLUMN)?)),
        };
        let (mut shown, mut failed) = (Row::default(), None);
        self.rows.scan(|state, row| {
            shown.clear();
            shown.branches.extend_from_slice(&row.branches);
            shown.ends.extend_from_slice(&row.ends);
            for _ in &row.ends {
                match list.next() {
                    Ok(number) => shown.rewards.push(number),
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
            if failed.is_none() {
                each(state, &shown);
            }
        })?;
        failed.map_or(Ok(()), Err)
    }
}

impl<R: States> States for Earning<'_, R> {
    fn tell(&self, each: impl FnMut(u64, &[u64])) -> Result<(), DiskError> {
        self.rows.tell(each)
    }
}

enum Listed<'c> {
    Ram(std::slice::Iter<'c, u32>),
    Run(Box<Cursor>),
}

impl Listed<'_> {
    fn next(&mut self) -> Result<u32, DiskError> {
        let lost = || DiskError::Damaged("the rewards on disk are not whole".into());
        match self {
            Listed::Ram(list) => list.next().copied().ok_or_else(lost),
            Listed::Run(cursor) => {
                let number = cursor.head()?.ok_or_else(lost)?[0];
                cursor.step();
                Ok(number as u32)
            }
        }
    }
}
