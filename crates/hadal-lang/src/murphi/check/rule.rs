//! Rules, start states, properties, and what stands around them.

use super::scope::Entity;
use super::{Checker, decl::Level};
use crate::murphi::ast::{self, RuleKind as Written};
use crate::murphi::hir::{Binder, Expr, ExprKind, Rule, RuleKind, Scope, SymbolKind, Values};
use crate::murphi::types::{Type, TypeId};
use hadal_system::Span;
use std::rc::Rc;

impl Checker<'_> {
    pub(super) fn rule(&mut self, written: &ast::Rule) {
        match &written.kind {
            Written::Rule { priority, name, guard, decls, body } => {
                self.scopes.open();
                let guard = match guard {
                    Some(guard) => self.condition(guard, "the guard"),
                    None => Expr { kind: ExprKind::Const(1), ty: TypeId::BOOLEAN, span: written.span },
                };
                for decl in decls {
                    self.decl(decl, Level::Local);
                }
                let body = self.stmts(body);
                self.scopes.close();
                self.push_rule(name, RuleKind::Rule { guard, body, priority: *priority }, written.span);
            }
            Written::Start { name, decls, body } => {
                self.scopes.open();
                for decl in decls {
                    self.decl(decl, Level::Local);
                }
                let body = self.stmts(body);
                self.scopes.close();
                self.push_rule(name, RuleKind::Start(body), written.span);
            }
            Written::Property { category, name, condition } => {
                let condition = self.condition(condition, "a property");
                self.push_rule(name, RuleKind::Property(*category, condition), written.span);
            }
            Written::Ruleset(quantifiers, rules) => {
                let depth = self.around.len();
                self.scopes.open();
                for quantifier in quantifiers {
                    let binder = self.binder(quantifier);
                    self.require_constant_values(&binder, quantifier.span);
                    self.around.push(Rc::new(Scope::Ruleset(binder)));
                }
                self.rules_within(rules, depth);
            }
            Written::Alias(aliases, rules) => {
                let depth = self.around.len();
                self.scopes.open();
                for (name, value) in aliases {
                    if let Some((symbol, value)) = self.alias(name, value) {
                        self.around.push(Rc::new(Scope::Alias(symbol, value)));
                    }
                }
                self.rules_within(rules, depth);
            }
            Written::Choose(name, set, rules) => {
                let depth = self.around.len();
                let set = self.multiset(set);
                self.scopes.open();
                match set {
                    Some(set) => {
                        let ty = self.types.add(Type::Position(set.ty));
                        let symbol = self.symbol(name, ty, SymbolKind::Bound, false);
                        self.declare(name, Entity::Symbol(symbol));
                        self.around.push(Rc::new(Scope::Choose(symbol, set)));
                    }
                    None => self.declare(name, Entity::Broken),
                }
                self.rules_within(rules, depth);
            }
        }
    }

    /// Checks the rules of a group, then leaves its scope: `around` goes back to `depth`.
    fn rules_within(&mut self, rules: &[ast::Rule], depth: usize) {
        for rule in rules {
            self.rule(rule);
        }
        self.scopes.close();
        self.around.truncate(depth);
    }

    fn push_rule(&mut self, name: &Option<String>, kind: RuleKind, span: Span) {
        self.rules.push(Rule { name: name.clone(), scopes: self.around.clone(), kind, span });
    }

    fn require_constant_values(&mut self, binder: &Binder, span: Span) {
        if let Values::Steps(from, to, by) = &binder.values {
            let open =
                [from, to, by].iter().any(|e| e.constant().is_none() && !matches!(e.kind, ExprKind::Error));
            if open {
                self.error(
                    span,
                    "the values of a ruleset must be constants",
                    "expected values known before the search",
                );
            }
        }
    }
}
