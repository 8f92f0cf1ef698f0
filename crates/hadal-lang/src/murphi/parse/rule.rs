//! Rules, start states, properties and groups of them.

use super::{Parsed, Parser};
use crate::Diagnostic;
use crate::murphi::ast::{Category, Designator, Expr, ExprKind, Name, Rule, RuleKind};
use crate::murphi::lex;
use crate::murphi::token::{Keyword, Kind};

/// The category a keyword opens, if it opens one.
pub(super) fn category(kind: Kind) -> Option<Category> {
    Some(match kind {
        Kind::Word(Keyword::Assert | Keyword::Invariant) => Category::Assertion,
        Kind::Word(Keyword::Assume) => Category::Assumption,
        Kind::Word(Keyword::Cover) => Category::Cover,
        Kind::Word(Keyword::Liveness) => Category::Liveness,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Whether `choose name : ...` begins here; `choose` is a name anywhere else.
    pub(super) fn at_choose(&self) -> bool {
        self.is_soft_word("choose") && self.kind_after(1) == Kind::Identifier
    }

    pub(super) fn rule(&mut self) -> Parsed<Rule> {
        self.nested(Self::rule_here)
    }

    fn rule_here(&mut self) -> Parsed<Rule> {
        let start = self.span();
        if self.at_choose() {
            self.advance();
            let name = self.name("a name for the position")?;
            self.expect(Kind::Colon)?;
            let set = self.designator()?;
            let span = self.since(start);
            self.expect_do();
            let rules = self.rules();
            self.expect_end(&[Keyword::EndChoose], "choose", start);
            return Ok(Rule { kind: RuleKind::Choose(name, set, rules), span });
        }
        let opener = self.kind();
        if let Some(category) = category(opener) {
            return self.property(category);
        }
        match opener {
            Kind::Word(Keyword::Rule) => self.simple_rule(),
            Kind::Word(Keyword::Startstate) => {
                self.advance();
                let name = self.text_opt();
                let span = self.since(start);
                let decls = self.sections();
                self.eat_word(Keyword::Begin);
                let body = self.stmts();
                self.expect_end(&[Keyword::EndStartstate], "startstate", start);
                Ok(Rule { kind: RuleKind::Start { name, decls, body }, span })
            }
            Kind::Word(Keyword::Ruleset) => {
                self.advance();
                let quantifiers = self.quantifiers()?;
                let span = self.since(start);
                self.expect_do();
                let rules = self.rules();
                self.expect_end(&[Keyword::EndRuleset], "ruleset", start);
                Ok(Rule { kind: RuleKind::Ruleset(quantifiers, rules), span })
            }
            Kind::Word(Keyword::Alias) => {
                self.advance();
                let aliases = self.aliases()?;
                let span = self.since(start);
                let rules = self.rules();
                self.expect_end(&[Keyword::EndAlias], "alias", start);
                Ok(Rule { kind: RuleKind::Alias(aliases, rules), span })
            }
            _ => Err(self.expected("a rule")),
        }
    }

    /// The rules of a group, up to its end.
    fn rules(&mut self) -> Vec<Rule> {
        let mut rules = Vec::new();
        loop {
            self.eat_semicolons();
            let begins = match self.kind() {
                Kind::Word(k) => k.opens_rule(),
                _ => self.at_choose(),
            };
            if begins {
                let before = self.at;
                match self.rule() {
                    Ok(rule) => rules.push(rule),
                    Err(_) => self.skip_to_rule(),
                }
                if self.at == before {
                    self.advance();
                }
                continue;
            }
            match self.kind() {
                Kind::Word(k) if k.is_end() => return rules,
                Kind::EndOfFile => return rules,
                Kind::Word(Keyword::Function | Keyword::Procedure) => {
                    let finding =
                        Diagnostic::error(self.span(), "a function cannot stand inside a group of rules")
                            .label("expected a rule")
                            .help("move it in front of the group");
                    self.report(finding);
                    self.skip_function();
                }
                _ => {
                    self.expected("a rule");
                    self.advance();
                    self.skip_to_rule();
                }
            }
        }
    }

    /// Skips a function that stands where none may, body and all.
    fn skip_function(&mut self) {
        let mut open = 0usize;
        while !self.at_end() {
            if let Kind::Word(k) = self.kind() {
                use Keyword::{
                    Alias, Exists, For, Forall, Function, If, Procedure, Record, Rule, Ruleset, Startstate,
                    Switch, While,
                };
                match k {
                    Function | Procedure | If | For | Forall | Exists | Switch | While | Alias | Record => {
                        open += 1
                    }
                    Rule | Ruleset | Startstate => return,
                    k if k.is_end() => {
                        open = open.saturating_sub(1);
                        if open == 0 {
                            self.advance();
                            return;
                        }
                    }
                    _ => {}
                }
            }
            self.advance();
        }
    }

    fn skip_to_rule(&mut self) {
        while !self.at_end() {
            if let Kind::Word(k) = self.kind()
                && (matches!(k, Keyword::Rule | Keyword::Ruleset | Keyword::Startstate | Keyword::Invariant)
                    || matches!(k, Keyword::EndRuleset | Keyword::EndAlias | Keyword::EndChoose)
                    || matches!(k, Keyword::Function | Keyword::Procedure))
            {
                return;
            }
            self.advance();
        }
    }

    fn simple_rule(&mut self) -> Parsed<Rule> {
        let start = self.span();
        self.advance();
        let mut priority = 0;
        if self.is(Kind::Number) && matches!(self.kind_after(1), Kind::Text | Kind::Identifier) {
            let text = self.token_text(self.token());
            priority = lex::number_value(text).and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX);
            self.advance();
        }
        let name = self.text_opt();
        let span = self.since(start);
        let guard = if self.guard_follows() {
            let arrow = |kind| matches!(kind, Kind::LongArrow | Kind::Word(Keyword::Begin));
            let guard = self.expr_until(arrow);
            if !self.eat(Kind::LongArrow) {
                self.expected("`==>` after the guard");
                self.skip_to(arrow);
                self.eat(Kind::LongArrow);
            }
            Some(guard)
        } else {
            None
        };
        let decls = self.sections();
        self.eat_word(Keyword::Begin);
        let body = self.stmts();
        self.expect_end(&[Keyword::EndRule], "rule", start);
        Ok(Rule { kind: RuleKind::Rule { priority, name, guard, decls, body }, span })
    }

    /// Whether what stands after `rule "name"` is a guard and not already the body.
    fn guard_follows(&self) -> bool {
        match self.kind() {
            Kind::Word(Keyword::Forall | Keyword::Exists | Keyword::IsUndefined) => true,
            Kind::Word(_) | Kind::EndOfFile | Kind::Semicolon => false,
            Kind::Identifier => !self.assignment_or_call_follows(),
            _ => true,
        }
    }

    /// Whether the tokens from here read `place :=`, or `name(...)` with nothing after it.
    fn assignment_or_call_follows(&self) -> bool {
        let call = self.kind_after(1) == Kind::OpenParen;
        let mut open = 0usize;
        for token in &self.tokens[self.at + 1..] {
            match token.kind {
                Kind::OpenParen | Kind::OpenBracket => open += 1,
                Kind::CloseParen | Kind::CloseBracket => open = open.saturating_sub(1),
                Kind::Semicolon | Kind::LongArrow | Kind::EndOfFile => {
                    return call && open == 0 && token.kind == Kind::Semicolon;
                }
                Kind::Word(k) if k.is_end() && open == 0 => return call,
                Kind::Word(k) if k.is_end() || k.opens_section() => return false,
                Kind::Word(Keyword::Begin | Keyword::Rule) => return false,
                Kind::Assign if open == 0 => return true,
                Kind::Dot | Kind::Identifier => {}
                _ if open == 0 => return false,
                _ => {}
            }
        }
        false
    }

    fn property(&mut self, category: Category) -> Parsed<Rule> {
        let start = self.span();
        self.advance();
        let (condition, name, span) = self.property_rest(start, category)?;
        Ok(Rule { kind: RuleKind::Property { category, name, condition }, span })
    }

    /// `"name" condition` or `condition "name"`.
    pub(super) fn property_rest(
        &mut self,
        start: hadal_system::Span,
        category: Category,
    ) -> Parsed<(Expr, Option<String>, hadal_system::Span)> {
        let name = self.text_opt();
        let heading = self.since(start);
        if category == Category::Liveness
            && ["always", "eventually"].iter().any(|w| self.is_soft_word(w))
            && matches!(self.kind_after(1), Kind::Identifier | Kind::OpenParen)
        {
            let finding = Diagnostic::error(self.span(), "temporal formulas are not supported in `liveness`")
                .label("expected a condition on states")
                .help("`liveness p` asks that from every state one with `p` can be reached");
            return Err(self.report(finding));
        }
        let condition = self.expr()?;
        let name = if name.is_none() { self.text_opt() } else { name };
        Ok((condition, name, heading))
    }

    /// `name: value; ... do`, the `do` included.
    pub(super) fn aliases(&mut self) -> Parsed<Vec<(Name, Expr)>> {
        let mut aliases = Vec::new();
        while self.is(Kind::Identifier) {
            let names = self.names("a name for the alias")?;
            self.expect(Kind::Colon)?;
            let value = self.expr()?;
            // Names declared together are the same thing: those after the first are aliases of it.
            let mut value = Some(value);
            let mut first: Option<Name> = None;
            for name in names {
                let same = value.take().unwrap_or_else(|| {
                    let base = first.clone().unwrap_or_else(|| name.clone());
                    let span = base.span;
                    Expr { kind: ExprKind::Designator(Designator { base, steps: Vec::new(), span }), span }
                });
                first.get_or_insert_with(|| name.clone());
                aliases.push((name, same));
            }
            if self.is(Kind::Comma) {
                let finding = Diagnostic::error(self.span(), "aliases are separated by `;`")
                    .label("expected `;` or `do`");
                self.report(finding);
                self.advance();
            }
            self.eat_semicolons();
        }
        self.expect_do();
        Ok(aliases)
    }
}
