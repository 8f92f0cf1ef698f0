//! The part of the C preprocessor that models use: macros with and without parameters, conditionals, includes.
//!
//! It works on tokens, not on text: every token that comes out knows the place in the model's own text that it comes
//! from. A token of a macro's body has the place where the macro is used, one of an included file the place of the
//! `#include`.

mod condition;
pub mod lex;

pub(crate) use condition::OPERATORS;

use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;
use lex::{Kind, Token};
use std::collections::HashMap;
use std::rc::Rc;

/// The most tokens that come out.
const MAX_TOKENS: usize = 1_000_000;
/// The most macros that are expanded inside each other, and files that include each other.
const MAX_NESTING: usize = 200;

/// Finds the text of an included file by the name in the text.
pub type Include<'a> = &'a dyn Fn(&str) -> Option<String>;

#[derive(Clone)]
struct Macro {
    /// `None` for one without parentheses.
    parameters: Option<Vec<Rc<str>>>,
    body: Rc<[Token]>,
}

/// Preprocesses `text`. `definitions` are made before its first line.
pub fn preprocess(
    text: &str,
    definitions: &[(String, String)],
    include: Include,
    findings: &mut Diagnostics,
) -> Vec<Token> {
    let mut state =
        State { macros: HashMap::new(), out: Vec::new(), include, findings, overflow: false, nesting: 0 };
    for (name, value) in definitions {
        let mut body = lex::lex(value, state.findings);
        body.pop();
        state.macros.insert(name.as_str().into(), Macro { parameters: None, body: body.into() });
    }
    let tokens = lex::lex(text, state.findings);
    let end = tokens.last().cloned();
    state.file(&tokens, None, 0);
    let mut out = state.out;
    out.extend(end);
    out
}

struct State<'a> {
    macros: HashMap<Rc<str>, Macro>,
    out: Vec<Token>,
    include: Include<'a>,
    findings: &'a mut Diagnostics,
    overflow: bool,
    /// How many lists of arguments are being expanded.
    nesting: usize,
}

/// A conditional that is open.
struct Condition {
    span: Span,
    /// What stands here is kept.
    active: bool,
    /// Some branch was kept already, or none may be.
    done: bool,
}

