//! The variables of the system, and the state it starts in.

use super::super::model::{self, Argument, Initial, Op, Type, VarRef, Width};
use super::slots::ops;
use super::{Env, Lowering, Pid, Queue, Store, Timeout};
use crate::channel::Channel;
use hadal_system::{
    Action, Domain, DomainKind, Expr, Field, LocalKind, Place, Process, ProcessId, Range, Role, Shape,
    ShapeId, Span, Step, Stmt, StmtKind, VarId, Variable,
};
use std::collections::HashSet;

impl Lowering<'_> {
    /// Declares globals, channels, then each slot's location, number and locals.
    pub(super) fn declare(&mut self, asked: &[model::Term]) {
        let model = self.model;
        self.unseen = super::unseen::unseen(model, asked);
        let assigned = self.assigned_channels();
        let slots = self.slots.len() as i64;
        for (n, variable) in model.globals.iter().enumerate() {
            let store = self.store(variable, None, assigned.contains(&(None, n)));
            self.globals.push(store);
        }
        let shape = self.range_shape(0, slots);
        let (role, span) = (Role::Data, Span::default());
        self.count = self.add_variable(Variable { name: "_nr_pr".into(), shape, role, owner: None, span });
        if self.uses_last(asked) {
            let shape = self.range_shape(0, 255);
            let last = Variable { name: "_last".into(), shape, role, owner: None, span };
            self.last = Some(self.add_variable(last));
        }
        for slot in 0..self.slots.len() {
            let class = self.slots[slot].class;
            let process = &model.processes[class];
            let name = self.slot_name(slot);
            let shape = self.shape(Shape::Scalar(self.controls[class].domain), process.span);
            let (owner, span) = (Some(ProcessId(slot as u32)), process.span);
            let role = Role::Location;
            let location = self.add_variable(Variable { name: name.clone(), shape, role, owner, span });
            self.slots[slot].location = location;
            if let Pid::State(_) = self.slots[slot].pid {
                let shape = self.range_shape(0, slots.max(1) - 1);
                let (name, role) = (format!("{name}._pid"), Role::Data);
                let pid = self.add_variable(Variable { name, shape, role, owner, span });
                self.slots[slot].pid = Pid::State(pid);
            }
            self.declare_priority(slot, &name);
            for (n, variable) in process.variables.iter().enumerate() {
                let changes = n < process.parameters || assigned.contains(&(Some(class), n));
                let store = self.store(variable, Some((slot, &name)), changes);
                self.slots[slot].stores.push(store);
            }
            let locations = self.location_names(class);
            self.processes.push(Process { name, location, locations, edges: Vec::new() });
        }
        self.declare_trace();
        self.check_priorities();
    }

    /// How a slot's instance is called.
    pub(super) fn slot_name(&self, slot: usize) -> String {
        let class = self.slots[slot].class;
        let name = &*self.model.processes[class].name;
        let name = if name == ":init:" { "init" } else { name };
        match &self.classes[class][..] {
            [_] => name.to_string(),
            slots => format!("{name}[{}]", slots.iter().position(|&it| it == slot).unwrap_or(0)),
        }
    }

    pub(super) fn add_variable(&mut self, variable: Variable) -> VarId {
        self.variables.push(variable);
        VarId(self.variables.len() as u32 - 1)
    }

    /// Where a variable is kept.
    fn store(&mut self, variable: &model::Variable, owner: Option<(usize, &str)>, changes: bool) -> Store {
        let name = match owner {
            Some((_, process)) => format!("{process}.{}", variable.name),
            None => variable.name.to_string(),
        };
        let slot = owner.map(|(slot, _)| slot);
        if let Initial::Channel { capacity, fields } = &variable.initial {
            let first = self.queues.len();
            for name in elements(&name, variable.length) {
                let (fields, span) = (fields.clone(), variable.span);
                self.queue(Queue { name, fields, buffer: None, owner: slot, span }, *capacity);
            }
            if !changes {
                return Store::Channels(first);
            }
        }
        if owner.is_none() && self.unseen.contains(&variable.name) {
            return Store::Nowhere;
        }
        let element = self.type_shape(variable.ty, variable.span);
        let shape = match variable.length {
            Some(length) => self.array_shape(length, element, variable.span),
            None => element,
        };
        if let Type::Record(record) = variable.ty {
            for name in elements(&name, variable.length) {
                self.field_queues(record, &name, slot);
            }
        }
        let (role, owner) = (Role::Data, slot.map(|slot| ProcessId(slot as u32)));
        Store::State(self.add_variable(Variable { name, shape, role, owner, span: variable.span }))
    }

    /// Makes the channels inside a record.
    fn field_queues(&mut self, record: usize, name: &str, slot: Option<usize>) {
        let model = self.model;
        for field in &model.records[record].fields {
            for name in elements(&format!("{name}.{}", field.name), field.length) {
                match (&field.initial, field.ty) {
                    (Initial::Channel { capacity, fields }, _) => {
                        let (fields, span) = (fields.clone(), field.span);
                        self.queue(Queue { name, fields, buffer: None, owner: slot, span }, *capacity);
                    }
                    (_, Type::Record(inner)) => self.field_queues(inner, &name, slot),
                    _ => {}
                }
            }
        }
    }

    /// Makes a channel, with a buffer where it has room for messages.
    fn queue(&mut self, mut queue: Queue, capacity: usize) {
        let span = queue.span;
        queue.buffer = (capacity > 0).then(|| {
            let field_shapes: Vec<ShapeId> =
                queue.fields.iter().map(|&ty| self.type_shape(ty, span)).collect();
            let record = field_shapes
                .iter()
                .enumerate()
                .map(|(n, &shape)| Field { name: n.to_string(), shape })
                .collect();
            let message_shape = self.shape(Shape::Record(record), span);
            let messages_shape = self.array_shape(capacity, message_shape, span);
            let held_shape = self.range_shape(0, capacity as i64);
            let (role, owner) = (Role::Channel, queue.owner.map(|slot| ProcessId(slot as u32)));
            let name = format!("{}.len", queue.name);
            let held = self.add_variable(Variable { name, shape: held_shape, role, owner, span });
            let name = queue.name.clone();
            let messages = self.add_variable(Variable { name, shape: messages_shape, role, owner, span });
            let index = self.domains.add(Domain::range(0, capacity as i64 - 1, false));
            Channel {
                held,
                held_shape,
                messages,
                messages_shape,
                message_shape,
                field_shapes,
                index,
                capacity,
            }
        });
        self.queues.push(queue);
    }

    fn array_shape(&mut self, length: usize, element: ShapeId, span: Span) -> ShapeId {
        let index = self.domains.add(Domain::range(0, length as i64 - 1, false));
        self.shape(Shape::Array { index, element }, span)
    }

    /// The domain of the scalars of a type.
    pub(super) fn scalar_domain(&mut self, ty: Type) -> hadal_system::DomainId {
        let (low, high) = ty.bounds();
        let domain = match ty {
            Type::Number(Width::Bool) => Domain::boolean(false),
            Type::Mtype(set) => {
                let mut names = vec!["0".to_string()];
                names.extend(self.model.mtypes[set].iter().map(|name| name.to_string()));
                names.extend((names.len()..256).map(|n| n.to_string()));
                let kind = DomainKind::Enum(names);
                Domain { name: Some("mtype".into()), intervals: vec![(0, 255)], kind, undefined: false }
            }
            _ => Domain::range(low, high, false),
        };
        self.domains.add(domain)
    }

    pub(super) fn type_shape(&mut self, ty: Type, span: Span) -> ShapeId {
        if let Type::Record(record) = ty {
            let model = self.model;
            let fields = model.records[record]
                .fields
                .iter()
                .map(|field| {
                    let element = self.type_shape(field.ty, span);
                    let shape = match field.length {
                        Some(length) => self.array_shape(length, element, span),
                        None => element,
                    };
                    Field { name: field.name.to_string(), shape }
                })
                .collect();
            return self.shape(Shape::Record(fields), span);
        }
        let domain = self.scalar_domain(ty);
        self.shape(Shape::Scalar(domain), span)
    }

    /// Channel variables that are given something else than what they start with.
    fn assigned_channels(&self) -> HashSet<(Option<usize>, usize)> {
        let mut assigned = HashSet::new();
        for (class, process) in self.model.processes.iter().enumerate() {
            let mut note = |target: &model::VarPath| {
                if target.ty == Type::Chan {
                    assigned.insert(match target.var {
                        VarRef::Global(n) => (None, n),
                        VarRef::Local(n) => (Some(class), n),
                    });
                }
            };
            for element in &process.elements {
                ops(element, &mut |op| match op {
                    Op::Assign(target, _) => note(target),
                    Op::Receive(receive) => {
                        for argument in &receive.arguments {
                            if let Argument::Into(target) = argument {
                                note(target);
                            }
                        }
                    }
                    _ => {}
                });
            }
        }
        assigned
    }

    fn uses_last(&self, asked: &[model::Term]) -> bool {
        let mut used = false;
        let mut look = |term: &model::Term| used |= matches!(term.kind, model::TermKind::Last);
        for process in self.model.processes.iter().chain(&self.model.claims) {
            process.elements.iter().for_each(|element| super::slots::terms(element, &mut |it| look(it)));
            process.provided.iter().for_each(|term| super::slots::inner(term, &mut |it| look(it)));
        }
        asked.iter().for_each(|term| super::slots::inner(term, &mut |it| look(it)));
        used
    }

    /// Makes the initial state: every variable has its value, every active process stands at its beginning.
    pub(super) fn start(&mut self) -> Action {
        let model = self.model;
        let mut body = Vec::new();
        for (n, variable) in model.globals.iter().enumerate() {
            let store = self.globals[n];
            body.extend(self.initialise(variable, store, Env::outside(Timeout::No)));
        }
        for queue in 0..self.queues.len() {
            body.extend(self.empty_queue(queue));
        }
        let mut living = 0;
        for class in 0..model.processes.len() {
            for (n, slot) in self.classes[class].clone().into_iter().enumerate() {
                body.extend(self.zero_locals(slot));
                if n < model.processes[class].active.count {
                    if let Pid::State(var) = self.slots[slot].pid {
                        let place = self.whole(var, Span::default());
                        body.push(Stmt::new(
                            StmtKind::Assign(place, Expr::constant(living)),
                            Span::default(),
                        ));
                    }
                    body.extend(self.starts_with(
                        slot,
                        model.processes[class].active.priority,
                        Span::default(),
                    ));
                    body.extend(self.begin(slot));
                    living += 1;
                }
            }
        }
        let count = self.whole(self.count, Span::default());
        body.push(Stmt::new(StmtKind::Assign(count, Expr::constant(living)), Span::default()));
        if let Some(last) = self.last {
            let place = self.whole(last, Span::default());
            body.push(Stmt::new(StmtKind::Assign(place, Expr::constant(0)), Span::default()));
        }
        body.extend(self.begin_trace());
        let locals = std::mem::take(&mut self.locals);
        Action { name: "start".into(), locals, body, ..Action::default() }
    }

    /// Gives a slot's locals what they start with, and its location the beginning.
    pub(super) fn begin(&mut self, slot: usize) -> Vec<Stmt> {
        let class = self.slots[slot].class;
        let process = &self.model.processes[class];
        let mut body = Vec::new();
        for (n, variable) in process.variables.iter().enumerate().skip(process.parameters) {
            let zero = matches!(variable.initial, Initial::Zero) && !matches!(variable.ty, Type::Record(_));
            let made = matches!(variable.initial, Initial::Channel { .. });
            if (process.at_head[n] || made) && !zero {
                let store = self.slots[slot].stores[n];
                body.extend(self.initialise(variable, store, Env::of(slot)));
            }
        }
        let entry = self.location(class, process.resolve(process.entry));
        body.push(self.goes_to(slot, entry, process.span));
        body
    }

    /// Sets a variable to what it starts with.
    pub(super) fn initialise(&mut self, variable: &model::Variable, store: Store, env: Env) -> Vec<Stmt> {
        let Store::State(var) = store else { return Vec::new() };
        let span = variable.span;
        let place = self.whole(var, span);
        let element = |n: usize, place: &Place, shape: ShapeId| {
            let mut steps = place.steps.clone();
            steps.push(Step::Index(Expr::constant(n as i64)));
            Place { steps, shape, ..place.clone() }
        };
        let shape = self.type_shape(variable.ty, span);
        let places: Vec<Place> = match variable.length {
            Some(length) => (0..length).map(|n| element(n, &place, shape)).collect(),
            None => vec![place.clone()],
        };
        match &variable.initial {
            Initial::Zero => {
                let mut body = self.zero(&place);
                // Fields of records have values of their own to start with.
                if let Type::Record(record) = variable.ty {
                    let name = self.own_name(&variable.name, env);
                    for (place, name) in places.into_iter().zip(elements(&name, variable.length)) {
                        body.extend(self.initialise_fields(record, &place, &name, env));
                    }
                }
                body
            }
            Initial::Value(value) => {
                let value = self.fitted(value, variable.ty, env);
                places
                    .into_iter()
                    .map(|place| Stmt::new(StmtKind::Assign(place, value.clone()), span))
                    .collect()
            }
            Initial::List(list) => {
                let mut body = Vec::new();
                for (place, value) in places.into_iter().zip(list) {
                    let value = self.fitted(value, variable.ty, env);
                    body.push(Stmt::new(StmtKind::Assign(place, value), span));
                }
                body
            }
            Initial::Channel { .. } => {
                let name = self.own_name(&variable.name, env);
                let first = self.queue_named(&elements(&name, variable.length)[0]);
                places
                    .into_iter()
                    .enumerate()
                    .map(|(n, place)| {
                        let value = Expr::constant((first + n + 1) as i64);
                        Stmt::new(StmtKind::Assign(place, value), span)
                    })
                    .collect()
            }
        }
    }

    /// How a variable of the process at hand, or of nobody, is called.
    fn own_name(&self, name: &str, env: Env) -> String {
        match env.slot {
            Some(slot) => format!("{}.{name}", self.slot_name(slot)),
            None => name.to_string(),
        }
    }

    fn queue_named(&self, name: &str) -> usize {
        self.queues.iter().position(|queue| queue.name == name).unwrap_or(0)
    }

    fn initialise_fields(&mut self, record: usize, place: &Place, name: &str, env: Env) -> Vec<Stmt> {
        let model = self.model;
        let mut body = Vec::new();
        for (n, field) in model.records[record].fields.iter().enumerate() {
            let shape = self.type_shape(field.ty, field.span);
            let names = elements(&format!("{name}.{}", field.name), field.length);
            for (at, name) in names.iter().enumerate() {
                let mut part = place.clone();
                part.steps.push(Step::Field(n));
                if field.length.is_some() {
                    part.steps.push(Step::Index(Expr::constant(at as i64)));
                }
                part.shape = shape;
                let value = match (&field.initial, field.ty) {
                    (Initial::Value(value), _) => self.fitted(value, field.ty, env),
                    (Initial::List(list), _) => self.fitted(&list[at.min(list.len() - 1)], field.ty, env),
                    (Initial::Channel { .. }, _) => Expr::constant(self.queue_named(name) as i64 + 1),
                    (_, Type::Record(inner)) => {
                        body.extend(self.initialise_fields(inner, &part, name, env));
                        continue;
                    }
                    _ => continue,
                };
                body.push(Stmt::new(StmtKind::Assign(part, value), field.span));
            }
        }
        body
    }

    /// Sets every scalar below a place to 0.
    pub(super) fn zero(&mut self, place: &Place) -> Vec<Stmt> {
        let span = place.span;
        if self.least_is_zero(place.shape) {
            return vec![Stmt::new(StmtKind::Clear(place.clone()), span)];
        }
        match self.shapes[place.shape].clone() {
            Shape::Scalar(_) => vec![Stmt::new(StmtKind::Assign(place.clone(), Expr::constant(0)), span)],
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                let shape = self.shape(Shape::Scalar(index), span);
                let local = self.local("element", shape, LocalKind::Bound);
                let mut part = place.clone();
                part.steps.push(Step::Index(Place::local(local, shape, span).read()));
                part.shape = element;
                let body = self.zero(&part);
                vec![Stmt::new(StmtKind::For { local, range: Range::Domain(index), body }, span)]
            }
            Shape::Record(fields) => {
                let mut body = Vec::new();
                for (n, field) in fields.iter().enumerate() {
                    let mut part = place.clone();
                    part.steps.push(Step::Field(n));
                    part.shape = field.shape;
                    body.extend(self.zero(&part));
                }
                body
            }
        }
    }

    fn least_is_zero(&self, shape: ShapeId) -> bool {
        match &self.shapes[shape] {
            Shape::Scalar(domain) => self.domains[*domain].min() == 0,
            Shape::Array { element, .. } | Shape::Multiset { element, .. } => self.least_is_zero(*element),
            Shape::Record(fields) => fields.iter().all(|field| self.least_is_zero(field.shape)),
        }
    }

    /// Empties a channel.
    pub(super) fn empty_queue(&mut self, queue: usize) -> Vec<Stmt> {
        let Some(buffer) = self.queues[queue].buffer.clone() else { return Vec::new() };
        let mut body = Vec::new();
        for place in buffer.contents(Span::default()) {
            body.extend(self.zero(&place));
        }
        body
    }

    /// Sets everything of a slot but its location to 0.
    pub(super) fn zero_locals(&mut self, slot: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        if let Pid::State(var) = self.slots[slot].pid {
            let place = self.whole(var, Span::default());
            body.push(Stmt::new(StmtKind::Assign(place, Expr::constant(0)), Span::default()));
        }
        body.extend(self.starts_with(slot, 0, Span::default()));
        for store in self.slots[slot].stores.clone() {
            if let Store::State(var) = store {
                let place = self.whole(var, Span::default());
                body.extend(self.zero(&place));
            }
        }
        body
    }
}

/// The names of a variable's elements, or its own.
fn elements(name: &str, length: Option<usize>) -> Vec<String> {
    match length {
        Some(length) => (0..length).map(|n| format!("{name}[{n}]")).collect(),
        None => vec![name.to_owned()],
    }
}
