//! What orders ask of states beside the table: known successors, and states that are not kept.

use super::core::Core;
use super::nodes::NONE;
use crate::finding::Finding;
use hadal_store::OverBudget;
use hadal_system::Label;
use hadal_system::guide::Distance;

impl Core<'_> {
    /// The estimate of words that need not be in the table.
    pub(super) fn estimate_words(&mut self, state: &[u64]) -> Distance {
        self.figures.work.evaluated += 1;
        self.guiding.estimator.estimate(state, None)
    }

    /// The numbers of the known successors of a state, to which nothing is added, and what is wrong with going on from it.
    pub(super) fn known_successors(&mut self, at: u32, successors: &mut Vec<u32>) -> Option<Finding> {
        successors.clear();
        let words = self.search.task.space.words();
        self.scratch.state.clear();
        self.scratch.state.extend_from_slice(self.table.nth(0, u64::from(at)));
        self.lane.generate(&self.scratch.state[..words], 0);
        let found = self.lane.finding.take();
        let (out, _) = self.lane.waiting();
        let known = out.iter().filter_map(|(_, state)| self.table.find(state));
        successors.extend(known.map(|to| to.number() as u32));
        self.lane.settle();
        found
    }

    /// What the transition by which a state was reached costs; 0 for initial states.
    pub(super) fn cost_into(&mut self, at: u32) -> u32 {
        let (parent, label) = (self.nodes.get(at).parent, self.nodes.get(at).label);
        if parent == NONE {
            return 0;
        }
        let state = self.words_at(parent).to_vec();
        self.lane.cost_of(&state, label)
    }

    /// A state of the table, without its context.
    pub(super) fn words_at(&self, at: u32) -> &[u64] {
        &self.table.nth(0, u64::from(at))[..self.search.task.space.words()]
    }

    /// Puts a state into the table unless it is there or the table takes no more; its number where it is there after.
    pub(super) fn remember(
        &mut self,
        state: &[u64],
        label: Label,
        g: u32,
        is_full: bool,
    ) -> Result<Option<u32>, OverBudget> {
        if is_full {
            return Ok(self.table.find(state).map(|at| at.number() as u32));
        }
        self.scratch.key.clear();
        self.scratch.key.extend_from_slice(state);
        self.intern(NONE, label, g).map(|(at, _)| Some(at))
    }

    /// The numbers of the initial states, which are in the table from the first time on.
    pub(super) fn roots(&mut self) -> Result<Vec<u32>, OverBudget> {
        match self.table.len() {
            0 => self.start(),
            known => Ok((0..known as u32).collect()),
        }
    }

    /// What is wrong with a state.
    pub(super) fn look_at_words(&mut self, state: &[u64]) -> Option<Finding> {
        self.lane.look_at(state);
        self.lane.finding.take()
    }

    /// Generates the successors of a state that need not be in the table; what is wrong about that.
    pub(super) fn generate_words(&mut self, state: &[u64]) -> Option<Finding> {
        self.scratch.state.clear();
        self.scratch.state.extend_from_slice(state);
        self.lane.generate(state, 0);
        self.take_turns();
        self.lane.finding.take()
    }
}
