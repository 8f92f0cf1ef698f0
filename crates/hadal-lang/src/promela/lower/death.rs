//! The end of a process: the youngest may die once it is at its end.

use super::super::model::Op;
use super::term::equal;
use super::{Lowering, Pid};
use hadal_system::{Action, BinaryOp, Expr, Span, Stmt, StmtKind};

impl Lowering<'_> {
    /// Adds the step by which a slot's instance dies. Everything of it becomes 0, and so do its channels.
    pub(super) fn add_death(&mut self, slot: usize) {
        let class = self.slots[slot].class;
        let end = self.location(class, 0);
        let span = self.model.processes[class].elements[0].span;
        let count = self.whole(self.count, span);
        let youngest = match self.slots[slot].pid {
            Pid::Always(pid) => equal(count.clone().read(), Expr::constant(pid + 1)),
            Pid::State(var) => {
                let one_more = Expr::binary(BinaryOp::Add, self.whole(var, span).read(), Expr::constant(1));
                equal(count.clone().read(), one_more)
            }
        };
        let guard = Expr::binary(BinaryOp::And, self.is_at(slot, end), youngest);
        let less = Expr::binary(BinaryOp::Subtract, count.clone().read(), Expr::constant(1));
        self.locals.clear();
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

    /// Notes who moves, where somebody asks.
    pub(super) fn noting(&mut self, slot: usize, span: Span) -> Vec<Stmt> {
        let Some(last) = self.last else { return Vec::new() };
        vec![Stmt::new(StmtKind::Assign(self.whole(last, span), self.pid(slot, span)), span)]
    }

    /// Whether a basic statement always can, does not branch, and says nothing about channels: then it can be one with
    /// the step before it, inside an atomic sequence.
    pub(super) fn is_plain(&self, op: &Op) -> bool {
        match op {
            Op::Assign(_, value) => !super::operation::starts(value),
            Op::Condition(term) => super::super::check::constant(term).is_some_and(|value| value != 0),
            Op::Declare(_) | Op::Print(..) | Op::Assert(_) | Op::Jump => true,
            Op::Else | Op::Send { .. } | Op::Receive(_) | Op::SetPriority(..) => false,
        }
    }
}
