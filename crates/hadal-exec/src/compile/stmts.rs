//! Emitting statements.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use cranelift_frontend::Switch;
use hadal_system::interval::decided;
use hadal_system::{CheckKind, Expr, ExprKind, MAX_LOOP_TURNS, Stmt, StmtKind, SwitchArm};

use super::emit::{Binding, Covers, Emitter};
use super::exprs::with_stack;
use super::places::{Location, PackedPlace};
use super::plan::block_cost;
use super::runtime::Context;
use super::values::Val;

impl<'s> Emitter<'_, 's> {
    /// Emits statements one after the other.
    pub fn block(&mut self, body: &'s [Stmt]) {
        for stmt in body {
            if self.dead {
                return;
            }
            with_stack(|| self.statement(stmt));
        }
    }

    fn statement(&mut self, stmt: &'s Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, expr) => {
                let target = self.resolve(place);
                let value = self.value(expr);
                self.write(&target, value);
            }
            StmtKind::Copy { to, from } => {
                let to = self.resolve(to);
                let from = self.resolve(from);
                self.copy(&to, &from);
            }
            StmtKind::Clear(place) => {
                let target = self.resolve(place);
                self.clear(&target);
            }
            StmtKind::Undefine(place) => {
                let target = self.resolve(place);
                self.undefine(&target);
            }
            StmtKind::If { branches, otherwise } => self.if_chain(branches, otherwise),
            StmtKind::Switch { subject, arms, otherwise } => self.switch(subject, arms, otherwise),
            StmtKind::For { local, range, body } => {
                self.each(*local, range, block_cost(body), &mut |e| e.block(body));
            }
            StmtKind::While(condition, body) => self.while_loop(condition, body),
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments);
            }
            StmtKind::Return(value) => self.leave(value.as_ref()),
            StmtKind::Bind { local, place, body } => {
                let target = self.resolve(place);
                let binding = bind(&target);
                let at = local.0 as usize;
                let before = std::mem::replace(&mut self.frame().bindings[at], binding);
                self.block(body);
                self.frame().bindings[at] = before;
            }
            StmtKind::Check { kind, condition, .. } => {
                let on = self.b.create_block();
                let off = match kind {
                    CheckKind::Assert => self.ends.fault,
                    CheckKind::Assume => self.ends.dropped,
                };
                self.condition(condition, on, off);
                self.enter(on);
            }
            StmtKind::Fail(_) => self.always_fault(),
            StmtKind::Cover(property, condition) => self.cover(*property, condition),
            StmtKind::Print(_) => {}
        }
    }

    fn if_chain(&mut self, branches: &'s [(Expr, Vec<Stmt>)], otherwise: &'s [Stmt]) {
        let end = self.b.create_block();
        for (condition, body) in branches {
            let (yes, no) = (self.b.create_block(), self.b.create_block());
            self.condition(condition, yes, no);
            if self.reached(yes) {
                self.enter(yes);
                self.block(body);
                self.goto(end);
            }
            if !self.reached(no) {
                return self.enter(end);
            }
            self.enter(no);
        }
        self.block(otherwise);
        self.goto(end);
        self.enter(end);
    }

    fn switch(&mut self, subject: &'s Expr, arms: &'s [SwitchArm], otherwise: &'s [Stmt]) {
        let target = match &subject.kind {
            ExprKind::Read(place) => Some(self.resolve(place)),
            _ => None,
        };
        let value = match &target {
            Some(target) => self.read_target(target),
            None => self.value(subject),
        };
        let constant = arms.iter().flat_map(|arm| &arm.values).all(|value| value.as_const().is_some());
        match (value, constant) {
            (Val::Dyn { .. }, true) => self.jump_table(value, target, arms, otherwise),
            _ => self.switch_chain(value, arms, otherwise),
        }
    }

    /// A switch over constants.
    fn jump_table(
        &mut self,
        subject: Val,
        target: Option<PackedPlace>,
        arms: &'s [SwitchArm],
        otherwise: &'s [Stmt],
    ) {
        if self.dead {
            return;
        }
        let (end, none) = (self.b.create_block(), self.b.create_block());
        let mut table = Switch::new();
        let mut blocks = Vec::with_capacity(arms.len());
        for arm in arms {
            let block = self.b.create_block();
            blocks.push(block);
            for value in arm.values.iter().filter_map(|v| v.as_const()) {
                let key = u128::from(value as u64);
                // The first arm with a value takes it; values the subject cannot have are left out.
                if table.entries().contains_key(&key)
                    || decided(hadal_system::BinaryOp::Equal, subject.bounds(), (value, value)).is_some()
                {
                    continue;
                }
                table.set_entry(key, block);
                let before = self.facts.clone();
                if let Some(target) = &target
                    && let (_, domain) = self.scalar_domain(target.shape)
                    && let Some(code) = domain.encode(Some(value))
                {
                    self.learn(target, code, code);
                }
                self.note_edge(block);
                self.facts = before;
            }
        }
        self.note_edge(none);
        let v = self.raw(subject);
        table.emit(&mut self.b, v, none);
        for (block, arm) in blocks.into_iter().zip(arms) {
            if self.reached(block) {
                self.enter(block);
                self.block(&arm.body);
                self.goto(end);
            }
        }
        self.enter(none);
        self.block(otherwise);
        self.goto(end);
        self.enter(end);
    }

    /// A switch whose arms are compared one after the other.
    fn switch_chain(&mut self, subject: Val, arms: &'s [SwitchArm], otherwise: &'s [Stmt]) {
        let end = self.b.create_block();
        for arm in arms {
            let hit = self.b.create_block();
            let next = self.b.create_block();
            for value in &arm.values {
                let value = self.value(value);
                let test = self.binary(hadal_system::BinaryOp::Equal, subject, value);
                let other = self.b.create_block();
                self.branch_on(test, hit, other);
                self.enter(other);
            }
            self.goto(next);
            if self.reached(hit) {
                self.enter(hit);
                self.block(&arm.body);
                self.goto(end);
            }
            self.enter(next);
        }
        self.block(otherwise);
        self.goto(end);
        self.enter(end);
    }

    fn while_loop(&mut self, condition: &'s Expr, body: &'s [Stmt]) {
        let (head, turn, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let zero = self.int(0);
        let turns = self.variable(zero);
        self.goto(head);
        self.enter_loop(head);
        self.condition(condition, turn, end);
        if self.reached(turn) {
            self.enter(turn);
            let v = self.b.use_var(turns);
            let fits = self.is(IntCC::UnsignedLessThan, v, MAX_LOOP_TURNS as i64);
            self.require(fits);
            let one = self.int(1);
            let v = self.b.ins().iadd(v, one);
            self.b.def_var(turns, v);
            self.block(body);
            self.goto(head);
        }
        self.seal(head);
        self.enter(end);
    }

    /// Emits `return`.
    fn leave(&mut self, value: Option<&'s Expr>) {
        let value = value.map(|expr| self.value(expr));
        let frame = self.frame();
        let (exit, result) = (frame.exit, frame.result);
        match (result, value) {
            (Some((domain, variable)), Some(value)) => {
                let code = self.encode(value, &self.system.domains[domain]);
                let (lo, hi) = code.bounds();
                let v = self.raw_code(code);
                self.b.def_var(variable, v);
                self.facts.set(super::facts::Key::Var(variable.as_u32()), 64, lo, hi);
                self.goto(exit);
            }
            // A function that returns nothing although it has a result.
            (Some(_), None) => self.goto(self.ends.fault),
            (None, _) => self.goto(exit),
        }
        self.die();
    }

    fn cover(&mut self, property: usize, condition: &'s Expr) {
        let (hit, on) = (self.b.create_block(), self.b.create_block());
        self.condition(condition, hit, on);
        if self.reached(hit) {
            self.enter(hit);
            if self.covers == Covers::Count {
                let at = self.unit.property_bases[property] as i32 * 8;
                let flags = MemFlagsData::trusted();
                let counts = self.b.ins().load(types::I64, flags, self.context, Context::COVERS);
                let count = self.b.ins().load(types::I64, flags, counts, at);
                let one = self.int(1);
                let count = self.b.ins().iadd(count, one);
                self.b.ins().store(flags, count, counts, at);
            }
            self.goto(on);
        }
        self.enter(on);
    }
}

/// What a reference to a resolved place stands for.
pub(super) fn bind(target: &PackedPlace) -> Binding {
    match target.location {
        Location::Value(value) => Binding::Value(value),
        Location::Register(variable) => Binding::Scalar(variable, target.shape),
        Location::Memory(mem) => Binding::Memory(mem, target.shape),
    }
}
