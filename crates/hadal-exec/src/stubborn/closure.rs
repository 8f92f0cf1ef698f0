//! One state's stubborn set.
//!
//! A set T of groups is stubborn in a state when (1) with every enabled group it contains all that conflict with it, (2)
//! with every disabled one all of some set without which it stays disabled. It is used when also
//!
//! * (3) for everything looked for it contains all of some set without which that stays away, and (4), where deadlocks
//!   are asked about, an enabled group that does something. Any path from the state to something looked for then fires a
//!   member of T, and the first one to fire could as well be fired first (Valmari 1998; Schmidt 1999; Valmari and
//!   Hansen 2017): it stays reachable, in no more steps, whatever the order of the search. Or when
//! * (5) it contains an enabled group that does something, no enabled one that closes a cycle, and for everything looked
//!   for that an enabled one may end, all of some set without which that stays away (or it is here, and found). A path
//!   to something looked for that fires no member of T then leads to something that no enabled member ends, and can be
//!   fired after any of them; that does not go on for ever, since every cycle of states fires a group that closes
//!   one. Steps may be added on the way. Where infinite runs are looked for, all sets are of this kind, and nothing in
//!   them is seen by the claim: what is left is stutter equivalent (Peled 1994: ample sets, their conditions C0 to C3).

use super::growing::Growing;
use super::local::{Finder, Here};
use super::memo::{Entry, Memo};
use super::precondition::Way;
use super::relation::{Cause, Relation};
use super::rows::{count, has, meet, meet_all, members};
use std::collections::HashMap;
use std::sync::Arc;

/// As many groups are tried as the one that must be there.
const MAX_TRIED: usize = 4;
/// How writers are found, in the order in which that is tried; the last where processes start.
const WAYS: [Way; 3] = [Way::Writes, Way::Leaves, Way::Lives];
/// As many rows of groups that close cycles are kept.
const MAX_SETTINGS: usize = 4096;

/// Memory for one thread's sets.
pub(super) struct Closure<'r> {
    relation: &'r Relation,
    /// The groups that can fire.
    pub(super) enabled: Vec<u64>,
    /// Those of them that lead to another state.
    pub(super) effective: Vec<u64>,
    /// The set being made.
    growing: Growing,
    base: Growing,
    best: Vec<u64>,
    /// The set that is known before others are looked for.
    known: Vec<u64>,
    /// Which tests were made in this state, and which of those failed.
    asked: Vec<u64>,
    failed: Vec<u64>,
    keys: Vec<u32>,
    /// What decides which groups close cycles, and those rows that were made.
    settings: Vec<u64>,
    restless: HashMap<Vec<u64>, Arc<[u64]>>,
    current: (Vec<u64>, Arc<[u64]>),
    /// The conjuncts looked at in this state, and whether each is false.
    looked: Vec<(u32, bool)>,
    /// How writers are found.
    way: Way,
    memo: Memo,
    finder: Finder,
    effort: Effort,
    /// How often it was looked for what can enable something.
    pub(super) work: u64,
}

/// Which sets are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Those of some processes.
    Local,
    /// Where those are not as small as can be, any.
    Full,
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
    /// Infinite runs are looked for: only sets of the second kind will do.
    Runs,
}

impl<'r> Closure<'r> {
    pub(super) fn new(relation: &'r Relation, effort: Effort) -> Self {
        let words = relation.rows.words();
        let (empty, tests) = (vec![0u64; words], vec![0u64; relation.tests.len().div_ceil(64)]);
        Closure {
            relation,
            enabled: empty.clone(),
            effective: empty.clone(),
            growing: Growing::new(words),
            base: Growing::new(words),
            best: empty.clone(),
            known: empty,
            asked: tests.clone(),
            failed: tests,
            keys: Vec::new(),
            settings: Vec::new(),
            restless: HashMap::new(),
            current: (Vec::new(), Arc::new([])),
            looked: Vec::new(),
            way: Way::Writes,
            memo: Memo::new(),
            finder: Finder::new(),
            effort,
            work: 0,
        }
    }

    /// Forgets which groups are enabled.
    pub(super) fn restart(&mut self) {
        self.enabled.fill(0);
        self.effective.fill(0);
    }

    /// A stubborn set for `state`, `enabled` and `effective`.
    pub(super) fn stubborn(&mut self, state: &[u64], progress: Progress, lengths: Lengths) -> &[u64] {
        let enabled = count(&self.enabled);
        if enabled == 1 && progress == Progress::Needed {
            return &self.enabled;
        }
        self.best.copy_from_slice(&self.enabled);
        let mut least = enabled;
        if lengths != Lengths::Kept {
            let (unwanted, relation) = (self.restless(state), self.relation);
            let (enabled, effective) = (&self.enabled[..], &self.effective[..]);
            let here =
                Here { relation, state, enabled, effective, unwanted: &unwanted, settings: &self.settings };
            least = self.finder.find(here, least, &mut self.best).unwrap_or(least);
            if self.effort == Effort::Local || least == 1 && progress == Progress::Needed {
                return &self.best;
            }
        }
        self.known.copy_from_slice(&self.best);
        let remembers = self.memo.pays();
        self.work += 2;
        let here = (&self.enabled[..], &self.effective[..], &self.known[..]);
        if remembers && let Some(at) = self.memo.find(self.relation, state, here) {
            return self.memo.set(at);
        }
        self.asked.fill(0);
        self.looked.clear();
        self.choose(state, least, progress, lengths);
        if remembers {
            self.remember(state, lengths);
        }
        &self.best
    }

