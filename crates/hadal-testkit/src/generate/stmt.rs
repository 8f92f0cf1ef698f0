//! Statements.

use hadal_system::{
    BinaryOp, CheckKind, Domain, Expr, ExprKind, Local, LocalId, LocalKind, Param, ParamValues, Place,
    PrintItem, PropertyBody, Range, Shape, Span, Step, Stmt, StmtKind, SwitchArm,
};

use super::expr::{is_defined, not};
use super::place::{Access, Want};
use super::{Generator, Scope};

fn stmt(kind: StmtKind) -> Stmt {
    Stmt::new(kind, Span::default())
}

impl Generator {
    /// A few statements.
    pub(super) fn block(&mut self, scope: &mut Scope, depth: usize) -> Vec<Stmt> {
        let count = 1 + self.rng.below(3);
        (0..count).filter_map(|_| self.statement(scope, depth)).collect()
    }

    /// Gives the scope up to two variables of its own.
    pub(super) fn declare_variables(&mut self, scope: &mut Scope) {
        for _ in 0..self.rng.below(3) {
            let shape = self.shapes[self.rng.below(self.shapes.len())];
            let local = scope.local("l", shape, LocalKind::Variable);
            scope.visible.push(local);
            scope.writable.push(local);
        }
    }

    fn statement(&mut self, scope: &mut Scope, depth: usize) -> Option<Stmt> {
        if depth == 0 || self.rng.chance(40) {
            return self.assign(scope, depth.min(2));
        }
        let less = depth - 1;
        match self.rng.below(18) {
            0 | 1 => {
                let to = self.place(scope, Want::Anything, Access::Write, 1)?;
                let from = self.place(scope, Want::Shape(to.shape), Access::Look, 1)?;
                Some(stmt(StmtKind::Copy { to, from }))
            }
            2 => {
                let place = self.place(scope, Want::Anything, Access::Write, 1)?;
                Some(stmt(if self.clearable(place.shape) && self.rng.chance(70) {
                    StmtKind::Clear(place)
                } else {
                    StmtKind::Undefine(place)
                }))
            }
            3 | 4 => {
                let mut branches = Vec::new();
                for _ in 0..1 + self.rng.below(2) {
                    let condition = self.condition(scope, less);
                    branches.push((condition, self.block(scope, less)));
                }
                let otherwise = if self.rng.chance(50) { self.block(scope, less) } else { Vec::new() };
                Some(stmt(StmtKind::If { branches, otherwise }))
            }
            5 | 6 => {
                let subject = self.number(scope, less);
                let mut arms = Vec::new();
                for _ in 0..1 + self.rng.below(3) {
                    let count = 1 + self.rng.below(2);
                    let values = (0..count)
                        .map(|_| {
                            if self.rng.chance(85) {
                                Expr::constant(self.rng.between(-1, 3))
                            } else {
                                self.number(scope, less.min(1))
                            }
                        })
                        .collect();
                    arms.push(SwitchArm { values, body: self.block(scope, less) });
                }
                let otherwise = if self.rng.chance(50) { self.block(scope, less) } else { Vec::new() };
                Some(stmt(StmtKind::Switch { subject, arms, otherwise }))
            }
            7 | 8 => self.for_loop(scope, less),
            9 => Some(self.while_loop(scope, less)),
            10 | 11 => {
                let (function, arguments) =
                    self.call(scope, less, |_, _| true).or_else(|| self.procedure(scope, less))?;
                Some(stmt(StmtKind::Call(function, arguments)))
            }
            12 => {
                let place = self.place(scope, Want::Anything, Access::Write, 1)?;
                let local = scope.local("r", place.shape, LocalKind::Reference);
                scope.visible.push(local);
                scope.writable.push(local);
                let body = self.block(scope, less);
                scope.visible.pop();
                scope.writable.pop();
                Some(stmt(StmtKind::Bind { local, place, body }))
            }
            13 => {
                let kind = if self.rng.chance(50) { CheckKind::Assert } else { CheckKind::Assume };
                let mut condition = self.condition(scope, less);
                if self.rng.chance(60) {
                    condition = Expr::binary(BinaryOp::Or, condition, self.condition(scope, less));
                }
                Some(stmt(StmtKind::Check { kind, condition, message: "generated".into() }))
            }
            14 => {
                let leave = match self.rng.below(3) {
                    0 => StmtKind::Fail("generated".into()),
                    _ => self.return_stmt(scope, less)?,
                };
                let branches = vec![(self.condition(scope, less), vec![stmt(leave)])];
                Some(stmt(StmtKind::If { branches, otherwise: Vec::new() }))
            }
            15 | 16 if scope.may_write => {
                let covers: Vec<usize> = (0..self.system.properties.len())
                    .filter(|&n| self.system.properties[n].body == PropertyBody::Statements)
                    .collect();
                let property = self.rng.pick(&covers)?;
                Some(stmt(StmtKind::Cover(property, self.condition(scope, less))))
            }
            17 => {
                let mut items = vec![PrintItem::Text("x = ".into())];
                items.push(PrintItem::Value(self.number(scope, less), None));
                items.extend(self.place(scope, Want::Anything, Access::Look, 0).map(PrintItem::Whole));
                Some(stmt(StmtKind::Print(items)))
            }
            _ => self.assign(scope, less),
        }
    }

