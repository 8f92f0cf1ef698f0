//! From a formula to an automaton with acceptance on edges.
//!
//! Couvreur, "On-the-fly verification of linear temporal logic" (FM 1999): a state is a set of formulas that must hold of
//! the rest of the word; each formula is unfolded into alternatives (what is read now, what is left for later, which
//! `until`s are put off). An edge belongs to the set of an `until` unless it puts it off. Alternatives that another one
//! dominates are dropped, as Gastin and Oddoux do ("Fast LTL to Büchi automata translation", CAV 2001).

use crate::automaton::{Automaton, Edge};
use crate::formula::Ltl;
use crate::guard::{Cube, Guard};
use crate::pool::{FALSE, Id, Node, Pool, TRUE};
use std::collections::HashMap;

/// The formula needs too large an automaton, or too many atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the formula is too large: {0}")]
pub struct TooLarge(pub &'static str);

const MOST_STATES: usize = 1 << 14;
const MOST_MOVES: usize = 1 << 14;

/// One way to go on from a set of formulas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    read: Cube,
    /// What must hold afterwards, ascending.
    later: Vec<Id>,
    /// The untils that are put off.
    put_off: u64,
}

impl Move {
    /// Whether taking this one instead of `other` loses nothing.
    fn dominates(&self, other: &Move) -> bool {
        self.read.contains(other.read)
            && self.put_off & !other.put_off == 0
            && self.later.iter().all(|id| other.later.binary_search(id).is_ok())
    }

    fn and(&self, other: &Move) -> Option<Move> {
        let read = self.read.and(other.read)?;
        let mut later = [self.later.as_slice(), other.later.as_slice()].concat();
        later.sort_unstable();
        later.dedup();
        Some(Move { read, later, put_off: self.put_off | other.put_off })
    }
}

struct Tableau {
    pool: Pool,
    untils: HashMap<Id, u32>,
    unfolded: HashMap<Id, Vec<Move>>,
}

/// An automaton that accepts the words that have the formula, reduced.
pub fn translate(formula: &Ltl) -> Result<Automaton, TooLarge> {
    if formula.atoms() > 64 {
        return Err(TooLarge("it has more than 64 different propositions"));
    }
    let mut pool = Pool::new();
    let root = pool.add(formula, false);
    let mut tableau = Tableau { pool, untils: HashMap::new(), unfolded: HashMap::new() };
    let first = tableau.parts(root);
    let mut numbers: HashMap<Vec<Id>, u32> = HashMap::from([(first.clone(), 0)]);
    let mut order = vec![first];
    let mut raw: Vec<Vec<(Move, u32)>> = Vec::new();
    while raw.len() < order.len() {
        let moves = tableau.moves(&order[raw.len()].clone())?;
        let mut edges = Vec::with_capacity(moves.len());
        for taken in moves {
            let next = order.len() as u32;
            let target = *numbers.entry(taken.later.clone()).or_insert_with(|| {
                order.push(taken.later.clone());
                next
            });
            edges.push((taken, target));
        }
        raw.push(edges);
        if order.len() > MOST_STATES {
            return Err(TooLarge("its automaton has more than 16384 states"));
        }
    }
    let sets = tableau.untils.len() as u32;
    let all = if sets == 64 { u64::MAX } else { (1 << sets) - 1 };
    let edge = |(taken, target): (Move, u32)| Edge {
        target,
        marks: all & !taken.put_off,
        guard: Guard::of([taken.read]),
    };
    let edges = raw.into_iter().map(|edges| edges.into_iter().map(edge).collect()).collect();
    let mut automaton = Automaton { initial: 0, edges, sets };
    automaton.tidy();
    Ok(automaton.reduced())
}

impl Tableau {
    /// The conjuncts of a formula.
    fn parts(&self, id: Id) -> Vec<Id> {
        match self.pool.node(id) {
            Node::True => Vec::new(),
            Node::And(parts) => parts.clone(),
            _ => vec![id],
        }
    }

