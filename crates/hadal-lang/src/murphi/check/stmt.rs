//! Statements.

use super::scope::Entity;
use super::{Checker, Returns};
use crate::Diagnostic;
use crate::murphi::ast::{self, Category};
use crate::murphi::hir::{Expr, ExprKind, Place, Stmt, StmtKind, SymbolId, SymbolKind};
use crate::murphi::types::{Type, TypeId};
use hadal_system::Span;

impl Checker<'_> {
    /// Checks statements; those that were refused are left out.
    pub(super) fn stmts(&mut self, written: &[ast::Stmt]) -> Vec<Stmt> {
        let mut stmts = Vec::with_capacity(written.len());
        for stmt in written {
            if let Some(kind) = self.stmt(stmt) {
                stmts.push(Stmt { kind, span: stmt.span });
            }
        }
        stmts
    }

    fn stmt(&mut self, written: &ast::Stmt) -> Option<StmtKind> {
        let span = written.span;
        Some(match &written.kind {
            ast::StmtKind::Assign(to, value) => return self.assign(to, value, span),
            ast::StmtKind::Call(name, arguments) => {
                let (function, arguments) = self.call(name, arguments, span)?;
                StmtKind::Call(function, arguments)
            }
            ast::StmtKind::Clear(place) => {
                let place = self.writable(place, "what is cleared")?;
                if self.types.tell_least_apart(place.ty) {
                    self.diagnostics.push(
                        Diagnostic::warning(span, "clearing a scalarset picks one of its values: they are no longer interchangeable")
                            .label("no symmetry reduction over this scalarset")
                            .help("write `undefine`"),
                    );
                }
                StmtKind::Clear(place)
            }
            ast::StmtKind::Undefine(place) => StmtKind::Undefine(self.writable(place, "what is undefined")?),
            ast::StmtKind::If(branches, otherwise) => {
                let branches = branches
                    .iter()
                    .map(|(condition, body)| {
                        let condition = self.condition(condition, "the condition of `if`");
                        (condition, self.stmts(body))
                    })
                    .collect();
                StmtKind::If(branches, self.stmts(otherwise))
            }
            ast::StmtKind::Switch(subject, arms, otherwise) => self.switch(subject, arms, otherwise),
            ast::StmtKind::For(quantifiers, body) => {
                self.scopes.open();
                let binders = self.binders(quantifiers);
                let body = self.stmts(body);
                self.scopes.close();
                StmtKind::For(binders, body)
            }
            ast::StmtKind::While(condition, body) => {
                let condition = self.condition(condition, "the condition of `while`");
                StmtKind::While(condition, self.stmts(body))
            }
            ast::StmtKind::Alias(aliases, body) => return self.alias_stmt(aliases, body, span),
            ast::StmtKind::Return(value) => return self.return_stmt(value.as_ref(), span),
            ast::StmtKind::Error(message) => StmtKind::Fail(message.clone()),
            ast::StmtKind::PutText(text) => StmtKind::PutText(text.clone()),
            ast::StmtKind::Put(value) => {
                let value = self.expr(value);
                if matches!(value.kind, ExprKind::Call(..)) && !self.types.is_simple(value.ty) {
                    self.error(
                        value.span,
                        "only simple values and variables can be printed",
                        "expected a variable",
                    );
                }
                StmtKind::Put(value)
            }
            ast::StmtKind::Property(category, condition, message) => {
                if *category == Category::Liveness {
                    self.error(
                        span,
                        "`liveness` is a property of the model, not a statement",
                        "expected it among the rules",
                    );
                    return None;
                }
                let condition = self.condition(condition, "the condition");
                StmtKind::Property(*category, condition, message.clone())
            }
            ast::StmtKind::MultisetAdd(element, set) => {
                let element = self.expr(element);
                let set = self.writable_multiset(set)?;
                if let Type::Multiset(_, wanted) = self.types[set.ty]
                    && !self.types.agree(element.ty, wanted)
                {
                    let (found, needed) = (self.types.describe(element.ty), self.types.describe(wanted));
                    self.error(
                        element.span,
                        format!("{found} cannot be added to a multiset of {needed}"),
                        format!("expected {needed}"),
                    );
                }
                StmtKind::MultisetAdd(element, set)
            }
            ast::StmtKind::MultisetRemove(position, set) => {
                let position = self.expr(position);
                let set = self.writable_multiset(set)?;
                let fits = matches!(self.types[position.ty], Type::Position(of) if of == set.ty);
                if !fits && position.ty != TypeId::ERROR {
                    self.error(
                        position.span,
                        "this is not a position in the multiset",
                        "expected a name bound by `choose`",
                    );
                }
                StmtKind::MultisetRemove(position, set)
            }
            ast::StmtKind::MultisetRemovePred(picker) => {
                let pick = self.pick(picker)?;
                if !self.require_writable(&pick.set, "the multiset") {
                    return None;
                }
                StmtKind::MultisetRemovePred(Box::new(pick))
            }
        })
    }

    fn writable_multiset(&mut self, written: &ast::Designator) -> Option<Place> {
        let set = self.multiset(written)?;
        self.require_writable(&set, "the multiset").then_some(set)
    }

    fn assign(&mut self, to: &ast::Designator, value: &ast::Expr, span: Span) -> Option<StmtKind> {
        let to = self.writable(to, "what is assigned to");
        let value = self.expr(value);
        let to = to?;
        if matches!(value.kind, ExprKind::Undefined) {
            return Some(StmtKind::Undefine(to));
        }
        if !self.types.agree(to.ty, value.ty) {
            let (wanted, found) = (self.types.describe(to.ty), self.types.describe(value.ty));
            self.error(span, format!("{found} cannot be assigned to {wanted}"), format!("expected {wanted}"));
            return None;
        }
        Some(StmtKind::Assign(to, value))
    }

    fn switch(
        &mut self,
        subject: &ast::Expr,
        arms: &[(Vec<ast::Expr>, Vec<ast::Stmt>)],
        otherwise: &[ast::Stmt],
    ) -> StmtKind {
        let subject = self.expr(subject);
        if !self.types.is_simple(subject.ty) || subject.ty == TypeId::UNDEFINED {
            let described = self.types.describe(subject.ty);
            self.error(
                subject.span,
                format!("`switch` chooses by a simple value, not by {described}"),
                "expected a simple value",
            );
        }
        let mut checked = Vec::with_capacity(arms.len());
        for (values, body) in arms {
            let values: Vec<Expr> = values.iter().map(|v| self.expr(v)).collect();
            for value in &values {
                if !self.types.agree(subject.ty, value.ty) {
                    let (found, wanted) = (self.types.describe(value.ty), self.types.describe(subject.ty));
                    self.error(
                        value.span,
                        format!("this case is {found}, the switch is over {wanted}"),
                        format!("expected {wanted}"),
                    );
                }
            }
            checked.push((values, self.stmts(body)));
        }
        StmtKind::Switch(subject, checked, self.stmts(otherwise))
    }

    /// Aliases nest: each is visible in those after it.
    fn alias_stmt(
        &mut self,
        aliases: &[(ast::Name, ast::Expr)],
        body: &[ast::Stmt],
        span: Span,
    ) -> Option<StmtKind> {
        self.scopes.open();
        let bound: Vec<_> = aliases.iter().filter_map(|(name, value)| self.alias(name, value)).collect();
        let mut body = self.stmts(body);
        self.scopes.close();
        let mut outermost = None;
        for (symbol, value) in bound.into_iter().rev() {
            if let Some(inner) = outermost.take() {
                body = vec![Stmt { kind: inner, span }];
            }
            outermost = Some(StmtKind::Alias(symbol, value, std::mem::take(&mut body)));
        }
        // Without anything bound at run time the body stands alone; a conditional that is always true holds it together.
        Some(outermost.unwrap_or_else(|| {
            let always = Expr { kind: ExprKind::Const(1), ty: TypeId::BOOLEAN, span };
            StmtKind::If(vec![(always, body)], Vec::new())
        }))
    }

    /// Declares an alias; `None` where it stands for a constant (or for a mistake) and nothing is bound.
    pub(super) fn alias(&mut self, name: &ast::Name, value: &ast::Expr) -> Option<(SymbolId, Expr)> {
        let value = self.expr(value);
        let (kind, writable) = match &value.kind {
            ExprKind::Const(constant) => {
                self.declare(name, Entity::Constant(value.ty, *constant));
                return None;
            }
            ExprKind::Error => {
                self.declare(name, Entity::Broken);
                return None;
            }
            ExprKind::Place(place) => {
                (SymbolKind::AliasOfPlace, self.symbols[place.base.0 as usize].writable)
            }
            ExprKind::Undefined => {
                self.error(value.span, "`undefined` cannot be given a name", "expected a variable or value");
                self.declare(name, Entity::Broken);
                return None;
            }
            _ => (SymbolKind::AliasOfValue, false),
        };
        let symbol = self.symbol(name, value.ty, kind, writable);
        self.declare(name, Entity::Symbol(symbol));
        Some((symbol, value))
    }

    fn return_stmt(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<StmtKind> {
        let value = value.map(|v| self.expr(v));
        match (self.returns, &value) {
            (Returns::Nothing, Some(value)) => {
                self.error(value.span, "nothing can be returned from here", "expected `return` alone");
                return None;
            }
            (Returns::Value(_), None) => {
                self.error(span, "this function returns a value", "expected a value after `return`");
                return None;
            }
            (Returns::Value(wanted), Some(value)) if !self.types.agree(value.ty, wanted) => {
                let (found, needed) = (self.types.describe(value.ty), self.types.describe(wanted));
                self.error(
                    value.span,
                    format!("{found} is returned, the function is {needed}"),
                    format!("expected {needed}"),
                );
                return None;
            }
            _ => {}
        }
        Some(StmtKind::Return(value))
    }
}
