//! Types to domains and shapes.

use super::Lowering;
use crate::murphi::types::{Type, TypeId};
use hadal_system::{Domain, DomainId, DomainKind, Field, ScalarsetId, Shape, ShapeId, Span, Value};

/// Scalarsets that are told apart get a name per value only up to this size.
const MAX_NAMES: i64 = 1 << 16;

impl Lowering<'_> {
    /// The domain of a simple type.
    pub(super) fn domain(&mut self, ty: TypeId) -> DomainId {
        if let Some(&known) = self.domain_of.get(&ty) {
            return known;
        }
        let types = &self.model.types;
        let name = types.name_of(ty).map(|n| n.to_string());
        let interval = |set: usize| {
            let set = &types.named_sets[set];
            (set.first, set.first + set.size - 1)
        };
        let domain = match &types[ty] {
            Type::Boolean => Domain::boolean(true),
            Type::Range(low, high) => Domain::range(*low, *high, true),
            Type::Enum(set) => {
                let names = types.named_sets[*set].members.iter().map(|m| m.to_string()).collect();
                Domain {
                    name,
                    intervals: vec![interval(*set)],
                    kind: DomainKind::Enum(names),
                    undefined: true,
                }
            }
            Type::Scalarset(at) => {
                let set = &types.named_sets[*at];
                let kind = if !set.told_apart {
                    DomainKind::Scalarset(ScalarsetId(*at as u32))
                } else if set.size <= MAX_NAMES {
                    let base = name.as_deref().unwrap_or("scalarset");
                    DomainKind::Enum((1..=set.size).map(|n| format!("{base}_{n}")).collect())
                } else {
                    DomainKind::Range
                };
                Domain { name, intervals: vec![interval(*at)], kind, undefined: true }
            }
            Type::Union(members) => {
                let members: Vec<DomainId> = members.iter().map(|m| self.domain(*m)).collect();
                let intervals: Vec<(Value, Value)> =
                    members.iter().flat_map(|m| self.domains[*m].intervals.clone()).collect();
                Domain { name, intervals, kind: DomainKind::Union(members), undefined: true }
            }
            Type::Position(set) => {
                let last = match self.model.types[*set] {
                    Type::Multiset(capacity, _) => capacity - 1,
                    _ => 0,
                };
                Domain::range(0, last, false)
            }
            // Numbers that are only passed around: any value of 64 bits.
            _ => Domain::range(Value::MIN, Value::MAX, false),
        };
        let id = self.domains.add(domain);
        self.domain_of.insert(ty, id);
        id
    }

    /// The shape of a type.
    pub(super) fn shape(&mut self, ty: TypeId) -> ShapeId {
        if let Some(&known) = self.shape_of.get(&ty) {
            return known;
        }
        let shape = match self.model.types[ty].clone() {
            Type::Record(fields) => Shape::Record(
                fields
                    .iter()
                    .map(|(name, field)| Field { name: name.to_string(), shape: self.shape(*field) })
                    .collect(),
            ),
            Type::Array(index, element) => {
                Shape::Array { index: self.domain(index), element: self.shape(element) }
            }
            Type::Multiset(capacity, element) => {
                let slots = self.domains.add(Domain::range(0, capacity - 1, false));
                let flag = self.domains.add(Domain::boolean(false));
                let present = self.add_shape(Shape::Scalar(flag));
                let value = self.shape(element);
                let element = self.add_shape(Shape::Record(vec![
                    Field { name: "present".into(), shape: present },
                    Field { name: "value".into(), shape: value },
                ]));
                Shape::Multiset { slots, element }
            }
            _ => Shape::Scalar(self.domain(ty)),
        };
        let id = self.add_shape(shape);
        self.shape_of.insert(ty, id);
        id
    }

    fn add_shape(&mut self, shape: Shape) -> ShapeId {
        match self.shapes.add(shape, &self.domains) {
            Ok(id) => id,
            Err(too_many) => {
                // The checker bounds what variables hold with the same limit, so this is not reached by a model.
                self.error(Span::default(), format!("a type has {too_many}"), "expected a smaller type");
                ShapeId(0)
            }
        }
    }

    /// The shape of the flag that tells whether a multiset's element is there.
    pub(super) fn present_shape(&mut self) -> ShapeId {
        let flag = self.domains.add(Domain::boolean(false));
        self.add_shape(Shape::Scalar(flag))
    }
}
