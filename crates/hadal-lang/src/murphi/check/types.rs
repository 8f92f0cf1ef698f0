//! Types as written to types.

use super::Checker;
use super::scope::Entity;
use crate::Diagnostic;
use crate::murphi::ast::{Expr, Name, TypeExpr, TypeKind};
use crate::murphi::hir::Dialect;
use crate::murphi::types::{Type, TypeId, Types};
use hadal_system::Span;
use std::collections::HashSet;

impl Checker<'_> {
    /// The type that stands there; [`TypeId::ERROR`] where it is refused.
    pub(super) fn type_expr(&mut self, written: &TypeExpr) -> TypeId {
        let id = self.type_kind(written);
        if self.types.depth(id) > Types::MAX_DEPTH {
            self.error(
                written.span,
                format!("types nest more than {} deep", Types::MAX_DEPTH),
                "expected a flatter type",
            );
            return TypeId::ERROR;
        }
        id
    }

    /// A type whose values a variable can hold: not too large.
    pub(super) fn storable_type(&mut self, written: &TypeExpr) -> TypeId {
        let id = self.type_expr(written);
        if self.types.is_too_large(id) {
            self.error(
                written.span,
                "this type is too large",
                format!("more than {} scalars", hadal_system::Shapes::MAX_SLOTS),
            );
            return TypeId::ERROR;
        }
        id
    }

    fn type_kind(&mut self, written: &TypeExpr) -> TypeId {
        match &written.kind {
            TypeKind::Boolean => TypeId::BOOLEAN,
            TypeKind::Refused => TypeId::ERROR,
            TypeKind::Named(name) => self.named_type(name),
            TypeKind::Range(low, high) => self.range(low, high, written.span),
            TypeKind::Enum(members) => self.enumeration(members, written.span),
            TypeKind::Scalarset(size) => match self.positive(size, "the size of a scalarset") {
                Some(size) => self.types.add_scalarset(size).unwrap_or(TypeId::ERROR),
                None => TypeId::ERROR,
            },
            TypeKind::Union(members) => self.union(members, written.span),
            TypeKind::Record(fields) => {
                let mut seen: HashSet<&str> = HashSet::new();
                let mut list = Vec::new();
                for (names, ty) in fields {
                    let ty = self.type_expr(ty);
                    for name in names {
                        if !seen.insert(&name.text) {
                            self.error(
                                name.span,
                                format!("the record has two fields called `{}`", name.text),
                                "expected another name",
                            );
                        } else {
                            list.push((name.text.clone(), ty));
                        }
                    }
                }
                self.types.add(Type::Record(list))
            }
            TypeKind::Array(index, element) => {
                let index_type = self.type_expr(index);
                let element = self.type_expr(element);
                if !self.types.is_simple(index_type) {
                    let described = self.types.describe(index_type);
                    self.error(
                        index.span,
                        format!("an array cannot be indexed by {described}"),
                        "expected a range, enumeration, scalarset, union or boolean",
                    );
                    return TypeId::ERROR;
                }
                if index_type == TypeId::ERROR || element == TypeId::ERROR {
                    return TypeId::ERROR;
                }
                self.types.add(Type::Array(index_type, element))
            }
            TypeKind::Multiset(capacity, element) => {
                self.dialect = Dialect::Copying;
                let capacity = self.positive(capacity, "the capacity of a multiset");
                let element = self.type_expr(element);
                match capacity {
                    Some(capacity) if element != TypeId::ERROR => {
                        self.types.add(Type::Multiset(capacity, element))
                    }
                    _ => TypeId::ERROR,
                }
            }
        }
    }

    fn named_type(&mut self, name: &Name) -> TypeId {
        match self.lookup(name, "type", |e| matches!(e, Entity::Type(_))) {
            Entity::Type(id) => id,
            Entity::Broken => TypeId::ERROR,
            other => {
                self.error(
                    name.span,
                    format!("`{}` is {}, not a type", name.text, other.describe()),
                    "expected a type",
                );
                TypeId::ERROR
            }
        }
    }

    fn range(&mut self, low: &Expr, high: &Expr, span: Span) -> TypeId {
        let (low, high) =
            (self.constant_integer(low, "the lower bound"), self.constant_integer(high, "the upper bound"));
        let (Some(low), Some(high)) = (low, high) else { return TypeId::ERROR };
        if high < low {
            self.error(span, format!("the range {low} .. {high} is empty"), "expected the lower bound first");
            return TypeId::ERROR;
        }
        if i128::from(high) - i128::from(low) > i128::from(u64::MAX) - 2 {
            self.error(span, "this range is too wide", "with undefined, its values need more than 64 bits");
            return TypeId::ERROR;
        }
        self.types.add(Type::Range(low, high))
    }

    fn enumeration(&mut self, members: &[Name], span: Span) -> TypeId {
        if members.is_empty() {
            self.error(span, "this enumeration has no members", "expected at least one name");
            return TypeId::ERROR;
        }
        let names = members.iter().map(|m| m.text.clone()).collect();
        let Some(id) = self.types.add_enum(names) else { return TypeId::ERROR };
        let Type::Enum(set) = self.types[id] else { return id };
        let first = self.types.named_sets[set].first;
        for (name, value) in members.iter().zip(first..) {
            self.declare(name, Entity::Constant(id, value));
        }
        id
    }

    fn union(&mut self, written: &[TypeExpr], span: Span) -> TypeId {
        self.dialect = Dialect::Copying;
        let mut members = Vec::new();
        for member in written {
            let id = self.type_expr(member);
            if id == TypeId::ERROR {
                return TypeId::ERROR;
            }
            if !matches!(self.types[id], Type::Enum(_) | Type::Scalarset(_) | Type::Boolean) {
                let described = self.types.describe(id);
                self.error(
                    member.span,
                    format!("{described} cannot be part of a union"),
                    "expected an enumeration or scalarset",
                );
                return TypeId::ERROR;
            }
            if members.contains(&id) {
                self.error(member.span, "this type is in the union already", "expected another type");
            } else {
                members.push(id);
            }
        }
        if members.is_empty() {
            self.error(span, "this union has no members", "expected enumerations and scalarsets");
            return TypeId::ERROR;
        }
        members.sort_by_key(|m| match self.types[*m] {
            Type::Enum(set) | Type::Scalarset(set) => self.types.named_sets[set].first,
            _ => 0,
        });
        self.types.add(Type::Union(members))
    }

    fn positive(&mut self, size: &Expr, what: &str) -> Option<i64> {
        let value = self.constant_integer(size, what)?;
        if value < 1 {
            self.report(
                Diagnostic::error(size.span, format!("{what} must be at least 1, not {value}"))
                    .label("expected a positive number"),
            );
            return None;
        }
        Some(value)
    }
}
