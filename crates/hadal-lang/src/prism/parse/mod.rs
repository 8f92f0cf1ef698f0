//! Tokens to [`File`]: recursive descent; after a mistake it goes on behind the next semicolon.

mod expr;
mod model;
mod property;

pub(super) use expr::literal;

use super::ast::{Expr, File};
use super::lex::{Kind, Token, lex};
use crate::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// How deep parentheses and operators may nest.
const MAX_DEPTH: u32 = 200;
/// After this many findings the parser gives up.
const MAX_FINDINGS: usize = 50;

/// What kind of text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// A model.
    Model,
    /// A list of questions, with constants and labels of its own.
    Properties,
}

/// Reads a text; what cannot be read is reported and left out.
pub fn parse(text: &str, what: Text, diagnostics: &mut Diagnostics) -> File {
    let tokens = lex(text, diagnostics);
    let mut parser = Parser { tokens, at: 0, depth: 0, what, diagnostics };
    let mut file = File::default();
    match what {
        Text::Model => parser.model(&mut file),
        Text::Properties => parser.properties(&mut file),
    }
    file
}

/// A mistake was reported; the caller gives up what it was reading.
#[derive(Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'d> {
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    what: Text,
    diagnostics: &'d mut Diagnostics,
}

impl Parser<'_> {
    fn kind(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    fn ahead(&self, n: usize) -> &Kind {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + n).min(last)].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The end of the token before.
    fn since(&self, start: Span) -> Span {
        start.to(self.tokens[self.at.saturating_sub(1)].span)
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn ended(&self) -> bool {
        *self.kind() == Kind::End || self.diagnostics.list.len() > MAX_FINDINGS
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.kind(), Kind::Sign(s) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), Kind::Name(name) if name == word)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take_sign(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { self.wrong(&format!("`{word}`")) }
    }

    fn name(&mut self) -> Parsed<(String, Span)> {
        match self.kind() {
            Kind::Name(name) => {
                let found = (name.clone(), self.span());
                self.advance();
                Ok(found)
            }
            _ => self.wrong("a name"),
        }
    }

    fn quoted(&mut self) -> Parsed<(String, Span)> {
        match self.kind() {
            Kind::Text(text) => {
                let found = (text.clone(), self.span());
                self.advance();
                Ok(found)
            }
            _ => self.wrong("a name in double quotes"),
        }
    }

    /// Reports that something else was expected here.
    fn wrong<T>(&mut self, expected: &str) -> Parsed<T> {
        let found = match self.kind() {
            Kind::Name(name) => format!("`{name}`"),
            Kind::Number(number) => format!("`{number}`"),
            Kind::Text(text) => format!("\"{text}\""),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::End => "the end of the text".to_owned(),
        };
        let span = self.span();
        self.diagnostics.push(
            Diagnostic::error(span, format!("{found} was not expected here"))
                .label(format!("expected {expected}")),
        );
        Err(Reported)
    }

    fn error<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.diagnostics.push(Diagnostic::error(span, message));
        Err(Reported)
    }

    /// Runs `step` one level deeper.
    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return self.error(span, format!("this nests deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    /// Goes on behind the next semicolon, or before a word that begins or ends a part.
    fn recover(&mut self, stops: &[&str]) {
        while *self.kind() != Kind::End {
            if self.take_sign(";") {
                return;
            }
            if matches!(self.kind(), Kind::Name(name) if stops.contains(&name.as_str())) {
                return;
            }
            self.advance();
        }
    }
}

/// Combines operands of an associative operator into a tree of little depth.
fn balanced(mut operands: Vec<Expr>, combine: &impl Fn(Expr, Expr) -> Expr) -> Option<Expr> {
    if operands.len() > 1 {
        let right = operands.split_off(operands.len() / 2);
        return Some(combine(balanced(operands, combine)?, balanced(right, combine)?));
    }
    operands.pop()
}
