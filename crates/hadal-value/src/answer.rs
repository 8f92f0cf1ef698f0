//! From a question about a model to its answer: which propositions and rewards it needs, one exploration, then values.

use crate::bounded::{Rule, Sweep, indicator, unfold};
use crate::build::{BuildOptions, Built, build};
use crate::certificate::{Certificate, Solved};
use crate::graph::Graph;
use crate::policy::induced;
use crate::values::{Exact, Values};
use crate::{Precision, SolveError, ltl, reach};
use dashu_ratio::RBig;
use hadal_ltl::Ltl;
use hadal_system::chance::{
    Asked, Formula, Horizon, Limit, Measure, Objective, Path, Relation, Sense, Summary,
};
use hadal_system::rows::Rational;
use hadal_system::{Label, PropertyId, StateSpace, System};
use std::collections::BTreeSet;

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
    /// States of the graph.
    pub states: u64,
    /// Choices of the graph.
    pub choices: u64,
    /// Branches of the graph.
    pub branches: u64,
    /// Sweeps over the component that needed most.
    pub sweeps: u64,
    /// States without a choice of their own.
    pub deadlocks: u64,
    /// The policy, where one was asked for and the question has one.
    pub policy: Option<Policy>,
    /// The certificate, where one was asked for.
    pub certificate: Option<Certificate>,
    /// Where the values were kept.
    pub tier: &'static str,
    /// Whether it goes on from what an earlier run did.
    pub resumed: bool,
}

/// A policy: what is done in each state that can be reached under it.
#[derive(Clone, Debug)]
pub struct Policy {
    /// States with the label their choice begins with, and its number among the choices of the state.
    pub steps: Vec<(Vec<u64>, Label, u32)>,
    /// Between what the value of the initial states lies when the policy is followed, solved anew from the chain under it.
    pub value: (f64, f64),
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
    options: Options,
) -> Result<Answer, SolveError> {
    let mut needs = Needs::default();
    needs.asked(&objective.asked);
    needs.formula(&objective.states);
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
    let mut others = Vec::new();
    for &reward in rewards.iter().skip(1) {
        build_options.reward = Some(reward);
        build_options.marks.clear();
        others.push((reward, build(space, &build_options)?.graph));
    }
    let mut solver = Solver {
        system,
        built: &built,
        first: rewards.first().copied(),
        others,
        propositions,
        options,
        sweeps: 0,
    };
    solver.answer(objective)
}

/// What a question refers to.
#[derive(Default)]
pub(crate) struct Needs {
    pub propositions: BTreeSet<usize>,
    pub rewards: BTreeSet<usize>,
}

impl Needs {
    pub fn asked(&mut self, asked: &Asked) {
        match asked {
            Asked::Value(measure, _) => self.measure(measure),
            Asked::Truth(formula) => self.formula(formula),
        }
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Proposition(p) => {
                self.propositions.insert(*p);
            }
            Formula::Not(f) => self.formula(f),
            Formula::And(l, r) | Formula::Or(l, r) => {
                self.formula(l);
                self.formula(r);
            }
            Formula::Compares { value, .. } => self.measure(value),
            Formula::Constant(_) | Formula::Initial | Formula::Deadlock => {}
        }
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Probability(path) => self.path(path),
            Measure::Earned(reward, horizon) => {
                self.rewards.insert(*reward);
                if let Horizon::Reach(formula) = horizon {
                    self.formula(formula);
                }
            }
        }
    }

    fn path(&mut self, path: &Path) {
        match path {
            Path::Next(f) => self.formula(f),
            Path::Until(l, r, limit) => {
                self.formula(l);
                self.formula(r);
                if let Limit::Reward(reward, _) = limit {
                    self.rewards.insert(*reward);
                }
            }
            Path::Ltl { atoms, .. } => atoms.iter().for_each(|atom| self.formula(atom)),
            Path::Not(path) => self.path(path),
        }
    }
}

