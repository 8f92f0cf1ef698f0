//! Expressions: 32-bit arithmetic, values of other processes, channels.

use super::super::model::{Argument, Receive, Segment, Term, TermKind, Type, VarPath, VarRef};
use super::{Env, Lowering, Store, Timeout, operator};
use crate::channel::Channel;
use hadal_system::{
    BinaryOp, Domain, Expr, ExprKind, LocalKind, Place, Quantifier, Range, Shape, Span, Step, UnaryOp,
};

/// An expression and what its values lie between.
pub(super) struct Bounded {
    pub expr: Expr,
    pub low: i64,
    pub high: i64,
}

impl Bounded {
    fn truth(expr: Expr) -> Self {
        Bounded { expr, low: 0, high: 1 }
    }

    fn constant(value: i64, span: Span) -> Self {
        Bounded { expr: Expr::new(ExprKind::Const(value), span), low: value, high: value }
    }
}

pub(super) fn not(expr: Expr) -> Expr {
    let span = expr.span;
    match expr.kind {
        ExprKind::Const(value) => Expr::new(ExprKind::Const((value == 0).into()), span),
        kind => Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(Expr::new(kind, span))), span),
    }
}

/// `left && right`, without constants that say nothing.
pub(super) fn and(left: Expr, right: Expr) -> Expr {
    match (left.as_const(), right.as_const()) {
        (Some(0), _) | (_, Some(0)) => Expr::constant(0),
        (Some(_), _) => right,
        (_, Some(_)) => left,
        _ => Expr::binary(BinaryOp::And, left, right),
    }
}

/// `left || right`, without constants that say nothing.
pub(super) fn or(left: Expr, right: Expr) -> Expr {
    match (left.as_const(), right.as_const()) {
        (Some(0), _) => right,
        (_, Some(0)) => left,
        (Some(_), _) | (_, Some(_)) => Expr::constant(1),
        _ => Expr::binary(BinaryOp::Or, left, right),
    }
}

pub(super) fn equal(left: Expr, right: Expr) -> Expr {
    match (left.as_const(), right.as_const()) {
        (Some(l), Some(r)) => Expr::constant((l == r).into()),
        _ => Expr::binary(BinaryOp::Equal, left, right),
    }
}

