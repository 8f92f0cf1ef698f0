//! Whether others can see what a statement does or depends on.

use super::super::lower::slots::inner;
use super::super::model::{
    Argument, Exclusive, Model, Op, Process, Receive, Term, TermKind, VarPath, VarRef, Variable,
};

/// Looks at the statements of a process.
pub(super) struct Visible<'m> {
    pub model: &'m Model,
    pub process: &'m Process,
}

impl Visible<'_> {
    /// Whether a statement touches what others see. As in SPIN, indices are not looked at, and a channel is seen by others
    /// where the process does not say that it alone sends (`xs`) or receives (`xr`).
    pub fn op(&self, op: &Op) -> bool {
        match op {
            Op::Condition(term) | Op::Assert(term) => self.term(term),
            Op::Assign(target, value) => self.place(target) || self.term(value),
            Op::Declare(n) => match &self.process.variables[*n].initial {
                super::super::model::Initial::Value(term) => self.term(term),
                _ => false,
            },
            Op::Print(_, values) => values.iter().any(|value| self.term(value)),
            Op::Send { channel, values, .. } => {
                values.iter().any(|value| self.term(value)) || !self.exclusive(channel).sends
            }
            Op::Receive(receive) => self.arguments(receive) || !self.exclusive(&receive.channel).receives,
            Op::Else | Op::Jump => false,
            Op::SetPriority(..) | Op::Event { .. } => true,
        }
    }

    fn place(&self, place: &VarPath) -> bool {
        matches!(place.var, VarRef::Global(_))
    }

    fn arguments(&self, receive: &Receive) -> bool {
        receive.arguments.iter().any(|argument| match argument {
            Argument::Into(target) => self.place(target),
            Argument::Match(term) => self.term(term),
            Argument::Ignore => false,
        })
    }

    fn variable(&self, place: &VarPath) -> &Variable {
        match place.var {
            VarRef::Global(n) => &self.model.globals[n],
            VarRef::Local(n) => &self.process.variables[n],
        }
    }

    fn exclusive(&self, channel: &VarPath) -> Exclusive {
        self.variable(channel).exclusive
    }

    fn term(&self, term: &Term) -> bool {
        stacker::maybe_grow(64 << 10, 1 << 20, || match &term.kind {
            TermKind::Const(_) | TermKind::Pid => false,
            TermKind::Read(place) => self.place(place),
            TermKind::Unary(_, of) => self.term(of),
            TermKind::Binary(_, left, right) => self.term(left) || self.term(right),
            TermKind::Choice(condition, yes, no) => self.term(condition) || self.term(yes) || self.term(no),
            TermKind::Channel(word, channel) => {
                let Exclusive { sends, receives } = self.exclusive(channel);
                match *word {
                    "nempty" | "full" => !receives,
                    "nfull" | "empty" => !sends,
                    _ => !(sends && receives),
                }
            }
            TermKind::Poll(receive) => {
                let Exclusive { sends, receives } = self.exclusive(&receive.channel);
                self.arguments(receive) || !(sends && receives)
            }
            TermKind::Run(run) => {
                let started = &self.model.processes[run.process];
                started
                    .variables
                    .iter()
                    .any(|it| matches!(it.initial, super::super::model::Initial::Value(_)))
            }
            TermKind::Count
            | TermKind::Last
            | TermKind::Timeout
            | TermKind::NonProgress
            | TermKind::Process(..)
            | TermKind::Label { .. }
            | TermKind::Remote { .. } => true,
        })
    }
}

/// The local variables that a term reads, without arrays and fields.
pub(super) fn locals(term: &Term, reads: &mut Vec<usize>) {
    inner(term, &mut |it| {
        if let TermKind::Read(VarPath { var: VarRef::Local(n), path, .. }) = &it.kind
            && path.is_empty()
            && !reads.contains(n)
        {
            reads.push(*n);
        }
    });
}
