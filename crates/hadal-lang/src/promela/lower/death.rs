//! The end of a process: the youngest may die once it is at its end.

use super::super::model::Op;
use super::term::{and, equal, not};
use super::{Env, Lowering, Pid, Timeout};
use hadal_system::{Action, BinaryOp, Expr, Span, Stmt, StmtKind};

impl Lowering<'_> {
    /// Adds the step by which a slot's instance dies. Everything of it becomes 0, and so do its channels.
    pub(super) fn add_death(&mut self, slot: usize) {
        let class = self.slots[slot].class;
        let end = self.location(class, 0);
        let span = self.model.processes[class].elements[0].span;
        let count = self.whole(self.count, span);
        self.locals.clear();
        let provided = self.provided(slot, Env::of(slot));
        let guard = and(and(self.can_die(slot), provided), not(self.outranked(slot, Timeout::No)));
        let less = Expr::binary(BinaryOp::Subtract, count.clone().read(), Expr::constant(1));
        let mut body = self.noting(slot, span);
        body.push(Stmt::new(StmtKind::Assign(count, less), span));
        body.push(self.goes_to(slot, 0, span));
        body.extend(self.zero_locals(slot));
        for queue in 0..self.queues.len() {
            if self.queues[queue].owner == Some(slot) {
                body.extend(self.empty_queue(queue));
            }
        }
        let name = format!("{}: end", self.slot_name(slot));
        self.add(Action { name, guard, body, span, ..Action::default() }, &[(slot, end, 0)]);
    }

    /// Whether a slot's instance is at its end, and the youngest of all.
    pub(super) fn can_die(&self, slot: usize) -> Expr {
        let class = self.slots[slot].class;
        let span = self.model.processes[class].elements[0].span;
        let count = self.whole(self.count, span).read();
        let youngest = match self.slots[slot].pid {
            Pid::Always(pid) => equal(count, Expr::constant(pid + 1)),
            Pid::State(var) => {
                let one_more = Expr::binary(BinaryOp::Add, self.whole(var, span).read(), Expr::constant(1));
                equal(count, one_more)
            }
        };
        Expr::binary(BinaryOp::And, self.is_at(slot, self.location(class, 0)), youngest)
    }

    /// Notes who moves, where somebody asks.
    pub(super) fn noting(&mut self, slot: usize, span: Span) -> Vec<Stmt> {
        let Some(last) = self.last else { return Vec::new() };
        vec![Stmt::new(StmtKind::Assign(self.whole(last, span), self.pid(slot, span)), span)]
    }

    /// Whether a basic statement always can, does not branch, and says nothing about channels: then it can be one with
    /// the step before it, inside an atomic sequence.
    pub(super) fn is_plain(&self, op: &Op) -> bool {
        match op {
            Op::Assign(_, value) => !value.starts(),
            Op::Condition(term) => super::super::check::constant(term).is_some_and(|value| value != 0),
            Op::Declare(_) | Op::Print(..) | Op::Assert(_) | Op::Jump => true,
            Op::Else | Op::Send { .. } | Op::Receive(_) | Op::SetPriority(..) | Op::Event { .. } => false,
        }
    }
}
