//! Tokens to syntax tree, by recursive descent.
//!
//! Never gives up: after a mistake the parser goes on at the next place where it knows what should stand there
//! (`;`, an end, a section keyword), so that several mistakes are reported in one go, each once.

mod decl;
mod expr;
mod rule;
mod stmt;
mod types;

use super::ast::{Model, Name};
use super::lex;
use super::token::{Keyword, Kind, Token};
use crate::text::nearest;
use crate::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// How deep constructs may nest in each other.
pub const MAX_NESTING: usize = 128;

/// After this many errors the rest of the file is not looked at.
const MAX_ERRORS: usize = 60;

/// The syntax tree of `text`. What could not be understood is missing from it and reported.
pub fn parse(text: &str, diagnostics: &mut Diagnostics) -> Model {
    let tokens = lex::lex(text, diagnostics);
    let mut parser = Parser { text, tokens, at: 0, depth: 0, last_error: None, errors: 0, diagnostics };
    parser.model()
}

/// A mistake was met and reported.
pub(super) struct Reported;

pub(super) type Parsed<T> = Result<T, Reported>;

pub(super) struct Parser<'a> {
    text: &'a str,
    /// Never empty: ends with [`Kind::EndOfFile`].
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// The token the last error was reported at: one report per token is enough.
    last_error: Option<usize>,
    errors: usize,
    diagnostics: &'a mut Diagnostics,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> Kind {
        self.token().kind
    }

    fn kind_after(&self, ahead: usize) -> Kind {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The span of the token just consumed.
    fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// From `start` to the token just consumed.
    fn since(&self, start: Span) -> Span {
        let end = self.previous_span();
        if end.end < start.start { start } else { start.to(end) }
    }

    fn token_text(&self, token: Token) -> &'a str {
        self.text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn at_end(&self) -> bool {
        self.kind() == Kind::EndOfFile
    }

    fn is(&self, kind: Kind) -> bool {
        self.kind() == kind
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.is(kind) && kind != Kind::EndOfFile;
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, keyword: Keyword) -> bool {
        self.eat(Kind::Word(keyword))
    }

    fn eat_semicolons(&mut self) -> bool {
        let mut any = false;
        while self.eat(Kind::Semicolon) {
            any = true;
        }
        any
    }

    /// Whether the current token is this word, which is no keyword: it may name something elsewhere.
    fn is_soft_word(&self, word: &str) -> bool {
        self.is(Kind::Identifier) && self.token_text(self.token()).eq_ignore_ascii_case(word)
    }

    /// Reports a mistake, unless one was already reported at this token or right before it.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.last_error != Some(self.at) {
            self.last_error = Some(self.at);
            if !self.token().follows_refused {
                self.diagnostics.push(diagnostic);
            }
            self.errors += 1;
            if self.errors >= MAX_ERRORS {
                self.stop();
            }
        }
        Reported
    }

    /// Gives up on the rest of the file.
    fn stop(&mut self) {
        self.at = self.tokens.len() - 1;
        self.last_error = Some(self.at);
    }

    /// Reports that something else was expected here.
    fn expected(&mut self, what: &str) -> Reported {
        let token = self.token();
        let found = match token.kind {
            Kind::Identifier | Kind::Number | Kind::Text => {
                let shown: String = self.token_text(token).chars().take(40).collect();
                format!("`{}`", shown.escape_debug())
            }
            other => other.describe(),
        };
        let finding = Diagnostic::error(token.span, format!("expected {what}, found {found}"))
            .label(format!("expected {what}"));
        self.report(finding)
    }

    fn expect(&mut self, kind: Kind) -> Parsed<Token> {
        if self.is(kind) { Ok(self.advance()) } else { Err(self.expected(&kind.describe())) }
    }

    /// Expects a keyword, goes on as if it stood there where it does not.
    fn expect_word(&mut self, keyword: Keyword) {
        if self.eat_word(keyword) {
            return;
        }
        if self.is(Kind::Identifier) {
            let word = self.token_text(self.token());
            if nearest(word, [keyword.text()]).is_some() {
                let finding =
                    Diagnostic::error(self.span(), format!("expected `{}`, found `{word}`", keyword.text()))
                        .help(format!("did you mean `{}`?", keyword.text()));
                self.report(finding);
                self.advance();
                return;
            }
        }
        self.expected(&format!("`{}`", keyword.text()));
    }

    /// Expects `do`, for which CMurphi also takes a colon.
    fn expect_do(&mut self) {
        if !self.eat(Kind::Colon) {
            self.expect_word(Keyword::Do);
        }
    }

    /// Expects `end` or one of the ends that name what they close.
    fn expect_end(&mut self, named: &[Keyword], opened: &str, opened_at: Span) {
        match self.kind() {
            Kind::Word(Keyword::End) => {
                self.advance();
            }
            Kind::Word(k) if named.contains(&k) => {
                self.advance();
            }
            Kind::Word(k) if k.is_end() => {
                let finding =
                    Diagnostic::error(self.span(), format!("`{}` does not close a {opened}", k.text()))
                        .label(format!("expected `{}`", named[0].text()));
                self.report(finding);
                self.advance();
            }
            _ => {
                if self.last_error != Some(self.at) {
                    let line = 1 + self.text[..opened_at.start as usize].matches('\n').count();
                    let what = format!("`{}` to close the {opened} of line {line}", named[0].text());
                    self.expected(&what);
                }
            }
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        if self.is(Kind::Identifier) {
            let token = self.advance();
            return Ok(Name { text: self.token_text(token).into(), span: token.span });
        }
        if let Kind::Word(keyword) = self.kind() {
            let finding = Diagnostic::error(
                self.span(),
                format!("`{}` is a keyword and cannot be a name", keyword.text()),
            )
            .label(format!("expected {what}"));
            return Err(self.report(finding));
        }
        Err(self.expected(what))
    }

    /// A string, if one stands here.
    fn text_opt(&mut self) -> Option<String> {
        if !self.is(Kind::Text) {
            return None;
        }
        let token = self.advance();
        Some(lex::string_value(self.token_text(token)))
    }

    /// Runs `inner` one level deeper; too deep is reported and ends the parse.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            let finding = Diagnostic::error(
                self.span(),
                format!("more than {MAX_NESTING} constructs nested in each other"),
            )
            .label("too deep")
            .help("split it with functions or named types");
            let reported = self.report(finding);
            self.stop();
            return Err(reported);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Skips to the first token that `stop` likes, or to one where a statement, rule or section must begin or end.
    fn skip_to(&mut self, stop: impl Fn(Kind) -> bool) {
        while !self.at_end() {
            let kind = self.kind();
            let hard = match kind {
                Kind::Semicolon => true,
                Kind::Word(k) => {
                    k.is_end()
                        || k.opens_section()
                        || matches!(
                            k,
                            Keyword::Rule
                                | Keyword::Ruleset
                                | Keyword::Startstate
                                | Keyword::Else
                                | Keyword::Elsif
                                | Keyword::Case
                        )
                }
                _ => false,
            };
            if hard || stop(kind) {
                return;
            }
            self.advance();
        }
    }
}
