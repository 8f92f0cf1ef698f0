//! Statements.

use super::rule::category;
use super::{Parsed, Parser};
use crate::Diagnostic;
use crate::murphi::ast::{Stmt, StmtKind};
use crate::murphi::token::{Keyword, Kind};
use crate::text::nearest;

/// Keywords that begin a statement, for suggestions.
const OPENERS: &[&str] = &[
    "if", "switch", "for", "while", "alias", "clear", "undefine", "error", "assert", "assume", "cover",
    "put", "return",
];

impl Parser<'_> {
    /// Statements up to something that closes or continues the enclosing construct.
    pub(super) fn stmts(&mut self) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        loop {
            self.eat_semicolons();
            if self.closes_statements() {
                return stmts;
            }
            let before = self.at;
            match self.stmt() {
                Ok(stmt) => {
                    stmts.push(stmt);
                    if !self.eat_semicolons() && !self.closes_statements() {
                        let here = self.previous_span();
                        let gap = hadal_system::Span { start: here.end, end: here.end };
                        let finding =
                            Diagnostic::error(gap, "expected `;` between statements").label("expected `;`");
                        self.report(finding);
                    }
                }
                Err(_) => self.skip_to(|_| false),
            }
            if self.at == before {
                // The statement list cannot go on here, and nothing was consumed: leave it to the caller, or move on.
                if self.closes_statements() {
                    return stmts;
                }
                self.advance();
            }
        }
    }

    fn closes_statements(&self) -> bool {
        match self.kind() {
            Kind::EndOfFile => true,
            Kind::Word(k) => {
                k.is_end()
                    || k.opens_section()
                    || matches!(
                        k,
                        Keyword::Else
                            | Keyword::Elsif
                            | Keyword::Case
                            | Keyword::Rule
                            | Keyword::Ruleset
                            | Keyword::Startstate
                    )
            }
            _ => false,
        }
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let kind = self.nested(Self::stmt_kind)?;
        Ok(Stmt { kind, span: self.since(start) })
    }

    fn stmt_kind(&mut self) -> Parsed<StmtKind> {
        let start = self.span();
        if let Some(category) = category(self.kind()) {
            self.advance();
            let (condition, message, _) = self.property_rest(start, category)?;
            return Ok(StmtKind::Property(category, condition, message));
        }
        match self.kind() {
            Kind::Identifier => self.named_stmt(),
            Kind::Word(Keyword::If) => self.if_stmt(),
            Kind::Word(Keyword::Switch) => self.switch_stmt(),
            Kind::Word(Keyword::For) => {
                self.advance();
                let quantifiers = match self.quantifiers() {
                    Ok(quantifiers) => quantifiers,
                    Err(_) => {
                        self.skip_to(|kind| kind == Kind::Word(Keyword::Do));
                        Vec::new()
                    }
                };
                self.expect_do();
                let body = self.stmts();
                self.expect_end(&[Keyword::EndFor], "for", start);
                Ok(StmtKind::For(quantifiers, body))
            }
            Kind::Word(Keyword::While) => {
                self.advance();
                let condition = self.expr_until(|kind| kind == Kind::Word(Keyword::Do));
                self.expect_do();
                let body = self.stmts();
                self.expect_end(&[Keyword::EndWhile], "while", start);
                Ok(StmtKind::While(condition, body))
            }
            Kind::Word(Keyword::Alias) => {
                self.advance();
                let aliases = match self.aliases() {
                    Ok(aliases) => aliases,
                    Err(_) => {
                        self.skip_to(|kind| kind == Kind::Word(Keyword::Do));
                        self.eat_word(Keyword::Do);
                        Vec::new()
                    }
                };
                let body = self.stmts();
                self.expect_end(&[Keyword::EndAlias], "alias", start);
                Ok(StmtKind::Alias(aliases, body))
            }
            Kind::Word(Keyword::Clear) => {
                self.advance();
                Ok(StmtKind::Clear(self.designator()?))
            }
            Kind::Word(Keyword::Undefine) => {
                self.advance();
                Ok(StmtKind::Undefine(self.designator()?))
            }
            Kind::Word(Keyword::Error) => {
                self.advance();
                match self.text_opt() {
                    Some(message) => Ok(StmtKind::Error(message)),
                    None => Err(self.expected("a message in quotes")),
                }
            }
            Kind::Word(Keyword::Put) => {
                self.advance();
                Ok(match self.text_opt() {
                    Some(text) => StmtKind::PutText(text),
                    None => StmtKind::Put(self.expr()?),
                })
            }
            Kind::Word(Keyword::Return) => {
                self.advance();
                let ends = self.is(Kind::Semicolon) || self.closes_statements();
                Ok(StmtKind::Return(if ends { None } else { Some(self.expr()?) }))
            }
            _ => Err(self.expected("a statement")),
        }
    }

    /// An assignment, a call, or a multiset statement.
    fn named_stmt(&mut self) -> Parsed<StmtKind> {
        if self.kind_after(1) == Kind::OpenParen {
            if self.is_soft_word("multisetadd") || self.is_soft_word("multisetremove") {
                let add = self.is_soft_word("multisetadd");
                self.advance();
                self.advance();
                let operand = self.expr()?;
                self.expect(Kind::Comma)?;
                let set = self.designator()?;
                self.expect(Kind::CloseParen)?;
                return Ok(if add {
                    StmtKind::MultisetAdd(operand, set)
                } else {
                    StmtKind::MultisetRemove(operand, set)
                });
            }
            if self.is_soft_word("multisetremovepred") {
                self.advance();
                return Ok(StmtKind::MultisetRemovePred(Box::new(self.picker()?)));
            }
            let name = self.name("a procedure's name")?;
            return Ok(StmtKind::Call(name, self.arguments()?));
        }
        let word = self.token_text(self.token());
        let span = self.span();
        let first = self.at;
        let place = self.designator()?;
        if self.eat(Kind::Assign) {
            return Ok(StmtKind::Assign(place, self.expr()?));
        }
        if self.is(Kind::Equal) {
            let finding = Diagnostic::error(self.span(), "`=` compares; it does not assign")
                .label("expected `:=`")
                .help("write `:=`");
            self.report(finding);
            self.advance();
            return Ok(StmtKind::Assign(place, self.expr()?));
        }
        if place.steps.is_empty()
            && let Some(meant) = nearest(word, OPENERS.iter().copied())
        {
            self.at = first;
            let finding = Diagnostic::error(span, format!("`{word}` begins no statement"))
                .label("expected a statement")
                .help(format!("did you mean `{meant}`?"));
            return Err(self.report(finding));
        }
        Err(self.expected("`:=`"))
    }

    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        let start = self.span();
        self.advance();
        let mut branches = Vec::new();
        loop {
            let condition = self.expr_until(|kind| kind == Kind::Word(Keyword::Then));
            self.expect_word(Keyword::Then);
            branches.push((condition, self.stmts()));
            if !self.eat_word(Keyword::Elsif) {
                break;
            }
        }
        let otherwise = if self.eat_word(Keyword::Else) { self.stmts() } else { Vec::new() };
        self.expect_end(&[Keyword::EndIf], "if", start);
        Ok(StmtKind::If(branches, otherwise))
    }

    fn switch_stmt(&mut self) -> Parsed<StmtKind> {
        let start = self.span();
        self.advance();
        let subject = self.expr_until(|kind| kind == Kind::Word(Keyword::Case));
        let mut arms = Vec::new();
        while self.eat_word(Keyword::Case) {
            let mut values = Vec::new();
            while !self.is(Kind::Colon) {
                values.push(self.expr_until(|kind| matches!(kind, Kind::Colon | Kind::Comma)));
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            if !self.eat(Kind::Colon) {
                self.expected("`,` or `:`");
            }
            arms.push((values, self.stmts()));
        }
        let otherwise = if self.eat_word(Keyword::Else) { self.stmts() } else { Vec::new() };
        self.expect_end(&[Keyword::EndSwitch], "switch", start);
        Ok(StmtKind::Switch(subject, arms, otherwise))
    }
}
