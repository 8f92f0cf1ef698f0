//! DVE's meaning once more, as plainly as possible and straight from the checked model: what lowering is tested
//! against. Asynchronous systems only. States are vectors: locations, then variables, then buffers.

use hadal_lang::dve::ast::Direction;
use hadal_lang::dve::model::*;
use std::collections::{HashSet, VecDeque};

/// What an exploration found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Distinct states.
    pub states: u64,
    /// Firings.
    pub transitions: u64,
    /// Distance of the farthest state.
    pub depth: u64,
    /// Firings that met an error.
    pub errors: u64,
}

/// Where things stand in a state.
pub struct Oracle<'m> {
    model: &'m Model,
    first: Vec<usize>,
    buffer: Vec<usize>,
    width: usize,
}

struct Wrong;

impl<'m> Oracle<'m> {
    pub fn new(model: &'m Model) -> Self {
        let mut width = model.processes.len();
        let mut place = |size: usize| {
            width += size;
            width - size
        };
        let first = model.variables.iter().map(|v| place(v.initial.len())).collect();
        let buffer = model
            .channels
            .iter()
            .map(|c| {
                place(if c.capacity > 0 { 1 + c.capacity * c.types.as_ref().map_or(0, Vec::len) } else { 0 })
            })
            .collect();
        Oracle { model, first, buffer, width }
    }

    fn initial(&self) -> Vec<i64> {
        let mut state = vec![0; self.width];
        for (at, process) in self.model.processes.iter().enumerate() {
            state[at] = process.initial as i64;
        }
        for (variable, first) in self.model.variables.iter().zip(&self.first) {
            state[*first..*first + variable.initial.len()].copy_from_slice(&variable.initial);
        }
        state
    }

    fn eval(&self, state: &[i64], term: &Term) -> Result<i64, Wrong> {
        use hadal_lang::dve::ast::BinaryOp;
        Ok(match &term.kind {
            TermKind::Constant(value) => *value,
            TermKind::Read(variable) => state[self.first[*variable]],
            TermKind::Element(variable, index) => {
                let at = self.eval(state, index)?;
                let size = self.model.variables[*variable].initial.len();
                let at = usize::try_from(at).ok().filter(|at| *at < size).ok_or(Wrong)?;
                state[self.first[*variable] + at]
            }
            TermKind::Lookup(table, index) => {
                let at = usize::try_from(self.eval(state, index)?).map_err(|_| Wrong)?;
                *self.model.tables[*table].values.get(at).ok_or(Wrong)?
            }
            TermKind::At(process, location) => i64::from(state[*process] == *location as i64),
            TermKind::Unary(op, operand) => apply_unary(*op, self.eval(state, operand)?).ok_or(Wrong)?,
            TermKind::Binary(op, left, right) => {
                let left = self.eval(state, left)?;
                match (op, left) {
                    (BinaryOp::And, 0) => 0,
                    (BinaryOp::Imply, 0) => 1,
                    (BinaryOp::Or, l) if l != 0 => 1,
                    _ => apply_binary(*op, left, self.eval(state, right)?).ok_or(Wrong)?,
                }
            }
        })
    }

    fn assign(&self, state: &mut [i64], target: &Lvalue, at: Option<i64>, value: i64) -> Result<(), Wrong> {
        let variable = &self.model.variables[target.variable];
        let (low, high) = variable.scalar.range();
        let at =
            usize::try_from(at.unwrap_or(0)).ok().filter(|at| *at < variable.initial.len()).ok_or(Wrong)?;
        if !(low..=high).contains(&value) {
            return Err(Wrong);
        }
        state[self.first[target.variable] + at] = value;
        Ok(())
    }

    fn run_effects(&self, state: &mut [i64], process: usize, transition: &Transition) -> Result<(), Wrong> {
        state[process] = transition.target as i64;
        for effect in &transition.effects {
            let value = self.eval(state, &effect.value)?;
            let at = effect.target.index.as_ref().map(|index| self.eval(state, index)).transpose()?;
            self.assign(state, &effect.target, at, value)?;
        }
        Ok(())
    }

    fn receive(&self, old: &[i64], state: &mut [i64], target: &Lvalue, value: i64) -> Result<(), Wrong> {
        let at = target.index.as_ref().map(|index| self.eval(old, index)).transpose()?;
        self.assign(state, target, at, value)
    }

