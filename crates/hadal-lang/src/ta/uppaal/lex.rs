//! Tokens of UPPAAL's language. In XML, `&lt;` and its like stand for one character: spans still point at the file's text.

use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(i64),
    Word(String),
    Sign(&'static str),
    End,
}

/// A token and where it stands.
pub(super) type Placed = (Token, Span);

const SIGNS: [&str; 52] = [
    "<<=", ">>=", "-->", "E<>", "A[]", "A<>", "E[]", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
    "--", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "->", "<?", ">?", "(", ")", "[", "]", "{",
    "}", ",", ";", ":", "?", "!", "<", ">", "=", "+", "-", "*", "/", "%", "&", "|", "^", "'",
];

/// Whether entities of XML are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Plain,
    Xml,
}

/// A piece of the source: its text and where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) markup: Markup,
}

impl Piece<'_> {
    /// Its characters, each with the bytes it takes.
    fn characters(&self) -> Vec<(char, usize, usize)> {
        const ENTITIES: [(&str, char); 5] =
            [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"'), ("&apos;", '\'')];
        let mut all = Vec::new();
        let mut at = 0;
        while let Some(c) = self.text[at..].chars().next() {
            let entity = (self.markup == Markup::Xml)
                .then(|| ENTITIES.iter().find(|(name, _)| self.text[at..].starts_with(name)))
                .flatten();
            let (c, length) = entity.map_or((c, c.len_utf8()), |(name, c)| (*c, name.len()));
            all.push((c, self.start + at, self.start + at + length));
            at += length;
        }
        all
    }

    /// Its text as a person reads it.
    pub(super) fn decoded(&self) -> String {
        self.characters().into_iter().map(|(c, ..)| c).collect()
    }
}

/// All tokens of a piece, with an end.
pub(super) fn tokens(piece: Piece, findings: &mut Diagnostics) -> Vec<Placed> {
    let text = piece.characters();
    let mut all = Vec::new();
    let mut at = 0;
    let is = |at: usize, pattern: &str| {
        pattern.chars().enumerate().all(|(n, c)| text.get(at + n).is_some_and(|(it, ..)| *it == c))
    };
    while at < text.len() {
        let (c, start, _) = text[at];
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        if is(at, "//") {
            while at < text.len() && text[at].0 != '\n' {
                at += 1;
            }
            continue;
        }
        if is(at, "/*") {
            let begun = at;
            at += 2;
            while at < text.len() && !is(at, "*/") {
                at += 1;
            }
            if at >= text.len() {
                findings.push(Diagnostic::error(
                    Span::new(text[begun].1, text[begun].2),
                    "the comment does not end",
                ));
            }
            at += 2;
            continue;
        }
        let begun = at;
        let token = if c.is_ascii_digit() {
            while at < text.len() && text[at].0.is_ascii_digit() {
                at += 1;
            }
            let digits: String = text[begun..at].iter().map(|(c, ..)| *c).collect();
            digits.parse().ok().map(Token::Number)
        } else if c.is_alphabetic() || c == '_' {
            let temporal = SIGNS[3..7].iter().find(|sign| is(at, sign));
            if let Some(sign) = temporal {
                at += sign.len();
                Some(Token::Sign(sign))
            } else {
                while at < text.len() && (text[at].0.is_alphanumeric() || text[at].0 == '_') {
                    at += 1;
                }
                Some(Token::Word(text[begun..at].iter().map(|(c, ..)| *c).collect()))
            }
        } else if c == '.' {
            at += 1;
            Some(Token::Sign("."))
        } else {
            match SIGNS.iter().find(|sign| is(at, sign)) {
                Some(sign) => {
                    at += sign.len();
                    Some(Token::Sign(sign))
                }
                None => {
                    at += 1;
                    None
                }
            }
        };
        let span = Span::new(start, text[at - 1].2);
        match token {
            Some(token) => all.push((token, span)),
            None => findings.push(Diagnostic::error(span, "this is no number, name or operator")),
        }
    }
    let end = piece.start + piece.text.len();
    all.push((Token::End, Span::new(end, end)));
    all
}
