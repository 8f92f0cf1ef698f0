//! Which groups a demand keeps away. Many groups make the same demand of a scalar (a place where a process must stand), so
//! what it keeps away is worked out once, as rows of bits, and no pair of groups is looked at.

use super::print::{Meetings, Print};
use hadal_system::facts::{Footprint, ValueSet};
use std::collections::HashMap;

/// The demands met so far: a slot must have one of some values.
#[derive(Default)]
pub(super) struct Demands(HashMap<(u32, ValueSet), KeptAway>);

/// The groups that a demand keeps away.
struct KeptAway {
    /// Those that cannot be enabled where it is met.
    beside: Box<[u64]>,
    /// Those right after which it is not met.
    before: Box<[u64]>,
}

impl Demands {
    /// Leaves in a row of groups those that may be enabled together with a group that demands this.
    pub(super) fn keep_beside(&mut self, print: &Footprint, among: (&Meetings, &[Print]), row: &mut [u64]) {
        for demand in &print.preconditions {
            remove(&self.kept_away(demand, among).beside, row);
        }
    }

    /// Leaves in a row of groups those right after which a group that demands this may be enabled.
    pub(super) fn keep_before(&mut self, print: &Footprint, among: (&Meetings, &[Print]), row: &mut [u64]) {
        for demand in &print.preconditions {
            remove(&self.kept_away(demand, among).before, row);
        }
    }

    fn kept_away(
        &mut self,
        demand: &(u32, ValueSet),
        (meetings, prints): (&Meetings, &[Print]),
    ) -> &KeptAway {
        if !self.0.contains_key(demand) {
            let empty: Box<[u64]> = vec![0; meetings.words].into();
            let mut away = KeptAway { beside: empty.clone(), before: empty };
            let (slot, wanted) = demand;
            for &group in meetings.touching(*slot) {
                let (facts, at, bit) =
                    (&prints[group as usize].facts, group as usize / 64, 1 << (group % 64));
                let asked = facts.precondition(*slot).filter(|asked| asked.is_disjoint(wanted));
                let after = match facts.result(*slot) {
                    Some(after) => after.is_disjoint(wanted),
                    // What is tested and not written stays.
                    None => asked.is_some() && !facts.may_write.contains(*slot),
                };
                away.beside[at] |= if asked.is_some() { bit } else { 0 };
                away.before[at] |= if after { bit } else { 0 };
            }
            self.0.insert(demand.clone(), away);
        }
        &self.0[demand]
    }
}

fn remove(away: &[u64], row: &mut [u64]) {
    row.iter_mut().zip(away).for_each(|(row, away)| *row &= !away);
}
