//! Renumbers the locals of an edge for an action that several edges share.

use hadal_system::timed::{Bound, ClockRef, Reset};
use hadal_system::{Argument, Base, Expr, ExprKind, LocalId, Place, PrintItem, Range, Step, Stmt, StmtKind};

/// Adds `by` to the number of every local.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    pub(super) by: u32,
}

impl Shift {
    fn local(self, local: &mut LocalId) {
        local.0 += self.by;
    }

    pub(super) fn place(self, place: &mut Place) {
        if let Base::Local(local) = &mut place.base {
            self.local(local);
        }
        for step in &mut place.steps {
            if let Step::Index(index) = step {
                self.expr(index);
            }
        }
    }

    fn range(self, range: &mut Range) {
        if let Range::Steps { from, to, by } = range {
            self.expr(from);
            self.expr(to);
            self.expr(by);
        }
    }

    fn arguments(self, arguments: &mut [Argument]) {
        for argument in arguments {
            match argument {
                Argument::Value(expr) => self.expr(expr),
                Argument::Copy(place) | Argument::Reference(place) => self.place(place),
            }
        }
    }

    pub(super) fn expr(self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Const(_) => {}
            ExprKind::Read(place) | ExprKind::IsUndefined(place) => self.place(place),
            ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => self.expr(of),
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::If(condition, yes, no) => {
                self.expr(condition);
                self.expr(yes);
                self.expr(no);
            }
            ExprKind::Quantified { local, range, body, .. } => {
                self.local(local);
                self.range(range);
                self.expr(body);
            }
            ExprKind::Same(left, right) => {
                self.place(left);
                self.place(right);
            }
            ExprKind::Call(_, arguments) => self.arguments(arguments),
        }
    }

    pub(super) fn stmts(self, stmts: &mut [Stmt]) {
        stmts.iter_mut().for_each(|stmt| self.stmt(stmt));
    }

    pub(super) fn stmt(self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Assign(place, expr) => {
                self.place(place);
                self.expr(expr);
            }
            StmtKind::Copy { to, from } => {
                self.place(to);
                self.place(from);
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.place(place),
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(condition);
                    self.stmts(body);
                }
                self.stmts(otherwise);
            }
            StmtKind::Switch { subject, arms, otherwise } => {
                self.expr(subject);
                for arm in arms {
                    arm.values.iter_mut().for_each(|value| self.expr(value));
                    self.stmts(&mut arm.body);
                }
                self.stmts(otherwise);
            }
            StmtKind::For { local, range, body } => {
                self.local(local);
                self.range(range);
                self.stmts(body);
            }
            StmtKind::While(condition, body) => {
                self.expr(condition);
                self.stmts(body);
            }
            StmtKind::Call(_, arguments) => self.arguments(arguments),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.expr(value);
                }
            }
            StmtKind::Bind { local, place, body } => {
                self.local(local);
                self.place(place);
                self.stmts(body);
            }
            StmtKind::Check { condition, .. } | StmtKind::Cover(_, condition) => self.expr(condition),
            StmtKind::Fail(_) => {}
            StmtKind::Print(items) => {
                for item in items {
                    match item {
                        PrintItem::Text(_) => {}
                        PrintItem::Value(expr, _) => self.expr(expr),
                        PrintItem::Whole(place) => self.place(place),
                    }
                }
            }
        }
    }

    fn clock(self, clock: &mut ClockRef) {
        if let ClockRef::Among { index, .. } = clock {
            self.expr(index);
        }
    }

    pub(super) fn bound(self, bound: &mut Bound) {
        if let Some(when) = &mut bound.when {
            self.expr(when);
        }
        self.clock(&mut bound.left);
        self.clock(&mut bound.minus);
        self.expr(&mut bound.value);
    }

    pub(super) fn reset(self, reset: &mut Reset) {
        if let Some(when) = &mut reset.when {
            self.expr(when);
        }
        self.clock(&mut reset.clock);
        self.clock(&mut reset.from);
        self.expr(&mut reset.value);
    }
}
