//! One state's stubborn set.
//!
//! A set T of groups is stubborn in a state when (1) with every enabled group it contains all that conflict with it, (2)
//! with every disabled one all of some set without which it stays disabled. It is used when also
//!
//! * (3) for everything looked for it contains all of some set without which that stays away, and (4), where deadlocks
//!   are asked about, an enabled group that does something. Any path from the state to something looked for then fires a
//!   member of T, and the first one to fire could as well be fired first (Valmari 1998; Schmidt 1999; Valmari and
//!   Hansen 2017): it stays reachable, in no more steps, whatever the order of the search. Or when
//! * (5) it contains an enabled group that does something, and no enabled one that closes a cycle or may end something
//!   looked for. A path to something looked for that fires no member of T can be fired after any of them; that does
//!   not go on for ever, since every cycle of states fires a group that closes one. Steps may be added on the way.

use super::relation::Relation;
use super::rows::{common, meet, members};

/// As many groups are tried as the one that must be there.
const MAX_TRIED: usize = 12;

/// Memory for one thread's sets.
pub(super) struct Closure<'r> {
    relation: &'r Relation,
    /// The groups that can fire.
    pub(super) enabled: Vec<u64>,
    /// Those of them that lead to another state.
    pub(super) effective: Vec<u64>,
    set: Vec<u64>,
    base: Vec<u64>,
    best: Vec<u64>,
    /// Members that have not brought anything along yet: enabled ones, which are looked at first, and others.
    open_enabled: Vec<u32>,
    open: Vec<u32>,
    /// How many enabled groups the set has.
    count: u32,
}

/// Whether a set must contain something that leads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Needed,
    NotNeeded,
}

/// Whether steps may be added before something looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lengths {
    Kept,
    Free,
}

impl<'r> Closure<'r> {
    pub(super) fn new(relation: &'r Relation) -> Self {
        let empty = vec![0u64; relation.rows.words()];
        Closure {
            relation,
            enabled: empty.clone(),
            effective: empty.clone(),
            set: empty.clone(),
            base: empty.clone(),
            best: empty,
            open_enabled: Vec::new(),
            open: Vec::new(),
            count: 0,
        }
    }

    /// Forgets which groups are enabled.
    pub(super) fn restart(&mut self) {
        self.enabled.fill(0);
        self.effective.fill(0);
    }

    /// A stubborn set for `state`, `enabled` and `effective`.
    pub(super) fn stubborn(&mut self, state: &[u64], progress: Progress, lengths: Lengths) -> &[u64] {
        let relation = self.relation;
        self.set.fill(0);
        self.count = 0;
        for cause in &relation.causes[relation.groups..] {
            self.add_way(cause, state);
        }
        for &(group, row) in &relation.bodies {
            if self.enabled[group / 64] >> (group % 64) & 1 == 1 {
                self.add(row);
            } else {
                self.add_way(&relation.causes[group], state);
            }
        }
        let all = common(&self.enabled, &self.enabled);
        let count = self.close(state, u32::MAX, None).unwrap_or(all);
        let mut least = all;
        if progress == Progress::NotNeeded || meet(&self.set, &self.effective) {
            self.best.copy_from_slice(&self.set);
            least = count;
        } else {
            self.best.copy_from_slice(&self.enabled);
            self.base.copy_from_slice(&self.set);
            least = self.try_keys(state, least, None);
        }
        if lengths == Lengths::Free && least > 1 {
            self.base.fill(0);
            self.try_keys(state, least, Some(relation.restless));
        }
        &self.best
    }

    /// Tries sets with one effective group on top of `base`; keeps the best of those with less than `least` enabled
    /// groups and none of `without`. Returns how many the best one has.
    fn try_keys(&mut self, state: &[u64], mut least: u32, without: Option<u32>) -> u32 {
        let mut tried = 0;
        let base_count = common(&self.base, &self.enabled);
        for word in 0..self.effective.len() {
            let mut rest = self.effective[word];
            if let Some(row) = without {
                rest &= !self.relation.rows.row(row)[word];
            }
            while rest != 0 && least > 1 && tried < MAX_TRIED {
                let bit = rest & rest.wrapping_neg();
                rest &= rest - 1;
                tried += 1;
                self.set.copy_from_slice(&self.base);
                self.set[word] |= bit;
                // The base has no effective group, so this is one more.
                self.count = base_count + 1;
                self.open_enabled.push(word as u32 * 64 + bit.trailing_zeros());
                if let Some(count) = self.close(state, least, without) {
                    least = count;
                    self.best.copy_from_slice(&self.set);
                }
            }
        }
        least
    }

    /// Adds what the open groups bring along, until nothing is open. Gives up where that has at least `limit` enabled
    /// groups, or one of `without`; else returns how many there are.
    fn close(&mut self, state: &[u64], limit: u32, without: Option<u32>) -> Option<u32> {
        let relation = self.relation;
        let unwanted = without.map(|row| relation.rows.row(row));
        while self.count < limit {
            if let Some(group) = self.open_enabled.pop() {
                let group = group as usize;
                if unwanted.is_some_and(|row| row[group / 64] >> (group % 64) & 1 == 1) {
                    break;
                }
                self.add(relation.conflicts[group]);
            } else if let Some(group) = self.open.pop() {
                self.add_way(&relation.causes[group as usize], state);
            } else {
                return Some(self.count);
            }
        }
        self.open_enabled.clear();
        self.open.clear();
        None
    }

    /// Adds the cheapest set without which this stays disabled.
    fn add_way(&mut self, cause: &super::relation::Cause, state: &[u64]) {
        let relation = self.relation;
        let mut best: Option<(u32, u32)> = None;
        for way in relation.ways(cause, state) {
            let mut cost = 0u32;
            for ((row, set), enabled) in relation.rows.row(way).iter().zip(&self.set).zip(&self.enabled) {
                let fresh = row & !set;
                cost += 32 * (fresh & enabled).count_ones() + fresh.count_ones();
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, way));
            }
            if cost == 0 {
                break;
            }
        }
        if let Some((_, way)) = best {
            self.add(way);
        }
    }

    fn add(&mut self, row: u32) {
        let row = self.relation.rows.row(row);
        for (at, (word, set)) in row.iter().zip(&mut self.set).enumerate() {
            let fresh = word & !*set;
            if fresh != 0 {
                *set |= fresh;
                let (enabled, disabled) = (fresh & self.enabled[at], fresh & !self.enabled[at]);
                self.count += enabled.count_ones();
                self.open_enabled.extend(members(&[enabled]).map(|bit| (at * 64 + bit) as u32));
                self.open.extend(members(&[disabled]).map(|bit| (at * 64 + bit) as u32));
            }
        }
    }
}
