//! Values from a part of the graph that grows where the best policy may lead, as LAO* does it (Hansen, Zilberstein 2001), with
//! both bounds proved.
//!
//! States that were not looked into yet are tips. Taken for targets they give one bound of the value, taken for places without a
//! way out they give the other; both are solved as if the part were all there is, so end components do no harm. The policy that
//! is best under the favourable bound says which tips matter. When it reaches none, the bounds meet.

use crate::answer::{Answer, Size};
use crate::build::BuildError;
use crate::follow::holds;
use crate::graph::Graph;
use crate::table::StateNumbers;
use crate::values::{Values, other_probability};
use crate::{Options, Precision, SolveError, reach};
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path, Sense};
use hadal_system::{Choices, StateSpace, Successors, System, Worker};

/// A part grows by at least one state in so many before it is solved again.
const PART: usize = 8;
/// Bounds of the part are made at most so much sharper than asked for.
const SHARPEST: f64 = 1e-4;

/// Why a question is not answered.
pub(crate) const METHOD: &str =
    "LAO* answers unbounded probabilities and least rewards before a target, of the initial states";
/// Why a formula of states is not.
pub(crate) const NESTED: &str =
    "LAO* tells states apart by their variables, not by questions inside a question";

/// What is asked, in parts.
pub(crate) struct Question<'o> {
    pub through: &'o Formula,
    pub target: &'o Formula,
    pub reward: Option<usize>,
    pub sense: Sense,
    /// Whether the value is 1 less what is solved.
    pub negated: bool,
}

impl<'o> Question<'o> {
    pub fn of(objective: &'o Objective) -> Option<Self> {
        let Asked::Value(measure, sense) = &objective.asked else { return None };
        if !matches!(objective.states, Formula::Initial) {
            return None;
        }
        let until = |path: &'o Path, sense, negated| match path {
            Path::Until(through, target, Limit::None) => {
                Some(Question { through, target, reward: None, sense, negated })
            }
            _ => None,
        };
        match measure {
            Measure::Probability(Path::Not(path)) => until(path, sense.opposite(), true),
            Measure::Probability(path) => until(path, *sense, false),
            Measure::Earned(reward, Horizon::Reach(target)) if *sense == Sense::Least => Some(Question {
                through: &Formula::Constant(true),
                target,
                reward: Some(*reward),
                sense: *sense,
                negated: false,
            }),
            _ => None,
        }
    }
}

/// Explores as much of `space`, a state space of `system`, as the answer needs.
pub fn answer(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: Options,
) -> Result<Answer, SolveError> {
    let (wanted, mut sharper) = (options.precision, options.precision);
    let question = Question::of(objective).ok_or(SolveError::Method(METHOD))?;
    let mut part = Part::new(space, system, &question)?;
    let mut answer = Answer { tier: "ram", ..Answer::default() };
    loop {
        let (tips_win, tips_lose) = (part.solve(true, sharper)?, part.solve(false, sharper)?);
        // A reward ends at a target, and is infinite where none is reached.
        let (low, high, guide) = match (question.reward, question.sense) {
            (None, Sense::Greatest) => (&tips_lose, &tips_win, &tips_win),
            (None, Sense::Least) => (&tips_lose, &tips_win, &tips_lose),
            (Some(_), _) => (&tips_win, &tips_lose, &tips_win),
        };
        answer.sweeps += tips_win.sweeps + tips_lose.sweeps;
        let tips = part.tips(guide);
        let starts = part.graph.initial.iter().map(|&s| (low.lower[s as usize], high.upper[s as usize]));
        let bounds: Vec<(f64, f64)> =
            starts.map(|bounds| if question.negated { other_probability(bounds) } else { bounds }).collect();
        let sharp = bounds
            .iter()
            .all(|&(low, high)| low == high || high.is_finite() && high - low <= wanted.relative * high);
        if !sharp && tips.is_empty() && sharper.relative > wanted.relative * SHARPEST {
            sharper.relative /= 8.0;
            continue;
        }
        if sharp || tips.is_empty() {
            let least = (question.sense == Sense::Least) != question.negated;
            let pick = |of: fn(&(f64, f64)) -> f64| match least {
                true => bounds.iter().map(of).fold(f64::INFINITY, f64::min),
                false => bounds.iter().map(of).fold(0.0, f64::max),
            };
            answer.value = Some((pick(|b| b.0), pick(|b| b.1)));
            answer.size = Size {
                states: part.expanded.len() as u64,
                choices: part.graph.choices() as u64,
                branches: part.graph.branches() as u64,
                deadlocks: part.deadlocks,
            };
            return Ok(answer);
        }
        part.grow(tips, options)?;
    }
}

