//! Sending to and receiving from buffers.

use super::super::model::{Receive, Term, Type, Width};
use super::term::not;
use super::{Env, Lowering};
use crate::channel::Sorted;
use hadal_system::{BinaryOp, Expr, LocalKind, Place, Span, Stmt, StmtKind};

/// A message that a statement sends.
#[derive(Clone, Copy)]
pub(super) struct Message<'m> {
    pub(super) queue: usize,
    pub(super) values: &'m [Term],
    pub(super) span: Span,
    /// The sender's.
    pub(super) env: Env,
}

impl Lowering<'_> {
    /// Puts a message into a buffer that has room.
    pub(super) fn send(&mut self, message: Message<'_>, sorted: bool) -> Vec<Stmt> {
        let Message { queue, values, span, env } = message;
        let fields = self.queues[queue].fields.clone();
        // SPIN finds the place by the values before their fields cut them (`qsend` in its `pan.c`).
        let keys: Vec<Expr> = match sorted {
            true => values.iter().map(|value| self.fitted(value, Type::Number(Width::Int), env)).collect(),
            false => Vec::new(),
        };
        let values: Vec<Expr> =
            values.iter().zip(fields).map(|(value, field)| self.fitted(value, field, env)).collect();
        let Some(buffer) = self.queues[queue].buffer.clone() else { return Vec::new() };
        let mut body = self.event(queue, true, &values, span);
        if !sorted || buffer.capacity == 1 {
            body.extend(buffer.push(values, span));
            return body;
        }
        let shape = self.range_shape(0, buffer.capacity as i64);
        let at = self.local("place", shape, LocalKind::Variable);
        let slide = self.local("moved", shape, LocalKind::Bound);
        body.extend(buffer.insert(Sorted { keys, values }, &Place::local(at, shape, span), slide, span));
        body
    }

    /// Takes a message from a buffer that has one that matches.
    pub(super) fn receive(&mut self, queue: usize, receive: &Receive, span: Span, env: Env) -> Vec<Stmt> {
        let Some(buffer) = self.queues[queue].buffer.clone() else { return Vec::new() };
        let fields = self.queues[queue].fields.clone();
        let mut body = Vec::new();
        let anywhere = receive.random && buffer.capacity > 1;
        let mut at = Expr::constant(0);
        let shape = self.range_shape(0, buffer.capacity as i64);
        if anywhere {
            let local = self.local("place", shape, LocalKind::Variable);
            let place = Place::local(local, shape, span);
            at = place.clone().read();
            let matching = self.matches(receive, &buffer, at.clone(), env);
            let next = Expr::binary(BinaryOp::Add, at.clone(), Expr::constant(1));
            let advance = Stmt::new(StmtKind::Assign(place.clone(), next), span);
            body.push(Stmt::new(StmtKind::Assign(place, Expr::constant(0)), span));
            body.push(Stmt::new(StmtKind::While(not(matching), vec![advance]), span));
        }
        if !receive.keep {
            let values: Vec<Expr> =
                (0..fields.len()).map(|n| buffer.field(at.clone(), n, span).read()).collect();
            body.extend(self.event(queue, false, &values, span));
        }
        for (n, argument) in receive.arguments.iter().enumerate() {
            let value = buffer.field(at.clone(), n, span).read();
            body.extend(self.store_received(argument, value, fields[n], env));
        }
        if receive.keep {
            return body;
        }
        let zero = self.zero(&buffer.last(span));
        if anywhere {
            let slide = self.local("moved", shape, LocalKind::Bound);
            body.extend(buffer.take(at, (slide, shape), zero, span));
        } else {
            body.extend(buffer.pop(zero, span));
        }
        body
    }
}
