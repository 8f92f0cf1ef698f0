//! Tokens to [`Tree`]: recursive descent with a bound on nesting, going on after a mistake.

mod declaration;
mod expression;
mod statement;

pub(crate) use declaration::PLAIN_MTYPE;

use super::ast::{Claim, Formula, Name, Tree};
use crate::cpp::lex::{Kind, Token};
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The deepest nesting of expressions, statements and inlined calls.
const MAX_DEPTH: usize = 400;
/// The most mistakes that are reported.
const MAX_ERRORS: usize = 40;
/// The most tokens that inlined calls may add.
const MAX_INLINED: usize = 2_000_000;

/// A mistake was met and reported.
pub(super) struct Bad;
type Parsed<T> = Result<T, Bad>;

/// Reads preprocessed tokens, whose last one is the end.
pub fn parse(tokens: Vec<Token>, findings: &mut Diagnostics) -> Tree {
    let mut parser = Parser::new(tokens, findings);
    for pair in parser.tokens.windows(2) {
        if pair[0].is("@") && pair[1].kind == Kind::Name {
            parser.tree.watched.insert(pair[1].text.clone());
        }
    }
    parser.text();
    parser.tree
}

/// Reads one expression, for propositions that stand outside a text.
pub fn parse_expression(tokens: Vec<Token>, findings: &mut Diagnostics) -> Option<super::ast::Expr> {
    let mut parser = Parser::new(tokens, findings);
    let expr = parser.expression().ok()?;
    if parser.peek().kind != Kind::End {
        let _ = parser.expected::<()>("the end of the expression");
        return None;
    }
    Some(expr)
}

#[derive(Clone)]
struct Inline {
    parameters: Vec<Rc<str>>,
    body: Rc<[Token]>,
}

struct Parser<'f> {
    tokens: Rc<[Token]>,
    at: usize,
    inlines: HashMap<Rc<str>, Inline>,
    tree: Tree,
    findings: &'f mut Diagnostics,
    depth: usize,
    errors: usize,
    inlined: usize,
    /// More than 0 where `>` closes a list of arguments.
    angle: usize,
    /// Names that stand for arrays somewhere.
    arrays: HashSet<Rc<str>>,
    /// How many counters the text does not show.
    counters: usize,
    /// Reading a never claim.
    in_claim: bool,
}

impl<'f> Parser<'f> {
    fn new(tokens: Vec<Token>, findings: &'f mut Diagnostics) -> Self {
        Parser {
            tokens: tokens.into(),
            at: 0,
            inlines: HashMap::new(),
            tree: Tree::default(),
            findings,
            depth: 0,
            errors: 0,
            inlined: 0,
            angle: 0,
            arrays: HashSet::new(),
            counters: 0,
            in_claim: false,
        }
    }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        // The end stays.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn ahead(&self, n: usize) -> &Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// Where the last token ended.
    fn before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.peek().is(mark);
        if found {
            self.take();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().word(word);
        if found {
            self.take();
        }
        found
    }

