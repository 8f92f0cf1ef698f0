//! Basic statements: when they can be carried out, and what they do.

use super::super::flow::Edge;
use super::super::model::{Argument, ElementKind, Op, Receive, Step, Term, TermKind, VarPath};
use super::message::Message;
use super::term::{and, equal, not, or};
use super::{Env, Lowering};
use hadal_system::{CheckKind, Expr, PrintItem, Span, Stmt, StmtKind};

impl Lowering<'_> {
    /// Whether the statement of an edge out of `slot`'s control state can be carried out. A rendezvous is offered by its
    /// sender.
    pub(super) fn executable(&mut self, slot: usize, edge: Edge, env: Env) -> Expr {
        let model = self.model;
        let process = &model.processes[self.slots[slot].class];
        match &process.elements[edge.element].kind {
            ElementKind::Step(steps) => self.first_executable(steps, slot, env),
            _ => match process.op(edge.element) {
                Some(op) => self.op_executable(op, slot, env),
                None => Expr::constant(0),
            },
        }
    }

    /// Whether a basic statement can be carried out; `else` says yes.
    pub(super) fn op_executable(&mut self, op: &Op, slot: usize, env: Env) -> Expr {
        match op {
            Op::Condition(term) if term.starts() => Expr::constant(1),
            Op::Condition(term) => self.value(term, env),
            Op::Send { channel, values, .. } => {
                let mut any = Expr::constant(0);
                for (here, queue) in self.queues_of(channel, Some(values.len()), env) {
                    let possible = match self.queues[queue].buffer.clone() {
                        Some(buffer) => buffer.has_room(channel.span),
                        None => self.has_partner(slot, queue, values, env),
                    };
                    any = or(any, and(here, possible));
                }
                any
            }
            Op::Receive(receive) => self.can_receive(receive, env),
            Op::Else
            | Op::Assign(..)
            | Op::Declare(_)
            | Op::Print(..)
            | Op::Assert(_)
            | Op::SetPriority(..)
            | Op::Jump => Expr::constant(1),
            Op::Event { .. } => Expr::constant(0),
        }
    }

    /// Whether the first statement of a `d_step` can be carried out.
    pub(super) fn first_executable(&mut self, steps: &[Step], slot: usize, env: Env) -> Expr {
        match steps.first() {
            None | Some(Step::Break | Step::Goto(_)) => Expr::constant(1),
            Some(Step::Label(_)) => self.first_executable(&steps[1..], slot, env),
            Some(Step::Op(op, _)) => self.op_executable(op, slot, env),
            Some(Step::If(options, _) | Step::Do(options, _)) => {
                let mut any = Expr::constant(0);
                for option in options {
                    any = or(any, self.first_executable(option, slot, env));
                }
                any
            }
        }
    }

    /// Whether anything out of a process's control state can fire.
    pub(super) fn can_move(&mut self, slot: usize, env: Env) -> Expr {
        let class = self.slots[slot].class;
        let process = &self.model.processes[class];
        let env = Env { slot: Some(slot), ..env };
        let mut any = Expr::constant(0);
        for state in self.controls[class].states.clone() {
            let exits = process.exits(state);
            let mut here = Expr::constant(0);
            for &edge in exits.own.iter().chain(exits.escapes.iter().flatten()) {
                here = or(here, self.executable(slot, edge, env));
            }
            any = or(any, and(self.is_at(slot, self.location(class, state)), here));
        }
        or(any, self.can_die(slot))
    }

    /// What a basic statement does. A send or receive goes through `queue`, which has a buffer.
    pub(super) fn effect(&mut self, op: &Op, queue: Option<usize>, span: Span, env: Env) -> Vec<Stmt> {
        let mut body = self.keeps_out(op, queue, span, env);
        body.extend(self.does(op, queue, span, env));
        body
    }

    fn does(&mut self, op: &Op, queue: Option<usize>, span: Span, env: Env) -> Vec<Stmt> {
        match op {
            Op::Condition(term) => self.starting(term, env),
            Op::Else | Op::Jump | Op::Event { .. } => Vec::new(),
            Op::Assign(target, value) => {
                let mut body = self.starting(value, env);
                body.extend(self.assign(target, value, env));
                body
            }
            Op::Declare(n) => {
                let Some(slot) = env.slot else { return Vec::new() };
                let variable = &self.model.processes[self.slots[slot].class].variables[*n];
                let store = self.slots[slot].stores[*n];
                self.initialise_first(variable, store, env)
            }
            Op::Print(text, values) => {
                let items = self.print(text, values, env);
                vec![Stmt::new(StmtKind::Print(items), span)]
            }
            Op::Assert(term) => {
                let condition = self.value(term, env);
                let message = format!("assert({})", self.source.slice(term.span));
                let kind = StmtKind::Check { kind: CheckKind::Assert, condition, message };
                vec![Stmt::new(kind, span)]
            }
            Op::Send { values, sorted, .. } => match queue {
                Some(queue) => self.send(Message { queue, values, span, env }, *sorted),
                None => Vec::new(),
            },
            Op::Receive(receive) => match queue {
                Some(queue) => self.receive(queue, receive, span, env),
                None => Vec::new(),
            },
            Op::SetPriority(pid, priority) => self.set_priority(pid, priority, span, env),
        }
    }

    /// [`Lowering::effect`] where the channel is found when the statement is carried out.
    pub(super) fn any_effect(&mut self, op: &Op, span: Span, env: Env) -> Vec<Stmt> {
        let (target, fields) = match op {
            Op::Send { channel, values, .. } => (channel, values.len()),
            Op::Receive(Receive { channel, arguments, .. }) => (channel, arguments.len()),
            _ => return self.effect(op, None, span, env),
        };
        let mut branches = Vec::new();
        for (here, queue) in self.queues_of(target, Some(fields), env) {
            if self.queues[queue].buffer.is_none() {
                continue;
            }
            let body = self.effect(op, Some(queue), span, env);
            if here.as_const() == Some(1) {
                return body;
            }
            branches.push((here, body));
        }
        let otherwise = vec![Stmt::new(StmtKind::Fail("there is no such channel".into()), span)];
        vec![Stmt::new(StmtKind::If { branches, otherwise }, span)]
    }

    fn assign(&mut self, target: &VarPath, value: &Term, env: Env) -> Vec<Stmt> {
        let value = self.fitted(value, target.ty, env);
        match self.place(target, env) {
            Some(place) => vec![Stmt::new(StmtKind::Assign(place, value), target.span)],
            None => Vec::new(),
        }
    }

    /// Puts a value that was received where it goes.
    pub(super) fn store_received(
        &mut self,
        argument: &Argument,
        value: Expr,
        field: super::Type,
        env: Env,
    ) -> Option<Stmt> {
        let Argument::Into(target) = argument else { return None };
        let (low, high) = field.bounds();
        let (least, most) = target.ty.bounds();
        let value = self.wrapped(super::term::Bounded { expr: value, low, high }, least, most).expr;
        let place = self.place(target, env)?;
        Some(Stmt::new(StmtKind::Assign(place, value), target.span))
    }

    fn print(&mut self, text: &str, values: &[Term], env: Env) -> Vec<PrintItem> {
        let mut items = Vec::new();
        let mut plain = String::new();
        let mut values = values.iter();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match c {
                '\\' => match characters.next() {
                    Some('n') => plain.push('\n'),
                    Some('t') => plain.push('\t'),
                    Some(other) => plain.push(other),
                    None => {}
                },
                '%' => match characters.next() {
                    Some('%') => plain.push('%'),
                    Some(format) => {
                        if let Some(value) = values.next() {
                            if !plain.is_empty() {
                                items.push(PrintItem::Text(std::mem::take(&mut plain)));
                            }
                            let domain = (format == 'e').then(|| self.scalar_domain(super::Type::Mtype(0)));
                            items.push(PrintItem::Value(self.value(value, env), domain));
                        }
                    }
                    None => {}
                },
                other => plain.push(other),
            }
        }
        if !plain.is_empty() {
            items.push(PrintItem::Text(plain));
        }
        items
    }

    /// When every guard in `before` fails.
    pub(super) fn none_of(&mut self, slot: usize, edges: &[Edge], env: Env) -> Expr {
        let mut any = Expr::constant(0);
        for &edge in edges {
            any = or(any, self.executable(slot, edge, env));
        }
        not(any)
    }

    /// The slot may move: its `provided` clause says so.
    pub(super) fn provided(&mut self, slot: usize, env: Env) -> Expr {
        let model = self.model;
        match &model.processes[self.slots[slot].class].provided {
            Some(term) => self.value(term, Env { slot: Some(slot), ..env }),
            None => Expr::constant(1),
        }
    }

    /// Whether the receiver's arguments accept a message.
    pub(super) fn accepts(&mut self, receive: &Receive, receiver: Env, message: Message<'_>) -> Expr {
        let Message { queue, values, env: sender, .. } = message;
        let mut all = Expr::constant(1);
        for (n, (argument, value)) in receive.arguments.iter().zip(values).enumerate() {
            if let Argument::Match(wanted) = argument {
                let field = self.queues[queue].fields[n];
                let value = self.fitted(value, field, sender);
                let wanted = self.value(wanted, receiver);
                all = and(all, equal(value, wanted));
            }
        }
        all
    }
}

/// Whether a condition asks for `timeout`.
pub(super) fn asks_timeout(term: &Term) -> bool {
    stacker::maybe_grow(64 << 10, 1 << 20, || match &term.kind {
        TermKind::Timeout => true,
        TermKind::Unary(_, of) => asks_timeout(of),
        TermKind::Binary(_, left, right) => asks_timeout(left) || asks_timeout(right),
        TermKind::Choice(condition, yes, no) => {
            asks_timeout(condition) || asks_timeout(yes) || asks_timeout(no)
        }
        _ => false,
    })
}