    /// Keeps what was chosen, with all that was asked.
    fn remember(&mut self, state: &[u64], lengths: Lengths) {
        let relation = self.relation;
        let mut places: Vec<(u32, u64, u64)> = Vec::new();
        let mut note = |offset: u32, width: u32| {
            // A scalar may lie across two words.
            for bit in offset..offset + width {
                let (word, bit) = (bit / 64, 1u64 << (bit % 64));
                match places.iter_mut().find(|(known, ..)| *known == word) {
                    Some((_, bits, _)) => *bits |= bit,
                    None => places.push((word, bit, 0)),
                }
            }
        };
        let mut tests = Vec::new();
        for test in members(&self.asked) {
            if let Some((offset, width)) = relation.tests[test].life() {
                note(offset, width);
            }
            match relation.tests[test].location() {
                Some((offset, width)) => note(offset, width),
                None => tests.push((test as u32, has(&self.failed, test))),
            }
        }
        if lengths != Lengths::Kept {
            relation.setting_places().for_each(|(offset, width)| note(offset, width));
        }
        places.iter_mut().for_each(|(word, bits, value)| *value = state[*word as usize] & *bits);
        self.looked.sort_unstable();
        self.looked.dedup();
        self.memo.keep(Entry {
            enabled: self.enabled.as_slice().into(),
            effective: self.effective.as_slice().into(),
            known: self.known.as_slice().into(),
            places: places.into(),
            tests: tests.into(),
            conditions: self.looked.as_slice().into(),
            set: self.best.as_slice().into(),
        });
    }

    /// Makes the best set; the one that is known has `least` enabled groups.
    fn choose(&mut self, state: &[u64], mut least: u32, progress: Progress, lengths: Lengths) {
        if lengths != Lengths::Kept {
            self.base.clear();
            let restless = self.restless(state);
            least = self.try_keys(state, least, Some(&restless));
            if lengths == Lengths::Runs || least == 1 && progress == Progress::Needed {
                return;
            }
        }
        self.growing.clear();
        if self.add_looked_for(state, least)
            && let Some(count) = self.close(state, least, None)
        {
            if progress == Progress::NotNeeded || meet(&self.growing.set, &self.effective) {
                self.best.copy_from_slice(&self.growing.set);
            } else if count + 1 < least {
                std::mem::swap(&mut self.growing, &mut self.base);
                self.try_keys(state, least, None);
            }
        }
    }

    /// The groups that no set of the second kind contains while they are enabled.
    fn restless(&mut self, state: &[u64]) -> Arc<[u64]> {
        self.relation.settings(state, &mut self.settings);
        if self.settings != self.current.0 || self.current.1.is_empty() {
            let row = match self.restless.get(&self.settings) {
                Some(row) => row.clone(),
                None => {
                    if self.restless.len() >= MAX_SETTINGS {
                        self.restless.clear();
                    }
                    let row: Arc<[u64]> = self.relation.restless(&self.settings).into();
                    self.restless.insert(self.settings.clone(), row.clone());
                    row
                }
            };
            self.current.0.clone_from(&self.settings);
            self.current.1 = row;
        }
        self.current.1.clone()
    }

    /// Adds what can bring about each thing looked for. False where that has at least `limit` enabled groups.
    fn add_looked_for(&mut self, state: &[u64], limit: u32) -> bool {
        let relation = self.relation;
        for cause in &relation.causes[relation.groups..] {
            self.add_way(cause, state);
            if self.growing.count >= limit {
                return false;
            }
        }
        for &(group, row) in &relation.bodies {
            if has(&self.enabled, group) {
                self.growing.add(relation.rows.row(row), &self.enabled);
            } else if !has(&self.growing.settled, group) {
                self.settle(group, state);
            }
        }
        self.growing.count < limit
    }

