//! Looking for the set of a state, and keeping what was found: the choice asks where processes stand, what can fire, and
//! whether some scalars are as guards demand. In the next state with the same answers the set is there.

use super::{Elsewhere, Locals, Needs, Obstacles, Reason, Spot};
use crate::stubborn::relation::Relation;
use hadal_system::state::get_bits;

/// How many places there are for choices.
const PLACES: usize = 1 << 12;
/// How many choices a place holds.
const WAYS: usize = 2;
/// After so many states it is known whether choices repeat.
const TRIED: u32 = 4096;
/// Where fewer than one in so many was made before, choices are no longer kept.
const RARE: u32 = 4;

/// A state, and what is known of it.
#[derive(Clone, Copy)]
pub(in crate::stubborn) struct Here<'a> {
    pub(in crate::stubborn) relation: &'a Relation,
    pub(in crate::stubborn) state: &'a [u64],
    pub(in crate::stubborn) enabled: &'a [u64],
    pub(in crate::stubborn) effective: &'a [u64],
    pub(in crate::stubborn) unwanted: &'a [u64],
    /// What decides which groups are unwanted.
    pub(in crate::stubborn) settings: &'a [u64],
}

/// One thread's memory for finding sets.
pub(in crate::stubborn) struct Finder {
    /// Where each process stands.
    codes: Vec<u32>,
    /// What was asked of the state besides, and whether it was so.
    asked: Vec<(Reason, bool)>,
    /// What the choice depends on in any case.
    key: Vec<u64>,
    entries: Vec<Option<Entry>>,
    next: usize,
    /// How often a choice was looked for, and found.
    looked: u32,
    found: u32,
}

/// What was asked and answered, and what was chosen.
struct Entry {
    key: Box<[u64]>,
    asked: Box<[(Reason, bool)]>,
    /// The processes whose steps are the set, and how many of those are enabled.
    chosen: Option<(u64, u32)>,
}

impl Finder {
    pub(in crate::stubborn) fn new() -> Self {
        let (codes, asked, key, entries) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Finder { codes, asked, key, entries, next: 0, looked: 0, found: 0 }
    }

    /// Looks for the least set with fewer than `limit` enabled groups, one that leads on, and none that is unwanted. Puts it
    /// into `set` and says how many it has.
    pub(in crate::stubborn) fn find(&mut self, here: Here, limit: u32, set: &mut [u64]) -> Option<u32> {
        let locals = &here.relation.locals;
        self.codes.clear();
        let codes =
            locals.locations.iter().map(|&(offset, width)| get_bits(here.state, offset, width) as u32);
        self.codes.extend(codes);
        let (processes, count) = if self.looked < TRIED || self.found > TRIED / RARE {
            self.remembered(locals, here, limit)?
        } else {
            self.choose(locals, here, limit)?
        };
        set.fill(0);
        for process in bits(processes) {
            for &(at, groups) in &locals.spot(process, &self.codes)?.groups.0 {
                set[at as usize] |= groups;
            }
        }
        Some(count)
    }

