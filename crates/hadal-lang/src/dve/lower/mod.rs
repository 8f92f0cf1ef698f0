//! Checked model to [`System`].
//!
//! * Each process gets a location variable (named like the process), its locals and its control edges.
//! * Each joint step (see [`joint`]) becomes one action. Its guard starts with the location tests.
//! * Variables get the range that [`ranges`] finds, within their type. Storing a value outside the type, an index
//!   outside an array and a division by zero are errors of the model, as the waist has them, or lead to DiVinE's
//!   error state: see [`ModelErrors`].
//! * Committed locations: where some process is in one, a step fires only if all its members leave committed
//!   locations. Only steps that must be held back pay for a test.

mod action;
mod buffer;
mod joint;
mod ranges;
mod term;

use super::model::Model;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::language::ModelErrors;
use hadal_system::{
    Action, ActionId, ControlEdge, Domain, DomainKind, Domains, Expr, Field, Function, Location, Place,
    Process, ProcessId, Property, PropertyBody, PropertyKind, Role, Shape, ShapeId, Shapes, Source, Span,
    Stmt, StmtKind, System, VarId, Variable,
};
use ranges::{Interval, Ranges};
use term::Copies;

/// Something asked of the model beside what its text asks: a name and a condition.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Its name.
    pub name: String,
    /// What is to be reached.
    pub condition: super::model::Term,
}

/// Lowers a model. `None` where it is refused after all (too large).
pub fn lower(
    model: &Model,
    goals: &[Goal],
    errors: ModelErrors,
    source: Source,
    findings: &mut Diagnostics,
) -> Option<System> {
    let steps = joint::joint_steps(model, findings);
    if findings.has_errors() {
        return None;
    }
    let ranges = ranges::find_ranges(model, &steps, errors == ModelErrors::ErrorState);
    let mut lowering = Lowering {
        model,
        ranges,
        errors,
        domains: Domains::default(),
        shapes: Shapes::default(),
        list: Vec::new(),
        functions: Vec::new(),
        variables: Vec::new(),
        element_shapes: Vec::new(),
        locations: Vec::new(),
        buffers: Vec::new(),
        error_function: None,
        oversized: None,
        slots: 0,
    };
    lowering.declare();
    if let Some(span) = lowering.oversized {
        let finding = Diagnostic::error(span, "the state has too many scalars")
            .help(format!("hadal handles up to {}", Shapes::MAX_SLOTS));
        findings.push(finding);
        return None;
    }
    if errors == ModelErrors::ErrorState {
        lowering.declare_error_function();
    }
    let start = lowering.start();
    let actions = lowering.actions(&steps);
    let mut properties = lowering.assertions();
    properties.extend(goals.iter().map(|goal| lowering.goal(goal)));
    properties.extend(lowering.acceptance());
    let processes = lowering.processes(&steps);
    let name = source.name.rsplit(['/', '\\']).next().unwrap_or("model").to_string();
    Some(System {
        name,
        source,
        domains: lowering.domains,
        shapes: lowering.shapes,
        variables: lowering.list,
        processes,
        functions: lowering.functions,
        starts: vec![start],
        actions,
        properties,
        ..System::default()
    })
}

/// A buffered channel: the number of messages it holds, and the messages.
#[derive(Clone, Copy)]
struct Buffer {
    held: VarId,
    messages: VarId,
    message: ShapeId,
}

struct Lowering<'m> {
    model: &'m Model,
    ranges: Ranges,
    errors: ModelErrors,
    domains: Domains,
    shapes: Shapes,
    list: Vec<Variable>,
    functions: Vec<Function>,
    /// By number in the model: the variable, and the shape of one element of it.
    variables: Vec<VarId>,
    element_shapes: Vec<ShapeId>,
    locations: Vec<VarId>,
    buffers: Vec<Option<Buffer>>,
    error_function: Option<hadal_system::FunctionId>,
    /// Where too much was declared.
    oversized: Option<Span>,
    /// Scalars of the state so far.
    slots: usize,
}

