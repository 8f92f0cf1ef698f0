//! When a zone makes another of the same discrete part needless.

use hadal_system::{Cover, Matcher};

use super::bounds::ClockBounds;
use super::code::Code;
use super::dbm::{INFINITY, Zone, weak};
use super::space::ZoneSpace;

/// How zones are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Covering {
    /// Only equal zones are the same.
    #[default]
    Equality,
    /// A zone covers what lies within it.
    Inclusion,
    /// A zone covers what lies within its abstraction aLU.
    Alu,
}

/// The preorder of a zone graph.
pub(crate) struct ZoneCover {
    parts: Parts,
}

/// A copy of what comparing needs of the space, which owns its cover.
struct Parts {
    covering: Covering,
    size: usize,
    zone_words: usize,
    key_words: usize,
    packing: super::pack::Packing,
    /// Bounds by process and location, and the offset and width of each location.
    bounds: Vec<(Code, Vec<ClockBounds>)>,
    base: ClockBounds,
}

impl ZoneCover {
    pub(crate) fn new(space: &ZoneSpace) -> Option<Self> {
        let key_words = hadal_system::StateSpace::words(&space.model);
        let bounds = space
            .locations
            .iter()
            .zip(&space.stays)
            .map(|(code, stays)| (code.clone(), stays.iter().map(|stay| stay.bounds.clone()).collect()))
            .collect();
        Some(ZoneCover {
            parts: Parts {
                covering: space.options.covering,
                size: space.zones.size,
                zone_words: space.zones.words,
                key_words,
                packing: space.zones.packing,
                bounds,
                base: space.base_bounds().clone(),
            },
        })
    }
}

impl Cover for ZoneCover {
    fn key_words(&self) -> usize {
        self.parts.key_words
    }

    fn only_equal(&self) -> bool {
        self.parts.covering == Covering::Equality
    }

    fn matcher(&self) -> Box<dyn Matcher + '_> {
        let parts = &self.parts;
        Box::new(ZoneMatcher {
            parts,
            chosen: Vec::new(),
            tests: Vec::new(),
            zone: Zone::zero(parts.size - 1),
            bounds: ClockBounds::none(parts.size),
            key: Vec::new(),
        })
    }
}

/// Compares by the entries that decide: the chosen zone is covered where none of the other's codes is smaller.
struct ZoneMatcher<'s> {
    parts: &'s Parts,
    chosen: Vec<u64>,
    /// Offset of an entry and the least code it may have.
    tests: Vec<(u32, u64)>,
    zone: Zone,
    bounds: ClockBounds,
    /// The key that `bounds` belong to.
    key: Vec<u64>,
}

impl ZoneMatcher<'_> {
    /// The bounds of the key's locations.
    fn learn(&mut self, key: &[u64]) {
        if self.key == key {
            return;
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.bounds.lower.copy_from_slice(&self.parts.base.lower);
        self.bounds.upper.copy_from_slice(&self.parts.base.upper);
        for (code, by_location) in &self.parts.bounds {
            let at = code.scalar(key).and_then(|value| by_location.get(usize::try_from(value).ok()?));
            if let Some(bounds) = at {
                self.bounds.join(bounds);
            }
        }
    }

    /// Where an entry of the other zone must not be tighter (Herbreteau, Srivathsan and Walukiewicz 2012, theorem 34).
    fn test_alu(&mut self) {
        let packing = &self.parts.packing;
        let (lower, upper) = (&self.bounds.lower, &self.bounds.upper);
        for x in 0..self.parts.size {
            let below = self.zone.entry(0, x);
            if (x > 0 && upper[x] < 0) || below < weak(-upper[x].max(0)) {
                continue;
            }
            for y in (0..self.parts.size).filter(|&y| y != x) {
                if y > 0 && lower[y] < 0 {
                    continue;
                }
                // Broken where theirs < mine and theirs + (< -L(y)) < below.
                let mine = self.zone.entry(y, x);
                let sum = below + 2 * lower[y].max(0);
                let least = mine.min(sum + (sum & 1));
                let code = packing.code(least);
                if code > 0 {
                    self.tests.push((packing.offset(y, x), code));
                }
            }
        }
    }

    fn test_inclusion(&mut self) {
        let n = self.parts.size;
        for i in 0..n {
            for j in (0..n).filter(|&j| j != i) {
                let bound = self.zone.entry(i, j);
                let code = self.parts.packing.code(bound);
                if code > 0 || bound == INFINITY {
                    self.tests.push((self.parts.packing.offset(i, j), code));
                }
            }
        }
    }
}

impl Matcher for ZoneMatcher<'_> {
    fn choose(&mut self, state: &[u64]) {
        self.chosen.clear();
        self.chosen.extend_from_slice(&state[..self.parts.zone_words]);
        self.tests.clear();
        match self.parts.covering {
            Covering::Equality => {}
            Covering::Inclusion => {
                self.parts.packing.unpack(state, &mut self.zone);
                self.test_inclusion();
            }
            Covering::Alu => {
                self.parts.packing.unpack(state, &mut self.zone);
                self.learn(&state[self.parts.zone_words..]);
                self.test_alu();
            }
        }
    }

    #[inline]
    fn is_covered_by(&mut self, big: &[u64]) -> bool {
        match self.parts.covering {
            Covering::Equality => self.chosen == big[..self.parts.zone_words],
            _ => {
                let packing = &self.parts.packing;
                let fails = |&(offset, least): &(u32, u64)| packing.code_at(big, offset) < least;
                match self.tests.iter().position(fails) {
                    None => true,
                    Some(at) => {
                        // Where one zone is too small others of its key often are.
                        self.tests.swap(0, at);
                        false
                    }
                }
            }
        }
    }
}
