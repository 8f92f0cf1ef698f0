//! The buffers of channels: messages in them, and taking the first one out.

use super::super::ast::Type;
use super::super::model::Term;
use super::term::{Copies, binary, number};
use super::{Buffer, Lowering, assign};
use hadal_system::{BinaryOp, Expr, Local, LocalId, LocalKind, Place, Range, Span, Step, Stmt, StmtKind};

/// Buffers up to this long are shifted by as many statements; longer ones by a loop.
const UNROLLED: usize = 16;

impl Lowering<'_> {
    /// A value, cut to a channel's type where it might not fit.
    pub(super) fn cut(&mut self, value: &Term, scalar: Option<Type>) -> Expr {
        let span = value.span;
        let needed = scalar.is_some_and(|scalar| self.overflow(value, scalar).is_some());
        let expr = self.expr(value, &Copies::new());
        match scalar.filter(|_| needed) {
            None => expr,
            Some(Type::Byte) => binary(BinaryOp::BitAnd, expr, number(255, span), span),
            Some(Type::Int) => {
                let up = binary(BinaryOp::Add, expr, number(32768, span), span);
                let kept = binary(BinaryOp::BitAnd, up, number(65535, span), span);
                binary(BinaryOp::Subtract, kept, number(32768, span), span)
            }
        }
    }

    fn message_place(&self, buffer: Buffer, at: Expr, span: Span) -> Place {
        let mut place = self.whole(buffer.messages, span);
        place.steps.push(Step::Index(at));
        place.shape = buffer.message;
        place
    }

    pub(super) fn item_place(&self, buffer: Buffer, at: Expr, item: usize, span: Span) -> Place {
        let mut place = self.message_place(buffer, at, span);
        if let hadal_system::Shape::Record(fields) = &self.shapes[buffer.message] {
            place.shape = fields.get(item).map_or(place.shape, |field| field.shape);
        }
        place.steps.push(Step::Field(item));
        place
    }

    /// The items that hold 0 when no message is there and whose domain's least value is not 0: of the message at
    /// `at`, or of all messages.
    pub(super) fn zero_message_places(
        &self,
        channel: usize,
        buffer: Buffer,
        at: Option<usize>,
        span: Span,
    ) -> Vec<Place> {
        let capacity = self.model.channels[channel].capacity;
        let mut places = Vec::new();
        for message in at.map_or(0..capacity, |at| at..at + 1) {
            for (item, range) in self.ranges.buffers[channel].iter().enumerate() {
                if range.low != 0 {
                    places.push(self.item_place(buffer, number(message as i64, span), item, span));
                }
            }
        }
        places
    }

    /// Moves every message one place forward, clears the last place, counts one less.
    pub(super) fn shift_buffer(
        &mut self,
        channel: usize,
        span: Span,
        locals: &mut Vec<Local>,
        body: &mut Vec<Stmt>,
    ) {
        let Some(buffer) = self.buffers[channel] else { return };
        let capacity = self.model.channels[channel].capacity;
        let copy = |this: &Self, to: Expr, from: Expr| {
            let (to, from) = (this.message_place(buffer, to, span), this.message_place(buffer, from, span));
            Stmt::new(StmtKind::Copy { to, from }, span)
        };
        if capacity <= UNROLLED {
            for at in 1..capacity as i64 {
                body.push(copy(self, number(at - 1, span), number(at, span)));
            }
        } else {
            let shape = self.scalar_shape(super::Interval::new(0, capacity as i64 - 1));
            locals.push(Local { name: "message".to_string(), shape, kind: LocalKind::Bound });
            let local = LocalId(locals.len() as u32 - 1);
            let at = Place::local(local, shape, span).read();
            let before = binary(BinaryOp::Subtract, at.clone(), number(1, span), span);
            let range = Range::Steps {
                from: number(1, span),
                to: number(capacity as i64 - 1, span),
                by: number(1, span),
            };
            let moved = vec![copy(self, before, at)];
            body.push(Stmt::new(StmtKind::For { local, range, body: moved }, span));
        }
        let last = capacity - 1;
        body.push(Stmt::new(
            StmtKind::Clear(self.message_place(buffer, number(last as i64, span), span)),
            span,
        ));
        for place in self.zero_message_places(channel, buffer, Some(last), span) {
            body.push(assign(place, number(0, span)));
        }
        let held = self.whole(buffer.held, span);
        let fewer = binary(BinaryOp::Subtract, held.clone().read(), number(1, span), span);
        body.push(assign(held, fewer));
    }
}
