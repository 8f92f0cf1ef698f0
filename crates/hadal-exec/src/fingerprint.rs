//! A number that identifies a model across runs: it changes with anything that changes the states or transitions,
//! and stays the same when only the file's name, comments, white space or messages change.
//!
//! The system is written out, tag by tag, into FNV-1a (Fowler, Noll, Vo; 64 bits). Nothing here depends on the
//! toolchain: run folders made by one build are recognised by the next.

use hadal_system::{
    Action, Amount, Argument, Base, BinaryOp, CheckKind, DomainKind, Expr, ExprKind, Layout, Local,
    LocalKind, Param, ParamValues, Place, PropertyBody, PropertyKind, Quantifier, Range, Shape, Step, Stmt,
    StmtKind, System, UnaryOp, Value,
};

use crate::symmetry::SymmetryMode;

/// The fingerprint of a system whose states `layout` packs and whose symmetric states are one as `symmetry` says.
pub fn fingerprint(system: &System, layout: &Layout, symmetry: SymmetryMode) -> u64 {
    let mut hash = Hash(0xCBF2_9CE4_8422_2325);
    hash.number(VERSION);
    for (_, domain) in system.domains.iter() {
        hash.tag(b'd');
        for &(lo, hi) in &domain.intervals {
            hash.value(lo);
            hash.value(hi);
        }
        hash.number(domain.undefined.into());
        match &domain.kind {
            DomainKind::Bool => hash.tag(0),
            DomainKind::Range => hash.tag(1),
            DomainKind::Enum(names) => hash.tagged(2, |h| names.iter().for_each(|name| h.text(name))),
            DomainKind::Scalarset(id) => hash.tagged(3, |h| h.number(id.0.into())),
            DomainKind::Union(members) => {
                hash.tagged(4, |h| members.iter().for_each(|m| h.number(m.0.into())));
            }
        }
    }
    for (_, shape) in system.shapes.iter() {
        hash.tag(b's');
        match shape {
            Shape::Scalar(domain) => hash.tagged(0, |h| h.number(domain.0.into())),
            Shape::Array { index, element } => {
                hash.tagged(1, |h| h.numbers(&[index.0.into(), element.0.into()]));
            }
            Shape::Record(fields) => hash.tagged(2, |h| {
                for field in fields {
                    h.text(&field.name);
                    h.number(field.shape.0.into());
                }
            }),
            Shape::Multiset { slots, element } => {
                hash.tagged(3, |h| h.numbers(&[slots.0.into(), element.0.into()]));
            }
        }
    }
    for variable in &system.variables {
        hash.tag(b'v');
        hash.text(&variable.name);
        hash.number(variable.shape.0.into());
    }
    for function in &system.functions {
        hash.tag(b'f');
        hash.number(function.parameters as u64);
        hash.locals(&function.locals);
        hash.number(function.result.map_or(u64::MAX, |domain| domain.0.into()));
        hash.block(&function.body);
    }
    for (tag, actions) in [(b'i', &system.starts), (b'a', &system.actions)] {
        for action in actions {
            hash.tag(tag);
            hash.action(action);
        }
    }
    if !system.has_plain_steps() {
        hash.tag(b's');
        for action in &system.actions {
            hash.number(action.processes.first().map_or(u64::MAX, |process| process.0.into()));
        }
    }
    for property in &system.properties {
        hash.tag(b'p');
        hash.text(&property.name);
        hash.tag(match property.kind {
            PropertyKind::Invariant => 0,
            PropertyKind::Assumption => 1,
            PropertyKind::Cover => 2,
            PropertyKind::Liveness => 3,
            PropertyKind::Goal => 4,
            PropertyKind::Proposition => 5,
            PropertyKind::Rest => 6,
            PropertyKind::Formula => 7,
            PropertyKind::Acceptance => 8,
        });
        hash.params(&property.params);
        hash.locals(&property.locals);
        match &property.body {
            PropertyBody::State(condition) => hash.tagged(0, |h| h.expr(condition)),
            PropertyBody::Statements => hash.tag(1),
            PropertyBody::Claim(claim) => hash.tagged(2, |h| h.text(&format!("{claim:?}"))),
        }
    }
    hash.tag(b'l');
    for var in layout.order() {
        hash.number(var.0.into());
    }
    hash.tag(match symmetry {
        SymmetryMode::Off => 0,
        SymmetryMode::Heuristic => 1,
        SymmetryMode::Exact => 2,
        SymmetryMode::Auto => 3,
    });
    hash.0
}

