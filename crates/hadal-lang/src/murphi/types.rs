//! The types of a model, each structure stored once: equal structure is equal [`TypeId`].

use hadal_system::Shapes;
use std::collections::HashMap;
use std::rc::Rc;

/// Index into [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

impl TypeId {
    /// Stands in where a mistake was reported; agrees with everything.
    pub const ERROR: TypeId = TypeId(0);
    /// `false` and `true`.
    pub const BOOLEAN: TypeId = TypeId(1);
    /// What numbers and arithmetic give: any integer of 64 bits.
    pub const INTEGER: TypeId = TypeId(2);
    /// The type of the word `undefined`.
    pub const UNDEFINED: TypeId = TypeId(3);
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// See [`TypeId::ERROR`].
    Error,
    /// See [`TypeId::BOOLEAN`].
    Boolean,
    /// See [`TypeId::INTEGER`].
    Integer,
    /// See [`TypeId::UNDEFINED`].
    Undefined,
    /// Integers from the first to the second.
    Range(i64, i64),
    /// Index into [`Types::named_sets`]; its own type wherever it is declared.
    Enum(usize),
    /// Index into [`Types::named_sets`]; its own type wherever it is declared.
    Scalarset(usize),
    /// Enumerations and scalarsets, ascending by value.
    Union(Vec<TypeId>),
    /// Fields in order.
    Record(Vec<(Rc<str>, TypeId)>),
    /// Index, element.
    Array(TypeId, TypeId),
    /// Capacity, element.
    Multiset(i64, TypeId),
    /// A position in a multiset of this type.
    Position(TypeId),
}

/// An enumeration or scalarset. All of a model have disjoint values, so that any may meet in a union.
#[derive(Clone, Debug)]
pub struct NamedSet {
    /// The least value.
    pub first: i64,
    /// How many values.
    pub size: i64,
    /// The members of an enumeration; empty for a scalarset.
    pub members: Vec<Rc<str>>,
    /// Whether the model tells the values of a scalarset apart, so that they may not be permuted.
    pub told_apart: bool,
}

/// All types of a model.
#[derive(Debug)]
pub struct Types {
    list: Vec<Type>,
    ids: HashMap<Type, TypeId>,
    names: HashMap<TypeId, Rc<str>>,
    slots: Vec<usize>,
    depth: Vec<usize>,
    /// Enumerations and scalarsets.
    pub named_sets: Vec<NamedSet>,
    next_value: i64,
}

impl Types {
    /// How deep types may nest in each other.
    pub const MAX_DEPTH: usize = 64;

    /// Only the built-in types.
    pub fn new() -> Self {
        let mut types = Types {
            list: Vec::new(),
            ids: HashMap::new(),
            names: HashMap::new(),
            slots: Vec::new(),
            depth: Vec::new(),
            named_sets: Vec::new(),
            // 0 and 1 are the booleans.
            next_value: 2,
        };
        for built_in in [Type::Error, Type::Boolean, Type::Integer, Type::Undefined] {
            types.add(built_in);
        }
        types
    }

    /// The id of a type.
    pub fn add(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.ids.get(&ty) {
            return id;
        }
        let (slots, depth) = match &ty {
            Type::Record(fields) => fields.iter().fold((0usize, 1), |(n, d), (_, f)| {
                (n.saturating_add(self.slots(*f)), d.max(1 + self.depth(*f)))
            }),
            Type::Array(index, element) => {
                let length = usize::try_from(self.size(*index)).unwrap_or(usize::MAX);
                (length.saturating_mul(self.slots(*element)), 1 + self.depth(*element))
            }
            Type::Multiset(capacity, element) => {
                let length = usize::try_from(*capacity).unwrap_or(0);
                (length.saturating_mul(self.slots(*element).saturating_add(1)), 1 + self.depth(*element))
            }
            _ => (1, 1),
        };
        let id = TypeId(self.list.len() as u32);
        self.list.push(ty.clone());
        self.slots.push(slots);
        self.depth.push(depth);
        self.ids.insert(ty, id);
        id
    }

    /// Adds an enumeration. `None` where the values run out.
    pub fn add_enum(&mut self, members: Vec<Rc<str>>) -> Option<TypeId> {
        let size = i64::try_from(members.len()).ok()?;
        let set = self.add_set(size, members)?;
        Some(self.add(Type::Enum(set)))
    }

    /// Adds a scalarset. `None` where the values run out.
    pub fn add_scalarset(&mut self, size: i64) -> Option<TypeId> {
        let set = self.add_set(size, Vec::new())?;
        Some(self.add(Type::Scalarset(set)))
    }

    fn add_set(&mut self, size: i64, members: Vec<Rc<str>>) -> Option<usize> {
        let first = self.next_value;
        self.next_value = first.checked_add(size)?;
        self.named_sets.push(NamedSet { first, size, members, told_apart: false });
        Some(self.named_sets.len() - 1)
    }

    /// Gives a type the name to show for it; the first stays.
    pub fn name(&mut self, id: TypeId, name: &Rc<str>) {
        if !matches!(
            self[id],
            Type::Error | Type::Boolean | Type::Integer | Type::Undefined | Type::Range(..)
        ) {
            self.names.entry(id).or_insert_with(|| name.clone());
        }
    }

