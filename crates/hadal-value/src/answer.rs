//! From a question about a model to its answer: which propositions and rewards it needs, one exploration, then values.

mod following;
mod needs;
mod proof;
mod summary;
mod timed;

pub(crate) use following::Following;
pub use following::{Leftover, Policy};
pub(crate) use needs::Needs;
pub(crate) use timed::{NO_FRACTIONS, NO_TIME};

use crate::bounded::{Rule, Sweep, indicator, unfold};
use crate::build::{BuildError, BuildOptions, Built, build};
use crate::certificate::{Certificate, Claims};
use crate::evidence::{Evidence, Needed, Wanted};
use crate::graph::Graph;
use crate::values::{Exact, Values};
use crate::{Precision, SolveError, ltl, reach};
use dashu_ratio::RBig;
use hadal_ltl::Ltl;
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Objective, Path, Sense, Summary};
use hadal_system::{PropertyId, StateSpace, System};
use std::sync::Arc;
pub(crate) use summary::{ExactFold, Fold, compare, compare_bounds, compare_exactly, summarise};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Between what the value lies; `None` for a question of truth.
    pub value: Option<(f64, f64)>,
    /// The value itself, where it was asked for; `None` inside: infinite.
    pub exact: Option<Exact>,
    /// Whether the formula holds, for a question of truth.
    pub verdict: Option<bool>,
    /// How many states satisfy the formula, where that was asked for.
    pub count: Option<u64>,
    /// How large the graph is.
    pub size: Size,
    /// Sweeps over the component that needed most.
    pub sweeps: u64,
    /// The policy, where one was asked for and the question has one.
    pub policy: Option<Policy>,
    /// The certificate, where one was asked for.
    pub certificate: Option<Certificate>,
    /// Paths that show how the value compares with a bound, where they were asked for.
    pub evidence: Option<Evidence>,
    /// Where the values were kept.
    pub tier: &'static str,
    /// Bytes that were moved on disk, where one was used.
    pub moved: Option<Moved>,
    /// Whether it goes on from what an earlier run did.
    pub resumed: bool,
    /// Where policy and certificate are until they are told, and what a later process goes on from.
    pub folder: Option<Arc<Leftover>>,
}

/// Bytes that a run moved on disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// All that it read.
    pub read: u64,
    /// All that it wrote.
    pub written: u64,
    /// What sweeps over the equations read and wrote.
    pub sweeping: u64,
    /// What one sweep read and wrote at most.
    pub sweep: u64,
}

/// How large a graph is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// States.
    pub states: u64,
    /// Choices.
    pub choices: u64,
    /// Branches.
    pub branches: u64,
    /// States without a choice of their own.
    pub deadlocks: u64,
}

impl Size {
    /// That of a graph in RAM.
    pub fn of(graph: &Graph) -> Self {
        Size {
            states: graph.states() as u64,
            choices: graph.choices() as u64,
            branches: graph.branches() as u64,
            deadlocks: graph.deadlocks.len() as u64,
        }
    }
}

/// What graph search and the equations of a question take beside the graph: predecessors, sets, nodes, equations, bounds.
fn solver_bytes(graph: &Graph, words: usize, precision: &Precision) -> u64 {
    let (states, choices, branches) =
        (graph.states() as u64, graph.choices() as u64, graph.branches() as u64);
    // Predecessors and ranks of a certificate, and its claims; a policy and the chain under it.
    let certificate = states * 16 + choices * 9 + branches * 4 + Claims::bytes(words, states);
    let policy = states * (32 + 8 * words as u64) + choices * 4 + branches * 8;
    states * 88
        + choices * 17
        + branches * 12
        + if precision.certificate { certificate } else { 0 }
        + if precision.policy { policy } else { 0 }
}

/// How a question is answered.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How sharp.
    pub precision: Precision,
    /// How many bytes the graph may take.
    pub memory: Option<u64>,
    /// How many states it may have.
    pub max_states: Option<u64>,
}

