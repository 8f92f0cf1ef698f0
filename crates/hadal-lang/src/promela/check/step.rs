//! What stands inside a `d_step`.

use super::super::ast::{Initial, Stmt, StmtKind};
use super::super::model::{Op, Step};
use super::Checker;

impl Checker<'_> {
    /// The statements of a `d_step`.
    pub(super) fn steps(&mut self, list: &[Stmt]) -> Vec<Step> {
        self.scopes.open();
        let mut steps = Vec::new();
        for stmt in list {
            stacker::maybe_grow(128 << 10, 1 << 20, || self.step(stmt, &mut steps));
        }
        self.scopes.close();
        steps
    }

    fn step(&mut self, stmt: &Stmt, steps: &mut Vec<Step>) {
        match &stmt.kind {
            StmtKind::Declare(variable) => {
                let channel = matches!(variable.initial, Some(Initial::Channel(..)));
                let variable = self.variable(variable);
                let at = self.scopes.declare(variable);
                if !channel {
                    steps.push(Step::Op(Op::Declare(at), stmt.span));
                }
            }
            StmtKind::Exclusive => {}
            StmtKind::Temporary(variable) => {
                let variable = self.variable(variable);
                self.scopes.declare(variable);
            }
            StmtKind::If(options) => {
                let options = options.iter().map(|option| self.steps(option)).collect();
                steps.push(Step::If(options, stmt.span));
            }
            StmtKind::Do(options) => {
                let options = options.iter().map(|option| self.steps(option)).collect();
                steps.push(Step::Do(options, stmt.span));
            }
            StmtKind::Break => steps.push(Step::Break),
            StmtKind::Atomic(body) | StmtKind::Step(body) | StmtKind::Block(body) => {
                steps.extend(self.steps(body));
            }
            StmtKind::Goto(name) => {
                self.error(name.span, "a jump inside `d_step` is not supported; use `if`, `do` and `break`");
            }
            StmtKind::Unless(..) => self.error(stmt.span, "`unless` cannot stand inside `d_step`"),
            _ => {
                let op = self.op(stmt);
                steps.push(Step::Op(op, stmt.span));
            }
        }
    }
}