/// Counts the changes to what is written below, or to the meaning of the system's language.
const VERSION: u64 = 1;

/// FNV-1a over a stream in which every list is followed by an end mark, so that no two systems write the same.
struct Hash(u64);

impl Hash {
    fn tag(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }

    fn number(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.tag(byte);
        }
    }

    fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|&n| self.number(n));
    }

    fn value(&mut self, value: Value) {
        self.number(value as u64);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        text.bytes().for_each(|byte| self.tag(byte));
    }

    /// A tag, what `content` writes, an end mark.
    fn tagged(&mut self, tag: u8, content: impl FnOnce(&mut Self)) {
        self.tag(tag);
        content(self);
        self.tag(END);
    }

    fn locals(&mut self, locals: &[Local]) {
        for local in locals {
            self.number(local.shape.0.into());
            self.tag(match local.kind {
                LocalKind::Bound => 0,
                LocalKind::Variable => 1,
                LocalKind::Reference => 2,
            });
        }
        self.tag(END);
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            self.number(param.local.0.into());
            match param.values {
                ParamValues::Domain(domain) => self.tagged(0, |h| h.number(domain.0.into())),
                ParamValues::Steps { from, to, by } => {
                    self.tagged(1, |h| [from, to, by].into_iter().for_each(|v| h.value(v)));
                }
            }
        }
        self.tag(END);
    }

    fn action(&mut self, action: &Action) {
        if action.rank > 0 || action.then.is_some() {
            self.tag(b'r');
            self.number(action.rank.into());
            self.number(action.then.map_or(u64::MAX, |process| process.0.into()));
        }
        self.text(&action.name);
        self.params(&action.params);
        self.locals(&action.locals);
        self.expr(&action.guard);
        self.block(&action.body);
        if let Some(cost) = &action.cost {
            self.tagged(b'c', |h| h.expr(cost));
        }
        if let Some(outcomes) = &action.outcomes {
            self.tag(b'o');
            for weight in &outcomes.weights {
                match weight {
                    Amount::Constant(value) => self.text(&value.to_string()),
                    Amount::Ratio { numerator, denominator } => {
                        self.expr(numerator);
                        self.expr(denominator);
                    }
                }
            }
        }
    }

    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
        self.tag(END);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, expr) => self.tagged(0, |h| {
                h.place(place);
                h.expr(expr);
            }),
            StmtKind::Copy { to, from } => self.tagged(1, |h| {
                h.place(to);
                h.place(from);
            }),
            StmtKind::Clear(place) => self.tagged(2, |h| h.place(place)),
            StmtKind::Undefine(place) => self.tagged(3, |h| h.place(place)),
            StmtKind::If { branches, otherwise } => self.tagged(4, |h| {
                for (condition, body) in branches {
                    h.expr(condition);
                    h.block(body);
                }
                h.tag(END);
                h.block(otherwise);
            }),
            StmtKind::Switch { subject, arms, otherwise } => self.tagged(5, |h| {
                h.expr(subject);
                for arm in arms {
                    arm.values.iter().for_each(|value| h.expr(value));
                    h.tag(END);
                    h.block(&arm.body);
                }
                h.tag(END);
                h.block(otherwise);
            }),
            StmtKind::For { local, range, body } => self.tagged(6, |h| {
                h.number(local.0.into());
                h.range(range);
                h.block(body);
            }),
            StmtKind::While(condition, body) => self.tagged(7, |h| {
                h.expr(condition);
                h.block(body);
            }),
            StmtKind::Call(function, arguments) => self.tagged(8, |h| {
                h.number(function.0.into());
                h.arguments(arguments);
            }),
            StmtKind::Return(None) => self.tag(9),
            StmtKind::Return(Some(expr)) => self.tagged(10, |h| h.expr(expr)),
            StmtKind::Bind { local, place, body } => self.tagged(11, |h| {
                h.number(local.0.into());
                h.place(place);
                h.block(body);
            }),
            StmtKind::Check { kind, condition, .. } => self.tagged(12, |h| {
                h.tag(match kind {
                    CheckKind::Assert => 0,
                    CheckKind::Assume => 1,
                });
                h.expr(condition);
            }),
            StmtKind::Fail(_) => self.tag(13),
            StmtKind::Cover(property, condition) => self.tagged(14, |h| {
                h.number(*property as u64);
                h.expr(condition);
            }),
            // Says something, does nothing.
            StmtKind::Print(_) => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(value) => self.tagged(0, |h| h.value(*value)),
            ExprKind::Read(place) => self.tagged(1, |h| h.place(place)),
            ExprKind::IsUndefined(place) => self.tagged(2, |h| h.place(place)),
            ExprKind::Unary(op, operand) => self.tagged(3, |h| {
                h.tag(match op {
                    UnaryOp::Negate => 0,
                    UnaryOp::Not => 1,
                    UnaryOp::BitNot => 2,
                });
                h.expr(operand);
            }),
            ExprKind::Binary(op, left, right) => self.tagged(4, |h| {
                h.tag(operator_number(*op));
                h.expr(left);
                h.expr(right);
            }),
            ExprKind::If(condition, then, otherwise) => self.tagged(5, |h| {
                [condition, then, otherwise].into_iter().for_each(|part| h.expr(part));
            }),
            ExprKind::Quantified { quantifier, local, range, body } => self.tagged(6, |h| {
                h.tag((*quantifier == Quantifier::ForAll).into());
                h.number(local.0.into());
                h.range(range);
                h.expr(body);
            }),
            ExprKind::Same(left, right) => self.tagged(7, |h| {
                h.place(left);
                h.place(right);
            }),
            ExprKind::Call(function, arguments) => self.tagged(8, |h| {
                h.number(function.0.into());
                h.arguments(arguments);
            }),
            ExprKind::Wrap(operand, domain) => self.tagged(10, |h| {
                h.expr(operand);
                h.number(domain.0.into());
            }),
            ExprKind::InDomain(operand, domain) => self.tagged(9, |h| {
                h.expr(operand);
                h.number(domain.0.into());
            }),
        }
    }

    fn range(&mut self, range: &Range) {
        match range {
            Range::Domain(domain) => self.tagged(0, |h| h.number(domain.0.into())),
            Range::Steps { from, to, by } => {
                self.tagged(1, |h| [from, to, by].into_iter().for_each(|part| h.expr(part)));
            }
        }
    }

    fn place(&mut self, place: &Place) {
        match place.base {
            Base::Global(var) => self.tagged(0, |h| h.number(var.0.into())),
            Base::Local(local) => self.tagged(1, |h| h.number(local.0.into())),
        }
        for step in &place.steps {
            match step {
                Step::Field(field) => self.tagged(0, |h| h.number(*field as u64)),
                Step::Index(index) => self.tagged(1, |h| h.expr(index)),
            }
        }
        self.tag(END);
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            match argument {
                Argument::Value(expr) => self.tagged(0, |h| h.expr(expr)),
                Argument::Copy(place) => self.tagged(1, |h| h.place(place)),
                Argument::Reference(place) => self.tagged(2, |h| h.place(place)),
            }
        }
        self.tag(END);
    }
}

const END: u8 = 0xFF;

fn operator_number(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Add => 0,
        Subtract => 1,
        Multiply => 2,
        Divide => 3,
        Remainder => 4,
        ShiftLeft => 5,
        ShiftRight => 6,
        BitAnd => 7,
        BitOr => 8,
        BitXor => 9,
        Equal => 10,
        NotEqual => 11,
        Less => 12,
        LessEqual => 13,
        Greater => 14,
        GreaterEqual => 15,
        And => 16,
        Or => 17,
        Implies => 18,
    }
}
