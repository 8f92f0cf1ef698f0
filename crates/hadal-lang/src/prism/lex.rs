//! Text to tokens. Never fails: a bad character is reported and skipped, so that the parser can go on.

use crate::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name or keyword.
    Name(String),
    /// A number as it is written.
    Number(String),
    /// Text in double quotes.
    Text(String),
    /// A sign.
    Sign(&'static str),
    /// The end.
    End,
}

/// Signs, longest first where one begins another.
const SIGNS: &[&str] = &[
    "<=>", "|||", "<-", "->", "=>", "..", "<=", ">=", "!=", "||", "=?", "?", ":", ";", ",", "(", ")", "[",
    "]", "{", "}", "+", "-", "*", "/", "<", ">", "=", "!", "&", "|", "'", "^",
];

/// The tokens of `text`, ended by one [`Kind::End`].
pub fn lex(text: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut bad = false;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if text[at..].starts_with("//") {
            at += text[at..].find('\n').unwrap_or(text.len() - at);
            continue;
        }
        if text[at..].starts_with("/*") {
            at += text[at..].find("*/").map_or(text.len() - at, |n| n + 2);
            continue;
        }
        let kind = if byte.is_ascii_alphabetic() || byte == b'_' {
            at += length(&bytes[at..], |b| b.is_ascii_alphanumeric() || b == b'_');
            Kind::Name(text[start..at].to_owned())
        } else if byte.is_ascii_digit() || (byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
        {
            at = number(bytes, at);
            Kind::Number(text[start..at].to_owned())
        } else if byte == b'"' {
            let inside = length(&bytes[at + 1..], |b| b != b'"' && b != b'\n');
            at += 1 + inside;
            let closed = bytes.get(at) == Some(&b'"');
            let content = text[start + 1..at].to_owned();
            at += usize::from(closed);
            if !closed {
                diagnostics.push(Diagnostic::error(Span::new(start, at), "this text has no closing quote"));
            }
            Kind::Text(content)
        } else if let Some(sign) = SIGNS.iter().find(|s| text[at..].starts_with(**s)) {
            at += sign.len();
            Kind::Sign(sign)
        } else {
            let c = text[at..].chars().next().unwrap_or(' ');
            at += c.len_utf8();
            if !bad {
                diagnostics
                    .push(Diagnostic::error(Span::new(start, at), format!("`{c}` has no meaning here")));
            }
            bad = true;
            continue;
        };
        bad = false;
        tokens.push(Token { kind, span: Span::new(start, at) });
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(text.len(), text.len()) });
    tokens
}

fn length(bytes: &[u8], inside: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&b| !inside(b)).unwrap_or(bytes.len())
}

/// Where the number that begins at `at` ends; `1..2` are two numbers.
fn number(bytes: &[u8], mut at: usize) -> usize {
    let digits = |at: usize| length(bytes.get(at..).unwrap_or(&[]), |b| b.is_ascii_digit());
    at += digits(at);
    if bytes.get(at) == Some(&b'.') && bytes.get(at + 1) != Some(&b'.') {
        at += 1;
        at += digits(at);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}
