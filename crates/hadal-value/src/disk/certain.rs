//! Which states have probability 0 or 1, or no finite reward, by scans of the choices (de Alfaro 1997): sets are kept in RAM,
//! a byte a state.

use super::DiskError;
use super::company::Changes;
use super::rows::{Row, Rows};
use crate::components::NONE;
use hadal_system::chance::Sense;

/// Graph search by scans.
pub(super) struct Search<'r, R> {
    pub rows: &'r R,
}

pub(super) fn any(row: &Row, set: &[bool]) -> bool {
    row.branches.iter().any(|b| set[b.0 as usize])
}

fn every(row: &Row, set: &[bool]) -> bool {
    row.choices().all(|(branches, _)| branches.iter().any(|b| set[b.0 as usize]))
}

impl<R: Rows> Search<'_, R> {
    /// The states with probability 0 and those with probability 1 of `through U target`.
    pub fn certain(
        &self,
        through: &[bool],
        target: &[bool],
        sense: Sense,
    ) -> Result<(Vec<bool>, Vec<bool>), DiskError> {
        match sense {
            Sense::Greatest => {
                let reach = self.grow(through, target, any)?;
                let one = self.almost_surely(through, target, &reach)?;
                Ok((reach.iter().map(|r| !r).collect(), one))
            }
            Sense::Least => {
                let forced = self.grow(through, target, every)?;
                let zero: Vec<bool> = forced.iter().map(|f| !f).collect();
                let open: Vec<bool> = target.iter().map(|t| !t).collect();
                let escape = self.grow(&open, &zero, any)?;
                let one = escape.iter().zip(target).map(|(e, t)| *t || !e).collect();
                Ok((zero, one))
            }
        }
    }

    /// The least set with `target` that has every state of `through` whose choices `joins` it.
    pub fn grow(
        &self,
        through: &[bool],
        target: &[bool],
        joins: impl Fn(&Row, &[bool]) -> bool,
    ) -> Result<Vec<bool>, DiskError> {
        let (mut set, mut changes) = (target.to_vec(), Changes::of(self.rows));
        loop {
            self.rows.scan(|at, row| {
                let state = at as usize;
                if !set[state] && through[state] && joins(row, &set) {
                    set[state] = true;
                    changes.note(at);
                }
            })?;
            if !changes.meet(&mut set, |_, new| new)? {
                return Ok(set);
            }
        }
    }

    fn almost_surely(
        &self,
        through: &[bool],
        target: &[bool],
        within: &[bool],
    ) -> Result<Vec<bool>, DiskError> {
        let mut safe = within.to_vec();
        loop {
            let joins = |row: &Row, set: &[bool]| {
                row.choices().any(|(branches, _)| {
                    branches.iter().all(|b| safe[b.0 as usize]) && branches.iter().any(|b| set[b.0 as usize])
                })
            };
            let found = self.grow(through, target, joins)?;
            if found == safe {
                return Ok(found);
            }
            safe = found;
        }
    }

    /// Of `states`, those that are left when again and again such without a choice that stays, of a reward that is `allowed`, are
    /// taken out: where none is left, there is no end component.
    pub fn staying(
        &self,
        mut states: Vec<bool>,
        allowed: impl Fn(u32) -> bool,
    ) -> Result<Vec<bool>, DiskError> {
        let mut changes = Changes::of(self.rows);
        loop {
            self.rows.scan(|state, row| {
                let stays = |(list, reward): (&[(u64, u32)], u32)| {
                    allowed(reward) && list.iter().all(|b| states[b.0 as usize])
                };
                if states[state as usize] && !row.choices().any(stays) {
                    states[state as usize] = false;
                    changes.note(state);
                }
            })?;
            if !changes.meet(&mut states, |_, new| new)? {
                return Ok(states);
            }
        }
    }

    /// The maximal end components among `states`, which [`Search::staying`] found, with choices whose reward is `allowed`: of
    /// each state a number that only its component has, or `NONE`.
    ///
    /// What is left is split into strongly connected parts, each found by its greatest state (Orzan 2004), and states without a
    /// choice that stays in their part are taken out; both until nothing changes.
    pub fn end_components(
        &self,
        states: &[bool],
        allowed: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, DiskError> {
        let mut part: Vec<u32> = states.iter().map(|&s| if s { 0 } else { NONE }).collect();
        let stays = |branches: &[(u64, u32)], reward: u32, part: &[u32], me: u32| {
            allowed(reward) && branches.iter().all(|b| part[b.0 as usize] == me)
        };
        let mut changes = Changes::of(self.rows);
        loop {
            let split = self.connected(&part, stays)?;
            if split == part {
                return Ok(part);
            }
            part = split;
            loop {
                self.rows.scan(|state, row| {
                    let me = part[state as usize];
                    if me != NONE && !row.choices().any(|(list, reward)| stays(list, reward, &part, me)) {
                        part[state as usize] = NONE;
                        changes.note(state);
                    }
                })?;
                if !changes.meet(&mut part, |_, new| new)? {
                    break;
                }
            }
        }
    }

    /// Splits parts into strongly connected ones along choices that stay in their part. A part is called by its greatest state.
    fn connected(
        &self,
        part: &[u32],
        stays: impl Fn(&[(u64, u32)], u32, &[u32], u32) -> bool,
    ) -> Result<Vec<u32>, DiskError> {
        let mut result = vec![NONE; part.len()];
        let mut open: Vec<bool> = part.iter().map(|&p| p != NONE).collect();
        let mut changes = Changes::of(self.rows);
        while open.iter().any(|o| *o) {
            // Who is the greatest to lead to a state?
            let mut color: Vec<u32> = (0..part.len() as u32).collect();
            loop {
                self.rows.scan(|state, row| {
                    let state = state as usize;
                    if !open[state] {
                        return;
                    }
                    for (list, _) in row.choices().filter(|(l, r)| stays(l, *r, part, part[state])) {
                        for &(to, _) in list.iter().filter(|b| open[b.0 as usize]) {
                            if color[to as usize] < color[state] {
                                color[to as usize] = color[state];
                                changes.note(to);
                            }
                        }
                    }
                })?;
                if !changes.meet(&mut color, u32::max)? {
                    break;
                }
            }
            // Those that lead back to it are its component.
            let mut found: Vec<bool> = (0..part.len()).map(|s| open[s] && color[s] as usize == s).collect();
            loop {
                self.rows.scan(|at, row| {
                    let state = at as usize;
                    if !open[state] || found[state] {
                        return;
                    }
                    let back = |b: &(u64, u32)| {
                        let to = b.0 as usize;
                        open[to] && found[to] && color[to] == color[state]
                    };
                    if row.choices().any(|(l, r)| stays(l, r, part, part[state]) && l.iter().any(back)) {
                        found[state] = true;
                        changes.note(at);
                    }
                })?;
                if !changes.meet(&mut found, |_, new| new)? {
                    break;
                }
            }
            for state in 0..part.len() {
                if found[state] {
                    result[state] = color[state];
                    open[state] = false;
                }
            }
        }
        Ok(result)
    }
}
