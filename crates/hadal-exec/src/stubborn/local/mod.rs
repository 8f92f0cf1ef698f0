//! Sets of one process: all that it can do from where it stands. Such a set is stubborn where nothing that disturbs what it
//! can do, or enables what it cannot, can come before it moves. Who can still get where without it is worked out
//! once from the control graphs, so a state is asked only where processes stand (ample sets; Peled 1994, Clarke, Grumberg
//! and Peled 1999, sec. 10.5).
//!
//! Let p stand at c, and T be the groups that demand of p to stand at places among which c is. On a path without a member of
//! T, p stays at c, so nothing fires that asks where p stands; the others move along edges that do not ask for
//! it. A group that asks of some q to stand where no such edges lead is not fired before T is. So T is stubborn where all that
//! conflicts with its enabled groups, and all that can enable its disabled ones, is in T, asks for another place of p, or is
//! such a group.

mod graphs;
mod making;

use super::relation::Relation;
use hadal_system::state::get_bits;
use std::collections::HashMap;

/// The sets of all processes.
#[derive(Default)]
pub(super) struct Locals {
    /// By process: where in the state it is said where it stands.
    locations: Vec<(u32, u32)>,
    /// By process and code of its location; `None` where something may move it that does not ask where it stands.
    spots: Vec<Vec<Option<Spot>>>,
    masks: Vec<u64>,
    /// Where each row of them stands.
    known: HashMap<Vec<u64>, u32>,
}

/// What a process can do at one place. Groups of which the same must hold stand together.
#[derive(Default)]
struct Spot {
    groups: Part,
    /// What must hold where one of them is enabled; `None` where nothing will do.
    enabled: Vec<(Part, Option<Needs>)>,
    /// What must hold where one of them is disabled.
    disabled: Vec<(Part, Obstacles)>,
}

/// Why a group may be disabled, and what must hold for each reason: one of those must that are so.
#[derive(Clone, PartialEq, Eq)]
struct Obstacles {
    /// What is demanded of single scalars; nothing will do where there is no more.
    tests: Vec<(Reason, Option<Needs>)>,
    /// These count where all scalars are as demanded: what is known of messages is so where there are any, and of
    /// processes where they live.
    further: Vec<(Reason, Needs)>,
}

impl Obstacles {
    /// Whether nothing must hold, whatever the reason.
    fn are_none(&self) -> bool {
        let nothing = |needs: &Needs| needs.is_empty();
        self.tests.iter().all(|(_, needs)| needs.as_ref().is_some_and(nothing))
            && self.further.iter().any(|(reason, needs)| *reason == Reason::Any && nothing(needs))
    }
}

/// Where processes must stand.
type Needs = Vec<Elsewhere>;

/// Some groups: numbers and contents of words that are not empty.
#[derive(Default)]
struct Part(Vec<(u32, u64)>);

impl Part {
    fn insert(&mut self, group: usize) {
        let (at, bit) = ((group / 64) as u32, 1u64 << (group % 64));
        match self.0.iter_mut().find(|(known, _)| *known == at) {
            Some((_, bits)) => *bits |= bit,
            None => self.0.push((at, bit)),
        }
    }

    /// Whether one of them is in the row.
    fn meets(&self, row: &[u64]) -> bool {
        self.0.iter().any(|&(at, bits)| row[at as usize] & bits != 0)
    }

    /// Whether one of them is not in the row.
    fn exceeds(&self, row: &[u64]) -> bool {
        self.0.iter().any(|&(at, bits)| !row[at as usize] & bits != 0)
    }
}

impl Spot {
    fn add(&mut self, group: usize, enabled: &Option<Needs>, disabled: &Obstacles) {
        self.groups.insert(group);
        // What holds anyway need not be looked at.
        if enabled.as_ref().is_none_or(|needs| !needs.is_empty()) {
            match self.enabled.iter_mut().find(|(_, needs)| needs == enabled) {
                Some((part, _)) => part.insert(group),
                None => {
                    let mut part = Part::default();
                    part.insert(group);
                    self.enabled.push((part, enabled.clone()));
                }
            }
        }
        if !disabled.are_none() {
            match self.disabled.iter_mut().find(|(_, known)| known == disabled) {
                Some((part, _)) => part.insert(group),
                None => {
                    let mut part = Part::default();
                    part.insert(group);
                    self.disabled.push((part, disabled.clone()));
                }
            }
        }
    }
}

