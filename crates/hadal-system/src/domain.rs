//! Finite domains of scalars: booleans, ranges, enumerations, scalarsets and unions of them.
//!
//! A value is an `i64`. A domain is one or more disjoint ascending intervals of values (unions have several) and
//! numbers its values by *position*, from 0. The packed *code* of a value is its position, shifted by one where
//! the language has undefined values (code 0 is then "undefined").

/// What expressions compute with. Booleans are 0 and 1.
pub type Value = i64;

/// Index into [`Domains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainId(pub u32);

/// Which scalarset: two domains with the same id are permuted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScalarsetId(pub u32);

/// How a domain's values are written, and whether they may be permuted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DomainKind {
    /// 0 is false, 1 is true.
    Bool,
    /// Plain integers.
    Range,
    /// Named values, one name per position.
    Enum(Vec<String>),
    /// Interchangeable values: any permutation of them maps the system to itself.
    Scalarset(ScalarsetId),
    /// The values of several enumerations and scalarsets together; the members cover the intervals in order.
    Union(Vec<DomainId>),
}

/// A finite set of values and how to show them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// The name the model gives it, if any.
    pub name: Option<String>,
    /// Disjoint inclusive intervals, ascending. Never empty; each interval holds at least one value.
    pub intervals: Vec<(Value, Value)>,
    /// Kind and labels.
    pub kind: DomainKind,
    /// Whether a scalar of this domain can be undefined (and starts so).
    pub undefined: bool,
}

impl Domain {
    /// The booleans.
    pub fn boolean(undefined: bool) -> Self {
        Domain { name: Some("boolean".into()), intervals: vec![(0, 1)], kind: DomainKind::Bool, undefined }
    }

    /// The integers `lo..=hi`.
    pub fn range(lo: Value, hi: Value, undefined: bool) -> Self {
        Domain { name: None, intervals: vec![(lo, hi)], kind: DomainKind::Range, undefined }
    }

    /// Number of values, undefined not counted; saturates at `u64::MAX`.
    pub fn size(&self) -> u64 {
        self.intervals
            .iter()
            .fold(0u64, |n, &(lo, hi)| n.saturating_add((hi.wrapping_sub(lo) as u64).saturating_add(1)))
    }

    /// The least value.
    pub fn min(&self) -> Value {
        self.intervals.first().map_or(0, |i| i.0)
    }

    /// The greatest value.
    pub fn max(&self) -> Value {
        self.intervals.last().map_or(0, |i| i.1)
    }

    /// Whether `value` belongs to the domain.
    pub fn contains(&self, value: Value) -> bool {
        self.intervals.iter().any(|&(lo, hi)| lo <= value && value <= hi)
    }

    /// The value of the first interval that differs from `value` by a whole multiple of the interval's size.
    pub fn wrap(&self, value: Value) -> Value {
        let Some(&(lo, hi)) = self.intervals.first() else { return value };
        let size = i128::from(hi) - i128::from(lo) + 1;
        let offset = (i128::from(value) - i128::from(lo)).rem_euclid(size);
        // Between `lo` and `hi`, both of 64 bits.
        (i128::from(lo) + offset) as Value
    }

    /// The place of `value` in ascending order, from 0.
    pub fn position(&self, value: Value) -> Option<u64> {
        let mut before = 0u64;
        for &(lo, hi) in &self.intervals {
            if lo <= value && value <= hi {
                return Some(before + value.wrapping_sub(lo) as u64);
            }
            before = before.saturating_add((hi.wrapping_sub(lo) as u64).saturating_add(1));
        }
        None
    }

    /// The value at `position`, the inverse of [`Domain::position`].
    pub fn value_at(&self, position: u64) -> Option<Value> {
        let mut rest = position;
        for &(lo, hi) in &self.intervals {
            let last = hi.wrapping_sub(lo) as u64;
            if rest <= last {
                return Some(lo.wrapping_add(rest as i64));
            }
            rest -= last + 1;
        }
        None
    }

