//! Expressions, by operator precedence.
//!
//! From loosest to tightest: `? :`, `->`, `||`, `&&`, `|`, `^`, `&`, `!`, comparisons, shifts, sums, products and
//! signs, `~`. Comparisons, `->` and `? :` do not chain.

use super::{Parsed, Parser};
use crate::Diagnostic;
use crate::murphi::ast::{
    Designator, Expr, ExprKind, Operator, Picker, Prefix, Quantified, Quantifier, QuantifierValues, Step,
};
use crate::murphi::lex;
use crate::murphi::token::{Keyword, Kind};

const CONDITIONAL: u8 = 0;
const IMPLIES: u8 = 1;
const NOT: u8 = 7;
const COMPARISON: u8 = 8;
const PRODUCT: u8 = 11;
const BIT_NOT: u8 = 12;

/// The operator a token stands for, and how tightly it binds.
fn operator(kind: Kind) -> Option<(Operator, u8)> {
    Some(match kind {
        Kind::Arrow => (Operator::Implies, IMPLIES),
        Kind::PipePipe => (Operator::Or, 2),
        Kind::AmpAmp => (Operator::And, 3),
        Kind::Pipe => (Operator::Pipe, 4),
        Kind::Caret => (Operator::Xor, 5),
        Kind::Amp => (Operator::Amp, 6),
        Kind::Less => (Operator::Less, COMPARISON),
        Kind::LessEqual => (Operator::LessEqual, COMPARISON),
        Kind::Greater => (Operator::Greater, COMPARISON),
        Kind::GreaterEqual => (Operator::GreaterEqual, COMPARISON),
        Kind::Equal => (Operator::Equal, COMPARISON),
        Kind::NotEqual => (Operator::NotEqual, COMPARISON),
        Kind::ShiftLeft => (Operator::ShiftLeft, 9),
        Kind::ShiftRight => (Operator::ShiftRight, 9),
        Kind::Plus => (Operator::Add, 10),
        Kind::Minus => (Operator::Subtract, 10),
        Kind::Star => (Operator::Multiply, PRODUCT),
        Kind::Slash => (Operator::Divide, PRODUCT),
        Kind::Percent => (Operator::Remainder, PRODUCT),
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.binding(CONDITIONAL))
    }

    /// An expression; where it is broken, skips to a token that `stop` likes and stands in for it.
    pub(super) fn expr_until(&mut self, stop: impl Fn(Kind) -> bool) -> Expr {
        let start = self.span();
        self.expr().unwrap_or_else(|_| {
            self.skip_to(stop);
            Expr { kind: ExprKind::Refused, span: self.since(start) }
        })
    }

    /// An expression whose operators bind at least as tightly as `least`.
    fn binding(&mut self, least: u8) -> Parsed<Expr> {
        let start = self.span();
        let mut left = self.prefixed()?;
        let mut closed = u8::MAX;
        loop {
            if self.is(Kind::Question) && least == CONDITIONAL {
                self.chaining(CONDITIONAL, closed, "? :")?;
                self.advance();
                let yes = self.expr()?;
                self.expect(Kind::Colon)?;
                let no = self.binding(IMPLIES)?;
                closed = CONDITIONAL;
                let kind = ExprKind::Conditional(Box::new(left), Box::new(yes), Box::new(no));
                left = Expr { kind, span: self.since(start) };
                continue;
            }
            let Some((first, level)) = operator(self.kind()) else { return Ok(left) };
            if level < least {
                return Ok(left);
            }
            let mut links = Vec::new();
            while let Some((operator, same)) = operator(self.kind())
                && same == level
            {
                if level == IMPLIES || level == COMPARISON {
                    self.chaining(level, closed, operator.text())?;
                    closed = level;
                }
                self.advance();
                links.push((operator, self.binding(level + 1)?));
            }
            debug_assert!(!links.is_empty(), "{first:?} was seen");
            left = Expr { kind: ExprKind::Chain(Box::new(left), links), span: self.since(start) };
        }
    }

    /// Refuses an operator of a level that was just closed: such operators do not chain.
    fn chaining(&mut self, level: u8, closed: u8, sign: &str) -> Parsed<()> {
        if level != closed {
            return Ok(());
        }
        let finding = Diagnostic::error(
            self.span(),
            format!("`{sign}` cannot follow another of its kind without parentheses"),
        )
        .help("write parentheses around the part that belongs together");
        Err(self.report(finding))
    }

    fn prefixed(&mut self) -> Parsed<Expr> {
        let (prefix, least) = match self.kind() {
            Kind::Not => (Prefix::Not, NOT),
            Kind::Minus => (Prefix::Negate, BIT_NOT),
            Kind::Plus => (Prefix::Plus, BIT_NOT),
            Kind::Tilde => (Prefix::BitNot, BIT_NOT),
            _ => return self.primary(),
        };
        let start = self.span();
        self.advance();
        let operand = self.nested(|p| p.binding(least))?;
        Ok(Expr { kind: ExprKind::Prefix(prefix, Box::new(operand)), span: self.since(start) })
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Number => ExprKind::Number(self.number()),
            Kind::OpenParen => {
                self.advance();
                let mut inner = self.expr()?;
                self.expect(Kind::CloseParen)?;
                inner.span = self.since(start);
                return Ok(inner);
            }
            Kind::Word(Keyword::Forall) => self.quantified(Quantified::ForAll)?,
            Kind::Word(Keyword::Exists) => self.quantified(Quantified::Exists)?,
            Kind::Word(Keyword::IsUndefined) => {
                self.advance();
                self.expect(Kind::OpenParen)?;
                let operand = self.expr()?;
                self.expect(Kind::CloseParen)?;
                ExprKind::IsUndefined(Box::new(operand))
            }
            Kind::Identifier if self.kind_after(1) == Kind::OpenParen => self.call()?,
            Kind::Identifier => ExprKind::Designator(self.designator()?),
            _ => return Err(self.expected("an expression")),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn number(&mut self) -> Option<i128> {
        let token = self.advance();
        let text = self.token_text(token);
        if !text.starts_with(|c: char| c.is_ascii_digit()) || text.contains('.') {
            // A placeholder or real number, reported by the lexer.
            return Some(0);
        }
        let value = lex::number_value(text);
        if value.is_none() {
            self.diagnostics.push(
                Diagnostic::error(token.span, "this number is too large").label("does not fit in 64 bits"),
            );
        } else if crate::text::literal::is_octal(text) && value != text.parse().ok() {
            let shown = value.unwrap_or(0);
            self.diagnostics.push(
                Diagnostic::warning(token.span, format!("a leading zero makes this number octal: {shown}"))
                    .help("leave out the zero if it was meant as a decimal number"),
            );
        }
        value
    }

    fn quantified(&mut self, which: Quantified) -> Parsed<ExprKind> {
        let start = self.span();
        self.advance();
        let quantifiers = self.quantifiers()?;
        self.expect_do();
        let body = self.expr()?;
        let (end, what) = match which {
            Quantified::ForAll => (Keyword::EndForall, "forall"),
            Quantified::Exists => (Keyword::EndExists, "exists"),
        };
        self.expect_end(&[end], what, start);
        Ok(ExprKind::Quantified(which, quantifiers, Box::new(body)))
    }

    /// `name(...)`: a call, or one of the built-ins whose names CMurphi reserves.
    fn call(&mut self) -> Parsed<ExprKind> {
        if self.is_soft_word("ismember") {
            self.advance();
            self.advance();
            let operand = self.expr()?;
            self.expect(Kind::Comma)?;
            let ty = self.type_expr()?;
            self.expect(Kind::CloseParen)?;
            return Ok(ExprKind::IsMember(Box::new(operand), Box::new(ty)));
        }
        if self.is_soft_word("multisetcount") {
            self.advance();
            return Ok(ExprKind::MultisetCount(Box::new(self.picker()?)));
        }
        let name = self.name("a function name")?;
        Ok(ExprKind::Call(name, self.arguments()?))
    }

    /// `(name: set, condition)`
    pub(super) fn picker(&mut self) -> Parsed<Picker> {
        self.expect(Kind::OpenParen)?;
        let name = self.name("a name for the position")?;
        self.expect(Kind::Colon)?;
        let set = self.designator()?;
        self.expect(Kind::Comma)?;
        let condition = self.expr()?;
        self.expect(Kind::CloseParen)?;
        Ok(Picker { name, set, condition })
    }

    /// `(expression, ...)`; a comma may stand after the last.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Kind::OpenParen)?;
        let mut arguments = Vec::new();
        while !self.is(Kind::CloseParen) && !self.at_end() {
            arguments.push(self.expr()?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        if !self.is(Kind::CloseParen) {
            return Err(self.expected("`,` or `)`"));
        }
        self.advance();
        Ok(arguments)
    }

    pub(super) fn designator(&mut self) -> Parsed<Designator> {
        let base = self.name("a variable")?;
        let start = base.span;
        let mut steps = Vec::new();
        loop {
            if self.eat(Kind::Dot) {
                steps.push(Step::Field(self.name("a field name")?));
            } else if self.is(Kind::OpenBracket) {
                let open = self.span();
                self.advance();
                let index = self.expr()?;
                self.expect(Kind::CloseBracket)?;
                steps.push(Step::Index(index, self.since(open)));
            } else {
                return Ok(Designator { base, steps, span: self.since(start) });
            }
        }
    }

    /// One or more quantifiers separated by semicolons.
    pub(super) fn quantifiers(&mut self) -> Parsed<Vec<Quantifier>> {
        let mut quantifiers = vec![self.quantifier()?];
        while self.eat_semicolons() {
            if !self.is(Kind::Identifier) {
                break;
            }
            quantifiers.push(self.quantifier()?);
        }
        Ok(quantifiers)
    }

    fn quantifier(&mut self) -> Parsed<Quantifier> {
        let name = self.name("a name to quantify over")?;
        let values = match self.kind() {
            Kind::Colon => {
                self.advance();
                QuantifierValues::Type(self.type_expr()?)
            }
            Kind::Assign => {
                self.advance();
                let from = self.expr()?;
                self.expect_word(Keyword::To);
                let to = self.expr()?;
                let by = if self.eat_word(Keyword::By) { Some(Box::new(self.expr()?)) } else { None };
                QuantifierValues::Steps(Box::new(from), Box::new(to), by)
            }
            _ => return Err(self.expected("`:` and a type, or `:=` and a first value")),
        };
        let span = self.since(name.span);
        Ok(Quantifier { name, values, span })
    }
}
