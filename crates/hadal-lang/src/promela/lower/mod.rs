//! [`Model`] to [`System`].
//!
//! * Each process type has as many *slots* as instances of it can live at once. A slot has a location (0: nobody lives
//!   here), the instance's number where it varies, and its locals, all 0 while nobody lives there. Numbers are given and
//!   taken back last in, first out, as in SPIN: the occupied slots of a type are always its first ones.
//! * Each step out of a control state becomes an action per slot and channel; a rendezvous is one action of both sides.
//! * `timeout` is an action of rank 1; atomic sequences go on alone ([`hadal_system::Action::then`]).

mod action;
mod claim;
mod death;
mod declare;
mod exclusive;
mod jump;
mod message;
mod operation;
mod priority;
mod run;
pub(in crate::promela) mod slots;
mod step;
mod term;
mod trace;
mod unseen;

pub use claim::ACCEPTANCE;
pub use run::NO_ROOM;

use priority::{Priorities, Priority};

use super::model::{ElementId, Model, Term, Type};
use crate::channel::Channel;
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::{
    Action, BinaryOp, ControlEdge, Domain, DomainId, Domains, Expr, Function, Local, LocalId, LocalKind,
    Location, Place, Process, ProcessId, Property, PropertyBody, PropertyKind, Shape, ShapeId, Shapes,
    Source, Span, Stmt, StmtKind, System, VarId, Variable,
};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How many instances a process type may have at once, by name, where that is said from outside.
pub type Instances = [(String, usize)];

/// What is asked of a model from outside.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// How many instances of a process type there may be.
    pub instances: &'a Instances,
    /// What becomes propositions, the last properties.
    pub propositions: &'a [Term],
}

/// Lowers a model; `None` where it is refused after all.
pub fn lower(model: &Model, source: Source, asked: Asked, findings: &mut Diagnostics) -> Option<System> {
    let mut lowering = Lowering::new(model, &source, findings);
    lowering.make_slots(asked.instances);
    lowering.declare(asked.propositions);
    if lowering.findings.has_errors() {
        return None;
    }
    let start = lowering.start();
    lowering.make_actions();
    let mut properties = vec![lowering.rest()];
    lowering.claims(&mut properties);
    properties.extend(asked.propositions.iter().map(|term| lowering.proposition(term)));
    if lowering.findings.has_errors() {
        return None;
    }
    let mut actions = lowering.actions;
    let mut order: Vec<usize> = (0..actions.len()).collect();
    order.sort_by_key(|&n| actions[n].rank);
    let mut places = vec![0; order.len()];
    for (place, &n) in order.iter().enumerate() {
        places[n] = place as u32;
    }
    let mut processes = lowering.processes;
    for edge in processes.iter_mut().flat_map(|process| &mut process.edges) {
        edge.action.0 = places[edge.action.0 as usize];
    }
    actions.sort_by_key(|action| action.rank);
    let name = source.name.rsplit(['/', '\\']).next().unwrap_or("model").to_string();
    Some(System {
        name,
        domains: lowering.domains,
        shapes: lowering.shapes,
        variables: lowering.variables,
        processes,
        starts: vec![start],
        functions: lowering.functions,
        actions,
        properties,
        source,
        ..System::default()
    })
}

/// The operator behind a mark.
pub(super) fn operator(mark: &str) -> BinaryOp {
    match mark {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Subtract,
        "*" => BinaryOp::Multiply,
        "/" => BinaryOp::Divide,
        "%" => BinaryOp::Remainder,
        "<<" => BinaryOp::ShiftLeft,
        ">>" => BinaryOp::ShiftRight,
        "&" => BinaryOp::BitAnd,
        "|" => BinaryOp::BitOr,
        "^" => BinaryOp::BitXor,
        "==" => BinaryOp::Equal,
        "!=" => BinaryOp::NotEqual,
        "<" => BinaryOp::Less,
        "<=" => BinaryOp::LessEqual,
        ">" => BinaryOp::Greater,
        ">=" => BinaryOp::GreaterEqual,
        "&&" => BinaryOp::And,
        _ => BinaryOp::Or,
    }
}

/// Where a variable is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    /// In the state.
    State(VarId),
    /// Nowhere: it always holds the channels from this number on.
    Channels(usize),
    /// Nowhere: nothing depends on it.
    Nowhere,
}

/// Room for one instance of a process type.
struct Slot {
    /// The type.
    class: usize,
    location: VarId,
    pid: Pid,
    priority: Priority,
    /// By number of the local.
    stores: Vec<Store>,
}

