//! The rules for expressions, places and statements.

use super::{Check, Code};
use crate::expr::{Base, Expr, ExprKind, Place, Range, Step};
use crate::shape::{Shape, ShapeId};
use crate::source::Span;
use crate::space::PropertyKind;
use crate::stmt::{Argument, PrintItem, Stmt, StmtKind};
use crate::system::{FunctionId, LocalId, LocalKind, PropertyBody};

impl<'a> Check<'a> {
    pub(super) fn expr(&mut self, code: &mut Code<'a>, expr: &'a Expr) {
        // Expressions may be as deep as their text is long.
        stacker::maybe_grow(64 << 10, 1 << 20, || self.expr_here(code, expr));
    }

    fn expr_here(&mut self, code: &mut Code<'a>, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Const(_) => {}
            ExprKind::Read(place) => {
                self.place(code, place);
                self.scalar(place, "only a scalar can be read");
            }
            ExprKind::IsUndefined(place) => self.place(code, place),
            ExprKind::Unary(_, of) => self.expr(code, of),
            ExprKind::Binary(_, left, right) => {
                self.expr(code, left);
                self.expr(code, right);
            }
            ExprKind::If(condition, yes, no) => {
                self.expr(code, condition);
                self.expr(code, yes);
                self.expr(code, no);
            }
            ExprKind::Quantified { local, range, body, .. } => {
                self.range(code, range, expr.span);
                self.bound_local(code, *local, expr.span);
                self.expr(code, body);
            }
            ExprKind::Same(left, right) => {
                self.place(code, left);
                self.place(code, right);
                self.same_slots(left.shape, right.shape, expr.span);
            }
            ExprKind::Call(id, arguments) => {
                self.call(code, *id, arguments, expr.span);
                let function = self.system.functions.get(id.0 as usize);
                if function.is_some_and(|f| f.result.is_none()) {
                    self.problem(expr.span, "a procedure has no value");
                }
            }
            ExprKind::InDomain(of, domain) | ExprKind::Wrap(of, domain) => {
                self.expr(code, of);
                if !self.has_domain(*domain) {
                    self.problem(expr.span, "the domain does not exist");
                } else if matches!(expr.kind, ExprKind::Wrap(..))
                    && self.system.domains[*domain].intervals.len() != 1
                {
                    self.problem(expr.span, "a number wraps around in one interval only");
                }
            }
        }
    }

    fn range(&mut self, code: &mut Code<'a>, range: &'a Range, span: Span) {
        match range {
            Range::Domain(id) => {
                if !self.has_domain(*id) {
                    self.problem(span, "the domain of the range does not exist");
                }
            }
            Range::Steps { from, to, by } => {
                self.expr(code, from);
                self.expr(code, to);
                self.expr(code, by);
            }
        }
    }

    fn bound_local(&mut self, code: &Code<'a>, local: LocalId, span: Span) {
        if code.locals.get(local.0 as usize).is_none_or(|l| l.kind != LocalKind::Bound) {
            self.problem(span, "what a loop or quantifier binds must be a bound local");
        }
    }

    /// Looks at a place: its base, its steps, and whether its shape is what they lead to.
    fn place(&mut self, code: &mut Code<'a>, place: &'a Place) {
        let base = match place.base {
            Base::Global(var) => self.system.variables.get(var.0 as usize).map(|v| v.shape),
            Base::Local(local) => code.locals.get(local.0 as usize).map(|l| l.shape),
        };
        if let Base::Local(local) = place.base
            && let Some(it) = code.locals.get(local.0 as usize)
            && it.kind == LocalKind::Reference
            && !code.bound[local.0 as usize]
        {
            self.problem(place.span, format!("reference `{}` is not bound here", it.name));
        }
        let mut shape = base.filter(|&s| self.has_shape(s));
        if shape.is_none() {
            self.problem(place.span, "the base of the place does not exist");
        }
        for step in &place.steps {
            if let Step::Index(index) = step {
                self.expr(code, index);
            }
            shape = match (step, shape.map(|s| &self.system.shapes[s])) {
                (_, None) => None,
                (Step::Field(n), Some(Shape::Record(fields))) if *n < fields.len() => Some(fields[*n].shape),
                (Step::Index(_), Some(Shape::Array { element, .. } | Shape::Multiset { element, .. })) => {
                    Some(*element)
                }
                (_, Some(_)) => {
                    self.problem(place.span, "a step does not fit what it is taken from");
                    None
                }
            };
        }
        if !self.has_shape(place.shape) {
            self.problem(place.span, "the shape of the place does not exist");
        } else if shape.is_some_and(|s| s != place.shape) {
            self.problem(place.span, "the steps lead to another shape than the place says");
        }
    }

    fn scalar(&mut self, place: &Place, what: &str) {
        if self.has_shape(place.shape) && self.system.shapes.scalar(place.shape).is_none() {
            self.problem(place.span, what);
        }
    }

    /// A place that is written: bound locals never are.
    fn target(&mut self, code: &mut Code<'a>, place: &'a Place) {
        self.place(code, place);
        if let Base::Local(local) = place.base
            && let Some(it) = code.locals.get(local.0 as usize)
            && it.kind == LocalKind::Bound
        {
            self.problem(place.span, format!("bound local `{}` is written", it.name));
        }
    }

    fn same_slots(&mut self, left: ShapeId, right: ShapeId, span: Span) {
        if self.has_shape(left)
            && self.has_shape(right)
            && self.system.shapes.slots(left) != self.system.shapes.slots(right)
        {
            self.problem(span, "the two places have different numbers of scalars");
        }
    }

    fn call(&mut self, code: &mut Code<'a>, id: FunctionId, arguments: &'a [Argument], span: Span) {
        for argument in arguments {
            match argument {
                Argument::Value(expr) => self.expr(code, expr),
                Argument::Copy(place) => self.place(code, place),
                Argument::Reference(place) => self.place(code, place),
            }
        }
        let Some(function) = self.system.functions.get(id.0 as usize) else {
            self.problem(span, "the function does not exist");
            return;
        };
        if arguments.len() != function.parameters {
            self.problem(span, format!("`{}` takes {} arguments", function.name, function.parameters));
            return;
        }
        for (argument, parameter) in arguments.iter().zip(&function.locals) {
            if !self.has_shape(parameter.shape) {
                continue;
            }
            match (argument, parameter.kind) {
                (Argument::Value(_), LocalKind::Variable) => {
                    if self.system.shapes.scalar(parameter.shape).is_none() {
                        self.problem(span, format!("parameter `{}` is no scalar", parameter.name));
                    }
                }
                (Argument::Copy(place), LocalKind::Variable) => {
                    self.same_slots(place.shape, parameter.shape, place.span);
                }
                (Argument::Reference(place), LocalKind::Reference) => {
                    if place.shape != parameter.shape {
                        self.problem(
                            place.span,
                            format!("reference `{}` has another shape than what is passed", parameter.name),
                        );
                    }
                }
                _ => self.problem(span, format!("wrong kind of argument for `{}`", parameter.name)),
            }
        }
    }

    pub(super) fn stmts(&mut self, code: &mut Code<'a>, stmts: &'a [Stmt]) {
        for stmt in stmts {
            stacker::maybe_grow(64 << 10, 1 << 20, || self.stmt(code, stmt));
        }
    }

    fn stmt(&mut self, code: &mut Code<'a>, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Assign(to, value) => {
                self.target(code, to);
                self.scalar(to, "only a scalar can be assigned a value");
                self.expr(code, value);
            }
            StmtKind::Copy { to, from } => {
                self.target(code, to);
                self.place(code, from);
                self.same_slots(to.shape, from.shape, stmt.span);
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.target(code, place),
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(code, condition);
                    self.stmts(code, body);
                }
                self.stmts(code, otherwise);
            }
            StmtKind::Switch { subject, arms, otherwise } => {
                self.expr(code, subject);
                for arm in arms {
                    for value in &arm.values {
                        self.expr(code, value);
                    }
                    self.stmts(code, &arm.body);
                }
                self.stmts(code, otherwise);
            }
            StmtKind::For { local, range, body } => {
                self.range(code, range, stmt.span);
                self.bound_local(code, *local, stmt.span);
                self.stmts(code, body);
            }
            StmtKind::While(condition, body) => {
                self.expr(code, condition);
                self.stmts(code, body);
            }
            StmtKind::Call(id, arguments) => self.call(code, *id, arguments, stmt.span),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.expr(code, value);
                }
                let wanted = code.result.is_some_and(|result| result.is_some());
                if value.is_some() != wanted {
                    self.problem(stmt.span, "a return has a value exactly where there is a result");
                }
            }
            StmtKind::Bind { local, place, body } => {
                self.place(code, place);
                if self.can_bind(code, *local, place, stmt.span) {
                    let at = local.0 as usize;
                    let before = std::mem::replace(&mut code.bound[at], true);
                    self.stmts(code, body);
                    code.bound[at] = before;
                }
            }
            StmtKind::Check { condition, .. } => self.expr(code, condition),
            StmtKind::Fail(_) => {}
            StmtKind::Cover(property, condition) => {
                self.expr(code, condition);
                let counted = self.system.properties.get(*property).is_some_and(|p| {
                    p.kind == PropertyKind::Cover && p.body == PropertyBody::Statements && p.params.is_empty()
                });
                if !counted {
                    self.problem(
                        stmt.span,
                        "a cover statement counts for a cover property without parameters",
                    );
                }
            }
            StmtKind::Print(items) => {
                for item in items {
                    match item {
                        PrintItem::Text(_) => {}
                        PrintItem::Value(value, domain) => {
                            self.expr(code, value);
                            if domain.is_some_and(|d| !self.has_domain(d)) {
                                self.problem(stmt.span, "the domain does not exist");
                            }
                        }
                        PrintItem::Whole(place) => self.place(code, place),
                    }
                }
            }
        }
    }

    /// Whether a local is one that can be bound to a place.
    fn can_bind(&mut self, code: &Code<'a>, local: LocalId, place: &Place, span: Span) -> bool {
        let local = code.locals.get(local.0 as usize);
        let Some(reference) = local.filter(|l| l.kind == LocalKind::Reference) else {
            self.problem(span, "only a reference can be bound to a place");
            return false;
        };
        if reference.shape != place.shape {
            self.problem(span, format!("reference `{}` has another shape than its place", reference.name));
        }
        true
    }
}
