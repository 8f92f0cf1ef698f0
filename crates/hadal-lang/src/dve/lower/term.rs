//! Terms to expressions of the waist, and the condition under which evaluating a term meets an error.

use super::super::ast;
use super::super::model::{Term, TermKind};
use super::Lowering;
use super::ranges::{Interval, interval_of};
use hadal_system::{BinaryOp, Domain, Expr, ExprKind, LocalId, Place, ShapeId, Span, Step, UnaryOp};

/// How to read variables that the step has copied before changing them (synchronous systems): variable, local.
pub(super) type Copies = Vec<(usize, LocalId)>;

fn operator(op: ast::BinaryOp) -> BinaryOp {
    match op {
        ast::BinaryOp::Imply => BinaryOp::Implies,
        ast::BinaryOp::Or => BinaryOp::Or,
        ast::BinaryOp::And => BinaryOp::And,
        ast::BinaryOp::BitOr => BinaryOp::BitOr,
        ast::BinaryOp::BitAnd => BinaryOp::BitAnd,
        ast::BinaryOp::BitXor => BinaryOp::BitXor,
        ast::BinaryOp::Equal => BinaryOp::Equal,
        ast::BinaryOp::NotEqual => BinaryOp::NotEqual,
        ast::BinaryOp::Less => BinaryOp::Less,
        ast::BinaryOp::LessEqual => BinaryOp::LessEqual,
        ast::BinaryOp::Greater => BinaryOp::Greater,
        ast::BinaryOp::GreaterEqual => BinaryOp::GreaterEqual,
        ast::BinaryOp::ShiftLeft => BinaryOp::ShiftLeft,
        ast::BinaryOp::ShiftRight => BinaryOp::ShiftRight,
        ast::BinaryOp::Add => BinaryOp::Add,
        ast::BinaryOp::Subtract => BinaryOp::Subtract,
        ast::BinaryOp::Multiply => BinaryOp::Multiply,
        ast::BinaryOp::Divide => BinaryOp::Divide,
        ast::BinaryOp::Modulo => BinaryOp::Remainder,
    }
}

/// `left op right` at `span`.
pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)
}

/// A constant at `span`.
pub(super) fn number(value: i64, span: Span) -> Expr {
    Expr::new(ExprKind::Const(value), span)
}

fn either(left: Option<Expr>, right: Option<Expr>) -> Option<Expr> {
    match (left, right) {
        (Some(left), Some(right)) => Some(Expr::binary(BinaryOp::Or, left, right)),
        (one, other) => one.or(other),
    }
}

