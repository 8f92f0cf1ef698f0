//! Text to tokens that still know their lines: what the preprocessor works on.

use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;
use std::rc::Rc;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word.
    Name,
    /// A whole number.
    Number,
    /// Text between double quotes, without them.
    Text,
    /// An operator or separator.
    Mark,
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// As it is written (numbers in decimal).
    pub text: Rc<str>,
    /// Where it stands; of an expanded macro: where the macro is used.
    pub span: Span,
    /// Whether it is the first of its line.
    pub first: bool,
    /// Whether white space stands before it.
    pub spaced: bool,
}

impl Token {
    /// Whether it is this operator or separator.
    pub fn is(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && &*self.text == mark
    }

    /// Whether it is this word.
    pub fn word(&self, word: &str) -> bool {
        self.kind == Kind::Name && &*self.text == word
    }
}

/// Longest first.
const MARKS: [&str; 44] = [
    "->", "::", "..", "!!", "??", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "##", "{", "}",
    "(", ")", "[", "]", "<", ">", "=", "!", "?", "+", "-", "*", "/", "%", "&", "|", "^", "~", ",", ";", ":",
    ".", "@", "#", "'", "$",
];

/// Cuts `text` into tokens, the end among them.
pub fn lex(text: &str, findings: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, first: true, spaced: false, tokens: Vec::new(), findings };
    lexer.run();
    lexer.tokens
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    first: bool,
    spaced: bool,
    tokens: Vec<Token>,
    findings: &'t mut Diagnostics,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            let start = self.at;
            if c == '\n' {
                self.at += 1;
                self.first = true;
                self.spaced = true;
            } else if c.is_whitespace() {
                self.at += c.len_utf8();
                self.spaced = true;
            } else if self.rest().starts_with("\\\n") || self.rest().starts_with("\\\r\n") {
                self.at += if self.rest().starts_with("\\\n") { 2 } else { 3 };
                self.spaced = true;
            } else if self.rest().starts_with("/*") {
                match self.rest()[2..].find("*/") {
                    Some(end) => self.at += 2 + end + 2,
                    None => {
                        self.error(start, start + 2, "a comment that does not end");
                        self.at = self.text.len();
                    }
                }
                self.spaced = true;
            } else if self.rest().starts_with("*/") {
                // Comments do not nest: SPIN passes over what is left where they seem to.
                self.at += 2;
                self.spaced = true;
            } else if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if c.is_ascii_alphabetic() || c == '_' {
                let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                self.at += self.rest().find(|c| !part(c)).unwrap_or(self.rest().len());
                self.push(Kind::Name, start, &self.text[start..self.at]);
            } else if c.is_ascii_digit() {
                self.number(start);
            } else if c == '"' {
                self.quoted(start);
            } else if c == '\'' && self.character(start) {
            } else if let Some(mark) = MARKS.iter().find(|mark| self.rest().starts_with(**mark)) {
                self.at += mark.len();
                self.push(Kind::Mark, start, mark);
            } else {
                self.at += c.len_utf8();
                self.error(start, self.at, &format!("`{}` means nothing here", c.escape_default()));
            }
        }
        self.first = true;
        self.push(Kind::End, self.at, "");
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, start: usize, text: &str) {
        let span = Span::new(start, self.at);
        self.tokens.push(Token { kind, text: text.into(), span, first: self.first, spaced: self.spaced });
        (self.first, self.spaced) = (false, false);
    }

    fn error(&mut self, start: usize, end: usize, message: &str) {
        self.findings.push(Diagnostic::error(Span::new(start, end), message));
    }

    fn number(&mut self, start: usize) {
        let hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        let digits = if hex { self.at + 2 } else { self.at };
        let part = |c: char| if hex { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
        self.at = digits + self.text[digits..].find(|c| !part(c)).unwrap_or(self.text.len() - digits);
        let value = i64::from_str_radix(&self.text[digits..self.at], if hex { 16 } else { 10 });
        match value {
            Ok(value) => self.push(Kind::Number, start, &value.to_string()),
            Err(_) => {
                self.error(start, self.at, "a number that hadal cannot read");
                self.push(Kind::Number, start, "0");
            }
        }
    }

    fn quoted(&mut self, start: usize) {
        self.at += 1;
        let from = self.at;
        loop {
            let mut rest = self.rest().chars();
            match rest.next() {
                Some('"') => break,
                Some('\\') => self.at += 1 + rest.next().map_or(0, char::len_utf8),
                None | Some('\n') => {
                    self.error(start, self.at, "text that does not end");
                    return self.push(Kind::Text, start, &self.text[from..self.at]);
                }
                Some(c) => self.at += c.len_utf8(),
            }
        }
        self.at += 1;
        self.push(Kind::Text, start, &self.text[from..self.at - 1]);
    }

    /// A character between single quotes is a number.
    fn character(&mut self, start: usize) -> bool {
        let mut rest = self.rest()[1..].chars();
        let (value, length) = match rest.next() {
            Some('\\') => match rest.next() {
                Some('n') => (10, 2),
                Some('t') => (9, 2),
                Some('r') => (13, 2),
                Some('0') => (0, 2),
                Some(c) => (c as u32, 1 + c.len_utf8()),
                None => return false,
            },
            Some(c) => (c as u32, c.len_utf8()),
            None => return false,
        };
        if rest.next() != Some('\'') {
            return false;
        }
        self.at += length + 2;
        self.push(Kind::Number, start, &value.to_string());
        true
    }
}
