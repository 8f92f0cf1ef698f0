//! Functions, calls, and functions made for expressions that need statements.

use super::Lowering;
use super::frame::{Frame, Meaning};
use crate::murphi::hir::{self, ExprKind as Kind, SymbolId, SymbolKind};
use crate::murphi::types::TypeId;
use crate::murphi::walk;
use hadal_system::{Argument, Expr, ExprKind, Function, FunctionId, LocalKind, Place, Span, Stmt, StmtKind};

/// A call of a function that the model declares.
#[derive(Clone, Copy)]
pub(super) struct Call<'h> {
    pub(super) function: usize,
    pub(super) arguments: &'h [hir::Expr],
    pub(super) span: Span,
}

/// A function made to compute what no expression can. What the `needed` expressions mention of the present frame is
/// passed along.
#[derive(Clone, Copy)]
pub(super) struct Auxiliary<'h> {
    pub(super) name: &'h str,
    /// Of its result.
    pub(super) ty: TypeId,
    pub(super) needed: &'h [&'h hir::Expr],
    pub(super) span: Span,
}

impl Lowering<'_> {
    /// One of the model's functions.
    pub(super) fn function(&mut self, function: &hir::Function) -> Function {
        self.frames.push(Frame::default());
        let aggregate = function.result.filter(|r| !self.model.types.is_simple(*r));
        let mut parameters = function.parameters.len();
        if let Some(ty) = aggregate {
            let shape = self.shape(ty);
            let result = self.frame().add("result", shape, LocalKind::Reference);
            self.frame().result = Some(result);
            parameters += 1;
        }
        for &parameter in &function.parameters {
            let by_reference = self.model.symbols[parameter.0 as usize].kind == SymbolKind::Reference;
            self.local_for(parameter, if by_reference { LocalKind::Reference } else { LocalKind::Variable });
        }
        let mut body = self.stmts(&function.body);
        if aggregate.is_some() {
            let message = format!("`{}` ended without a result", function.name);
            body.push(Stmt::new(StmtKind::Fail(message), function.span));
        }
        let result = function.result.filter(|_| aggregate.is_none()).map(|r| self.domain(r));
        let frame = self.close_frame();
        Function {
            name: function.name.to_string(),
            parameters,
            locals: frame.locals,
            result,
            body,
            span: function.span,
        }
    }

    /// Adds a function that was made here.
    pub(super) fn add_function(&mut self, function: Function) -> FunctionId {
        self.functions.push(Some(function));
        FunctionId(self.functions.len() as u32 - 1)
    }

    /// A call with a simple result.
    pub(super) fn call_expr(
        &mut self,
        function: usize,
        arguments: &[hir::Expr],
        ty: TypeId,
        span: Span,
    ) -> Expr {
        let id = FunctionId(function as u32);
        if !self.passes_aggregate_result(arguments) {
            let mut nothing = Vec::new();
            let arguments = self.arguments(function, arguments, &mut nothing);
            return Expr::new(ExprKind::Call(id, arguments), span);
        }
        let name = self.model.functions[function].name.clone();
        let needed: Vec<&hir::Expr> = arguments.iter().collect();
        self.in_function(Auxiliary { name: &name, ty, needed: &needed, span }, |lowering, out| {
            let arguments = lowering.arguments(function, arguments, out);
            Expr::new(ExprKind::Call(id, arguments), span)
        })
    }

    /// A call as a statement, its result dropped.
    pub(super) fn call_stmt(&mut self, call: Call<'_>, out: &mut Vec<Stmt>) {
        let Call { function, arguments, span } = call;
        let mut arguments = self.arguments(function, arguments, out);
        if let Some(ty) = self.model.functions[function].result
            && !self.model.types.is_simple(ty)
        {
            let dropped = self.temporary("dropped", ty);
            let place = Place::local(dropped, self.shape(ty), span);
            arguments.insert(0, Argument::Reference(place));
        }
        out.push(Stmt::new(StmtKind::Call(FunctionId(function as u32), arguments), span));
    }

    /// Calls a function that returns an array or record, and has it written to `to`.
    pub(super) fn call_into(&mut self, call: Call<'_>, to: Place, out: &mut Vec<Stmt>) {
        let Call { function, arguments, span } = call;
        let mut passed = vec![Argument::Reference(to)];
        passed.extend(self.arguments(function, arguments, out));
        out.push(Stmt::new(StmtKind::Call(FunctionId(function as u32), passed), span));
    }

    /// A place that holds an array, record or multiset; the result of a call is computed into a local first.
    pub(super) fn aggregate(&mut self, expr: &hir::Expr, out: &mut Vec<Stmt>) -> Place {
        match &expr.kind {
            Kind::Place(place) => self.place(place),
            Kind::Call(function, arguments) => {
                let local = self.temporary("computed", expr.ty);
                let place = Place::local(local, self.shape(expr.ty), expr.span);
                let call = Call { function: *function, arguments, span: expr.span };
                self.call_into(call, place.clone(), out);
                place
            }
            // No other expression has an aggregate value.
            _ => {
                let local = self.temporary("nothing", expr.ty);
                Place::local(local, self.shape(expr.ty), expr.span)
            }
        }
    }

    fn passes_aggregate_result(&self, arguments: &[hir::Expr]) -> bool {
        arguments.iter().any(|a| matches!(a.kind, Kind::Call(..)) && !self.model.types.is_simple(a.ty))
    }

    /// Arguments in the order of the parameters. Statements that compute them first go to `out`.
    fn arguments(&mut self, function: usize, arguments: &[hir::Expr], out: &mut Vec<Stmt>) -> Vec<Argument> {
        let parameters = self.model.functions[function].parameters.clone();
        parameters
            .iter()
            .zip(arguments)
            .map(|(parameter, argument)| self.argument(*parameter, argument, out))
            .collect()
    }

    fn argument(&mut self, parameter: SymbolId, argument: &hir::Expr, out: &mut Vec<Stmt>) -> Argument {
        let declared = &self.model.symbols[parameter.0 as usize];
        let (kind, ty) = (declared.kind, declared.ty);
        if matches!(argument.kind, Kind::Undefined) {
            // A local that nothing is ever assigned to stays undefined.
            let local = self.temporary("undefined", ty);
            return Argument::Copy(Place::local(local, self.shape(ty), argument.span));
        }
        if kind == SymbolKind::Reference {
            return Argument::Reference(self.aggregate(argument, out));
        }
        if !self.model.types.is_simple(ty) {
            return Argument::Copy(self.aggregate(argument, out));
        }
        // An undefined scalar may be passed on: only reading it is an error.
        match self.place_that_may_be_undefined(argument) {
            Some(place) if place.shape == self.shape(ty) => Argument::Copy(place),
            Some(place) => Argument::Value(place.read()),
            None => Argument::Value(self.expr(argument)),
        }
    }

    /// A call of a new function in which statements compute the value of an expression.
    pub(super) fn in_function(
        &mut self,
        Auxiliary { name, ty, needed, span }: Auxiliary<'_>,
        build: impl FnOnce(&mut Self, &mut Vec<Stmt>) -> Expr,
    ) -> Expr {
        let mut mentioned = Vec::new();
        for expr in needed {
            walk::symbols_of_expr(expr, &mut |symbol| mentioned.push(symbol));
        }
        let (frame, arguments) = self.capture(mentioned, span);
        let parameters = frame.locals.len();
        self.frames.push(frame);
        let mut body = Vec::new();
        let value = build(self, &mut body);
        body.push(Stmt::new(StmtKind::Return(Some(value)), span));
        let result = Some(self.domain(ty));
        let frame = self.close_frame();
        let id = self.add_function(Function {
            name: format!("{name} at line {}", self.line(span)),
            parameters,
            locals: frame.locals,
            result,
            body,
            span,
        });
        Expr::new(ExprKind::Call(id, arguments), span)
    }

    /// A frame whose first locals stand for the mentioned locals of the present frame, and the arguments that pass them.
    fn capture(&mut self, mentioned: Vec<SymbolId>, span: Span) -> (Frame, Vec<Argument>) {
        let mut inner = Frame::default();
        let mut arguments = Vec::new();
        let mut waiting = mentioned;
        while let Some(symbol) = waiting.pop() {
            if self.variable_of.contains_key(&symbol) || inner.meaning.contains_key(&symbol) {
                continue;
            }
            let is_bound_inside = !self.frame().meaning.contains_key(&symbol)
                && self.model.symbols[symbol.0 as usize].kind != SymbolKind::Local;
            if is_bound_inside {
                continue;
            }
            match self.meaning(symbol) {
                Meaning::Variable(_) => {}
                Meaning::Same(same) => {
                    walk::symbols_of_expr(&same, &mut |s| waiting.push(s));
                    inner.meaning.insert(symbol, Meaning::Same(same));
                }
                Meaning::Local(outer) => {
                    let local = self.frame().locals[outer.0 as usize].clone();
                    let place = Place::local(outer, local.shape, span);
                    let (kind, argument) = match local.kind {
                        LocalKind::Bound => (LocalKind::Variable, Argument::Value(place.read())),
                        _ => (LocalKind::Reference, Argument::Reference(place)),
                    };
                    let id = inner.add(local.name, local.shape, kind);
                    inner.meaning.insert(symbol, Meaning::Local(id));
                    arguments.push(argument);
                }
            }
        }
        (inner, arguments)
    }
}
