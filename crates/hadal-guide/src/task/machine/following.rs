//! The machine as an [`AbstractMachine`] that follows one path at a time: a condition that may be both is split by, and the
//! run repeated for the other part.

use super::{Cell, End, Faults, Machine, Spot, blank, each_domain};
use crate::task::bits::Bits;
use crate::task::universe::Scalar;
use hadal_system::machine::{AbstractMachine, Behind, Blank, Decision, Frame, Passed, Turns, block, steps};
use hadal_system::{
    BinaryOp, CheckKind, DomainId, Expr, Function, FunctionId, Range, Shape, ShapeId, Stmt, SwitchArm,
    System, UnaryOp, Value, VarId,
};
use std::convert::Infallible;

/// Deeper nesting is not followed.
const MAX_DEPTH: u32 = 400;

/// Loops over more values than this are not followed.
const MAX_TURNS: u64 = 4096;

/// Aggregates of more scalars than this are not followed.
const MAX_COPY: usize = 1 << 14;

type Spotted = (Spot, ShapeId);

impl<'a> AbstractMachine<'a> for Machine<'a> {
    type Value = Cell;
    type Spot = Spot;
    type Contents = Vec<Cell>;
    type Stop = End;
    type Aside = Infallible;
    type Exit = ();

    fn system(&self) -> &'a System {
        self.system
    }

    fn frames(&mut self) -> &mut Vec<Frame<'a, Self>> {
        &mut self.frames
    }

    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, End>) -> Result<T, End> {
        self.burn(1)?;
        if self.depth == MAX_DEPTH {
            return Err(End::GiveUp);
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    fn next_slot(&self) -> u32 {
        self.cells.len() as u32
    }

    fn push_bound(&mut self) {
        self.cells.push(Cell::Known(None));
    }

    fn push_variable(&mut self, shape: ShapeId) -> Result<(), End> {
        let system = self.system;
        self.burn(system.shapes.slots(shape) as u64)?;
        let mut blanks = Vec::new();
        each_domain(system, shape, &mut |domain| blanks.push(Cell::Known(blank(system, domain))));
        self.cells.extend(blanks);
        Ok(())
    }

    fn first_slot(&self, var: VarId) -> u32 {
        self.first_slots[var.0 as usize] as u32
    }

    fn at(slot: u32) -> Spot {
        Spot::At(slot)
    }

    fn inside(spot: &mut Spot, by: u32) {
        if let Spot::At(slot) = spot {
            *slot += by;
        }
    }

    fn element(&mut self, (spot, array): Spotted, index: Cell) -> Result<Spot, End> {
        let system = self.system;
        let (Shape::Array { index: domain, element } | Shape::Multiset { slots: domain, element }) =
            &system.shapes[array]
        else {
            return Err(End::GiveUp);
        };
        let domain = &system.domains[*domain];
        let position = self.map(index, |v| domain.position(v?).map(|p| p as Value))?;
        let stride = system.shapes.slots(*element) as u32;
        match (spot, self.concrete(position)?) {
            (Spot::At(slot), Some(position)) => Ok(Spot::At(slot + position.unwrap_or(0) as u32 * stride)),
            (Spot::At(slot), None) => {
                self.may_fault()?;
                Ok(Spot::Within(slot, slot + stride * domain.size() as u32))
            }
            (within, _) => Ok(within),
        }
    }

    fn misplaced(&mut self) -> End {
        End::GiveUp
    }

    fn constant(value: Value) -> Cell {
        Cell::Known(Some(value))
    }

    fn either(_: Cell, _: Cell) -> Cell {
        Cell::Any
    }

    fn read(&mut self, (spot, _): Spotted) -> Result<Cell, End> {
        let cell = self.load(spot);
        self.defined(cell)
    }

    fn is_undefined(&mut self, (spot, shape): Spotted) -> Result<Cell, End> {
        let mut last = Cell::Known(Some(0));
        let cells = self.scalars(spot, shape)?;
        let count = cells.len();
        for (n, cell) in cells.into_iter().enumerate() {
            last = self.map(cell, |value| Some(value.is_none().into()))?;
            // The last one decides by itself; before it, undefined already does.
            if n + 1 < count && self.split(last.clone())? {
                return Ok(Cell::Known(Some(1)));
            }
        }
        Ok(last)
    }

    fn same(&mut self, (left, left_shape): Spotted, (right, right_shape): Spotted) -> Result<Cell, End> {
        let left = self.scalars(left, left_shape)?;
        let right = self.scalars(right, right_shape)?;
        for (left, right) in left.into_iter().zip(right) {
            let same = self.combine(left, right, |l, r| Some((l == r).into()))?;
            if !self.split(same)? {
                return Ok(Cell::Known(Some(0)));
            }
        }
        Ok(Cell::Known(Some(1)))
    }

    fn truth(&mut self, of: Cell) -> Result<Cell, End> {
        self.map(of, |value| Some((value? != 0).into()))
    }

    fn unary(&mut self, op: UnaryOp, of: Cell) -> Result<Cell, End> {
        if op == UnaryOp::Negate && matches!(of, Cell::Any) {
            self.may_fault()?;
        }
        self.map(of, |value| op.apply(value?))
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

    fn wrap(&mut self, of: Cell, domain: DomainId) -> Result<Cell, End> {
        let domain = &self.system.domains[domain];
        self.map(of, |value| Some(domain.wrap(value?)))
    }

    fn in_domain(&mut self, of: Cell, domain: DomainId) -> Result<Cell, End> {
        let domain = &self.system.domains[domain];
        self.map(of, |value| Some(domain.contains(value?).into()))
    }

    fn fit(&mut self, cell: Cell, domain: DomainId) -> Result<Cell, End> {
        if let Cell::Any = cell {
            self.may_fault()?;
            return Ok(cell);
        }
        let domain = &self.system.domains[domain];
        self.map(cell, |value| value.filter(|&v| domain.contains(v)))
    }

    fn contents(&mut self, (spot, shape): Spotted) -> Result<Vec<Cell>, End> {
        self.scalars(spot, shape)
    }

    fn assign(&mut self, to: Spot, value: Cell) -> Result<(), End> {
        self.store(to, 1, |_| value.clone())
    }

    fn paste(&mut self, (to, shape): Spotted, cells: Vec<Cell>) -> Result<(), End> {
        let mut domains = Vec::with_capacity(cells.len());
        each_domain(self.system, shape, &mut |domain| domains.push(domain));
        let mut fitting = Vec::with_capacity(cells.len());
        for (cell, domain) in cells.into_iter().zip(domains) {
            fitting.push(self.fit_scalar(cell, domain)?);
        }
        self.store(to, fitting.len(), |n| fitting[n].clone())
    }

    fn blank(&mut self, (spot, shape): Spotted, blank: Blank) -> Result<(), End> {
        let left = contents_after(self.system, shape, blank == Blank::Cleared);
        self.store(spot, left.len(), |n| Cell::Known(left[n]))
    }

    fn hand_over(&mut self, slot: u32, _: ShapeId, passed: Result<Cell, Vec<Cell>>) {
        match passed {
            Ok(cell) => self.put(slot, cell),
            Err(cells) => {
                for (at, cell) in cells.into_iter().enumerate() {
                    self.put(slot + at as u32, cell);
                }
            }
        }
    }

    fn bind(&mut self, slot: u32, value: Value) {
        self.put(slot, Cell::Known(Some(value)));
    }

    fn unbind(&mut self, _: u32) {}

    fn decide(&mut self, value: &Cell, _: impl FnOnce() -> Behind) -> Result<Decision<Infallible>, End> {
        Ok(if self.split(value.clone())? { Decision::Holds } else { Decision::Fails })
    }

    fn learn(&mut self, _: &'a Expr, _: bool) -> Result<(), End> {
        // The split by the condition's value said it all.
        Ok(())
    }

    fn turn(&mut self, aside: &mut Infallible) {
        match *aside {}
    }

    fn rejoin(&mut self, aside: Infallible, _: bool, _: bool) {
        match aside {}
    }

    fn gather(&mut self, _: &mut Option<Infallible>, aside: Infallible) {
        match aside {}
    }

    fn turns(&mut self, range: &'a Range) -> Result<Turns<Cell>, End> {
        let list = match range {
            Range::Domain(id) => {
                let domain = &self.system.domains[*id];
                (domain.size() <= MAX_TURNS).then(|| domain.values().collect())
            }
            Range::Steps { from, to, by } => {
                let (from, to, by) = (self.number(from)?, self.number(to)?, self.number(by)?);
                if by == 0 {
                    return Err(End::Fault);
                }
                steps((from, to, by), MAX_TURNS)
            }
        };
        match list {
            None => Err(End::GiveUp),
            list => Ok(Turns { list, hull: Cell::Any }),
        }
    }

    fn unrolls(&mut self) -> bool {
        true
    }

    fn begin_turns(&mut self, _: Behind) {}

    fn end_turns(&mut self, _: Behind) {}

    fn any_turns(
        &mut self,
        _: (u32, Cell),
        _: Behind,
        _: &mut dyn FnMut(&mut Self) -> Result<(), End>,
    ) -> Result<(), End> {
        Err(End::GiveUp)
    }

    fn repeat(&mut self, condition: &'a Expr, body: &'a [Stmt]) -> Result<(), End> {
        loop {
            // A loop whose end is unknown is ended by the fuel.
            let held = self.value(condition)?;
            if !self.split(held)? {
                return Ok(());
            }
            self.burn(1)?;
            block(self, body)?;
        }
    }

    fn switch(&mut self, subject: &'a Expr, arms: &'a [SwitchArm], otherwise: &'a [Stmt]) -> Result<(), End> {
        let subject = self.value(subject)?;
        for arm in arms {
            for value in &arm.values {
                let value = self.value(value)?;
                let same = self.combine(subject.clone(), value, |s, v| Some((s == v).into()))?;
                if self.split(same)? {
                    return block(self, &arm.body);
                }
            }
        }
        block(self, otherwise)
    }

    fn check(&mut self, kind: CheckKind, condition: &'a Expr) -> Result<(), End> {
        match kind {
            CheckKind::Assume => self.assume(condition, true).map_err(|end| match end {
                End::Impossible => End::Dropped,
                other => other,
            }),
            CheckKind::Assert if self.faults == Faults::Skipped => self.assume(condition, true),
            CheckKind::Assert => {
                let held = self.value(condition)?;
                if self.split(held)? { Ok(()) } else { Err(End::Fault) }
            }
        }
    }

    fn fail(&mut self) -> End {
        End::Fault
    }

    fn unfollowed(&mut self, _: FunctionId, _: &[Passed<'a, Self>]) -> Option<Result<Option<Cell>, End>> {
        None
    }

    fn return_with(&mut self, result: Option<Cell>) -> End {
        self.returned = result;
        End::Returned
    }

    fn leave_call(
        &mut self,
        function: &'a Function,
        first: u32,
        end: Result<(), End>,
    ) -> Result<Option<Cell>, End> {
        let returned = match end {
            Ok(()) => None,
            Err(End::Returned) => self.returned.take(),
            Err(end) => return Err(end),
        };
        self.frames.pop();
        self.cells.truncate(first as usize);
        let Some(domain) = function.result else { return Ok(None) };
        let value = returned.ok_or(End::Fault)?;
        Ok(Some(self.fit(value, domain)?))
    }
}

impl Machine<'_> {
    /// A value, perhaps undefined, that is to be copied to a scalar of this domain.
    fn fit_scalar(&mut self, cell: Cell, domain: DomainId) -> Result<Cell, End> {
        let fits = |value: Scalar| self.system.domains[domain].encode(value).is_some();
        match &cell {
            Cell::Known(value) => fits(*value).then_some(cell).ok_or(End::Fault),
            Cell::Map(slot, table) => {
                let slot = *slot;
                let bad: Bits = self.known(slot).iter().filter(|&n| !fits(table[n])).collect();
                self.fault_where(slot, bad)?;
                Ok(cell)
            }
            Cell::Any | Cell::Start => Ok(Cell::Any),
        }
    }

    /// The scalar at a spot.
    fn load(&mut self, spot: Spot) -> Cell {
        match spot {
            Spot::At(slot) => self.cell(slot),
            Spot::Within(from, to) => {
                for slot in from..to.min(self.state_slots as u32) {
                    self.looked.insert(self.universe.var_of[slot as usize]);
                }
                Cell::Any
            }
        }
    }

    /// Every scalar below a spot.
    fn scalars(&mut self, spot: Spot, shape: ShapeId) -> Result<Vec<Cell>, End> {
        let count = self.system.shapes.slots(shape);
        if count > MAX_COPY {
            return Err(End::GiveUp);
        }
        self.burn(count as u64 / 4)?;
        Ok(match spot {
            Spot::At(first) => (0..count as u32).map(|n| self.cell(first + n)).collect(),
            Spot::Within(..) => vec![Cell::Any; count],
        })
    }

    /// Writes `count` scalars; where it is unknown which, any of them may have become anything.
    fn store(&mut self, spot: Spot, count: usize, content: impl Fn(usize) -> Cell) -> Result<(), End> {
        match spot {
            Spot::At(first) => {
                self.burn(count as u64 / 4)?;
                for n in 0..count {
                    self.put(first + n as u32, content(n));
                }
            }
            Spot::Within(from, to) => {
                self.burn(u64::from(to - from) / 4)?;
                for slot in from..to {
                    self.put(slot, Cell::Any);
                }
            }
        }
        Ok(())
    }
}

/// What clearing (or undefining) leaves in every scalar of a shape. Multisets are emptied by both.
fn contents_after(system: &System, shape: ShapeId, clear: bool) -> Vec<Scalar> {
    fn walk(system: &System, shape: ShapeId, clear: bool, out: &mut Vec<Scalar>) {
        match &system.shapes[shape] {
            Shape::Scalar(domain) if clear => out.push(Some(system.domains[*domain].min())),
            Shape::Scalar(domain) => out.push(blank(system, *domain)),
            Shape::Record(fields) => fields.iter().for_each(|f| walk(system, f.shape, clear, out)),
            Shape::Array { index, element } => {
                (0..system.domains[*index].size()).for_each(|_| walk(system, *element, clear, out));
            }
            Shape::Multiset { slots, element } => {
                (0..system.domains[*slots].size()).for_each(|_| walk(system, *element, false, out));
            }
        }
    }
    let mut out = Vec::new();
    walk(system, shape, clear, &mut out);
    out
}