impl Lowering<'_> {
    fn shape(&self, variable: VarId) -> ShapeId {
        self.list[variable.0 as usize].shape
    }

    fn whole(&self, variable: VarId, span: Span) -> Place {
        Place::global(variable, self.shape(variable), span)
    }

    fn add_shape(&mut self, shape: Shape, span: Span) -> ShapeId {
        match self.shapes.add(shape, &self.domains) {
            Ok(id) => id,
            Err(_) => {
                self.oversized.get_or_insert(span);
                ShapeId(0)
            }
        }
    }

    fn scalar_shape(&mut self, interval: Interval) -> ShapeId {
        let domain = self.domains.add(Domain::range(interval.low, interval.high, false));
        self.add_shape(Shape::Scalar(domain), Span::default())
    }

    fn array_shape(&mut self, size: usize, element: ShapeId, span: Span) -> ShapeId {
        let index = self.domains.add(Domain::range(0, size as i64 - 1, false));
        self.add_shape(Shape::Array { index, element }, span)
    }

    fn add_variable(&mut self, variable: Variable) -> VarId {
        self.slots += self.shapes.slots(variable.shape);
        if self.slots > Shapes::MAX_SLOTS {
            self.oversized.get_or_insert(variable.span);
        }
        self.list.push(variable);
        VarId(self.list.len() as u32 - 1)
    }

    /// Declares globals, buffers, then each process's location and locals.
    fn declare(&mut self) {
        let model = self.model;
        self.variables = vec![VarId(0); model.variables.len()];
        self.element_shapes = vec![ShapeId(0); model.variables.len()];
        self.declare_data(None);
        for (number, channel) in model.channels.iter().enumerate() {
            let buffer = (channel.capacity > 0).then(|| self.declare_buffer(number));
            self.buffers.push(buffer);
        }
        for (number, process) in model.processes.iter().enumerate() {
            let mut names: Vec<String> =
                process.locations.iter().map(|location| location.name.clone()).collect();
            if self.errors == ModelErrors::ErrorState && number == 0 {
                names.push("error".to_string());
            }
            let domain = self.domains.add(Domain {
                name: None,
                intervals: vec![(0, names.len() as i64 - 1)],
                kind: DomainKind::Enum(names),
                undefined: false,
            });
            let shape = self.add_shape(Shape::Scalar(domain), process.span);
            let location = self.add_variable(Variable {
                name: process.name.clone(),
                shape,
                role: Role::Location,
                owner: Some(ProcessId(number as u32)),
                span: process.span,
            });
            self.locations.push(location);
            self.declare_data(Some(number));
        }
    }

    fn declare_data(&mut self, owner: Option<usize>) {
        let model = self.model;
        for (number, variable) in
            model.variables.iter().enumerate().filter(|(_, variable)| variable.owner == owner)
        {
            let element = self.scalar_shape(self.ranges.variables[number]);
            let shape = match variable.size {
                Some(size) => self.array_shape(size, element, variable.span),
                None => element,
            };
            self.element_shapes[number] = element;
            self.variables[number] = self.add_variable(Variable {
                name: variable.name.clone(),
                shape,
                role: Role::Data,
                owner: owner.map(|process| ProcessId(process as u32)),
                span: variable.span,
            });
        }
    }

    fn declare_buffer(&mut self, number: usize) -> Buffer {
        let channel = &self.model.channels[number];
        let held = self.scalar_shape(Interval::new(0, channel.capacity as i64));
        let (role, owner, span) = (Role::Channel, None, channel.span);
        let name = format!("{}.held", channel.name);
        let held = self.add_variable(Variable { name, shape: held, role, owner, span });
        let fields: Vec<Field> = (0..self.ranges.buffers[number].len())
            .map(|item| Field {
                name: format!("{item}"),
                shape: self.scalar_shape(self.ranges.buffers[number][item]),
            })
            .collect();
        let message = self.add_shape(Shape::Record(fields), channel.span);
        let shape = self.array_shape(channel.capacity, message, channel.span);
        let messages = self.add_variable(Variable { name: channel.name.clone(), shape, role, owner, span });
        Buffer { held, messages, message }
    }

    /// The one initial state.
    fn start(&mut self) -> Action {
        let model = self.model;
        let mut body = Vec::new();
        for (number, process) in model.processes.iter().enumerate() {
            let place = self.location_place(number, process.span);
            body.push(assign(place, term::number(process.initial as i64, process.span)));
        }
        for (number, variable) in model.variables.iter().enumerate() {
            for (at, value) in variable.initial.iter().enumerate() {
                // The blank state holds each domain's least value.
                if *value == self.ranges.variables[number].low {
                    continue;
                }
                let index = variable.size.map(|_| term::number(at as i64, variable.span));
                let place = self.place(number, index, variable.span, &Copies::new());
                body.push(assign(place, term::number(*value, variable.span)));
            }
        }
        for (number, channel) in model.channels.iter().enumerate() {
            if let Some(buffer) = self.buffers[number] {
                for place in self.zero_message_places(number, buffer, None, channel.span) {
                    body.push(assign(place, term::number(0, channel.span)));
                }
            }
        }
        Action { name: "start".to_string(), body, ..Action::default() }
    }

    /// Invariants from `assert`.
    fn assertions(&mut self) -> Vec<Property> {
        let model = self.model;
        let mut properties: Vec<Property> = Vec::new();
        for (number, process) in model.processes.iter().enumerate() {
            for (location, condition) in &process.assertions {
                let span = condition.span;
                let here = self.at(number, *location, span);
                let holds = self.expr(condition, &Copies::new());
                let base = format!("{}.{}", process.name, process.locations[*location].name);
                let same = properties
                    .iter()
                    .filter(|p| p.name == base || p.name.starts_with(&format!("{base}#")))
                    .count();
                let name = if same == 0 { base } else { format!("{base}#{}", same + 1) };
                properties.push(property(
                    name,
                    PropertyKind::Invariant,
                    term::binary(hadal_system::BinaryOp::Implies, here, holds, span),
                    span,
                ));
            }
        }
        properties
    }

    /// That no run of the property process is accepted.
    fn acceptance(&mut self) -> Option<Property> {
        let number = self.model.property?;
        let process = &self.model.processes[number];
        let accepting = process.locations.iter().enumerate().filter(|(_, location)| location.accepting);
        let here: Vec<Expr> = accepting.map(|(n, _)| self.at(number, n, process.span)).collect();
        let either =
            here.into_iter().reduce(|a, b| term::binary(hadal_system::BinaryOp::Or, a, b, process.span))?;
        Some(property(process.name.clone(), PropertyKind::Acceptance, either, process.span))
    }

    fn goal(&mut self, goal: &Goal) -> Property {
        let condition = self.expr(&goal.condition, &Copies::new());
        // Spans of goals point into another text than the system's.
        property(goal.name.clone(), PropertyKind::Goal, condition, Span::default())
    }

    /// The process structure; action numbers follow the steps.
    fn processes(&self, steps: &[joint::Joint]) -> Vec<Process> {
        let mut processes: Vec<Process> = self
            .model
            .processes
            .iter()
            .enumerate()
            .map(|(number, process)| {
                let mut locations: Vec<Location> = process
                    .locations
                    .iter()
                    .map(|l| Location {
                        name: l.name.clone(),
                        committed: l.committed,
                        // Of all processes, only the property's accepts.
                        accepting: l.accepting && self.model.property == Some(number),
                        ..Location::default()
                    })
                    .collect();
                if self.errors == ModelErrors::ErrorState && number == 0 {
                    locations.push(Location { name: "error".to_string(), ..Location::default() });
                }
                Process {
                    name: process.name.clone(),
                    location: self.locations[number],
                    locations,
                    edges: Vec::new(),
                }
            })
            .collect();
        for (action, step) in steps.iter().enumerate() {
            for member in &step.members {
                let own = &self.model.processes[member.process].transitions;
                let number = own.iter().position(|transition| std::ptr::eq(transition, member.transition));
                processes[member.process].edges.push(ControlEdge {
                    action: ActionId(action as u32),
                    from: member.transition.source as i64,
                    to: member.transition.target as i64,
                    number: number.unwrap_or(own.len()) as u32,
                });
            }
        }
        processes
    }
}

/// `place = value`
fn assign(place: Place, value: Expr) -> Stmt {
    let span = place.span.to(value.span);
    Stmt::new(StmtKind::Assign(place, value), span)
}

fn property(name: String, kind: PropertyKind, condition: Expr, span: Span) -> Property {
    Property {
        name,
        kind,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(condition),
        span,
    }
}
