//! Expressions, with the priorities of SPIN's grammar.

use super::super::ast::{Argument, Expr, ExprKind, Place, Receive};
use super::{Parsed, Parser};
use crate::cpp::OPERATORS;
use crate::cpp::lex::Kind;

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| parser.level(0))
    }

    fn level(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.peek().is(operator)) {
            // A receive between angle brackets ends with `>`.
            if *operator == ">" && self.angle > 0 {
                break;
            }
            self.take();
            let right = self.level(level + 1)?;
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        for (mark, operator) in [("!", '!'), ("-", '-'), ("~", '~')] {
            if token.is(mark) {
                self.take();
                return self.deeper(|parser| {
                    let of = parser.unary()?;
                    let span = token.span.to(of.span);
                    Ok(Expr { kind: ExprKind::Unary(operator, Box::new(of)), span })
                });
            }
        }
        if token.is("!!") {
            self.take();
            return self.deeper(|parser| {
                let of = parser.unary()?;
                let span = token.span.to(of.span);
                let once = Expr { kind: ExprKind::Unary('!', Box::new(of)), span };
                Ok(Expr { kind: ExprKind::Unary('!', Box::new(once)), span })
            });
        }
        self.primary()
    }

    /// Something that needs no operator around it.
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        let number = |value| Ok(Expr { kind: ExprKind::Number(value), span: token.span });
        match token.kind {
            Kind::Number => {
                self.take();
                // Only numbers that fit are made.
                number(token.text.parse().unwrap_or(0))
            }
            Kind::Mark if token.is("(") => {
                self.take();
                let angle = std::mem::take(&mut self.angle);
                let inner = self.expression();
                let inner = match inner {
                    Ok(condition) if self.eat("->") => {
                        let yes = self.expression()?;
                        self.expect(":")?;
                        let no = self.expression()?;
                        let kind = ExprKind::Choice(Box::new(condition), Box::new(yes), Box::new(no));
                        Ok(Expr { kind, span: token.span })
                    }
                    inner => inner,
                };
                self.angle = angle;
                let mut inner = inner?;
                let end = self.expect(")")?;
                inner.span = token.span.to(end);
                Ok(inner)
            }
            Kind::Name => self.word(),
            _ => self.expected("an expression"),
        }
    }

    fn word(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        let done = |kind| Ok(Expr { kind, span: token.span });
        match &*token.text {
            "true" | "skip" => {
                self.take();
                done(ExprKind::Number(1))
            }
            "false" => {
                self.take();
                done(ExprKind::Number(0))
            }
            "timeout" => {
                self.take();
                done(ExprKind::Timeout)
            }
            "np_" => {
                self.take();
                done(ExprKind::NonProgress)
            }
            "run" => self.run(),
            "c_expr" | "c_code" => self.embedded(),
            "len" | "empty" | "nempty" | "full" | "nfull" if self.ahead(1).is("(") => {
                let word = ["len", "empty", "nempty", "full", "nfull"]
                    .into_iter()
                    .find(|word| token.word(word))
                    .unwrap_or("len");
                self.take();
                self.take();
                let place = self.place()?;
                let end = self.expect(")")?;
                Ok(Expr { kind: ExprKind::Channel(word, place), span: token.span.to(end) })
            }
            "enabled" | "pc_value" | "get_priority" | "eval" if self.ahead(1).is("(") => {
                let word = ["enabled", "pc_value", "get_priority", "eval"]
                    .into_iter()
                    .find(|word| token.word(word))
                    .unwrap_or("eval");
                self.take();
                self.take();
                let of = self.expression()?;
                let end = self.expect(")")?;
                if word == "eval" {
                    return Ok(of);
                }
                Ok(Expr { kind: ExprKind::Process(word, Box::new(of)), span: token.span.to(end) })
            }
            _ => self.reference(),
        }
    }

    fn run(&mut self) -> Parsed<Expr> {
        let word = self.take();
        let name = self.name("the name of a process")?;
        self.expect("(")?;
        let arguments = self.list(")")?;
        let end = self.expect(")")?;
        let priority = match self.eat_word("priority") {
            true => Some(Box::new(self.primary()?)),
            false => None,
        };
        Ok(Expr { kind: ExprKind::Run { name, arguments, priority }, span: word.span.to(end) })
    }

    /// Expressions between commas, up to `close`.
    pub(super) fn list(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        if self.peek().is(close) {
            return Ok(list);
        }
        list.push(self.expression()?);
        while self.eat(",") {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// A variable, a poll, or something of another process.
    fn reference(&mut self) -> Parsed<Expr> {
        let place = self.place()?;
        let span = place.span;
        let remote = |place: &Place| (place.name.clone(), place.index.clone());
        if self.eat("@") {
            let label = self.name("a label")?;
            let (process, pid) = remote(&place);
            let span = span.to(label.span);
            return Ok(Expr { kind: ExprKind::Label { process, pid, label }, span });
        }
        let plain = place.field.is_none();
        if plain && self.peek().is(":") && self.ahead(1).kind == Kind::Name && self.remote_follows(&place) {
            self.take();
            let (process, pid) = remote(&place);
            let of = self.place()?;
            let span = span.to(of.span);
            return Ok(Expr { kind: ExprKind::Remote { process, pid, place: of }, span });
        }
        let random = self.peek().is("??");
        if (random || self.peek().is("?")) && self.ahead(1).is("[") {
            self.take();
            self.take();
            let arguments = self.arguments("]")?;
            let end = self.expect("]")?;
            let receive = Receive { channel: place, arguments, random, keep: true };
            return Ok(Expr { kind: ExprKind::Poll(Box::new(receive)), span: span.to(end) });
        }
        Ok(Expr { kind: ExprKind::Place(place), span })
    }

    /// Whether `name :` begins a reference to another process's variable: the name is that of a process.
    fn remote_follows(&self, place: &Place) -> bool {
        place.index.is_some()
            || self.tree.proctypes.iter().any(|process| process.name.text == place.name.text)
    }

    /// A variable with indices and fields.
    pub(super) fn place(&mut self) -> Parsed<Place> {
        self.deeper(|parser| {
            let name = parser.name("a variable")?;
            let mut span = name.span;
            let index = match parser.peek().is("[") {
                true => {
                    parser.take();
                    let angle = std::mem::take(&mut parser.angle);
                    let index = parser.expression();
                    parser.angle = angle;
                    span = span.to(parser.expect("]")?);
                    Some(Box::new(index?))
                }
                false => None,
            };
            let field = match parser.peek().is(".") {
                true => {
                    parser.take();
                    let field = parser.place()?;
                    span = span.to(field.span);
                    Some(Box::new(field))
                }
                false => None,
            };
            Ok(Place { name, index, field, span })
        })
    }

    /// The arguments of a receive statement, up to `close`.
    pub(super) fn arguments(&mut self, close: &str) -> Parsed<Vec<Argument>> {
        let angle = std::mem::replace(&mut self.angle, usize::from(close == ">"));
        let mut list = Vec::new();
        // The whole list may stand in parentheses.
        let mut nested = self.peek().is("(") && self.is_parenthesised_list();
        if nested {
            self.take();
        }
        let mut failed = None;
        loop {
            match self.argument() {
                Ok(argument) => list.push(argument),
                Err(bad) => {
                    failed = Some(bad);
                    break;
                }
            }
            if self.eat(",") {
                continue;
            }
            // `type(field, field)` is another way to write `type, field, field`.
            if !nested && list.len() == 1 && self.eat("(") {
                nested = true;
                continue;
            }
            break;
        }
        self.angle = angle;
        if let Some(bad) = failed {
            return Err(bad);
        }
        if nested {
            self.expect(")")?;
        }
        Ok(list)
    }

    /// Whether the parenthesis here closes only after a comma.
    fn is_parenthesised_list(&self) -> bool {
        let mut depth = 0;
        for n in 0.. {
            let token = self.ahead(n);
            if token.is("(") {
                depth += 1;
            } else if token.is(")") {
                depth -= 1;
            } else if token.is(",") && depth == 1 {
                return true;
            }
            if depth == 0 || token.kind == Kind::End {
                break;
            }
        }
        false
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let token = self.peek().clone();
        if token.word("eval") {
            self.take();
            self.expect("(")?;
            let angle = std::mem::take(&mut self.angle);
            let value = self.expression();
            self.angle = angle;
            self.expect(")")?;
            return Ok(Argument::Match(value?));
        }
        if token.word("true") || token.word("false") || token.word("skip") {
            return Ok(Argument::Match(self.word()?));
        }
        if token.kind == Kind::Name {
            return Ok(Argument::Place(self.place()?));
        }
        Ok(Argument::Match(self.unary()?))
    }
}