    /// The name the model gives a type.
    pub fn name_of(&self, id: TypeId) -> Option<&Rc<str>> {
        self.names.get(&id)
    }

    /// How many scalars a value of the type has; saturating.
    pub fn slots(&self, id: TypeId) -> usize {
        self.slots[id.0 as usize]
    }

    /// How deep the type nests.
    pub fn depth(&self, id: TypeId) -> usize {
        self.depth[id.0 as usize]
    }

    /// Whether the type has more scalars than hadal handles.
    pub fn is_too_large(&self, id: TypeId) -> bool {
        self.slots(id) > Shapes::MAX_SLOTS
    }

    /// How many values a simple type has; saturating.
    pub fn size(&self, id: TypeId) -> u64 {
        match &self[id] {
            Type::Boolean => 2,
            Type::Range(low, high) => (high.wrapping_sub(*low) as u64).saturating_add(1),
            Type::Enum(set) | Type::Scalarset(set) => self.named_sets[*set].size.unsigned_abs(),
            Type::Union(members) => members.iter().fold(0, |n, m| self.size(*m).saturating_add(n)),
            Type::Multiset(capacity, _) => capacity.unsigned_abs(),
            Type::Position(set) => self.size(*set),
            _ => 1,
        }
    }

    /// Whether a value is one scalar.
    pub fn is_simple(&self, id: TypeId) -> bool {
        !matches!(self[id], Type::Record(_) | Type::Array(..) | Type::Multiset(..))
    }

    /// Whether a value is a number.
    pub fn is_integer(&self, id: TypeId) -> bool {
        matches!(self[id], Type::Integer | Type::Range(..) | Type::Error)
    }

    /// Whether a value is a truth value.
    pub fn is_boolean(&self, id: TypeId) -> bool {
        matches!(self[id], Type::Boolean | Type::Error)
    }

    /// Whether values of the two types can be compared and assigned to each other.
    pub fn agree(&self, a: TypeId, b: TypeId) -> bool {
        if a == b || a == TypeId::ERROR || b == TypeId::ERROR || (self.is_integer(a) && self.is_integer(b)) {
            return true;
        }
        match (&self[a], &self[b]) {
            (Type::Union(left), Type::Union(right)) => left.iter().any(|m| right.contains(m)),
            (Type::Union(members), _) => members.contains(&b),
            (_, Type::Union(members)) => members.contains(&a),
            _ => false,
        }
    }

    /// How to name the type to a person.
    pub fn describe(&self, id: TypeId) -> String {
        if let Some(name) = self.name_of(id) {
            return format!("`{name}`");
        }
        match &self[id] {
            Type::Error => "unknown".into(),
            Type::Boolean => "`boolean`".into(),
            Type::Integer => "a number".into(),
            Type::Undefined => "`undefined`".into(),
            Type::Range(low, high) => format!("`{low} .. {high}`"),
            Type::Enum(_) => "an enumeration".into(),
            Type::Scalarset(_) => "a scalarset".into(),
            Type::Union(_) => "a union".into(),
            Type::Record(_) => "a record".into(),
            Type::Array(..) => "an array".into(),
            Type::Multiset(..) => "a multiset".into(),
            Type::Position(_) => "a position in a multiset".into(),
        }
    }

    /// Notes that the model tells the values of every scalarset below `id` that its least value comes from apart.
    pub fn tell_least_apart(&mut self, id: TypeId) -> bool {
        match self[id].clone() {
            Type::Scalarset(set) => {
                let set = &mut self.named_sets[set];
                let changed = !set.told_apart && set.size > 1;
                set.told_apart = true;
                changed
            }
            Type::Union(members) => members.first().is_some_and(|m| self.tell_least_apart(*m)),
            Type::Record(fields) => fields.iter().fold(false, |any, (_, f)| self.tell_least_apart(*f) | any),
            Type::Array(_, element) => self.tell_least_apart(element),
            _ => false,
        }
    }
}

impl Default for Types {
    fn default() -> Self {
        Self::new()
    }
}

impl std::ops::Index<TypeId> for Types {
    type Output = Type;
    fn index(&self, id: TypeId) -> &Type {
        &self.list[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_structure_is_one_type_and_sets_are_disjoint() {
        let mut types = Types::new();
        let range = types.add(Type::Range(0, 3));
        assert_eq!(types.add(Type::Array(range, range)), types.add(Type::Array(range, range)));
        let a = types.add_enum(vec!["x".into(), "y".into()]).unwrap();
        let b = types.add_scalarset(4).unwrap();
        assert!(!types.agree(a, b));
        let union = types.add(Type::Union(vec![a, b]));
        assert!(types.agree(a, union) && types.agree(union, b));
        assert_eq!(types.size(union), 6);
        assert!(types.named_sets[0].first + types.named_sets[0].size <= types.named_sets[1].first);
    }

    #[test]
    fn sizes_saturate() {
        let mut types = Types::new();
        let huge = types.add(Type::Range(i64::MIN, i64::MAX));
        let array = types.add(Type::Array(huge, TypeId::BOOLEAN));
        let nested = types.add(Type::Array(huge, array));
        assert!(types.is_too_large(array) && types.is_too_large(nested));
    }
}