impl Lowering<'_> {
    /// The value of a term.
    pub(super) fn value(&mut self, term: &Term, env: Env) -> Expr {
        self.bounded(term, env).expr
    }

    /// The value of a term as a scalar of a type keeps it.
    pub(super) fn fitted(&mut self, term: &Term, ty: Type, env: Env) -> Expr {
        let value = self.bounded(term, env);
        let (low, high) = ty.bounds();
        self.wrapped(value, low, high).expr
    }

    /// Brings a value between bounds, as a machine does that keeps only the low bits.
    pub(super) fn wrapped(&mut self, value: Bounded, low: i64, high: i64) -> Bounded {
        if low <= value.low && value.high <= high {
            return value;
        }
        let span = value.expr.span;
        let domain = self.domains.add(Domain::range(low, high, false));
        let kind = match value.expr.kind {
            ExprKind::Const(c) => ExprKind::Const(self.domains[domain].wrap(c)),
            kind => ExprKind::Wrap(Box::new(Expr::new(kind, span)), domain),
        };
        Bounded { expr: Expr::new(kind, span), low, high }
    }

    fn int(&mut self, value: Bounded) -> Bounded {
        self.wrapped(value, i64::from(i32::MIN), i64::from(i32::MAX))
    }

    pub(super) fn bounded(&mut self, term: &Term, env: Env) -> Bounded {
        stacker::maybe_grow(128 << 10, 1 << 20, || self.bounded_inner(term, env))
    }

    fn bounded_inner(&mut self, term: &Term, env: Env) -> Bounded {
        let span = term.span;
        match &term.kind {
            TermKind::Const(value) => Bounded::constant(*value, span),
            TermKind::Read(target) => self.read(target, env),
            TermKind::Unary('!', of) => {
                let of = self.value(of, env);
                Bounded::truth(not(of))
            }
            TermKind::Unary(operator, of) => {
                let of = self.bounded(of, env);
                let (op, low, high) = match operator {
                    '-' => (UnaryOp::Negate, -of.high, -of.low),
                    _ => (UnaryOp::BitNot, !of.high, !of.low),
                };
                if let Some(value) = of.expr.as_const().and_then(|value| op.apply(value)) {
                    return self.int(Bounded::constant(value, span));
                }
                let expr = Expr::new(ExprKind::Unary(op, Box::new(of.expr)), span);
                self.int(Bounded { expr, low, high })
            }
            TermKind::Binary(mark, left, right) => {
                let left = self.bounded(left, env);
                let right = self.bounded(right, env);
                self.binary(operator(mark), left, right, span)
            }
            TermKind::Choice(condition, yes, no) => {
                let condition = self.value(condition, env);
                let (yes, no) = (self.bounded(yes, env), self.bounded(no, env));
                let (low, high) = (yes.low.min(no.low), yes.high.max(no.high));
                let kind = ExprKind::If(Box::new(condition), Box::new(yes.expr), Box::new(no.expr));
                Bounded { expr: Expr::new(kind, span), low, high }
            }
            TermKind::Channel(word, target) => self.queue_state(word, target, env),
            TermKind::Poll(receive) => {
                let expr = self.can_receive(receive, env);
                Bounded::truth(expr)
            }
            // The process was started just before: it is the youngest.
            TermKind::Run(_) => {
                let count = self.whole(self.count, span).read();
                let expr = Expr::binary(BinaryOp::Subtract, count, Expr::constant(1));
                Bounded { expr, low: 0, high: 254 }
            }
            TermKind::Pid => match env.slot {
                Some(slot) => Bounded { expr: self.pid(slot, span), low: 0, high: 254 },
                None => Bounded::constant(0, span),
            },
            TermKind::Count => Bounded { expr: self.whole(self.count, span).read(), low: 0, high: 255 },
            TermKind::Last => match self.last {
                Some(last) => Bounded { expr: self.whole(last, span).read(), low: 0, high: 255 },
                None => Bounded::constant(0, span),
            },
            TermKind::Timeout => match env.timeout {
                Timeout::No => Bounded::constant(0, span),
                Timeout::Yes => Bounded::constant(1, span),
                Timeout::Asked => {
                    let mut any = Expr::constant(0);
                    for slot in 0..self.slots.len() {
                        any = or(any, self.moves(slot, Timeout::No));
                    }
                    Bounded::truth(not(any))
                }
            },
            TermKind::NonProgress => {
                let mut any = Expr::constant(0);
                for slot in 0..self.slots.len() {
                    let class = self.slots[slot].class;
                    for (value, location) in self.location_names(class).iter().enumerate() {
                        if location.progress {
                            any = or(any, self.is_at(slot, value as i64));
                        }
                    }
                }
                // A run that stays where it is for ever makes no progress, and is none of those that are looked for.
                Bounded::truth(match self.staying {
                    Some(staying) => and(Expr::constant(i64::from(!staying)), not(any)),
                    None => and(self.anybody_moves(), not(any)),
                })
            }
            TermKind::Process(word, of) => self.of_process(word, of, env, span),
            TermKind::Label { process, pid, label } => {
                let own = &self.model.processes[*process];
                let element =
                    own.labels.iter().find(|it| it.name == *label).map(|it| own.resolve(it.element));
                let pid = pid.as_ref().map(|pid| self.value(pid, env));
                let mut any = Expr::constant(0);
                for slot in self.classes[*process].clone() {
                    let Some(element) = element else { continue };
                    let mut here = self.is_at(slot, self.location(*process, element));
                    if let Some(pid) = &pid {
                        here = and(equal(self.pid(slot, span), pid.clone()), here);
                    }
                    any = or(any, here);
                }
                Bounded::truth(any)
            }
            TermKind::Remote { process, pid, target } => {
                let pid = pid.as_ref().map(|pid| self.value(pid, env));
                let (mut low, mut high) = (0, 0);
                let mut expr = Expr::constant(0);
                for slot in self.classes[*process].clone().into_iter().rev() {
                    let value = self.read(target, Env { slot: Some(slot), ..env });
                    (low, high) = (low.min(value.low), high.max(value.high));
                    let here = match &pid {
                        Some(pid) => {
                            let lives = not(self.is_at(slot, 0));
                            and(equal(self.pid(slot, span), pid.clone()), lives)
                        }
                        None => not(self.is_at(slot, 0)),
                    };
                    let kind = ExprKind::If(Box::new(here), Box::new(value.expr), Box::new(expr));
                    expr = Expr::new(kind, span);
                }
                Bounded { expr, low, high }
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: Bounded, right: Bounded, span: Span) -> Bounded {
        let corners = |apply: &dyn Fn(i128, i128) -> i128| {
            let all = [
                apply(left.low.into(), right.low.into()),
                apply(left.low.into(), right.high.into()),
                apply(left.high.into(), right.low.into()),
                apply(left.high.into(), right.high.into()),
            ];
            // Values have 32 bits, so these fit.
            let low = all.iter().min().copied().unwrap_or(0).clamp(i64::MIN.into(), i64::MAX.into());
            let high = all.iter().max().copied().unwrap_or(0).clamp(i64::MIN.into(), i64::MAX.into());
            (low as i64, high as i64)
        };
        let whole = (i64::from(i32::MIN), i64::from(i32::MAX));
        let small = left.low >= 0 && right.low >= 0;
        let (low, high) = match op {
            BinaryOp::Add => corners(&|l, r| l + r),
            BinaryOp::Subtract => corners(&|l, r| l - r),
            BinaryOp::Multiply => corners(&|l, r| l * r),
            BinaryOp::Divide if small => (0, left.high),
            BinaryOp::Remainder if small => (0, left.high.min(right.high)),
            BinaryOp::BitAnd if small => (0, left.high.min(right.high)),
            BinaryOp::BitOr | BinaryOp::BitXor if small => {
                let top = left.high.max(right.high) as u64;
                (0, if top == 0 { 0 } else { (u64::MAX >> top.leading_zeros()) as i64 })
            }
            BinaryOp::ShiftRight if small => (0, left.high),
            BinaryOp::ShiftLeft => (i64::MIN, i64::MAX),
            BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftRight => whole,
            _ => (0, 1),
        };
        if let (Some(l), Some(r)) = (left.expr.as_const(), right.expr.as_const())
            && let Some(value) = op.apply(l, r)
        {
            return self.int(Bounded::constant(value, span));
        }
        let expr = match op {
            BinaryOp::And => and(left.expr, right.expr),
            BinaryOp::Or => or(left.expr, right.expr),
            op => Expr::binary(op, left.expr, right.expr),
        };
        self.int(Bounded { expr, low, high })
    }

    fn read(&mut self, target: &VarPath, env: Env) -> Bounded {
        let (low, high) = target.ty.bounds();
        if let Some(first) = self.constant_channels(target, env) {
            let Some(Segment::Index(index)) = target.path.first() else {
                return Bounded::constant(first as i64 + 1, target.span);
            };
            let index = self.bounded(index, env);
            let expr = Expr::binary(BinaryOp::Add, index.expr, Expr::constant(first as i64 + 1));
            return Bounded { expr, low, high };
        }
        match self.place(target, env) {
            Some(place) => Bounded { expr: place.read(), low, high },
            None => Bounded::constant(0, target.span),
        }
    }

    /// The first channel of a variable that always holds the same ones.
    pub(super) fn constant_channels(&self, target: &VarPath, env: Env) -> Option<usize> {
        match self.store_of(target.var, env) {
            Some(Store::Channels(first)) => Some(first),
            _ => None,
        }
    }

    fn store_of(&self, var: VarRef, env: Env) -> Option<Store> {
        match var {
            VarRef::Global(n) => self.globals.get(n).copied(),
            VarRef::Local(n) => self.slots[env.slot?].stores.get(n).copied(),
        }
    }

    /// The place in the state, where it has one.
    pub(super) fn place(&mut self, target: &VarPath, env: Env) -> Option<Place> {
        let Some(Store::State(var)) = self.store_of(target.var, env) else { return None };
        let mut place = self.whole(var, target.span);
        for segment in &target.path {
            match segment {
                Segment::Field(n) => {
                    let Shape::Record(fields) = &self.shapes[place.shape] else { return None };
                    place.shape = fields.get(*n)?.shape;
                    place.steps.push(Step::Field(*n));
                }
                Segment::Index(index) => {
                    let index = self.value(index, env);
                    let Shape::Array { element, .. } = self.shapes[place.shape] else { return None };
                    place.shape = element;
                    place.steps.push(Step::Index(index));
                }
            }
        }
        Some(place)
    }

    /// `len` and its kin.
    fn queue_state(&mut self, word: &str, target: &VarPath, env: Env) -> Bounded {
        let span = target.span;
        let mut expr = Expr::constant(0);
        for (here, queue) in self.queues_of(target, None, env).into_iter().rev() {
            let held = match &self.queues[queue].buffer {
                Some(buffer) => buffer.held(span),
                None => Expr::constant(0),
            };
            let capacity = self.queues[queue].buffer.as_ref().map_or(0, |buffer| buffer.capacity as i64);
            let value = match word {
                "len" => held,
                "empty" => equal(held, Expr::constant(0)),
                "nempty" => not(equal(held, Expr::constant(0))),
                "full" => equal(held, Expr::constant(capacity)),
                _ => not(equal(held, Expr::constant(capacity))),
            };
            expr = match here.as_const() {
                Some(_) => value,
                None => Expr::new(ExprKind::If(Box::new(here), Box::new(value), Box::new(expr)), span),
            };
        }
        Bounded { expr, low: 0, high: if word == "len" { 255 } else { 1 } }
    }

    /// The channels a place may hold, each with when it does; with `fields`, only those with as many fields. A channel that
    /// is named itself may have more, as in SPIN: a receive does not look at the others.
    pub(super) fn queues_of(
        &mut self,
        target: &VarPath,
        fields: Option<usize>,
        env: Env,
    ) -> Vec<(Expr, usize)> {
        if let (Some(first), Some(fields)) = (self.constant_channels(target, env), fields)
            && self.queues[first].fields.len() < fields
        {
            let wanted = self.queues[first].fields.len();
            self.error(target.span, format!("the channel's messages have {wanted} fields, not {fields}"));
            return Vec::new();
        }
        if let Some(first) = self.constant_channels(target, env) {
            let Some(Segment::Index(index)) = target.path.first() else {
                return vec![(Expr::constant(1), first)];
            };
            let index = self.value(index, env);
            if let Some(at) = index.as_const() {
                let known =
                    usize::try_from(at).ok().map(|at| first + at).filter(|&at| at < self.queues.len());
                return known.map(|at| (Expr::constant(1), at)).into_iter().collect();
            }
            let length = self.same_variable(first);
            return (0..length)
                .map(|n| (equal(index.clone(), Expr::constant(n as i64)), first + n))
                .collect();
        }
        let Some(place) = self.place(target, env) else { return Vec::new() };
        let number = place.read();
        (0..self.queues.len())
            .filter(|&queue| fields.is_none_or(|fields| self.queues[queue].fields.len() == fields))
            .map(|queue| (equal(number.clone(), Expr::constant(queue as i64 + 1)), queue))
            .collect()
    }

    /// How many channels from this one on belong to the same array.
    fn same_variable(&self, first: usize) -> usize {
        let base = |name: &str| name.rsplit_once('[').map_or(name.to_string(), |(base, _)| base.to_string());
        let name = base(&self.queues[first].name);
        self.queues[first..].iter().take_while(|queue| base(&queue.name) == name).count()
    }

    /// Whether a receive (or poll) finds a message that matches. Rendezvous channels hold none.
    pub(super) fn can_receive(&mut self, receive: &Receive, env: Env) -> Expr {
        let mut any = Expr::constant(0);
        for (here, queue) in self.queues_of(&receive.channel, Some(receive.arguments.len()), env) {
            let Some(buffer) = self.queues[queue].buffer.clone() else { continue };
            let matching = self.finds(receive, &buffer, env);
            any = or(any, and(here, matching));
        }
        any
    }

    /// Whether a channel has a message that matches.
    pub(super) fn finds(&mut self, receive: &Receive, buffer: &Channel, env: Env) -> Expr {
        let span = receive.channel.span;
        if !receive.random || buffer.capacity == 1 {
            let first = self.matches(receive, buffer, Expr::constant(0), env);
            return and(buffer.has_message(span), first);
        }
        let shape = self.shape(Shape::Scalar(buffer.index), span);
        let local = self.local("message", shape, LocalKind::Bound);
        let at = Place::local(local, shape, span).read();
        let held = Expr::binary(BinaryOp::Less, at.clone(), buffer.held(span));
        let matching = self.matches(receive, buffer, at, env);
        let body = Box::new(and(held, matching));
        let range = Box::new(Range::Domain(buffer.index));
        Expr::new(ExprKind::Quantified { quantifier: Quantifier::Exists, local, range, body }, span)
    }

    /// Whether the message at a position matches.
    pub(super) fn matches(&mut self, receive: &Receive, buffer: &Channel, at: Expr, env: Env) -> Expr {
        let mut all = Expr::constant(1);
        for (n, argument) in receive.arguments.iter().enumerate() {
            if let Argument::Match(value) = argument {
                let value = self.value(value, env);
                all = and(all, equal(buffer.field(at.clone(), n, receive.channel.span).read(), value));
            }
        }
        all
    }

    /// Whether a slot's process can move, asked from elsewhere.
    fn enabled(&mut self, slot: usize, span: Span, env: Env) -> Expr {
        if self.enabled_asked {
            self.error(span, "`enabled` asks about a process that asks for `enabled` itself");
            return Expr::constant(0);
        }
        self.enabled_asked = true;
        let can = self.can_move(slot, env);
        self.enabled_asked = false;
        can
    }

    fn of_process(&mut self, word: &str, of: &Term, env: Env, span: Span) -> Bounded {
        if let (TermKind::Pid, Some(slot), "get_priority") = (&of.kind, env.slot, word) {
            return Bounded { expr: self.priority(slot), low: 0, high: 255 };
        }
        let pid = self.value(of, env);
        let mut expr = Expr::constant(0);
        for slot in (0..self.slots.len()).rev() {
            let here = and(not(self.is_at(slot, 0)), equal(self.pid(slot, span), pid.clone()));
            // Nobody asks whether it can move itself.
            if here.as_const() == Some(0) || word == "enabled" && env.slot == Some(slot) {
                continue;
            }
            let value = match word {
                "enabled" => self.enabled(slot, span, env),
                "pc_value" => self.place_number(slot, span),
                _ => self.priority(slot),
            };
            expr = Expr::new(ExprKind::If(Box::new(here), Box::new(value), Box::new(expr)), span);
        }
        let high = match word {
            "enabled" => 1,
            "pc_value" => i64::from(i32::MAX),
            _ => 255,
        };
        Bounded { expr, low: 0, high }
    }

    /// Whether some process can move.
    pub(super) fn anybody_moves(&mut self) -> Expr {
        (0..self.slots.len()).fold(Expr::constant(0), |any, slot| or(any, self.moves(slot, Timeout::Yes)))
    }

    /// The number that SPIN gives the place where a slot's process stands.
    fn place_number(&self, slot: usize, span: Span) -> Expr {
        let class = self.slots[slot].class;
        let elements = &self.model.processes[class].elements;
        let mut expr = Expr::constant(0);
        for (n, &state) in self.controls[class].states.iter().enumerate() {
            let number = Box::new(Expr::constant(i64::from(elements[state].number)));
            let here = Box::new(self.is_at(slot, n as i64 + 1));
            expr = Expr::new(ExprKind::If(here, number, Box::new(expr)), span);
        }
        expr
    }
}