impl State<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    fn file(&mut self, tokens: &[Token], place: Option<Span>, depth: usize) {
        let mut open: Vec<Condition> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && tokens[at].kind != Kind::End {
            let active = open.iter().all(|condition| condition.active);
            if tokens[at].is("#") && tokens[at].first {
                let end = (at + 1..tokens.len()).find(|&n| tokens[n].first).unwrap_or(tokens.len());
                let place = place.unwrap_or(tokens[at].span);
                self.directive(&tokens[at + 1..end], place, &mut open, depth);
                at = end;
            } else {
                let end = (at + 1..tokens.len())
                    .find(|&n| tokens[n].kind == Kind::End || (tokens[n].is("#") && tokens[n].first))
                    .unwrap_or(tokens.len());
                if active {
                    self.expand(&tokens[at..end], place, &mut Vec::new());
                }
                at = end;
            }
        }
        for condition in open {
            self.error(condition.span, "a condition without `#endif`");
        }
    }

    fn directive(&mut self, line: &[Token], place: Span, open: &mut Vec<Condition>, depth: usize) {
        let active = open.iter().all(|condition| condition.active);
        let Some(word) = line.first() else { return };
        let rest = &line[1..];
        let span = place.to(if place == word.span { word.span } else { place });
        match &*word.text {
            "if" | "ifdef" | "ifndef" => {
                let holds = active
                    && match &*word.text {
                        "if" => self.condition(rest, span),
                        _ => {
                            let defined =
                                rest.first().is_some_and(|name| self.macros.contains_key(&name.text));
                            defined == (&*word.text == "ifdef")
                        }
                    };
                open.push(Condition { span, active: holds, done: holds || !active });
            }
            "elif" | "else" => {
                let outer = open.len().saturating_sub(1);
                let active = open[..outer].iter().all(|condition| condition.active);
                let wanted = match open.last() {
                    None => {
                        self.error(span, format!("`#{}` without `#if`", word.text));
                        return;
                    }
                    Some(last) => active && !last.done,
                };
                let holds = wanted && (&*word.text == "else" || self.condition(rest, span));
                if let Some(last) = open.last_mut() {
                    last.active = holds;
                    last.done |= holds;
                }
            }
            "endif" => {
                if open.pop().is_none() {
                    self.error(span, "`#endif` without `#if`");
                }
            }
            _ if !active => {}
            "define" => self.define(rest, span),
            "undef" => {
                if let Some(name) = rest.first() {
                    self.macros.remove(&name.text);
                }
            }
            "include" => self.included(rest, span, depth),
            "error" => {
                let text: Vec<&str> = rest.iter().map(|token| &*token.text).collect();
                self.error(span, format!("#error {}", text.join(" ")));
            }
            // What other tools wrote about lines, and hints to compilers.
            "line" | "pragma" | "warning" | "ident" => {}
            _ if word.kind == Kind::Number => {}
            _ => self.error(word.span, format!("`#{}` is no directive hadal knows", word.text)),
        }
    }

    fn define(&mut self, line: &[Token], span: Span) {
        let Some(name) = line.first().filter(|name| name.kind == Kind::Name) else {
            return self.error(span, "`#define` needs a name");
        };
        let mut body = &line[1..];
        let mut parameters = None;
        if body.first().is_some_and(|token| token.is("(") && !token.spaced) {
            let Some(close) = body.iter().position(|token| token.is(")")) else {
                return self.error(span, "the parameters of a macro need `)`");
            };
            let names = body[1..close].iter().filter(|token| token.kind == Kind::Name);
            parameters = Some(names.map(|token| token.text.clone()).collect());
            body = &body[close + 1..];
        }
        self.macros.insert(name.text.clone(), Macro { parameters, body: body.into() });
    }

    fn included(&mut self, line: &[Token], span: Span, depth: usize) {
        let name = match line.first() {
            Some(token) if token.kind == Kind::Text => token.text.to_string(),
            Some(token) if token.is("<") => {
                line[1..].iter().take_while(|token| !token.is(">")).map(|token| &*token.text).collect()
            }
            _ => return self.error(span, "`#include` needs the name of a file"),
        };
        if depth >= MAX_NESTING {
            return self.error(span, "files include each other too deeply");
        }
        match (self.include)(&name) {
            None => self.error(span, format!("the file `{name}` cannot be read")),
            Some(text) => {
                let mut inner = Diagnostics::default();
                let tokens = lex::lex(&text, &mut inner);
                for finding in inner.list {
                    self.error(span, format!("in `{name}`: {}", finding.message));
                }
                self.file(&tokens, Some(span), depth + 1);
            }
        }
    }

    /// Appends the tokens with their macros expanded.
    fn expand(&mut self, tokens: &[Token], place: Option<Span>, inside: &mut Vec<Rc<str>>) {
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            let span = place.unwrap_or(token.span);
            at += 1;
            let known = (token.kind == Kind::Name && !inside.contains(&token.text))
                .then(|| self.macros.get(&token.text).cloned())
                .flatten();
            let Some(found) = known else {
                self.push(Token { span, ..token.clone() });
                continue;
            };
            if self.overflow {
                return;
            }
            if inside.len() + self.nesting >= MAX_NESTING {
                self.error(span, "macros are nested too deeply");
                self.overflow = true;
                return;
            }
            let body = match &found.parameters {
                None => found.body.to_vec(),
                Some(parameters) => {
                    if !tokens.get(at).is_some_and(|next| next.is("(")) {
                        self.push(Token { span, ..token.clone() });
                        continue;
                    }
                    let Some((arguments, next)) = arguments(tokens, at) else {
                        let wrong = format!(
                            "the call of the macro `{}` needs `)`, or is nested too deeply",
                            token.text
                        );
                        self.error(span, wrong);
                        return;
                    };
                    at = next;
                    let empty = parameters.is_empty() && arguments.iter().all(Vec::is_empty);
                    if arguments.len() != parameters.len() && !empty {
                        let message = format!(
                            "the macro `{}` has {} parameters, not {}",
                            token.text,
                            parameters.len(),
                            arguments.len()
                        );
                        self.error(span, message);
                        continue;
                    }
                    let arguments: Vec<Vec<Token>> = arguments
                        .into_iter()
                        .map(|argument| self.expanded(&argument, place, inside))
                        .collect();
                    substitute(&found.body, parameters, &arguments)
                }
            };
            inside.push(token.text.clone());
            // What comes out of a macro may be followed by the arguments of another.
            let mut rescanned = paste(body);
            for token in &mut rescanned {
                token.first = false;
            }
            if rescanned.last().is_some_and(|last| self.takes_arguments(last, inside))
                && tokens.get(at).is_some_and(|next| next.is("("))
                && let Some((_, next)) = arguments(tokens, at)
            {
                rescanned.extend_from_slice(&tokens[at..next]);
                at = next;
            }
            self.expand(&rescanned, Some(span), inside);
            inside.pop();
        }
    }

    fn takes_arguments(&self, token: &Token, inside: &[Rc<str>]) -> bool {
        token.kind == Kind::Name
            && !inside.contains(&token.text)
            && self.macros.get(&token.text).is_some_and(|found| found.parameters.is_some())
    }

    fn expanded(&mut self, tokens: &[Token], place: Option<Span>, inside: &mut Vec<Rc<str>>) -> Vec<Token> {
        let before = std::mem::take(&mut self.out);
        self.nesting += 1;
        stacker::maybe_grow(128 << 10, 1 << 20, || self.expand(tokens, place, inside));
        self.nesting -= 1;
        std::mem::replace(&mut self.out, before)
    }

    fn push(&mut self, token: Token) {
        if self.out.len() < MAX_TOKENS {
            self.out.push(token);
        } else if !self.overflow {
            self.overflow = true;
            self.error(token.span, "the text is too large once its macros are expanded");
        }
    }
}

