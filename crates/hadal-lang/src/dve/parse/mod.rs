//! Tokens to syntax tree, by recursive descent. One mistake gives one finding; the parser then skips to the next
//! declaration, transition or process and goes on, so that several mistakes are reported in one go.
//!
//! Expressions are bounded in height ([`MAX_HEIGHT`]): nothing that walks a tree can run out of stack.

mod declaration;
mod expression;
mod process;

use super::ast::{Expr, Ident, Model};
use super::lex::lex;
use super::token::{Keyword, Token, TokenKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// The greatest height of an expression's tree.
pub const MAX_HEIGHT: u32 = 400;

/// Parses a whole model. Findings go to `findings`; the tree holds whatever could be understood.
pub fn parse(text: &str, findings: &mut Diagnostics) -> Model {
    let tokens = lex(text, findings);
    let mut parser = Parser { tokens, at: 0, findings, nesting: 0, refused_height: false };
    parser.model()
}

/// Parses an expression that stands alone (a proposition of a BEEM description). `None` where it is refused.
pub fn parse_expression(text: &str, findings: &mut Diagnostics) -> Option<Expr> {
    let tokens = lex(text, findings);
    let mut parser = Parser { tokens, at: 0, findings, nesting: 0, refused_height: false };
    let expression = parser.expression().ok()?;
    match parser.peek() {
        TokenKind::End if !parser.findings.has_errors() => Some(expression),
        TokenKind::End => None,
        _ => {
            parser.expected("an operator or the end of the expression");
            None
        }
    }
}

/// The finding has been reported; the caller skips to a place where it can go on.
pub(super) struct Skip;

type Parsed<T> = Result<T, Skip>;

struct Parser<'f> {
    tokens: Vec<Token>,
    at: usize,
    findings: &'f mut Diagnostics,
    nesting: u32,
    refused_height: bool,
}

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        // `at` never passes the last token, which is `End`.
        &self.tokens[self.at].kind
    }

    fn peek_after(&self, count: usize) -> &TokenKind {
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// Where the token before this one ends.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn at_mark(&self, mark: &str) -> bool {
        matches!(self.peek(), TokenKind::Mark(found) if *found == mark)
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        *self.peek() == TokenKind::Keyword(keyword)
    }

    fn at_name(&self, name: &str) -> bool {
        matches!(self.peek(), TokenKind::Name(found) if found == name)
    }

    fn take_mark(&mut self, mark: &str) -> bool {
        let taken = self.at_mark(mark);
        if taken {
            self.advance();
        }
        taken
    }

    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let taken = self.at_keyword(keyword);
        if taken {
            self.advance();
        }
        taken
    }

    fn expect_mark(&mut self, mark: &str) -> Parsed<()> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn expect_name(&mut self, what: &str) -> Parsed<Ident> {
        if let TokenKind::Name(text) = self.peek() {
            let ident = Ident { text: text.clone(), span: self.span() };
            self.advance();
            return Ok(ident);
        }
        let reserved = matches!(self.peek(), TokenKind::Keyword(_));
        let skip = self.expected(what);
        if reserved && let Some(last) = self.findings.list.last_mut() {
            last.help = Some("this word is reserved in DVE; choose another name".to_string());
        }
        Err(skip)
    }

    /// Reports that something else stands here. At the end of the text the caret goes to the last token.
    fn expected(&mut self, what: &str) -> Skip {
        let found = self.peek().describe();
        let span = if *self.peek() == TokenKind::End { self.last_span() } else { self.span() };
        let message = format!("expected {what}, found {found}");
        let mut finding = Diagnostic::error(span, message).label(format!("expected {what}"));
        if *self.peek() == TokenKind::Mark("=") {
            finding.help = Some("did you mean `==`?".to_string());
        }
        self.findings.push(finding);
        Skip
    }

    /// Skips to one of the marks outside any bracket, to the closing brace of the enclosing block, or to the end.
    fn skip_to(&mut self, marks: &[&str]) {
        self.nesting = 0;
        let mut depth = 0u32;
        loop {
            match self.peek() {
                TokenKind::End => return,
                TokenKind::Mark(mark) if depth == 0 && marks.contains(mark) => return,
                TokenKind::Mark("{") => depth += 1,
                TokenKind::Mark("}") if depth == 0 => return,
                TokenKind::Mark("}") => depth -= 1,
                // A keyword that only begins a top-level declaration: a closing brace was forgotten.
                TokenKind::Keyword(Keyword::Process | Keyword::System) => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// A comma-separated list of at least one name.
    fn names(&mut self, what: &str) -> Parsed<Vec<Ident>> {
        let mut names = vec![self.expect_name(what)?];
        while self.take_mark(",") {
            names.push(self.expect_name(what)?);
        }
        Ok(names)
    }
}
