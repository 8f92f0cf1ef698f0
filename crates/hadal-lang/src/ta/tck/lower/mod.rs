//! From declarations to a network.
//!
//! A step that would give a variable a value outside its range does not exist. A process that takes part weakly (`?`)
//! moves where its location has an edge with the event.

mod term;

use super::declare::{Declaration, Piece};
use super::term::{commands, term};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ta::compose::{any, compose, not};
use crate::ta::declare::{declare_locations, declare_numbers, is_at};
use crate::ta::network::{Automaton, Edge, Joint, Member, Network, Place as Location};
use hadal_system::timed::{Bound, ClockRef, Strictness, TimedSystem};
use hadal_system::{
    Action, BinaryOp, Domain, DomainId, Expr, ExprKind, Local, LocalId, Place, Role, Shape, ShapeId, Source,
    Span, Step, Stmt, StmtKind, UnaryOp, VarId, Variable,
};
use std::collections::HashMap;

/// The most joint steps of a model.
const MAX_STEPS: usize = 200_000;
/// The most elements of an array.
const MAX_SIZE: i64 = 1 << 16;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
enum Name {
    /// A clock, or the first of several.
    Clock { first: u32, count: u32, array: bool },
    /// A variable.
    Variable { var: VarId, domain: DomainId, array: bool },
}

/// What an edge declares for itself.
#[derive(Clone, Copy, Debug)]
struct OwnLocal {
    id: LocalId,
    shape: ShapeId,
    array: bool,
}