/// The number of the instance in a slot.
#[derive(Clone, Copy)]
enum Pid {
    Always(i64),
    State(VarId),
}

/// A channel that exists, perhaps only while its owner lives.
struct Queue {
    name: String,
    fields: Vec<Type>,
    /// `None` for a rendezvous.
    buffer: Option<Channel>,
    /// The slot whose instance made it.
    owner: Option<usize>,
    /// Where it is declared.
    span: Span,
}

/// The control states of a process type.
struct Control {
    /// By value of the location variable less 1.
    states: Vec<ElementId>,
    values: HashMap<ElementId, i64>,
    domain: DomainId,
}

struct Lowering<'m> {
    model: &'m Model,
    source: &'m Source,
    findings: &'m mut Diagnostics,
    domains: Domains,
    shapes: Shapes,
    variables: Vec<Variable>,
    globals: Vec<Store>,
    /// Hidden variables that nothing depends on.
    unseen: HashSet<Rc<str>>,
    slots: Vec<Slot>,
    /// The slots of each process type, in the order they are filled.
    classes: Vec<Vec<usize>>,
    controls: Vec<Control>,
    queues: Vec<Queue>,
    /// How many processes live.
    count: VarId,
    /// The number of who moved last, where it is asked for.
    last: Option<VarId>,
    /// How far the messages have followed the `trace`, where there is one.
    trace: Option<trace::Followed>,
    actions: Vec<Action>,
    processes: Vec<Process>,
    /// The locals of the action being made.
    locals: Vec<Local>,
    /// Who may move before whom.
    priorities: Priorities,
    functions: Vec<Function>,
    /// For a claim that asks `np_`: whether the run has begun to stay where it is. `np_` is false from its second move there on.
    staying: Option<bool>,
    /// Whether it is being found out if some process can move.
    enabled_asked: bool,
}

/// In which setting expressions and statements are lowered.
#[derive(Clone, Copy)]
struct Env {
    /// Whose locals are meant.
    slot: Option<usize>,
    /// What `timeout` says.
    timeout: Timeout,
}

/// What `timeout` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timeout {
    /// Something else may be possible: no.
    No,
    /// Nothing else is: yes.
    Yes,
    /// Whatever the state says, for those who look at states from outside.
    Asked,
}

impl Env {
    /// A process that goes on while others may, too.
    fn of(slot: usize) -> Self {
        Env { slot: Some(slot), timeout: Timeout::No }
    }

    /// Where nobody's locals are meant.
    fn outside(timeout: Timeout) -> Self {
        Env { slot: None, timeout }
    }

    /// The rank of steps that are possible in this setting.
    fn rank(self) -> u8 {
        u8::from(self.timeout == Timeout::Yes)
    }
}

