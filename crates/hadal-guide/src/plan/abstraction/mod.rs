//! Abstractions of ground tasks as explicit graphs: each concrete state has one abstract state, each row that fires is an
//! abstract transition, so that distances to abstract goals never overestimate.
//!
//! Rows that do the same in an abstraction form a *class*, and transitions name classes. Whatever an abstraction cannot see
//! (derived facts, comparisons of numbers, monitors, conditions on other variables) may be true or false, as it likes.

mod cartesian;
mod climb;
mod collect;
mod factor;
mod fence;
mod merge;
mod order;
mod partition;
mod patterns;
mod project;

pub use collect::{Allowance, Source};
pub use partition::{Partitioned, PartitionedEstimator};

use super::additive::{INFINITE, add};
use super::queue::Queue;
use hadal_exec::rows::Place;

/// Where a state goes in an abstraction.
#[derive(Clone, Debug)]
enum Mapping {
    /// To the number that some variables make, each times its factor.
    Projection(Vec<(Place, u32)>),
    /// To a leaf of a tree of splits; the root is the first.
    Splits(Vec<Split>),
    /// To what tables of a merge say; what they call dead is the state after the last.
    Merged(merge::Tree, u32),
}

/// A node of a tree of splits.
#[derive(Clone, Debug)]
enum Split {
    /// An abstract state.
    Leaf(u32),
    /// By the value of a variable: where its bit is set to the one, else to the other.
    Inner {
        /// Where the variable lies.
        place: Place,
        /// A bit per value.
        values: Vec<u64>,
        /// Where a value goes whose bit is set.
        then: u32,
        /// Where the others go.
        otherwise: u32,
    },
}

impl Mapping {
    /// The abstract state of a packed state.
    #[inline]
    fn of(&self, state: &[u64]) -> u32 {
        match self {
            Mapping::Projection(parts) => {
                parts.iter().map(|&(place, factor)| place.get(state) as u32 * factor).sum()
            }
            Mapping::Merged(tree, dead) => tree.of(state).min(*dead),
            Mapping::Splits(nodes) => {
                let mut at = 0;
                loop {
                    match &nodes[at] {
                        Split::Leaf(state) => return *state,
                        Split::Inner { place, values, then, otherwise } => {
                            let value = place.get(state) as usize;
                            let set = values[value / 64] >> (value % 64) & 1 == 1;
                            at = if set { *then } else { *otherwise } as usize;
                        }
                    }
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Mapping::Projection(parts) => parts.len() as u64 * 16,
            Mapping::Splits(nodes) => nodes.len() as u64 * 72,
            Mapping::Merged(tree, _) => tree.bytes(),
        }
    }
}

/// A transition: from, to, and the class of rows that make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transition {
    to: u32,
    from: u32,
    class: u32,
}

/// An abstraction.
#[derive(Clone, Debug)]
struct Abstraction {
    mapping: Mapping,
    states: u32,
    goals: Vec<u32>,
    /// The rows of each class.
    classes: Vec<Vec<u32>>,
    /// By where they lead.
    transitions: Vec<Transition>,
    /// Where the transitions into each state begin; one more than there are states.
    begins: Vec<u32>,
}

impl Abstraction {
    /// Keeps what can be reached from `initial`; loops are left out. `None` where every state that can be reached is a goal,
    /// unless there may be dead ones.
    fn new(
        mapping: Mapping,
        (states, initial): (u32, u32),
        goals: Vec<u32>,
        classes: Vec<Vec<u32>>,
        mut transitions: Vec<Transition>,
    ) -> Option<Self> {
        transitions.retain(|transition| transition.from != transition.to);
        let reached = reach(states, initial, &transitions);
        transitions.retain(|transition| reached[transition.from as usize]);
        transitions.sort_unstable();
        transitions.dedup();
        let goals: Vec<u32> = goals.into_iter().filter(|&goal| reached[goal as usize]).collect();
        let all = goals.len() == reached.iter().filter(|&&reached| reached).count();
        if all && !matches!(mapping, Mapping::Merged(..)) {
            return None;
        }
        let mut begins = vec![0u32; states as usize + 1];
        transitions.iter().for_each(|transition| begins[transition.to as usize + 1] += 1);
        for at in 0..states as usize {
            begins[at + 1] += begins[at];
        }
        Some(Abstraction { mapping, states, goals, classes, transitions, begins })
    }

