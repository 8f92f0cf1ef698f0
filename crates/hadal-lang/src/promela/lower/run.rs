//! Starting processes.

use super::super::model::{Initial, Run, Term, TermKind, Type, Variable};
use super::{Env, Lowering, Pid, Store};
use hadal_system::{BinaryOp, Expr, Place, Span, Step, Stmt, StmtKind};

/// How the error begins that says that a process type needs more slots.
pub const NO_ROOM: &str = "hadal keeps room for";

impl Lowering<'_> {
    /// Starts the processes that a term starts.
    pub(super) fn starting(&mut self, term: &Term, env: Env) -> Vec<Stmt> {
        match &term.kind {
            TermKind::Run(run) => self.run(run, term.span, env),
            TermKind::Unary(_, of) => self.starting(of, env),
            TermKind::Binary(_, left, right) => {
                let mut body = self.starting(left, env);
                body.extend(self.starting(right, env));
                body
            }
            _ => Vec::new(),
        }
    }

    fn run(&mut self, run: &Run, span: Span, env: Env) -> Vec<Stmt> {
        let model = self.model;
        let process = &model.processes[run.process];
        let mut branches = Vec::new();
        for slot in self.classes[run.process].clone() {
            let mut body = Vec::new();
            if let Pid::State(var) = self.slots[slot].pid {
                let place = self.whole(var, span);
                let count = self.whole(self.count, span).read();
                body.push(Stmt::new(StmtKind::Assign(place, count), span));
            }
            for (n, argument) in run.arguments.iter().enumerate() {
                let Some(parameter) = process.variables.get(n) else { continue };
                let Store::State(var) = self.slots[slot].stores[n] else { continue };
                let place = self.whole(var, span);
                body.extend(self.pass(argument, parameter, place, env));
            }
            body.extend(self.starts_with(slot, run.priority, span));
            body.extend(self.begin(slot));
            branches.push((self.is_at(slot, 0), body));
        }
        let room = branches.len();
        let message =
            format!("{NO_ROOM} {room} processes `{}` at once, and one more is started", process.name);
        let otherwise = vec![Stmt::new(StmtKind::Fail(message), span)];
        let count = self.whole(self.count, span);
        let more = Expr::binary(BinaryOp::Add, count.clone().read(), Expr::constant(1));
        vec![
            Stmt::new(StmtKind::If { branches, otherwise }, span),
            Stmt::new(StmtKind::Assign(count, more), span),
        ]
    }

    /// Gives a parameter its value.
    fn pass(&mut self, argument: &Term, parameter: &Variable, place: Place, env: Env) -> Vec<Stmt> {
        let span = argument.span;
        if let (Type::Record(_), TermKind::Read(target)) = (parameter.ty, &argument.kind) {
            let from = self.place(target, env);
            return from
                .map(|from| Stmt::new(StmtKind::Copy { to: place, from }, span))
                .into_iter()
                .collect();
        }
        let value = self.fitted(argument, parameter.ty, env);
        vec![Stmt::new(StmtKind::Assign(place, value), span)]
    }

    /// Sets a variable that is declared in the middle to what it starts with; of an array, its first element, as SPIN
    /// does.
    pub(super) fn initialise_first(&mut self, variable: &Variable, store: Store, env: Env) -> Vec<Stmt> {
        let Store::State(var) = store else { return Vec::new() };
        if let Type::Record(_) = variable.ty {
            return Vec::new();
        }
        let span = variable.span;
        let mut place = self.whole(var, span);
        if variable.length.is_some() {
            place.steps.push(Step::Index(Expr::constant(0)));
            place.shape = self.type_shape(variable.ty, span);
        }
        let value = match &variable.initial {
            Initial::Value(value) => self.fitted(value, variable.ty, env),
            Initial::List(_) => return self.initialise(variable, store, env),
            _ => Expr::constant(0),
        };
        vec![Stmt::new(StmtKind::Assign(place, value), span)]
    }
}
