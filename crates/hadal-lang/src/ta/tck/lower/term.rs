//! Expressions, guards and commands of an edge: clocks become bounds and resets, the rest an expression or a statement.

use super::super::term::{Command, CommandKind, Term, TermKind};
use super::{Lowering, MAX_SIZE, Name, OwnLocal, Scope, compare_clock};
use crate::ta::network::Effect;
use hadal_system::timed::{Bound, ClockRef, Moment, Reset};
use hadal_system::{
    BinaryOp, CheckKind, Domain, DomainId, Expr, ExprKind, Local, LocalId, LocalKind, Place, Shape, Span,
    Step, Stmt, StmtKind, UnaryOp,
};

impl Lowering<'_, '_> {
    /// The discrete and the timed part of a conjunction.
    pub(super) fn guard(&mut self, term: &Term, scope: &mut Scope) -> (Option<Expr>, Vec<Bound>) {
        let (mut discrete, mut bounds) = (Vec::new(), Vec::new());
        self.conjuncts(term, scope, &mut discrete, &mut bounds);
        ((!discrete.is_empty()).then(|| Expr::all(discrete)), bounds)
    }

    pub(super) fn conjuncts(
        &mut self,
        term: &Term,
        scope: &mut Scope,
        out: &mut Vec<Expr>,
        bounds: &mut Vec<Bound>,
    ) {
        match &term.kind {
            TermKind::Binary(BinaryOp::And, left, right) => {
                self.conjuncts(left, scope, out, bounds);
                self.conjuncts(right, scope, out, bounds);
            }
            TermKind::Binary(..) if self.mentions_clock(term) => self.comparison(term, scope, bounds),
            _ if self.mentions_clock(term) => {
                self.error(term.span, "clocks are compared, nothing else");
            }
            _ => out.extend(self.integer(term, scope)),
        }
    }

    pub(super) fn mentions_clock(&self, term: &Term) -> bool {
        match &term.kind {
            TermKind::Number(_) => false,
            TermKind::Name(name) => matches!(self.names.get(name.as_str()), Some(Name::Clock { .. })),
            TermKind::Index(name, index) => {
                matches!(self.names.get(name.as_str()), Some(Name::Clock { .. }))
                    || self.mentions_clock(index)
            }
            TermKind::Unary(_, of) => self.mentions_clock(of),
            TermKind::Binary(_, left, right) => self.mentions_clock(left) || self.mentions_clock(right),
            TermKind::If(a, b, c) => [a, b, c].iter().any(|part| self.mentions_clock(part)),
        }
    }

    /// `x ~ e`, `e ~ x`, `x - y ~ e`.
    fn comparison(&mut self, term: &Term, scope: &mut Scope, bounds: &mut Vec<Bound>) {
        let TermKind::Binary(op, left, right) = &term.kind else { return };
        let flipped = self.mentions_clock(right);
        let (clocks, value) = if flipped { (right, left) } else { (left, right) };
        let (x, y) = match &clocks.kind {
            TermKind::Binary(BinaryOp::Subtract, x, y) => {
                (self.clock_ref(x, scope), self.clock_ref(y, scope))
            }
            _ => (self.clock_ref(clocks, scope), Some(ClockRef::Zero)),
        };
        let (Some(x), Some(y), Some(value)) = (x, y, self.integer(value, scope)) else { return };
        let op = match (*op, flipped) {
            (BinaryOp::Less, true) => BinaryOp::Greater,
            (BinaryOp::LessEqual, true) => BinaryOp::GreaterEqual,
            (BinaryOp::Greater, true) => BinaryOp::Less,
            (BinaryOp::GreaterEqual, true) => BinaryOp::LessEqual,
            (op, _) => op,
        };
        match compare_clock(op, (x, y), value, term.span) {
            Some(list) => bounds.extend(list),
            None => self.error(term.span, "a clock is compared by <, <=, ==, >= or >"),
        }
    }

    pub(super) fn clock_ref(&mut self, term: &Term, scope: &mut Scope) -> Option<ClockRef> {
        match &term.kind {
            TermKind::Name(name) => match self.names.get(name.as_str()) {
                Some(Name::Clock { first, array: false, .. }) => return Some(ClockRef::One(*first)),
                Some(Name::Clock { array: true, .. }) => {
                    self.error(term.span, format!("`{name}` is an array of clocks: which one?"));
                }
                _ => self.error(term.span, format!("`{name}` is not a clock")),
            },
            TermKind::Index(name, index) => {
                if let Some(&Name::Clock { first, count, .. }) = self.names.get(name.as_str()) {
                    let index = self.integer(index, scope)?;
                    return match index.as_const() {
                        Some(n) if n >= 0 && n < i64::from(count) => Some(ClockRef::One(first + n as u32)),
                        Some(_) => {
                            self.error(term.span, "the index lies outside the array");
                            None
                        }
                        None => Some(ClockRef::Among { first, count, least: 0, index: Box::new(index) }),
                    };
                }
                self.error(term.span, format!("`{name}` is not a clock"));
            }
            _ => self.error(term.span, "expected a clock"),
        }
        None
    }

