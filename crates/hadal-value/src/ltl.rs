//! Probabilities of formulas about whole runs: the product with a limit-deterministic automaton.
//!
//! A Büchi automaton for the formula is followed as the set of states it may be in. At any moment the choices may bet on
//! some of these states, inside one accepting component: from then on a *breakpoint* is a moment by which every run from
//! there has passed an accepting edge since the breakpoint before. A run with breakpoints without end is accepted, and where
//! acceptance is almost certain some bet wins almost surely, so the greatest probability of the formula is that of reaching
//! an end component with a breakpoint (Courcoubetis and Yannakakis 1995; Hahn et al. 2015 for sets instead of single states).

use crate::build::BuildError;
use crate::components::{NONE, end_components};
use crate::graph::Graph;
use crate::reach;
use crate::values::{Exact, Values};
use crate::{Precision, SolveError};
use dashu_ratio::RBig;
use hadal_ltl::{Automaton, Edge, Ltl};
use hadal_system::chance::Sense;
use std::collections::HashMap;

/// Sets of automaton states are masks.
const MOST_STATES: usize = 64;
/// Where bets are subsets, there are up to 2^10.
const MOST_RUNS: u32 = 10;

/// How the automaton stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It may be in these states, and nothing was bet.
    Open(u64),
    /// The bet is on runs inside `within` that are in `runs` now; `passed` have passed an accepting edge since the last
    /// breakpoint.
    Bet { runs: u64, passed: u64, within: u64 },
    /// No run is left.
    Lost,
}

/// The greatest probability of `formula` in every state. `letters` are the atoms that hold in each state; the product may
/// take `memory` bytes.
pub(crate) fn greatest(
    graph: &Graph,
    letters: &[u64],
    formula: &Ltl,
    (precision, memory): (Precision, Option<u64>),
) -> Result<Values, SolveError> {
    let automaton = hadal_ltl::translate(formula).map_err(|error| SolveError::Formula(error.to_string()))?;
    let automaton = automaton.degeneralise();
    if automaton.len() > MOST_STATES {
        return Err(SolveError::Formula(format!("its automaton has more than {MOST_STATES} states")));
    }
    let mut product = Product::new(graph, letters, &automaton);
    product.explore(memory)?;
    let Product { graph: product, accepting, .. } = product;
    let everywhere = vec![true; product.states()];
    let (groups, count) = end_components(&product, &everywhere, |_| true);
    let mut wins = vec![false; count as usize];
    for (state, &group) in groups.iter().enumerate().filter(|(_, group)| **group != NONE) {
        wins[group as usize] |= accepting[state];
    }
    let target: Vec<bool> = groups.iter().map(|&group| group != NONE && wins[group as usize]).collect();
    let precision = Precision { policy: false, ..precision };
    let values = reach::until(&product, &everywhere, &target, Sense::Greatest, precision)?;
    // The first states of the product are those of the graph.
    let n = graph.states();
    let exact = values.exact.map(|list| list.into_iter().take(n).collect::<Vec<Exact>>());
    Ok(Values {
        lower: values.lower[..n].to_vec(),
        upper: values.upper[..n].to_vec(),
        exact,
        sweeps: values.sweeps,
        policy: None,
    })
}

/// Values where there is nothing to solve.
pub(crate) fn constant(states: usize, holds: bool, exact: bool) -> Values {
    let value = if holds { 1.0 } else { 0.0 };
    let fraction = if holds { RBig::ONE } else { RBig::ZERO };
    Values {
        lower: vec![value; states],
        upper: vec![value; states],
        exact: exact.then(|| vec![Exact::Finite(fraction); states]),
        sweeps: 0,
        policy: None,
    }
}

/// An accepting component of the automaton.
struct Component {
    states: u64,
    bets: Bets,
}

/// On what it is worth betting in a component.
enum Bets {
    /// Every edge inside is accepting: on all runs that are there.
    All,
    /// A letter leaves at most one way inside: on one run.
    One,
    /// On any set of runs.
    Any,
}

