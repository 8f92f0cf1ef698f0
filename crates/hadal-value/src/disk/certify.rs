//! Certificates by scans: the states that matter, and ranks that grow from the target (Chatterjee et al. 2025).

use super::DiskError;
use super::everywhere::{StateBounds, carried};
use super::parts::Sets;
use super::rows::{Rows, States};
use super::solve::reserve;
use super::sweep::Bounds;
use crate::SolveError;
use crate::certificate::{Certificate, Claim, Claims};
use crate::exact::fraction;
use dashu_ratio::RBig;
use hadal_store::{Disk, Reservation};
use hadal_system::chance::Sense;

/// No rank yet.
const NONE: u32 = u32::MAX;

/// What was found, and for what.
pub(super) struct Certified<'a, R> {
    pub rows: &'a R,
    pub initial: &'a [u64],
    pub sets: &'a Sets,
    /// By state, before a complement is taken.
    pub bounds: &'a StateBounds,
    pub sense: Sense,
    /// Whether values are 1 less what was found.
    pub negated: bool,
    /// How likely the target is, where rewards are infinite: the upper bounds count.
    pub escape: Option<&'a StateBounds>,
    /// Words of a state.
    pub words: usize,
    pub disk: Option<&'a Disk>,
}

/// Bytes a state: whether it matters, whether something is claimed of it, its rank.
const BYTES: u64 = 1 + 1 + 4;