    /// Moves a scalar of the state on to its next value: without a little of this, most systems would stand still.
    pub(super) fn advance(&mut self, scope: &mut Scope) -> Option<Stmt> {
        let place = self.place(scope, Want::Number, Access::Write, 0)?;
        let domain = self.system.shapes.scalar(place.shape)?;
        let (least, next) = (self.system.domains[domain].min(), Expr::constant(1));
        let next = Expr::binary(BinaryOp::Add, place.clone().read(), next);
        let last = self.system.domains[domain].value_at(self.system.domains[domain].size().min(4) - 1)?;
        let before_last = Expr::binary(BinaryOp::Less, place.clone().read(), Expr::constant(last));
        let known = Expr::binary(BinaryOp::And, is_defined(&place), before_last);
        let kind = ExprKind::If(Box::new(known), Box::new(next), Box::new(Expr::constant(least)));
        Some(stmt(StmtKind::Assign(place, Expr::new(kind, Span::default()))))
    }

    fn assign(&mut self, scope: &mut Scope, depth: usize) -> Option<Stmt> {
        let place = self.place(scope, Want::Anything, Access::Write, depth.min(1))?;
        let scalars = (Want::Anything, Access::Write);
        let mut place = place;
        while self.system.shapes.scalar(place.shape).is_none() {
            if matches!(self.system.shapes[place.shape], Shape::Multiset { .. }) {
                return None;
            }
            place = self.walk(scope, place, scalars, depth.min(1))?;
        }
        let domain = self.system.shapes.scalar(place.shape)?;
        let value = self.value_for(scope, domain, depth)?;
        Some(stmt(StmtKind::Assign(place, value)))
    }

    fn for_loop(&mut self, scope: &mut Scope, depth: usize) -> Option<Stmt> {
        let domain = self.small_domain();
        let shape = self.scalar_shape(domain);
        let range = self.loop_range(scope, domain, depth);
        let local = scope.local("i", shape, LocalKind::Bound);
        if self.is_symmetric_domain(domain) {
            let body = self.same_for_all(scope, (local, &range))?;
            return Some(stmt(StmtKind::For { local, range, body }));
        }
        scope.visible.push(local);
        let body = self.block(scope, depth);
        scope.visible.pop();
        Some(stmt(StmtKind::For { local, range, body }))
    }

    /// The body of a loop over a scalarset that does the same in every order: a constant for every element of an array.
    fn same_for_all(&mut self, scope: &mut Scope, (local, range): (LocalId, &Range)) -> Option<Vec<Stmt>> {
        let Range::Domain(domain) = *range else { return None };
        let arrays: Vec<usize> = (0..self.system.variables.len())
            .filter(|&n| match self.system.shapes[self.system.variables[n].shape] {
                Shape::Array { index, element } => {
                    index == domain
                        && self.system.shapes.scalar(element).is_some_and(|d| !self.is_symmetric_domain(d))
                }
                _ => false,
            })
            .collect();
        if !scope.may_write {
            return None;
        }
        let mut place = self.system.whole(hadal_system::VarId(self.rng.pick(&arrays)? as u32));
        let Shape::Array { element, .. } = self.system.shapes[place.shape] else { return None };
        let at = Place::local(local, scope.locals[local.0 as usize].shape, Span::default()).read();
        place.steps.push(Step::Index(at));
        place.shape = element;
        let value = self.constant_in(self.system.shapes.scalar(element)?);
        Some(vec![stmt(StmtKind::Assign(place, value))])
    }