impl<'m> Lowering<'m> {
    fn new(model: &'m Model, source: &'m Source, findings: &'m mut Diagnostics) -> Self {
        Lowering {
            model,
            source,
            findings,
            domains: Domains::default(),
            shapes: Shapes::default(),
            variables: Vec::new(),
            globals: Vec::new(),
            unseen: HashSet::new(),
            slots: Vec::new(),
            classes: Vec::new(),
            controls: Vec::new(),
            queues: Vec::new(),
            count: VarId(0),
            last: None,
            trace: None,
            actions: Vec::new(),
            processes: Vec::new(),
            locals: Vec::new(),
            priorities: Priorities::of(model),
            functions: Vec::new(),
            staying: None,
            enabled_asked: false,
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    fn shape(&mut self, shape: Shape, span: Span) -> ShapeId {
        match self.shapes.add(shape, &self.domains) {
            Ok(id) => id,
            Err(_) => {
                if !self.findings.has_errors() {
                    self.error(span, "the state has too many scalars");
                }
                ShapeId(0)
            }
        }
    }

    fn range_shape(&mut self, low: i64, high: i64) -> ShapeId {
        let domain = self.domains.add(Domain::range(low, high, false));
        self.shape(Shape::Scalar(domain), Span::default())
    }

    fn whole(&self, var: VarId, span: Span) -> Place {
        Place::global(var, self.variables[var.0 as usize].shape, span)
    }

    /// A variable of the action being made.
    fn local(&mut self, name: &str, shape: ShapeId, kind: LocalKind) -> LocalId {
        self.locals.push(Local { name: name.into(), shape, kind });
        LocalId(self.locals.len() as u32 - 1)
    }

    /// The slot's location is this.
    fn is_at(&self, slot: usize, location: i64) -> Expr {
        let read = self.whole(self.slots[slot].location, Span::default()).read();
        Expr::binary(BinaryOp::Equal, read, Expr::constant(location))
    }

    fn goes_to(&self, slot: usize, location: i64, span: Span) -> Stmt {
        let place = self.whole(self.slots[slot].location, span);
        Stmt::new(StmtKind::Assign(place, Expr::constant(location)), span)
    }

    /// Sets a variable to 0.
    fn reset(&self, variable: VarId, span: Span) -> Stmt {
        let place = self.whole(variable, span);
        Stmt::new(StmtKind::Assign(place, Expr::constant(0)), span)
    }

    /// The number of the slot's instance.
    fn pid(&self, slot: usize, span: Span) -> Expr {
        match self.slots[slot].pid {
            Pid::Always(value) => Expr::constant(value),
            Pid::State(var) => self.whole(var, span).read(),
        }
    }

    /// The control state of a process type behind an element.
    fn location(&self, class: usize, element: ElementId) -> i64 {
        self.controls[class].values.get(&element).copied().unwrap_or(0)
    }

    /// States in which every process may rest for ever.
    fn rest(&mut self) -> Property {
        let mut all = Vec::new();
        for slot in 0..self.slots.len() {
            let class = self.slots[slot].class;
            let locations = &self.processes[slot].locations;
            let ends: Vec<i64> =
                (0..locations.len() as i64).filter(|&n| n == 0 || locations[n as usize].end).collect();
            if ends.len() == self.controls[class].states.len() + 1 {
                continue;
            }
            let any = ends.into_iter().map(|value| self.is_at(slot, value));
            all.extend(any.reduce(|left, right| Expr::binary(BinaryOp::Or, left, right)));
        }
        all.extend(self.trace_may_end());
        Property {
            name: "valid end state".into(),
            kind: PropertyKind::Rest,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(Expr::all(all)),
            span: Span::default(),
        }
    }

    /// A proposition: true where the expression is not 0, nobody's locals being meant.
    fn proposition(&mut self, term: &Term) -> Property {
        let value = self.bounded(term, Env::outside(Timeout::Asked));
        let locals = std::mem::take(&mut self.locals);
        let truth = match (value.low, value.high) {
            (0, 1) | (1, 1) | (0, 0) => value.expr,
            _ => Expr::binary(BinaryOp::NotEqual, value.expr, Expr::constant(0)),
        };
        Property {
            name: "proposition".into(),
            kind: PropertyKind::Proposition,
            params: Vec::new(),
            locals,
            body: PropertyBody::State(truth),
            span: Span::default(),
        }
    }

    /// Adds an action with what it does to control, and its edges.
    fn add(&mut self, mut action: Action, moves: &[(usize, i64, i64)]) {
        action.locals = std::mem::take(&mut self.locals);
        action.processes = moves.iter().map(|(slot, ..)| ProcessId(*slot as u32)).collect();
        let id = hadal_system::ActionId(self.actions.len() as u32);
        for &(slot, from, to) in moves {
            let number = self.processes[slot].edges.len() as u32;
            self.processes[slot].edges.push(ControlEdge { action: id, from, to, number });
        }
        self.actions.push(action);
    }

    fn location_names(&self, class: usize) -> Vec<Location> {
        let process = &self.model.processes[class];
        let mut list = vec![Location { name: "-".into(), end: true, ..Location::default() }];
        let mut used: HashMap<String, usize> = HashMap::new();
        for &state in &self.controls[class].states {
            let labels: Vec<&str> = process
                .labels
                .iter()
                .filter(|label| process.resolve(label.element) == state)
                .map(|label| &*label.name)
                .collect();
            let marked = |prefix: &str| labels.iter().any(|name| name.starts_with(prefix));
            let plain = match labels.first() {
                _ if state == 0 => "end".to_string(),
                Some(name) => (*name).to_string(),
                None => format!("line {}", self.source.locate(process.elements[state].span).line),
            };
            let times = used.entry(plain.clone()).or_insert(0);
            *times += 1;
            let name = if *times > 1 { format!("{plain} ({times})") } else { plain };
            list.push(Location {
                name,
                end: state == 0 || marked("end"),
                accepting: marked("accept"),
                progress: marked("progress"),
                ..Location::default()
            });
        }
        list
    }
}
