//! What guards demand of single scalars.

use hadal_system::Domain;
use hadal_system::facts::ValueSet;
use hadal_system::state::get_bits;

/// How those are found that can give a scalar another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By what they may write.
    Writes,
    /// By what they may write while the process lives whose scalar it is.
    Lives,
    /// Of where a process stands: by what moves it away from there.
    Leaves,
}

/// A place where a process can stand.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The row of those that move it away. Whatever waits for it to stand elsewhere waits for one of them.
    pub(super) leaving: u32,
    /// The row of the groups that wait for that.
    pub(super) waiting: u32,
}

/// A scalar must have one of some values.
pub(super) struct Test {
    pub(super) offset: u32,
    pub(super) width: u32,
    /// Where the scalar is where a process stands: the number of the process.
    pub(super) locates: Option<u32>,
    pub(super) allowed: Allowed,
    /// The row of those that may give it one.
    pub(super) writers: u32,
    /// Where the process stands whose scalar it is (offset and width), and the row of those that may do so or end it while
    /// it lives.
    pub(super) living: Option<(u32, u32, u32)>,
    /// The row of the groups that demand this.
    pub(super) users: u32,
}

pub(super) enum Allowed {
    /// Codes below 64, one bit each.
    Few(u64),
    /// Ranges of codes, inclusive.
    Ranges(Box<[(u64, u64)]>),
}

impl Test {
    /// The row of those without which it does not pass: those that write the scalar, or, where its process lives, those that
    /// do so while it lives or end that. Either will do.
    pub(super) fn writers(&self, state: &[u64], way: Way) -> u32 {
        match self.living {
            Some((offset, width, row)) if way != Way::Writes && get_bits(state, offset, width) != 0 => row,
            _ => self.writers,
        }
    }

    /// Offset and width of the location that decides who may make it pass.
    pub(super) fn life(&self) -> Option<(u32, u32)> {
        self.living.map(|(offset, width, _)| (offset, width))
    }

    /// Offset and width of the scalar, where it is where a process stands.
    pub(super) fn location(&self) -> Option<(u32, u32)> {
        self.locates.map(|_| (self.offset, self.width))
    }

    /// The code of the scalar.
    pub(super) fn code(&self, state: &[u64]) -> u64 {
        get_bits(state, self.offset, self.width)
    }

    pub(super) fn passes(&self, state: &[u64]) -> bool {
        self.allowed.has(self.code(state))
    }
}

impl Allowed {
    pub(super) fn has(&self, code: u64) -> bool {
        match self {
            Allowed::Few(codes) => codes >> code & 1 == 1,
            Allowed::Ranges(ranges) => ranges.iter().any(|&(from, to)| from <= code && code <= to),
        }
    }
}

/// The codes of a domain's values that are in the set.
pub(super) fn allowed(domain: &Domain, set: &ValueSet) -> Allowed {
    let shift = u64::from(domain.undefined);
    let mut ranges = Vec::new();
    if domain.undefined && set.may_be_undefined() {
        ranges.push((0, 0));
    }
    for &(low, high) in &domain.intervals {
        for &(from, to) in set.intervals() {
            let (from, to) = (from.max(low), to.min(high));
            if let (true, Some(from), Some(to)) = (from <= to, domain.position(from), domain.position(to)) {
                ranges.push((from + shift, to + shift));
            }
        }
    }
    if domain.bits() > 6 {
        return Allowed::Ranges(ranges.into());
    }
    Allowed::Few(ranges.into_iter().flat_map(|(from, to)| from..=to).fold(0, |codes, code| codes | 1 << code))
}
