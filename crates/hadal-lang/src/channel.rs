//! Bounded channels as two variables: how many messages are held, and the messages, oldest first. Room behind the last
//! message is all 0, so that equal contents are equal states.
//!
//! The functions build expressions and statements; whoever calls them has checked that the operation can happen.

use hadal_system::{
    BinaryOp, DomainId, Expr, ExprKind, LocalId, Place, Range, ShapeId, Span, Step, Stmt, StmtKind, VarId,
};

/// A channel's variables.
#[derive(Clone, Debug)]
pub struct Channel {
    /// How many messages are held: a scalar from 0 to the capacity.
    pub held: VarId,
    /// Its shape.
    pub held_shape: ShapeId,
    /// The messages: an array indexed from 0, of records.
    pub messages: VarId,
    /// Its shape.
    pub messages_shape: ShapeId,
    /// The record of one message.
    pub message_shape: ShapeId,
    /// The shapes of the record's fields, all scalars.
    pub field_shapes: Vec<ShapeId>,
    /// The domain of indices.
    pub index: DomainId,
    /// How many messages fit, at least 1.
    pub capacity: usize,
}

/// A message that is put where it belongs among others.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// What others are compared with.
    pub keys: Vec<Expr>,
    /// What is kept, field by field.
    pub values: Vec<Expr>,
}

impl Channel {
    /// How many messages are held.
    pub fn held(&self, span: Span) -> Expr {
        self.held_place(span).read()
    }

    fn held_place(&self, span: Span) -> Place {
        Place::global(self.held, self.held_shape, span)
    }

    /// Whether a message fits.
    pub fn has_room(&self, span: Span) -> Expr {
        Expr::binary(BinaryOp::Less, self.held(span), Expr::constant(self.capacity as i64))
    }

    /// Whether a message is there.
    pub fn has_message(&self, span: Span) -> Expr {
        Expr::binary(BinaryOp::Greater, self.held(span), Expr::constant(0))
    }

    fn message(&self, at: Expr, span: Span) -> Place {
        Place {
            base: hadal_system::Base::Global(self.messages),
            steps: vec![Step::Index(at)],
            shape: self.message_shape,
            span,
        }
    }

    /// A field of the message at a position.
    pub fn field(&self, at: Expr, field: usize, span: Span) -> Place {
        let mut place = self.message(at, span);
        place.steps.push(Step::Field(field));
        place.shape = self.field_shapes[field];
        place
    }

    fn hold(&self, operator: BinaryOp, span: Span) -> Stmt {
        let value = Expr::binary(operator, self.held(span), Expr::constant(1));
        Stmt::new(StmtKind::Assign(self.held_place(span), value), span)
    }

    /// Puts a message behind the others. The values fit their fields.
    pub fn push(&self, values: Vec<Expr>, span: Span) -> Vec<Stmt> {
        let at = if self.capacity == 1 { Expr::constant(0) } else { self.held(span) };
        let mut body: Vec<Stmt> = values
            .into_iter()
            .enumerate()
            .map(|(n, value)| Stmt::new(StmtKind::Assign(self.field(at.clone(), n, span), value), span))
            .collect();
        body.push(self.hold(BinaryOp::Add, span));
        body
    }

    /// Puts a message before the oldest one that is greater than its keys, field by field. `at` is a scratch variable that
    /// can hold positions up to the capacity, read and written through `scratch`.
    pub fn insert(&self, message: Sorted, scratch: &Place, slide: LocalId, span: Span) -> Vec<Stmt> {
        let Sorted { keys, values } = message;
        let at = scratch.clone().read();
        // Whether the message there is greater than the new one.
        let mut greater = Expr::constant(0);
        for (n, value) in keys.iter().enumerate().rev() {
            let field = self.field(at.clone(), n, span).read();
            let more = Expr::binary(BinaryOp::Greater, field.clone(), value.clone());
            let same = Expr::binary(BinaryOp::Equal, field, value.clone());
            greater = Expr::binary(BinaryOp::Or, more, Expr::binary(BinaryOp::And, same, greater));
        }
        let smaller = Expr::new(ExprKind::Unary(hadal_system::UnaryOp::Not, Box::new(greater)), span);
        let here = Expr::binary(BinaryOp::Less, at.clone(), self.held(span));
        let next = Expr::binary(BinaryOp::Add, at.clone(), Expr::constant(1));
        let advance = Stmt::new(StmtKind::Assign(scratch.clone(), next), span);
        let mut body = vec![
            Stmt::new(StmtKind::Assign(scratch.clone(), Expr::constant(0)), span),
            Stmt::new(StmtKind::While(Expr::binary(BinaryOp::And, here, smaller), vec![advance]), span),
        ];
        // What stands behind makes room, the last one first.
        let slid = Place::local(slide, scratch.shape, span).read();
        let before = Expr::binary(BinaryOp::Subtract, slid.clone(), Expr::constant(1));
        let copy = StmtKind::Copy { to: self.message(slid, span), from: self.message(before, span) };
        let one_more = Expr::binary(BinaryOp::Add, at.clone(), Expr::constant(1));
        let range = Range::Steps { from: self.held(span), to: one_more, by: Expr::constant(-1) };
        body.push(Stmt::new(StmtKind::For { local: slide, range, body: vec![Stmt::new(copy, span)] }, span));
        for (n, value) in values.into_iter().enumerate() {
            body.push(Stmt::new(StmtKind::Assign(self.field(at.clone(), n, span), value), span));
        }
        body.push(self.hold(BinaryOp::Add, span));
        body
    }

    /// Removes the oldest message.
    pub fn pop(&self, zero: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        let mut body = Vec::new();
        for n in 1..self.capacity as i64 {
            let to = self.message(Expr::constant(n - 1), span);
            let from = self.message(Expr::constant(n), span);
            body.push(Stmt::new(StmtKind::Copy { to, from }, span));
        }
        body.extend(zero);
        body.push(self.hold(BinaryOp::Subtract, span));
        body
    }

    /// Removes the message at a position; `slide` is a local that loops may use.
    pub fn take(&self, at: Expr, slide: (LocalId, ShapeId), zero: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        let position = Place::local(slide.0, slide.1, span).read();
        let next = Expr::binary(BinaryOp::Add, position.clone(), Expr::constant(1));
        let copy = StmtKind::Copy { to: self.message(position, span), from: self.message(next, span) };
        let to = Expr::constant(self.capacity as i64 - 2);
        let range = Range::Steps { from: at, to, by: Expr::constant(1) };
        let mut body =
            vec![Stmt::new(StmtKind::For { local: slide.0, range, body: vec![Stmt::new(copy, span)] }, span)];
        body.extend(zero);
        body.push(self.hold(BinaryOp::Subtract, span));
        body
    }

    /// The last place that a message can stand in.
    pub fn last(&self, span: Span) -> Place {
        self.message(Expr::constant(self.capacity as i64 - 1), span)
    }

    /// Everything the channel holds.
    pub fn contents(&self, span: Span) -> [Place; 2] {
        [self.held_place(span), Place::global(self.messages, self.messages_shape, span)]
    }
}
