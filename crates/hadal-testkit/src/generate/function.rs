//! Functions, procedures and calls of them. A function calls earlier ones, or itself with a smaller argument (and, now
//! and then, itself without end).

use hadal_system::{
    Argument, BinaryOp, DomainId, Expr, ExprKind, Function, FunctionId, LocalId, LocalKind, Place, Span,
    Stmt, StmtKind,
};

use super::place::{Access, Want};
use super::stmt::is_reference;
use super::{Facts, Generator, Scope};

impl Generator {
    pub(super) fn make_functions(&mut self) {
        for n in 0..self.rng.below(self.size.functions + 1) {
            let id = FunctionId(n as u32);
            let pure = self.rng.chance(50);
            let mut scope = Scope::new(!pure);
            let recursive = self.rng.chance(35);
            let parameters = if recursive { 1 } else { self.rng.below(3) };
            for _ in 0..parameters {
                let by_place = !recursive && self.rng.chance(35);
                let kind = if by_place { LocalKind::Reference } else { LocalKind::Variable };
                // The first two shapes are a boolean and a small range: something to count down.
                let shape = self.shapes[self.rng.below(if recursive { 2 } else { self.shapes.len() })];
                let local = scope.local("a", shape, kind);
                scope.visible.push(local);
                if kind == LocalKind::Variable || !pure {
                    scope.writable.push(local);
                }
            }
            let result = if self.rng.chance(75) {
                Some(self.domains[self.rng.below(self.domains.len())])
            } else {
                None
            };
            scope.returns = Some(result);
            let mut body = Vec::new();
            if recursive {
                body.extend(self.recursion(&scope, id, result));
            }
            self.declare_variables(&mut scope);
            body.extend(self.block(&mut scope, self.size.depth - 1));
            if self.rng.chance(95)
                && let Some(last) = self.return_stmt(&mut scope, 1)
            {
                body.push(Stmt::new(last, Span::default()));
            }
            let locals = scope.locals;
            let span = Span::default();
            self.system.functions.push(Function {
                name: format!("f{n}"),
                parameters,
                locals,
                result,
                body,
                span,
            });
            self.functions.push(Facts { id, pure });
        }
    }

    /// A call of the function itself, for one parameter that is a small number passed by value.
    fn recursion(&mut self, scope: &Scope, id: FunctionId, result: Option<DomainId>) -> Option<Stmt> {
        let shape = scope.locals[0].shape;
        let domain = self.system.shapes.scalar(shape)?;
        let bounds = &self.system.domains[domain];
        if is_reference(&scope.locals[0])
            || self.is_symmetric_domain(domain)
            || bounds.size() > 4
            || bounds.intervals.len() > 1
        {
            return None;
        }
        let (least, greatest) = (bounds.min(), bounds.max());
        let parameter = || Place::local(LocalId(0), shape, Span::default()).read();
        let defined = super::expr::is_defined(&Place::local(LocalId(0), shape, Span::default()));
        let endless = self.rng.chance(25);
        let (condition, argument) = if endless {
            (Expr::binary(BinaryOp::Equal, parameter(), Expr::constant(greatest)), parameter())
        } else {
            let smaller = Expr::binary(BinaryOp::Subtract, parameter(), Expr::constant(1));
            (Expr::binary(BinaryOp::Greater, parameter(), Expr::constant(least)), smaller)
        };
        let arguments = vec![Argument::Value(argument)];
        let call = match result {
            Some(_) if self.rng.chance(70) => {
                StmtKind::Return(Some(Expr::new(ExprKind::Call(id, arguments), Span::default())))
            }
            _ => StmtKind::Call(id, arguments),
        };
        let branch =
            (Expr::binary(BinaryOp::And, defined, condition), vec![Stmt::new(call, Span::default())]);
        let kind = StmtKind::If { branches: vec![branch], otherwise: Vec::new() };
        Some(Stmt::new(kind, Span::default()))
    }

    /// A call of a function with a result in a domain that `fits`, if one can be made here.
    pub(super) fn call(
        &mut self,
        scope: &mut Scope,
        depth: usize,
        fits: impl Fn(DomainId, &Self) -> bool,
    ) -> Option<(FunctionId, Vec<Argument>)> {
        let known: Vec<Facts> = self
            .functions
            .iter()
            .copied()
            .filter(|f| self.system.function(f.id).result.is_some_and(|domain| fits(domain, self)))
            .filter(|f| f.pure || scope.may_write)
            .collect();
        let function = self.rng.pick(&known)?;
        Some((function.id, self.arguments(scope, function, depth)?))
    }

    /// A call of a function without a result.
    pub(super) fn procedure(
        &mut self,
        scope: &mut Scope,
        depth: usize,
    ) -> Option<(FunctionId, Vec<Argument>)> {
        let known: Vec<Facts> = self
            .functions
            .iter()
            .copied()
            .filter(|f| self.system.function(f.id).result.is_none() && (f.pure || scope.may_write))
            .collect();
        let function = self.rng.pick(&known)?;
        Some((function.id, self.arguments(scope, function, depth)?))
    }

    fn arguments(&mut self, scope: &mut Scope, function: Facts, depth: usize) -> Option<Vec<Argument>> {
        let callee = self.system.function(function.id);
        let parameters = callee.locals[..callee.parameters].to_vec();
        let mut arguments = Vec::new();
        for parameter in &parameters {
            let want = Want::Shape(parameter.shape);
            let argument = if is_reference(parameter) {
                let access = if function.pure { Access::Look } else { Access::Write };
                Argument::Reference(self.place(scope, want, access, depth.min(1))?)
            } else {
                match self.system.shapes.scalar(parameter.shape) {
                    Some(domain) if self.rng.chance(80) => {
                        Argument::Value(self.value_for(scope, domain, depth.min(1))?)
                    }
                    _ => Argument::Copy(self.place(scope, want, Access::Look, depth.min(1))?),
                }
            };
            arguments.push(argument);
        }
        Some(arguments)
    }
}
