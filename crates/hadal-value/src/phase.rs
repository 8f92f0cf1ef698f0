//! A limit-deterministic automaton for a formula, followed letter by letter: the set of states that a Büchi automaton may be in, and
//! bets on some of them.

use crate::SolveError;
use hadal_ltl::{Automaton, Edge, Ltl};
use std::collections::HashMap;

/// Sets of automaton states are masks.
const MOST_STATES: usize = 64;
/// Where bets are subsets, there are up to 2^10.
const MOST_RUNS: u32 = 10;

/// How the automaton stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It may be in these states, and nothing was bet.
    Open(u64),
    /// The bet is on runs inside `within` that are in `runs` now; `passed` have passed an accepting edge since the last
    /// breakpoint.
    Bet { runs: u64, passed: u64, within: u64 },
    /// No run is left.
    Lost,
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
pub(crate) struct Move {
    pub next: Phase,
    pub breakpoint: bool,
}

/// A formula's automaton and what is known of its moves.
pub(crate) struct Follower {
    automaton: Automaton,
    components: Vec<Component>,
    moves: HashMap<(Phase, u64), Move>,
}

impl Follower {
    pub fn new(formula: &Ltl) -> Result<Self, SolveError> {
        let automaton =
            hadal_ltl::translate(formula).map_err(|error| SolveError::Formula(error.to_string()))?;
        let automaton = automaton.degeneralise();
        if automaton.len() > MOST_STATES {
            return Err(SolveError::Formula(format!("its automaton has more than {MOST_STATES} states")));
        }
        let components = Component::all(&automaton);
        Ok(Follower { automaton, components, moves: HashMap::new() })
    }

    /// How it stands in the beginning.
    pub fn first(&self) -> Phase {
        let start = 1 << self.automaton.initial;
        // Where each letter leaves one way, there is nothing to bet on.
        match self.automaton.edges.iter().all(|edges| leaves_one_way(edges.iter())) {
            true => Phase::Bet { runs: start, passed: 0, within: u64::MAX },
            false => Phase::Open(start),
        }
    }

    /// What a phase may become on a letter, one choice after the other; whether a breakpoint is passed.
    pub fn moves(&mut self, phase: Phase, letter: u64, next: &mut Vec<Phase>) -> Result<bool, SolveError> {
        next.clear();
        let taken = self.step(phase, letter);
        next.push(taken.next);
        if let Phase::Open(runs) = phase {
            for bet in self.bets(runs)? {
                let taken = self.step(bet, letter);
                if taken.next != Phase::Lost {
                    next.push(taken.next);
                }
            }
        }
        Ok(taken.breakpoint)
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
