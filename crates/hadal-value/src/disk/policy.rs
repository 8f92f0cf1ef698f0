//! Policies by scans: one choice per state that attains the values up to the precision, and the chain under it.

use super::DiskError;
use super::everywhere::{Everywhere, carried};
use super::parts::Sets;
use super::rows::{Row, Rows};
use super::solve::reserve;
use super::sweep::Bounds;
use crate::components::NONE;
use crate::numbers::Numbers;
use crate::problem::Known;
use hadal_store::{Disk, Reservation};
use hadal_system::chance::Sense;
use std::collections::HashMap;

/// A choice for each state.
pub(super) struct Choice {
    /// Its number among those of the state.
    pub of: Vec<u32>,
    _memory: Option<Reservation>,
}

/// Bytes a state: its choice, whether it has one, whether it can be reached.
const BYTES: u64 = 4 + 1 + 1;
/// Bytes of an end component whose best way out is looked for, and how many are set aside at once.
const EXIT: u64 = 64;
const EXITS: usize = 1 << 10;

/// For each state the number of a choice among its own.
pub(super) fn of<R: Rows>(
    rows: &R,
    (sets, sense): (&Sets, Sense),
    found: &Everywhere,
    disk: Option<&Disk>,
) -> Result<Choice, DiskError> {
    let memory = reserve(rows.states(), BYTES, disk.map(|disk| &disk.governor))?;
    let mut of_exits = disk.map(|disk| disk.governor.empty("ways out of end components"));
    let states = rows.states() as usize;
    let group = |state: usize| found.groups.get(state).copied().unwrap_or(NONE);
    let (mut policy, mut placed) = (vec![0u32; states], vec![false; states]);
    let mut exits: HashMap<u32, (f64, usize, u32)> = HashMap::new();
    let mut full = false;
    carried(rows, &found.bounds, disk, |state, row, bounds| {
        let state = state as usize;
        if found.known[state] != Known::Open || full {
            return;
        }
        let mine = group(state);
        let leaves =
            |branches: &[(u64, u32)]| mine == NONE || branches.iter().any(|b| group(b.0 as usize) != mine);
        let mut next = 0;
        for (n, (branches, reward)) in row.choices().enumerate() {
            let carried = &bounds[next..next + branches.len()];
            next += branches.len();
            if !leaves(branches) {
                continue;
            }
            let sum = sum(rows.numbers(), sets, (branches, carried), reward);
            let key = if mine == NONE { state as u32 } else { mine };
            let better = exits.get(&key).is_none_or(|(old, ..)| match sense {
                Sense::Least => sum < *old,
                Sense::Greatest => sum > *old,
            });
            if better {
                if exits.len() + 1 >= exits.capacity()
                    && let Some(memory) = &mut of_exits
                {
                    full |= memory.try_grow(EXIT * exits.len().max(EXITS) as u64).is_err();
                }
                exits.insert(key, (sum, state, n as u32));
            }
        }
        if mine == NONE
            && let Some((_, _, choice)) = exits.remove(&(state as u32))
        {
            policy[state] = choice;
            placed[state] = true;
        }
    })?;
    if full {
        let states = exits.len() as u64;
        return Err(DiskError::Values { states, bytes: states * EXIT });
    }
    for (_, state, choice) in exits.into_values() {
        policy[state] = choice;
        placed[state] = true;
    }
    // Members of a collapsed end component go to the one that leaves it, without leaving before.
    approach(rows, &mut placed, &mut policy, |state, branches, reward| {
        let mine = group(state);
        mine != NONE && (!sets.rewards || reward == 0) && branches.iter().all(|b| group(b.0 as usize) == mine)
    })?;
    // Where the target is certain, every choice must keep it so and may come nearer.
    let sure = |state: usize| found.known[state] == Known::One || sets.target[state];
    (0..states).filter(|&s| sets.target[s]).for_each(|s| placed[s] = true);
    approach(rows, &mut placed, &mut policy, |state, branches, _| {
        sure(state) && branches.iter().all(|b| sure(b.0 as usize))
    })?;
    if sense == Sense::Least {
        // Where the target can be avoided, it is.
        let avoids = |state: usize| found.known[state] == Known::Zero && !sets.target[state];
        rows.scan(|state, row| {
            let stays = |(branches, _): (&[(u64, u32)], u32)| branches.iter().all(|b| avoids(b.0 as usize));
            if let (true, Some(n)) = (avoids(state as usize), row.choices().position(stays)) {
                policy[state as usize] = n as u32;
            }
        })?;
    }
    Ok(Choice { of: policy, _memory: memory })
}

/// What a choice is worth under the lower bounds.
fn sum(numbers: &Numbers, sets: &Sets, (branches, carried): (&[(u64, u32)], &[Bounds]), reward: u32) -> f64 {
    let earned = if sets.rewards { numbers.below()[reward as usize] } else { 0.0 };
    let parts = branches.iter().zip(carried);
    parts.fold(earned, |sum, (&(_, weight), bounds)| sum + numbers.below()[weight as usize] * bounds.0)
}

/// Gives states that are not placed an allowed choice with a branch to one that is, until nothing changes.
fn approach<R: Rows>(
    rows: &R,
    placed: &mut [bool],
    policy: &mut [u32],
    allowed: impl Fn(usize, &[(u64, u32)], u32) -> bool,
) -> Result<(), DiskError> {
    loop {
        let mut changed = false;
        rows.scan(|state, row| {
            let state = state as usize;
            if placed[state] {
                return;
            }
            let fits = |(branches, reward): (&[(u64, u32)], u32)| {
                branches.iter().any(|b| placed[b.0 as usize]) && allowed(state, branches, reward)
            };
            if let Some(n) = row.choices().position(fits) {
                policy[state] = n as u32;
                placed[state] = true;
                changed = true;
            }
        })?;
        if !changed {
            return Ok(());
        }
    }
}

/// The chain that is left under a policy.
pub(super) struct Induced<'r, R> {
    pub rows: &'r R,
    pub policy: &'r [u32],
}

impl<R: Rows> Rows for Induced<'_, R> {
    fn states(&self) -> u64 {
        self.rows.states()
    }

    fn numbers(&self) -> &Numbers {
        self.rows.numbers()
    }

    fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let mut one = Row::default();
        self.rows.scan(|state, row| {
            one.clear();
            if let Some((branches, reward)) = row.choices().nth(self.policy[state as usize] as usize) {
                one.branches.extend_from_slice(branches);
                one.ends.push(branches.len() as u32);
                one.rewards.push(reward);
            }
            each(state, &one);
        })
    }
}

/// Which states can be reached from the initial ones.
pub(super) fn reached<R: Rows>(rows: &R, initial: &[u64]) -> Result<Vec<bool>, DiskError> {
    let mut seen = vec![false; rows.states() as usize];
    initial.iter().for_each(|&state| seen[state as usize] = true);
    loop {
        let mut changed = false;
        rows.scan(|state, row| {
            if seen[state as usize] {
                for &(to, _) in &row.branches {
                    changed |= !std::mem::replace(&mut seen[to as usize], true);
                }
            }
        })?;
        if !changed {
            return Ok(seen);
        }
    }
}
