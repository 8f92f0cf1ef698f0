//! Shapes: how scalars are grouped into arrays, records and multisets.
//!
//! A shape flattens to consecutive *slots*, one per scalar, in declaration order: a record's fields one after
//! the other, an array's elements by ascending index position.

use crate::domain::{DomainId, Domains};

/// Index into [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeId(pub u32);

/// A record's field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: ShapeId,
}

/// How scalars stand together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One scalar.
    Scalar(DomainId),
    /// One element per value of the index domain.
    Array {
        /// What it is indexed by.
        index: DomainId,
        /// Shape of each element.
        element: ShapeId,
    },
    /// Named fields.
    Record(Vec<Field>),
    /// An array whose elements have no order: states that differ only in the order of the elements are equal,
    /// and the stored one is sorted. The element is a record of exactly two fields: `present` (a boolean that is
    /// never undefined) and `value`. An absent element's value is all undefined (or all code 0).
    Multiset {
        /// The slots, `0..=capacity-1`.
        slots: DomainId,
        /// The record of `present` and `value`.
        element: ShapeId,
    },
}

/// The shapes of a system, each with the number of slots it flattens to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    list: Vec<Shape>,
    slots: Vec<usize>,
}

/// A shape would have more scalars than hadal handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {} scalars", Shapes::MAX_SLOTS)]
pub struct TooManySlots;

impl Shapes {
    /// The most scalars one shape may flatten to.
    pub const MAX_SLOTS: usize = 1 << 20;

    /// Adds a shape (an equal one is shared).
    pub fn add(&mut self, shape: Shape, domains: &Domains) -> Result<ShapeId, TooManySlots> {
        if let Some(at) = self.list.iter().position(|s| *s == shape) {
            return Ok(ShapeId(at as u32));
        }
        let slots = match &shape {
            Shape::Scalar(_) => 1,
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                usize::try_from(domains[*index].size()).ok().and_then(|n| n.checked_mul(self.slots(*element)))
            }
            .unwrap_or(usize::MAX),
            Shape::Record(fields) => {
                fields.iter().fold(0usize, |n, f| n.saturating_add(self.slots[f.shape.0 as usize]))
            }
        };
        if slots > Self::MAX_SLOTS {
            return Err(TooManySlots);
        }
        self.list.push(shape);
        self.slots.push(slots);
        Ok(ShapeId(self.list.len() as u32 - 1))
    }

    /// How many scalars the shape flattens to.
    pub fn slots(&self, id: ShapeId) -> usize {
        self.slots[id.0 as usize]
    }

    /// All shapes with their ids; parts come before what is made of them.
    pub fn iter(&self) -> impl Iterator<Item = (ShapeId, &Shape)> {
        self.list.iter().enumerate().map(|(i, s)| (ShapeId(i as u32), s))
    }

    /// The slot offset of a record's field.
    pub fn field_slot(&self, fields: &[Field], field: usize) -> usize {
        fields[..field].iter().map(|f| self.slots(f.shape)).sum()
    }

    /// The domain, where the shape is a scalar.
    pub fn scalar(&self, id: ShapeId) -> Option<DomainId> {
        match self[id] {
            Shape::Scalar(domain) => Some(domain),
            _ => None,
        }
    }

    /// Calls `visit` for every scalar below `shape`, in slot order, with its path name (`path` in front) and domain.
    pub fn for_each_scalar(
        &self,
        domains: &Domains,
        shape: ShapeId,
        path: &str,
        visit: &mut dyn FnMut(&str, DomainId),
    ) {
        match &self[shape] {
            Shape::Scalar(domain) => visit(path, *domain),
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                for value in domains[*index].values() {
                    let name = format!("{path}[{}]", domains.render(*index, Some(value)));
                    self.for_each_scalar(domains, *element, &name, visit);
                }
            }
            Shape::Record(fields) => {
                for field in fields {
                    self.for_each_scalar(domains, field.shape, &format!("{path}.{}", field.name), visit);
                }
            }
        }
    }
}

impl std::ops::Index<ShapeId> for Shapes {
    type Output = Shape;
    fn index(&self, id: ShapeId) -> &Shape {
        &self.list[id.0 as usize]
    }
}
