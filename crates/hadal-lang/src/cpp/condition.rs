//! The conditions of `#if` and `#elif`.

use super::State;
use super::lex::{Kind, Token};
use crate::diagnostic::Diagnostic;
use hadal_system::Span;

/// The binary operators of C, loosest first.
pub(crate) const OPERATORS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
/// The deepest nesting.
const MAX_DEPTH: usize = 200;

impl State<'_> {
    /// Whether a condition holds; names that are no macros are 0.
    pub(super) fn condition(&mut self, tokens: &[Token], span: Span) -> bool {
        let mut plain = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at].word("defined") {
                let open = tokens.get(at + 1).is_some_and(|token| token.is("("));
                let name = tokens.get(at + if open { 2 } else { 1 });
                let defined = name.is_some_and(|name| self.macros.contains_key(&name.text));
                let value = if defined { "1" } else { "0" };
                plain.push(Token { kind: Kind::Number, text: value.into(), ..tokens[at].clone() });
                at += if open { 4 } else { 2 };
            } else {
                plain.push(tokens[at].clone());
                at += 1;
            }
        }
        let expanded = self.expanded(&plain, Some(span), &mut Vec::new());
        let mut reader = Reader { tokens: &expanded, at: 0 };
        match reader.level(0, 0) {
            Some(value) if reader.at == expanded.len() => value != 0,
            _ => {
                self.findings.push(Diagnostic::error(span, "a condition that cannot be evaluated"));
                false
            }
        }
    }
}

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl Reader<'_> {
    fn level(&mut self, level: usize, depth: usize) -> Option<i64> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary(depth) };
        let mut left = self.level(level + 1, depth)?;
        while let Some(operator) =
            self.tokens.get(self.at).filter(|token| operators.iter().any(|operator| token.is(operator)))
        {
            self.at += 1;
            let right = self.level(level + 1, depth)?;
            left = match &*operator.text {
                "||" => (left != 0 || right != 0).into(),
                "&&" => (left != 0 && right != 0).into(),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => (left == right).into(),
                "!=" => (left != right).into(),
                "<" => (left < right).into(),
                ">" => (left > right).into(),
                "<=" => (left <= right).into(),
                ">=" => (left >= right).into(),
                "<<" => left.wrapping_shl(right as u32),
                ">>" => left.wrapping_shr(right as u32),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn unary(&mut self, depth: usize) -> Option<i64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match (token.kind, &*token.text) {
            (Kind::Number, text) => text.parse().ok(),
            (Kind::Name, _) => Some(0),
            (_, "!") => self.unary(depth + 1).map(|value| (value == 0).into()),
            (_, "-") => self.unary(depth + 1).map(i64::wrapping_neg),
            (_, "+") => self.unary(depth + 1),
            (_, "~") => self.unary(depth + 1).map(|value| !value),
            (_, "(") => {
                let value = self.level(0, depth + 1)?;
                let close = self.tokens.get(self.at)?;
                self.at += 1;
                close.is(")").then_some(value)
            }
            _ => None,
        }
    }
}
