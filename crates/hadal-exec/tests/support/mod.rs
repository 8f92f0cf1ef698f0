//! Builds small systems by hand. Each test file uses some of it.
#![allow(dead_code)]

use hadal_exec::{Interpreter, Notes, Outcome};
use hadal_system::*;

pub const NOWHERE: Span = Span { start: 0, end: 0 };

pub fn empty() -> System {
    System { name: "hand-built".into(), source: Source::new("hand-built", ""), ..System::default() }
}

/// Adds to a system and gives back ids.
pub trait Build {
    fn shape(&mut self, shape: Shape) -> ShapeId;
    fn scalar(&mut self, domain: Domain) -> ShapeId;
    fn array(&mut self, index: Domain, element: ShapeId) -> ShapeId;
    fn record(&mut self, fields: &[(&str, ShapeId)]) -> ShapeId;
    fn var(&mut self, name: &str, shape: ShapeId) -> Place;
    fn action(&mut self, locals: Vec<Local>, guard: Expr, body: Vec<Stmt>);
    /// A function all of whose locals are parameters.
    fn define(
        &mut self,
        name: &str,
        locals: Vec<Local>,
        result: Option<Domain>,
        body: Vec<Stmt>,
    ) -> FunctionId;
    fn invariant(&mut self, condition: Expr) -> PropertyId;
}

impl Build for System {
    fn shape(&mut self, shape: Shape) -> ShapeId {
        self.shapes.add(shape, &self.domains).unwrap()
    }

    fn scalar(&mut self, domain: Domain) -> ShapeId {
        let domain = self.domains.add(domain);
        self.shape(Shape::Scalar(domain))
    }

    fn array(&mut self, index: Domain, element: ShapeId) -> ShapeId {
        let index = self.domains.add(index);
        self.shape(Shape::Array { index, element })
    }

    fn record(&mut self, fields: &[(&str, ShapeId)]) -> ShapeId {
        let fields = fields.iter().map(|&(name, shape)| Field { name: name.into(), shape }).collect();
        self.shape(Shape::Record(fields))
    }

    fn var(&mut self, name: &str, shape: ShapeId) -> Place {
        let id = VarId(self.variables.len() as u32);
        self.variables.push(Variable {
            name: name.into(),
            shape,
            role: Role::Data,
            owner: None,
            span: NOWHERE,
        });
        Place::global(id, shape, NOWHERE)
    }

    fn action(&mut self, locals: Vec<Local>, guard: Expr, body: Vec<Stmt>) {
        self.actions.push(Action {
            name: format!("action{}", self.actions.len()),
            locals,
            guard,
            body,
            ..Action::default()
        });
    }

    fn define(
        &mut self,
        name: &str,
        locals: Vec<Local>,
        result: Option<Domain>,
        body: Vec<Stmt>,
    ) -> FunctionId {
        let parameters = locals.len();
        let result = result.map(|domain| self.domains.add(domain));
        self.functions.push(Function { name: name.into(), parameters, locals, result, body, span: NOWHERE });
        FunctionId(self.functions.len() as u32 - 1)
    }

    fn invariant(&mut self, condition: Expr) -> PropertyId {
        self.properties.push(Property {
            name: format!("invariant{}", self.properties.len()),
            kind: PropertyKind::Invariant,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(condition),
            span: NOWHERE,
        });
        PropertyId(self.property_bases()[self.properties.len() - 1])
    }
}

pub fn local(name: &str, shape: ShapeId, kind: LocalKind) -> Local {
    Local { name: name.into(), shape, kind }
}

pub fn of(n: u32, shape: ShapeId) -> Place {
    Place::local(LocalId(n), shape, NOWHERE)
}

pub fn int(value: Value) -> Expr {
    Expr::constant(value)
}

pub fn bin(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::binary(op, left, right)
}

pub fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, NOWHERE)
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt::new(kind, NOWHERE)
}

pub fn set(place: &Place, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place.clone(), value))
}

pub fn add_one(place: &Place) -> Stmt {
    set(place, bin(BinaryOp::Add, place.clone().read(), int(1)))
}

/// `place[index]`
pub fn at(system: &System, place: &Place, index: Expr) -> Place {
    let mut place = place.clone();
    let (Shape::Array { element, .. } | Shape::Multiset { element, .. }) = system.shapes[place.shape] else {
        panic!("not an array")
    };
    place.steps.push(Step::Index(index));
    place.shape = element;
    place
}

/// `place.field`, by number.
pub fn field(system: &System, place: &Place, n: usize) -> Place {
    let mut place = place.clone();
    let Shape::Record(fields) = &system.shapes[place.shape] else { panic!("not a record") };
    place.shape = fields[n].shape;
    place.steps.push(Step::Field(n));
    place
}

/// What action 0 makes of the blank state: the scalars, or the fault's message, or `disabled` or `dropped`.
pub fn fire_on_blank(system: &System) -> Result<Vec<Option<Value>>, String> {
    fire_noting(system).0
}

pub fn fire_noting(system: &System) -> (Result<Vec<Option<Value>>, String>, Notes) {
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let mut notes = Notes { printed: Some(String::new()), ..Notes::default() };
    let blank = vec![0; layout.words()];
    let result = match interpreter.fire_noting(&blank, Label(0), &mut notes) {
        Outcome::Reached(state) => Ok(layout.unpack(system, &state)),
        Outcome::Fault(fault) => Err(fault.message),
        Outcome::Disabled => Err("disabled".into()),
        Outcome::Dropped => Err("dropped".into()),
    };
    (result, notes)
}

/// Compares what two spaces say of the successors of the first states that the second can reach; how many of the
/// `whole` space's are left out there.
pub fn compare_successors(whole: &dyn StateSpace, one: &dyn StateSpace, other: &dyn StateSpace) -> usize {
    let (mut whole, mut one, mut by) = (whole.worker(), one.worker(), other.worker());
    let mut reached = Successors::new(other.words());
    by.initial(&mut reached);
    let mut states: Vec<Vec<u64>> = reached.iter().map(|(_, state)| state.to_vec()).collect();
    let mut known: std::collections::HashSet<Vec<u64>> = states.iter().cloned().collect();
    let (mut at, mut left_out) = (0, 0);
    while at < states.len().min(500) {
        let [mut all, mut first, mut second] = [(); 3].map(|()| Successors::new(other.words()));
        whole.successors(&states[at], &mut all);
        one.successors(&states[at], &mut first);
        by.successors(&states[at], &mut second);
        assert_eq!(first.labels(), second.labels(), "state {at}");
        assert_eq!(first.states(), second.states(), "state {at}");
        assert_eq!(first.faults(), second.faults(), "state {at}");
        left_out += all.len() - second.len();
        states.extend(second.iter().map(|(_, state)| state.to_vec()).filter(|it| known.insert(it.clone())));
        at += 1;
    }
    left_out
}
