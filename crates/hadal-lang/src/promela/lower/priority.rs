//! Priorities: a process moves only where none of higher priority can.
//!
//! As in SPIN 6, a model with priorities has no rendezvous: it takes two, who may have different ones.

use super::super::model::{Model, Op, Process, Term, TermKind};
use super::slots::{ops, terms};
use super::term::{and, equal, not, or};
use super::{Env, Lowering, Timeout};
use hadal_system::{
    BinaryOp, CheckKind, Domain, Expr, ExprKind, Function, FunctionId, ProcessId, Role, Span, Stmt, StmtKind,
    VarId, Variable,
};
use std::collections::HashMap;

/// The priority of the instance in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    Always(i64),
    State(VarId),
}

/// What is known about priorities.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    /// By process type: the priorities its instances may start with.
    starts: Vec<Vec<i64>>,
    /// Whether they change.
    change: bool,
    /// The functions that say whether a slot's process can move.
    movers: HashMap<(usize, bool), FunctionId>,
}

impl Priorities {
    /// Of a model's processes.
    pub(super) fn of(model: &Model) -> Self {
        let mut starts: Vec<Vec<i64>> = vec![Vec::new(); model.processes.len()];
        let mut change = false;
        for (class, process) in model.processes.iter().enumerate() {
            if process.active.count > 0 {
                note(&mut starts[class], process.active.priority);
            }
            for element in &process.elements {
                terms(element, &mut |term| {
                    if let TermKind::Run(run) = &term.kind {
                        note(&mut starts[run.process], run.priority);
                    }
                });
                ops(element, &mut |op| change |= matches!(op, Op::SetPriority(..)));
            }
        }
        Priorities { starts, change, movers: HashMap::new() }
    }

    /// Whether one process may have to wait for another.
    pub(super) fn differ(&self) -> bool {
        let mut all = self.starts.iter().flatten();
        let first = all.next();
        self.change || all.any(|it| Some(it) != first)
    }

    /// Whether instances of one type may have different priorities.
    fn vary(&self, class: usize) -> bool {
        self.change || self.starts[class].len() > 1
    }
}

fn note(list: &mut Vec<i64>, priority: i64) {
    if !list.contains(&priority) {
        list.push(priority);
    }
}

impl Lowering<'_> {
    /// Refuses rendezvous beside priorities.
    pub(super) fn check_priorities(&mut self) {
        let spans: Vec<Span> =
            self.queues.iter().filter(|it| it.buffer.is_none()).map(|it| it.span).collect();
        for span in spans.into_iter().take(usize::from(self.priorities.differ())) {
            self.error(span, "a model with priorities has no rendezvous channels");
        }
    }

    pub(super) fn declare_priority(&mut self, slot: usize, name: &str) {
        let class = self.slots[slot].class;
        let process: &Process = &self.model.processes[class];
        self.slots[slot].priority = match self.priorities.vary(class) {
            true => {
                let shape = self.range_shape(0, 255);
                let name = format!("{name}._priority");
                let (role, owner) = (Role::Data, Some(ProcessId(slot as u32)));
                let priority = Variable { name, shape, role, owner, span: process.span };
                Priority::State(self.add_variable(priority))
            }
            false => Priority::Always(self.priorities.starts[class].first().copied().unwrap_or(1)),
        };
    }

    /// The priority of a slot's instance.
    pub(super) fn priority(&self, slot: usize) -> Expr {
        match self.slots[slot].priority {
            Priority::Always(priority) => Expr::constant(priority),
            Priority::State(var) => self.whole(var, Span::default()).read(),
        }
    }

    /// Gives the instance that comes into a slot its priority.
    pub(super) fn starts_with(&self, slot: usize, priority: i64, span: Span) -> Option<Stmt> {
        let Priority::State(var) = self.slots[slot].priority else { return None };
        Some(Stmt::new(StmtKind::Assign(self.whole(var, span), Expr::constant(priority)), span))
    }

    /// Whether one slot's instance has a higher priority than another's.
    fn is_before(&self, slot: usize, other: usize) -> Expr {
        let (mine, its) = (self.priority(slot), self.priority(other));
        match (mine.as_const(), its.as_const()) {
            (Some(mine), Some(its)) => Expr::constant(i64::from(mine > its)),
            _ => Expr::binary(BinaryOp::Greater, mine, its),
        }
    }

    /// Whether some process of higher priority can move.
    pub(super) fn outranked(&mut self, slot: usize, timeout: Timeout) -> Expr {
        let mut any = Expr::constant(0);
        if !self.priorities.differ() {
            return any;
        }
        for other in (0..self.slots.len()).filter(|&other| other != slot) {
            let before = self.is_before(other, slot);
            if before.as_const() == Some(0) {
                continue;
            }
            let moves = self.moves(other, timeout);
            any = or(any, and(and(not(self.is_at(other, 0)), before), moves));
        }
        any
    }

    /// Whether a slot's process can move, as far as its own statements and `provided` say.
    pub(super) fn moves(&mut self, slot: usize, timeout: Timeout) -> Expr {
        Expr::new(ExprKind::Call(self.mover(slot, timeout), Vec::new()), Span::default())
    }

    /// The function that says whether a slot's process can move.
    fn mover(&mut self, slot: usize, timeout: Timeout) -> FunctionId {
        let key = (slot, timeout == Timeout::Yes);
        if let Some(&known) = self.priorities.movers.get(&key) {
            return known;
        }
        let outer = std::mem::take(&mut self.locals);
        let env = Env { timeout, ..Env::of(slot) };
        let provided = self.provided(slot, env);
        let moves = self.can_move(slot, env);
        let truth = not(not(and(provided, moves)));
        let locals = std::mem::replace(&mut self.locals, outer);
        let domain = self.domains.add(Domain::boolean(false));
        let id = FunctionId(self.functions.len() as u32);
        let span = self.model.processes[self.slots[slot].class].span;
        self.functions.push(Function {
            name: format!("{} can move", self.slot_name(slot)),
            parameters: 0,
            locals,
            result: Some(domain),
            body: vec![Stmt::new(StmtKind::Return(Some(truth)), span)],
            span,
        });
        self.priorities.movers.insert(key, id);
        id
    }

    /// `set_priority`: nothing where there is no such process.
    pub(super) fn set_priority(&mut self, pid: &Term, priority: &Term, span: Span, env: Env) -> Vec<Stmt> {
        let pid = match (&pid.kind, env.slot) {
            (TermKind::Pid, Some(slot)) => self.pid(slot, span),
            _ => self.value(pid, env),
        };
        let value = self.value(priority, env);
        let least = Expr::binary(BinaryOp::GreaterEqual, value.clone(), Expr::constant(1));
        let most = Expr::binary(BinaryOp::LessEqual, value.clone(), Expr::constant(255));
        let mut branches = Vec::new();
        for slot in 0..self.slots.len() {
            let Priority::State(var) = self.slots[slot].priority else { continue };
            let here = and(not(self.is_at(slot, 0)), equal(self.pid(slot, span), pid.clone()));
            let message = "a priority lies between 1 and 255".to_owned();
            let condition = and(least.clone(), most.clone());
            branches.push((
                here,
                vec![
                    Stmt::new(StmtKind::Check { kind: CheckKind::Assert, condition, message }, span),
                    Stmt::new(StmtKind::Assign(self.whole(var, span), value.clone()), span),
                ],
            ));
        }
        vec![Stmt::new(StmtKind::If { branches, otherwise: Vec::new() }, span)]
    }
}