    /// All values, ascending.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.intervals.iter().flat_map(|&(lo, hi)| lo..=hi)
    }

    /// Fewest bits that hold every code.
    pub fn bits(&self) -> u32 {
        let codes = self.size() as u128 + u128::from(self.undefined);
        128 - (codes - 1).leading_zeros()
    }

    /// The packed code of a value (or of undefined), if the domain has it.
    pub fn encode(&self, value: Option<Value>) -> Option<u64> {
        match (value, self.undefined) {
            (None, true) => Some(0),
            (None, false) => None,
            (Some(v), true) => self.position(v).map(|p| p + 1),
            (Some(v), false) => self.position(v),
        }
    }

    /// The value behind a code; undefined, and codes no value has, give `None`.
    pub fn decode(&self, code: u64) -> Option<Value> {
        if self.undefined { code.checked_sub(1).and_then(|p| self.value_at(p)) } else { self.value_at(code) }
    }
}

/// The domains of a system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    list: Vec<Domain>,
}

impl Domains {
    /// Adds a domain (an equal one is shared).
    pub fn add(&mut self, domain: Domain) -> DomainId {
        if let Some(at) = self.list.iter().position(|d| *d == domain) {
            return DomainId(at as u32);
        }
        self.list.push(domain);
        DomainId(self.list.len() as u32 - 1)
    }

    /// All of them with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (DomainId, &Domain)> {
        self.list.iter().enumerate().map(|(i, d)| (DomainId(i as u32), d))
    }

    /// How a value of `domain` is written for people.
    pub fn render(&self, domain: DomainId, value: Option<Value>) -> String {
        let Some(value) = value else { return "undefined".into() };
        let this = &self[domain];
        match &this.kind {
            DomainKind::Bool => if value == 0 { "false" } else { "true" }.into(),
            DomainKind::Range => value.to_string(),
            DomainKind::Enum(names) => this
                .position(value)
                .and_then(|p| names.get(p as usize))
                .cloned()
                .unwrap_or_else(|| value.to_string()),
            DomainKind::Scalarset(id) => match this.position(value) {
                Some(p) => match &this.name {
                    Some(name) => format!("{name}_{}", p + 1),
                    None => format!("scalarset{}_{}", id.0, p + 1),
                },
                None => value.to_string(),
            },
            DomainKind::Union(members) => members
                .iter()
                .find(|&&m| self[m].contains(value))
                .map_or_else(|| value.to_string(), |&m| self.render(m, Some(value))),
        }
    }
}

impl std::ops::Index<DomainId> for Domains {
    type Output = Domain;
    fn index(&self, id: DomainId) -> &Domain {
        &self.list[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_use_the_fewest_bits() {
        let three = Domain::range(5, 7, true);
        assert_eq!(three.bits(), 2);
        assert_eq!(Domain::boolean(false).bits(), 1);
        assert_eq!(Domain::boolean(true).bits(), 2);
        assert_eq!(Domain::range(3, 3, false).bits(), 0);
        assert_eq!(Domain::range(i64::MIN, i64::MAX, false).bits(), 64);
        for value in [None, Some(5), Some(6), Some(7)] {
            assert_eq!(three.decode(three.encode(value).unwrap()), value);
        }
        assert_eq!(three.encode(Some(8)), None);
    }

    #[test]
    fn wrapping_is_what_machine_integers_do() {
        let byte = Domain::range(0, 255, false);
        let short = Domain::range(-32768, 32767, false);
        for value in [0, 1, -1, 255, 256, 257, -255, -256, 70_000, -70_000, i64::MAX, i64::MIN] {
            assert_eq!(byte.wrap(value), i64::from(value as u8));
            assert_eq!(short.wrap(value), i64::from(value as i16));
        }
        assert_eq!(Domain::range(i64::MIN, i64::MAX, false).wrap(-7), -7);
        assert_eq!(Domain::range(5, 7, false).wrap(1), 7);
    }

    #[test]
    fn a_union_numbers_its_intervals_one_after_the_other() {
        let union = Domain {
            name: None,
            intervals: vec![(1, 2), (10, 12)],
            kind: DomainKind::Union(vec![]),
            undefined: false,
        };
        assert_eq!(union.size(), 5);
        let positions: Vec<_> = union.values().map(|v| union.position(v)).collect();
        assert_eq!(positions, (0..5).map(Some).collect::<Vec<_>>());
        assert_eq!(union.value_at(3), Some(11));
        assert!(!union.contains(5));
    }
}