/// Why a group may be disabled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// A process stands elsewhere: its number, and the places that are demanded.
    Place(Elsewhere),
    /// A scalar is not as demanded: number of the test.
    Test(u32),
    /// A conjunct is false: its number.
    Condition(u32),
    Any,
}

/// A process must stand at one of some places: a row of bits by the code of its location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Elsewhere {
    process: u32,
    mask: u32,
}

impl Locals {
    /// Looks for the least set with fewer than `limit` enabled groups, one that leads on, and none that is unwanted. Puts it
    /// into `set` and says how many it has.
    pub(super) fn find(&self, here: Here, mut limit: u32, set: &mut [u64]) -> Option<u32> {
        let (mut best, mut useless) = (None, 0);
        for p in 0..self.spots.len() {
            if !self.spot(p, here.state).is_some_and(|spot| spot.groups.meets(here.effective)) {
                continue;
            }
            if let Some((processes, count)) = self.together(p, here, limit, useless) {
                (best, limit) = (Some(processes), count);
                if count == 1 {
                    break;
                }
            }
            // Whoever brings it along has a set that is no better, or none.
            useless |= 1 << p;
        }
        let processes = best?;
        set.fill(0);
        for process in bits(processes) {
            for &(at, groups) in &self.spot(process, here.state)?.groups.0 {
                set[at as usize] |= groups;
            }
        }
        Some(limit)
    }

    fn spot(&self, process: usize, state: &[u64]) -> Option<&Spot> {
        let (offset, width) = self.locations[process];
        self.spots[process].get(get_bits(state, offset, width) as usize)?.as_ref()
    }

    /// Whether a process stands at one of the places.
    fn is_at(&self, it: &Elsewhere, state: &[u64]) -> bool {
        let (offset, width) = self.locations[it.process as usize];
        let code = get_bits(state, offset, width);
        self.masks[it.mask as usize + code as usize / 64] >> (code % 64) & 1 == 1
    }

    /// The processes that a process brings along, as bits, and how many groups are enabled that are theirs. Each brings along
    /// those that could come before it with something that matters. Nothing where one of the `useless` is among them.
    fn together(&self, first: usize, here: Here, limit: u32, useless: u64) -> Option<(u64, u32)> {
        let Here { state, enabled, unwanted, .. } = here;
        let (mut processes, mut open, mut count) = (1u64 << first, 1u64 << first, 0);
        while open != 0 {
            let process = open.trailing_zeros() as usize;
            open &= open - 1;
            let spot = self.spot(process, state)?;
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
                let missing = self.missing(needs.as_ref()?, state) & !processes;
                if missing & useless != 0 {
                    return None;
                }
                processes |= missing;
                open |= missing;
            }
            for (_, obstacles) in spot.disabled.iter().filter(|(part, _)| part.exceeds(enabled)) {
                let missing = self.least(obstacles, here, processes)?;
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
    fn least(&self, obstacles: &Obstacles, here: Here, others: u64) -> Option<u64> {
        let mut least: Option<u64> = None;
        let mut as_demanded = true;
        for (reason, needs) in &obstacles.tests {
            if self.is_so(*reason, here) {
                as_demanded = false;
                let Some(needs) = needs else { continue };
                let missing = self.missing(needs, here.state) & !others;
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
            let missing = self.missing(needs, here.state) & !others;
            let fewer = least.is_none_or(|least| missing.count_ones() < least.count_ones());
            if fewer && self.is_so(*reason, here) {
                least = Some(missing);
                if missing == 0 {
                    break;
                }
            }
        }
        least
    }

    /// The processes that do not stand where they must.
    fn missing(&self, needs: &[Elsewhere], state: &[u64]) -> u64 {
        needs.iter().filter(|it| !self.is_at(it, state)).fold(0, |all, it| all | 1 << it.process)
    }

    fn is_so(&self, reason: Reason, Here { relation, state, .. }: Here) -> bool {
        match reason {
            Reason::Place(it) => !self.is_at(&it, state),
            Reason::Test(n) => !relation.tests[n as usize].passes(state),
            Reason::Condition(n) => relation.conditions[n as usize].0.fails(state),
            Reason::Any => true,
        }
    }
}

/// A state, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) relation: &'a Relation,
    pub(super) state: &'a [u64],
    pub(super) enabled: &'a [u64],
    pub(super) effective: &'a [u64],
    pub(super) unwanted: &'a [u64],
}

/// The numbers of the bits that are set.
fn bits(mut row: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (row != 0).then(|| row.trailing_zeros() as usize)?;
        row &= row - 1;
        Some(bit)
    })
}
