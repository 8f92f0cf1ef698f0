//! Rules, start states and properties with what stands around them.

use super::Lowering;
use super::expr::{and, constant};
use super::frame::{Frame, Meaning};
use crate::murphi::hir::{Category, Rule, RuleKind, Scope, SymbolId, Values};
use crate::murphi::walk;
use hadal_system::{
    Action, BinaryOp, Expr, LocalId, LocalKind, Param, ParamValues, Place, Property, PropertyBody,
    PropertyKind, Span, Stmt, StmtKind,
};
use std::collections::HashSet;
use std::rc::Rc;

/// The most property instances a model may ask for: each has a name and a verdict.
const MAX_PROPERTIES: u64 = 1 << 20;

/// Something to do at the start of a body.
enum Opening {
    Bind(LocalId, Place),
    Run(Vec<Stmt>),
}

impl Lowering<'_> {
    pub(super) fn rules(&mut self) {
        let model = self.model;
        let priorities = self.priorities();
        let (mut actions, mut starts, mut properties) = (0u64, 0u64, 0u64);
        for rule in &model.rules {
            self.expansions = 0;
            match &rule.kind {
                RuleKind::Rule { guard, body, priority } => {
                    self.frames.push(Frame::default());
                    let (params, present) = self.open_scopes(&rule.scopes);
                    let guard = self.expr(guard);
                    let guard = self.behind_lower_priorities(and(present, guard), *priority, &priorities);
                    let body = self.body(&rule.scopes, body, rule.span);
                    let action = self.action(rule, params, guard, body);
                    self.count_instances(&action.params, &mut actions, u64::from(u32::MAX), rule.span);
                    self.actions.push(action);
                }
                RuleKind::Start(body) => {
                    self.frames.push(Frame::default());
                    let (params, present) = self.open_scopes(&rule.scopes);
                    let body = self.body(&rule.scopes, body, rule.span);
                    let action = self.action(rule, params, present, body);
                    self.count_instances(&action.params, &mut starts, u64::from(u32::MAX), rule.span);
                    self.starts.push(action);
                }
                RuleKind::Property(category, condition) => {
                    self.frames.push(Frame::default());
                    let (params, present) = self.open_scopes(&rule.scopes);
                    let condition = self.expr(condition);
                    let kind = property_kind(*category);
                    let condition = match kind {
                        // Nothing is asked of positions where no element stands.
                        PropertyKind::Invariant | PropertyKind::Assumption
                            if present.as_const().is_none() =>
                        {
                            Expr::binary(BinaryOp::Implies, present, condition)
                        }
                        _ => and(present, condition),
                    };
                    let property = self.property(rule, kind, params, condition);
                    self.count_instances(&property.params, &mut properties, MAX_PROPERTIES, rule.span);
                    self.properties.push(property);
                }
            }
        }
    }

    /// Parameters and aliases around a rule; and what must be true for its parameters to mean anything. Aliases stand
    /// for what they alias.
    pub(super) fn open_scopes(&mut self, scopes: &[Rc<Scope>]) -> (Vec<Param>, Expr) {
        let mut params = Vec::new();
        let mut present = Expr::constant(1);
        for scope in scopes {
            match &**scope {
                Scope::Ruleset(binder) => {
                    let values = match &binder.values {
                        Values::Type(ty) => ParamValues::Domain(self.domain(*ty)),
                        // The checker has made sure that these are constants.
                        Values::Steps(from, to, by) => ParamValues::Steps {
                            from: from.constant().unwrap_or(0),
                            to: to.constant().unwrap_or(0),
                            by: by.constant().unwrap_or(1),
                        },
                    };
                    let local = self.local_for(binder.symbol, LocalKind::Bound);
                    params.push(Param { local, values });
                }
                Scope::Choose(symbol, set) => {
                    let place = self.place(set);
                    let local = self.local_for(*symbol, LocalKind::Bound);
                    let ty = self.model.symbols[symbol.0 as usize].ty;
                    params.push(Param { local, values: ParamValues::Domain(self.domain(ty)) });
                    let position = Place::local(local, self.shape(ty), set.span).read();
                    present = and(present, self.present(&place, position));
                }
                Scope::Alias(symbol, value) => {
                    self.frame().meaning.insert(*symbol, Meaning::Same(Rc::new(value.clone())));
                }
            }
        }
        (params, present)
    }

    /// A body in which the aliases around the rule are bound once, at its start, as far as it uses them.
    fn body(&mut self, scopes: &[Rc<Scope>], body: &[crate::murphi::hir::Stmt], span: Span) -> Vec<Stmt> {
        let used = used_aliases(scopes, body);
        let mut openings = Vec::new();
        for scope in scopes {
            if let Scope::Alias(symbol, value) = &**scope
                && used.contains(symbol)
            {
                let mut before = Vec::new();
                let bound = self.bind_alias(*symbol, value, &mut before);
                openings.push(Opening::Run(before));
                if let Some((local, place)) = bound {
                    openings.push(Opening::Bind(local, place));
                }
            }
        }
        let mut lowered = self.stmts(body);
        for opening in openings.into_iter().rev() {
            lowered = match opening {
                Opening::Bind(local, place) => {
                    vec![Stmt::new(StmtKind::Bind { local, place, body: lowered }, span)]
                }
                Opening::Run(mut before) => {
                    before.extend(lowered);
                    before
                }
            };
        }
        lowered
    }

    fn action(&mut self, rule: &Rule, params: Vec<Param>, guard: Expr, body: Vec<Stmt>) -> Action {
        let frame = self.close_frame();
        Action {
            name: self.rule_name(rule),
            params,
            locals: frame.locals,
            guard,
            body,
            span: rule.span,
            ..Action::default()
        }
    }

    fn rule_name(&self, rule: &Rule) -> String {
        let what = match rule.kind {
            RuleKind::Rule { .. } => "rule",
            RuleKind::Start(_) => "start",
            RuleKind::Property(Category::Assertion, _) => "invariant",
            RuleKind::Property(Category::Assumption, _) => "assumption",
            RuleKind::Property(Category::Cover, _) => "cover",
            RuleKind::Property(Category::Liveness, _) => "liveness",
        };
        match rule.name.as_deref() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("{what} at line {}", self.line(rule.span)),
        }
    }

    fn property(&mut self, rule: &Rule, kind: PropertyKind, params: Vec<Param>, condition: Expr) -> Property {
        let frame = self.close_frame();
        Property {
            name: self.rule_name(rule),
            kind,
            params,
            locals: frame.locals,
            body: PropertyBody::State(condition),
            span: rule.span,
        }
    }

    /// Adds the instances of `params` to `total`; more than `limit` are refused, once.
    fn count_instances(&mut self, params: &[Param], total: &mut u64, limit: u64, span: Span) {
        let count = params.iter().fold(1u64, |n, p| n.saturating_mul(p.values.count(&self.domains)));
        let before = *total;
        *total = total.saturating_add(count);
        if *total > limit && before <= limit {
            self.error(span, "too many instances", format!("with this, the model has more than {limit}"));
        }
    }

    /// A constant true at a span.
    pub(super) fn always(span: Span) -> Expr {
        constant(1, span)
    }
}

fn property_kind(category: Category) -> PropertyKind {
    match category {
        Category::Assertion => PropertyKind::Invariant,
        Category::Assumption => PropertyKind::Assumption,
        Category::Cover => PropertyKind::Cover,
        Category::Liveness => PropertyKind::Liveness,
    }
}

/// The aliases among `scopes` that a body uses, directly or through another alias.
fn used_aliases(scopes: &[Rc<Scope>], body: &[crate::murphi::hir::Stmt]) -> HashSet<SymbolId> {
    let mut used = HashSet::new();
    walk::symbols_of_stmts(body, &mut |symbol| {
        used.insert(symbol);
    });
    for scope in scopes.iter().rev() {
        if let Scope::Alias(symbol, value) = &**scope
            && used.contains(symbol)
        {
            walk::symbols_of_expr(value, &mut |s| {
                used.insert(s);
            });
        }
    }
    used
}