    fn expect(&mut self, mark: &str) -> Parsed<Span> {
        if self.peek().is(mark) {
            return Ok(self.take().span);
        }
        self.expected(&format!("`{mark}`"))
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        if self.peek().kind == Kind::Name {
            let token = self.take();
            return Ok(Name { text: token.text, span: token.span });
        }
        self.expected(what)
    }

    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let token = self.peek().clone();
        let found = match token.kind {
            Kind::End => "the end of the text".to_string(),
            _ => format!("`{}`", token.text),
        };
        self.error(token.span, format!("expected {what}, found {found}"))
    }

    fn error<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.errors += 1;
        if self.errors <= MAX_ERRORS {
            self.findings.push(Diagnostic::error(span, message));
        }
        Err(Bad)
    }

    /// Runs `read` one level deeper, on enough stack.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.peek().span;
            return self.error(span, "the text is nested too deeply");
        }
        self.depth += 1;
        let result = stacker::maybe_grow(128 << 10, 1 << 20, || read(self));
        self.depth -= 1;
        result
    }

    /// The tokens between the braces that come next.
    fn braced(&mut self) -> Parsed<Rc<[Token]>> {
        self.expect("{")?;
        let from = self.at;
        let mut depth = 1;
        loop {
            let token = self.peek();
            if token.kind == Kind::End {
                return self.expected("`}`");
            } else if token.is("{") {
                depth += 1;
            } else if token.is("}") {
                depth -= 1;
                if depth == 0 {
                    let body = self.tokens[from..self.at].into();
                    self.take();
                    return Ok(body);
                }
            }
            self.take();
        }
    }

    fn text(&mut self) {
        while self.peek().kind != Kind::End && self.errors < MAX_ERRORS {
            let before = self.at;
            if self.unit().is_err() {
                self.recover(before);
            }
        }
    }

    /// Skips to something that may begin a unit.
    fn recover(&mut self, before: usize) {
        if self.at == before {
            self.take();
        }
        const BEGINNINGS: [&str; 9] =
            ["proctype", "active", "init", "never", "ltl", "inline", "typedef", "trace", "D_proctype"];
        while self.peek().kind != Kind::End {
            let token = self.peek();
            if token.first && BEGINNINGS.iter().any(|word| token.word(word)) {
                return;
            }
            self.take();
        }
    }

    fn unit(&mut self) -> Parsed<()> {
        let token = self.peek().clone();
        if token.is(";") || token.is("->") {
            self.take();
            return Ok(());
        }
        match &*token.text {
            "active" | "proctype" | "D_proctype" | "init" => self.proctype(),
            "typedef" => self.typedef(),
            "inline" => self.inline(),
            "never" | "trace" | "notrace" => {
                self.take();
                let name = if self.peek().kind == Kind::Name { Some(self.name("a name")?) } else { None };
                self.expect("{")?;
                self.in_claim = &*token.text == "never";
                let body = self.sequence("}");
                self.in_claim = false;
                let body = body?;
                self.expect("}")?;
                let word = Name { text: token.text.clone(), span: token.span };
                let claim = Claim { name, word, body };
                if &*token.text == "never" {
                    self.tree.claims.push(claim)
                } else {
                    self.tree.traces.push(claim)
                }
                Ok(())
            }
            "ltl" => {
                self.take();
                let name = if self.peek().kind == Kind::Name { Some(self.name("a name")?) } else { None };
                let tokens = self.braced()?.to_vec();
                let span = token.span.to(self.before());
                self.tree.formulas.push(Formula { name, tokens, span });
                Ok(())
            }
            "c_code" | "c_expr" | "c_decl" | "c_state" | "c_track" => self.embedded(),
            _ if token.kind == Kind::Name => {
                if let Some(variables) = self.declaration()? {
                    self.tree.globals.extend(variables);
                }
                Ok(())
            }
            _ => self.expected("a declaration, `proctype`, `init`, `never` or `ltl`"),
        }
    }

    fn embedded<T>(&mut self) -> Parsed<T> {
        let token = self.take();
        let finding = Diagnostic::error(token.span, format!("`{}` embeds C code", token.text))
            .label("hadal does not run C")
            .help("write it in Promela: a d_step or an inline is one step, too");
        self.errors += 1;
        self.findings.push(finding);
        Err(Bad)
    }

    fn inline(&mut self) -> Parsed<()> {
        self.take();
        let name = self.name("the name of the inline")?;
        self.expect("(")?;
        let mut parameters = Vec::new();
        while !self.peek().is(")") {
            parameters.push(self.name("a parameter")?.text);
            if !self.eat(",") && !self.peek().is(")") {
                return self.expected("`,` or `)`");
            }
        }
        self.expect(")")?;
        let body = self.braced()?;
        self.inlines.insert(name.text, Inline { parameters, body });
        Ok(())
    }
}