impl Component {
    fn all(automaton: &Automaton) -> Vec<Component> {
        let found = hadal_ltl::components::components(&automaton.graph());
        let accepting = automaton.accepting_components(&found);
        let ids = (0..accepting.len() as u32).filter(|&id| accepting[id as usize]);
        ids.map(|id| {
            let members: Vec<usize> = (0..automaton.len()).filter(|&s| found.of[s] == id).collect();
            let states = members.iter().fold(0, |set, &state| set | 1 << state);
            let inside = |state: usize| {
                automaton.edges[state].iter().filter(move |edge| states >> edge.target & 1 != 0)
            };
            let all = automaton.all_marks();
            let bets = if members.iter().all(|&state| inside(state).all(|edge| edge.marks == all)) {
                Bets::All
            } else if members.iter().all(|&state| leaves_one_way(inside(state))) {
                Bets::One
            } else {
                Bets::Any
            };
            Component { states, bets }
        })
        .collect()
    }

    /// What can be bet on when the automaton may be in the states of `open`.
    fn bets(&self, open: u64) -> Result<Vec<u64>, SolveError> {
        let here = open & self.states;
        Ok(match self.bets {
            _ if here == 0 => Vec::new(),
            Bets::All => vec![here],
            Bets::One => (0..u64::BITS).map(|state| 1 << state).filter(|one| here & one != 0).collect(),
            Bets::Any if here.count_ones() > MOST_RUNS => {
                return Err(SolveError::Formula("its automaton is in too many states at a time".into()));
            }
            Bets::Any => {
                let next = |&set: &u64| Some((set - 1) & here).filter(|&set| set != 0);
                std::iter::successors(Some(here), next).collect()
            }
        })
    }
}

/// What a phase becomes, and whether that is a breakpoint.
#[derive(Clone, Copy)]
struct Move {
    next: Phase,
    breakpoint: bool,
}

struct Product<'a> {
    of: &'a Graph,
    letters: &'a [u64],
    automaton: &'a Automaton,
    components: Vec<Component>,
    numbers: HashMap<(u32, Phase), u32>,
    order: Vec<(u32, Phase)>,
    moves: HashMap<(Phase, u64), Move>,
    graph: Graph,
    /// Whether every way out of a state is a breakpoint.
    accepting: Vec<bool>,
}

impl<'a> Product<'a> {
    fn new(of: &'a Graph, letters: &'a [u64], automaton: &'a Automaton) -> Self {
        let graph = Graph {
            first_choice: vec![0],
            first_branch: vec![0],
            numbers: of.numbers.clone(),
            ..Graph::default()
        };
        let mut product = Product {
            of,
            letters,
            automaton,
            components: Component::all(automaton),
            numbers: HashMap::new(),
            order: Vec::new(),
            moves: HashMap::new(),
            graph,
            accepting: Vec::new(),
        };
        let start = 1 << automaton.initial;
        // Where each letter leaves one way, there is nothing to bet on.
        let first = match automaton.edges.iter().all(|edges| leaves_one_way(edges.iter())) {
            true => Phase::Bet { runs: start, passed: 0, within: u64::MAX },
            false => Phase::Open(start),
        };
        for state in 0..of.states() as u32 {
            product.number(state, first);
        }
        product
    }

    fn number(&mut self, state: u32, phase: Phase) -> u32 {
        // Where no run is left, it does not matter where the process is.
        let key = if phase == Phase::Lost { (0, Phase::Lost) } else { (state, phase) };
        let order = &mut self.order;
        *self.numbers.entry(key).or_insert_with(|| {
            order.push(key);
            order.len() as u32 - 1
        })
    }