    /// An expression over variables.
    pub(super) fn integer(&mut self, term: &Term, scope: &mut Scope) -> Option<Expr> {
        let kind = match &term.kind {
            TermKind::Number(number) => ExprKind::Const(*number),
            TermKind::Name(_) | TermKind::Index(..) => return Some(self.place(term, scope)?.0.read()),
            TermKind::Unary(op, of) => {
                let of = self.integer(of, scope)?;
                match (op, of.as_const()) {
                    (UnaryOp::Negate, Some(value)) => ExprKind::Const(value.checked_neg()?),
                    _ => ExprKind::Unary(*op, Box::new(of)),
                }
            }
            TermKind::Binary(op, left, right) => {
                let (left, right) = (self.integer(left, scope), self.integer(right, scope));
                let (left, right) = (left?, right?);
                match (left.as_const(), right.as_const()) {
                    (Some(l), Some(r)) if op.apply(l, r).is_some() => ExprKind::Const(op.apply(l, r)?),
                    _ => ExprKind::Binary(*op, Box::new(left), Box::new(right)),
                }
            }
            TermKind::If(condition, yes, no) => {
                let parts =
                    (self.integer(condition, scope), self.integer(yes, scope), self.integer(no, scope));
                ExprKind::If(Box::new(parts.0?), Box::new(parts.1?), Box::new(parts.2?))
            }
        };
        Some(Expr::new(kind, term.span))
    }

    /// A variable or local, or an element of one, and the values it may have.
    pub(super) fn place(&mut self, term: &Term, scope: &mut Scope) -> Option<(Place, DomainId)> {
        let (name, index) = match &term.kind {
            TermKind::Name(name) => (name, None),
            TermKind::Index(name, index) => (name, Some(&**index)),
            _ => {
                self.error(term.span, "expected a variable");
                return None;
            }
        };
        let (base, array, domain, shape) = match (scope.names.get(name), self.names.get(name.as_str())) {
            (Some(own), _) => (hadal_system::Base::Local(own.id), own.array, self.number_domain, own.shape),
            (None, Some(&Name::Variable { var, domain, array })) => {
                let shape = self.network.system.variable(var).shape;
                (hadal_system::Base::Global(var), array, domain, shape)
            }
            (None, Some(Name::Clock { .. })) => {
                self.error(term.span, format!("`{name}` is a clock: it can only be compared and reset"));
                return None;
            }
            (None, None) => {
                self.error(term.span, format!("`{name}` is not declared"));
                return None;
            }
        };
        let span = term.span;
        match (index, array) {
            (None, false) => Some((Place { base, steps: Vec::new(), shape, span }, domain)),
            (None, true) => {
                self.error(span, format!("`{name}` is an array: which element?"));
                None
            }
            (Some(index), _) => {
                let index = self.integer(index, scope)?;
                if !array {
                    // One element: only index 0.
                    if index.as_const() == Some(0) {
                        return Some((Place { base, steps: Vec::new(), shape, span }, domain));
                    }
                    self.error(span, format!("`{name}` is not an array"));
                    return None;
                }
                let Shape::Array { element, .. } = self.network.system.shapes[shape] else { return None };
                Some((Place { base, steps: vec![Step::Index(index)], shape: element, span }, domain))
            }
        }
    }

    /// A statement of an edge: resets of clocks stand at the outermost level.
    pub(super) fn effect(&mut self, command: &Command, scope: &mut Scope, out: &mut Vec<Effect>) {
        if let CommandKind::Assign(target, value) = &command.kind
            && self.mentions_clock(&Term { kind: head(target), span: target.span })
        {
            if let Some(reset) = self.reset(target, value, scope) {
                out.push(Effect::Reset(reset));
            }
            return;
        }
        let mut stmts = Vec::new();
        self.command(command, scope, &mut stmts);
        out.extend(stmts.into_iter().map(Effect::Stmt));
    }

