//! Exact values of a graph on disk: what graph search leaves open is read into RAM, where unknowns are eliminated component by
//! component. The graph need not fit; its equations and the fractions have to, and are counted.

use super::components::Components;
use super::equations::{Equations, Settled, number};
use super::everywhere::{EVERYWHERE, certain};
use super::journal::Journal;
use super::rows::Rows;
use super::solve::{How, Question, Settling, Tier, governor, iterate, recall, reserve, settle, write_down};
use super::stages::Stages;
use super::sweep::Bounds;
use crate::optimistic;
use crate::problem::Known;
use crate::values::Exact;
use crate::{SolveError, exact};
use dashu_ratio::RBig;
use hadal_store::{Governor, Reservation};

/// Exact values of all states, with bounds beside them.
pub(super) struct Exactly {
    known: Vec<Known>,
    /// By state, as equations are numbered before they are in stages.
    node_of: Vec<u32>,
    stages: Stages,
    /// By node.
    bounds: Vec<Bounds>,
    /// By node: where its value is.
    place: Vec<u32>,
    values: Vec<RBig>,
    /// Sweeps over the equations.
    pub sweeps: u64,
    /// Where values were kept while bounds were found.
    pub tier: Tier,
    _memory: [Option<Reservation>; 2],
}

impl Exactly {
    /// Bounds of a state, and its value.
    pub fn of(&self, state: usize) -> (Bounds, Exact) {
        if let Some(bounds) = certain(self.known[state]) {
            let value = match self.known[state] {
                Known::Zero => Exact::Finite(RBig::ZERO),
                Known::Infinite => Exact::Infinite,
                Known::One | Known::Open => Exact::Finite(RBig::ONE),
            };
            return (bounds, value);
        }
        let node = self.stages.renumbered(u64::from(self.node_of[state])) as usize;
        (self.bounds[node], Exact::Finite(self.values[self.place[node] as usize].clone()))
    }
}

/// Answers a question about `rows` with exact values: bounds of all unknowns are in RAM, which are eliminated there.
pub(super) fn solve_exactly<R: Rows>(
    rows: &R,
    initial: &[u64],
    question: Question,
    (how, room): (How, Option<u64>),
    mut journal: Option<&mut Journal>,
) -> Result<Exactly, SolveError> {
    let settling = settle(rows, question, how.sense, journal.as_deref().map(governor))?;
    let of_states = reserve(rows.states(), EVERYWHERE, journal.as_deref().map(governor))?;
    let (equations, stages) = match journal.as_deref_mut().map(recall).transpose()?.flatten() {
        Some(kept) => kept,
        None => write_down(rows, &settling, initial, how.sense, journal.as_deref_mut())?,
    };
    let Settling { known, groups, .. } = settling;
    let (node_of, _) = number(&Settled { known: &known, groups: &groups, initial: &[] });
    drop(groups);
    let of_nodes = reserve(equations.nodes, 16, journal.as_deref().map(governor))?;
    let mut bounds = vec![(0.0, equations.most()); equations.nodes as usize];
    let keep = |node: u64, found: Bounds| {
        if let Some(bounds) = bounds.get_mut(node as usize) {
            *bounds = found;
        }
    };
    let (sweeps, tier) =
        iterate((&equations, &stages), how, equations.nodes > 0, journal.as_deref_mut(), keep)?;
    let (place, values) = exactly(&equations, &bounds, journal.as_deref().map(governor), room)?;
    let _memory = [of_states, of_nodes];
    Ok(Exactly { known, node_of, stages, bounds, place, values, sweeps, tier, _memory })
}

/// The exact values of some equations, whose bounds are known by node: where the value of each node is, and the values.
fn exactly(
    equations: &Equations,
    bounds: &[Bounds],
    governor: Option<&Governor>,
    room: Option<u64>,
) -> Result<(Vec<u32>, Vec<RBig>), SolveError> {
    let Components { problem, order, place, _memory } = Components::of(equations, governor)?;
    let lower: Vec<f64> = order.iter().map(|&node| bounds[node as usize].0).chain([1.0]).collect();
    let bounds = optimistic::Bounds { lower, upper: Vec::new(), sweeps: 0 };
    let values = exact::solve(&problem, &equations.numbers, &bounds, room)?;
    Ok((place, values))
}
