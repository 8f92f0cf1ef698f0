//! The permutable elements of a system: which scalarsets there are, and where their elements stand in domains.
//!
//! Elements of all scalarsets are numbered in one row: scalarset `k` owns `base..base + size`. A domain holds
//! elements in *segments*, stretches of consecutive positions (or codes) that are the elements of one scalarset in
//! order; a plain scalarset has one segment, a union one per scalarset among its members.

use hadal_system::{
    DomainId, DomainKind, ParamValues, PropertyKind, ScalarsetId, Shape, ShapeId, System, Value,
};

/// One scalarset with at least two elements.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// Its id in the system.
    pub id: ScalarsetId,
    /// What to call it.
    pub name: String,
    /// The number of its first element.
    pub base: u16,
    /// How many elements.
    pub size: u16,
}

/// The product of the full permutation groups of the scalarsets.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The scalarsets that occur in the state.
    pub sets: Vec<Set>,
}

/// The elements of one scalarset in consecutive positions or codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Which set, an index into [`Group::sets`].
    pub set: u16,
    /// The first element.
    pub base: u16,
    /// How many.
    pub size: u16,
    /// The position or code of the first.
    pub first: u64,
}

impl Segment {
    /// The element behind a code, if it falls into this segment.
    #[inline]
    pub fn element(&self, code: u64) -> Option<u16> {
        let at = code.wrapping_sub(self.first);
        (at < u64::from(self.size)).then(|| self.base + at as u16)
    }
}

impl Group {
    /// The scalarsets that the state's variables hold or are indexed by.
    ///
    /// A scalarset of one element has nothing to permute. One whose domains disagree about its values (no front end
    /// makes such) is left alone, which is sound: fewer states are merged.
    pub fn of(system: &System) -> Group {
        let mut used = vec![false; system.domains.iter().count()];
        for variable in &system.variables {
            mark_domains(system, variable.shape, &mut used);
        }
        let mut ids: Vec<ScalarsetId> = Vec::new();
        for (id, _) in system.domains.iter().filter(|(id, _)| used[id.0 as usize]) {
            scalarsets_of(system, id, &mut |set, _| {
                if !ids.contains(&set) {
                    ids.push(set);
                }
            });
        }
        let singled_out = singled_out(system);
        ids.retain(|id| !singled_out.contains(id));
        ids.sort();
        let mut sets = Vec::new();
        let mut base = 0u16;
        for id in ids {
            let Some((name, size)) = agreed_values(system, id) else { continue };
            let Some(end) = base.checked_add(size).filter(|_| size > 1) else { continue };
            sets.push(Set { id, name, base, size });
            base = end;
        }
        Group { sets }
    }

    /// How many elements all scalarsets have together.
    pub fn elements(&self) -> usize {
        self.sets.last().map_or(0, |set| usize::from(set.base) + usize::from(set.size))
    }

    /// Where the positions of `domain` are elements of scalarsets, ascending.
    pub fn positions(&self, system: &System, domain: DomainId) -> Vec<Segment> {
        let mut segments = Vec::new();
        let outer = &system.domains[domain];
        scalarsets_of(system, domain, &mut |id, values| {
            let set = self.sets.iter().position(|set| set.id == id);
            let first = values.first().and_then(|&value| outer.position(value));
            if let (Some(at), Some(first)) = (set, first) {
                let Set { base, size, .. } = self.sets[at];
                segments.push(Segment { set: at as u16, base, size, first });
            }
        });
        segments.sort_by_key(|segment| segment.first);
        segments
    }

    /// Where the codes of `domain` are elements of scalarsets, ascending.
    pub fn codes(&self, system: &System, domain: DomainId) -> Vec<Segment> {
        let mut segments = self.positions(system, domain);
        for segment in &mut segments {
            segment.first += u64::from(system.domains[domain].undefined);
        }
        segments
    }
}

/// Scalarsets whose elements a cover or liveness property asks about one by one: states that differ in which element is
/// which answer such a question differently, so they must not be merged. Invariants, assumptions and goals ask about
/// all elements at once.
fn singled_out(system: &System) -> Vec<ScalarsetId> {
    let mut ids = Vec::new();
    let one_by_one = |kind| matches!(kind, PropertyKind::Cover | PropertyKind::Liveness);
    for param in system.properties.iter().filter(|p| one_by_one(p.kind)).flat_map(|p| &p.params) {
        if let ParamValues::Domain(domain) = param.values {
            scalarsets_of(system, domain, &mut |id, _| ids.push(id));
        }
    }
    ids
}

/// Marks every domain that scalars below `shape` have or that arrays below it are indexed by.
fn mark_domains(system: &System, shape: ShapeId, used: &mut [bool]) {
    match &system.shapes[shape] {
        Shape::Scalar(domain) => used[domain.0 as usize] = true,
        Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
            used[index.0 as usize] = true;
            mark_domains(system, *element, used);
        }
        Shape::Record(fields) => fields.iter().for_each(|f| mark_domains(system, f.shape, used)),
    }
}

/// Calls `visit` with every scalarset inside a domain and its values in order.
fn scalarsets_of(system: &System, domain: DomainId, visit: &mut dyn FnMut(ScalarsetId, &[Value])) {
    let this = &system.domains[domain];
    match &this.kind {
        // Beyond this size the permutations are hopeless and the list of values is too long to hold.
        DomainKind::Scalarset(id) if this.size() < u64::from(u16::MAX) => {
            visit(*id, &this.values().collect::<Vec<_>>());
        }
        DomainKind::Union(members) => members.iter().for_each(|&m| scalarsets_of(system, m, visit)),
        _ => {}
    }
}

/// Name and size of a scalarset, where all its domains have the same values and unions hold them side by side.
fn agreed_values(system: &System, id: ScalarsetId) -> Option<(String, u16)> {
    let mut agreed: Option<(String, Vec<Value>)> = None;
    let mut sound = true;
    for (at, domain) in system.domains.iter() {
        scalarsets_of(system, at, &mut |found, values| {
            if found != id {
                return;
            }
            let start = values.first().and_then(|&value| domain.position(value));
            let consecutive = start.is_some_and(|start| {
                values.iter().enumerate().all(|(n, &value)| domain.position(value) == Some(start + n as u64))
            });
            sound &= consecutive && agreed.as_ref().is_none_or(|(_, known)| known == values);
            if agreed.is_none() {
                let own =
                    matches!(domain.kind, DomainKind::Scalarset(_)).then(|| domain.name.clone()).flatten();
                agreed = Some((own.unwrap_or_else(|| format!("scalarset{}", id.0)), values.to_vec()));
            }
        });
    }
    let (name, values) = agreed.filter(|_| sound)?;
    Some((name, u16::try_from(values.len()).ok()?))
}
