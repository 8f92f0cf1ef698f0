//! Expressions over packed states outside the compiled system: bounds of clock guards, invariants, prices, questions.
//!
//! Most are constants or one scalar. What this evaluator does not know is left to the interpreter.

use hadal_system::{
    Base, BinaryOp, Domain, Expr, ExprKind, Layout, Local, LocalId, Place, Quantifier, Range, System,
    UnaryOp, Value, interval,
};

use crate::interpret::Interpreter;

/// An expression made ready.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Const(Value),
    /// A bound local.
    Local(usize),
    /// A scalar of the state: offset, width, least value.
    Scalar(u32, u32, Value),
    /// A scalar at indices: of each its first value, how many, and the offset it adds.
    Element {
        offset: u32,
        width: u32,
        least: Value,
        indices: Vec<Index>,
    },
    Unary(UnaryOp, Box<Code>),
    Binary(BinaryOp, Box<Code>, Box<Code>),
    If(Box<[Code; 3]>),
    Within(Box<Code>, Value, Value),
    /// Quantifier, local, first and last value, condition.
    Quantified(Quantifier, usize, Value, Value, Box<Code>),
    /// For the interpreter.
    Foreign(Box<Expr>),
}

/// An index of an array: the first element is the most significant.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    value: Code,
    first: Value,
    count: Value,
    stride: u32,
}

/// What expressions are made ready with.
#[derive(Clone, Copy)]
pub(crate) struct Compiler<'a> {
    pub(crate) system: &'a System,
    pub(crate) layout: &'a Layout,
}

fn bounds(domain: &Domain) -> Option<(Value, Value)> {
    match (domain.intervals.as_slice(), domain.undefined) {
        (&[(low, high)], false) => Some((low, high)),
        _ => None,
    }
}

impl Compiler<'_> {
    pub(crate) fn code(&self, expr: &Expr) -> Code {
        self.known(expr).unwrap_or_else(|| Code::Foreign(Box::new(expr.clone())))
    }

    fn known(&self, expr: &Expr) -> Option<Code> {
        Some(match &expr.kind {
            ExprKind::Const(value) => Code::Const(*value),
            ExprKind::Read(place) => self.read(place)?,
            ExprKind::Unary(op, of) => match self.known(of)? {
                Code::Const(value) if op.apply(value).is_some() => Code::Const(op.apply(value)?),
                of => Code::Unary(*op, Box::new(of)),
            },
            ExprKind::Binary(op, left, right) => match (self.known(left)?, self.known(right)?) {
                (Code::Const(l), Code::Const(r)) if op.apply(l, r).is_some() => Code::Const(op.apply(l, r)?),
                (left, right) => Code::Binary(*op, Box::new(left), Box::new(right)),
            },
            ExprKind::If(condition, yes, no) => {
                Code::If(Box::new([self.known(condition)?, self.known(yes)?, self.known(no)?]))
            }
            ExprKind::InDomain(of, domain) => {
                let (low, high) = bounds(&self.system.domains[*domain])?;
                Code::Within(Box::new(self.known(of)?), low, high)
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                let (low, high) = match &**range {
                    Range::Domain(domain) => bounds(&self.system.domains[*domain])?,
                    Range::Steps { from, to, by } if by.as_const() == Some(1) => {
                        (from.as_const()?, to.as_const()?)
                    }
                    Range::Steps { .. } => return None,
                };
                Code::Quantified(*quantifier, local.0 as usize, low, high, Box::new(self.known(body)?))
            }
            ExprKind::IsUndefined(_) | ExprKind::Same(..) | ExprKind::Call(..) | ExprKind::Wrap(..) => {
                return None;
            }
        })
    }

    fn read(&self, place: &Place) -> Option<Code> {
        let var = match place.base {
            Base::Local(local) if place.steps.is_empty() => return Some(Code::Local(local.0 as usize)),
            Base::Local(_) => return None,
            Base::Global(var) => var,
        };
        let mut indices = Vec::new();
        let (offset, shape) =
            self.layout.follow(self.system, (var, &place.steps), |index, domain, stride| {
                let (first, last) = bounds(domain)?;
                Some(match self.known(index)? {
                    Code::Const(value) if first <= value && value <= last => (last - value) as u32 * stride,
                    value => {
                        indices.push(Index { value, first, count: last - first + 1, stride });
                        0
                    }
                })
            })?;
        let domain = self.system.shapes.scalar(shape)?;
        let (least, _) = bounds(&self.system.domains[domain])?;
        let width = self.layout.shape_bits(shape);
        Some(match indices.is_empty() {
            true => Code::Scalar(offset, width, least),
            false => Code::Element { offset, width, least, indices },
        })
    }
}

/// What expressions are evaluated in.
pub(crate) struct Context<'a> {
    /// The discrete part of a state.
    pub(crate) state: &'a [u64],
    /// Values of bound locals, by number.
    pub(crate) locals: &'a [Value],
    pub(crate) interpreter: &'a Interpreter<'a>,
    /// Shapes of the locals, for the interpreter.
    pub(crate) shapes: &'a [Local],
}

