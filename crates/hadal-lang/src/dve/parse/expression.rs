//! Expressions, by precedence climbing.
//!
//! The levels are DiVinE's, loosest first: `imply`; `or` and `and` together; `|`, `&` and `^` together; equality;
//! comparison; shifts; sums; products; all of them associate to the left. `not a == b` is `(not a) == b`.

use super::super::ast::*;
use super::super::token::{Keyword, TokenKind};
use super::{MAX_HEIGHT, Parsed, Parser, Skip};
use crate::diagnostic::Diagnostic;
use hadal_system::Span;

/// The operator a token stands for, with its level.
fn binary_operator(token: &TokenKind) -> Option<(BinaryOp, u8)> {
    use BinaryOp::*;
    Some(match token {
        TokenKind::Keyword(Keyword::Imply) => (Imply, 1),
        TokenKind::Keyword(Keyword::Or) | TokenKind::Mark("||") => (Or, 2),
        TokenKind::Keyword(Keyword::And) | TokenKind::Mark("&&") => (And, 2),
        TokenKind::Mark(mark) => match *mark {
            "|" => (BitOr, 3),
            "&" => (BitAnd, 3),
            "^" => (BitXor, 3),
            "==" => (Equal, 4),
            "!=" => (NotEqual, 4),
            "<" => (Less, 5),
            "<=" => (LessEqual, 5),
            ">" => (Greater, 5),
            ">=" => (GreaterEqual, 5),
            "<<" => (ShiftLeft, 6),
            ">>" => (ShiftRight, 6),
            "+" => (Add, 7),
            "-" => (Subtract, 7),
            "*" => (Multiply, 8),
            "/" => (Divide, 8),
            "%" => (Modulo, 8),
            _ => return None,
        },
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.climb(1)
    }

    fn climb(&mut self, least: u8) -> Parsed<Expr> {
        self.enter()?;
        let mut left = self.unary()?;
        while let Some((op, level)) = binary_operator(self.peek()).filter(|(_, level)| *level >= least) {
            self.advance();
            let right = self.climb(level + 1)?;
            let span = left.span.to(right.span);
            let height = 1 + left.height.max(right.height);
            left = self.bounded(ExprKind::Binary(op, Box::new(left), Box::new(right)), span, height)?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// Refuses to go deeper than the stack allows. On refusal the nesting is left to the caller's `Err` path, which
    /// abandons the whole expression and resets it.
    fn enter(&mut self) -> Parsed<()> {
        self.nesting += 1;
        if self.nesting > MAX_HEIGHT { Err(self.too_deep(self.span())) } else { Ok(()) }
    }

    fn bounded(&mut self, kind: ExprKind, span: Span, height: u32) -> Parsed<Expr> {
        if height > MAX_HEIGHT { Err(self.too_deep(span)) } else { Ok(Expr { kind, span, height }) }
    }

    fn too_deep(&mut self, span: Span) -> Skip {
        if !self.refused_height {
            self.refused_height = true;
            self.findings.push(
                Diagnostic::error(span, "this expression is nested too deeply")
                    .help(format!("hadal reads up to {MAX_HEIGHT} operators inside one another")),
            );
        }
        Skip
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let op = match self.peek() {
            TokenKind::Mark("-") => UnaryOp::Negate,
            TokenKind::Mark("~") => UnaryOp::BitNot,
            TokenKind::Mark("!") | TokenKind::Keyword(Keyword::Not) => UnaryOp::Not,
            _ => return self.primary(),
        };
        let start = self.span();
        self.advance();
        self.enter()?;
        let operand = self.unary()?;
        self.nesting -= 1;
        let span = start.to(operand.span);
        let height = operand.height + 1;
        self.bounded(ExprKind::Unary(op, Box::new(operand)), span, height)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Number(value) => Ok(self.leaf(ExprKind::Number(value))),
            TokenKind::Keyword(Keyword::True) => Ok(self.leaf(ExprKind::Number(1))),
            TokenKind::Keyword(Keyword::False) => Ok(self.leaf(ExprKind::Number(0))),
            TokenKind::Mark("(") => {
                self.advance();
                let mut inner = self.climb(1)?;
                self.expect_mark(")")?;
                inner.span = span.to(self.last_span());
                Ok(inner)
            }
            TokenKind::Name(text) => {
                self.advance();
                self.named(Ident { text, span })
            }
            _ => Err(self.expected("an expression")),
        }
    }

    fn leaf(&mut self, kind: ExprKind) -> Expr {
        let span = self.span();
        self.advance();
        Expr { kind, span, height: 1 }
    }

    /// What follows a name: an index, `.location`, `->variable`, or an instance's key and one of these.
    fn named(&mut self, name: Ident) -> Parsed<Expr> {
        let start = name.span;
        let mut key = None;
        if self.at_mark("(") {
            self.advance();
            key = Some(Box::new(self.climb(1)?));
            self.expect_mark(")")?;
            if !self.at_mark(".") && !self.at_mark("->") {
                return Err(self.expected("`.` and a location, or `->` and a variable, of this instance"));
            }
        }
        if self.take_mark(".") {
            let location = self.expect_name("the name of a location")?;
            let height = 1 + key.as_ref().map_or(0, |key| key.height);
            let span = start.to(location.span);
            return self.bounded(ExprKind::Location(ProcessRef { name, key }, location), span, height);
        }
        if self.take_mark("->") {
            let variable = self.expect_name("the name of a variable")?;
            let index = if self.take_mark("[") {
                let index = self.climb(1)?;
                self.expect_mark("]")?;
                Some(Box::new(index))
            } else {
                None
            };
            let below =
                key.as_ref().map_or(0, |key| key.height).max(index.as_ref().map_or(0, |index| index.height));
            let span = start.to(self.last_span());
            return self.bounded(
                ExprKind::Foreign(ProcessRef { name, key }, variable, index),
                span,
                below + 1,
            );
        }
        if self.take_mark("[") {
            let index = self.climb(1)?;
            self.expect_mark("]")?;
            let height = index.height + 1;
            let span = start.to(self.last_span());
            return self.bounded(ExprKind::Index(name, Box::new(index)), span, height);
        }
        Ok(Expr { kind: ExprKind::Name(name.text), span: start, height: 1 })
    }
}