/// Explores `space`, a state space of `system`, and answers.
pub fn answer(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    mut options: Options,
) -> Result<Answer, SolveError> {
    let mut needs = Needs::default();
    needs.asked(&objective.asked);
    needs.formula(&objective.states);
    needs.rewards.extend(system.quantities.sojourn.filter(|_| needs.timed));
    let compares = needs.compares;
    let propositions: Vec<usize> = needs.propositions.into_iter().collect();
    let rewards: Vec<usize> = needs.rewards.into_iter().collect();
    let bases = system.property_bases();
    let mut build_options = BuildOptions {
        reward: rewards.first().copied(),
        marks: propositions.iter().map(|&p| PropertyId(bases[p])).collect(),
        memory: options.memory,
        max_states: options.max_states,
        absorbing: None,
    };
    let built = build(space, &build_options)?;
    if let Some(limit) = options.memory {
        let solver = solver_bytes(&built.graph, space.words(), &options.precision);
        let needed = built.graph.bytes() + built.states.bytes() + solver;
        if needed > limit {
            return Err(BuildError::Memory { limit, states: built.graph.states() as u64 }.into());
        }
        options.precision.spare = Some(limit - needed);
    }
    let mut others = Vec::new();
    for &reward in rewards.iter().skip(1) {
        build_options.reward = Some(reward);
        build_options.marks.clear();
        others.push((reward, build(space, &build_options)?.graph));
    }
    let of_start = matches!((&objective.asked, &objective.states), (Asked::Value(..), Formula::Initial));
    let mut solver = Solver {
        system,
        everywhere: compares || !of_start,
        built: &built,
        first: rewards.first().copied(),
        others,
        propositions,
        options,
        sweeps: 0,
    };
    solver.answer(objective)
}

struct Solver<'a> {
    system: &'a System,
    /// Whether values are wanted of states other than the initial ones.
    everywhere: bool,
    built: &'a Built,
    /// The reward of the first graph.
    first: Option<usize>,
    /// Graphs with other rewards.
    others: Vec<(usize, Graph)>,
    propositions: Vec<usize>,
    options: Options,
    sweeps: u64,
}