    pub(super) fn reset(&mut self, target: &Term, value: &Term, scope: &mut Scope) -> Option<Reset> {
        let clock = self.clock_ref(target, scope)?;
        let (from, value) = if !self.mentions_clock(value) {
            (ClockRef::Zero, self.integer(value, scope)?)
        } else {
            match &value.kind {
                TermKind::Binary(BinaryOp::Add, left, right) => {
                    let (clock, rest) = if self.mentions_clock(left) { (left, right) } else { (right, left) };
                    (self.clock_ref(clock, scope)?, self.integer(rest, scope)?)
                }
                _ => (self.clock_ref(value, scope)?, Expr::constant(0)),
            }
        };
        if value.as_const().is_some_and(|value| value < 0) {
            self.error(value.span, "clocks are never negative");
            return None;
        }
        Some(Reset { when: None, clock, from, value, moment: Moment::Before })
    }

    pub(super) fn command(&mut self, command: &Command, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let span = command.span;
        match &command.kind {
            CommandKind::Nothing => {}
            CommandKind::Assign(target, value) => {
                if self.mentions_clock(&Term { kind: head(target), span: target.span }) {
                    return self.error(target.span, "a clock is reset only at the outermost level");
                }
                let (place, value) = (self.place(target, scope), self.integer(value, scope));
                if let (Some((place, domain)), Some(value)) = (place, value) {
                    out.extend(self.assign(place, domain, value, span));
                }
            }
            CommandKind::If(condition, yes, no) => {
                let condition = self.integer(condition, scope);
                let (mut body, mut otherwise) = (Vec::new(), Vec::new());
                yes.iter().for_each(|it| self.command(it, scope, &mut body));
                no.iter().for_each(|it| self.command(it, scope, &mut otherwise));
                if let Some(condition) = condition {
                    let branches = vec![(condition, body)];
                    out.push(Stmt::new(StmtKind::If { branches, otherwise }, span));
                }
            }
            CommandKind::While(condition, turns) => {
                let condition = self.integer(condition, scope);
                let mut body = Vec::new();
                turns.iter().for_each(|it| self.command(it, scope, &mut body));
                if let Some(condition) = condition {
                    out.push(Stmt::new(StmtKind::While(condition, body), span));
                }
            }
            CommandKind::Local { .. } => self.local(command, scope, out),
        }
    }

    /// Writes a value, or drops the step where the variable cannot hold it.
    fn assign(&self, place: Place, domain: DomainId, value: Expr, span: Span) -> Vec<Stmt> {
        let mut out = Vec::new();
        let fits = value.as_const().is_some_and(|value| self.network.system.domains[domain].contains(value));
        if !fits {
            let condition = Expr::new(ExprKind::InDomain(Box::new(value.clone()), domain), value.span);
            let message = "the value lies outside the range".to_owned();
            let kind = StmtKind::Check { kind: CheckKind::Assume, condition, message };
            out.push(Stmt::new(kind, span));
        }
        out.push(Stmt::new(StmtKind::Assign(place, value), span));
        out
    }

    /// Declares a local and gives it its first value.
    fn local(&mut self, command: &Command, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let CommandKind::Local { name, size, value } = &command.kind else { return };
        let span = command.span;
        let size = match size {
            None => None,
            Some(term) => match self.integer(term, scope).and_then(|size| size.as_const()) {
                Some(size) if (1..=MAX_SIZE).contains(&size) => Some(size),
                _ => return self.error(term.span, format!("the size is a number between 1 and {MAX_SIZE}")),
            },
        };
        let value = match value {
            Some(term) => self.integer(term, scope),
            None => Some(Expr::constant(0)),
        };
        let system = &mut self.network.system;
        let shape = match size {
            None => self.number,
            Some(size) => {
                let index = system.domains.add(Domain::range(0, size - 1, false));
                match system.shapes.add(Shape::Array { index, element: self.number }, &system.domains) {
                    Ok(shape) => shape,
                    Err(_) => return self.error(span, "too large"),
                }
            }
        };
        let id = LocalId(scope.locals.len() as u32);
        scope.locals.push(Local { name: name.to_owned(), shape, kind: LocalKind::Variable });
        scope.names.insert(name.to_owned(), OwnLocal { id, shape, array: size.is_some() });
        let Some(value) = value else { return };
        for n in 0..size.unwrap_or(1) {
            let steps = if size.is_none() { Vec::new() } else { vec![Step::Index(Expr::constant(n))] };
            let place = Place { base: hadal_system::Base::Local(id), steps, shape: self.number, span };
            out.extend(self.assign(place, self.number_domain, value.clone(), span));
        }
    }
}

/// The name that a target starts with.
fn head(target: &Term) -> TermKind {
    match &target.kind {
        TermKind::Index(name, _) | TermKind::Name(name) => TermKind::Name(name.clone()),
        other => other.clone(),
    }
}
