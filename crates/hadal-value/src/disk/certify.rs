//! Certificates by scans: the states that matter, and ranks that grow from the target (Chatterjee et al. 2025).

use super::parts::Sets;
use super::rows::{Rows, States};
use crate::SolveError;
use crate::certificate::{Certificate, Claim};
use crate::exact::fraction;
use dashu_ratio::RBig;
use hadal_system::chance::Sense;

/// No rank yet.
const NONE: u32 = u32::MAX;

/// What was found, and for what.
pub(super) struct Certified<'a, R> {
    pub rows: &'a R,
    pub initial: &'a [u64],
    pub sets: &'a Sets,
    /// By state, before a complement is taken.
    pub bounds: &'a [(f64, f64)],
    pub sense: Sense,
    /// Whether values are 1 less what was found.
    pub negated: bool,
    /// At most how likely the target is, where rewards are infinite.
    pub escape: &'a [f64],
}

impl<R: Rows + States> Certified<'_, R> {
    /// The certificate of the initial states.
    pub fn certify(&self, formula: &str) -> Result<Certificate, SolveError> {
        let inner = self.inner()?;
        let rank = self.ranks(&inner)?;
        let (mut claims, mut wide) = (Vec::new(), false);
        self.rows.tell(|number, state| {
            let at = number as usize;
            if !inner[at] {
                return;
            }
            let (lower, upper) = self.bounds[at];
            let endless = self.sets.rewards && lower == f64::INFINITY;
            let escape = endless.then(|| self.escape.get(at).copied().unwrap_or(1.0));
            wide |= self.claims_something(at) && rank[at] == NONE || escape.is_some_and(|e| e >= 1.0);
            let rank = if rank[at] == NONE { 0 } else { rank[at] };
            claims.push(Claim { state: state.to_vec(), lower, upper, rank, escape });
        })?;
        if wide {
            return Err(SolveError::NoCertificate(
                "these bounds are too wide to be shown; a smaller --precision may have one",
            ));
        }
        let least = (self.sense == Sense::Least) != self.negated;
        let starts = self.initial.iter().map(|&s| self.bounds[s as usize]).map(|(l, u)| match self.negated {
            true => ((1.0 - u).next_down(), (1.0 - l).next_up()),
            false => (l, u),
        });
        let value = starts.reduce(|a, b| match least {
            true => (a.0.min(b.0), a.1.min(b.1)),
            false => (a.0.max(b.0), a.1.max(b.1)),
        });
        Ok(Certificate { formula: formula.to_owned(), value: value.unwrap_or((0.0, f64::INFINITY)), claims })
    }

    /// Whether a state's value follows from its choices.
    fn is_open(&self, state: usize) -> bool {
        !self.sets.target[state] && (self.sets.rewards || self.sets.through[state])
    }

    /// The open states that can be reached before anything is decided.
    fn inner(&self) -> Result<Vec<bool>, SolveError> {
        let mut seen = vec![false; self.bounds.len()];
        for &start in self.initial {
            seen[start as usize] = self.is_open(start as usize);
        }
        loop {
            let mut changed = false;
            self.rows.scan(|state, row| {
                if seen[state as usize] {
                    for to in row.branches.iter().map(|b| b.0 as usize).filter(|&to| self.is_open(to)) {
                        changed |= !std::mem::replace(&mut seen[to], true);
                    }
                }
            })?;
            if !changed {
                return Ok(seen);
            }
        }
    }

    fn claims_something(&self, state: usize) -> bool {
        match self.sets.rewards {
            true => self.bounds[state].1 < f64::INFINITY,
            false => self.bounds[state].0 > 0.0,
        }
    }

    /// Ranks along choices that attain the bound; or, where every choice must make progress, along all.
    fn ranks(&self, inner: &[bool]) -> Result<Vec<u32>, SolveError> {
        let every = self.sets.rewards == (self.sense == Sense::Greatest);
        let mut rank = vec![NONE; inner.len()];
        (0..rank.len()).filter(|&s| self.sets.target[s]).for_each(|s| rank[s] = 0);
        // By choice, in the order of scans.
        let mut attaining = Vec::new();
        if !every {
            self.rows.scan(|state, row| {
                for (branches, reward) in row.choices() {
                    let wanted = inner[state as usize] && self.claims_something(state as usize);
                    attaining.push(wanted && self.attains(state as usize, branches, reward));
                }
            })?;
        }
        loop {
            let (mut changed, mut at) = (false, 0);
            self.rows.scan(|state, row| {
                let first = at;
                at += row.ends.len();
                let state = state as usize;
                if rank[state] != NONE || !inner[state] || !self.claims_something(state) {
                    return;
                }
                let nearest = |branches: &[(u64, u32)]| branches.iter().map(|b| rank[b.0 as usize]).min();
                let found = match every {
                    true => row.choices().map(|(branches, _)| nearest(branches).unwrap_or(NONE)).max(),
                    false => {
                        let fits = row.choices().enumerate().filter(|(n, _)| attaining[first + n]);
                        fits.map(|(_, (branches, _))| nearest(branches).unwrap_or(NONE)).min()
                    }
                };
                if let Some(found) = found.filter(|&found| found != NONE) {
                    rank[state] = found + 1;
                    changed = true;
                }
            })?;
            if !changed {
                return Ok(rank);
            }
        }
    }

    /// Whether a choice is as good as the bound of its state says, exactly.
    fn attains(&self, state: usize, branches: &[(u64, u32)], reward: u32) -> bool {
        let numbers = self.rows.numbers();
        let bound = |state: usize| {
            let (low, high) = self.bounds[state];
            RBig::try_from(if self.sets.rewards { high } else { low }).ok()
        };
        let mut sum = match self.sets.rewards {
            true => fraction(&numbers.exact(reward)),
            false => RBig::ZERO,
        };
        for &(to, weight) in branches {
            let to = to as usize;
            let weight = fraction(&numbers.exact(weight));
            match bound(to) {
                _ if self.sets.target[to] && self.sets.rewards => {}
                _ if self.sets.target[to] => sum += weight,
                Some(value) if self.is_open(to) => sum += weight * value,
                None => return false,
                Some(_) => {}
            }
        }
        match (bound(state), self.sets.rewards) {
            (Some(value), true) => sum <= value,
            (Some(value), false) => sum >= value,
            (None, _) => false,
        }
    }
}