    /// The choice as it was made before, or is made now.
    fn remembered(&mut self, locals: &Locals, here: Here, limit: u32) -> Option<(u64, u32)> {
        self.key.clear();
        self.key.extend_from_slice(here.enabled);
        if here.effective != here.enabled {
            self.key.extend_from_slice(here.effective);
        }
        self.key.extend_from_slice(here.settings);
        self.key.extend(
            self.codes.chunks(2).map(|two| two.iter().fold(0, |all, &code| all << 32 | u64::from(code))),
        );
        let mixed = (self.key.iter())
            .fold(0u64, |all, word| (all ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
        let place = (mixed >> 20) as usize % PLACES * WAYS;
        if self.entries.is_empty() {
            self.entries.resize_with(PLACES * WAYS, || None);
        }
        let entries = self.entries[place..place + WAYS].iter().flatten();
        let known = entries.filter(|entry| *entry.key == *self.key).find(|entry| {
            entry.asked.iter().all(|&(reason, so)| locals.is_so(reason, here, &self.codes) == so)
        });
        let known = known.map(|entry| entry.chosen);
        if self.looked < TRIED {
            self.looked += 1;
            self.found += u32::from(known.is_some());
        }
        known.unwrap_or_else(|| {
            let chosen = self.choose(locals, here, limit);
            // The same is asked for several groups.
            self.asked.sort_unstable();
            self.asked.dedup();
            let entry =
                Entry { key: self.key.as_slice().into(), asked: self.asked.as_slice().into(), chosen };
            self.entries[place + self.next % WAYS] = Some(entry);
            self.next += 1;
            chosen
        })
    }

    /// The processes of the least set, and how many enabled groups it has.
    fn choose(&mut self, locals: &Locals, here: Here, mut limit: u32) -> Option<(u64, u32)> {
        self.asked.clear();
        let (mut best, mut useless) = (None, 0);
        for p in 0..locals.spots.len() {
            if !locals.spot(p, &self.codes).is_some_and(|spot| spot.groups.meets(here.effective)) {
                continue;
            }
            if let Some((processes, count)) = self.together(locals, p, here, (limit, useless)) {
                (best, limit) = (Some((processes, count)), count);
                if count == 1 {
                    break;
                }
            }
            // Whoever brings it along has a set that is no better, or none.
            useless |= 1 << p;
        }
        best
    }

    /// The processes that a process brings along, as bits, and how many groups are enabled that are theirs. Each brings along
    /// those that could come before it with something that matters. Nothing where there are as many groups as `limit`, or
    /// one of the `useless` is among the processes.
    fn together(
        &mut self,
        locals: &Locals,
        first: usize,
        here: Here,
        (limit, useless): (u32, u64),
    ) -> Option<(u64, u32)> {
        let Here { enabled, unwanted, .. } = here;
        let (mut processes, mut open, mut count) = (1u64 << first, 1u64 << first, 0);
        while open != 0 {
            let process = open.trailing_zeros() as usize;
            open &= open - 1;
            let spot = locals.spot(process, &self.codes)?;
            for &(at, groups) in &spot.groups.0 {
                let able = enabled[at as usize] & groups;
                // One of several processes is counted once for each, which is too often at worst.
                count += able.count_ones();
                if able & unwanted[at as usize] != 0 {
                    return None;
                }
            }
            if count >= limit {
                return None;
            }
            for (_, needs) in spot.enabled.iter().filter(|(part, _)| part.meets(enabled)) {
                let missing = locals.missing(needs.as_ref()?, &self.codes) & !processes;
                if missing & useless != 0 {
                    return None;
                }
                processes |= missing;
                open |= missing;
            }
            for (_, obstacles) in spot.disabled.iter().filter(|(part, _)| part.exceeds(enabled)) {
                let missing = self.least(locals, obstacles, here, processes)?;
                if missing & useless != 0 {
                    return None;
                }
                processes |= missing;
                open |= missing;
            }
        }
        Some((processes, count))
    }

    /// The fewest processes that must join others so that a group stays disabled; nothing where none will do.
    fn least(&mut self, locals: &Locals, obstacles: &Obstacles, here: Here, others: u64) -> Option<u64> {
        let mut least: Option<u64> = None;
        let mut as_demanded = true;
        for (reason, needs) in &obstacles.tests {
            if self.is_so(locals, *reason, here) {
                as_demanded = false;
                let Some(needs) = needs else { continue };
                let missing = locals.missing(needs, &self.codes) & !others;
                if least.is_none_or(|least| missing.count_ones() < least.count_ones()) {
                    least = Some(missing);
                }
                if missing == 0 {
                    return least;
                }
            }
        }
        if !as_demanded {
            return least;
        }
        for (reason, needs) in &obstacles.further {
            let missing = locals.missing(needs, &self.codes) & !others;
            let fewer = least.is_none_or(|least| missing.count_ones() < least.count_ones());
            if fewer && self.is_so(locals, *reason, here) {
                least = Some(missing);
                if missing == 0 {
                    break;
                }
            }
        }
        least
    }

    /// Whether a reason is one in this state; what is not told by where processes stand is noted.
    fn is_so(&mut self, locals: &Locals, reason: Reason, here: Here) -> bool {
        let so = locals.is_so(reason, here, &self.codes);
        if matches!(reason, Reason::Test(_) | Reason::Condition(_)) {
            self.asked.push((reason, so));
        }
        so
    }
}

impl Locals {
    fn spot(&self, process: usize, codes: &[u32]) -> Option<&Spot> {
        self.spots[process].get(codes[process] as usize)?.as_ref()
    }

    /// Whether a process stands at one of the places.
    fn is_at(&self, it: &Elsewhere, codes: &[u32]) -> bool {
        let code = codes[it.process as usize];
        self.masks[it.mask as usize + code as usize / 64] >> (code % 64) & 1 == 1
    }

    /// The processes that do not stand where they must.
    fn missing(&self, needs: &Needs, codes: &[u32]) -> u64 {
        needs.iter().filter(|it| !self.is_at(it, codes)).fold(0, |all, it| all | 1 << it.process)
    }

    fn is_so(&self, reason: Reason, Here { relation, state, .. }: Here, codes: &[u32]) -> bool {
        match reason {
            Reason::Place(it) => !self.is_at(&it, codes),
            Reason::Test(n) => !relation.tests[n as usize].passes(state),
            Reason::Condition(n) => relation.conditions[n as usize].0.fails(state),
            Reason::Any => true,
        }
    }
}

/// The numbers of the bits that are set.
fn bits(mut row: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (row != 0).then(|| row.trailing_zeros() as usize)?;
        row &= row - 1;
        Some(bit)
    })
}
