//! What an expression may give on the present path.

use super::bits::Bits;
use super::machine::{Cell, End, Machine, truths};
use super::universe::Scalar;
use hadal_system::{BinaryOp, Expr, ExprKind, Quantifier, Range, UnaryOp, Value};
use std::rc::Rc;

/// Loops over more values than this are not followed.
const MAX_TURNS: usize = 4096;

impl<'a> Machine<'a> {
    /// The value of an expression, which is defined.
    pub fn value(&mut self, expr: &'a Expr) -> Result<Cell, End> {
        self.deeper(|machine| machine.value_inside(expr))
    }

    fn value_inside(&mut self, expr: &'a Expr) -> Result<Cell, End> {
        match &expr.kind {
            ExprKind::Const(value) => Ok(Cell::Known(Some(*value))),
            ExprKind::Read(place) => {
                let (spot, _) = self.resolve(place)?;
                let cell = self.load(spot);
                self.defined(cell)
            }
            ExprKind::IsUndefined(place) => {
                let (spot, shape) = self.resolve(place)?;
                let mut last = Cell::Known(Some(0));
                let cells = self.contents(spot, shape)?;
                let count = cells.len();
                for (n, cell) in cells.into_iter().enumerate() {
                    last = self.map(cell, |value| Some(value.is_none().into()))?;
                    // The last one decides by itself; before it, undefined already does.
                    if n + 1 < count && self.decide(last.clone())? {
                        return Ok(Cell::Known(Some(1)));
                    }
                }
                Ok(last)
            }
            ExprKind::Unary(op, of) => {
                let of = self.value(of)?;
                if *op == UnaryOp::Negate && matches!(of, Cell::Any) {
                    self.may_fault()?;
                }
                self.map(of, |value| op.apply(value?))
            }
            ExprKind::Binary(BinaryOp::And, left, right) => {
                let left = self.value(left)?;
                if self.decide(left)? { self.truth(right) } else { Ok(Cell::Known(Some(0))) }
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => {
                let left = self.value(left)?;
                if self.decide(left)? { Ok(Cell::Known(Some(1))) } else { self.truth(right) }
            }
            ExprKind::Binary(BinaryOp::Implies, left, right) => {
                let left = self.value(left)?;
                if self.decide(left)? { self.truth(right) } else { Ok(Cell::Known(Some(1))) }
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                self.binary(*op, left, right)
            }
            ExprKind::If(condition, yes, no) => {
                let condition = self.value(condition)?;
                if self.decide(condition)? { self.value(yes) } else { self.value(no) }
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                let decides = *quantifier == Quantifier::Exists;
                for value in self.range(range)? {
                    self.bind(*local, value);
                    let held = self.value(body)?;
                    if self.decide(held)? == decides {
                        return Ok(Cell::Known(Some(decides.into())));
                    }
                }
                Ok(Cell::Known(Some((!decides).into())))
            }
            ExprKind::Same(left, right) => {
                let (left, left_shape) = self.resolve(left)?;
                let (right, right_shape) = self.resolve(right)?;
                let left = self.contents(left, left_shape)?;
                let right = self.contents(right, right_shape)?;
                for (left, right) in left.into_iter().zip(right) {
                    let same = self.combine(left, right, |l, r| Some((l == r).into()))?;
                    if !self.decide(same)? {
                        return Ok(Cell::Known(Some(0)));
                    }
                }
                Ok(Cell::Known(Some(1)))
            }
            ExprKind::Call(function, arguments) => {
                let result = self.call(*function, arguments)?;
                result.ok_or(End::Fault)
            }
            ExprKind::Wrap(of, domain) => {
                let of = self.value(of)?;
                let domain = &self.system.domains[*domain];
                self.map(of, |value| Some(domain.wrap(value?)))
            }
            ExprKind::InDomain(of, domain) => {
                let of = self.value(of)?;
                let domain = &self.system.domains[*domain];
                self.map(of, |value| Some(domain.contains(value?).into()))
            }
        }
    }

    fn truth(&mut self, expr: &'a Expr) -> Result<Cell, End> {
        let value = self.value(expr)?;
        self.map(value, |value| Some((value? != 0).into()))
    }

    /// The cell, where it is defined; an error of the model where it is not.
    pub fn defined(&mut self, cell: Cell) -> Result<Cell, End> {
        match &cell {
            Cell::Known(None) => Err(End::Fault),
            Cell::Known(Some(_)) => Ok(cell),
            Cell::Map(slot, table) => {
                let bad: Bits = self.known(*slot).iter().filter(|&n| table[n].is_none()).collect();
                self.fault_where(*slot, bad)?;
                Ok(self.settle(cell))
            }
            Cell::Any | Cell::Start => {
                self.may_fault()?;
                Ok(Cell::Any)
            }
        }
    }

    /// Applies `apply` to the value; `None` is an error of the model.
    pub fn map(&mut self, cell: Cell, apply: impl Fn(Scalar) -> Option<Value>) -> Result<Cell, End> {
        match self.settle(cell) {
            Cell::Known(value) => apply(value).map(|v| Cell::Known(Some(v))).ok_or(End::Fault),
            Cell::Any | Cell::Start => Ok(Cell::Any),
            Cell::Map(slot, table) => {
                let known = self.known(slot);
                self.burn(known.count() as u64 / 8)?;
                let mut results: Vec<Scalar> = vec![None; table.len()];
                let mut bad = Bits::default();
                for n in known.iter() {
                    results[n] = apply(table[n]);
                    if results[n].is_none() {
                        bad.insert(n);
                    }
                }
                self.fault_where(slot, bad)?;
                Ok(self.settle(Cell::Map(slot, results.into())))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: Cell, right: Cell) -> Result<Cell, End> {
        let fails = matches!(
            op,
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder
        );
        if fails && (matches!(left, Cell::Any) || matches!(right, Cell::Any)) {
            self.may_fault()?;
        }
        self.combine(left, right, |l, r| op.apply(l?, r?))
    }

    /// Applies `apply` to two values; `None` is an error of the model.
    pub fn combine(
        &mut self,
        left: Cell,
        right: Cell,
        apply: impl Fn(Scalar, Scalar) -> Option<Value>,
    ) -> Result<Cell, End> {
        match (self.settle(left), self.settle(right)) {
            (Cell::Any | Cell::Start, _) | (_, Cell::Any | Cell::Start) => Ok(Cell::Any),
            (Cell::Known(l), right) => self.map(right, |r| apply(l, r)),
            (left, Cell::Known(r)) => self.map(left, |l| apply(l, r)),
            (Cell::Map(a, f), Cell::Map(b, g)) if a == b => {
                // Both hang on the same scalar: its places stand for the pairs.
                let pairs: Rc<[Scalar]> = (0..f.len() as Value).map(Some).collect();
                self.map(Cell::Map(a, pairs), |n| {
                    let n = n? as usize;
                    apply(f[n], g[n])
                })
            }
            (Cell::Map(a, f), Cell::Map(b, g)) => {
                // The one with fewer values is split.
                let (left, right) = (Cell::Map(a, f), Cell::Map(b, g));
                if self.known(a).count() <= self.known(b).count() {
                    match self.concrete(left)? {
                        Some(l) => self.map(right, |r| apply(l, r)),
                        None => Ok(Cell::Any),
                    }
                } else {
                    match self.concrete(right)? {
                        Some(r) => self.map(left, |l| apply(l, r)),
                        None => Ok(Cell::Any),
                    }
                }
            }
        }
    }

    /// Follows only the ways on which the condition is `holds`.
    pub fn assume(&mut self, condition: &'a Expr, holds: bool) -> Result<(), End> {
        self.deeper(|machine| machine.assume_inside(condition, holds))
    }

    fn assume_inside(&mut self, condition: &'a Expr, holds: bool) -> Result<(), End> {
        match (&condition.kind, holds) {
            (ExprKind::Unary(UnaryOp::Not, of), _) => self.assume(of, !holds),
            (ExprKind::Binary(BinaryOp::And, left, right), true) => {
                self.assume(left, true)?;
                self.assume(right, true)
            }
            (ExprKind::Binary(BinaryOp::Or, left, right), false) => {
                self.assume(left, false)?;
                self.assume(right, false)
            }
            (ExprKind::Binary(BinaryOp::Implies, left, right), false) => {
                self.assume(left, true)?;
                self.assume(right, false)
            }
            (ExprKind::Binary(BinaryOp::And, left, right), false) => {
                let left = self.value(left)?;
                if self.decide(left)? { self.assume(right, false) } else { Ok(()) }
            }
            (ExprKind::Binary(BinaryOp::Or, left, right), true) => {
                let left = self.value(left)?;
                if self.decide(left)? { Ok(()) } else { self.assume(right, true) }
            }
            (ExprKind::Binary(BinaryOp::Implies, left, right), true) => {
                let left = self.value(left)?;
                if self.decide(left)? { self.assume(right, true) } else { Ok(()) }
            }
            (ExprKind::Quantified { quantifier, local, range, body }, _)
                if (*quantifier == Quantifier::ForAll) == holds =>
            {
                for value in self.range(range)? {
                    self.bind(*local, value);
                    self.assume(body, holds)?;
                }
                Ok(())
            }
            _ => {
                let value = self.value(condition)?;
                match self.settle(value) {
                    Cell::Known(value) if (value != Some(0)) == holds => Ok(()),
                    Cell::Known(_) => Err(End::Impossible),
                    Cell::Any | Cell::Start => {
                        self.vague = true;
                        Ok(())
                    }
                    Cell::Map(slot, table) => {
                        let (yes, no) = truths(&self.known(slot), &table);
                        self.restrict(slot, if holds { yes } else { no })
                    }
                }
            }
        }
    }

    /// The values of a range; its bounds are evaluated now.
    pub fn range(&mut self, range: &'a Range) -> Result<Vec<Value>, End> {
        match range {
            Range::Domain(id) => {
                let domain = &self.system.domains[*id];
                if domain.size() > MAX_TURNS as u64 {
                    Err(End::GiveUp)
                } else {
                    Ok(domain.values().collect())
                }
            }
            Range::Steps { from, to, by } => {
                let (from, to, by) = (self.number(from)?, self.number(to)?, self.number(by)?);
                if by == 0 {
                    return Err(End::Fault);
                }
                let mut values = Vec::new();
                let mut next = Some(from);
                while let Some(value) = next.filter(|&v| if by > 0 { v <= to } else { v >= to }) {
                    if values.len() == MAX_TURNS {
                        return Err(End::GiveUp);
                    }
                    values.push(value);
                    next = value.checked_add(by);
                }
                Ok(values)
            }
        }
    }

    /// A value that must be known to go on.
    fn number(&mut self, expr: &'a Expr) -> Result<Value, End> {
        let cell = self.value(expr)?;
        self.concrete(cell)?.flatten().ok_or(End::GiveUp)
    }
}