struct Lowering<'t, 'f> {
    network: Network,
    names: HashMap<&'t str, Name>,
    processes: HashMap<&'t str, usize>,
    locations: HashMap<(usize, &'t str), usize>,
    events: HashMap<&'t str, Span>,
    /// The event of each edge.
    edge_events: Vec<Vec<&'t str>>,
    syncs: Vec<Vec<(usize, &'t str, bool)>>,
    number: ShapeId,
    number_domain: DomainId,
    findings: &'f mut Diagnostics,
}

pub(super) fn lower(
    source: Source,
    declarations: &[Declaration],
    findings: &mut Diagnostics,
) -> Option<TimedSystem> {
    let mut network = Network::default();
    let system = &mut network.system;
    system.source = source.clone();
    system.name = declarations
        .iter()
        .find(|it| it.fields[0].text == "system")
        .and_then(|it| it.fields.get(1))
        .map_or_else(|| "system".into(), |name| name.text.to_owned());
    system.starts.push(Action { name: "start".into(), ..Action::default() });
    let number_domain = system.domains.add(Domain::range(i64::from(i32::MIN), i64::from(i32::MAX), false));
    let number = system.shapes.add(Shape::Scalar(number_domain), &system.domains).ok()?;
    let mut lowering = Lowering {
        network,
        names: HashMap::new(),
        processes: HashMap::new(),
        locations: HashMap::new(),
        events: HashMap::new(),
        edge_events: Vec::new(),
        syncs: Vec::new(),
        number,
        number_domain,
        findings,
    };
    lowering.declare(declarations);
    for declaration in declarations {
        match declaration.fields[0].text {
            "location" => lowering.attributes_of_location(declaration),
            "edge" => lowering.edge(declaration),
            "sync" => lowering.sync(declaration),
            _ => {}
        }
    }
    if lowering.network.processes.is_empty() {
        let nothing = Diagnostic::error(Span::default(), "nothing runs: the model declares no process");
        lowering
            .findings
            .push(nothing.help("declare one with `process:NAME` and its locations with `location:NAME:...`"));
    }
    for automaton in &lowering.network.processes {
        if automaton.locations.is_empty() {
            let message = format!("process `{}` has no locations", automaton.name);
            lowering.findings.push(Diagnostic::error(automaton.span, message));
        }
    }
    if lowering.findings.has_errors() {
        return None;
    }
    let joints = lowering.joints();
    let Lowering { mut network, findings, .. } = lowering;
    let automata = std::mem::take(&mut network.processes);
    declare_numbers(&mut network.system, &automata);
    network.processes = automata;
    Some(compose(network, &joints, findings))
}

impl<'t> Lowering<'t, '_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    /// Names of everything, before anything that uses them.
    fn declare(&mut self, declarations: &[Declaration<'t>]) {
        for it in declarations {
            match (it.fields[0].text, it.fields.len()) {
                ("system", 2) => {}
                ("event", 2) => {
                    if self.events.insert(it.fields[1].text, it.span()).is_some() {
                        self.error(
                            it.fields[1].span(),
                            format!("event `{}` is declared twice", it.fields[1].text),
                        );
                    }
                }
                ("clock", 3) => self.clock(it),
                ("int", 6) => self.int(it),
                ("process", 2) => {
                    let name = it.fields[1];
                    let at = self.network.processes.len();
                    if self.processes.insert(name.text, at).is_some() {
                        self.error(name.span(), format!("process `{}` is declared twice", name.text));
                    }
                    self.network.processes.push(Automaton {
                        name: name.text.to_owned(),
                        span: name.span(),
                        ..Automaton::default()
                    });
                    self.edge_events.push(Vec::new());
                }
                ("location", 3) => self.location(it),
                ("edge", 5) | ("sync", 2..) => {}
                ("system" | "event" | "clock" | "int" | "process" | "location" | "edge" | "sync", _) => {
                    self.findings.push(
                        Diagnostic::error(it.span(), format!("this is not how `{}` is declared", it.fields[0].text))
                            .help(
                                "system:NAME, event:NAME, clock:SIZE:NAME, int:SIZE:MIN:MAX:INITIAL:NAME, process:NAME, \
                                 location:PROCESS:NAME{..}, edge:PROCESS:FROM:TO:EVENT{..}, sync:PROCESS@EVENT:..",
                            ),
                    );
                }
                (other, _) => self.error(it.fields[0].span(), format!("unknown declaration `{other}`")),
            }
        }
        for at in 0..self.network.processes.len() {
            let automaton = &self.network.processes[at];
            if automaton.initial.is_empty() && !automaton.locations.is_empty() {
                let (span, name) = (automaton.span, automaton.name.clone());
                self.error(span, format!("process `{name}` has no initial location"));
            }
        }
        declare_locations(&mut self.network.system, &self.network.processes);
    }

    fn number(&mut self, piece: Piece) -> i64 {
        match piece.text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => {
                self.error(piece.span(), "expected a number");
                0
            }
        }
    }

    fn size(&mut self, piece: Piece) -> i64 {
        let size = self.number(piece);
        if !(1..=MAX_SIZE).contains(&size) {
            self.error(piece.span(), format!("a size is between 1 and {MAX_SIZE}"));
            return 1;
        }
        size
    }

    fn name(&mut self, piece: Piece<'t>, name: Name) {
        if self.names.insert(piece.text, name).is_some() {
            self.error(piece.span(), format!("`{}` is declared twice", piece.text));
        }
    }

    fn clock(&mut self, it: &Declaration<'t>) {
        let size = self.size(it.fields[1]);
        let first = self.network.clocks.len() as u32 + 1;
        let name = it.fields[2];
        match size {
            1 => self.network.clocks.push(name.text.to_owned()),
            _ => self.network.clocks.extend((0..size).map(|n| format!("{}[{n}]", name.text))),
        }
        self.name(name, Name::Clock { first, count: size as u32, array: size > 1 });
    }

    fn int(&mut self, it: &Declaration<'t>) {
        let size = self.size(it.fields[1]);
        let (low, high) = (self.number(it.fields[2]), self.number(it.fields[3]));
        let initial = self.number(it.fields[4]);
        if low > high || initial < low || initial > high {
            self.error(it.span(), "the initial value lies outside the range");
            return;
        }
        let system = &mut self.network.system;
        let domain = system.domains.add(Domain::range(low, high, false));
        let Ok(scalar) = system.shapes.add(Shape::Scalar(domain), &system.domains) else { return };
        let index = system.domains.add(Domain::range(0, size - 1, false));
        let array = Shape::Array { index, element: scalar };
        let shape = match size {
            1 => Ok(scalar),
            _ => system.shapes.add(array, &system.domains),
        };
        let Ok(shape) = shape else { return };
        let (var, name) = (VarId(system.variables.len() as u32), it.fields[5]);
        let (role, span) = (Role::Data, it.span());
        system.variables.push(Variable { name: name.text.to_owned(), shape, role, owner: None, span });
        for n in 0..size {
            let steps = if size == 1 { Vec::new() } else { vec![Step::Index(Expr::constant(n))] };
            let place = Place { base: hadal_system::Base::Global(var), steps, shape: scalar, span };
            system.starts[0].body.push(Stmt::new(StmtKind::Assign(place, Expr::constant(initial)), span));
        }
        self.name(name, Name::Variable { var, domain, array: size > 1 });
    }

    fn process(&mut self, piece: Piece<'t>) -> Option<usize> {
        let found = self.processes.get(piece.text).copied();
        if found.is_none() {
            self.error(piece.span(), format!("there is no process `{}`", piece.text));
        }
        found
    }

    fn location(&mut self, it: &Declaration<'t>) {
        let Some(process) = self.process(it.fields[1]) else { return };
        let name = it.fields[2];
        let automaton = &mut self.network.processes[process];
        let at = automaton.locations.len();
        let place = Location {
            name: name.text.to_owned(),
            committed: it.attribute("committed").is_some(),
            urgent: it.attribute("urgent").is_some(),
            labels: it
                .attribute("labels")
                .map_or_else(Vec::new, |list| list.list().iter().map(|l| l.text.to_owned()).collect()),
            span: name.span(),
            ..Location::default()
        };
        automaton.locations.push(place);
        if it.attribute("initial").is_some() {
            automaton.initial.push(at);
        }
        if self.locations.insert((process, name.text), at).is_some() {
            self.error(name.span(), format!("location `{}` is declared twice", name.text));
        }
    }

    fn attributes_of_location(&mut self, it: &Declaration<'t>) {
        if it.fields.len() != 3 {
            return;
        }
        let Some(&process) = self.processes.get(it.fields[1].text) else { return };
        let Some(&location) = self.locations.get(&(process, it.fields[2].text)) else { return };
        let mut scope = Scope::default();
        if let Some(invariant) = it.attribute("invariant").filter(|text| !text.text.is_empty())
            && let Some(term) = term(invariant, self.findings)
        {
            let (discrete, bounds) = self.guard(&term, &mut scope);
            let place = &mut self.network.processes[process].locations[location];
            (place.condition, place.invariant) = (discrete, bounds);
        }
        if let Some(rate) = it.attribute("rate")
            && let Some(term) = term(rate, self.findings)
        {
            let rate = self.integer(&term, &mut scope);
            self.network.processes[process].locations[location].rate = rate;
        }
    }

    fn edge(&mut self, it: &Declaration<'t>) {
        if it.fields.len() != 5 {
            return;
        }
        let Some(process) = self.process(it.fields[1]) else { return };
        let mut ends = [0; 2];
        for (n, piece) in [it.fields[2], it.fields[3]].into_iter().enumerate() {
            match self.locations.get(&(process, piece.text)) {
                Some(&at) => ends[n] = at,
                None => {
                    let message = format!("process `{}` has no location `{}`", it.fields[1].text, piece.text);
                    return self.error(piece.span(), message);
                }
            }
        }
        let event = it.fields[4];
        if !self.events.contains_key(event.text) {
            self.error(event.span(), format!("there is no event `{}`", event.text));
        }
        let mut edge = Edge { from: ends[0], to: ends[1], span: it.span(), ..Edge::default() };
        let mut scope = Scope::default();
        if let Some(provided) = it.attribute("provided").filter(|text| !text.text.is_empty())
            && let Some(term) = term(provided, self.findings)
        {
            (edge.guard, edge.bounds) = self.guard(&term, &mut scope);
        }
        if let Some(price) = it.attribute("price")
            && let Some(term) = term(price, self.findings)
        {
            edge.price = self.integer(&term, &mut scope);
        }
        if let Some(doing) = it.attribute("do")
            && let Some(list) = commands(doing, self.findings)
        {
            for command in &list {
                self.effect(command, &mut scope, &mut edge.effects);
            }
        }
        edge.locals = scope.locals;
        self.network.processes[process].edges.push(edge);
        self.edge_events[process].push(event.text);
    }

    fn sync(&mut self, it: &Declaration<'t>) {
        let mut members: Vec<(usize, &'t str, bool)> = Vec::new();
        for piece in &it.fields[1..] {
            let Some((process, event)) = piece.text.split_once('@') else {
                return self.error(piece.span(), "expected PROCESS@EVENT");
            };
            let (event, weak) = match event.strip_suffix('?') {
                Some(event) => (event, true),
                None => (event, false),
            };
            let Some(process) = self.process(Piece { text: process.trim(), start: piece.start }) else {
                return;
            };
            if !self.events.contains_key(event.trim()) {
                return self.error(piece.span(), format!("there is no event `{event}`"));
            }
            if members.iter().any(|(other, ..)| *other == process) {
                return self.error(piece.span(), "a process takes part twice");
            }
            members.push((process, event.trim(), weak));
        }
        self.syncs.push(members);
    }

    /// All steps: edges alone whose event is not synchronised, then the synchronisation vectors.
    fn joints(&mut self) -> Vec<Joint> {
        let mut all = Vec::new();
        for process in 0..self.network.processes.len() {
            for (edge, event) in self.edge_events[process].iter().enumerate() {
                let shared = self.syncs.iter().flatten().any(|(p, e, _)| *p == process && e == event);
                if !shared {
                    let members = vec![Member { process, edge }];
                    all.push(Joint { members, name: (*event).to_owned(), ..Joint::default() });
                }
            }
        }
        for sync in &self.syncs {
            let mut ways = vec![Joint::default()];
            for &(process, event, weak) in sync {
                let events = &self.edge_events[process];
                let edges: Vec<usize> = (0..events.len()).filter(|&edge| events[edge] == event).collect();
                let mut next = Vec::new();
                for way in &ways {
                    for &edge in &edges {
                        let mut way = way.clone();
                        way.members.push(Member { process, edge });
                        way.name =
                            format!("{}{}{event}", way.name, if way.name.is_empty() { "" } else { "&" });
                        next.push(way);
                    }
                    if weak {
                        let system = &self.network.system;
                        let automaton = &self.network.processes[process];
                        let mut sources: Vec<usize> =
                            edges.iter().map(|&edge| automaton.edges[edge].from).collect();
                        sources.sort_unstable();
                        sources.dedup();
                        let mut way = way.clone();
                        if !sources.is_empty() {
                            way.guard.push(not(any(sources.iter().map(|&at| is_at(system, process, at)))));
                        }
                        next.push(way);
                    }
                }
                ways = next;
                if all.len() + ways.len() > MAX_STEPS {
                    let span = self.network.processes[process].span;
                    self.findings.push(Diagnostic::error(span, format!("more than {MAX_STEPS} joint steps")));
                    return Vec::new();
                }
            }
            all.extend(ways.into_iter().filter(|way| !way.members.is_empty()));
        }
        all
    }
}

/// Locals of an edge.
#[derive(Default)]
struct Scope {
    names: HashMap<String, OwnLocal>,
    locals: Vec<Local>,
}

/// The bounds of `x - y ~ value`; `None` where the comparison is not convex.
pub(in crate::ta) fn compare_clock(
    op: BinaryOp,
    (x, y): (ClockRef, ClockRef),
    value: Expr,
    span: Span,
) -> Option<Vec<Bound>> {
    let negated = match value.as_const().and_then(i64::checked_neg) {
        Some(negative) => Expr::new(ExprKind::Const(negative), value.span),
        None => Expr::new(ExprKind::Unary(UnaryOp::Negate, Box::new(value.clone())), value.span),
    };
    let bound = |left: &ClockRef, minus: &ClockRef, strictness: Strictness, value: &Expr| Bound {
        when: None,
        left: left.clone(),
        minus: minus.clone(),
        strictness,
        value: value.clone(),
        span,
    };
    let (weak, strict) = (Strictness::Weak, Strictness::Strict);
    Some(match op {
        BinaryOp::Less => vec![bound(&x, &y, strict, &value)],
        BinaryOp::LessEqual => vec![bound(&x, &y, weak, &value)],
        BinaryOp::Greater => vec![bound(&y, &x, strict, &negated)],
        BinaryOp::GreaterEqual => vec![bound(&y, &x, weak, &negated)],
        BinaryOp::Equal => vec![bound(&x, &y, weak, &value), bound(&y, &x, weak, &negated)],
        _ => return None,
    })
}
