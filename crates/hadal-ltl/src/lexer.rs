//! Cuts a formula's text into operators, brackets, and pieces of the model's language.

use crate::parse::{Atoms, ParseError};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Next,
    Always,
    Eventually,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Equivalent,
    Implies,
    Or,
    And,
    Until,
    Release,
    WeakUntil,
    StrongRelease,
}

impl Binary {
    pub(crate) fn is_temporal(self) -> bool {
        self.level() == 4
    }

    /// How tightly it binds.
    pub(crate) fn level(self) -> u32 {
        match self {
            Binary::Equivalent => 0,
            Binary::Implies => 1,
            Binary::Or => 2,
            Binary::And => 3,
            _ => 4,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Open,
    Close,
    Unary(Unary),
    Binary(Binary),
    Other,
}

impl Kind {
    pub(crate) fn is_temporal(self) -> bool {
        match self {
            Kind::Unary(unary) => unary != Unary::Not,
            Kind::Binary(binary) => binary.is_temporal(),
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) at: Range<usize>,
    /// Of an opening bracket: the token that closes it.
    pub(crate) closed_by: usize,
}

pub(crate) fn lex(text: &str, atoms: &dyn Atoms) -> Result<Vec<Token>, ParseError> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let rest = &text[at..];
        if is_word(first) {
            let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let range = at..at + length;
            let inside = ends_in_access(&text[..at]);
            let mut kinds = if inside { Vec::new() } else { word(&text[range.clone()]) };
            let is_letter = kinds.iter().any(|kind| kind.is_temporal()) && length <= 3;
            let is_declared = is_letter && atoms.declares(&text[range.clone()]);
            if is_declared && atoms.prefers_name(&text[range.clone()]) {
                kinds.clear();
            } else if is_declared {
                return Err(ParseError {
                    message: format!("`{}` is an operator here, and the model declares that name", &text[range.clone()]),
                    at: range,
                    help: Some("write [] for G, <> for F and `next`, `until`, `release` for the others; the model's \
                                `name` must be renamed to stand in a formula".to_owned()),
                });
            }
            match kinds.as_slice() {
                [] => tokens.push(Token { kind: Kind::Other, at: range, closed_by: 0 }),
                kinds => {
                    tokens.extend(kinds.iter().map(|&kind| Token { kind, at: range.clone(), closed_by: 0 }));
                }
            }
            at += length;
            continue;
        }
        let (kind, length) = symbol(text, at, atoms);
        match kind {
            Kind::Open => open.push(tokens.len()),
            Kind::Close => match open.pop() {
                Some(opened) if closes(&text[tokens[opened].at.clone()], first) => {
                    tokens[opened].closed_by = tokens.len();
                }
                _ => return Err(ParseError::new(at..at + length, "nothing is open here")),
            },
            _ => {}
        }
        tokens.push(Token { kind, at: at..at + length, closed_by: 0 });
        at += length;
    }
    match open.pop() {
        Some(opened) => Err(ParseError::new(tokens[opened].at.clone(), "this is not closed")),
        None => Ok(tokens),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether what follows belongs to the word before: `P.F`, `P@F`.
fn ends_in_access(before: &str) -> bool {
    before.ends_with(['.', '@', ':'])
}

fn closes(open: &str, close: char) -> bool {
    matches!((open, close), ("(", ')') | ("[", ']') | ("{", '}'))
}

/// The operators that a word stands for.
fn word(word: &str) -> Vec<Kind> {
    let letter = |c: char| match c {
        'G' => Some(Kind::Unary(Unary::Always)),
        'F' => Some(Kind::Unary(Unary::Eventually)),
        'X' => Some(Kind::Unary(Unary::Next)),
        _ => None,
    };
    let one = match word {
        "always" => Kind::Unary(Unary::Always),
        "eventually" => Kind::Unary(Unary::Eventually),
        "next" => Kind::Unary(Unary::Next),
        "not" => Kind::Unary(Unary::Not),
        "U" | "until" | "stronguntil" => Kind::Binary(Binary::Until),
        "R" | "V" | "release" => Kind::Binary(Binary::Release),
        "W" | "weakuntil" => Kind::Binary(Binary::WeakUntil),
        "M" | "strongrelease" => Kind::Binary(Binary::StrongRelease),
        "and" => Kind::Binary(Binary::And),
        "or" => Kind::Binary(Binary::Or),
        "imply" | "implies" => Kind::Binary(Binary::Implies),
        "equivalent" => Kind::Binary(Binary::Equivalent),
        // GF, FG, XX and so on.
        _ if word.len() <= 3 => return word.chars().map(letter).collect::<Option<_>>().unwrap_or_default(),
        _ => return Vec::new(),
    };
    vec![one]
}

fn symbol(text: &str, at: usize, atoms: &dyn Atoms) -> (Kind, usize) {
    let rest = &text[at..];
    let fixed: [(&str, Kind); 14] = [
        ("<->", Kind::Binary(Binary::Equivalent)),
        ("<=>", Kind::Binary(Binary::Equivalent)),
        ("[]", Kind::Unary(Unary::Always)),
        ("<>", Kind::Unary(Unary::Eventually)),
        ("&&", Kind::Binary(Binary::And)),
        ("||", Kind::Binary(Binary::Or)),
        ("/\\", Kind::Binary(Binary::And)),
        ("\\/", Kind::Binary(Binary::Or)),
        ("!=", Kind::Other),
        ("==", Kind::Other),
        ("<=", Kind::Other),
        (">=", Kind::Other),
        ("<<", Kind::Other),
        (">>", Kind::Other),
    ];
    if let Some((symbol, kind)) = fixed.iter().find(|(symbol, _)| rest.starts_with(symbol)) {
        return (*kind, symbol.len());
    }
    if let Some(following) = rest.strip_prefix("->") {
        let before = text[..at].rsplit(|c: char| !is_word(c)).next().unwrap_or("");
        let after = following.split(|c: char| !is_word(c)).next().unwrap_or("");
        let joins = !before.is_empty() && !after.is_empty() && atoms.joins(before, after);
        return (if joins { Kind::Other } else { Kind::Binary(Binary::Implies) }, 2);
    }
    let first = rest.chars().next().unwrap_or(' ');
    let kind = match first {
        '(' | '[' | '{' => Kind::Open,
        ')' | ']' | '}' => Kind::Close,
        '!' => Kind::Unary(Unary::Not),
        '&' if atoms.has_single_operators() => Kind::Binary(Binary::And),
        '|' if atoms.has_single_operators() => Kind::Binary(Binary::Or),
        _ => Kind::Other,
    };
    (kind, first.len_utf8())
}
