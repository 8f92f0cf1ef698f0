//! Text to tokens. Comments are `// ...` and `/* ... */`; a line may be continued with a backslash.
//!
//! Never fails: what cannot be a token is reported once and skipped, so that the parser still sees the rest.

use super::token::{Keyword, MARKS, Token, TokenKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::text::Cursor;
use crate::text::cursor::{Closed, length_while};
use hadal_system::Span;

/// Splits `text` into tokens; the last one is always [`TokenKind::End`].
pub fn lex(text: &str, findings: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { cursor: Cursor::new(text), tokens: Vec::new() };
    while !lexer.cursor.is_at_end() {
        lexer.step(findings);
    }
    let end = text.len();
    lexer.tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end) });
    lexer.tokens
}

struct Lexer<'t> {
    cursor: Cursor<'t>,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    /// Takes one token, comment or stretch of white space.
    fn step(&mut self, findings: &mut Diagnostics) {
        let rest = self.cursor.rest();
        // `rest` is not empty: the caller stops at the end of the text.
        let Some(first) = rest.chars().next() else { return };
        if first.is_whitespace() {
            self.cursor.bump();
        } else if rest.starts_with("//") {
            self.cursor.take_line();
        } else if rest.starts_with("/*") {
            self.skip_block_comment(findings);
        } else if first == '\\' && rest[1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
            self.cursor.bump();
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = length_while(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '#'));
            let word = &rest[..length];
            let kind = match Keyword::from_word(word) {
                Some(keyword) => TokenKind::Keyword(keyword),
                None => TokenKind::Name(word.to_string()),
            };
            self.push(kind, length);
        } else if first.is_ascii_digit() {
            self.number(rest, findings);
        } else if first == '"' {
            self.quoted(rest, findings);
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            self.push(TokenKind::Mark(mark), mark.len());
        } else {
            self.skip_foreign(rest, findings);
        }
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let begin = self.cursor.at();
        self.cursor.take(length);
        self.tokens.push(Token { kind, span: self.cursor.span_from(begin) });
    }

    fn number(&mut self, rest: &str, findings: &mut Diagnostics) {
        let length = length_while(rest, |c| c.is_ascii_digit());
        let value = rest[..length].parse::<i64>().ok().filter(|value| *value <= i64::from(i32::MAX));
        if value.is_none() {
            let span = Span::new(self.cursor.at(), self.cursor.at() + length);
            findings.push(
                Diagnostic::error(span, "this number is too large")
                    .label("expected at most 2147483647")
                    .help("`byte` holds 0 to 255, `int` holds -32768 to 32767"),
            );
        }
        self.push(TokenKind::Number(value.unwrap_or(0)), length);
    }

    fn quoted(&mut self, rest: &str, findings: &mut Diagnostics) {
        match rest[1..].find(['"', '\n']) {
            Some(length) if rest[1 + length..].starts_with('"') => {
                let content = rest[1..1 + length].to_string();
                self.push(TokenKind::Text(content), length + 2);
            }
            found => {
                let length = found.map_or(rest.len(), |at| at + 1);
                let span = Span::new(self.cursor.at(), self.cursor.at() + length);
                findings
                    .push(Diagnostic::error(span, "this quoted text is not closed").label("expected `\"`"));
                self.cursor.take(length);
            }
        }
    }

    fn skip_block_comment(&mut self, findings: &mut Diagnostics) {
        let begin = self.cursor.at();
        self.cursor.eat("/*");
        if self.cursor.take_through("*/") == Closed::No {
            let span = Span::new(begin, begin + 2);
            findings
                .push(Diagnostic::error(span, "this comment is not closed").label("expected `*/` after it"));
        }
    }

    fn skip_foreign(&mut self, rest: &str, findings: &mut Diagnostics) {
        // Stops where something begins that may be a token, white space or a comment.
        let known = |c: char| {
            let in_words = c.is_whitespace() || c.is_ascii_alphanumeric() || matches!(c, '_' | '"' | '/');
            in_words || MARKS.iter().any(|mark| mark.starts_with(c))
        };
        let length =
            rest.find(known).unwrap_or(rest.len()).max(rest.chars().next().map_or(1, char::len_utf8));
        let span = Span::new(self.cursor.at(), self.cursor.at() + length);
        let shown: String = rest[..length].chars().take(10).collect();
        let mut finding = Diagnostic::error(span, format!("`{shown}` means nothing in DVE"));
        if rest.starts_with(['`', '\'']) {
            finding = finding.help("m4 quotes belong in a family file: give it the extension `.mdve`");
        }
        findings.push(finding);
        self.cursor.take(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut findings = Diagnostics::default();
        let tokens = lex(text, &mut findings);
        assert!(!findings.has_errors(), "{findings:?}");
        tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn comments_and_continued_lines_are_white_space() {
        assert_eq!(kinds("a // b\n/* c\n d */ \\ \n 7"), kinds("a 7"));
    }

    #[test]
    fn the_longest_mark_is_taken() {
        assert_eq!(
            kinds("a->b<<1<=2"),
            vec![
                TokenKind::Name("a".into()),
                TokenKind::Mark("->"),
                TokenKind::Name("b".into()),
                TokenKind::Mark("<<"),
                TokenKind::Number(1),
                TokenKind::Mark("<="),
                TokenKind::Number(2),
                TokenKind::End,
            ]
        );
    }

    #[test]
    fn several_mistakes_are_reported_in_one_go() {
        let mut findings = Diagnostics::default();
        lex("byte x = 99999999999; @@ y /* open", &mut findings);
        assert_eq!(findings.list.len(), 3, "{findings:?}");
    }
}