    fn transitions(&self) -> usize {
        self.transitions.len()
    }

    /// Bytes it takes.
    fn bytes(&self) -> u64 {
        let rows: usize = self.classes.iter().map(|class| class.len() + 6).sum();
        self.mapping.bytes()
            + 4 * (self.begins.len() + self.goals.len() + rows) as u64
            + (self.transitions.len() * size_of::<Transition>()) as u64
    }

    /// The distance of every state to the goals where rows cost `costs`; those that do not reach any are infinite.
    fn distances(&self, costs: &[u32], queue: &mut Queue) -> Vec<u32> {
        let prices: Vec<u32> = self
            .classes
            .iter()
            .map(|rows| rows.iter().map(|&row| costs[row as usize]).min().unwrap_or(0))
            .collect();
        let mut distances = vec![INFINITE; self.states as usize];
        queue.clear();
        for &goal in &self.goals {
            distances[goal as usize] = 0;
            queue.push(0, goal);
        }
        while let Some((distance, at)) = queue.pop() {
            if distances[at as usize] != distance {
                continue;
            }
            let into = self.begins[at as usize] as usize..self.begins[at as usize + 1] as usize;
            for transition in &self.transitions[into] {
                let there = add(distance, prices[transition.class as usize]);
                if there < distances[transition.from as usize] {
                    distances[transition.from as usize] = there;
                    queue.push(there, transition.from);
                }
            }
        }
        distances
    }

    /// What of each class's cost `distances` rest on: with so much, they stay as they are (saturated costs: Seipp and
    /// Helmert 2014, "Diverse and additive Cartesian abstraction heuristics").
    fn saturated(&self, distances: &[u32]) -> Vec<u32> {
        let mut needed = vec![0; self.classes.len()];
        for transition in &self.transitions {
            let (from, to) = (distances[transition.from as usize], distances[transition.to as usize]);
            // A state that leads to one with a way to the goal has one itself.
            if to != INFINITE {
                let needed = &mut needed[transition.class as usize];
                *needed = from.saturating_sub(to).max(*needed);
            }
        }
        needed
    }

    /// Takes away from `costs` what `distances` rest on.
    fn use_up(&self, distances: &[u32], costs: &mut [u32]) {
        for (rows, needed) in self.classes.iter().zip(self.saturated(distances)) {
            for &row in rows {
                costs[row as usize] -= needed;
            }
        }
    }

    /// Calls `each` with every row and what `distances` rest on of it.
    fn each_use(&self, distances: &[u32], mut each: impl FnMut(u32, u32)) {
        for (rows, needed) in self.classes.iter().zip(self.saturated(distances)) {
            rows.iter().for_each(|&row| each(row, needed));
        }
    }
}

/// Which states can be reached.
fn reach(states: u32, initial: u32, transitions: &[Transition]) -> Vec<bool> {
    let mut begins = vec![0u32; states as usize + 1];
    transitions.iter().for_each(|transition| begins[transition.from as usize + 1] += 1);
    for at in 0..states as usize {
        begins[at + 1] += begins[at];
    }
    let mut next = begins.clone();
    let mut targets = vec![0; transitions.len()];
    for transition in transitions {
        targets[next[transition.from as usize] as usize] = transition.to;
        next[transition.from as usize] += 1;
    }
    let mut reached = vec![false; states as usize];
    reached[initial as usize] = true;
    let mut open = vec![initial];
    while let Some(at) = open.pop() {
        for &to in &targets[begins[at as usize] as usize..begins[at as usize + 1] as usize] {
            if !std::mem::replace(&mut reached[to as usize], true) {
                open.push(to);
            }
        }
    }
    reached
}

/// The sum of distances; infinite where one is.
#[inline]
fn additive_sum(distances: impl Iterator<Item = u32>) -> u32 {
    distances.fold(0, add)
}
