//! The steps of processes as actions.

use super::super::flow::{Edge, Exits};
use super::super::model::{ElementId, ElementKind, Op, Process, Receive, Step, Term};
use super::message::Message;
use super::operation::asks_timeout;
use super::term::{and, not, or};
use super::{Env, Lowering, Timeout};
use hadal_system::{Action, Expr, Local, ProcessId, Span, Stmt};

/// The most actions of a system.
const MAX_ACTIONS: usize = 400_000;

/// A step of one process, ready to be combined.
#[derive(Clone)]
struct Part {
    slot: usize,
    from: ElementId,
    edge: Edge,
    /// When it can be tried: control, escapes, `provided`, `else`.
    guard: Expr,
    /// What the guard's own variables are.
    locals: Vec<Local>,
    env: Env,
}

impl Lowering<'_> {
    /// Makes all actions.
    pub(super) fn make_actions(&mut self) {
        for slot in 0..self.slots.len() {
            for part in self.parts(slot) {
                self.make(&part);
                if self.actions.len() > MAX_ACTIONS {
                    let span = self.model.processes[self.slots[slot].class].span;
                    return self.error(span, format!("the processes have more than {MAX_ACTIONS} steps"));
                }
            }
            self.add_death(slot);
        }
    }

    /// The steps of a slot.
    fn parts(&mut self, slot: usize) -> Vec<Part> {
        let model = self.model;
        let class = self.slots[slot].class;
        let process = &model.processes[class];
        let mut parts = Vec::new();
        for state in self.controls[class].states.clone() {
            let exits = process.exits(state);
            for timeout in [Timeout::No, Timeout::Yes] {
                self.locals.clear();
                let env = Env { timeout, ..Env::of(slot) };
                if timeout == Timeout::Yes && !self.any_timeout(class, &exits) {
                    continue;
                }
                let provided = self.provided(slot, env);
                let first = not(self.outranked(slot, timeout));
                let here = self.is_at(slot, self.location(class, state));
                let mut allowed = and(and(here, provided), first);
                for list in exits.escapes.iter().chain([&exits.own]) {
                    for &edge in list {
                        if timeout == Timeout::Yes && !self.edge_asks_timeout(class, edge) {
                            continue;
                        }
                        let mut guard = allowed.clone();
                        if let Some(Op::Else) = process.op(edge.element) {
                            let others: Vec<Edge> = list
                                .iter()
                                .filter(|other| !matches!(process.op(other.element), Some(Op::Else)))
                                .copied()
                                .collect();
                            let none = self.none_of(slot, &others, env);
                            guard = and(guard, none);
                        }
                        let locals = self.locals.clone();
                        parts.push(Part { slot, from: state, edge, guard, locals, env });
                    }
                    if !std::ptr::eq(list, &exits.own) {
                        let none = self.none_of(slot, list, env);
                        allowed = and(allowed, none);
                    }
                }
            }
        }
        parts
    }

    fn edge_asks_timeout(&self, class: usize, edge: Edge) -> bool {
        let process = &self.model.processes[class];
        let mut asks = false;
        super::slots::ops(&process.elements[edge.element], &mut |op| {
            if let Op::Condition(term) = op {
                asks |= asks_timeout(term);
            }
        });
        asks || process.provided.as_ref().is_some_and(asks_timeout)
    }

    fn any_timeout(&self, class: usize, exits: &Exits) -> bool {
        exits.escapes.iter().flatten().chain(&exits.own).any(|&edge| self.edge_asks_timeout(class, edge))
    }

    fn make(&mut self, part: &Part) {
        let model = self.model;
        let class = self.slots[part.slot].class;
        let process = &model.processes[class];
        let element = &process.elements[part.edge.element];
        self.locals.clone_from(&part.locals);
        if let ElementKind::Step(steps) = &element.kind {
            if let Some(Step::Op(Op::Send { channel, values, .. }, _)) = steps.first() {
                for (here, queue) in self.queues_of(channel, Some(values.len()), part.env) {
                    if self.queues[queue].buffer.is_none() {
                        self.locals.clone_from(&part.locals);
                        let guard = and(part.guard.clone(), here);
                        let span = element.span;
                        self.handshakes(part, guard, Message { queue, values, span, env: part.env });
                    }
                }
                self.locals.clone_from(&part.locals);
            }
            let can = self.first_executable(steps, part.slot, part.env);
            let body = self.d_step(steps, part.slot, part.env);
            let guard = and(part.guard.clone(), can);
            return self.finish(part, guard, body, element.span);
        }
        let Some(op) = process.op(part.edge.element) else { return };
        match op {
            Op::Send { channel, values, .. } => {
                for (here, queue) in self.queues_of(channel, Some(values.len()), part.env) {
                    self.locals.clone_from(&part.locals);
                    let guard = and(part.guard.clone(), here);
                    match self.queues[queue].buffer.clone() {
                        Some(buffer) => {
                            let guard = and(guard, buffer.has_room(channel.span));
                            let body = self.effect(op, Some(queue), element.span, part.env);
                            self.finish(part, guard, body, element.span);
                        }
                        None => {
                            let span = element.span;
                            self.handshakes(part, guard, Message { queue, values, span, env: part.env });
                        }
                    }
                }
            }
            Op::Receive(receive) => {
                let fields = receive.arguments.len();
                for (here, queue) in self.queues_of(&receive.channel, Some(fields), part.env) {
                    self.locals.clone_from(&part.locals);
                    // The sender offers a rendezvous.
                    let Some(buffer) = self.queues[queue].buffer.clone() else { continue };
                    let finds = self.finds(receive, &buffer, part.env);
                    let guard = and(and(part.guard.clone(), here), finds);
                    let body = self.effect(op, Some(queue), element.span, part.env);
                    self.finish(part, guard, body, element.span);
                }
            }
            _ => {
                let can = self.op_executable(op, part.slot, part.env);
                let guard = and(part.guard.clone(), can);
                let body = self.effect(op, None, element.span, part.env);
                self.finish(part, guard, body, element.span);
            }
        }
    }

    /// Adds an action of one process: what it does, then what follows at once inside an atomic sequence.
    fn finish(&mut self, part: &Part, guard: Expr, mut body: Vec<Stmt>, span: Span) {
        if guard.as_const() == Some(0) {
            return;
        }
        let class = self.slots[part.slot].class;
        self.conclude(part.slot, part.edge.element, &mut body);
        // What follows inside an atomic sequence sees who moved last.
        body.extend(self.noting(part.slot, span));
        let (to, then) = self.follow(part.slot, part.edge, &mut body);
        let (from, target) = (self.location(class, part.from), self.location(class, to));
        if from != target {
            body.push(self.goes_to(part.slot, target, span));
        }
        let name = self.action_name(part.slot, span);
        let rank = part.env.rank();
        let action = Action { name, guard, body, span, rank, then, ..Action::default() };
        self.add(action, &[(part.slot, from, target)]);
    }

    /// Carries out what is merged with a statement, and sets variables to 0 that nobody needs any more.
    fn conclude(&mut self, slot: usize, element: ElementId, body: &mut Vec<Stmt>) {
        let model = self.model;
        let process = &model.processes[self.slots[slot].class];
        let Some(merged) = process.merged.get(element) else { return };
        for (n, &id) in std::iter::once(&element).chain(&merged.with).enumerate() {
            let span = process.elements[id].span;
            if n > 0
                && let Some(op) = process.op(id)
            {
                body.extend(self.effect(op, None, span, Env::of(slot)));
            }
            for &dead in &process.merged[id].dead {
                if let super::Store::State(variable) = self.slots[slot].stores[dead] {
                    body.push(self.reset(variable, span));
                }
            }
        }
    }

    /// Carries out what follows at once: inside an atomic sequence, statements that always can and do not branch.
    fn follow(&mut self, slot: usize, taken: Edge, body: &mut Vec<Stmt>) -> (ElementId, Option<ProcessId>) {
        let model = self.model;
        let process = &model.processes[self.slots[slot].class];
        let env = Env::of(slot);
        let Edge { mut to, mut alone, .. } = taken;
        let mut passed = vec![to];
        while alone && process.provided.is_none() && !self.priorities.differ() {
            let exits = process.exits(to);
            let ([edge], []) = (&exits.own[..], &exits.escapes[..]) else { break };
            let span = process.elements[edge.element].span;
            match process.op(edge.element) {
                Some(op) if self.is_plain(op) => body.extend(self.effect(op, None, span, env)),
                _ => break,
            }
            self.conclude(slot, edge.element, body);
            (to, alone) = (edge.to, edge.alone);
            if passed.contains(&to) {
                break;
            }
            passed.push(to);
        }
        let then = alone.then_some(ProcessId(slot as u32));
        (to, then)
    }

    fn action_name(&self, slot: usize, span: Span) -> String {
        const LONGEST: usize = 60;
        let text: Vec<&str> = self.source.slice(span).split_whitespace().collect();
        let mut text = text.join(" ");
        if text.chars().count() > LONGEST {
            text = text.chars().take(LONGEST - 3).chain("...".chars()).collect();
        }
        format!("{}: {text}", self.slot_name(slot))
    }

    /// The receives of other processes that accept a message offered through a rendezvous channel.
    ///
    /// While a message is offered nothing else can be carried out (`boq` in SPIN's `pan.m`): of the escapes around a receive
    /// only those that receive the message themselves come before it.
    fn receivers(&mut self, sender: usize, message: Message<'_>) -> Vec<(Part, Receive)> {
        let (queue, fields, timeout) = (message.queue, message.values.len(), message.env.timeout);
        let mut found = Vec::new();
        for slot in (0..self.slots.len()).filter(|&slot| slot != sender) {
            let class = self.slots[slot].class;
            let process = &self.model.processes[class];
            let receives =
                |element| first_receive(process, element).is_some_and(|it| it.arguments.len() == fields);
            if !(0..process.elements.len()).any(receives) {
                continue;
            }
            for state in self.controls[class].states.clone() {
                let exits = process.exits(state);
                let env = Env { timeout, ..Env::of(slot) };
                let mut escaped = Expr::constant(0);
                for list in exits.escapes.iter().chain([&exits.own]) {
                    let mut received = Expr::constant(0);
                    for &edge in list {
                        let Some(receive) = first_receive(process, edge.element) else { continue };
                        if receive.arguments.len() != fields {
                            continue;
                        }
                        for (here, other) in self.queues_of(&receive.channel, Some(fields), env) {
                            if other == queue {
                                let accepts = and(here, self.accepts(receive, env, message));
                                let provided = self.provided(slot, env);
                                let guard = and(self.is_at(slot, self.location(class, state)), provided);
                                let guard = and(and(guard, not(escaped.clone())), accepts.clone());
                                let locals = Vec::new();
                                let part = Part { slot, from: state, edge, guard, locals, env };
                                found.push((part, receive.clone()));
                                received = or(received, accepts);
                            }
                        }
                    }
                    escaped = or(escaped, received);
                }
            }
        }
        found
    }

    /// Whether somebody waits to receive these values.
    pub(super) fn has_partner(&mut self, sender: usize, queue: usize, values: &[Term], env: Env) -> Expr {
        let span = values.first().map_or_else(Span::default, |value| value.span);
        let receivers = self.receivers(sender, Message { queue, values, span, env });
        receivers.into_iter().fold(Expr::constant(0), |any, (receiver, _)| or(any, receiver.guard))
    }

    /// Adds the joint steps of a sender with everybody who may receive.
    fn handshakes(&mut self, part: &Part, guard: Expr, message: Message<'_>) {
        let Message { queue, values, span, .. } = message;
        let model = self.model;
        let receivers = self.receivers(part.slot, message);
        let locals = self.locals.clone();
        for (receiver, receive) in &receivers {
            self.locals.clone_from(&locals);
            let guard = and(guard.clone(), receiver.guard.clone());
            if guard.as_const() == Some(0) {
                continue;
            }
            let sent: Vec<Expr> = values
                .iter()
                .zip(self.queues[queue].fields.clone())
                .map(|(value, field)| self.fitted(value, field, part.env))
                .collect();
            let mut body = self.no_meeting(queue, span);
            body.extend(self.event(queue, true, &sent, span));
            body.extend(self.event(queue, false, &sent, span));
            // The values are those before the step; only a variable of the sender that is received into at once could differ.
            for (n, (argument, value)) in receive.arguments.iter().zip(values).enumerate() {
                let field = self.queues[queue].fields[n];
                let value = self.fitted(value, field, part.env);
                body.extend(self.store_received(argument, value, field, receiver.env));
            }
            let (sender_class, receiver_class) =
                (self.slots[part.slot].class, self.slots[receiver.slot].class);
            let sent = (self.location(sender_class, part.from), self.location(sender_class, part.edge.to));
            // What follows inside a d_step belongs to the same step, and so does what is merged with it.
            for side in [receiver, part] {
                self.conclude(side.slot, side.edge.element, &mut body);
                let class = self.slots[side.slot].class;
                if let ElementKind::Step(steps) = &model.processes[class].elements[side.edge.element].kind {
                    body.extend(self.rest_of_step(&steps[1..], side.slot, side.env));
                }
            }
            body.push(self.goes_to(part.slot, sent.1, span));
            // The receiver's half comes second.
            body.extend(self.noting(receiver.slot, span));
            let (to, then) = self.follow(receiver.slot, receiver.edge, &mut body);
            let got = (self.location(receiver_class, receiver.from), self.location(receiver_class, to));
            body.push(self.goes_to(receiver.slot, got.1, span));
            let receive_span = model.processes[receiver_class].elements[receiver.edge.element].span;
            let name = format!(
                "{} -> {}",
                self.action_name(part.slot, span),
                self.action_name(receiver.slot, receive_span)
            );
            let rank = part.env.rank();
            let action = Action { name, guard, body, span, rank, then, ..Action::default() };
            self.add(action, &[(part.slot, sent.0, sent.1), (receiver.slot, got.0, got.1)]);
        }
    }
}

/// The receive that an element begins with.
fn first_receive(process: &Process, element: ElementId) -> Option<&Receive> {
    match &process.elements[element].kind {
        ElementKind::Op(Op::Receive(receive)) => Some(receive),
        ElementKind::Step(steps) => match steps.first() {
            Some(Step::Op(Op::Receive(receive), _)) => Some(receive),
            _ => None,
        },
        _ => None,
    }
}
