//! Statements.

use super::Lowering;
use super::call::Call;
use super::frame::Meaning;
use crate::murphi::hir::{self, Category, Dialect, ExprKind as Kind, StmtKind as Hir, SymbolId};
use hadal_system::{
    Base, CheckKind, Expr, ExprKind, LocalId, LocalKind, Place, PrintItem, Property, PropertyBody,
    PropertyKind, Span, Stmt, StmtKind, SwitchArm,
};

impl Lowering<'_> {
    pub(super) fn stmts(&mut self, stmts: &[hir::Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            self.stmt(stmt, &mut out);
        }
        out
    }

    fn stmt(&mut self, stmt: &hir::Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let kind = match &stmt.kind {
            Hir::Assign(to, value) => return self.assign(to, value, span, out),
            Hir::Call(function, arguments) => {
                return self.call_stmt(Call { function: *function, arguments, span }, out);
            }
            Hir::Clear(place) => StmtKind::Clear(self.place(place)),
            Hir::Undefine(place) => StmtKind::Undefine(self.place(place)),
            Hir::If(branches, otherwise) => return self.if_stmt(branches, otherwise, span, out),
            Hir::Switch(subject, arms, otherwise) => StmtKind::Switch {
                subject: self.expr(subject),
                arms: arms
                    .iter()
                    .map(|(values, body)| SwitchArm {
                        values: values.iter().map(|v| self.expr(v)).collect(),
                        body: self.stmts(body),
                    })
                    .collect(),
                otherwise: self.stmts(otherwise),
            },
            Hir::For(binders, body) => {
                let bound: Vec<_> = binders.iter().map(|b| self.bind(b)).collect();
                let mut body = self.stmts(body);
                for (local, range) in bound.into_iter().rev() {
                    body = vec![Stmt::new(StmtKind::For { local, range, body }, span)];
                }
                out.extend(body);
                return;
            }
            Hir::While(condition, body) => StmtKind::While(self.expr(condition), self.stmts(body)),
            Hir::Alias(symbol, value, body) => match self.bind_alias(*symbol, value, out) {
                Some((local, place)) => StmtKind::Bind { local, place, body: self.stmts(body) },
                None => return out.extend(self.stmts(body)),
            },
            Hir::Return(value) => return self.return_stmt(value.as_ref(), span, out),
            Hir::Fail(message) => StmtKind::Fail(message.clone()),
            Hir::PutText(text) => StmtKind::Print(vec![PrintItem::Text(text.clone())]),
            Hir::Put(value) => StmtKind::Print(vec![self.print_item(value)]),
            Hir::Property(category, condition, message) => {
                self.property_stmt(*category, condition, message.as_deref(), span)
            }
            Hir::MultisetAdd(element, set) => return self.add(element, set, span, out),
            Hir::MultisetRemove(position, set) => return self.remove(position, set, span, out),
            Hir::MultisetRemovePred(pick) => return self.remove_matching(pick, span, out),
        };
        out.push(Stmt::new(kind, span));
    }

    fn assign(&mut self, to: &hir::Place, value: &hir::Expr, span: Span, out: &mut Vec<Stmt>) {
        if !self.model.types.is_simple(to.ty) {
            match &value.kind {
                Kind::Call(function, arguments) => {
                    let to = self.place(to);
                    self.call_into(Call { function: *function, arguments, span }, to, out);
                }
                _ => {
                    let to = self.place(to);
                    let from = self.aggregate(value, out);
                    out.push(Stmt::new(StmtKind::Copy { to, from }, span));
                }
            }
            return;
        }
        let to = self.place(to);
        if self.model.dialect == Dialect::Copying
            && let Some(from) = self.place_that_may_be_undefined(value)
        {
            return self.assign_perhaps_undefined(to, from, span, out);
        }
        let value = self.expr(value);
        out.push(Stmt::new(StmtKind::Assign(to, value), span));
    }

    /// CMurphi's `x := y`, which makes `x` undefined where `y` is.
    fn assign_perhaps_undefined(&mut self, to: Place, from: Place, span: Span, out: &mut Vec<Stmt>) {
        if to.shape == from.shape {
            out.push(Stmt::new(StmtKind::Copy { to, from }, span));
            return;
        }
        let undefined = Expr::new(ExprKind::IsUndefined(Box::new(from.clone())), span);
        let undefine = vec![Stmt::new(StmtKind::Undefine(to.clone()), span)];
        let assign = vec![Stmt::new(StmtKind::Assign(to, from.read()), span)];
        out.push(Stmt::new(StmtKind::If { branches: vec![(undefined, undefine)], otherwise: assign }, span));
    }

    /// Leaves out branches that a constant decides.
    fn if_stmt(
        &mut self,
        branches: &[(hir::Expr, Vec<hir::Stmt>)],
        otherwise: &[hir::Stmt],
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let mut kept = Vec::new();
        for (condition, body) in branches {
            match condition.constant() {
                Some(0) => {}
                Some(_) => {
                    let last = self.stmts(body);
                    return self.push_if(kept, last, span, out);
                }
                None => {
                    let condition = self.expr(condition);
                    kept.push((condition, self.stmts(body)));
                }
            }
        }
        let last = self.stmts(otherwise);
        self.push_if(kept, last, span, out);
    }

    fn push_if(
        &mut self,
        branches: Vec<(Expr, Vec<Stmt>)>,
        otherwise: Vec<Stmt>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        if branches.is_empty() {
            out.extend(otherwise);
        } else {
            out.push(Stmt::new(StmtKind::If { branches, otherwise }, span));
        }
    }

    /// Gives a symbol its meaning as an alias: a reference to bind, or a variable that `out` fills.
    pub(super) fn bind_alias(
        &mut self,
        symbol: SymbolId,
        value: &hir::Expr,
        out: &mut Vec<Stmt>,
    ) -> Option<(LocalId, Place)> {
        if let Kind::Place(place) = &value.kind {
            let place = self.place(place);
            // A bound local has no place of its own to refer to, but it never changes.
            if let Base::Local(local) = place.base
                && self.frame().locals[local.0 as usize].kind == LocalKind::Bound
            {
                self.frame().meaning.insert(symbol, Meaning::Local(local));
                return None;
            }
            let local = self.local_for(symbol, LocalKind::Reference);
            return Some((local, place));
        }
        if self.model.types.is_simple(value.ty) {
            let computed = self.expr(value);
            let local = self.local_for(symbol, LocalKind::Variable);
            let place = Place::local(local, self.shape(value.ty), value.span);
            out.push(Stmt::new(StmtKind::Assign(place, computed), value.span));
        } else if let Kind::Call(function, arguments) = &value.kind {
            let local = self.local_for(symbol, LocalKind::Variable);
            let place = Place::local(local, self.shape(value.ty), value.span);
            self.call_into(Call { function: *function, arguments, span: value.span }, place, out);
        }
        None
    }

    fn return_stmt(&mut self, value: Option<&hir::Expr>, span: Span, out: &mut Vec<Stmt>) {
        let kind = match (value, self.frame().result) {
            (None, _) => StmtKind::Return(None),
            (Some(value), None) => StmtKind::Return(Some(self.expr(value))),
            (Some(value), Some(result)) => {
                let to = Place::local(result, self.shape(value.ty), span);
                if let Kind::Call(function, arguments) = &value.kind {
                    self.call_into(Call { function: *function, arguments, span }, to, out);
                } else {
                    let from = self.aggregate(value, out);
                    out.push(Stmt::new(StmtKind::Copy { to, from }, span));
                }
                StmtKind::Return(None)
            }
        };
        out.push(Stmt::new(kind, span));
    }

    fn print_item(&mut self, value: &hir::Expr) -> PrintItem {
        if !self.model.types.is_simple(value.ty) {
            let mut nothing = Vec::new();
            return PrintItem::Whole(self.aggregate(value, &mut nothing));
        }
        if let Some(place) = self.place_that_may_be_undefined(value) {
            return PrintItem::Whole(place);
        }
        let domain = self.domain(value.ty);
        PrintItem::Value(self.expr(value), Some(domain))
    }

    fn property_stmt(
        &mut self,
        category: Category,
        condition: &hir::Expr,
        message: Option<&str>,
        span: Span,
    ) -> StmtKind {
        let shown = self.shown(condition.span);
        let message = message.filter(|m| !m.is_empty()).map_or(shown, str::to_owned);
        let check = |kind, condition| StmtKind::Check { kind, condition, message: message.clone() };
        let lowered = self.expr(condition);
        match category {
            Category::Assertion | Category::Liveness => check(CheckKind::Assert, lowered),
            Category::Assumption => check(CheckKind::Assume, lowered),
            Category::Cover => {
                self.properties.push(Property {
                    name: message.clone(),
                    kind: PropertyKind::Cover,
                    params: Vec::new(),
                    locals: Vec::new(),
                    body: PropertyBody::Statements,
                    span,
                });
                StmtKind::Cover(self.properties.len() - 1, lowered)
            }
        }
    }
}
