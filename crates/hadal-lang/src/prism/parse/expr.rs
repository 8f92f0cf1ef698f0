//! Expressions, loosest operator first: `?:`, `=>`, `<=>`, `|`, `&`, `!`, `= !=`, `< <= >= >`, `+ -`, `* /`, `-x`.

use super::super::ast::{Expr, Kind as E, Op, Path};
use super::super::lex::Kind;
use super::{Parsed, Parser, Text, balanced};
use hadal_system::Span;
use hadal_system::rows::Rational;
use num_traits::{CheckedMul, Pow};

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|p| {
            let start = p.span();
            let condition = p.implies()?;
            if !p.take_sign("?") {
                return Ok(condition);
            }
            let then = p.expr()?;
            p.expect(":")?;
            let otherwise = p.expr()?;
            let kind = E::If(Box::new(condition), Box::new(then), Box::new(otherwise));
            Ok(Expr { kind, span: p.since(start) })
        })
    }

    fn implies(&mut self) -> Parsed<Expr> {
        let mut left = self.iff()?;
        while self.take_sign("=>") {
            let right = self.iff()?;
            left = binary(Op::Implies, left, right);
        }
        Ok(left)
    }

    fn iff(&mut self) -> Parsed<Expr> {
        let mut left = self.chain("|", Op::Or)?;
        while self.take_sign("<=>") {
            let right = self.chain("|", Op::Or)?;
            left = binary(Op::Iff, left, right);
        }
        Ok(left)
    }

    /// A chain of `|`, or of `&` inside it.
    fn chain(&mut self, sign: &'static str, op: Op) -> Parsed<Expr> {
        let mut operands = Vec::new();
        loop {
            operands.push(if op == Op::Or { self.chain("&", Op::And)? } else { self.not()? });
            if !self.take_sign(sign) {
                break;
            }
        }
        match balanced(operands, &|l, r| binary(op, l, r)) {
            Some(expr) => Ok(expr),
            None => self.wrong("an expression"),
        }
    }

    fn not(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if !self.take_sign("!") {
            return self.equality();
        }
        self.deeper(|p| {
            let operand = p.not()?;
            Ok(Expr { kind: E::Not(Box::new(operand)), span: p.since(start) })
        })
    }

    fn equality(&mut self) -> Parsed<Expr> {
        let mut left = self.relation()?;
        loop {
            let op = match self.kind() {
                Kind::Sign("=") => Op::Equal,
                Kind::Sign("!=") => Op::NotEqual,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.relation()?;
            left = binary(op, left, right);
        }
    }

    fn relation(&mut self) -> Parsed<Expr> {
        let mut left = self.sum()?;
        loop {
            let op = match self.kind() {
                Kind::Sign("<") => Op::Less,
                Kind::Sign("<=") => Op::LessEqual,
                Kind::Sign(">") => Op::Greater,
                Kind::Sign(">=") => Op::GreaterEqual,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.sum()?;
            left = binary(op, left, right);
        }
    }

    /// Sums of many terms become trees of little depth; differences stay as they are written.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        let mut terms = vec![self.product()?];
        loop {
            let subtracts = match self.kind() {
                Kind::Sign("+") => false,
                Kind::Sign("-") => true,
                _ => break,
            };
            self.advance();
            let right = self.product()?;
            if subtracts {
                let left = balanced(std::mem::take(&mut terms), &|l, r| binary(Op::Add, l, r));
                terms = match left {
                    Some(left) => vec![binary(Op::Subtract, left, right)],
                    None => vec![right],
                };
            } else {
                terms.push(right);
            }
        }
        match balanced(terms, &|l, r| binary(Op::Add, l, r)) {
            Some(expr) => Ok(expr),
            None => self.wrong("an expression"),
        }
    }

    fn product(&mut self) -> Parsed<Expr> {
        let mut left = self.signed()?;
        loop {
            let op = match self.kind() {
                Kind::Sign("*") => Op::Multiply,
                Kind::Sign("/") => Op::Divide,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.signed()?;
            left = binary(op, left, right);
        }
    }

    fn signed(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if !self.take_sign("-") {
            return self.primary();
        }
        self.deeper(|p| {
            let operand = p.signed()?;
            Ok(Expr { kind: E::Negate(Box::new(operand)), span: p.since(start) })
        })
    }

    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.kind().clone() {
            Kind::Number(text) => {
                self.advance();
                match literal(&text) {
                    Some(kind) => kind,
                    None => return self.error(start, "this number does not fit"),
                }
            }
            Kind::Text(text) => {
                self.advance();
                E::Label(text)
            }
            Kind::Sign("(") => {
                self.advance();
                let kind = match self.what {
                    Text::Properties => match self.path()? {
                        Path::State(inner) => inner.kind,
                        path => E::Path(Box::new(path)),
                    },
                    _ => self.expr()?.kind,
                };
                self.expect(")")?;
                return Ok(Expr { kind, span: self.since(start) });
            }
            Kind::Name(name) if self.what == Text::Properties && self.begins_operator(&name) => {
                return self.operator(&name);
            }
            Kind::Name(name) => {
                self.advance();
                match name.as_str() {
                    "true" => E::Bool(true),
                    "false" => E::Bool(false),
                    "func" if self.take_sign("(") => {
                        let (function, _) = self.name()?;
                        self.expect(",")?;
                        let arguments = self.arguments()?;
                        E::Call(function, arguments)
                    }
                    _ if self.take_sign("(") => E::Call(name, self.arguments()?),
                    _ => E::Name(name),
                }
            }
            _ => return self.wrong("an expression"),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// Arguments up to and with the closing parenthesis.
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        loop {
            list.push(self.expr()?);
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(list)
    }
}

pub(super) fn binary(op: Op, left: Expr, right: Expr) -> Expr {
    let span: Span = left.span.to(right.span);
    Expr { kind: E::Binary(op, Box::new(left), Box::new(right)), span }
}

/// A number as it is written, exactly.
pub(in super::super) fn literal(text: &str) -> Option<E> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(E::Int);
    }
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let part = part.trim_end_matches('0');
    let digits: i128 = format!("0{whole}{part}").parse().ok()?;
    let power = exponent.checked_sub(i32::try_from(part.len()).ok()?)?;
    if power.unsigned_abs() > 37 {
        return None;
    }
    let scale = Rational::from_integer(Pow::pow(10i128, power.unsigned_abs()));
    let value = Rational::from_integer(digits);
    Some(E::Real(if power < 0 { value / scale } else { value.checked_mul(&scale)? }))
}
