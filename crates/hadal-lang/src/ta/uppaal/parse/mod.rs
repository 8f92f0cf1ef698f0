//! Expressions, statements and declarations of UPPAAL.

mod declare;
mod query;
mod term;

use super::ast::*;
use super::lex::{Piece, Placed, Token, tokens};
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::{BinaryOp, Span};

/// Nesting beyond this is refused.
const MAX_DEPTH: usize = 80;

const LEVELS: [&[(&str, BinaryOp)]; 10] = [
    &[("imply", BinaryOp::Implies)],
    &[("||", BinaryOp::Or), ("or", BinaryOp::Or)],
    &[("&&", BinaryOp::And), ("and", BinaryOp::And)],
    &[("|", BinaryOp::BitOr)],
    &[("^", BinaryOp::BitXor)],
    &[("&", BinaryOp::BitAnd)],
    &[("==", BinaryOp::Equal), ("!=", BinaryOp::NotEqual)],
    &[
        ("<=", BinaryOp::LessEqual),
        (">=", BinaryOp::GreaterEqual),
        ("<", BinaryOp::Less),
        (">", BinaryOp::Greater),
    ],
    &[("<<", BinaryOp::ShiftLeft), (">>", BinaryOp::ShiftRight)],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
];

const ASSIGNMENTS: [(&str, Option<BinaryOp>); 12] = [
    ("=", None),
    (":=", None),
    ("+=", Some(BinaryOp::Add)),
    ("-=", Some(BinaryOp::Subtract)),
    ("*=", Some(BinaryOp::Multiply)),
    ("/=", Some(BinaryOp::Divide)),
    ("%=", Some(BinaryOp::Remainder)),
    ("&=", Some(BinaryOp::BitAnd)),
    ("|=", Some(BinaryOp::BitOr)),
    ("^=", Some(BinaryOp::BitXor)),
    ("<<=", Some(BinaryOp::ShiftLeft)),
    (">>=", Some(BinaryOp::ShiftRight)),
];

pub(super) struct Parser<'f> {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
    pub(super) findings: &'f mut Diagnostics,
    /// Names of types known so far, to tell declarations from expressions.
    pub(super) types: Vec<String>,
}

impl<'f> Parser<'f> {
    pub(super) fn new(piece: Piece, types: &[String], findings: &'f mut Diagnostics) -> Self {
        let tokens = tokens(piece, findings);
        Parser { tokens, at: 0, depth: 0, findings, types: types.to_vec() }
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].0
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    pub(super) fn next(&mut self) -> Placed {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        match self.peek() {
            Token::Sign(it) => *it == sign,
            Token::Word(it) => it == sign,
            _ => false,
        }
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn refuse<T>(&mut self, expected: &str) -> Option<T> {
        let found = match self.peek() {
            Token::Number(number) => format!("`{number}`"),
            Token::Word(word) => format!("`{word}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "end of file".into(),
        };
        let diagnostic = Diagnostic::error(self.span(), format!("unexpected {found}"));
        self.findings.push(diagnostic.label(format!("expected {expected}")));
        None
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<Span> {
        if self.is(sign) { Some(self.next().1) } else { self.refuse(&format!("`{sign}`")) }
    }

    pub(super) fn is_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub(super) fn end(&mut self) -> Option<()> {
        if self.is_end() { Some(()) } else { self.refuse("an operator or the end") }
    }

    pub(super) fn word(&mut self) -> Option<(String, Span)> {
        match self.peek().clone() {
            Token::Word(word) => Some((word, self.next().1)),
            _ => self.refuse("a name"),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.findings.push(Diagnostic::error(self.span(), "nested too deeply"));
            return None;
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn command(&mut self) -> Option<Command> {
        self.nested(Self::command_here)
    }

    fn command_here(&mut self) -> Option<Command> {
        let start = self.span();
        let kind = if self.takes(";") {
            CommandKind::Empty
        } else if self.takes("{") {
            let types = self.types.len();
            let declarations = self.declarations()?;
            let mut all = Vec::new();
            while !self.is("}") && !self.is_end() {
                all.push(self.command()?);
            }
            self.expect("}")?;
            self.types.truncate(types);
            CommandKind::Block(declarations, all)
        } else if self.takes("if") {
            self.expect("(")?;
            let condition = self.term()?;
            self.expect(")")?;
            let yes = Box::new(self.command()?);
            let no = if self.takes("else") { Some(Box::new(self.command()?)) } else { None };
            CommandKind::If(condition, yes, no)
        } else if self.takes("while") {
            self.expect("(")?;
            let condition = self.term()?;
            self.expect(")")?;
            CommandKind::While(condition, Box::new(self.command()?))
        } else if self.takes("do") {
            let body = Box::new(self.command()?);
            self.expect("while")?;
            self.expect("(")?;
            let condition = self.term()?;
            self.expect(")")?;
            self.takes(";");
            CommandKind::Do(body, condition)
        } else if self.takes("for") {
            self.expect("(")?;
            if matches!(self.peek(), Token::Word(_)) && *self.peek_at(1) == Token::Sign(":") {
                let (name, _) = self.word()?;
                self.next();
                let ty = self.ty()?;
                self.expect(")")?;
                CommandKind::Each(name, ty, Box::new(self.command()?))
            } else {
                let mut parts = [None, None, None];
                for (n, close) in [";", ";", ")"].into_iter().enumerate() {
                    if !self.is(close) {
                        parts[n] = Some(self.term()?);
                    }
                    self.expect(close)?;
                }
                let [first, condition, step] = parts;
                CommandKind::For(first, condition, step, Box::new(self.command()?))
            }
        } else if self.takes("return") {
            let value = if self.is(";") { None } else { Some(self.term()?) };
            self.expect(";")?;
            CommandKind::Return(value)
        } else {
            let term = self.term()?;
            self.expect(";")?;
            CommandKind::Term(term)
        };
        Some(Command { kind, span: start.to(self.last_span()) })
    }

    /// `name : type, ...`
    pub(super) fn selections(&mut self) -> Option<Vec<(String, Type)>> {
        let mut all = Vec::new();
        while matches!(self.peek(), Token::Word(_)) {
            let (name, _) = self.word()?;
            self.expect(":")?;
            all.push((name, self.ty()?));
            if !self.takes(",") {
                break;
            }
        }
        Some(all)
    }

    /// `c!` or `c?`.
    pub(super) fn sync(&mut self) -> Option<(Term, bool)> {
        let channel = self.postfix()?;
        let sends = if self.takes("!") {
            true
        } else if self.takes("?") {
            false
        } else {
            return self.refuse("`!` or `?`");
        };
        Some((channel, sends))
    }

    /// Instances and the system line.
    pub(super) fn system(&mut self, document: &mut Document) -> Option<()> {
        loop {
            let declarations = self.declarations()?;
            document.declarations.extend(declarations);
            if self.takes("system") {
                break;
            }
            if self.is_end() {
                return self.refuse("`system`");
            }
            let (name, span) = self.word()?;
            if !(self.takes("=") || self.takes(":=")) {
                return self.refuse("`=`");
            }
            let (template, _) = self.word()?;
            self.expect("(")?;
            let mut arguments = Vec::new();
            while !self.is(")") {
                arguments.push(self.term()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(")")?;
            self.expect(";")?;
            document.instances.push(Instance { name, template, arguments, span });
        }
        loop {
            document.system.push(self.word()?);
            if self.is("<") {
                self.findings
                    .push(Diagnostic::error(self.span(), "priorities of processes are not supported"));
                return None;
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect(";")?;
        Some(())
    }
}
