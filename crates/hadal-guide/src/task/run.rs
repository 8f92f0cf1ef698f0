//! What a statement does on the present path; places and calls.

use super::bits::Bits;
use super::machine::{Cell, End, Machine, Spot, blank, each_domain};
use super::universe::Scalar;
use hadal_system::{
    Argument, Base, CheckKind, DomainId, FunctionId, LocalId, LocalKind, Place, Shape, ShapeId, Step, Stmt,
    StmtKind, System, Value,
};

/// What to do after a statement.
pub(super) enum Flow {
    Next,
    Return(Option<Cell>),
}

/// Aggregates of more scalars than this are not followed.
const MAX_COPY: usize = 1 << 14;

impl<'a> Machine<'a> {
    /// Runs statements until one leaves.
    pub fn block(&mut self, body: &'a [Stmt]) -> Result<Flow, End> {
        for stmt in body {
            if let Flow::Return(value) = self.deeper(|machine| machine.statement(stmt))? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, stmt: &'a Stmt) -> Result<Flow, End> {
        match &stmt.kind {
            StmtKind::Assign(place, expr) => {
                let (spot, shape) = self.resolve(place)?;
                let value = self.value(expr)?;
                let value = match self.system.shapes.scalar(shape) {
                    Some(domain) => self.fit(value, domain)?,
                    None => value,
                };
                self.store(spot, 1, |_| value.clone())?;
            }
            StmtKind::Copy { to, from } => {
                let (to, to_shape) = self.resolve(to)?;
                let (from, from_shape) = self.resolve(from)?;
                let cells = self.contents(from, from_shape)?;
                let mut domains = Vec::with_capacity(cells.len());
                each_domain(self.system, to_shape, &mut |domain| domains.push(domain));
                let mut fitting = Vec::with_capacity(cells.len());
                for (cell, domain) in cells.into_iter().zip(domains) {
                    fitting.push(self.fit_scalar(cell, domain)?);
                }
                self.store(to, fitting.len(), |n| fitting[n].clone())?;
            }
            StmtKind::Clear(place) => {
                let (spot, shape) = self.resolve(place)?;
                let cleared = contents_after(self.system, shape, true);
                self.store(spot, cleared.len(), |n| Cell::Known(cleared[n]))?;
            }
            StmtKind::Undefine(place) => {
                let (spot, shape) = self.resolve(place)?;
                let undefined = contents_after(self.system, shape, false);
                self.store(spot, undefined.len(), |n| Cell::Known(undefined[n]))?;
            }
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    let condition = self.value(condition)?;
                    if self.decide(condition)? {
                        return self.block(body);
                    }
                }
                return self.block(otherwise);
            }
            StmtKind::Switch { subject, arms, otherwise } => {
                let subject = self.value(subject)?;
                for arm in arms {
                    for value in &arm.values {
                        let value = self.value(value)?;
                        let same = self.combine(subject.clone(), value, |s, v| Some((s == v).into()))?;
                        if self.decide(same)? {
                            return self.block(&arm.body);
                        }
                    }
                }
                return self.block(otherwise);
            }
            StmtKind::For { local, range, body } => {
                for value in self.range(range)? {
                    self.bind(*local, value);
                    if let Flow::Return(value) = self.block(body)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
            StmtKind::While(condition, body) => loop {
                // A loop whose end is unknown is ended by the fuel.
                let held = self.value(condition)?;
                if !self.decide(held)? {
                    break;
                }
                self.burn(1)?;
                if let Flow::Return(value) = self.block(body)? {
                    return Ok(Flow::Return(value));
                }
            },
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments)?;
            }
            StmtKind::Return(None) => return Ok(Flow::Return(None)),
            StmtKind::Return(Some(expr)) => return Ok(Flow::Return(Some(self.value(expr)?))),
            StmtKind::Bind { local, place, body } => {
                let target = self.resolve(place)?;
                let at = local.0 as usize;
                let before = self.frame().references[at].replace(target);
                let flow = self.block(body)?;
                self.frame().references[at] = before;
                return Ok(flow);
            }
            StmtKind::Check { kind: CheckKind::Assume, condition, .. } => {
                self.assume(condition, true).map_err(|end| match end {
                    End::Impossible => End::Dropped,
                    other => other,
                })?;
            }
            StmtKind::Check { kind: CheckKind::Assert, condition, .. } => {
                if self.faults == super::machine::Faults::Skipped {
                    self.assume(condition, true)?;
                } else {
                    let held = self.value(condition)?;
                    if !self.decide(held)? {
                        return Err(End::Fault);
                    }
                }
            }
            StmtKind::Fail(_) => return Err(End::Fault),
            StmtKind::Cover(_, condition) => {
                self.value(condition)?;
            }
            StmtKind::Print(_) => {}
        }
        Ok(Flow::Next)
    }

    /// A defined value that is to be written to a scalar of this domain.
    fn fit(&mut self, cell: Cell, domain: DomainId) -> Result<Cell, End> {
        if let Cell::Any = cell {
            self.may_fault()?;
            return Ok(cell);
        }
        let domain = &self.system.domains[domain];
        self.map(cell, |value| value.filter(|&v| domain.contains(v)))
    }

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

    /// Where a place is, and the shape of what stands there.
    pub fn resolve(&mut self, place: &'a Place) -> Result<(Spot, ShapeId), End> {
        let system = self.system;
        let (mut spot, mut shape) = match place.base {
            Base::Global(var) => {
                (Spot::At(self.first_slots[var.0 as usize] as u32), system.variable(var).shape)
            }
            Base::Local(LocalId(n)) => {
                let frame = self.frame();
                let local = &frame.locals[n as usize];
                match local.kind {
                    LocalKind::Reference => frame.references[n as usize].ok_or(End::GiveUp)?,
                    LocalKind::Bound | LocalKind::Variable => {
                        (Spot::At(frame.slots[n as usize]), local.shape)
                    }
                }
            }
        };
        for step in &place.steps {
            match (step, &system.shapes[shape]) {
                (Step::Field(field), Shape::Record(fields)) => {
                    if let Spot::At(slot) = &mut spot {
                        *slot += system.shapes.field_slot(fields, *field) as u32;
                    }
                    shape = fields[*field].shape;
                }
                (
                    Step::Index(index),
                    Shape::Array { index: domain, element } | Shape::Multiset { slots: domain, element },
                ) => {
                    let index = self.value(index)?;
                    let domain = &system.domains[*domain];
                    let position = self.map(index, |v| domain.position(v?).map(|p| p as Value))?;
                    let stride = system.shapes.slots(*element) as u32;
                    match (spot, self.concrete(position)?) {
                        (Spot::At(slot), Some(position)) => {
                            spot = Spot::At(slot + position.unwrap_or(0) as u32 * stride);
                        }
                        (Spot::At(slot), None) => {
                            self.may_fault()?;
                            spot = Spot::Within(slot, slot + stride * domain.size() as u32);
                        }
                        (within, _) => spot = within,
                    }
                    shape = *element;
                }
                // Other combinations are refused by `validate`.
                _ => return Err(End::GiveUp),
            }
        }
        Ok((spot, shape))
    }

    /// The scalar at a spot.
    pub fn load(&mut self, spot: Spot) -> Cell {
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
    pub fn contents(&mut self, spot: Spot, shape: ShapeId) -> Result<Vec<Cell>, End> {
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

    /// Gives a bound local its value.
    pub fn bind(&mut self, local: LocalId, value: Value) {
        let slot = self.frame().slots[local.0 as usize];
        self.put(slot, Cell::Known(Some(value)));
    }

    /// Calls a function; its result, where it has one.
    pub fn call(&mut self, id: FunctionId, arguments: &'a [Argument]) -> Result<Option<Cell>, End> {
        self.deeper(|machine| machine.call_inside(id, arguments))
    }

    fn call_inside(&mut self, id: FunctionId, arguments: &'a [Argument]) -> Result<Option<Cell>, End> {
        let function = self.system.function(id);
        enum Passed {
            Cells(Vec<Cell>),
            Place(Spot, ShapeId),
        }
        let mut passed = Vec::with_capacity(arguments.len());
        for (argument, parameter) in arguments.iter().zip(&function.locals) {
            passed.push(match argument {
                Argument::Value(expr) => {
                    let value = self.value(expr)?;
                    let value = match self.system.shapes.scalar(parameter.shape) {
                        Some(domain) => self.fit(value, domain)?,
                        None => value,
                    };
                    Passed::Cells(vec![value])
                }
                Argument::Copy(place) => {
                    let (spot, shape) = self.resolve(place)?;
                    Passed::Cells(self.contents(spot, shape)?)
                }
                Argument::Reference(place) => {
                    let (spot, shape) = self.resolve(place)?;
                    Passed::Place(spot, shape)
                }
            });
        }
        let first = self.cells.len();
        self.enter(&function.locals)?;
        for (n, passed) in passed.into_iter().enumerate() {
            match passed {
                Passed::Cells(cells) => {
                    let slot = self.frame().slots[n];
                    for (at, cell) in cells.into_iter().enumerate() {
                        self.put(slot + at as u32, cell);
                    }
                }
                Passed::Place(spot, shape) => self.frame().references[n] = Some((spot, shape)),
            }
        }
        let flow = self.block(&function.body)?;
        self.leave(first);
        let Some(domain) = function.result else { return Ok(None) };
        let Flow::Return(Some(value)) = flow else { return Err(End::Fault) };
        Ok(Some(self.fit(value, domain)?))
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