    fn explore(&mut self, memory: Option<u64>) -> Result<(), SolveError> {
        let mut at = 0;
        while at < self.order.len() {
            let (state, phase) = self.order[at];
            let letter = self.letters[state as usize];
            let mut accepting = false;
            match phase {
                Phase::Lost => self.rest(at as u32),
                Phase::Bet { .. } => {
                    let taken = self.step(phase, letter);
                    accepting = taken.breakpoint;
                    self.choices(state, taken.next);
                }
                Phase::Open(runs) => {
                    let taken = self.step(phase, letter);
                    self.choices(state, taken.next);
                    for bet in self.bets(runs)? {
                        let taken = self.step(bet, letter);
                        if taken.next != Phase::Lost {
                            self.choices(state, taken.next);
                        }
                    }
                }
            }
            self.accepting.push(accepting);
            self.graph.first_choice.push(self.graph.choices() as u32);
            at += 1;
            let bytes = self.graph.bytes() + 64 * self.order.len() as u64;
            if let Some(limit) = memory.filter(|&limit| bytes > limit) {
                return Err(BuildError::Memory { limit, states: at as u64 }.into());
            }
            if self.graph.branches() >= NONE as usize {
                return Err(BuildError::TooLarge.into());
            }
        }
        Ok(())
    }

    /// The phases that a bet may begin with.
    fn bets(&self, open: u64) -> Result<Vec<Phase>, SolveError> {
        let mut phases = Vec::new();
        for component in &self.components {
            let within = component.states;
            let bets = component.bets(open)?.into_iter();
            phases.extend(bets.map(|runs| Phase::Bet { runs, passed: 0, within }));
        }
        Ok(phases)
    }

    /// Every choice of the process, with the automaton in `next` behind it.
    fn choices(&mut self, state: u32, next: Phase) {
        let of = self.of;
        for choice in of.choices_of(state as usize) {
            for branch in of.branches_of(choice) {
                let target = self.number(of.targets[branch], next);
                self.graph.targets.push(target);
                self.graph.weights.push(of.weights[branch]);
                if next == Phase::Lost {
                    // All branches lead to the one place: once is enough, with certainty.
                    let last = self.graph.weights.len() - 1;
                    self.graph.weights[last] = 1;
                    break;
                }
            }
            self.graph.first_branch.push(self.graph.targets.len() as u32);
        }
    }

    fn rest(&mut self, number: u32) {
        self.graph.targets.push(number);
        self.graph.weights.push(1);
        self.graph.first_branch.push(self.graph.targets.len() as u32);
    }

    fn step(&mut self, phase: Phase, letter: u64) -> Move {
        if let Some(&known) = self.moves.get(&(phase, letter)) {
            return known;
        }
        let taken = match phase {
            Phase::Lost => Move { next: Phase::Lost, breakpoint: false },
            Phase::Open(runs) => {
                let (all, _) = self.successors(runs, letter);
                Move { next: if all == 0 { Phase::Lost } else { Phase::Open(all) }, breakpoint: false }
            }
            Phase::Bet { runs, passed, within } => {
                let (all, accepted) = self.successors(runs, letter);
                let passed = (accepted | self.successors(passed, letter).0) & within;
                match (all & within, passed == all & within) {
                    (0, _) => Move { next: Phase::Lost, breakpoint: false },
                    (runs, true) => Move { next: Phase::Bet { runs, passed: 0, within }, breakpoint: true },
                    (runs, false) => Move { next: Phase::Bet { runs, passed, within }, breakpoint: false },
                }
            }
        };
        self.moves.insert((phase, letter), taken);
        taken
    }

    /// Where the states of a set lead, and where their accepting edges do.
    fn successors(&self, set: u64, letter: u64) -> (u64, u64) {
        let all = self.automaton.all_marks();
        let (mut reached, mut accepted) = (0, 0);
        for state in (0..self.automaton.len()).filter(|state| set >> state & 1 != 0) {
            for edge in self.automaton.edges[state].iter().filter(|edge| edge.guard.holds(letter)) {
                reached |= 1 << edge.target;
                if edge.marks == all {
                    accepted |= 1 << edge.target;
                }
            }
        }
        (reached, accepted)
    }
}

/// Whether no letter can take two of these edges.
fn leaves_one_way<'e>(edges: impl Iterator<Item = &'e Edge>) -> bool {
    let edges: Vec<&Edge> = edges.collect();
    let apart = |one: &Edge, two: &Edge| one.guard.and(&two.guard).is_never();
    edges.iter().enumerate().all(|(n, one)| edges[..n].iter().all(|two| apart(one, two)))
}
