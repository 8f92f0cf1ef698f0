//! Types.

use super::{Parsed, Parser};
use crate::Diagnostic;
use crate::murphi::ast::{ExprKind, Name, TypeExpr, TypeKind};
use crate::murphi::token::{Keyword, Kind};

impl Parser<'_> {
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        let kind = self.nested(Self::type_kind)?;
        Ok(TypeExpr { kind, span: self.since(start) })
    }

    fn type_kind(&mut self) -> Parsed<TypeKind> {
        let start = self.span();
        match self.kind() {
            Kind::Word(Keyword::Boolean) => {
                self.advance();
                Ok(TypeKind::Boolean)
            }
            Kind::Word(Keyword::Enum) => {
                self.advance();
                self.enumeration()
            }
            Kind::Word(Keyword::Record) => {
                self.advance();
                let mut fields = Vec::new();
                while self.is(Kind::Identifier) || self.is(Kind::Colon) {
                    let names = self.names("a field name")?;
                    self.expect(Kind::Colon)?;
                    fields.push((names, self.type_expr()?));
                    self.eat_semicolons();
                }
                self.expect_end(&[Keyword::EndRecord], "record", start);
                Ok(TypeKind::Record(fields))
            }
            Kind::Word(Keyword::Array) => {
                self.advance();
                self.expect(Kind::OpenBracket)?;
                let index = self.type_expr()?;
                self.expect(Kind::CloseBracket)?;
                self.expect_word(Keyword::Of);
                let element = self.type_expr()?;
                Ok(TypeKind::Array(Box::new(index), Box::new(element)))
            }
            Kind::Word(Keyword::Scalarset) => {
                self.advance();
                self.expect(Kind::OpenParen)?;
                let size = self.expr()?;
                self.expect(Kind::CloseParen)?;
                Ok(TypeKind::Scalarset(Box::new(size)))
            }
            Kind::Word(Keyword::Union) => {
                self.advance();
                self.expect(Kind::OpenBrace)?;
                let mut members = Vec::new();
                while !self.is(Kind::CloseBrace) && !self.at_end() {
                    members.push(self.type_expr()?);
                    if !self.eat(Kind::Comma) {
                        break;
                    }
                }
                self.expect(Kind::CloseBrace)?;
                Ok(TypeKind::Union(members))
            }
            Kind::Word(Keyword::Real) => {
                self.advance();
                if self.eat(Kind::OpenParen) {
                    let _digits = self.expr()?;
                    self.expect(Kind::Comma)?;
                    let _exponent = self.expr()?;
                    self.expect(Kind::CloseParen)?;
                }
                let finding = Diagnostic::error(self.since(start), "real types are not supported")
                    .label("expected a type with finitely many values")
                    .help("scale the quantity to an integer range, such as `0 .. 1000`");
                // The type is complete: report it without stopping the parser from reporting the next mistake.
                self.diagnostics.push(finding);
                Ok(TypeKind::Refused)
            }
            _ if self.is_soft_word("multiset") && self.kind_after(1) == Kind::OpenBracket => {
                self.advance();
                self.advance();
                let capacity = self.expr()?;
                self.expect(Kind::CloseBracket)?;
                self.expect_word(Keyword::Of);
                let element = self.type_expr()?;
                Ok(TypeKind::Multiset(Box::new(capacity), Box::new(element)))
            }
            _ => self.named_or_range(),
        }
    }

    fn enumeration(&mut self) -> Parsed<TypeKind> {
        self.expect(Kind::OpenBrace)?;
        let mut members = Vec::new();
        while !self.is(Kind::CloseBrace) && !self.at_end() {
            members.push(self.name("a member name")?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::CloseBrace)?;
        Ok(TypeKind::Enum(members))
    }

    fn named_or_range(&mut self) -> Parsed<TypeKind> {
        if matches!(self.kind(), Kind::Word(k) if !matches!(k, Keyword::IsUndefined | Keyword::Forall | Keyword::Exists))
            || matches!(
                self.kind(),
                Kind::Semicolon | Kind::EndOfFile | Kind::CloseBracket | Kind::CloseParen
            )
        {
            return Err(self.expected("a type"));
        }
        let low = self.expr()?;
        if self.eat(Kind::DotDot) {
            let high = self.expr()?;
            return Ok(TypeKind::Range(Box::new(low), Box::new(high)));
        }
        match low.kind {
            ExprKind::Designator(d) if d.steps.is_empty() => Ok(TypeKind::Named(d.base)),
            _ => Err(self.expected("`..` and the upper bound of a range")),
        }
    }

    /// `name, name, ...`; a comma may stand after the last.
    pub(super) fn names(&mut self, what: &str) -> Parsed<Vec<Name>> {
        let mut names = Vec::new();
        while !self.is(Kind::Colon) {
            names.push(self.name(what)?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        Ok(names)
    }
}
