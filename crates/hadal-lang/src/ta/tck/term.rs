//! Expressions and statements of TChecker.

use super::declare::Piece;
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::{BinaryOp, Span, UnaryOp};

/// Nesting beyond this is refused.
const MAX_DEPTH: usize = 100;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub(super) kind: TermKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TermKind {
    Number(i64),
    Name(String),
    Index(String, Box<Term>),
    Unary(UnaryOp, Box<Term>),
    Binary(BinaryOp, Box<Term>, Box<Term>),
    If(Box<Term>, Box<Term>, Box<Term>),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Command {
    pub(super) kind: CommandKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum CommandKind {
    Nothing,
    Assign(Term, Term),
    If(Term, Vec<Command>, Vec<Command>),
    While(Term, Vec<Command>),
    /// A local with its size or its value.
    Local {
        name: String,
        size: Option<Term>,
        value: Option<Term>,
    },
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i64),
    Word(String),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 23] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "%", "!", "(", ")", "[", "]", ";",
    ",", "?", ".",
];

fn tokens(piece: Piece, findings: &mut Diagnostics) -> Vec<(Token, Span)> {
    let (text, mut at, mut all) = (piece.text, 0, Vec::new());
    while at < text.len() {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if first == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (token, length) = if first.is_ascii_digit() {
            match rest[..word].parse() {
                Ok(number) => (Some(Token::Number(number)), word),
                Err(_) => (None, word),
            }
        } else if word > 0 {
            (Some(Token::Word(rest[..word].to_owned())), word)
        } else {
            match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Some(Token::Sign(sign)), sign.len()),
                None => (None, first.len_utf8()),
            }
        };
        let span = Span::new(piece.start + at, piece.start + at + length);
        match token {
            Some(token) => all.push((token, span)),
            None => findings.push(Diagnostic::error(span, "this is no number, name or operator")),
        }
        at += length;
    }
    all.push((Token::End, Span::new(piece.start + text.len(), piece.start + text.len())));
    all
}

struct Reader<'f> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
    findings: &'f mut Diagnostics,
}

/// Reads an expression; `None` where it was refused.
pub(super) fn term(piece: Piece, findings: &mut Diagnostics) -> Option<Term> {
    let tokens = tokens(piece, findings);
    let mut reader = Reader { tokens, at: 0, depth: 0, findings };
    let term = reader.binary(0)?;
    reader.end()?;
    Some(term)
}

/// Reads statements; `None` where they were refused.
pub(super) fn commands(piece: Piece, findings: &mut Diagnostics) -> Option<Vec<Command>> {
    let tokens = tokens(piece, findings);
    let mut reader = Reader { tokens, at: 0, depth: 0, findings };
    let commands = reader.block()?;
    reader.end()?;
    Some(commands)
}

const LEVELS: [&[(&str, BinaryOp)]; 5] = [
    &[("||", BinaryOp::Or)],
    &[("&&", BinaryOp::And)],
    &[
        ("==", BinaryOp::Equal),
        ("!=", BinaryOp::NotEqual),
        ("<=", BinaryOp::LessEqual),
        (">=", BinaryOp::GreaterEqual),
        ("<", BinaryOp::Less),
        (">", BinaryOp::Greater),
    ],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
    &[("*", BinaryOp::Multiply), ("/", BinaryOp::Divide), ("%", BinaryOp::Remainder)],
];