    /// Tries sets with one effective group on top of `base`; keeps the best of those with less than `least` enabled
    /// groups and none of `unwanted`. Returns how many the best one has.
    fn try_keys(&mut self, state: &[u64], mut least: u32, unwanted: Option<&[u64]>) -> u32 {
        let relation = self.relation;
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(members(&self.effective).map(|group| group as u32));
        if let Some(row) = unwanted {
            keys.retain(|&key| !has(row, key as usize));
        }
        // Those that have to do with few others first.
        keys.sort_unstable_by_key(|&key| relation.rank[key as usize]);
        let mut tried = 0;
        let mut next = 0;
        while next < keys.len() && least > 1 && tried < MAX_TRIED {
            let key = keys[next] as usize;
            next += 1;
            let row = relation.rows.row(relation.conflicts[key]);
            if unwanted.is_some_and(|unwanted| meet_all(row, &self.enabled, unwanted)) {
                continue;
            }
            // What conflicts with it brings it along in turn: the sets are the same.
            let mut kept = next;
            for n in next..keys.len() {
                if !has(row, keys[n] as usize) {
                    keys[kept] = keys[n];
                    kept += 1;
                }
            }
            keys.truncate(kept);
            tried += 1;
            for &way in if relation.has_lives() { &WAYS[..] } else { &WAYS[..2] } {
                self.way = way;
                self.growing.copy_from(&self.base);
                self.growing.set[key / 64] |= 1 << (key % 64);
                // The base has no effective group, so this is one more.
                self.growing.count += 1;
                self.growing.open.push(key as u32);
                if let Some(count) = self.close(state, least, unwanted) {
                    least = count;
                    self.best.copy_from_slice(&self.growing.set);
                    break;
                }
            }
            self.way = Way::Writes;
        }
        self.keys = keys;
        least
    }

    /// Adds what the open groups bring along, until nothing is open. Gives up where that has at least `limit` enabled
    /// groups, or one of `unwanted`; else returns how many there are.
    fn close(&mut self, state: &[u64], limit: u32, unwanted: Option<&[u64]>) -> Option<u32> {
        let relation = self.relation;
        while self.growing.count < limit {
            if let Some(group) = self.growing.open.pop() {
                let group = group as usize;
                if unwanted.is_some_and(|row| has(row, group)) {
                    return None;
                }
                self.growing.add(relation.rows.row(relation.conflicts[group]), &self.enabled);
                if unwanted.is_some() {
                    for &cause in &relation.ending[group] {
                        self.add_way(&relation.causes[cause as usize], state);
                    }
                }
            } else if let Some(group) = self.growing.unsettled(&self.enabled) {
                self.settle(group, state);
            } else {
                return Some(self.growing.count);
            }
        }
        None
    }

    /// Adds what can enable a disabled group.
    fn settle(&mut self, group: usize, state: &[u64]) {
        self.add_way(&self.relation.causes[group], state);
        self.growing.settled[group / 64] |= 1 << (group % 64);
    }

    /// Adds the cheapest set without which this stays disabled. Where that is about a scalar, all groups that demand the
    /// same of it are settled at once.
    fn add_way(&mut self, cause: &Cause, state: &[u64]) {
        let relation = self.relation;
        self.work += 1;
        let mut best: Option<(u32, usize, u32)> = None;
        for &test in &cause.tests {
            let test = test as usize;
            if self.fails(test, state) {
                let row = relation.writers(test, state, self.way);
                let cost = self.cost(row, best.map_or(u32::MAX, |(least, ..)| least));
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, test, row));
                }
                if cost == 0 {
                    break;
                }
            }
        }
        if let Some((_, test, writers)) = best {
            self.growing.add(relation.rows.row(writers), &self.enabled);
            let users = relation.rows.row(relation.users(test, state, self.way));
            self.growing.settled.iter_mut().zip(users).for_each(|(settled, users)| *settled |= users);
            return;
        }
        let mut best: Option<(u32, u32)> = None;
        for n in cause.conditions.clone() {
            let (condition, row) = &relation.conditions[n];
            let fails = condition.fails(state);
            self.looked.push((n as u32, fails));
            if fails {
                let cost = self.cost(*row, best.map_or(u32::MAX, |(least, _)| least));
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, *row));
                }
            }
        }
        let row = best.map_or(cause.otherwise, |(_, row)| row);
        self.growing.add(relation.rows.row(row), &self.enabled);
    }

    fn fails(&mut self, test: usize, state: &[u64]) -> bool {
        let (at, bit) = (test / 64, 1 << (test % 64));
        if self.asked[at] & bit == 0 {
            self.asked[at] |= bit;
            if self.relation.tests[test].passes(state) {
                self.failed[at] &= !bit;
            } else {
                self.failed[at] |= bit;
            }
        }
        self.failed[at] & bit != 0
    }

    /// How much a row would add: enabled groups above all, then those that are to be settled. Beyond `limit` it does not
    /// matter how much.
    fn cost(&self, row: u32, limit: u32) -> u32 {
        let (row, Growing { set, settled, .. }) = (self.relation.rows.row(row), &self.growing);
        let mut cost = 0;
        for (((row, set), settled), enabled) in row.iter().zip(set).zip(settled).zip(&self.enabled) {
            let fresh = row & !set;
            if fresh != 0 {
                cost += 32 * (fresh & enabled).count_ones() + (fresh & !settled).count_ones();
                if cost >= limit {
                    break;
                }
            }
        }
        cost
    }
}
