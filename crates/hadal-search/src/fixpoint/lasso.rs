//! A loop inside a hull: breadth-first from a state of the hull to each acceptance set in turn and back.
//!
//! Where a state cannot be reached again, it lies on no cycle; the search then begins anew from the last state it met,
//! which lies nearer to the end of the hull.

use super::Answer;
use super::bits::Bits;
use super::closed::Closed;
use super::pass::{Early, Look, Pass};
use crate::report::ViolationKind;
use hadal_store::Reservation;
use hadal_system::Acceptance;

/// The loop, and the layer of the state it begins with.
pub(super) fn find<C: Closed>(pass: &Pass<C>, acceptance: Acceptance, hull: &Bits) -> Result<Answer, Early> {
    // States before a cycle are in the hull as well: the deepest are nearest to the end.
    let mut first = None;
    for group in (0..pass.closed.groups()).rev() {
        first = pass.least(group, |_, _, number| hull.get(number))?;
        if first.is_some() {
            break;
        }
    }
    let Some((depth, first)) = first else { return Ok(Answer::Holds) };
    let mut inside = Inside::new(pass, hull)?;
    let mut path: Vec<Vec<u64>> = Vec::new();
    let mut seed = first;
    let all = if acceptance.weak { 0 } else { acceptance.sets };
    loop {
        // The states from the seed on, the seed first.
        let mut round = vec![seed.clone()];
        for set in 0..all {
            let from = round[round.len() - 1].clone();
            match inside.search(&from, |_, _, marks| marks >> set & 1 == 1)? {
                Reached::There(steps) => round.extend(steps),
                // Every state of a hull reaches every set inside it.
                Reached::Nowhere(_) => return Err(Early::Stopped(crate::report::StopReason::Incomplete)),
            }
        }
        let from = round[round.len() - 1].clone();
        if all > 0 && from == seed && round.len() > 1 {
            round.pop();
            return Ok(closed(acceptance, depth, path, round));
        }
        match inside.search(&from, |_, to, _| to == seed.as_slice())? {
            Reached::There(steps) => {
                round.extend(steps);
                round.pop();
                return Ok(closed(acceptance, depth, path, round));
            }
            Reached::Nowhere(last) => {
                let way = inside.way(&last);
                path.extend(round);
                // `way` begins behind the state the search began with and ends in the new seed.
                path.extend(way);
                seed = path.pop().unwrap_or(last);
            }
        }
    }
}

fn closed(acceptance: Acceptance, depth: usize, mut path: Vec<Vec<u64>>, round: Vec<Vec<u64>>) -> Answer {
    let loop_from = path.len();
    path.extend(round);
    let kind = ViolationKind::Cycle { property: acceptance.property, loop_from };
    Answer::Violated { kind, depth, path }
}

enum Reached {
    /// The states behind the first one, up to the target of the wanted transition.
    There(Vec<Vec<u64>>),
    /// Nothing wanted: the state met last.
    Nowhere(Vec<u64>),
}

/// Breadth-first search inside a hull and one component.
struct Inside<'p, 'a, C> {
    pass: &'p Pass<'a, C>,
    hull: &'p Bits,
    look: Look<'a>,
    seen: Bits,
    /// The states met, one after the other, and the place of each one's predecessor.
    states: Vec<u64>,
    parents: Vec<usize>,
    memory: Reservation,
}

impl<'p, 'a, C: Closed> Inside<'p, 'a, C> {
    fn new(pass: &'p Pass<'a, C>, hull: &'p Bits) -> Result<Self, Early> {
        Ok(Inside {
            pass,
            hull,
            look: pass.look(),
            seen: pass.bits()?,
            states: Vec::new(),
            parents: Vec::new(),
            memory: pass.governor.empty("a way inside the hull"),
        })
    }

    /// Looks for a transition that `wanted` says yes to, given its source, target and marks.
    fn search(
        &mut self,
        from: &[u64],
        wanted: impl Fn(&[u64], &[u64], u64) -> bool,
    ) -> Result<Reached, Early> {
        let words = from.len();
        self.seen.clear_all();
        self.states.clear();
        self.parents.clear();
        self.states.extend_from_slice(from);
        self.parents.push(0);
        if let Some(number) = self.pass.closed.number(from) {
            self.seen.set(number);
        }
        let own = self.look.worker.component(from);
        let mut at = 0;
        while at < self.parents.len() {
            if at % 4096 == 0
                && let Some(reason) = self.pass.task.control.must_stop(0)
            {
                return Err(Early::Stopped(reason));
            }
            let state = self.states[at * words..(at + 1) * words].to_vec();
            self.look.expand(&state);
            let mut marks = std::mem::take(&mut self.look.marks);
            self.look.worker.marks(&state, &self.look.out, &mut marks);
            for (n, &marked) in marks.iter().enumerate().take(self.look.out.len()) {
                let to = self.look.out.state(n);
                if self.look.worker.component(to) != own {
                    continue;
                }
                let Some(number) = self.pass.closed.number(to).filter(|&number| self.hull.get(number)) else {
                    continue;
                };
                if wanted(&state, to, marked) {
                    let to = to.to_vec();
                    let mut steps = self.behind(at, words);
                    steps.push(to);
                    return Ok(Reached::There(steps));
                }
                if self.seen.set(number) {
                    self.memory
                        .try_resize((8 * (words + 1) * (self.parents.len() + 1)).next_power_of_two() as u64)?;
                    self.states.extend_from_slice(to);
                    self.parents.push(at);
                }
            }
            self.look.marks = marks;
            at += 1;
        }
        let last = self.states[self.states.len() - words..].to_vec();
        Ok(Reached::Nowhere(last))
    }

    /// The states from behind the first one to the one at this place.
    fn behind(&self, mut at: usize, words: usize) -> Vec<Vec<u64>> {
        let mut steps = Vec::new();
        while at > 0 {
            steps.push(self.states[at * words..(at + 1) * words].to_vec());
            at = self.parents[at];
        }
        steps.reverse();
        steps
    }

    /// The way of the last search to the state it met last.
    fn way(&self, last: &[u64]) -> Vec<Vec<u64>> {
        self.behind(self.parents.len() - 1, last.len())
    }
}
