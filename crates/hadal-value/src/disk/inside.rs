//! Formulas with several temporal operators, and bounds on rewards, below filters and inside other formulas, or about questions
//! themselves: solved on a product that begins in every state of a graph, with what was found out about these states.

use super::asked::{Bounds, Solver};
use super::earning::Earning;
use super::everywhere::solve_everywhere;
use super::exactly::solve_exactly;
use super::graph::{DiskGraph, DiskOptions};
use super::journal::Journal;
use super::letters::Letters;
use super::parts::Part;
use super::rows::{ByRank, Rows, States};
use super::solve::{How, governor, reserve};
use crate::build::{BuildOptions, build};
use crate::product::{Beside, Product};
use crate::values::Exact;
use crate::{Precision, SolveError};
use dashu_ratio::RBig;
use hadal_store::Reservation;
use hadal_system::chance::{Measure, Sense};

/// The values of all states of a graph.
pub(super) struct Inside {
    pub bounds: Vec<Bounds>,
    /// Where they are asked for.
    pub exact: Vec<RBig>,
    pub sweeps: u64,
    pub memory: Option<Reservation>,
}

const INSIDE_ALONE: &str = "formulas with several temporal operators, and bounds on rewards, below filters and inside other formulas \
    are answered by one process: leave out --cluster";

/// Bytes a state of the graph: its bounds.
const BOUNDS: u64 = 16;

impl<R: Rows + States> Solver<'_, R> {
    /// What a measure follows beside the states of these rows, if they are no product yet.
    pub(super) fn beside<'m>(&self, measure: &'m Measure) -> Option<Beside<'m>> {
        match measure {
            Measure::Probability(path) if !self.followed => Beside::of(path),
            _ => None,
        }
    }

    /// The values of a measure that follows something.
    pub(super) fn inside(
        &self,
        (measure, beside): (&Measure, Beside),
        sense: Sense,
        precision: Precision,
        journal: Option<&mut Journal>,
    ) -> Result<Inside, SolveError> {
        self.must_be_alone(INSIDE_ALONE)?;
        let sets = beside.atoms().into_iter().map(|atom| self.formula(atom));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let letters = Letters::write(&self.rows, self.space.words(), &sets, self.disk.as_ref())?;
        drop(sets);
        let product = Product::everywhere(self.space, beside, &letters)?;
        let found = match &self.disk {
            Some(disk) => {
                let mut passing = Journal::passing(disk);
                journal.unwrap_or(&mut passing).scoped("beside-", |journal| {
                    let options = DiskOptions { marks: product.marks(), ..DiskOptions::default() };
                    let graph = DiskGraph::build_in(&product, &options, journal)?;
                    let solver = self.over(&graph, &graph.initial, &graph.marks);
                    solver.beginnings(measure, sense, precision, Some(journal))
                })
            }
            None => {
                let options = BuildOptions {
                    marks: product.marks(),
                    memory: precision.room,
                    ..BuildOptions::default()
                };
                build(&product, &options).map_err(SolveError::from).and_then(|built| {
                    let rows = ByRank::of(&built);
                    let (initial, marks) = (rows.initial(), rows.marks());
                    self.over(&rows, &initial, &marks).beginnings(measure, sense, precision, None)
                })
            }
        };
        found.map_err(|error| product.refusal().unwrap_or(error))
    }

    /// The same over a product.
    fn over<'p, P>(&'p self, rows: &'p P, initial: &'p [u64], marks: &'p [Vec<bool>]) -> Solver<'p, P> {
        Solver {
            rows: Earning::new(rows, &[]),
            space: self.space,
            initial,
            marks,
            wanted: self.wanted,
            system: self.system,
            precision: self.precision,
            tier: self.tier,
            disk: self.disk.clone(),
            followed: true,
        }
    }

    /// The values of the states of a product that begin, which are in the order of those that they stand for.
    fn beginnings(
        &self,
        measure: &Measure,
        sense: Sense,
        precision: Precision,
        mut journal: Option<&mut Journal>,
    ) -> Result<Inside, SolveError> {
        let Some(begins) = self.marks.last() else { return Err(SolveError::Undecided) };
        let count = begins.iter().filter(|begins| **begins).count();
        let memory = reserve(count as u64, BOUNDS, journal.as_deref().map(governor))?;
        let (mut bounds, mut exact) = (Vec::with_capacity(count), Vec::new());
        let bounded = Precision { exact: false, ..precision };
        let Part::Open(sets) = self.part(measure, sense, bounded, journal.as_deref_mut())? else {
            return Err(SolveError::Undecided);
        };
        let how = How { sense, precision: precision.relative, tier: self.tier };
        let sweeps = match precision.exact {
            true => {
                let room = (how, precision.room);
                let found = solve_exactly(&self.rows, self.initial, sets.question(), room, journal)?;
                for (state, _) in begins.iter().enumerate().filter(|(_, begins)| **begins) {
                    let (around, value) = found.of(state);
                    let Exact::Finite(value) = value else { return Err(SolveError::Undecided) };
                    bounds.push(around);
                    exact.push(value);
                }
                found.sweeps
            }
            false => {
                let found = solve_everywhere(&self.rows, self.initial, sets.question(), how, journal)?;
                found.bounds.scan(|state, around| {
                    if begins[state as usize] {
                        bounds.push(around);
                    }
                })?;
                found.sweeps
            }
        };
        Ok(Inside { bounds, exact, sweeps, memory })
    }
}
