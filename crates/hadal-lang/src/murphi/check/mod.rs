//! Syntax tree to checked model: names, types, constants.
//!
//! Names are visible from their declaration on, as in Rumur, whatever the order of sections. After a mistake the
//! checker goes on with a type that agrees with everything, so that one mistake is one report.

mod call;
mod decl;
mod expr;
mod fold;
mod place;
mod rule;
mod scope;
mod stmt;
mod types;

use super::ast;
use super::hir::{Dialect, Function, Model, Rule, Symbol, SymbolId, SymbolKind};
use super::types::{TypeId, Types};
use crate::text::unknown_constant;
use crate::{Diagnostic, Diagnostics};
use hadal_system::Span;
use scope::Scopes;
use std::rc::Rc;

/// After this many errors no more are reported.
const MAX_ERRORS: usize = 60;

/// Checks a model. `overrides` replace the values of constants declared at the top level.
///
/// The result is meaningful only where no error was reported.
pub fn check(ast: &ast::Model, overrides: &[(String, i64)], diagnostics: &mut Diagnostics) -> Model {
    let mut checker = Checker {
        types: Types::new(),
        symbols: Vec::new(),
        scopes: Scopes::new(),
        variables: Vec::new(),
        functions: Vec::new(),
        rules: Vec::new(),
        around: Vec::new(),
        dialect: Dialect::Strict,
        returns: Returns::Nothing,
        overrides: overrides
            .iter()
            .map(|(name, value)| Override { name, value: *value, used: false })
            .collect(),
        global_constants: Vec::new(),
        state_slots: 0,
        errors: 0,
        diagnostics,
    };
    checker.model(ast);
    Model {
        types: checker.types,
        symbols: checker.symbols,
        variables: checker.variables,
        functions: checker.functions,
        rules: checker.rules,
        dialect: checker.dialect,
    }
}

/// A constant's value from outside.
struct Override<'a> {
    name: &'a str,
    value: i64,
    used: bool,
}

/// What a `return` may give back here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returns {
    /// In a rule, start state or procedure.
    Nothing,
    /// In a function.
    Value(TypeId),
}

struct Checker<'a> {
    types: Types,
    symbols: Vec<Symbol>,
    scopes: Scopes,
    variables: Vec<SymbolId>,
    functions: Vec<Function>,
    rules: Vec<Rule>,
    /// What stands around the rule being checked, outermost first.
    around: Vec<Rc<super::hir::Scope>>,
    dialect: Dialect,
    returns: Returns,
    overrides: Vec<Override<'a>>,
    global_constants: Vec<Rc<str>>,
    state_slots: usize,
    errors: usize,
    diagnostics: &'a mut Diagnostics,
}

impl Checker<'_> {
    fn model(&mut self, ast: &ast::Model) {
        for item in &ast.items {
            match item {
                ast::Item::Decl(decl) => self.decl(decl, decl::Level::Global),
                ast::Item::Function(function) => self.function(function),
                ast::Item::Rule(rule) => self.rule(rule),
            }
        }
        self.report_unused_overrides();
        let has = |f: fn(&Rule) -> bool| self.rules.iter().any(f);
        let starts = has(|r| matches!(r.kind, super::hir::RuleKind::Start(_)));
        let rules = has(|r| matches!(r.kind, super::hir::RuleKind::Rule { .. }));
        if !starts {
            self.diagnostics.push(Diagnostic::warning(
                Span::default(),
                "the model has no start state: nothing is reachable",
            ));
        }
        if !rules {
            self.diagnostics.push(Diagnostic::warning(Span::default(), "the model has no rules"));
        }
    }

    fn report_unused_overrides(&mut self) {
        let unused: Vec<String> =
            self.overrides.iter().filter(|o| !o.used).map(|o| o.name.to_owned()).collect();
        for name in unused {
            let finding = unknown_constant(&name, self.global_constants.iter().map(|c| &**c));
            self.report(finding);
        }
    }

    /// Reports a mistake.
    fn report(&mut self, diagnostic: Diagnostic) {
        self.errors += 1;
        if self.errors <= MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>, label: impl Into<String>) {
        self.report(Diagnostic::error(span, message).label(label));
    }

    /// A new symbol, not yet visible under its name.
    fn symbol(&mut self, name: &ast::Name, ty: TypeId, kind: SymbolKind, writable: bool) -> SymbolId {
        let id = SymbolId(self.symbols.len() as u32);
        self.symbols.push(Symbol { name: name.text.clone(), ty, kind, writable, span: name.span });
        id
    }
}