impl<R: Rows + States> Certified<'_, R> {
    /// The certificate of the initial states.
    pub fn certify(&self, formula: &str) -> Result<Certificate, SolveError> {
        let states = self.rows.states();
        let _memory = reserve(states, BYTES, self.disk.map(|disk| &disk.governor))?;
        let (mut claimed, mut starts) = (vec![false; states as usize], Vec::new());
        self.bounds.scan(|state, (low, high)| {
            claimed[state as usize] = if self.sets.rewards { high < f64::INFINITY } else { low > 0.0 };
            if self.initial.contains(&state) {
                starts.push((low, high));
            }
        })?;
        let inner = self.inner()?;
        claimed.iter_mut().zip(&inner).for_each(|(claimed, inner)| *claimed &= inner);
        let rank = self.ranks(&claimed)?;
        let (mut bounds, mut escapes) =
            (self.bounds.walk()?, self.escape.map(StateBounds::walk).transpose()?);
        let (mut claims, mut wide, mut failed) = (Claims::new(self.words, self.disk)?, false, None);
        self.rows.tell(|number, state| {
            let at = number as usize;
            let escape = escapes.as_mut().map_or(Ok(1.0), |walk| walk.next().map(|b| b.1));
            let ((lower, upper), escape) = match (bounds.next(), escape) {
                (Ok(bounds), Ok(escape)) => (bounds, escape),
                (Err(error), _) | (_, Err(error)) => {
                    failed = failed.take().or(Some(SolveError::from(error)));
                    return;
                }
            };
            if !inner[at] {
                return;
            }
            let endless = self.sets.rewards && lower == f64::INFINITY;
            let escape = endless.then_some(escape);
            wide |= claimed[at] && rank[at] == NONE || escape.is_some_and(|e| e >= 1.0);
            let rank = if rank[at] == NONE { 0 } else { rank[at] };
            let claim = Claim { state: state.to_vec(), lower, upper, rank, escape };
            failed = failed.take().or(claims.push(&claim).err().map(SolveError::from));
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        if wide {
            return Err(SolveError::NoCertificate(
                "these bounds are too wide to be shown; a smaller --precision may have one",
            ));
        }
        let least = (self.sense == Sense::Least) != self.negated;
        let starts = starts.into_iter().map(|(l, u)| match self.negated {
            true => ((1.0 - u).next_down(), (1.0 - l).next_up()),
            false => (l, u),
        });
        let value = starts.reduce(|a: (f64, f64), b| match least {
            true => (a.0.min(b.0), a.1.min(b.1)),
            false => (a.0.max(b.0), a.1.max(b.1)),
        });
        let value = value.unwrap_or((0.0, f64::INFINITY));
        Ok(Certificate { formula: formula.to_owned(), value, claims: claims.finish()? })
    }

    /// Whether a state's value follows from its choices.
    fn is_open(&self, state: usize) -> bool {
        !self.sets.target[state] && (self.sets.rewards || self.sets.through[state])
    }

    /// The open states that can be reached before anything is decided.
    fn inner(&self) -> Result<Vec<bool>, SolveError> {
        let mut seen = vec![false; self.rows.states() as usize];
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

    /// Ranks along choices that attain the bound; or, where every choice must make progress, along all.
    fn ranks(&self, claimed: &[bool]) -> Result<Vec<u32>, SolveError> {
        let every = self.sets.rewards == (self.sense == Sense::Greatest);
        let mut rank = vec![NONE; claimed.len()];
        (0..rank.len()).filter(|&s| self.sets.target[s]).for_each(|s| rank[s] = 0);
        let attaining = if every { Bits::default() } else { self.attaining(claimed)? };
        loop {
            let (mut changed, mut at) = (false, 0);
            self.rows.scan(|state, row| {
                let first = at;
                at += row.ends.len();
                let state = state as usize;
                if rank[state] != NONE || !claimed[state] {
                    return;
                }
                let nearest = |branches: &[(u64, u32)]| branches.iter().map(|b| rank[b.0 as usize]).min();
                let found = match every {
                    true => row.choices().map(|(branches, _)| nearest(branches).unwrap_or(NONE)).max(),
                    false => {
                        let fits = row.choices().enumerate().filter(|(n, _)| attaining.has(first + n));
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

    /// Which choices, in the order of scans, are as good as the bounds of their states say.
    fn attaining(&self, claimed: &[bool]) -> Result<Bits, SolveError> {
        let mut bits =
            Bits { memory: self.disk.map(|disk| disk.governor.empty("choices")), ..Bits::default() };
        let (mut own, mut failed) = (self.bounds.walk()?, None);
        carried(self.rows, self.bounds, self.disk, |state, row, bounds| {
            let state = state as usize;
            let mine = match own.next() {
                Ok(bounds) => bounds,
                Err(error) => {
                    failed = failed.take().or(Some(error));
                    return;
                }
            };
            let mut next = 0;
            for (branches, reward) in row.choices() {
                let carried = &bounds[next..next + branches.len()];
                next += branches.len();
                bits.push(claimed[state] && self.attains(mine, (branches, carried), reward));
            }
        })?;
        match (failed, bits.full) {
            (Some(error), _) => Err(error.into()),
            (None, true) => {
                let (states, bytes) = (self.rows.states(), bits.count as u64 / 8);
                Err(DiskError::Values { states, bytes }.into())
            }
            (None, false) => Ok(bits),
        }
    }

    /// Whether a choice is as good as the bound of its state says, exactly.
    fn attains(&self, own: Bounds, (branches, carried): (&[(u64, u32)], &[Bounds]), reward: u32) -> bool {
        let numbers = self.rows.numbers();
        let bound = |(low, high): Bounds| RBig::try_from(if self.sets.rewards { high } else { low }).ok();
        let mut sum = match self.sets.rewards {
            true => fraction(&numbers.exact(reward)),
            false => RBig::ZERO,
        };
        for (&(to, weight), &bounds) in branches.iter().zip(carried) {
            let to = to as usize;
            let weight = fraction(&numbers.exact(weight));
            match bound(bounds) {
                _ if self.sets.target[to] && self.sets.rewards => {}
                _ if self.sets.target[to] => sum += weight,
                Some(value) if self.is_open(to) => sum += weight * value,
                None => return false,
                Some(_) => {}
            }
        }
        match (bound(own), self.sets.rewards) {
            (Some(value), true) => sum <= value,
            (Some(value), false) => sum >= value,
            (None, _) => false,
        }
    }
}

/// A bit for each choice.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    count: usize,
    memory: Option<Reservation>,
    full: bool,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(64) {
            if self.words.len() == self.words.capacity() && !self.full {
                let more = self.words.len().max(1 << 10);
                self.full = self.memory.as_mut().is_some_and(|m| m.try_grow(8 * more as u64).is_err());
                if !self.full {
                    self.words.reserve_exact(more);
                }
            }
            if self.full {
                return;
            }
            self.words.push(0);
        }
        self.words[self.count / 64] |= u64::from(bit) << (self.count % 64);
        self.count += 1;
    }

    fn has(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }
}