struct Solver<'a> {
    system: &'a System,
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
        let mut answer = Answer {
            states: self.graph().states() as u64,
            choices: self.graph().choices() as u64,
            branches: self.graph().branches() as u64,
            deadlocks: self.graph().deadlocks.len() as u64,
            tier: "ram",
            ..Answer::default()
        };
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
                if self.options.precision.certificate {
                    if !matches!(objective.states, Formula::Initial) {
                        return Err(SolveError::NoCertificate);
                    }
                    answer.certificate = Some(self.certify(measure, *sense, &objective.text)?);
                }
            }
        }
        answer.sweeps = self.sweeps;
        Ok(answer)
    }

    /// Everything that shows the bounds of the initial states to be right.
    fn certify(&mut self, measure: &Measure, sense: Sense, text: &str) -> Result<Certificate, SolveError> {
        // What was answered may have been sharpened: bounds of that width at least.
        let precision = Precision { exact: false, policy: false, ..self.options.precision };
        let precision = Precision { relative: precision.relative / 8.0, ..precision };
        let (inner, sense, negated) = match measure {
            Measure::Probability(Path::Not(path)) => {
                (Measure::Probability((**path).clone()), sense.opposite(), true)
            }
            other => (other.clone(), sense, false),
        };
        let values = self.measure(&inner, sense, precision)?;
        let n = self.graph().states();
        let (through, target, reward) = match &inner {
            Measure::Probability(Path::Until(through, target, Limit::None)) => {
                (self.formula(through)?, self.formula(target)?, None)
            }
            Measure::Earned(reward, Horizon::Reach(target)) => {
                (vec![true; n], self.formula(target)?, Some(*reward))
            }
            _ => return Err(SolveError::NoCertificate),
        };
        let escape = match reward.is_some() && sense == Sense::Least && values.lower.contains(&f64::INFINITY)
        {
            true => reach::until(self.graph(), &through, &target, Sense::Greatest, precision)?.upper,
            false => Vec::new(),
        };
        let graph = reward.map_or_else(|| self.graph(), |reward| self.graph_with(reward));
        let solved = Solved {
            graph,
            through: &through,
            target: &target,
            values: &values,
            sense,
            rewards: reward.is_some(),
            escape: &escape,
        };
        let least = (sense == Sense::Least) != negated;
        let starts = graph.initial.iter().map(|&s| (values.lower[s as usize], values.upper[s as usize]));
        let starts = starts.map(|(l, u)| match negated {
            true => ((1.0 - u).next_down(), (1.0 - l).next_up()),
            false => (l, u),
        });
        let value = starts.reduce(|a, b| match least {
            true => (a.0.min(b.0), a.1.min(b.1)),
            false => (a.0.max(b.0), a.1.max(b.1)),
        });
        solved.certify(self.built, text, value.unwrap_or((0.0, f64::INFINITY)))
    }

    /// What comes of a policy from the initial states.
    fn follow(&mut self, measure: &Measure, sense: Sense, policy: &[u32]) -> Result<Policy, SolveError> {
        // The question of a complement is solved for the opposite.
        let (inner, sense, negated) = match measure {
            Measure::Probability(Path::Not(path)) => {
                (Measure::Probability((**path).clone()), sense.opposite(), true)
            }
            other => (other.clone(), sense, false),
        };
        let precision = Precision { exact: false, policy: false, ..self.options.precision };
        let graph = match &inner {
            Measure::Earned(reward, _) => self.graph_with(*reward),
            Measure::Probability(_) => self.graph(),
        };
        let (chain, states) = induced(graph, policy);
        let values = match &inner {
            Measure::Earned(_, Horizon::Reach(formula)) => {
                let target = self.formula(formula)?;
                let target: Vec<bool> = states.iter().map(|&s| target[s as usize]).collect();
                reach::earned_before(&chain, &target, sense, precision)?
            }
            Measure::Probability(Path::Until(left, right, _)) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let of = |list: &[bool]| -> Vec<bool> { states.iter().map(|&s| list[s as usize]).collect() };
                reach::until(&chain, &of(&through), &of(&target), sense, precision)?
            }
            _ => return Err(SolveError::NoPolicy),
        };
        let values = if negated { values.complement() } else { values };
        let at = |list: &[f64]| chain.initial.iter().map(|&s| list[s as usize]).fold(f64::INFINITY, f64::min);
        let most = chain.initial.iter().map(|&s| values.upper[s as usize]).fold(0.0, f64::max);
        let step = |&s: &u32| {
            let (state, choice) = (self.built.states.state(s as usize).to_vec(), policy[s as usize]);
            (state, self.built.labels[choice as usize], choice - self.graph().first_choice[s as usize])
        };
        let steps = states.iter().map(step).collect();
        Ok(Policy { steps, value: (at(&values.lower), most) })
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
            Horizon::Total => reach::earned_for_ever(self.graph_with(reward), sense, precision),
            Horizon::Steps(steps) => {
                let sweep = Sweep { graph: self.graph_with(reward), sense, rewards: true };
                Ok(sweep.run(indicator(&vec![false; n], precision.exact), *steps, |_| Rule::Best))
            }
            Horizon::Instant(steps) => {
                if self.system.quantities.rewards[reward].items.iter().any(|i| i.actions.is_some()) {
                    return Err(SolveError::InstantOfActions);
                }
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
                    Limit::Reward(reward, most) => {
                        let graph = self.graph_with(*reward);
                        let (unfolded, behind) =
                            unfold(graph, &graph.initial, *most).ok_or(SolveError::RewardBound)?;
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
                        for (&start, &at) in graph.initial.iter().zip(&unfolded.initial) {
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

/// Whether the value of a state compares so with the bound; `None` where its bounds leave that open.
fn compare(values: &Values, state: usize, relation: Relation, bound: &Rational) -> Option<bool> {
    if let Some(exact) = &values.exact {
        let bound = crate::exact::fraction(bound);
        let order = match &exact[state] {
            Exact::Finite(value) => value.cmp(&bound),
            Exact::Infinite => std::cmp::Ordering::Greater,
        };
        return Some(match relation {
            Relation::Below => order.is_lt(),
            Relation::AtMost => order.is_le(),
            Relation::Above => order.is_gt(),
            Relation::AtLeast => order.is_ge(),
        });
    }
    let (low, high) = (values.lower[state], values.upper[state]);
    let (under, over) = crate::numbers::bracket(bound);
    let sharp = under == over;
    let (surely, never) = match relation {
        Relation::AtLeast => (low >= over, high < under),
        Relation::Above => (low > over, if sharp { high <= under } else { high < under }),
        Relation::AtMost => (high <= under, low > over),
        Relation::Below => (high < under, if sharp { low >= over } else { low > over }),
    };
    match (surely, never) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Makes one value of those of several states.
fn summarise(
    values: &Values,
    states: &[usize],
    summary: Summary,
    answer: &mut Answer,
) -> Result<(), SolveError> {
    let lows = || states.iter().map(|&s| values.lower[s]);
    let highs = || states.iter().map(|&s| values.upper[s]);
    let wide = |sum: f64, up: bool| {
        let moved = sum * states.len() as f64 * 2.3e-16;
        if up { sum + moved } else { sum - moved }
    };
    let n = states.len() as f64;
    answer.value = Some(match summary {
        Summary::Least => (lows().fold(f64::INFINITY, f64::min), highs().fold(f64::INFINITY, f64::min)),
        Summary::Greatest => (lows().fold(0.0, f64::max), highs().fold(0.0, f64::max)),
        Summary::Sum => (wide(lows().sum(), false), wide(highs().sum(), true)),
        Summary::Mean => (wide(lows().sum::<f64>() / n, false), wide(highs().sum::<f64>() / n, true)),
        Summary::Only => match states {
            [one] => (values.lower[*one], values.upper[*one]),
            _ => return Err(SolveError::NotOnly(states.len() as u64)),
        },
        Summary::Count | Summary::All | Summary::Some => return Err(SolveError::ValueAsTruth),
    });
    let Some(exact) = &values.exact else { return Ok(()) };
    let order = |l: &&Exact, r: &&Exact| match (l, r) {
        (Exact::Finite(l), Exact::Finite(r)) => l.cmp(r),
        (Exact::Finite(_), Exact::Infinite) => std::cmp::Ordering::Less,
        (Exact::Infinite, Exact::Finite(_)) => std::cmp::Ordering::Greater,
        (Exact::Infinite, Exact::Infinite) => std::cmp::Ordering::Equal,
    };
    let all = || states.iter().map(|&s| &exact[s]);
    let sum = || {
        let mut total = RBig::ZERO;
        for value in all() {
            match value {
                Exact::Finite(value) => total += value,
                Exact::Infinite => return Exact::Infinite,
            }
        }
        Exact::Finite(total)
    };
    answer.exact = match summary {
        Summary::Least | Summary::Only => all().min_by(order).cloned(),
        Summary::Greatest => all().max_by(order).cloned(),
        Summary::Sum => Some(sum()),
        _ => Some(match sum() {
            Exact::Finite(total) => Exact::Finite(total / RBig::from(states.len() as u64)),
            Exact::Infinite => Exact::Infinite,
        }),
    };
    Ok(())
}
