//! Explores a state space breadth-first and writes it down as a [`Graph`].

use crate::graph::Graph;
use crate::table::StateNumbers;
use hadal_system::{ChoiceFault, Choices, Label, PropertyId, StateSpace, Successors};
use std::collections::HashMap;

/// What a graph is built for.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Which reward is written down, an index into the system's rewards.
    pub reward: Option<usize>,
    /// The propositions whose states are marked.
    pub marks: Vec<PropertyId>,
    /// States with this proposition are not left: they loop, as other tools build them for one question.
    pub absorbing: Option<PropertyId>,
    /// How many bytes it may take.
    pub memory: Option<u64>,
    /// How many states it may have.
    pub max_states: Option<u64>,
}

/// Why a graph cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An error of the model, met in a state.
    #[error("the model has an error: {reason}")]
    Fault {
        /// What happened.
        reason: String,
        /// The state, for people.
        state: Vec<(String, String)>,
        /// The transition, where there is one.
        label: Option<Label>,
    },
    /// More memory is needed.
    #[error("the graph does not fit {limit} bytes: {states} states so far")]
    Memory {
        /// The budget.
        limit: u64,
        /// States found.
        states: u64,
    },
    /// More states than allowed.
    #[error("the graph has more than {0} states")]
    States(u64),
    /// States, choices and branches are numbered with 32 bits.
    #[error("the graph has more states, choices or branches than 32 bits can number")]
    TooLarge,
    /// Nothing to explore.
    #[error("the model has no initial state")]
    NoStart,
}

/// A graph with the states it stands for.
#[derive(Debug)]
pub struct Built {
    /// The graph.
    pub graph: Graph,
    /// Its states by number.
    pub states: StateNumbers,
    /// For each proposition asked for, whether each state has it.
    pub marks: Vec<Vec<bool>>,
    /// The label each choice begins with.
    pub labels: Vec<Label>,
}

/// Explores `space`.
pub fn build(space: &dyn StateSpace, options: &BuildOptions) -> Result<Built, BuildError> {
    let mut worker = space.worker();
    let words = space.words();
    let mut states = StateNumbers::new(words);
    let mut graph = Graph { first_choice: vec![0], first_branch: vec![0], ..Graph::default() };
    let mut labels = Vec::new();
    let mut marks = vec![Vec::new(); options.marks.len()];

    let mut starts = Successors::new(words);
    worker.initial(&mut starts);
    if let Some(&label) = starts.faults().first() {
        return Err(BuildError::Fault {
            reason: "an initial state cannot be made".into(),
            state: Vec::new(),
            label: Some(label),
        });
    }
    for (_, state) in starts.iter() {
        let number = states.number(state).ok_or(BuildError::TooLarge)?;
        // The first states have the first numbers.
        if number as usize == graph.initial.len() {
            graph.initial.push(number);
        }
    }
    if graph.initial.is_empty() {
        return Err(BuildError::NoStart);
    }

    let mut choices = Choices::new(words, options.reward);
    // The worker's numbers in those of the graph.
    let mut known: Vec<u32> = Vec::new();
    let (mut hashes, mut targets, mut branch) = (Vec::new(), Vec::new(), Vec::<(u32, u32)>::new());
    let mut here = vec![0; words];
    let mut at = 0;
    while at < states.len() {
        here.copy_from_slice(states.state(at));
        for (mark, &property) in marks.iter_mut().zip(&options.marks) {
            let holds = worker.satisfies(&here, property);
            mark.push(
                holds.ok_or_else(|| fault(space, &here, ChoiceFault::Proposition(property.0 as usize)))?,
            );
        }
        choices.clear();
        let rests = options.absorbing.is_some_and(|p| worker.satisfies(&here, p) == Some(true));
        if !rests {
            worker.choices(&here, &mut choices).map_err(|f| fault(space, &here, f))?;
        }
        for number in &choices.numbers[known.len()..] {
            known.push(graph.numbers.add(*number));
        }
        targets.clear();
        states.numbers(choices.branches.states(), &mut hashes, &mut targets).ok_or(BuildError::TooLarge)?;
        for n in 0..choices.len() {
            let range = choices.range(n);
            labels.push(choices.branches.labels()[range.start]);
            branch.clear();
            branch.extend(range.map(|b| (targets[b], known[choices.weights[b] as usize])));
            merge(&mut branch, &mut graph).ok_or(BuildError::TooLarge)?;
            end_choice(&mut graph, &branch, options.reward.map(|_| known[choices.rewards[n] as usize]))?;
        }
        if choices.is_empty() {
            labels.push(Label(u32::MAX));
            branch.clear();
            branch.push((at as u32, 1));
            let earned = if rests { 0 } else { known[choices.resting as usize] };
            end_choice(&mut graph, &branch, options.reward.map(|_| earned))?;
            if !rests {
                graph.deadlocks.push(at as u32);
            }
        }
        graph.first_choice.push(graph.choices() as u32);
        at += 1;
        if at % 4096 == 0 {
            within(options, &graph, &states)?;
        }
    }
    within(options, &graph, &states)?;
    graph.first_branch.shrink_to_fit();
    Ok(Built { graph, states, marks, labels })
}