    /// Successors; `Err` marks a firing that met an error.
    fn successors(&self, state: &[i64]) -> Vec<Result<Vec<i64>, Wrong>> {
        let mut out = Vec::new();
        let committed_at =
            |p: usize| self.model.processes[p].locations.get(state[p] as usize).is_some_and(|l| l.committed);
        let only_committed = (0..self.model.processes.len()).any(committed_at);
        // A guard that meets an error passes, and its transition is then an error.
        let open = |p: usize, t: &Transition| -> Option<Result<(), Wrong>> {
            if state[p] != t.source as i64 || (only_committed && !committed_at(p)) {
                return None;
            }
            match t.guard.as_ref().map(|guard| self.eval(state, guard)) {
                None => Some(Ok(())),
                Some(Ok(0)) => None,
                Some(Ok(_)) => Some(Ok(())),
                Some(Err(wrong)) => Some(Err(wrong)),
            }
        };
        for (p, process) in self.model.processes.iter().enumerate() {
            for t in &process.transitions {
                let Some(passed) = open(p, t) else { continue };
                let Some(sync) = &t.sync else {
                    out.push(passed.and_then(|()| {
                        let mut next = state.to_vec();
                        self.run_effects(&mut next, p, t)?;
                        Ok(next)
                    }));
                    continue;
                };
                let channel = &self.model.channels[sync.channel];
                let base = self.buffer[sync.channel];
                let items = channel.types.as_ref().map_or(0, Vec::len);
                if channel.capacity > 0 {
                    let held = state[base] as usize;
                    let possible = match sync.direction {
                        Direction::Send => held < channel.capacity,
                        Direction::Receive => held > 0,
                    };
                    if !possible {
                        continue;
                    }
                    out.push(passed.and_then(|()| {
                        let mut next = state.to_vec();
                        match sync.direction {
                            Direction::Send => {
                                for (n, value) in sync.sent.iter().enumerate() {
                                    let value = self.eval(state, value)?;
                                    next[base + 1 + held * items + n] = self.retype(sync.channel, n, value);
                                }
                                next[base] += 1;
                            }
                            Direction::Receive => {
                                for (n, target) in sync.received.iter().enumerate() {
                                    self.receive(state, &mut next, target, state[base + 1 + n])?;
                                }
                                next.copy_within(
                                    base + 1 + items..base + 1 + channel.capacity * items,
                                    base + 1,
                                );
                                next[base + 1 + (channel.capacity - 1) * items
                                    ..base + 1 + channel.capacity * items]
                                    .fill(0);
                                next[base] -= 1;
                            }
                        }
                        self.run_effects(&mut next, p, t)?;
                        Ok(next)
                    }));
                    continue;
                }
                if sync.direction == Direction::Receive {
                    continue;
                }
                let sender_passed = passed.is_ok();
                for (q, partner) in self.model.processes.iter().enumerate().filter(|(q, _)| *q != p) {
                    for r in &partner.transitions {
                        let Some(other) = &r.sync else { continue };
                        if other.channel != sync.channel || other.direction != Direction::Receive {
                            continue;
                        }
                        let Some(receiver_passed) = open(q, r) else { continue };
                        if !sender_passed {
                            out.push(Err(Wrong));
                            continue;
                        }
                        out.push(receiver_passed.and_then(|()| {
                            let mut next = state.to_vec();
                            for (n, (value, target)) in sync.sent.iter().zip(&other.received).enumerate() {
                                let mut value = self.eval(&next, value)?;
                                if channel.types.is_some() {
                                    value = self.retype(sync.channel, n, value);
                                }
                                self.receive(state, &mut next, target, value)?;
                            }
                            self.run_effects(&mut next, q, r)?;
                            self.run_effects(&mut next, p, t)?;
                            Ok(next)
                        }));
                    }
                }
            }
        }
        out
    }

    /// A value as a typed channel carries it: cut to the type.
    fn retype(&self, channel: usize, item: usize, value: i64) -> i64 {
        use hadal_lang::dve::ast::Type;
        match self.model.channels[channel].types.as_ref().and_then(|types| types.get(item)) {
            Some(Type::Byte) => i64::from(value as u8),
            Some(Type::Int) => i64::from(value as i16),
            None => value,
        }
    }

    /// DiVinE's error state: everything 0, the first process at a location of its own.
    fn error_state(&self) -> Vec<i64> {
        let mut state = vec![0; self.width];
        state[0] = self.model.processes[0].locations.len() as i64;
        state
    }

    /// Explores everything, breadth first; `None` past `limit` states. With `error_state`, a firing that meets an
    /// error leads to DiVinE's error state; without, it leads nowhere.
    pub fn explore(&self, limit: u64, error_state: bool) -> Option<Counts> {
        let mut counts = Counts { states: 1, transitions: 0, depth: 0, errors: 0 };
        let mut seen: HashSet<Vec<i64>> = HashSet::new();
        let mut queue = VecDeque::from([(self.initial(), 0u64)]);
        seen.insert(self.initial());
        while let Some((state, depth)) = queue.pop_front() {
            counts.depth = counts.depth.max(depth);
            for next in self.successors(&state) {
                let next = match next {
                    Ok(next) => next,
                    Err(Wrong) => {
                        counts.errors += 1;
                        if !error_state {
                            continue;
                        }
                        self.error_state()
                    }
                };
                counts.transitions += 1;
                if seen.insert(next.clone()) {
                    counts.states += 1;
                    if counts.states > limit {
                        return None;
                    }
                    queue.push_back((next, depth + 1));
                }
            }
        }
        Some(counts)
    }
}