impl Lowering<'_> {
    /// Whether the process is at the location.
    pub(super) fn at(&self, process: usize, location: usize, span: Span) -> Expr {
        binary(
            BinaryOp::Equal,
            self.location_place(process, span).read(),
            number(location as i64, span),
            span,
        )
    }

    pub(super) fn location_place(&self, process: usize, span: Span) -> Place {
        self.whole(self.locations[process], span)
    }

    fn interval(&self, term: &Term) -> Interval {
        interval_of(term, self.model, &|number| self.ranges.variables[number])
    }

    /// The place of a variable or of an element of it; read through a copy where there is one.
    pub(super) fn place(
        &mut self,
        variable: usize,
        index: Option<Expr>,
        span: Span,
        copies: &Copies,
    ) -> Place {
        let mut place = match copies.iter().find(|(copied, _)| *copied == variable) {
            Some((_, local)) => Place::local(*local, self.shape(self.variables[variable]), span),
            None => self.whole(self.variables[variable], span),
        };
        if let Some(index) = index {
            place.steps.push(Step::Index(index));
            place.shape = self.element_shape(variable);
        }
        place
    }

    fn element_shape(&self, variable: usize) -> ShapeId {
        self.element_shapes[variable]
    }

    pub(super) fn expr(&mut self, term: &Term, copies: &Copies) -> Expr {
        let span = term.span;
        match &term.kind {
            TermKind::Constant(value) => number(*value, span),
            TermKind::Read(variable) => self.place(*variable, None, span, copies).read(),
            TermKind::Element(variable, index) => {
                let index = self.expr(index, copies);
                self.place(*variable, Some(index), span, copies).read()
            }
            TermKind::Lookup(table, index) => {
                let proven = self.is_inside(index, self.model.tables[*table].values.len());
                let index = self.expr(index, copies);
                self.lookup(*table, index, proven, span)
            }
            TermKind::At(process, location) => self.at(*process, *location, span),
            TermKind::Unary(op, operand) => {
                let operand = Box::new(self.expr(operand, copies));
                let op = match op {
                    ast::UnaryOp::Negate => UnaryOp::Negate,
                    ast::UnaryOp::BitNot => UnaryOp::BitNot,
                    ast::UnaryOp::Not => UnaryOp::Not,
                };
                Expr::new(ExprKind::Unary(op, operand), span)
            }
            TermKind::Binary(op, left, right) => {
                let left = self.expr(left, copies);
                let right = self.expr(right, copies);
                binary(operator(*op), left, right, span)
            }
        }
    }

    fn is_inside(&self, index: &Term, size: usize) -> bool {
        let interval = self.interval(index);
        interval.low >= 0 && interval.high < size as i64
    }

    /// A value of a constant array: its values lie packed in a few numbers and are cut out by shifting.
    fn lookup(&mut self, table: usize, index: Expr, proven: bool, span: Span) -> Expr {
        let values = &self.model.tables[table].values;
        let least = values.iter().copied().min().unwrap_or(0);
        let most = values.iter().copied().max().unwrap_or(0);
        // Types have 16 bits at most, so the width is 1 to 16 and each number holds at least 3 values in 63 bits.
        let width = (64 - ((most - least) as u64).leading_zeros()).max(1);
        let each = (63 / width) as usize;
        let numbers: Vec<i64> = values
            .chunks(each)
            .map(|chunk| {
                chunk.iter().enumerate().fold(0, |n, (at, value)| n | (value - least) << (at as u32 * width))
            })
            .collect();
        let mut chosen = number(numbers.last().copied().unwrap_or(0), span);
        for (at, packed) in numbers.iter().enumerate().rev().skip(1) {
            let here = binary(BinaryOp::Less, index.clone(), number(((at + 1) * each) as i64, span), span);
            let kind = ExprKind::If(Box::new(here), Box::new(number(*packed, span)), Box::new(chosen));
            chosen = Expr::new(kind, span);
        }
        let within = if numbers.len() > 1 {
            binary(BinaryOp::Remainder, index.clone(), number(each as i64, span), span)
        } else {
            index.clone()
        };
        let shift = binary(BinaryOp::Multiply, within, number(i64::from(width), span), span);
        let shifted = binary(BinaryOp::ShiftRight, chosen, shift, span);
        let mut value = binary(BinaryOp::BitAnd, shifted, number((1 << width) - 1, span), span);
        if least != 0 {
            value = binary(BinaryOp::Add, value, number(least, span), span);
        }
        if proven {
            return value;
        }
        let elements = self.domains.add(Domain::range(0, values.len() as i64 - 1, false));
        let inside = Expr::new(ExprKind::InDomain(Box::new(index), elements), span);
        // Outside the array: an error, which the waist meets as a division by zero.
        let outside = binary(BinaryOp::Divide, number(1, span), number(0, span), span);
        Expr::new(ExprKind::If(Box::new(inside), Box::new(value), Box::new(outside)), span)
    }

    /// The condition under which evaluating the term meets an error; `None` where it never does.
    pub(super) fn fault(&mut self, term: &Term) -> Option<Expr> {
        let span = term.span;
        match &term.kind {
            TermKind::Constant(_) | TermKind::Read(_) | TermKind::At(..) => None,
            TermKind::Element(variable, index) => {
                let size = self.model.variables[*variable].initial.len();
                self.index_fault(index, size)
            }
            TermKind::Lookup(table, index) => {
                let size = self.model.tables[*table].values.len();
                self.index_fault(index, size)
            }
            TermKind::Unary(_, operand) => self.fault(operand),
            TermKind::Binary(op, left, right) => {
                let first = self.fault(left);
                let second = match op {
                    ast::BinaryOp::And | ast::BinaryOp::Or | ast::BinaryOp::Imply => {
                        self.fault(right).map(|fault| {
                            let mut reached = self.expr(left, &Copies::new());
                            if *op == ast::BinaryOp::Or {
                                reached = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(reached)), span);
                            }
                            binary(BinaryOp::And, reached, fault, span)
                        })
                    }
                    ast::BinaryOp::Divide | ast::BinaryOp::Modulo if self.interval(right).contains(0) => {
                        let fault = self.fault(right);
                        let divisor = self.expr(right, &Copies::new());
                        either(fault, Some(binary(BinaryOp::Equal, divisor, number(0, span), span)))
                    }
                    _ => self.fault(right),
                };
                either(first, second)
            }
        }
    }

    /// The condition under which an index meets an error or leaves an array of this size.
    pub(super) fn index_fault(&mut self, index: &Term, size: usize) -> Option<Expr> {
        let fault = self.fault(index);
        let outside = (!self.is_inside(index, size)).then(|| {
            let elements = self.domains.add(Domain::range(0, size as i64 - 1, false));
            let index_expr = self.expr(index, &Copies::new());
            let inside = Expr::new(ExprKind::InDomain(Box::new(index_expr), elements), index.span);
            Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(inside)), index.span)
        });
        either(fault, outside)
    }

    /// The condition under which a value does not fit a type; `None` where it always does.
    pub(super) fn overflow(&mut self, value: &Term, scalar: ast::Type) -> Option<Expr> {
        let (low, high) = scalar.range();
        let interval = self.interval(value);
        if interval.low >= low && interval.high <= high {
            return None;
        }
        let fitting = self.domains.add(Domain::range(low, high, false));
        let expr = self.expr(value, &Copies::new());
        let fits = Expr::new(ExprKind::InDomain(Box::new(expr), fitting), value.span);
        Some(Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(fits)), value.span))
    }

    /// The condition that an assignment meets an error, of its value, its index or the range of its type.
    pub(super) fn assignment_fault(
        &mut self,
        target: &super::super::model::Lvalue,
        value: &Term,
        cut: Option<ast::Type>,
    ) -> Option<Expr> {
        let variable = &self.model.variables[target.variable];
        let (size, scalar) = (variable.initial.len(), variable.scalar);
        let mut fault = self.fault(value);
        if cut.is_none() {
            fault = either(fault, self.overflow(value, scalar));
        }
        let index = target.index.as_ref().and_then(|index| self.index_fault(index, size));
        either(fault, index)
    }
}
