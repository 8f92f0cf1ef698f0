//! Expressions.

use super::Checker;
use super::fold::{self, Junction};
use super::scope::Entity;
use crate::Diagnostic;
use crate::murphi::ast::{self, Operator, Prefix, Quantified, QuantifierValues};
use crate::murphi::hir::{Binder, Dialect, Expr, ExprKind, Pick, SymbolKind, Values};
use crate::murphi::types::{Type, TypeId};
use hadal_system::{BinaryOp, Quantifier, Span, UnaryOp};

/// How many operands an arithmetic chain may have: each is one level of the lowered tree.
const MAX_CHAIN: usize = 256;

impl Checker<'_> {
    pub(super) fn expr(&mut self, written: &ast::Expr) -> Expr {
        let span = written.span;
        match &written.kind {
            ast::ExprKind::Refused | ast::ExprKind::Number(None) => Expr::error(span),
            ast::ExprKind::Number(Some(value)) => self.number(*value, span),
            ast::ExprKind::Designator(designator) => {
                let mut expr = self.designator(designator);
                expr.span = span;
                expr
            }
            ast::ExprKind::Call(name, arguments) => self.call_expr(name, arguments, span),
            ast::ExprKind::Chain(first, links) => self.chain(first, links, span),
            ast::ExprKind::Prefix(prefix, operand) => self.prefix(*prefix, operand, span),
            ast::ExprKind::Conditional(condition, yes, no) => self.conditional(condition, yes, no, span),
            ast::ExprKind::Quantified(which, quantifiers, body) => {
                let quantifier = match which {
                    Quantified::ForAll => Quantifier::ForAll,
                    Quantified::Exists => Quantifier::Exists,
                };
                self.scopes.open();
                let binders = self.binders(quantifiers);
                let body = self.condition(body, "the body of a quantifier");
                self.scopes.close();
                let kind = ExprKind::Quantified(quantifier, binders, Box::new(body));
                Expr { kind, ty: TypeId::BOOLEAN, span }
            }
            ast::ExprKind::IsUndefined(operand) => self.is_undefined(operand, span),
            ast::ExprKind::IsMember(operand, ty) => {
                self.dialect = Dialect::Copying;
                let operand = self.expr(operand);
                let ty = self.type_expr(ty);
                if !self.types.is_simple(ty) || !self.types.is_simple(operand.ty) {
                    self.error(
                        span,
                        "`ismember` asks whether a simple value belongs to a simple type",
                        "expected no array, record or multiset",
                    );
                }
                Expr { kind: ExprKind::IsMember(Box::new(operand), ty), ty: TypeId::BOOLEAN, span }
            }
            ast::ExprKind::MultisetCount(picker) => match self.pick(picker) {
                Some(pick) => Expr { kind: ExprKind::Count(Box::new(pick)), ty: TypeId::INTEGER, span },
                None => Expr::error(span),
            },
        }
    }

    /// An expression that must be boolean.
    pub(super) fn condition(&mut self, written: &ast::Expr, what: &str) -> Expr {
        let expr = self.expr(written);
        self.require_boolean(&expr, what);
        expr
    }

    fn require_boolean(&mut self, expr: &Expr, what: &str) {
        if !self.types.is_boolean(expr.ty) {
            let found = self.types.describe(expr.ty);
            self.error(expr.span, format!("{what} must be boolean, not {found}"), "expected a condition");
        }
    }

    fn require_integer(&mut self, expr: &Expr, sign: &str) -> bool {
        let fits = self.types.is_integer(expr.ty);
        if !fits {
            let found = self.types.describe(expr.ty);
            self.error(
                expr.span,
                format!("`{sign}` computes with numbers, not with {found}"),
                "expected a number",
            );
        }
        fits
    }

    fn number(&mut self, value: i128, span: Span) -> Expr {
        match i64::try_from(value) {
            Ok(value) => Expr { kind: ExprKind::Const(value), ty: TypeId::INTEGER, span },
            Err(_) => {
                self.report(
                    Diagnostic::error(span, "this number does not fit in signed 64 bits")
                        .label(format!("expected at most {}", i64::MAX)),
                );
                Expr::error(span)
            }
        }
    }

    fn prefix(&mut self, prefix: Prefix, written: &ast::Expr, span: Span) -> Expr {
        // The least number is written as the negation of one that does not fit.
        if let (Prefix::Negate, ast::ExprKind::Number(Some(value))) = (prefix, &written.kind) {
            return self.number(-*value, span);
        }
        let operand = self.expr(written);
        match prefix {
            Prefix::Not => {
                self.require_boolean(&operand, "the operand of `!`");
                fold::unary(UnaryOp::Not, operand, TypeId::BOOLEAN, span)
            }
            Prefix::Negate => {
                self.require_integer(&operand, "-");
                fold::unary(UnaryOp::Negate, operand, TypeId::INTEGER, span)
            }
            Prefix::BitNot => {
                self.require_integer(&operand, "~");
                fold::unary(UnaryOp::BitNot, operand, TypeId::INTEGER, span)
            }
            Prefix::Plus => {
                self.require_integer(&operand, "+");
                operand
            }
        }
    }

    fn chain(&mut self, first: &ast::Expr, links: &[(Operator, ast::Expr)], span: Span) -> Expr {
        let left = self.expr(first);
        // All links of a chain have the same precedence, so the first tells what kind of chain it is.
        let Some(&(operator, _)) = links.first() else { return left };
        match operator {
            Operator::Or => self.junction(Junction::Any, left, links, span),
            Operator::And => self.junction(Junction::All, left, links, span),
            Operator::Pipe if !self.types.is_integer(left.ty) || left.ty == TypeId::ERROR => {
                self.junction(Junction::Any, left, links, span)
            }
            Operator::Amp if !self.types.is_integer(left.ty) || left.ty == TypeId::ERROR => {
                self.junction(Junction::All, left, links, span)
            }
            Operator::Implies | Operator::Equal | Operator::NotEqual => {
                links.iter().fold(left, |left, (operator, right)| {
                    let right = self.expr(right);
                    self.relation(*operator, left, right, span)
                })
            }
            _ => self.arithmetic(left, links, span),
        }
    }

    fn junction(
        &mut self,
        junction: Junction,
        left: Expr,
        links: &[(Operator, ast::Expr)],
        span: Span,
    ) -> Expr {
        let mut operands = vec![left];
        operands.extend(links.iter().map(|(_, right)| self.expr(right)));
        let sign = links.first().map_or("", |(operator, _)| operator.text());
        // A broken left operand of `&` and `|` leaves open whether bits or truth values were meant.
        let bits_possible = operands[0].ty == TypeId::ERROR && sign.len() == 1;
        for operand in &operands {
            if !(bits_possible && self.types.is_integer(operand.ty)) {
                self.require_boolean(operand, &format!("the operand of `{sign}`"));
            }
        }
        fold::junction(junction, operands, span)
    }

    fn arithmetic(&mut self, left: Expr, links: &[(Operator, ast::Expr)], span: Span) -> Expr {
        if links.len() > MAX_CHAIN {
            self.error(
                span,
                format!("more than {MAX_CHAIN} operands in a row"),
                "expected a shorter expression",
            );
            return Expr::error(span);
        }
        let start = left.span;
        let mut left = left;
        for (operator, right) in links {
            let right = self.expr(right);
            let (op, ty) = match operator {
                Operator::Add => (BinaryOp::Add, TypeId::INTEGER),
                Operator::Subtract => (BinaryOp::Subtract, TypeId::INTEGER),
                Operator::Multiply => (BinaryOp::Multiply, TypeId::INTEGER),
                Operator::Divide => (BinaryOp::Divide, TypeId::INTEGER),
                Operator::Remainder => (BinaryOp::Remainder, TypeId::INTEGER),
                Operator::ShiftLeft => (BinaryOp::ShiftLeft, TypeId::INTEGER),
                Operator::ShiftRight => (BinaryOp::ShiftRight, TypeId::INTEGER),
                Operator::Pipe => (BinaryOp::BitOr, TypeId::INTEGER),
                Operator::Amp => (BinaryOp::BitAnd, TypeId::INTEGER),
                Operator::Xor => (BinaryOp::BitXor, TypeId::INTEGER),
                Operator::Less => (BinaryOp::Less, TypeId::BOOLEAN),
                Operator::LessEqual => (BinaryOp::LessEqual, TypeId::BOOLEAN),
                Operator::Greater => (BinaryOp::Greater, TypeId::BOOLEAN),
                Operator::GreaterEqual => (BinaryOp::GreaterEqual, TypeId::BOOLEAN),
                // `chain` sends these elsewhere.
                Operator::Implies | Operator::Or | Operator::And | Operator::Equal | Operator::NotEqual => {
                    return self.relation(*operator, left, right, span);
                }
            };
            // One report where both are wrong in the same way.
            let _both =
                self.require_integer(&left, operator.text()) && self.require_integer(&right, operator.text());
            let so_far = start.to(right.span);
            left = fold::binary(op, left, right, ty, so_far);
        }
        left.span = span;
        left
    }

    fn relation(&mut self, operator: Operator, left: Expr, right: Expr, span: Span) -> Expr {
        if operator == Operator::Implies {
            self.require_boolean(&left, "the operand of `->`");
            self.require_boolean(&right, "the operand of `->`");
            return fold::binary(BinaryOp::Implies, left, right, TypeId::BOOLEAN, span);
        }
        let op = if operator == Operator::NotEqual { BinaryOp::NotEqual } else { BinaryOp::Equal };
        if matches!(left.kind, ExprKind::Undefined) || matches!(right.kind, ExprKind::Undefined) {
            self.report(
                Diagnostic::error(span, "nothing can be compared with `undefined`")
                    .label("expected a value")
                    .help("write `isundefined(...)`"),
            );
        } else if !self.types.agree(left.ty, right.ty) {
            let (l, r) = (self.types.describe(left.ty), self.types.describe(right.ty));
            self.error(span, format!("{l} cannot be compared with {r}"), "expected values of the same type");
        }
        fold::binary(op, left, right, TypeId::BOOLEAN, span)
    }

    fn conditional(&mut self, condition: &ast::Expr, yes: &ast::Expr, no: &ast::Expr, span: Span) -> Expr {
        let condition = self.condition(condition, "the condition of `? :`");
        let (yes, no) = (self.expr(yes), self.expr(no));
        if !self.types.agree(yes.ty, no.ty) {
            let (y, n) = (self.types.describe(yes.ty), self.types.describe(no.ty));
            self.error(
                span,
                format!("the two results of `? :` are {y} and {n}"),
                "expected values of the same type",
            );
            return Expr::error(span);
        }
        if !self.types.is_simple(yes.ty) || yes.ty == TypeId::UNDEFINED {
            self.error(span, "`? :` chooses between simple values", "expected no array, record or multiset");
            return Expr::error(span);
        }
        let ty = if yes.ty == no.ty {
            yes.ty
        } else if self.types.is_integer(yes.ty) && self.types.is_integer(no.ty) {
            TypeId::INTEGER
        } else if matches!(self.types[no.ty], Type::Union(_)) {
            no.ty
        } else {
            yes.ty
        };
        match condition.constant() {
            Some(value) => {
                let chosen = if value != 0 { yes } else { no };
                Expr { kind: chosen.kind, ty: chosen.ty, span }
            }
            None => Expr { kind: ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)), ty, span },
        }
    }

    fn is_undefined(&mut self, written: &ast::Expr, span: Span) -> Expr {
        let operand = self.expr(written);
        match operand.kind {
            ExprKind::Error => {}
            ExprKind::Place(place)
                if self.symbols[place.base.0 as usize].kind != SymbolKind::AliasOfValue =>
            {
                if self.types.is_simple(place.ty) {
                    return Expr { kind: ExprKind::IsUndefined(place), ty: TypeId::BOOLEAN, span };
                }
                let described = self.types.describe(place.ty);
                self.error(
                    written.span,
                    format!("`isundefined` asks about one scalar, not {described}"),
                    "expected a simple variable",
                );
            }
            _ => self.error(written.span, "only a variable can be undefined", "expected a variable"),
        }
        Expr { kind: ExprKind::Error, ty: TypeId::BOOLEAN, span }
    }

    /// Declares the bound names of quantifiers in the innermost scope.
    pub(super) fn binders(&mut self, quantifiers: &[ast::Quantifier]) -> Vec<Binder> {
        quantifiers.iter().map(|q| self.binder(q)).collect()
    }

    pub(super) fn binder(&mut self, quantifier: &ast::Quantifier) -> Binder {
        let (ty, values) = match &quantifier.values {
            QuantifierValues::Type(written) => {
                let ty = self.type_expr(written);
                if self.types.is_simple(ty) {
                    (ty, Values::Type(ty))
                } else {
                    let described = self.types.describe(ty);
                    self.error(
                        written.span,
                        format!("{described} has no values to run over"),
                        "expected a simple type",
                    );
                    (TypeId::ERROR, Values::Type(TypeId::ERROR))
                }
            }
            QuantifierValues::Steps(from, to, by) => self.steps(quantifier, from, to, by.as_deref()),
        };
        let symbol = self.symbol(&quantifier.name, ty, SymbolKind::Bound, false);
        self.declare(&quantifier.name, Entity::Symbol(symbol));
        Binder { symbol, values }
    }

    fn steps(
        &mut self,
        quantifier: &ast::Quantifier,
        from: &ast::Expr,
        to: &ast::Expr,
        by: Option<&ast::Expr>,
    ) -> (TypeId, Values) {
        let (from, to) = (self.expr(from), self.expr(to));
        let explicit = by.is_some();
        let by = match by {
            Some(by) => self.expr(by),
            None => Expr { kind: ExprKind::Const(1), ty: TypeId::INTEGER, span: quantifier.span },
        };
        for bound in [&from, &to, &by] {
            self.require_integer(bound, "to");
        }
        if by.constant() == Some(0) {
            self.error(by.span, "a step of 0 never ends", "expected another number");
        }
        let mut ty = TypeId::INTEGER;
        if let (Some(first), Some(last)) = (from.constant(), to.constant()) {
            ty = self.types.add(Type::Range(first.min(last), first.max(last)));
            let step = by.constant().unwrap_or(0);
            if first != last && step != 0 && (step > 0) != (last > first) {
                if explicit {
                    self.error(
                        quantifier.span,
                        format!("the step leads away from {last}"),
                        "expected a step of the other sign",
                    );
                } else {
                    self.diagnostics.push(
                        Diagnostic::warning(
                            quantifier.span,
                            format!("there is no value from {first} up to {last}"),
                        )
                        .help("write `by -1` to count down"),
                    );
                }
            }
        }
        (ty, Values::Steps(Box::new(from), Box::new(to), Box::new(by)))
    }

    /// `name: set, condition`, the name visible in the condition only.
    pub(super) fn pick(&mut self, picker: &ast::Picker) -> Option<Pick> {
        let set = self.multiset(&picker.set);
        self.scopes.open();
        let ty = set.as_ref().map_or(TypeId::ERROR, |set| self.types.add(Type::Position(set.ty)));
        let symbol = self.symbol(&picker.name, ty, SymbolKind::Bound, false);
        self.declare(&picker.name, Entity::Symbol(symbol));
        let condition = self.condition(&picker.condition, "the condition on the elements");
        self.scopes.close();
        Some(Pick { symbol, set: set?, condition })
    }

    /// A place that is a multiset.
    pub(super) fn multiset(&mut self, written: &ast::Designator) -> Option<crate::murphi::hir::Place> {
        let place = self.place(written, "a multiset")?;
        if matches!(self.types[place.ty], Type::Multiset(..)) {
            return Some(place);
        }
        let described = self.types.describe(place.ty);
        self.error(written.span, format!("{described} is not a multiset"), "expected a multiset");
        None
    }
}