impl Reader<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> (Token, Span) {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(it) if *it == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(it) if it == word)
    }

    fn refuse<T>(&mut self, expected: &str) -> Option<T> {
        let found = match self.peek() {
            Token::Number(number) => format!("`{number}`"),
            Token::Word(word) => format!("`{word}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "end of file".into(),
        };
        let label = format!("expected {expected}");
        self.findings.push(Diagnostic::error(self.span(), format!("unexpected {found}")).label(label));
        None
    }

    fn expect(&mut self, sign: &str) -> Option<Span> {
        if self.is(sign) { Some(self.next().1) } else { self.refuse(&format!("`{sign}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Option<Span> {
        if self.is_word(word) { Some(self.next().1) } else { self.refuse(&format!("`{word}`")) }
    }

    fn end(&mut self) -> Option<()> {
        if *self.peek() == Token::End { Some(()) } else { self.refuse("an operator or the end") }
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

    fn binary(&mut self, level: usize) -> Option<Term> {
        let Some(signs) = LEVELS.get(level) else { return self.nested(Self::unary) };
        let mut left = self.binary(level + 1)?;
        while let Some((_, op)) = signs.iter().find(|(sign, _)| self.is(sign)) {
            self.next();
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = Term { kind: TermKind::Binary(*op, Box::new(left), Box::new(right)), span };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Term> {
        let start = self.span();
        let op = match self.peek() {
            Token::Sign("-") => Some(UnaryOp::Negate),
            Token::Sign("!") => Some(UnaryOp::Not),
            _ => None,
        };
        if let Some(op) = op {
            self.next();
            let of = self.nested(Self::unary)?;
            let span = start.to(of.span);
            return Some(Term { kind: TermKind::Unary(op, Box::new(of)), span });
        }
        match self.peek().clone() {
            Token::Sign("(") => {
                self.next();
                let mut inside = self.nested(|reader| reader.binary(0))?;
                inside.span = start.to(self.expect(")")?);
                Some(inside)
            }
            Token::Number(number) => {
                let (_, span) = self.next();
                Some(Term { kind: TermKind::Number(number), span })
            }
            Token::Word(word) if word == "if" => {
                self.next();
                let condition = self.nested(|reader| reader.binary(0))?;
                self.expect_word("then")?;
                let yes = self.nested(|reader| reader.binary(0))?;
                self.expect_word("else")?;
                let no = self.nested(|reader| reader.binary(0))?;
                let span = start.to(no.span);
                Some(Term { kind: TermKind::If(Box::new(condition), Box::new(yes), Box::new(no)), span })
            }
            Token::Word(word) => {
                self.next();
                if !self.is("[") {
                    return Some(Term { kind: TermKind::Name(word), span: start });
                }
                self.next();
                let index = self.nested(|reader| reader.binary(0))?;
                let span = start.to(self.expect("]")?);
                Some(Term { kind: TermKind::Index(word, Box::new(index)), span })
            }
            _ => self.refuse("a number, a name or `(`"),
        }
    }

    fn block(&mut self) -> Option<Vec<Command>> {
        let mut all = Vec::new();
        loop {
            while self.is(";") {
                self.next();
            }
            if *self.peek() == Token::End || self.is_word("end") || self.is_word("else") {
                return Some(all);
            }
            all.push(self.nested(Self::command)?);
            if !self.is(";") {
                return Some(all);
            }
        }
    }

    fn command(&mut self) -> Option<Command> {
        let start = self.span();
        let kind = match self.peek() {
            Token::Word(word) if word == "nop" => {
                self.next();
                CommandKind::Nothing
            }
            Token::Word(word) if word == "if" => {
                self.next();
                let condition = self.binary(0)?;
                self.expect_word("then")?;
                let yes = self.block()?;
                let mut no = Vec::new();
                if self.is_word("else") {
                    self.next();
                    no = self.block()?;
                }
                self.expect_word("end")?;
                CommandKind::If(condition, yes, no)
            }
            Token::Word(word) if word == "while" => {
                self.next();
                let condition = self.binary(0)?;
                self.expect_word("do")?;
                let body = self.block()?;
                self.expect_word("end")?;
                CommandKind::While(condition, body)
            }
            Token::Word(word) if word == "local" => {
                self.next();
                self.local()?
            }
            _ => {
                let target = self.unary()?;
                self.expect("=")?;
                CommandKind::Assign(target, self.binary(0)?)
            }
        };
        let end = self.tokens[self.at.saturating_sub(1)].1;
        Some(Command { kind, span: start.to(end) })
    }

    fn local(&mut self) -> Option<CommandKind> {
        let Token::Word(name) = self.peek().clone() else { return self.refuse("a name") };
        self.next();
        let (mut size, mut value) = (None, None);
        if self.is("[") {
            self.next();
            size = Some(self.binary(0)?);
            self.expect("]")?;
        }
        if self.is("=") {
            self.next();
            value = Some(self.binary(0)?);
        }
        Some(CommandKind::Local { name, size, value })
    }
}