impl Solver<'_> {
    fn graph(&self) -> &Graph {
        &self.built.graph
    }

    fn graph_with(&self, reward: usize) -> &Graph {
        match self.others.iter().find(|(other, _)| *other == reward && self.first != Some(reward)) {
            Some((_, graph)) => graph,
            None => &self.built.graph,
        }
    }

    fn answer(&mut self, objective: &Objective) -> Result<Answer, SolveError> {
        let chosen = self.formula(&objective.states)?;
        let states: Vec<usize> = (0..self.graph().states()).filter(|&s| chosen[s]).collect();
        let mut answer = Answer { size: Size::of(self.graph()), tier: "ram", ..Answer::default() };
        match &objective.asked {
            Asked::Truth(formula) => {
                let holds = self.formula(formula)?;
                if let (true, Formula::Compares { value, relation, .. }) =
                    (self.options.precision.policy, formula)
                {
                    // Whoever wants the bound broken would do this: it shows that it is, or how near it comes.
                    let sense = relation.hardest();
                    let values = self.measure(value, sense, self.options.precision)?;
                    let policy = values.policy.as_ref().ok_or(SolveError::NoPolicy)?;
                    answer.policy = Some(self.follow(value, sense, policy)?);
                }
                let count = states.iter().filter(|&&s| holds[s]).count();
                if self.options.precision.paths != Wanted::Nothing {
                    let Formula::Compares { value, relation, bound } = formula else {
                        return Err(SolveError::NoPaths("the formula is not one bound on one probability"));
                    };
                    let sense = relation.hardest();
                    let needed = Needed::of(sense, *relation, bound, count == states.len());
                    answer.evidence = Some(self.evidence(value, sense, needed)?);
                }
                match objective.summary {
                    Summary::Some => answer.verdict = Some(count > 0),
                    Summary::Count => answer.count = Some(count as u64),
                    _ => answer.verdict = Some(count == states.len()),
                }
            }
            Asked::Value(measure, sense) => {
                if states.is_empty() {
                    return Err(SolveError::NoState);
                }
                let values = self.sharp(measure, *sense, &states)?;
                summarise(&values, &states, objective.summary, &mut answer)?;
                if let Some(policy) = &values.policy {
                    answer.policy = Some(self.follow(measure, *sense, policy)?);
                }
                if let Wanted::Of(relation, bound) = self.options.precision.paths {
                    let holds = states.iter().map(|&s| compare(&values, s, relation, &bound));
                    let holds = holds.collect::<Option<Vec<bool>>>().ok_or(SolveError::Undecided)?;
                    let needed = Needed::of(*sense, relation, &bound, holds.iter().all(|holds| *holds));
                    answer.evidence = Some(self.evidence(measure, *sense, needed)?);
                }
                if self.options.precision.certificate {
                    if !matches!(objective.states, Formula::Initial) {
                        return Err(SolveError::NoCertificate(
                            "it would be of the initial states; leave the filter out",
                        ));
                    }
                    answer.certificate = Some(self.certify(measure, *sense, &objective.text)?);
                }
            }
        }
        answer.sweeps = self.sweeps;
        Ok(answer)
    }

    /// The values of a measure, so sharp that those of `states` have the precision that is asked for.
    fn sharp(&mut self, measure: &Measure, sense: Sense, states: &[usize]) -> Result<Values, SolveError> {
        let wanted = self.options.precision;
        let mut precision = wanted;
        for _ in 0..4 {
            let values = self.measure(measure, sense, precision)?;
            let wide = |&s: &usize| {
                let (low, high) = (values.lower[s], values.upper[s]);
                low.is_finite() && high - low > wanted.relative * high
            };
            if !states.iter().any(wide) {
                return Ok(values);
            }
            precision.relative /= 8.0;
        }
        self.measure(measure, sense, precision)
    }

    fn formula(&mut self, formula: &Formula) -> Result<Vec<bool>, SolveError> {
        let n = self.graph().states();
        Ok(match formula {
            Formula::Constant(value) => vec![*value; n],
            Formula::Proposition(p) => {
                let at = self.propositions.iter().position(|q| q == p);
                at.map_or_else(|| vec![false; n], |at| self.built.marks[at].clone())
            }
            Formula::Initial => {
                let mut list = vec![false; n];
                self.graph().initial.iter().for_each(|&s| list[s as usize] = true);
                list
            }
            Formula::Deadlock => {
                let mut list = vec![false; n];
                self.graph().deadlocks.iter().for_each(|&s| list[s as usize] = true);
                list
            }
            Formula::Not(f) => self.formula(f)?.into_iter().map(|v| !v).collect(),
            Formula::And(l, r) => both(self.formula(l)?, &self.formula(r)?, |a, b| a && b),
            Formula::Or(l, r) => both(self.formula(l)?, &self.formula(r)?, |a, b| a || b),
            Formula::Compares { value, relation, bound } => {
                let sense = relation.hardest();
                let mut precision = self.options.precision;
                let mut values = self.measure(value, sense, precision)?;
                let decide = |values: &Values| -> Option<Vec<bool>> {
                    (0..n).map(|s| compare(values, s, *relation, bound)).collect()
                };
                for _ in 0..3 {
                    if let Some(decided) = decide(&values) {
                        return Ok(decided);
                    }
                    precision.relative /= 64.0;
                    values = self.measure(value, sense, precision)?;
                }
                precision = Precision { exact: true, ..self.options.precision };
                values = self.measure(value, sense, precision)?;
                decide(&values).ok_or(SolveError::Undecided)?
            }
        })
    }

    fn measure(
        &mut self,
        measure: &Measure,
        sense: Sense,
        precision: Precision,
    ) -> Result<Values, SolveError> {
        let values = match measure {
            Measure::Probability(path) => self.path(path, sense, precision)?,
            Measure::Earned(reward, horizon) => self.earned(*reward, horizon, sense, precision)?,
            Measure::Average(of) => self.average(of, sense, precision)?,
        };
        self.sweeps = self.sweeps.max(values.sweeps);
        Ok(values)
    }

    fn earned(
        &mut self,
        reward: usize,
        horizon: &Horizon,
        sense: Sense,
        precision: Precision,
    ) -> Result<Values, SolveError> {
        let n = self.graph().states();
        match horizon {
            Horizon::Reach(formula) => {
                let target = self.formula(formula)?;
                reach::earned_before(self.graph_with(reward), &target, sense, precision)
            }
            Horizon::Time(_) | Horizon::Moment(_) => self.earned_in_time(reward, horizon, precision),
            Horizon::Total => reach::earned_for_ever(self.graph_with(reward), sense, precision),
            Horizon::Steps(steps) => {
                let sweep = Sweep { graph: self.graph_with(reward), sense, rewards: true };
                Ok(sweep.run(indicator(&vec![false; n], precision.exact), *steps, |_| Rule::Best))
            }
            Horizon::Instant(steps) => {
                self.of_states(reward)?;
                let graph = self.graph_with(reward);
                let numbers = &graph.numbers;
                let at = |s: usize| graph.reward_of(graph.choices_of(s).start);
                let values = Values {
                    lower: (0..n).map(|s| numbers.below()[at(s) as usize]).collect(),
                    upper: (0..n).map(|s| numbers.above()[at(s) as usize]).collect(),
                    exact: precision.exact.then(|| {
                        (0..n).map(|s| Exact::Finite(crate::exact::fraction(&numbers.exact(at(s))))).collect()
                    }),
                    sweeps: 0,
                    policy: None,
                };
                let sweep = Sweep { graph, sense, rewards: false };
                Ok(sweep.run(values, *steps, |_| Rule::Best))
            }
        }
    }

    /// Refuses rewards that actions earn.
    fn of_states(&self, reward: usize) -> Result<(), SolveError> {
        let items = &self.system.quantities.rewards[reward].items;
        match items.iter().any(|item| item.actions.is_some()) {
            true => Err(SolveError::InstantOfActions),
            false => Ok(()),
        }
    }

    /// The probability of a formula of temporal logic.
    fn temporal(
        &mut self,
        (formula, atoms): (&Ltl, &[Formula]),
        sense: Sense,
        precision: Precision,
    ) -> Result<Values, SolveError> {
        let n = self.graph().states();
        let mut letters = vec![0u64; n];
        for (at, atom) in atoms.iter().enumerate() {
            for (letter, holds) in letters.iter_mut().zip(self.formula(atom)?) {
                *letter |= u64::from(holds) << at;
            }
        }
        // Whoever makes a formula unlikely makes its opposite likely.
        let likely = match sense {
            Sense::Greatest => formula.clone(),
            Sense::Least => formula.not(),
        };
        let values = match hadal_ltl::translate::constant(&likely) {
            Some(holds) => ltl::constant(n, holds, precision.exact),
            None => ltl::greatest(self.graph(), &letters, &likely, (precision, self.options.memory))?,
        };
        Ok(if sense == Sense::Least { values.complement() } else { values })
    }

    fn path(&mut self, path: &Path, sense: Sense, precision: Precision) -> Result<Values, SolveError> {
        match path {
            Path::Not(path) => Ok(self.path(path, sense.opposite(), precision)?.complement()),
            Path::Ltl { formula, atoms } => self.temporal((formula, atoms), sense, precision),
            Path::Next(formula) => {
                let target = self.formula(formula)?;
                let sweep = Sweep { graph: self.graph(), sense, rewards: false };
                Ok(sweep.run(indicator(&target, precision.exact), 1, |_| Rule::Best))
            }
            Path::Until(left, right, limit) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                match limit {
                    Limit::None => reach::until(self.graph(), &through, &target, sense, precision),
                    Limit::Steps(low, high) => {
                        let values = match high {
                            None => reach::until(self.graph(), &through, &target, sense, precision)?,
                            Some(high) if high < low => {
                                indicator(&vec![false; target.len()], precision.exact)
                            }
                            Some(high) => {
                                let sweep = Sweep { graph: self.graph(), sense, rewards: false };
                                sweep.run(indicator(&target, precision.exact), high - low, |s| {
                                    match (target[s], through[s]) {
                                        (true, _) => Rule::One,
                                        (_, true) => Rule::Best,
                                        _ => Rule::Zero,
                                    }
                                })
                            }
                        };
                        let sweep = Sweep { graph: self.graph(), sense, rewards: false };
                        Ok(sweep.run(values, *low, |s| if through[s] { Rule::Best } else { Rule::Zero }))
                    }
                    Limit::Time(low, high) => self.within((&through, &target), (*low, *high), precision),
                    Limit::Reward(reward, most) => {
                        let graph = self.graph_with(*reward);
                        let starts = match self.everywhere {
                            true => (0..graph.states() as u32).collect(),
                            false => graph.initial.clone(),
                        };
                        let (unfolded, behind) =
                            unfold(graph, &starts, *most).ok_or(SolveError::RewardBound)?;
                        let holds = |list: &[bool]| -> Vec<bool> {
                            behind.iter().map(|&s| list.get(s as usize).copied().unwrap_or(false)).collect()
                        };
                        let inner =
                            reach::until(&unfolded, &holds(&through), &holds(&target), sense, precision)?;
                        let n = graph.states();
                        let mut values = Values {
                            lower: vec![0.0; n],
                            upper: vec![1.0; n],
                            exact: inner.exact.as_ref().map(|_| vec![Exact::Finite(RBig::ZERO); n]),
                            sweeps: inner.sweeps,
                            policy: None,
                        };
                        for (&start, &at) in starts.iter().zip(&unfolded.initial) {
                            values.lower[start as usize] = inner.lower[at as usize];
                            values.upper[start as usize] = inner.upper[at as usize];
                            if let (Some(to), Some(from)) = (&mut values.exact, &inner.exact) {
                                to[start as usize] = from[at as usize].clone();
                            }
                        }
                        Ok(values)
                    }
                }
            }
        }
    }
}

fn both(mut left: Vec<bool>, right: &[bool], op: impl Fn(bool, bool) -> bool) -> Vec<bool> {
    left.iter_mut().zip(right).for_each(|(l, r)| *l = op(*l, *r));
    left
}
