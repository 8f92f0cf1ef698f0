//! The top level: sections of declarations, functions, rules, in any order.

use super::{Parsed, Parser};
use crate::Diagnostic;
use crate::murphi::ast::{Decl, Function, Item, Model, Parameter};
use crate::murphi::token::{Keyword, Kind};
use crate::text::nearest;

/// Which section a declaration stands in.
#[derive(Clone, Copy)]
enum Section {
    Const,
    Type,
    Var,
}

impl Parser<'_> {
    pub(super) fn model(&mut self) -> Model {
        let mut model = Model::default();
        while !self.at_end() {
            let before = self.at;
            self.item(&mut model);
            if self.at == before {
                self.advance();
            }
        }
        model
    }

    fn item(&mut self, model: &mut Model) {
        match self.kind() {
            Kind::Semicolon => {
                self.advance();
            }
            Kind::Word(Keyword::Const | Keyword::Type | Keyword::Var) => {
                model.items.extend(self.sections().into_iter().map(Item::Decl));
            }
            Kind::Word(Keyword::Function | Keyword::Procedure) => match self.function() {
                Ok(function) => model.items.push(Item::Function(function)),
                Err(_) => self.skip_to_item(),
            },
            Kind::Word(k) if k.opens_rule() => self.top_rule(model),
            _ if self.at_choose() => self.top_rule(model),
            _ => {
                self.unexpected_at_top_level();
                self.skip_to_item();
            }
        }
    }

    fn top_rule(&mut self, model: &mut Model) {
        match self.rule() {
            Ok(rule) => {
                model.items.push(Item::Rule(rule));
                self.eat_semicolons();
            }
            Err(_) => self.skip_to_item(),
        }
    }

    fn unexpected_at_top_level(&mut self) {
        let word = self.token_text(self.token());
        let openers = Keyword::ALL.iter().filter(|k| k.opens_rule() || k.opens_section()).map(|k| k.text());
        if self.is(Kind::Identifier)
            && let Some(meant) = nearest(word, openers.chain(["choose"]))
        {
            let finding = Diagnostic::error(self.span(), format!("`{word}` begins nothing here"))
                .label("expected a declaration, function or rule")
                .help(format!("did you mean `{meant}`?"));
            self.report(finding);
        } else if word.eq_ignore_ascii_case("externfun") || word.eq_ignore_ascii_case("externproc") {
            let finding =
                Diagnostic::error(self.span(), "functions written in another language are not supported")
                    .label("expected a Murphi function");
            self.report(finding);
        } else if word.eq_ignore_ascii_case("pctl") {
            let finding = Diagnostic::error(self.span(), "probabilistic formulas are not supported")
                .label("expected a rule or property");
            self.report(finding);
        } else {
            self.expected("a declaration, function or rule");
        }
    }

    /// Skips to the next token that can begin something at the top level.
    fn skip_to_item(&mut self) {
        while !self.at_end() {
            if let Kind::Word(k) = self.kind()
                && (k.opens_section()
                    || matches!(
                        k,
                        Keyword::Rule | Keyword::Ruleset | Keyword::Startstate | Keyword::Invariant
                    ))
            {
                return;
            }
            self.advance();
        }
    }

    /// Any number of `const`, `type` and `var` sections.
    pub(super) fn sections(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        loop {
            let section = match self.kind() {
                Kind::Word(Keyword::Const) => Section::Const,
                Kind::Word(Keyword::Type) => Section::Type,
                Kind::Word(Keyword::Var) => Section::Var,
                _ => return decls,
            };
            self.advance();
            self.section(section, &mut decls);
        }
    }

    fn section(&mut self, section: Section, decls: &mut Vec<Decl>) {
        loop {
            // In a function the first statement may follow without `begin`.
            let statement = self.is(Kind::Identifier)
                && matches!(
                    self.kind_after(1),
                    Kind::Assign | Kind::OpenParen | Kind::OpenBracket | Kind::Dot
                );
            if statement || !(self.is(Kind::Identifier) || self.is(Kind::Colon)) || self.at_choose() {
                return;
            }
            let before = self.at;
            if self.decl(section, decls).is_err() {
                self.skip_to(|_| false);
            }
            self.eat_semicolons();
            if self.at == before {
                return;
            }
        }
    }

    fn decl(&mut self, section: Section, decls: &mut Vec<Decl>) -> Parsed<()> {
        let names = self.names(match section {
            Section::Const => "a constant's name",
            Section::Type => "a type's name",
            Section::Var => "a variable's name",
        })?;
        if !self.is(Kind::Colon) {
            let what = match (section, self.kind()) {
                (Section::Const, Kind::Equal | Kind::Assign) => "`:` between the constant and its value",
                (_, Kind::Equal | Kind::Assign) => "`:` between name and type",
                _ => "`:`",
            };
            return Err(self.expected(what));
        }
        self.advance();
        match section {
            Section::Const => decls.push(Decl::Const(names, self.expr()?)),
            Section::Type => decls.push(Decl::Type(names, self.type_expr()?)),
            Section::Var => decls.push(Decl::Var(names, self.type_expr()?)),
        }
        Ok(())
    }

    fn function(&mut self) -> Parsed<Function> {
        let start = self.span();
        self.advance();
        let name = self.name("the function's name")?;
        let parameters = self.parameters()?;
        let result = if self.eat(Kind::Colon) { Some(self.type_expr()?) } else { None };
        let span = self.since(start);
        self.eat_semicolons();
        let decls = self.sections();
        self.eat_word(Keyword::Begin);
        let body = self.stmts();
        self.expect_end(&[Keyword::EndFunction, Keyword::EndProcedure], "function", start);
        self.eat_semicolons();
        Ok(Function { name, parameters, result, decls, body, span })
    }

    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.expect(Kind::OpenParen)?;
        let mut parameters = Vec::new();
        while !self.is(Kind::CloseParen) && !self.at_end() {
            let by_reference = self.eat_word(Keyword::Var);
            let names = self.names("a parameter's name")?;
            self.expect(Kind::Colon)?;
            let ty = self.type_expr()?;
            parameters.push(Parameter { names, by_reference, ty });
            if self.is(Kind::Comma) {
                let finding = Diagnostic::error(self.span(), "parameters are separated by `;`")
                    .label("expected `;` or `)`");
                self.report(finding);
                self.advance();
            }
            self.eat_semicolons();
        }
        self.expect(Kind::CloseParen)?;
        Ok(parameters)
    }
}
