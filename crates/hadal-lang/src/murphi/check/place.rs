//! Designators: names with fields and indices.

use super::Checker;
use super::scope::Entity;
use crate::Diagnostic;
use crate::murphi::ast::{Designator, Name, Step as Written};
use crate::murphi::hir::{Dialect, Expr, ExprKind, Place, Step, SymbolKind};
use crate::murphi::types::{Type, TypeId};
use crate::text::nearest;

impl Checker<'_> {
    /// What a designator stands for: a constant or a place.
    pub(super) fn designator(&mut self, written: &Designator) -> Expr {
        let name = &written.base;
        if self.find(&name.text).is_none()
            && name.text.eq_ignore_ascii_case("undefined")
            && written.steps.is_empty()
        {
            self.dialect = Dialect::Copying;
            return Expr { kind: ExprKind::Undefined, ty: TypeId::UNDEFINED, span: written.span };
        }
        let is_value = |e| matches!(e, Entity::Constant(..) | Entity::Symbol(_));
        match self.lookup(name, "variable or constant", is_value) {
            Entity::Broken => {
                // Mistakes in indices are worth a report all the same.
                for step in &written.steps {
                    if let Written::Index(index, _) = step {
                        self.expr(index);
                    }
                }
                Expr::error(written.span)
            }
            Entity::Constant(ty, value) => {
                if let Some(step) = written.steps.first() {
                    let span = match step {
                        Written::Field(field) => field.span,
                        Written::Index(_, span) => *span,
                    };
                    self.error(
                        span,
                        format!("`{}` is a constant and has no parts", name.text),
                        "expected nothing here",
                    );
                    return Expr::error(written.span);
                }
                Expr { kind: ExprKind::Const(value), ty, span: written.span }
            }
            Entity::Symbol(base) => {
                let ty = self.symbols[base.0 as usize].ty;
                let mut place = Place { base, steps: Vec::new(), ty, span: written.span };
                for step in &written.steps {
                    self.step(&mut place, step);
                }
                let ty = place.ty;
                if ty == TypeId::ERROR {
                    return Expr::error(written.span);
                }
                Expr { kind: ExprKind::Place(place), ty, span: written.span }
            }
            other => {
                let mut finding = Diagnostic::error(
                    name.span,
                    format!("`{}` is {}, not a value", name.text, other.describe()),
                )
                .label("expected a variable or constant");
                if matches!(other, Entity::Function(_)) {
                    finding = finding.help("write parentheses after the name to call it");
                }
                self.report(finding);
                Expr::error(written.span)
            }
        }
    }

    fn step(&mut self, place: &mut Place, step: &Written) {
        match step {
            Written::Field(name) => match self.types[place.ty].clone() {
                Type::Error => {}
                Type::Record(fields) => match fields.iter().position(|(field, _)| *field == name.text) {
                    Some(at) => {
                        place.steps.push(Step::Field(at));
                        place.ty = fields[at].1;
                    }
                    None => {
                        self.unknown_field(
                            name,
                            place.ty,
                            &fields.iter().map(|(f, _)| &**f).collect::<Vec<_>>(),
                        );
                        place.ty = TypeId::ERROR;
                    }
                },
                _ => {
                    let described = self.types.describe(place.ty);
                    self.error(
                        name.span,
                        format!("{described} has no fields"),
                        "expected a record before the dot",
                    );
                    place.ty = TypeId::ERROR;
                }
            },
            Written::Index(written, span) => {
                let index = self.expr(written);
                match self.types[place.ty].clone() {
                    Type::Error => {}
                    Type::Array(index_type, element) => {
                        if !self.types.agree(index.ty, index_type) {
                            let (found, wanted) =
                                (self.types.describe(index.ty), self.types.describe(index_type));
                            self.error(
                                written.span,
                                format!("the index is {found}, the array is indexed by {wanted}"),
                                format!("expected {wanted}"),
                            );
                        }
                        place.steps.push(Step::Index(index));
                        place.ty = element;
                    }
                    Type::Multiset(_, element) => {
                        if !matches!(self.types[index.ty], Type::Position(set) if set == place.ty)
                            && index.ty != TypeId::ERROR
                        {
                            let found = self.types.describe(index.ty);
                            self.error(
                                written.span,
                                format!("a multiset cannot be indexed by {found}"),
                                "expected a name bound by `choose` or a multiset operation on this multiset",
                            );
                        }
                        place.steps.push(Step::Element(index));
                        place.ty = element;
                    }
                    _ => {
                        let described = self.types.describe(place.ty);
                        self.error(
                            *span,
                            format!("{described} cannot be indexed"),
                            "expected an array before the bracket",
                        );
                        place.ty = TypeId::ERROR;
                    }
                }
            }
        }
    }

    fn unknown_field(&mut self, name: &Name, record: TypeId, fields: &[&str]) {
        let described = self.types.describe(record);
        let mut finding = Diagnostic::error(name.span, format!("{described} has no field `{}`", name.text))
            .label(if fields.is_empty() {
                "the record has no fields".into()
            } else {
                format!("expected one of: {}", shown(fields))
            });
        if let Some(meant) = nearest(&name.text, fields.iter().copied()) {
            finding = finding.help(format!("did you mean `{meant}`?"));
        }
        self.report(finding);
    }

    /// A place, where the designator is one.
    pub(super) fn place(&mut self, written: &Designator, what: &str) -> Option<Place> {
        let expr = self.designator(written);
        match expr.kind {
            ExprKind::Place(place) => Some(place),
            ExprKind::Error => None,
            _ => {
                self.error(written.span, format!("{what} must be a variable"), "expected a variable");
                None
            }
        }
    }

    /// A place that may be written.
    pub(super) fn writable(&mut self, written: &Designator, what: &str) -> Option<Place> {
        let place = self.place(written, what)?;
        self.require_writable(&place, what).then_some(place)
    }

    pub(super) fn require_writable(&mut self, place: &Place, what: &str) -> bool {
        let symbol = &self.symbols[place.base.0 as usize];
        if symbol.writable {
            return true;
        }
        let (reason, help) = match symbol.kind {
            SymbolKind::Value => ("a parameter passed by value", Some("declare the parameter with `var`")),
            SymbolKind::Bound => ("bound by a loop, quantifier or ruleset", None),
            SymbolKind::AliasOfValue => ("an alias of a value", None),
            SymbolKind::AliasOfPlace => ("an alias of something read-only", None),
            _ => ("read-only", None),
        };
        let mut finding =
            Diagnostic::error(place.span, format!("{what} is read-only: `{}` is {reason}", symbol.name))
                .label("expected something that can be written");
        if let Some(help) = help {
            finding = finding.help(help);
        }
        self.report(finding);
        false
    }
}

fn shown(fields: &[&str]) -> String {
    let mut list = fields.iter().take(8).map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ");
    if fields.len() > 8 {
        list.push_str(", ...");
    }
    list
}
