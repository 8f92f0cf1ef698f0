//! From declarations to a network.
//!
//! A step that would give a variable a value outside its range does not exist. A process that takes part weakly (`?`)
//! moves where its location has an edge with the event.

use super::declare::{Declaration, Piece};
use super::term::{Command, CommandKind, Term, TermKind, commands, term};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ta::compose::{any, compose, declare_locations, declare_numbers, is_at, not};
use crate::ta::network::{Automaton, Edge, Effect, Joint, Member, Network, Place as Location};
use hadal_system::timed::{Bound, ClockRef, Moment, Reset, Strictness, TimedSystem};
use hadal_system::{
    Action, BinaryOp, CheckKind, Domain, DomainId, Expr, ExprKind, Local, LocalId, LocalKind, Place, Role,
    Shape, ShapeId, Source, Span, Step, Stmt, StmtKind, UnaryOp, VarId, Variable,
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

impl Lowering<'_, '_> {
    /// The discrete and the timed part of a conjunction.
    fn guard(&mut self, term: &Term, scope: &mut Scope) -> (Option<Expr>, Vec<Bound>) {
        let (mut discrete, mut bounds) = (Vec::new(), Vec::new());
        self.conjuncts(term, scope, &mut discrete, &mut bounds);
        ((!discrete.is_empty()).then(|| Expr::all(discrete)), bounds)
    }

    fn conjuncts(&mut self, term: &Term, scope: &mut Scope, out: &mut Vec<Expr>, bounds: &mut Vec<Bound>) {
        match &term.kind {
            TermKind::Binary(BinaryOp::And, left, right) => {
                self.conjuncts(left, scope, out, bounds);
                self.conjuncts(right, scope, out, bounds);
            }
            TermKind::Binary(op, left, right) if self.mentions_clock(term) => {
                self.comparison(*op, (left, right), term.span, scope, bounds);
            }
            _ if self.mentions_clock(term) => {
                self.error(term.span, "clocks are compared, nothing else");
            }
            _ => out.extend(self.integer(term, scope)),
        }
    }

    fn mentions_clock(&self, term: &Term) -> bool {
        match &term.kind {
            TermKind::Number(_) => false,
            TermKind::Name(name) => matches!(self.names.get(name.as_str()), Some(Name::Clock { .. })),
            TermKind::Index(name, index) => {
                matches!(self.names.get(name.as_str()), Some(Name::Clock { .. }))
                    || self.mentions_clock(index)
            }
            TermKind::Unary(_, of) => self.mentions_clock(of),
            TermKind::Binary(_, left, right) => self.mentions_clock(left) || self.mentions_clock(right),
            TermKind::If(a, b, c) => [a, b, c].iter().any(|part| self.mentions_clock(part)),
        }
    }

    /// `x ~ e`, `e ~ x`, `x - y ~ e`.
    fn comparison(
        &mut self,
        op: BinaryOp,
        (left, right): (&Term, &Term),
        span: Span,
        scope: &mut Scope,
        bounds: &mut Vec<Bound>,
    ) {
        let flipped = self.mentions_clock(right);
        let (clocks, value) = if flipped { (right, left) } else { (left, right) };
        let (x, y) = match &clocks.kind {
            TermKind::Binary(BinaryOp::Subtract, x, y) => {
                (self.clock_ref(x, scope), self.clock_ref(y, scope))
            }
            _ => (self.clock_ref(clocks, scope), Some(ClockRef::Zero)),
        };
        let (Some(x), Some(y), Some(value)) = (x, y, self.integer(value, scope)) else { return };
        let op = match (op, flipped) {
            (BinaryOp::Less, true) => BinaryOp::Greater,
            (BinaryOp::LessEqual, true) => BinaryOp::GreaterEqual,
            (BinaryOp::Greater, true) => BinaryOp::Less,
            (BinaryOp::GreaterEqual, true) => BinaryOp::LessEqual,
            (op, _) => op,
        };
        match compare_clock(op, (x, y), value, span) {
            Some(list) => bounds.extend(list),
            None => self.error(span, "a clock is compared by <, <=, ==, >= or >"),
        }
    }

    fn clock_ref(&mut self, term: &Term, scope: &mut Scope) -> Option<ClockRef> {
        match &term.kind {
            TermKind::Name(name) => match self.names.get(name.as_str()) {
                Some(Name::Clock { first, array: false, .. }) => return Some(ClockRef::One(*first)),
                Some(Name::Clock { array: true, .. }) => {
                    self.error(term.span, format!("`{name}` is an array of clocks: which one?"));
                }
                _ => self.error(term.span, format!("`{name}` is not a clock")),
            },
            TermKind::Index(name, index) => {
                if let Some(&Name::Clock { first, count, .. }) = self.names.get(name.as_str()) {
                    let index = self.integer(index, scope)?;
                    return match index.as_const() {
                        Some(n) if n >= 0 && n < i64::from(count) => Some(ClockRef::One(first + n as u32)),
                        Some(_) => {
                            self.error(term.span, "the index lies outside the array");
                            None
                        }
                        None => Some(ClockRef::Among { first, count, least: 0, index: Box::new(index) }),
                    };
                }
                self.error(term.span, format!("`{name}` is not a clock"));
            }
            _ => self.error(term.span, "expected a clock"),
        }
        None
    }

    /// An expression over variables.
    fn integer(&mut self, term: &Term, scope: &mut Scope) -> Option<Expr> {
        let kind = match &term.kind {
            TermKind::Number(number) => ExprKind::Const(*number),
            TermKind::Name(_) | TermKind::Index(..) => return Some(self.place(term, scope)?.0.read()),
            TermKind::Unary(op, of) => {
                let of = self.integer(of, scope)?;
                match (op, of.as_const()) {
                    (UnaryOp::Negate, Some(value)) => ExprKind::Const(value.checked_neg()?),
                    _ => ExprKind::Unary(*op, Box::new(of)),
                }
            }
            TermKind::Binary(op, left, right) => {
                let (left, right) = (self.integer(left, scope), self.integer(right, scope));
                let (left, right) = (left?, right?);
                match (left.as_const(), right.as_const()) {
                    (Some(l), Some(r)) if op.apply(l, r).is_some() => ExprKind::Const(op.apply(l, r)?),
                    _ => ExprKind::Binary(*op, Box::new(left), Box::new(right)),
                }
            }
            TermKind::If(condition, yes, no) => {
                let parts =
                    (self.integer(condition, scope), self.integer(yes, scope), self.integer(no, scope));
                ExprKind::If(Box::new(parts.0?), Box::new(parts.1?), Box::new(parts.2?))
            }
        };
        Some(Expr::new(kind, term.span))
    }

    /// A variable or local, or an element of one, and the values it may have.
    fn place(&mut self, term: &Term, scope: &mut Scope) -> Option<(Place, DomainId)> {
        let (name, index) = match &term.kind {
            TermKind::Name(name) => (name, None),
            TermKind::Index(name, index) => (name, Some(&**index)),
            _ => {
                self.error(term.span, "expected a variable");
                return None;
            }
        };
        let (base, array, domain, shape) = match (scope.names.get(name), self.names.get(name.as_str())) {
            (Some(own), _) => (hadal_system::Base::Local(own.id), own.array, self.number_domain, own.shape),
            (None, Some(&Name::Variable { var, domain, array })) => {
                let shape = self.network.system.variable(var).shape;
                (hadal_system::Base::Global(var), array, domain, shape)
            }
            (None, Some(Name::Clock { .. })) => {
                self.error(term.span, format!("`{name}` is a clock: it can only be compared and reset"));
                return None;
            }
            (None, None) => {
                self.error(term.span, format!("`{name}` is not declared"));
                return None;
            }
        };
        let span = term.span;
        match (index, array) {
            (None, false) => Some((Place { base, steps: Vec::new(), shape, span }, domain)),
            (None, true) => {
                self.error(span, format!("`{name}` is an array: which element?"));
                None
            }
            (Some(index), _) => {
                let index = self.integer(index, scope)?;
                if !array {
                    // One element: only index 0.
                    if index.as_const() == Some(0) {
                        return Some((Place { base, steps: Vec::new(), shape, span }, domain));
                    }
                    self.error(span, format!("`{name}` is not an array"));
                    return None;
                }
                let Shape::Array { element, .. } = self.network.system.shapes[shape] else { return None };
                Some((Place { base, steps: vec![Step::Index(index)], shape: element, span }, domain))
            }
        }
    }

    /// A statement of an edge: resets of clocks stand at the outermost level.
    fn effect(&mut self, command: &Command, scope: &mut Scope, out: &mut Vec<Effect>) {
        if let CommandKind::Assign(target, value) = &command.kind
            && self.mentions_clock(&Term { kind: head(target), span: target.span })
        {
            if let Some(reset) = self.reset(target, value, scope) {
                out.push(Effect::Reset(reset));
            }
            return;
        }
        let mut stmts = Vec::new();
        self.command(command, scope, &mut stmts);
        out.extend(stmts.into_iter().map(Effect::Stmt));
    }

    fn reset(&mut self, target: &Term, value: &Term, scope: &mut Scope) -> Option<Reset> {
        let clock = self.clock_ref(target, scope)?;
        let (from, value) = if !self.mentions_clock(value) {
            (ClockRef::Zero, self.integer(value, scope)?)
        } else {
            match &value.kind {
                TermKind::Binary(BinaryOp::Add, left, right) => {
                    let (clock, rest) = if self.mentions_clock(left) { (left, right) } else { (right, left) };
                    (self.clock_ref(clock, scope)?, self.integer(rest, scope)?)
                }
                _ => (self.clock_ref(value, scope)?, Expr::constant(0)),
            }
        };
        if value.as_const().is_some_and(|value| value < 0) {
            self.error(value.span, "clocks are never negative");
            return None;
        }
        Some(Reset { when: None, clock, from, value, moment: Moment::Before })
    }

    fn command(&mut self, command: &Command, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let span = command.span;
        match &command.kind {
            CommandKind::Nothing => {}
            CommandKind::Assign(target, value) => {
                if self.mentions_clock(&Term { kind: head(target), span: target.span }) {
                    return self.error(target.span, "a clock is reset only at the outermost level");
                }
                let (place, value) = (self.place(target, scope), self.integer(value, scope));
                if let (Some((place, domain)), Some(value)) = (place, value) {
                    self.assign(place, domain, value, span, out);
                }
            }
            CommandKind::If(condition, yes, no) => {
                let condition = self.integer(condition, scope);
                let (mut body, mut otherwise) = (Vec::new(), Vec::new());
                yes.iter().for_each(|it| self.command(it, scope, &mut body));
                no.iter().for_each(|it| self.command(it, scope, &mut otherwise));
                if let Some(condition) = condition {
                    let branches = vec![(condition, body)];
                    out.push(Stmt::new(StmtKind::If { branches, otherwise }, span));
                }
            }
            CommandKind::While(condition, turns) => {
                let condition = self.integer(condition, scope);
                let mut body = Vec::new();
                turns.iter().for_each(|it| self.command(it, scope, &mut body));
                if let Some(condition) = condition {
                    out.push(Stmt::new(StmtKind::While(condition, body), span));
                }
            }
            CommandKind::Local { name, size, value } => {
                self.local((name, span), size.as_ref(), value.as_ref(), scope, out)
            }
        }
    }

    /// Writes a value, or drops the step where the variable cannot hold it.
    fn assign(&mut self, place: Place, domain: DomainId, value: Expr, span: Span, out: &mut Vec<Stmt>) {
        let fits = value.as_const().is_some_and(|value| self.network.system.domains[domain].contains(value));
        if !fits {
            let condition = Expr::new(ExprKind::InDomain(Box::new(value.clone()), domain), value.span);
            let message = "the value lies outside the range".to_owned();
            let kind = StmtKind::Check { kind: CheckKind::Assume, condition, message };
            out.push(Stmt::new(kind, span));
        }
        out.push(Stmt::new(StmtKind::Assign(place, value), span));
    }

    fn local(
        &mut self,
        (name, span): (&str, Span),
        size: Option<&Term>,
        value: Option<&Term>,
        scope: &mut Scope,
        out: &mut Vec<Stmt>,
    ) {
        let size = match size {
            None => None,
            Some(term) => match self.integer(term, scope).and_then(|size| size.as_const()) {
                Some(size) if (1..=MAX_SIZE).contains(&size) => Some(size),
                _ => return self.error(term.span, format!("the size is a number between 1 and {MAX_SIZE}")),
            },
        };
        let value = match value {
            Some(term) => self.integer(term, scope),
            None => Some(Expr::constant(0)),
        };
        let system = &mut self.network.system;
        let shape = match size {
            None => self.number,
            Some(size) => {
                let index = system.domains.add(Domain::range(0, size - 1, false));
                match system.shapes.add(Shape::Array { index, element: self.number }, &system.domains) {
                    Ok(shape) => shape,
                    Err(_) => return self.error(span, "too large"),
                }
            }
        };
        let id = LocalId(scope.locals.len() as u32);
        scope.locals.push(Local { name: name.to_owned(), shape, kind: LocalKind::Variable });
        scope.names.insert(name.to_owned(), OwnLocal { id, shape, array: size.is_some() });
        let Some(value) = value else { return };
        for n in 0..size.unwrap_or(1) {
            let steps = if size.is_none() { Vec::new() } else { vec![Step::Index(Expr::constant(n))] };
            let place = Place { base: hadal_system::Base::Local(id), steps, shape: self.number, span };
            self.assign(place, self.number_domain, value.clone(), span, out);
        }
    }
}

/// The name that a target starts with.
fn head(target: &Term) -> TermKind {
    match &target.kind {
        TermKind::Index(name, _) | TermKind::Name(name) => TermKind::Name(name.clone()),
        other => other.clone(),
    }
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