    /// The ways to go on from a set of formulas, none dominated by another.
    fn moves(&mut self, state: &[Id]) -> Result<Vec<Move>, TooLarge> {
        let mut moves = vec![Move { read: Cube::TRUE, later: Vec::new(), put_off: 0 }];
        for &id in state {
            let alternatives = self.unfold(id)?;
            moves = product(&moves, &alternatives)?;
        }
        for taken in &mut moves {
            if self.pool.and(taken.later.clone()) == FALSE {
                taken.later = vec![FALSE];
            } else {
                self.drop_implied(taken);
            }
        }
        moves.retain(|taken| taken.later != [FALSE]);
        Ok(undominated(moves))
    }

    /// Drops what another formula of `later` implies, both without untils. An until must stay although another formula
    /// implies it: two could stand for each other in turn, and be put off for ever.
    fn drop_implied(&mut self, taken: &mut Move) {
        let mut n = 0;
        while n < taken.later.len() {
            let one = taken.later[n];
            let pool = &mut self.pool;
            let implied = pool.is_safety(one)
                && taken.later.iter().any(|&other| {
                    other != one
                        && pool.is_safety(other)
                        && pool.implies(other, one)
                        && !(one < other && pool.implies(one, other))
                });
            if implied {
                taken.later.remove(n);
            } else {
                n += 1;
            }
        }
    }

    fn unfold(&mut self, id: Id) -> Result<Vec<Move>, TooLarge> {
        if let Some(known) = self.unfolded.get(&id) {
            return Ok(known.clone());
        }
        let now = |read| Move { read, later: Vec::new(), put_off: 0 };
        let moves = match self.pool.node(id).clone() {
            Node::True => vec![now(Cube::TRUE)],
            Node::False => Vec::new(),
            Node::Atom(n, positive) => vec![now(Cube::literal(n, positive))],
            Node::And(parts) => {
                let mut moves = vec![now(Cube::TRUE)];
                for part in parts {
                    moves = product(&moves, &self.unfold(part)?)?;
                }
                moves
            }
            Node::Or(parts) => {
                let mut moves = Vec::new();
                for part in parts {
                    moves.extend(self.unfold(part)?);
                }
                undominated(moves)
            }
            Node::Next(a) => vec![Move { read: Cube::TRUE, later: self.parts(a), put_off: 0 }],
            Node::Until(a, b) => {
                let number = self.untils.len() as u32;
                let number = *self.untils.entry(id).or_insert(number);
                if number >= 64 {
                    return Err(TooLarge("it has more than 64 different untils"));
                }
                let wait = Move { read: Cube::TRUE, later: vec![id], put_off: 1 << number };
                let mut moves = self.unfold(b)?;
                moves.extend(product(&self.unfold(a)?, &[wait])?);
                undominated(moves)
            }
            Node::Release(a, b) => {
                let wait = Move { read: Cube::TRUE, later: vec![id], put_off: 0 };
                let mut ends = self.unfold(a)?;
                ends.push(wait);
                product(&self.unfold(b)?, &ends)?
            }
        };
        self.unfolded.insert(id, moves.clone());
        Ok(moves)
    }
}

fn product(a: &[Move], b: &[Move]) -> Result<Vec<Move>, TooLarge> {
    if a.len().saturating_mul(b.len()) > MOST_MOVES {
        return Err(TooLarge("one state has too many successors"));
    }
    Ok(undominated(a.iter().flat_map(|x| b.iter().filter_map(|y| x.and(y))).collect()))
}

fn undominated(mut moves: Vec<Move>) -> Vec<Move> {
    moves.sort_unstable();
    moves.dedup();
    moves
        .iter()
        .enumerate()
        .filter(|&(n, one)| !moves.iter().enumerate().any(|(m, other)| m != n && other.dominates(one)))
        .map(|(_, one)| one.clone())
        .collect()
}

/// Whether the formula simplifies to a constant.
pub fn constant(formula: &Ltl) -> Option<bool> {
    match Pool::new().add(formula, false) {
        TRUE => Some(true),
        FALSE => Some(false),
        _ => None,
    }
}
