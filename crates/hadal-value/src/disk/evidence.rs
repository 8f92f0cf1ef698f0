//! Paths that show how a value compares with a bound: the chain under the best policy, as far as it can be reached, is read into
//! RAM; what its states are is read for those of the paths alone.

use super::DiskError;
use super::asked::Solver;
use super::policy::{self, Induced};
use super::rows::{Rows, States};
use super::solve::reserve;
use crate::SolveError;
use crate::components::NONE;
use crate::evidence::{Evidence, NOT_ONE, Needed, Path as Shown, paths_of, sides};
use crate::graph::Graph;
use hadal_system::chance::{Measure, Sense};
use hadal_system::{Choices, Label};
use std::collections::HashMap;

/// Bytes a state: its number in the chain, two sets, its first choice and branch; how likely its best path is, who leads to it.
const STATE: u64 = 4 + 2 + 8 + 8 + 16;
/// Bytes a branch: where it leads and its weight; whose it is.
const BRANCH: u64 = 8 + 8;

impl<R: Rows + States> Solver<'_, R> {
    /// Paths of the chain under the best policy that show what is needed.
    pub(super) fn evidence(
        &self,
        measure: &Measure,
        sense: Sense,
        needed: Option<Needed>,
    ) -> Result<Evidence, SolveError> {
        let (path, sense, needed) = sides(measure, sense, needed)?;
        let [start] = *self.initial else {
            return Err(SolveError::NoPaths("paths begin in the initial state: this model has several"));
        };
        let all = self.everywhere(&Measure::Probability(path), sense, self.precision, None)?;
        let (sets, found) = all.open().ok_or(SolveError::NoPaths(NOT_ONE))?;
        let choices = policy::of(&self.rows, (sets, sense), found, self.disk.as_ref())?;
        let chain = Induced { rows: &self.rows, policy: &choices.of };
        let reached = policy::reached(&chain, self.initial)?;
        let of = |set: &[bool]| -> Vec<bool> {
            set.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(holds, _)| *holds).collect()
        };
        let (through, target) = (of(&sets.through), of(&sets.target));
        let branches = {
            let mut count = 0u64;
            chain.scan(|state, row| {
                if reached[state as usize] {
                    count += row.branches.len() as u64;
                }
            })?;
            count
        };
        let governor = self.disk.as_ref().map(|disk| &disk.governor);
        let bytes = STATE * self.rows.states() + BRANCH * branches;
        let _memory = reserve(1, bytes, governor)?;
        let (graph, ranks) = read(&chain, &reached, start)?;
        let (paths, probability) = paths_of(&graph, (through, target), &needed)?;
        // The states of the paths, each with the label of its choice.
        let mut met: HashMap<u32, (Vec<u64>, Label)> = HashMap::new();
        for &state in paths.iter().flat_map(|(path, _)| path) {
            met.insert(ranks[state as usize], (Vec::new(), Label(u32::MAX)));
        }
        let (mut worker, mut list) = (self.space.worker(), Choices::new(self.space.words(), None));
        self.rows.tell(|rank, state| {
            let Some(entry) = met.get_mut(&(rank as u32)) else { return };
            list.clear();
            let (told, choice) = (worker.choices(state, &mut list), choices.of[rank as usize] as usize);
            let label = match told.is_ok() && choice < list.len() {
                true => list.branches.labels()[list.range(choice).start],
                false => Label(u32::MAX),
            };
            *entry = (state.to_vec(), label);
        })?;
        let paths = paths.into_iter().map(|(path, probability)| {
            let of = |state: &u32| &met[&ranks[*state as usize]];
            Shown {
                states: path.iter().map(|state| of(state).0.clone()).collect(),
                labels: path[..path.len() - 1].iter().map(|state| of(state).1).collect(),
                probability,
            }
        });
        Ok(Evidence { paths: paths.collect(), probability, fails: needed.fails })
    }
}

/// The part of a chain that is reached, from `start` on, and which state each of its states is.
fn read<R: Rows>(chain: &R, reached: &[bool], start: u64) -> Result<(Graph, Vec<u32>), DiskError> {
    let (mut number, mut ranks) = (vec![NONE; reached.len()], Vec::new());
    for (state, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
        number[state] = ranks.len() as u32;
        ranks.push(state as u32);
    }
    let numbers = chain.numbers().clone();
    let mut graph = Graph { first_choice: vec![0], first_branch: vec![0], numbers, ..Graph::default() };
    graph.initial.push(number[start as usize]);
    chain.scan(|state, row| {
        if reached[state as usize] {
            for &(to, weight) in &row.branches {
                graph.targets.push(number[to as usize]);
                graph.weights.push(weight);
            }
            graph.first_branch.push(graph.targets.len() as u32);
            graph.first_choice.push(graph.first_branch.len() as u32 - 1);
        }
    })?;
    Ok((graph, ranks))
}