fn within(options: &BuildOptions, graph: &Graph, states: &StateNumbers) -> Result<(), BuildError> {
    if let Some(limit) = options.memory
        && graph.bytes() + states.bytes() > limit
    {
        return Err(BuildError::Memory { limit, states: states.len() as u64 });
    }
    match options.max_states {
        Some(limit) if states.len() as u64 > limit => Err(BuildError::States(limit)),
        _ => Ok(()),
    }
}

fn end_choice(graph: &mut Graph, branches: &[(u32, u32)], reward: Option<u32>) -> Result<(), BuildError> {
    for &(target, weight) in branches {
        graph.targets.push(target);
        graph.weights.push(weight);
    }
    graph.rewards.extend(reward);
    if graph.targets.len() >= u32::MAX as usize {
        return Err(BuildError::TooLarge);
    }
    graph.first_branch.push(graph.targets.len() as u32);
    Ok(())
}

/// Branches to the same state become one, at the place of the first; their weights add up.
fn merge(branches: &mut Vec<(u32, u32)>, graph: &mut Graph) -> Option<()> {
    if branches.len() > 32 {
        return merge_many(branches, graph);
    }
    let mut kept = 0;
    for n in 0..branches.len() {
        let (target, weight) = branches[n];
        match branches[..kept].iter().position(|b| b.0 == target) {
            Some(first) => branches[first].1 = graph.numbers.sum(branches[first].1, weight)?,
            None => {
                branches[kept] = (target, weight);
                kept += 1;
            }
        }
    }
    branches.truncate(kept);
    Some(())
}

/// The same for long lists.
fn merge_many(branches: &mut Vec<(u32, u32)>, graph: &mut Graph) -> Option<()> {
    let mut first_of = HashMap::with_capacity(branches.len());
    let mut kept: Vec<(u32, u32)> = Vec::with_capacity(branches.len());
    for &(target, weight) in branches.iter() {
        let at = *first_of.entry(target).or_insert(kept.len());
        match kept.get_mut(at) {
            Some(first) => first.1 = graph.numbers.sum(first.1, weight)?,
            None => kept.push((target, weight)),
        }
    }
    *branches = kept;
    Some(())
}

fn fault(space: &dyn StateSpace, state: &[u64], fault: ChoiceFault) -> BuildError {
    let (reason, label) = match fault {
        ChoiceFault::Transition(label) => {
            (format!("`{}` raises an error", space.render_label(label)), Some(label))
        }
        ChoiceFault::Amount(label) => {
            let name = space.render_label(label);
            (
                format!("a probability or reward of `{name}` is negative, divides by zero or is too large"),
                Some(label),
            )
        }
        ChoiceFault::Sum(label) => {
            (format!("the probabilities of `{}` do not add up to 1", space.render_label(label)), Some(label))
        }
        ChoiceFault::Proposition(_) => ("a condition raises an error".to_owned(), None),
    };
    BuildError::Fault { reason, state: space.render_state(state), label }
}