/// What is known of a state that was looked into.
struct Node {
    /// Rewards and branches of its choices; none where it is decided.
    choices: Vec<(u32, Vec<(u32, u32)>)>,
}

struct Part<'s> {
    space: &'s dyn StateSpace,
    worker: Box<dyn Worker + 's>,
    bases: Vec<u32>,
    question: &'s Question<'s>,
    choices: Choices,
    /// The worker's numbers in those of the graph.
    known: Vec<u32>,
    states: StateNumbers,
    /// By state, where it was looked into.
    nodes: Vec<Option<Node>>,
    expanded: Vec<u32>,
    target: Vec<bool>,
    through: Vec<bool>,
    graph: Graph,
    deadlocks: u64,
}

impl<'s> Part<'s> {
    fn new(
        space: &'s dyn StateSpace,
        system: &System,
        question: &'s Question<'s>,
    ) -> Result<Self, SolveError> {
        let mut part = Part {
            space,
            worker: space.worker(),
            bases: system.property_bases(),
            question,
            choices: Choices::new(space.words(), question.reward),
            known: Vec::new(),
            states: StateNumbers::new(space.words()),
            nodes: Vec::new(),
            expanded: Vec::new(),
            target: Vec::new(),
            through: Vec::new(),
            graph: Graph::default(),
            deadlocks: 0,
        };
        let mut starts = Successors::new(space.words());
        part.worker.initial(&mut starts);
        for (_, state) in starts.iter() {
            let number = part.number(state)?;
            if !part.graph.initial.contains(&number) {
                part.graph.initial.push(number);
            }
        }
        if part.graph.initial.is_empty() {
            return Err(BuildError::NoStart.into());
        }
        part.build();
        Ok(part)
    }

    fn number(&mut self, state: &[u64]) -> Result<u32, SolveError> {
        let number = self.states.number(state).ok_or(BuildError::TooLarge)?;
        if number as usize == self.nodes.len() {
            let nested = SolveError::Method(NESTED);
            let mut asks = |formula| holds(formula, &self.bases, &mut *self.worker, state);
            let (target, through) = (asks(self.question.target), asks(self.question.through));
            let (target, through) = target.zip(through).ok_or(nested)?;
            self.target.push(target);
            self.through.push(through);
            // What is decided has nothing to look into.
            let decided = target || !through;
            self.nodes.push(decided.then(|| Node { choices: Vec::new() }));
        }
        Ok(number)
    }

    /// Looks into a state.
    fn expand(&mut self, at: u32) -> Result<(), SolveError> {
        let state = self.states.state(at as usize).to_vec();
        self.choices.clear();
        let told = self.worker.choices(&state, &mut self.choices);
        told.map_err(|fault| {
            let reason = format!("{fault:?}");
            BuildError::Fault { reason, state: self.space.render_state(&state), label: None }
        })?;
        for number in &self.choices.numbers[self.known.len()..] {
            self.known.push(self.graph.numbers.add(*number));
        }
        let mut list = Vec::with_capacity(self.choices.len());
        for n in 0..self.choices.len() {
            let mut branches = Vec::new();
            for branch in self.choices.range(n) {
                let to = self.choices.branches.state(branch).to_vec();
                branches.push((self.number(&to)?, self.known[self.choices.weights[branch] as usize]));
            }
            list.push((self.known[self.choices.rewards[n] as usize], branches));
        }
        if list.is_empty() {
            list.push((self.known[self.choices.resting as usize], vec![(at, 1)]));
            self.deadlocks += 1;
        }
        self.nodes[at as usize] = Some(Node { choices: list });
        self.expanded.push(at);
        Ok(())
    }

