//! The scalarsets of a system and where they occur.

use crate::domain::{DomainId, DomainKind, ScalarsetId};
use crate::shape::{Shape, ShapeId};
use crate::system::{ActionId, ParamValues, System, VarId};

/// Values that may be permuted, and what changes with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymmetricDomain {
    /// Which scalarset.
    pub id: ScalarsetId,
    /// A name for it: of the first domain that has one.
    pub name: Option<String>,
    /// How many values it has.
    pub size: u64,
    /// Its domains (with and without undefined).
    pub domains: Vec<DomainId>,
    /// Variables with an array indexed by it (or by a union with it).
    pub indexes: Vec<VarId>,
    /// Variables that hold a value of it (or of a union with it).
    pub held_by: Vec<VarId>,
    /// Actions with a parameter over it.
    pub parameters: Vec<ActionId>,
}

/// The scalarsets of the system, by id.
pub fn symmetric_domains(system: &System) -> Vec<SymmetricDomain> {
    let mut all: Vec<SymmetricDomain> = Vec::new();
    for (id, domain) in system.domains.iter() {
        let DomainKind::Scalarset(set) = domain.kind else { continue };
        match all.iter_mut().find(|s| s.id == set) {
            Some(known) => {
                known.domains.push(id);
                known.name = known.name.take().or_else(|| domain.name.clone());
            }
            None => all.push(SymmetricDomain {
                id: set,
                name: domain.name.clone(),
                size: domain.size(),
                domains: vec![id],
                indexes: Vec::new(),
                held_by: Vec::new(),
                parameters: Vec::new(),
            }),
        }
    }
    all.sort_by_key(|s| s.id);
    for set in &mut all {
        for (n, variable) in system.variables.iter().enumerate() {
            let mut use_of = Use { system, set: set.id, indexes: false, holds: false };
            use_of.shape(variable.shape);
            if use_of.indexes {
                set.indexes.push(VarId(n as u32));
            }
            if use_of.holds {
                set.held_by.push(VarId(n as u32));
            }
        }
        for (n, action) in system.actions.iter().enumerate() {
            let over = |values: &ParamValues| match values {
                ParamValues::Domain(id) => covers(system, *id, set.id),
                ParamValues::Steps { .. } => false,
            };
            if action.params.iter().any(|p| over(&p.values)) {
                set.parameters.push(ActionId(n as u32));
            }
        }
    }
    all
}

fn covers(system: &System, domain: DomainId, set: ScalarsetId) -> bool {
    match &system.domains[domain].kind {
        DomainKind::Scalarset(id) => *id == set,
        DomainKind::Union(members) => members.iter().any(|&m| covers(system, m, set)),
        _ => false,
    }
}

struct Use<'a> {
    system: &'a System,
    set: ScalarsetId,
    indexes: bool,
    holds: bool,
}

impl Use<'_> {
    fn shape(&mut self, shape: ShapeId) {
        match &self.system.shapes[shape] {
            Shape::Scalar(domain) => self.holds |= covers(self.system, *domain, self.set),
            Shape::Array { index, element } => {
                self.indexes |= covers(self.system, *index, self.set);
                self.shape(*element);
            }
            Shape::Multiset { element, .. } => self.shape(*element),
            Shape::Record(fields) => fields.iter().for_each(|f| self.shape(f.shape)),
        }
    }
}
