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

    /// The statements of a whole `d_step`, whose jumps stay inside.
    pub(super) fn whole_step(&mut self, list: &[Stmt]) -> Vec<Step> {
        let (mut labels, mut jumps) = (Vec::new(), Vec::new());
        super::flow::walk(list, &mut |stmt| {
            labels.extend(stmt.labels.iter().map(|label| label.text.clone()));
            if let StmtKind::Goto(name) = &stmt.kind {
                jumps.push(name.clone());
            }
        });
        for jump in &jumps {
            if !labels.contains(&jump.text) {
                self.error(jump.span, "a jump cannot leave a `d_step`");
            }
        }
        let outer = std::mem::replace(&mut self.jumped_to, jumps.into_iter().map(|it| it.text).collect());
        let steps = self.steps(list);
        self.jumped_to = outer;
        steps
    }

    fn step(&mut self, stmt: &Stmt, steps: &mut Vec<Step>) {
        for label in &stmt.labels {
            if self.jumped_to.contains(&label.text) {
                steps.push(Step::Label(label.text.clone()));
            }
        }
        match &stmt.kind {
            StmtKind::Declare(variable) => {
                let channel = matches!(variable.initial, Some(Initial::Channel(..)));
                let variable = self.variable(variable);
                let at = self.scopes.declare(variable);
                if !channel {
                    steps.push(Step::Op(Op::Declare(at), stmt.span));
                }
            }
            StmtKind::Exclusive(way, channels) => self.exclusive(*way, channels),
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
            StmtKind::Goto(name) => steps.push(Step::Goto(name.text.clone())),
            StmtKind::Unless(..) => self.error(stmt.span, "`unless` cannot stand inside `d_step`"),
            _ => {
                let op = self.op(stmt);
                steps.push(Step::Op(op, stmt.span));
            }
        }
    }
}
