//! What follows from values and conditions on the present path.

use super::{Cell, End, Machine, truths};
use crate::task::bits::Bits;
use crate::task::universe::Scalar;
use hadal_system::machine::AbstractMachine;
use hadal_system::{BinaryOp, Expr, ExprKind, Quantifier, UnaryOp, Value};
use std::rc::Rc;

impl<'a> Machine<'a> {
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
                if self.split(left)? { self.assume(right, false) } else { Ok(()) }
            }
            (ExprKind::Binary(BinaryOp::Or, left, right), true) => {
                let left = self.value(left)?;
                if self.split(left)? { Ok(()) } else { self.assume(right, true) }
            }
            (ExprKind::Binary(BinaryOp::Implies, left, right), true) => {
                let left = self.value(left)?;
                if self.split(left)? { self.assume(right, true) } else { Ok(()) }
            }
            (ExprKind::Quantified { quantifier, local, range, body }, _)
                if (*quantifier == Quantifier::ForAll) == holds =>
            {
                let slot = self.local_slot(*local);
                for value in self.turns(range)?.list.into_iter().flatten() {
                    self.bind(slot, value);
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

    /// A value that must be known to go on.
    pub(super) fn number(&mut self, expr: &'a Expr) -> Result<Value, End> {
        let cell = self.value(expr)?;
        self.concrete(cell)?.flatten().ok_or(End::GiveUp)
    }
}
