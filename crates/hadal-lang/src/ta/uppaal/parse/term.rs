//! Expressions of UPPAAL's language, by precedence.

use super::super::ast::*;
use super::super::lex::Token;
use super::{ASSIGNMENTS, LEVELS, Parser};
use hadal_system::{BinaryOp, UnaryOp};

impl Parser<'_> {
    /// An expression, assignments included.
    pub(in crate::ta::uppaal) fn term(&mut self) -> Option<Term> {
        self.nested(|parser| {
            let left = parser.conditional()?;
            let Some(&(_, op)) = ASSIGNMENTS.iter().find(|(sign, _)| parser.is(sign)) else {
                return Some(left);
            };
            parser.next();
            let right = parser.term()?;
            let span = left.span.to(right.span);
            Some(Term { kind: TermKind::Assign(op, Box::new(left), Box::new(right)), span })
        })
    }

    /// A list of expressions, parted by commas, up to the end.
    pub(in crate::ta::uppaal) fn terms(&mut self) -> Option<Vec<Term>> {
        let mut all = Vec::new();
        while !self.is_end() {
            all.push(self.term()?);
            if !self.takes(",") {
                break;
            }
        }
        Some(all)
    }

    pub(super) fn conditional(&mut self) -> Option<Term> {
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Some(condition);
        }
        let yes = self.term()?;
        self.expect(":")?;
        let no = self.nested(Self::conditional)?;
        let span = condition.span.to(no.span);
        Some(Term { kind: TermKind::If(Box::new(condition), Box::new(yes), Box::new(no)), span })
    }

    pub(super) fn binary(&mut self, level: usize) -> Option<Term> {
        let Some(signs) = LEVELS.get(level) else { return self.product() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, op)) = signs.iter().find(|(sign, _)| self.is(sign)) {
            self.next();
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = Term { kind: TermKind::Binary(*op, Box::new(left), Box::new(right)), span };
        }
        Some(left)
    }

    pub(super) fn product(&mut self) -> Option<Term> {
        let mut left = self.nested(Self::unary)?;
        loop {
            let sign = ["*", "/", "%", "<?", ">?"].into_iter().find(|sign| self.is(sign));
            let Some(sign) = sign else { return Some(left) };
            // `a ? b : c` never follows `<` here, so `<?` is the minimum.
            self.next();
            let right = self.nested(Self::unary)?;
            let span = left.span.to(right.span);
            let (left_term, right) = (Box::new(left), Box::new(right));
            let kind = match sign {
                "*" => TermKind::Binary(BinaryOp::Multiply, left_term, right),
                "/" => TermKind::Binary(BinaryOp::Divide, left_term, right),
                "%" => TermKind::Binary(BinaryOp::Remainder, left_term, right),
                "<?" => TermKind::Least(left_term, right),
                _ => TermKind::Most(left_term, right),
            };
            left = Term { kind, span };
        }
    }

    pub(super) fn unary(&mut self) -> Option<Term> {
        let start = self.span();
        for (sign, step) in [("++", 1), ("--", -1)] {
            if self.takes(sign) {
                let of = self.nested(Self::unary)?;
                let span = start.to(of.span);
                return Some(Term { kind: TermKind::Step(Box::new(of), step, false), span });
            }
        }
        for (sign, op) in [("-", UnaryOp::Negate), ("!", UnaryOp::Not), ("not", UnaryOp::Not)] {
            if self.takes(sign) {
                let of = self.nested(Self::unary)?;
                let span = start.to(of.span);
                return Some(Term { kind: TermKind::Unary(op, Box::new(of)), span });
            }
        }
        if self.takes("+") {
            return self.nested(Self::unary);
        }
        for (word, quantity) in
            [("forall", Quantity::ForAll), ("exists", Quantity::Exists), ("sum", Quantity::Sum)]
        {
            if self.is(word) && *self.peek_at(1) == Token::Sign("(") {
                self.next();
                self.next();
                let (name, _) = self.word()?;
                self.expect(":")?;
                let ty = self.ty()?;
                self.expect(")")?;
                // The body reaches as far as it can.
                let body = self.nested(|parser| parser.conditional())?;
                let span = start.to(body.span);
                return Some(Term {
                    kind: TermKind::Quantified(quantity, name, Box::new(ty), Box::new(body)),
                    span,
                });
            }
        }
        self.postfix()
    }

    pub(super) fn postfix(&mut self) -> Option<Term> {
        let mut term = self.primary()?;
        loop {
            let start = term.span;
            let kind = if self.takes("[") {
                let index = self.term()?;
                self.expect("]")?;
                TermKind::Index(Box::new(term), Box::new(index))
            } else if self.takes(".") {
                let (name, _) = self.word()?;
                TermKind::Field(Box::new(term), name)
            } else if self.takes("(") {
                let mut arguments = Vec::new();
                while !self.is(")") {
                    arguments.push(self.term()?);
                    if !self.takes(",") {
                        break;
                    }
                }
                self.expect(")")?;
                TermKind::Call(Box::new(term), arguments)
            } else if self.takes("++") {
                TermKind::Step(Box::new(term), 1, true)
            } else if self.takes("--") {
                TermKind::Step(Box::new(term), -1, true)
            } else if self.takes("'") {
                TermKind::Rate(Box::new(term))
            } else {
                return Some(term);
            };
            term = Term { kind, span: start.to(self.last_span()) };
        }
    }

    pub(super) fn primary(&mut self) -> Option<Term> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Number(number) => TermKind::Number(number),
            Token::Word(word) if word == "true" => TermKind::Number(1),
            Token::Word(word) if word == "false" => TermKind::Number(0),
            Token::Word(word) if word == "deadlock" => TermKind::Deadlock,
            Token::Word(word) => TermKind::Name(word),
            Token::Sign("(") => {
                self.next();
                let mut inside = self.term()?;
                inside.span = span.to(self.expect(")")?);
                return Some(inside);
            }
            Token::Sign("{") => {
                self.next();
                let mut all = Vec::new();
                while !self.is("}") {
                    // `name: value` in the initialiser of a struct.
                    if matches!(self.peek(), Token::Word(_)) && *self.peek_at(1) == Token::Sign(":") {
                        self.next();
                        self.next();
                    }
                    all.push(self.term()?);
                    if !self.takes(",") {
                        break;
                    }
                }
                let end = self.expect("}")?;
                return Some(Term { kind: TermKind::List(all), span: span.to(end) });
            }
            _ => return self.refuse("a number, a name or `(`"),
        };
        self.next();
        Some(Term { kind, span })
    }
}
