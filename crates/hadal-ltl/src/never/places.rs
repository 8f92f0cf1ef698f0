//! The places a claim can be at, and the automaton of its moves.
//!
//! A claim moves along one statement that the state allows, then the system moves, as SPIN composes them. Statements inside an
//! atomic sequence look at the same state. A claim that comes to its end, to a label that begins with `end`, or to an
//! assertion that fails has found something wrong.

use crate::automaton::{Automaton, Edge};
use crate::guard::Guard;
use std::collections::HashMap;

/// Number of a place.
pub(super) type Place = usize;

/// What happens at a place.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// The claim is over.
    End,
    /// Waits for a condition.
    Wait(Guard, Place),
    /// Must hold.
    Assert(Guard, Place),
    /// Where no other option can be taken.
    Else(Place),
    /// One of several.
    Choice(Vec<Place>),
    /// A jump, or the end of a statement.
    Pass(Place),
}

/// All places of a claim.
#[derive(Default)]
pub(super) struct Places {
    kinds: Vec<Kind>,
    /// Whether what stands here is followed at once by what comes next.
    atomic: Vec<bool>,
    labels: HashMap<String, Place>,
    jumps: Vec<(Place, String)>,
    pub initial: Place,
}

impl Places {
    pub fn add(&mut self, kind: Kind, atomic: bool) -> Place {
        self.kinds.push(kind);
        self.atomic.push(atomic);
        self.kinds.len() - 1
    }

    pub fn set(&mut self, place: Place, kind: Kind) {
        self.kinds[place] = kind;
    }

    pub fn label(&mut self, name: String, place: Place) {
        self.labels.insert(name, place);
    }

    pub fn jump(&mut self, name: String, atomic: bool) -> Place {
        let place = self.add(Kind::End, atomic);
        self.jumps.push((place, name));
        place
    }

    /// Connects jumps with their labels; the name of a label that is missing.
    pub fn connect(&mut self) -> Result<(), String> {
        for (place, name) in std::mem::take(&mut self.jumps) {
            match self.labels.get(&name) {
                Some(&to) => self.kinds[place] = Kind::Pass(to),
                None => return Err(name),
            }
        }
        Ok(())
    }

    /// Where control stands that comes to a place, and whether it goes on at once because all it passes is atomic.
    fn arrive(&self, mut place: Place) -> (Place, bool) {
        let mut alone = true;
        for _ in 0..=self.kinds.len() {
            match self.kinds[place] {
                Kind::Pass(to) => {
                    alone &= self.atomic[place];
                    place = to;
                }
                _ => break,
            }
        }
        (place, alone && self.atomic[place])
    }

    fn marked(&self, place: Place, prefix: &str) -> bool {
        self.labels.iter().any(|(name, &at)| name.starts_with(prefix) && self.arrive(at).0 == place)
    }

    /// The automaton: one location for each place that control can stand at.
    pub fn automaton(&self) -> Automaton {
        let over = self.kinds.len() as u32;
        let mut edges = vec![Vec::new(); self.kinds.len() + 1];
        edges[over as usize].push(Edge { target: over, marks: 1, guard: Guard::always() });
        for (place, list) in edges.iter_mut().enumerate().take(self.kinds.len()) {
            let accepting = u64::from(self.marked(place, "accept"));
            if matches!(self.kinds[place], Kind::End) || self.marked(place, "end") {
                list.push(Edge { target: over, marks: 1, guard: Guard::always() });
                continue;
            }
            let mut moves = Vec::new();
            self.moves(place, &Guard::always(), &mut Vec::new(), &mut moves);
            *list = moves
                .into_iter()
                .map(|(guard, to)| Edge { target: to.map_or(over, |to| to as u32), marks: accepting, guard })
                .collect();
        }
        let (initial, _) = self.arrive(self.initial);
        let mut automaton = Automaton { initial: initial as u32, edges, sets: 1 };
        automaton.tidy();
        let keep = vec![true; automaton.len()];
        automaton.restrict(&keep)
    }

    /// The statements that a place begins with; the end of the claim has none.
    fn first(&self, place: Place, out: &mut Vec<Place>, depth: usize) {
        match &self.kinds[place] {
            Kind::Choice(options) if depth <= self.kinds.len() => {
                options.iter().for_each(|&option| self.first(option, out, depth + 1));
            }
            // The end of a statement before it; a jump is a step.
            _ => out.push(place),
        }
    }

    /// The moves out of a place: under which condition, and where to. `None`: an assertion fails.
    fn moves(
        &self,
        place: Place,
        given: &Guard,
        passed: &mut Vec<Place>,
        out: &mut Vec<(Guard, Option<Place>)>,
    ) {
        let mut options = Vec::new();
        self.first(place, &mut options, 0);
        let mut any = Guard::never();
        for &option in &options {
            match &self.kinds[option] {
                Kind::Wait(guard, _) => any.join(guard),
                Kind::Assert(..) | Kind::Pass(_) => any.join(&Guard::always()),
                Kind::Else(_) | Kind::End | Kind::Choice(_) => {}
            }
        }
        for option in options {
            let (guard, next) = match &self.kinds[option] {
                Kind::Wait(guard, next) => (given.and(guard), *next),
                Kind::Else(next) => (given.and(&any.not()), *next),
                Kind::Pass(next) => (given.clone(), *next),
                Kind::Assert(holds, next) => {
                    let fails = given.and(&holds.not());
                    if !fails.is_never() {
                        out.push((fails, None));
                    }
                    (given.and(holds), *next)
                }
                Kind::End => (given.clone(), option),
                Kind::Choice(_) => continue,
            };
            if guard.is_never() {
                continue;
            }
            let (to, alone) = self.arrive(next);
            if alone && self.atomic[option] && !passed.contains(&to) {
                passed.push(to);
                self.moves(to, &guard, passed, out);
                passed.pop();
            } else {
                out.push((guard, Some(to)));
            }
        }
    }
}
