//! Calls and their arguments.

use super::Checker;
use super::scope::Entity;
use crate::Diagnostic;
use crate::murphi::ast::{self, Name};
use crate::murphi::hir::{Expr, ExprKind, SymbolId, SymbolKind};
use crate::murphi::types::{Type, TypeId};
use hadal_system::Span;

impl Checker<'_> {
    /// A call that stands for a value.
    pub(super) fn call_expr(&mut self, name: &Name, arguments: &[ast::Expr], span: Span) -> Expr {
        let Some((function, arguments)) = self.call(name, arguments, span) else { return Expr::error(span) };
        match self.functions[function].result {
            Some(ty) => Expr { kind: ExprKind::Call(function, arguments), ty, span },
            None => {
                self.report(
                    Diagnostic::error(span, format!("`{}` is a procedure and has no value", name.text))
                        .label("expected a function that returns a value"),
                );
                Expr::error(span)
            }
        }
    }

    /// The function called and its checked arguments.
    pub(super) fn call(
        &mut self,
        name: &Name,
        written: &[ast::Expr],
        span: Span,
    ) -> Option<(usize, Vec<Expr>)> {
        let function = match self.lookup(name, "function", |e| matches!(e, Entity::Function(_))) {
            Entity::Function(function) => Some(function),
            Entity::Broken => None,
            other => {
                self.error(
                    name.span,
                    format!("`{}` is {}, not a function", name.text, other.describe()),
                    "expected a function",
                );
                None
            }
        };
        let arguments: Vec<Expr> = written.iter().map(|a| self.expr(a)).collect();
        let function = function?;
        let parameters = self.functions[function].parameters.clone();
        if parameters.len() != arguments.len() {
            let (wanted, given) = (parameters.len(), arguments.len());
            self.error(
                span,
                format!(
                    "`{}` takes {wanted} argument{}, not {given}",
                    name.text,
                    if wanted == 1 { "" } else { "s" }
                ),
                format!("expected {wanted}"),
            );
            return None;
        }
        for (parameter, argument) in parameters.iter().zip(&arguments) {
            self.argument(*parameter, argument);
        }
        Some((function, arguments))
    }

    fn argument(&mut self, parameter: SymbolId, argument: &Expr) {
        let parameter = self.symbols[parameter.0 as usize].clone();
        let by_reference = parameter.kind == SymbolKind::Reference;
        if matches!(argument.kind, ExprKind::Undefined) {
            if by_reference || !self.types.is_simple(parameter.ty) {
                self.error(
                    argument.span,
                    format!("`undefined` cannot be passed to `{}`", parameter.name),
                    "expected a variable",
                );
            }
            return;
        }
        let wanted = parameter.ty;
        if !self.types.agree(argument.ty, wanted) {
            let (found, needed) = (self.types.describe(argument.ty), self.types.describe(wanted));
            self.error(
                argument.span,
                format!("the argument for `{}` is {found}, the parameter {needed}", parameter.name),
                format!("expected {needed}"),
            );
            return;
        }
        if !by_reference || argument.ty == TypeId::ERROR {
            return;
        }
        match &argument.kind {
            ExprKind::Place(place) => {
                if self.require_writable(place, &format!("the argument for `var {}`", parameter.name))
                    && argument.ty != wanted
                    && wanted != TypeId::ERROR
                {
                    let (found, needed) = (self.types.describe(argument.ty), self.types.describe(wanted));
                    let same_kind = matches!(self.types[wanted], Type::Range(..));
                    let label = if same_kind { "expected the same range" } else { "expected the same type" };
                    self.error(
                        argument.span,
                        format!("`var {}` is {needed}, this variable {found}", parameter.name),
                        label,
                    );
                }
            }
            _ => self.error(
                argument.span,
                format!("the argument for `var {}` must be a variable", parameter.name),
                "expected a variable",
            ),
        }
    }
}