    /// Looks into tips, and behind them until the part has grown enough to be worth solving.
    fn grow(&mut self, mut tips: Vec<u32>, options: Options) -> Result<(), SolveError> {
        let enough = self.expanded.len() + self.expanded.len() / PART + 1;
        while !tips.is_empty() {
            let mut behind = Vec::new();
            for tip in tips {
                self.expand(tip)?;
                let node = self.nodes[tip as usize].as_ref();
                let to = node.into_iter().flat_map(|node| &node.choices).flat_map(|c| &c.1).map(|b| b.0);
                behind.extend(to);
                if options.max_states.is_some_and(|most| self.nodes.len() as u64 > most) {
                    return Err(BuildError::States(self.nodes.len() as u64 - 1).into());
                }
            }
            if self.expanded.len() >= enough {
                break;
            }
            behind.sort_unstable();
            behind.dedup();
            behind.retain(|&to| self.nodes[to as usize].is_none());
            tips = behind;
        }
        self.build();
        let needed = self.graph.bytes() * 2 + self.states.bytes();
        match options.memory {
            Some(limit) if needed > limit => {
                Err(BuildError::Memory { limit, states: self.nodes.len() as u64 }.into())
            }
            _ => Ok(()),
        }
    }

    /// Writes the part down as a graph; tips rest.
    fn build(&mut self) {
        let mut graph = Graph {
            first_choice: vec![0],
            first_branch: vec![0],
            numbers: std::mem::take(&mut self.graph.numbers),
            initial: std::mem::take(&mut self.graph.initial),
            ..Graph::default()
        };
        for (state, node) in self.nodes.iter().enumerate() {
            let choices = node.as_ref().map_or(&[][..], |node| &node.choices);
            for (reward, branches) in choices {
                graph.targets.extend(branches.iter().map(|b| b.0));
                graph.weights.extend(branches.iter().map(|b| b.1));
                graph.first_branch.push(graph.targets.len() as u32);
                graph.rewards.push(*reward);
            }
            if choices.is_empty() {
                graph.targets.push(state as u32);
                graph.weights.push(1);
                graph.first_branch.push(graph.targets.len() as u32);
                graph.rewards.push(0);
            }
            graph.first_choice.push(graph.first_branch.len() as u32 - 1);
        }
        self.graph = graph;
    }

    /// The values of the part where tips are targets, or places without a way out.
    fn solve(&self, tips_win: bool, wanted: Precision) -> Result<Values, SolveError> {
        // Two solutions share the width.
        let precision = Precision { policy: true, relative: wanted.relative / 4.0, ..wanted };
        let wins = |(target, node): (&bool, &Option<Node>)| *target || tips_win && node.is_none();
        let target: Vec<bool> = self.target.iter().zip(&self.nodes).map(wins).collect();
        match self.question.reward {
            Some(_) => reach::earned_before(&self.graph, &target, self.question.sense, precision),
            None => reach::until(&self.graph, &self.through, &target, self.question.sense, precision),
        }
    }

    /// The tips that the policy of some values reaches.
    fn tips(&self, values: &Values) -> Vec<u32> {
        let Some(policy) = &values.policy else { return Vec::new() };
        let mut seen = vec![false; self.nodes.len()];
        let (mut open, mut tips) = (Vec::new(), Vec::new());
        let mut meet = |state: u32, open: &mut Vec<u32>| {
            if !std::mem::replace(&mut seen[state as usize], true) {
                match &self.nodes[state as usize] {
                    None => tips.push(state),
                    Some(_) => open.push(state),
                }
            }
        };
        self.graph.initial.iter().for_each(|&s| meet(s, &mut open));
        while let Some(state) = open.pop() {
            let targets = self.graph.targets_of(policy[state as usize] as usize);
            targets.iter().for_each(|&to| meet(to, &mut open));
        }
        tips
    }
}