    /// A loop that counts to at most three in a variable nothing else writes.
    fn while_loop(&mut self, scope: &mut Scope, depth: usize) -> Stmt {
        let domain = self.system.domains.add(Domain::range(0, 7, false));
        let shape = self.scalar_shape(domain);
        let local = scope.local("w", shape, LocalKind::Variable);
        let counter = || Place::local(local, shape, Span::default());
        let mut turn = vec![stmt(StmtKind::Assign(
            counter(),
            Expr::binary(BinaryOp::Add, counter().read(), Expr::constant(1)),
        ))];
        let bound = Expr::constant(self.rng.between(0, 3));
        let mut condition = Expr::binary(BinaryOp::Less, counter().read(), bound);
        if self.rng.chance(30) {
            condition = Expr::binary(BinaryOp::And, condition, self.condition(scope, depth));
        }
        scope.visible.push(local);
        turn.extend(self.block(scope, depth));
        scope.visible.pop();
        let reset = stmt(StmtKind::Assign(counter(), Expr::constant(0)));
        let one = (Expr::constant(1), vec![reset, stmt(StmtKind::While(condition, turn))]);
        stmt(StmtKind::If { branches: vec![one], otherwise: Vec::new() })
    }

    pub(super) fn return_stmt(&mut self, scope: &mut Scope, depth: usize) -> Option<StmtKind> {
        Some(match scope.returns {
            Some(Some(domain)) => StmtKind::Return(Some(self.value_for(scope, domain, depth)?)),
            Some(None) | None => StmtKind::Return(None),
        })
    }

    /// Adds to a multiset, or removes the element in the slot that a further parameter chooses.
    pub(super) fn multiset_action(
        &mut self,
        scope: &mut Scope,
        mut params: Vec<Param>,
        guard: Expr,
    ) -> Option<(Vec<Param>, Expr, Vec<Stmt>)> {
        let bag = self.place(scope, Want::Multiset, Access::Write, 0)?;
        let Shape::Multiset { slots, element } = self.system.shapes[bag.shape] else { return None };
        let Shape::Record(fields) = self.system.shapes[element].clone() else { return None };
        let index = self.scalar_shape(slots);
        let slot = scope.local("k", index, LocalKind::Bound);
        let at = |fields: Option<(usize, hadal_system::ShapeId)>| {
            let mut place = bag.clone();
            place.steps.push(Step::Index(Place::local(slot, index, Span::default()).read()));
            place.shape = element;
            if let Some((n, shape)) = fields {
                place.steps.push(Step::Field(n));
                place.shape = shape;
            }
            place
        };
        let present = || at(Some((0, fields[0].shape)));
        if self.rng.chance(45) {
            params.push(Param { local: slot, values: ParamValues::Domain(slots) });
            let guard = Expr::binary(BinaryOp::And, present().read(), guard);
            let mut body = vec![stmt(StmtKind::Undefine(at(None)))];
            body.extend(self.assign(scope, 1));
            return Some((params, guard, body));
        }
        let done_domain = self.system.domains.add(Domain::boolean(false));
        let done_shape = self.scalar_shape(done_domain);
        let done_local = scope.local("done", done_shape, LocalKind::Variable);
        let done = || Place::local(done_local, done_shape, Span::default());
        let value = at(Some((1, fields[1].shape)));
        let mut fill = vec![stmt(StmtKind::Assign(present(), Expr::constant(1)))];
        if self.clearable(value.shape) && self.rng.chance(80) {
            fill.push(stmt(StmtKind::Clear(value.clone())));
        }
        if let Some(domain) = self.system.shapes.scalar(value.shape)
            && let Some(content) = self.value_for(scope, domain, 1)
        {
            fill.push(stmt(StmtKind::Assign(value, content)));
        } else if let Some(from) = self.place(scope, Want::Shape(value.shape), Access::Look, 0) {
            fill.push(stmt(StmtKind::Copy { to: value, from }));
        }
        fill.push(stmt(StmtKind::Assign(done(), Expr::constant(1))));
        let free = Expr::binary(BinaryOp::And, not(present().read()), not(done().read()));
        let choose = stmt(StmtKind::If { branches: vec![(free, fill)], otherwise: Vec::new() });
        let mut body =
            vec![stmt(StmtKind::For { local: slot, range: Range::Domain(slots), body: vec![choose] })];
        let kind = if self.rng.chance(20) { CheckKind::Assert } else { CheckKind::Assume };
        body.push(stmt(StmtKind::Check {
            kind,
            condition: done().read(),
            message: "room for one more".into(),
        }));
        Some((params, guard, body))
    }
}

/// Whether a parameter is passed as a place.
pub(super) fn is_reference(local: &Local) -> bool {
    local.kind == LocalKind::Reference
}
