//! What a function may read and write whatever its arguments, as a least fixed point over all functions.
//!
//! Used where a call is not followed: recursion, and bodies too long to walk for every call.

use super::slots::SlotSet;
use crate::expr::{Base, Expr, ExprKind, Place, Range, Step};
use crate::stmt::{Argument, CheckKind, Stmt, StmtKind};
use crate::system::{Function, FunctionId, LocalKind, System};

/// What a function may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// Slots of the state it may read.
    pub reads: SlotSet,
    /// Slots of the state it may write.
    pub writes: SlotSet,
    /// Per parameter, for references: whether what stands behind it may be read and written.
    pub params: Vec<ParamUse>,
    /// Whether it may drop the transition.
    pub drops: bool,
}

/// How a reference parameter is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ParamUse {
    pub read: bool,
    pub write: bool,
}

/// The summaries of all functions, by [`FunctionId`].
pub(super) fn summarize(system: &System, first_slots: &[usize]) -> Vec<Summary> {
    let blank =
        |f: &Function| Summary { params: vec![ParamUse::default(); f.parameters], ..Summary::default() };
    let mut summaries: Vec<Summary> = system.functions.iter().map(blank).collect();
    loop {
        let mut settled = true;
        for (n, function) in system.functions.iter().enumerate() {
            let mut scan = Scan {
                system,
                first_slots,
                function,
                known: &summaries,
                bound: vec![None; function.locals.len()],
                summary: summaries[n].clone(),
            };
            scan.stmts(&function.body);
            let summary = scan.summary;
            if summary != summaries[n] {
                summaries[n] = summary;
                settled = false;
            }
        }
        if settled {
            return summaries;
        }
    }
}

/// What a place may stand for, seen from inside a function.
#[derive(Clone, Copy, Debug)]
enum Root {
    Slots(u32, u32),
    Param(usize),
    Own,
}

#[derive(Clone, Copy, PartialEq)]
enum Access {
    Read,
    Write,
}

struct Scan<'a> {
    system: &'a System,
    first_slots: &'a [usize],
    function: &'a Function,
    known: &'a [Summary],
    bound: Vec<Option<Root>>,
    summary: Summary,
}

impl Scan<'_> {
    fn root(&self, base: Base) -> Root {
        match base {
            Base::Global(var) => {
                let first = self.first_slots[var.0 as usize] as u32;
                Root::Slots(first, first + self.system.shapes.slots(self.system.variable(var).shape) as u32)
            }
            Base::Local(local) => {
                let at = local.0 as usize;
                match self.function.locals[at].kind {
                    LocalKind::Reference if at < self.function.parameters => Root::Param(at),
                    LocalKind::Reference => self.bound[at].unwrap_or(Root::Own),
                    LocalKind::Bound | LocalKind::Variable => Root::Own,
                }
            }
        }
    }

    fn touch(&mut self, root: Root, access: Access) {
        match (root, access) {
            (Root::Slots(from, to), Access::Read) => self.summary.reads.insert_range(from, to),
            (Root::Slots(from, to), Access::Write) => self.summary.writes.insert_range(from, to),
            (Root::Param(n), Access::Read) => self.summary.params[n].read = true,
            (Root::Param(n), Access::Write) => self.summary.params[n].write = true,
            (Root::Own, _) => {}
        }
    }

    fn place(&mut self, place: &Place, access: Access) {
        self.indices(place);
        self.touch(self.root(place.base), access);
    }

    fn indices(&mut self, place: &Place) {
        for step in &place.steps {
            if let Step::Index(index) = step {
                self.expr(index);
            }
        }
    }

    fn call(&mut self, id: FunctionId, arguments: &[Argument]) {
        let known = self.known;
        let callee = &known[id.0 as usize];
        self.summary.reads.extend(&callee.reads);
        self.summary.writes.extend(&callee.writes);
        self.summary.drops |= callee.drops;
        for (argument, used) in arguments.iter().zip(&callee.params) {
            match argument {
                Argument::Value(expr) => self.expr(expr),
                Argument::Copy(place) => self.place(place, Access::Read),
                Argument::Reference(place) => {
                    self.indices(place);
                    let root = self.root(place.base);
                    if used.read {
                        self.touch(root, Access::Read);
                    }
                    if used.write {
                        self.touch(root, Access::Write);
                    }
                }
            }
        }
    }

    fn range(&mut self, range: &Range) {
        if let Range::Steps { from, to, by } = range {
            self.expr(from);
            self.expr(to);
            self.expr(by);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(_) => {}
            ExprKind::Read(place) | ExprKind::IsUndefined(place) => self.place(place, Access::Read),
            ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => self.expr(of),
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::If(condition, yes, no) => {
                self.expr(condition);
                self.expr(yes);
                self.expr(no);
            }
            ExprKind::Quantified { range, body, .. } => {
                self.range(range);
                self.expr(body);
            }
            ExprKind::Same(left, right) => {
                self.place(left, Access::Read);
                self.place(right, Access::Read);
            }
            ExprKind::Call(id, arguments) => self.call(*id, arguments),
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(to, value) => {
                self.place(to, Access::Write);
                self.expr(value);
            }
            StmtKind::Copy { to, from } => {
                self.place(to, Access::Write);
                self.place(from, Access::Read);
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.place(place, Access::Write),
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(condition);
                    self.stmts(body);
                }
                self.stmts(otherwise);
            }
            StmtKind::Switch { subject, arms, otherwise } => {
                self.expr(subject);
                for arm in arms {
                    arm.values.iter().for_each(|v| self.expr(v));
                    self.stmts(&arm.body);
                }
                self.stmts(otherwise);
            }
            StmtKind::For { range, body, .. } => {
                self.range(range);
                self.stmts(body);
            }
            StmtKind::While(condition, body) => {
                self.expr(condition);
                self.stmts(body);
            }
            StmtKind::Call(id, arguments) => self.call(*id, arguments),
            StmtKind::Return(value) => value.iter().for_each(|v| self.expr(v)),
            StmtKind::Bind { local, place, body } => {
                self.indices(place);
                self.bound[local.0 as usize] = Some(self.root(place.base));
                self.stmts(body);
            }
            StmtKind::Check { kind, condition, .. } => {
                self.summary.drops |= *kind == CheckKind::Assume;
                self.expr(condition);
            }
            StmtKind::Cover(_, condition) => self.expr(condition),
            StmtKind::Fail(_) | StmtKind::Print(_) => {}
        }
    }
}
