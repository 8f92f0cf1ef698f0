//! Whether evaluating a condition can change what later parts of it see.

use hadal_system::{
    Argument, Base, Expr, ExprKind, FunctionId, Local, LocalKind, Place, Range, Step, Stmt, StmtKind, System,
};
use std::collections::HashSet;

/// Whether evaluating the expression may call a function that writes more than its own variables.
pub fn calls_writer(system: &System, expr: &Expr) -> bool {
    Calls { system, seen: HashSet::new() }.expr(expr)
}

struct Calls<'a> {
    system: &'a System,
    seen: HashSet<FunctionId>,
}

impl Calls<'_> {
    fn expr(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => false,
            ExprKind::Read(place) | ExprKind::IsUndefined(place) => self.place(place),
            ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => self.expr(of),
            ExprKind::Binary(_, left, right) => self.expr(left) || self.expr(right),
            ExprKind::If(condition, yes, no) => self.expr(condition) || self.expr(yes) || self.expr(no),
            ExprKind::Quantified { range, body, .. } => self.range(range) || self.expr(body),
            ExprKind::Same(left, right) => self.place(left) || self.place(right),
            ExprKind::Call(id, arguments) => self.call(*id, arguments),
        }
    }

    fn place(&mut self, place: &Place) -> bool {
        place.steps.iter().any(|step| matches!(step, Step::Index(index) if self.expr(index)))
    }

    fn range(&mut self, range: &Range) -> bool {
        match range {
            Range::Domain(_) => false,
            Range::Steps { from, to, by } => self.expr(from) || self.expr(to) || self.expr(by),
        }
    }

    fn call(&mut self, id: FunctionId, arguments: &[Argument]) -> bool {
        arguments.iter().any(|argument| match argument {
            Argument::Value(expr) => self.expr(expr),
            Argument::Copy(place) | Argument::Reference(place) => self.place(place),
        }) || self.seen.insert(id) && {
            let function = self.system.function(id);
            function.body.iter().any(|stmt| self.stmt(&function.locals, stmt))
        }
    }

    fn written(&mut self, locals: &[Local], place: &Place) -> bool {
        self.place(place)
            || match place.base {
                Base::Global(_) => true,
                Base::Local(local) => locals[local.0 as usize].kind == LocalKind::Reference,
            }
    }

    fn stmt(&mut self, locals: &[Local], stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Assign(to, value) => self.written(locals, to) || self.expr(value),
            StmtKind::Copy { to, from } => self.written(locals, to) || self.place(from),
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.written(locals, place),
            StmtKind::If { branches, otherwise } => {
                branches.iter().any(|(condition, body)| self.expr(condition) || self.block(locals, body))
                    || self.block(locals, otherwise)
            }
            StmtKind::Switch { subject, arms, otherwise } => {
                self.expr(subject)
                    || arms.iter().any(|arm| {
                        arm.values.iter().any(|value| self.expr(value)) || self.block(locals, &arm.body)
                    })
                    || self.block(locals, otherwise)
            }
            StmtKind::For { range, body, .. } => self.range(range) || self.block(locals, body),
            StmtKind::While(condition, body) => self.expr(condition) || self.block(locals, body),
            StmtKind::Call(id, arguments) => self.call(*id, arguments),
            StmtKind::Return(value) => value.as_ref().is_some_and(|value| self.expr(value)),
            StmtKind::Bind { place, body, .. } => self.place(place) || self.block(locals, body),
            StmtKind::Check { condition, .. } | StmtKind::Cover(_, condition) => self.expr(condition),
            StmtKind::Fail(_) | StmtKind::Print(_) => false,
        }
    }

    fn block(&mut self, locals: &[Local], body: &[Stmt]) -> bool {
        body.iter().any(|stmt| self.stmt(locals, stmt))
    }
}
