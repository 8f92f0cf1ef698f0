//! Declarations and functions.

use super::scope::Entity;
use super::{Checker, Returns};
use crate::Diagnostic;
use crate::murphi::ast::{Decl, Function as Written, Name, TypeKind};
use crate::murphi::hir::{Function, SymbolKind};
use crate::murphi::types::{Type, TypeId};
use hadal_system::Shapes;

/// Where a declaration stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// At the top level: variables are part of the state.
    Global,
    /// In a rule or function.
    Local,
}

impl Checker<'_> {
    pub(super) fn decl(&mut self, decl: &Decl, level: Level) {
        match decl {
            Decl::Const(names, value) => {
                let value = self.constant(value, "the value of a constant");
                for name in names {
                    self.const_decl(name, value, level);
                }
            }
            Decl::Type(names, written) => {
                let ty = self.type_expr(written);
                for name in names {
                    if !matches!(written.kind, TypeKind::Named(_)) {
                        self.types.name(ty, &name.text);
                    }
                    self.declare(name, if ty == TypeId::ERROR { Entity::Broken } else { Entity::Type(ty) });
                }
            }
            Decl::Var(names, written) => {
                let ty = self.storable_type(written);
                for name in names {
                    let kind = if level == Level::Global { SymbolKind::Global } else { SymbolKind::Local };
                    let symbol = self.symbol(name, ty, kind, true);
                    self.declare(
                        name,
                        if ty == TypeId::ERROR { Entity::Broken } else { Entity::Symbol(symbol) },
                    );
                    if level == Level::Global {
                        self.variables.push(symbol);
                        self.state_slots = self.state_slots.saturating_add(self.types.slots(ty));
                        let before = self.state_slots.saturating_sub(self.types.slots(ty));
                        if self.state_slots > Shapes::MAX_SLOTS && before <= Shapes::MAX_SLOTS {
                            self.error(
                                name.span,
                                "the state is too large",
                                format!("with this variable it has more than {} scalars", Shapes::MAX_SLOTS),
                            );
                        }
                    }
                }
            }
        }
    }

    fn const_decl(&mut self, name: &Name, constant: Option<(TypeId, i64)>, level: Level) {
        let given = if level == Level::Global {
            self.global_constants.push(name.text.clone());
            self.overrides.iter_mut().find(|o| o.name == &*name.text).map(|o| {
                o.used = true;
                o.value
            })
        } else {
            None
        };
        let entity = match (constant, given) {
            (None, None) => Entity::Broken,
            (None, Some(value)) => Entity::Constant(TypeId::INTEGER, value),
            (Some((ty, value)), None) => Entity::Constant(ty, value),
            (Some((ty, _)), Some(value)) => {
                let fits = match self.types[ty] {
                    Type::Boolean => value == 0 || value == 1,
                    _ => self.types.is_integer(ty),
                };
                if !fits {
                    let described = self.types.describe(ty);
                    self.report(
                        Diagnostic::error(
                            name.span,
                            format!("`{}` is {described} and cannot become {value}", name.text),
                        )
                        .label("overridden on the command line"),
                    );
                }
                Entity::Constant(ty, value)
            }
        };
        self.declare(name, entity);
    }

    pub(super) fn function(&mut self, written: &Written) {
        self.scopes.open();
        // Types of parameters and result see no parameter yet: a parameter may be called like a type.
        let types: Vec<TypeId> = written.parameters.iter().map(|p| self.storable_type(&p.ty)).collect();
        let result = written.result.as_ref().map(|r| self.storable_type(r));
        let mut parameters = Vec::new();
        let mut named = Vec::new();
        for (group, ty) in written.parameters.iter().zip(types) {
            for name in &group.names {
                let kind = if group.by_reference { SymbolKind::Reference } else { SymbolKind::Value };
                let symbol = self.symbol(name, ty, kind, group.by_reference);
                parameters.push(symbol);
                named.push((name, if ty == TypeId::ERROR { Entity::Broken } else { Entity::Symbol(symbol) }));
            }
        }
        let index = self.functions.len();
        self.functions.push(Function {
            name: written.name.text.clone(),
            parameters,
            result,
            body: Vec::new(),
            span: written.span,
        });
        // Visible in its own body, for recursion.
        self.declare(&written.name, Entity::Function(index));
        for (name, entity) in named {
            self.declare(name, entity);
        }
        for decl in &written.decls {
            self.decl(decl, Level::Local);
        }
        self.returns = result.map_or(Returns::Nothing, Returns::Value);
        let body = self.stmts(&written.body);
        self.returns = Returns::Nothing;
        self.functions[index].body = body;
        self.scopes.close();
        self.declare(&written.name, Entity::Function(index));
    }
}