impl Code {
    /// The value; `None` where evaluating it meets an error of the model.
    #[inline]
    pub(crate) fn value(&self, context: &Context) -> Option<Value> {
        match self {
            Code::Const(value) => Some(*value),
            Code::Scalar(offset, width, least) => {
                Some(least + hadal_system::state::get_bits(context.state, *offset, *width) as Value)
            }
            other => other.compute(context),
        }
    }

    /// The value, where it is one scalar.
    pub(crate) fn scalar(&self, state: &[u64]) -> Option<Value> {
        match self {
            Code::Const(value) => Some(*value),
            Code::Scalar(offset, width, least) => {
                Some(least + hadal_system::state::get_bits(state, *offset, *width) as Value)
            }
            _ => None,
        }
    }

    /// Whether it is not 0.
    pub(crate) fn holds(&self, context: &Context) -> Option<bool> {
        Some(self.value(context)? != 0)
    }

    fn compute(&self, context: &Context) -> Option<Value> {
        Some(match self {
            Code::Const(_) | Code::Scalar(..) => self.value(context)?,
            Code::Local(n) => *context.locals.get(*n)?,
            Code::Element { offset, width, least, indices } => {
                let mut at = *offset;
                for index in indices {
                    let position = index.value.value(context)?.checked_sub(index.first)?;
                    if position < 0 || position >= index.count {
                        return None;
                    }
                    at += (index.count - 1 - position) as u32 * index.stride;
                }
                least + hadal_system::state::get_bits(context.state, at, *width) as Value
            }
            Code::Unary(op, of) => op.apply(of.value(context)?)?,
            Code::Binary(BinaryOp::And, left, right) => {
                (left.holds(context)? && right.holds(context)?) as Value
            }
            Code::Binary(BinaryOp::Or, left, right) => {
                (left.holds(context)? || right.holds(context)?) as Value
            }
            Code::Binary(BinaryOp::Implies, left, right) => {
                (!left.holds(context)? || right.holds(context)?) as Value
            }
            Code::Binary(op, left, right) => op.apply(left.value(context)?, right.value(context)?)?,
            Code::If(parts) => match parts[0].holds(context)? {
                true => parts[1].value(context)?,
                false => parts[2].value(context)?,
            },
            Code::Within(of, low, high) => {
                let value = of.value(context)?;
                (*low <= value && value <= *high) as Value
            }
            Code::Quantified(quantifier, local, low, high, body) => {
                let decides = *quantifier == Quantifier::Exists;
                let mut locals = context.locals.to_vec();
                locals.resize(locals.len().max(local + 1), 0);
                for value in *low..=*high {
                    locals[*local] = value;
                    if body.holds(&Context { locals: &locals, ..*context })? == decides {
                        return Some(decides as Value);
                    }
                }
                !decides as Value
            }
            Code::Foreign(expr) => {
                let bound: Vec<(LocalId, Value)> = context
                    .locals
                    .iter()
                    .enumerate()
                    .take(context.shapes.len())
                    .map(|(n, &value)| (LocalId(n as u32), value))
                    .collect();
                context.interpreter.value_with(context.state, context.shapes, &bound, expr)?
            }
        })
    }
}

/// The values an expression can have, as far as domains tell.
pub(crate) fn range(system: &System, expr: &Expr) -> Option<(Value, Value)> {
    match &expr.kind {
        ExprKind::Const(value) => Some((*value, *value)),
        ExprKind::Read(place) => {
            let domain = &system.domains[system.shapes.scalar(place.shape)?];
            Some((domain.min(), domain.max()))
        }
        ExprKind::Unary(UnaryOp::Negate, of) => {
            let (low, high) = range(system, of)?;
            Some((high.checked_neg()?, low.checked_neg()?))
        }
        ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Quantified { .. }
        | ExprKind::Same(..)
        | ExprKind::IsUndefined(_)
        | ExprKind::InDomain(..) => Some((0, 1)),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply), left, right) => {
            interval::binary(*op, range(system, left)?, range(system, right)?)
        }
        ExprKind::Binary(BinaryOp::Divide, left, right) => {
            let ((low, high), (least, most)) = (range(system, left)?, range(system, right)?);
            match least > 0 || most < 0 {
                true => interval::binary(BinaryOp::Divide, (low, high), (least, most)),
                false => {
                    let most = low.checked_abs()?.max(high.checked_abs()?);
                    Some((-most, most))
                }
            }
        }
        ExprKind::Binary(BinaryOp::Remainder, _, right) => {
            let (low, high) = range(system, right)?;
            let most = low.checked_abs()?.max(high.checked_abs()?);
            Some((-most, most))
        }
        ExprKind::Binary(op, ..) => (!BinaryOp::ARITHMETIC.contains(op)).then_some((0, 1)),
        ExprKind::If(_, yes, no) => {
            let (a, b) = (range(system, yes)?, range(system, no)?);
            Some((a.0.min(b.0), a.1.max(b.1)))
        }
        ExprKind::Call(function, _) => {
            let domain = &system.domains[system.function(*function).result?];
            Some((domain.min(), domain.max()))
        }
        ExprKind::Unary(UnaryOp::BitNot, _) | ExprKind::Wrap(..) => None,
    }
}