/// The arguments of a call whose `(` stands at `at`, and what follows its `)`.
fn arguments(tokens: &[Token], at: usize) -> Option<(Vec<Vec<Token>>, usize)> {
    let mut list = vec![Vec::new()];
    let mut depth = 0_i32;
    for (n, token) in tokens.iter().enumerate().skip(at) {
        if token.is("(") || token.is("{") || token.is("[") {
            depth += 1;
        } else if token.is(")") || token.is("}") || token.is("]") {
            depth -= 1;
        }
        if depth == 0 {
            return Some((list, n + 1));
        }
        if depth > MAX_NESTING as i32 {
            return None;
        }
        if depth == 1 && token.is(",") {
            list.push(Vec::new());
        } else if !(depth == 1 && n == at) {
            list.last_mut()?.push(token.clone());
        }
    }
    None
}

fn substitute(body: &[Token], parameters: &[Rc<str>], arguments: &[Vec<Token>]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut text_next = false;
    for token in body {
        let argument = parameters
            .iter()
            .position(|name| token.kind == Kind::Name && *name == token.text)
            .and_then(|n| arguments.get(n));
        match argument {
            Some(argument) if text_next => {
                out.pop();
                let text: Vec<&str> = argument.iter().map(|token| &*token.text).collect();
                out.push(Token { kind: Kind::Text, text: text.join(" ").into(), ..token.clone() });
            }
            Some(argument) => out.extend(argument.iter().cloned()),
            None => out.push(token.clone()),
        }
        text_next = token.is("#");
    }
    out
}

/// Joins the neighbours of `##`.
fn paste(tokens: Vec<Token>) -> Vec<Token> {
    if !tokens.iter().any(|token| token.is("##")) {
        return tokens;
    }
    let mut out: Vec<Token> = Vec::new();
    let mut join = false;
    for token in tokens {
        if token.is("##") {
            join = true;
        } else if let (true, Some(last)) = (std::mem::take(&mut join), out.last_mut()) {
            last.text = format!("{}{}", last.text, token.text).into();
        } else {
            out.push(token);
        }
    }
    out
}
