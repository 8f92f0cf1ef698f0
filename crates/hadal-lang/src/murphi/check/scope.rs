//! Which name means what, where.

use super::Checker;
use crate::Diagnostic;
use crate::murphi::ast::Name;
use crate::murphi::hir::SymbolId;
use crate::murphi::types::TypeId;
use crate::text::nearest;
use hadal_system::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entity {
    /// A constant or enumeration member.
    Constant(TypeId, i64),
    Type(TypeId),
    Symbol(SymbolId),
    /// Index of a function.
    Function(usize),
    /// Its declaration was refused, or it was reported as unknown: say nothing more about it.
    Broken,
}

impl Entity {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Entity::Constant(..) => "a constant",
            Entity::Type(_) => "a type",
            Entity::Symbol(_) => "a variable",
            Entity::Function(_) => "a function",
            Entity::Broken => "unknown",
        }
    }
}

/// Nested scopes, innermost last.
pub(super) struct Scopes {
    stack: Vec<HashMap<Rc<str>, (Entity, Span)>>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Scopes { stack: vec![HashMap::new()] }
    }

    pub(super) fn open(&mut self) {
        self.stack.push(HashMap::new());
    }

    pub(super) fn close(&mut self) {
        // The outermost scope stays.
        if self.stack.len() > 1 {
            self.stack.pop();
        }
    }

    fn find(&self, name: &str) -> Option<Entity> {
        if name.eq_ignore_ascii_case("true") || name.eq_ignore_ascii_case("false") {
            return Some(Entity::Constant(TypeId::BOOLEAN, i64::from(name.eq_ignore_ascii_case("true"))));
        }
        self.stack.iter().rev().find_map(|scope| scope.get(name).map(|(entity, _)| *entity))
    }

    fn visible(&self) -> impl Iterator<Item = (&str, Entity)> {
        self.stack.iter().rev().flat_map(|scope| scope.iter().map(|(name, (entity, _))| (&**name, *entity)))
    }
}

impl Checker<'_> {
    /// Makes a name visible from here to the end of the innermost scope.
    pub(super) fn declare(&mut self, name: &Name, entity: Entity) {
        if name.text.eq_ignore_ascii_case("true") || name.text.eq_ignore_ascii_case("false") {
            return self.error(
                name.span,
                format!("`{}` cannot be redefined", name.text),
                "expected a name of your own",
            );
        }
        // `Scopes` is never empty.
        let Some(innermost) = self.scopes.stack.last_mut() else { return };
        match innermost.get(&name.text) {
            Some(&(_, before)) if before != name.span => {
                let finding = Diagnostic::error(name.span, format!("`{}` is declared twice", name.text))
                    .label("expected a name that is not in use here");
                self.report(finding);
            }
            _ => {
                innermost.insert(name.text.clone(), (entity, name.span));
            }
        }
    }

    /// What a name means here, if anything.
    pub(super) fn find(&self, name: &str) -> Option<Entity> {
        self.scopes.find(name)
    }

    /// What a name means here; reported, once, where it means nothing. `fits` chooses what is suggested instead.
    pub(super) fn lookup(&mut self, name: &Name, what: &str, fits: impl Fn(Entity) -> bool) -> Entity {
        if let Some(entity) = self.scopes.find(&name.text) {
            return entity;
        }
        let mut known: Vec<&str> = self.scopes.visible().filter(|(_, e)| fits(*e)).map(|(n, _)| n).collect();
        // Hash maps have no order; the suggestion should.
        known.sort_unstable();
        let mut finding = Diagnostic::error(name.span, format!("unknown {what} `{}`", name.text))
            .label(format!("no {what} of this name is declared before this point"));
        if let Some(meant) = nearest(&name.text, known) {
            finding = finding.help(format!("did you mean `{meant}`?"));
        }
        self.report(finding);
        if let Some(innermost) = self.scopes.stack.last_mut() {
            innermost.insert(name.text.clone(), (Entity::Broken, name.span));
        }
        Entity::Broken
    }
}
