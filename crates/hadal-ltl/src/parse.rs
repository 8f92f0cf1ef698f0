//! Formulas from text.
//!
//! Temporal and Boolean operators are known here; every maximal part without temporal operators is an expression of the
//! model's language and goes to [`Atoms::atom`] as it stands. Operators bind in this order, the tightest first:
//! `! X [] <>`, then `U R W M`, `&&`, `||`, `->`, `<->`.

use crate::formula::Ltl;
use crate::lexer::{Binary, Kind, Token, Unary, lex};
use std::collections::HashMap;
use std::ops::Range;

/// What the model's language knows about expressions.
pub trait Atoms {
    /// The number of the proposition that `text` stands for; the same number for the same proposition.
    fn atom(&mut self, text: &str) -> Result<u32, AtomError>;

    /// Whether the model declares this name. Asked for words that are operators.
    fn declares(&self, word: &str) -> bool {
        let _ = word;
        false
    }

    /// Whether a declared name that is also an operator is the name: where the language's own formulas do not know the
    /// operator. Otherwise a formula that mentions it is refused.
    fn prefers_name(&self, word: &str) -> bool {
        let _ = word;
        false
    }

    /// Whether `before->after` is one expression and no implication.
    fn joins(&self, before: &str, after: &str) -> bool {
        let _ = (before, after);
        false
    }

    /// Whether `&` and `|` are the language's Boolean operators.
    fn has_single_operators(&self) -> bool {
        false
    }
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomError {
    /// The problem.
    pub message: String,
    /// Where, in the expression's text.
    pub at: Range<usize>,
}

/// What is wrong with a formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// The problem.
    pub message: String,
    /// Where, in bytes of the text.
    pub at: Range<usize>,
    /// What to write instead.
    pub help: Option<String>,
}

impl ParseError {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        ParseError { message: message.into(), at, help: None }
    }
}

/// What `a U b U c` and `a -> b -> c` mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chains {
    /// Nothing: tools differ, so parentheses are asked for.
    #[default]
    Refused,
    /// `(a U b) U c`, as in SPIN.
    Left,
}

/// Atoms that are whatever text they are written as: names, or whole expressions.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The texts, by number.
    pub texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Atoms for Names {
    fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
        if let Some(operator) = text.find("&&").or_else(|| text.find("||")).or_else(|| text.find("->")) {
            // Not one name: each side is an atom of its own.
            return Err(AtomError { message: "not a name".into(), at: operator..operator + 2 });
        }
        if let Some(rest) = text.trim_start().strip_prefix('!').filter(|rest| !rest.starts_with('=')) {
            return Err(AtomError { message: "not a name".into(), at: 0..text.len() - rest.len() });
        }
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(text.to_owned());
        }
        Ok(number)
    }
}

/// How deep a formula may nest.
const DEEPEST: u32 = 200;
/// How many tokens it may have.
const LONGEST: usize = 8192;

/// Reads a formula.
pub fn parse(text: &str, atoms: &mut dyn Atoms) -> Result<Ltl, ParseError> {
    parse_with(text, atoms, Chains::Refused)
}

/// Reads a formula in which chains mean what `chains` says.
pub fn parse_with(text: &str, atoms: &mut dyn Atoms, chains: Chains) -> Result<Ltl, ParseError> {
    let tokens = lex(text, atoms)?;
    if tokens.len() > LONGEST {
        return Err(ParseError::new(0..text.len(), "the formula is too long"));
    }
    let mut parser = Parser { text, tokens: &tokens, atoms, chains };
    parser.formula(0..tokens.len(), 0)
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    atoms: &'a mut dyn Atoms,
    chains: Chains,
}

impl Parser<'_> {
    fn span(&self, part: &Range<usize>) -> Range<usize> {
        match (self.tokens.get(part.start), part.end.checked_sub(1).and_then(|n| self.tokens.get(n))) {
            (Some(first), Some(last)) if part.start < part.end => first.at.start..last.at.end,
            (Some(next), _) => next.at.start..next.at.start,
            _ => self.text.len()..self.text.len(),
        }
    }

    /// The tokens of a part outside its brackets.
    fn outer(&self, part: &Range<usize>) -> Vec<usize> {
        let mut outer = Vec::new();
        let mut at = part.start;
        while at < part.end {
            outer.push(at);
            at = match self.tokens[at].kind {
                Kind::Open => self.tokens[at].closed_by,
                _ => at + 1,
            };
        }
        outer
    }

    fn formula(&mut self, part: Range<usize>, depth: u32) -> Result<Ltl, ParseError> {
        if depth > DEEPEST {
            return Err(ParseError::new(self.span(&part), "the formula nests too deeply"));
        }
        if part.is_empty() {
            return Err(ParseError::new(self.span(&part), "a formula is expected here"));
        }
        if self.tokens[part.clone()].iter().any(|token| token.kind.is_temporal()) {
            self.operator(part, depth)
        } else {
            self.expression(part, depth)
        }
    }

    /// A part without temporal operators: an expression of the model's language. Where that language does not know the
    /// whole, its Boolean operators may be those of formulas.
    fn expression(&mut self, mut part: Range<usize>, depth: u32) -> Result<Ltl, ParseError> {
        let in_parentheses = |part: &Range<usize>| {
            let first = &self.tokens[part.start];
            first.kind == Kind::Open
                && first.closed_by + 1 == part.end
                && part.len() > 2
                && self.text[first.at.clone()].starts_with('(')
        };
        while in_parentheses(&part) {
            part = part.start + 1..part.end - 1;
        }
        let span = self.span(&part);
        let text = &self.text[span.clone()];
        match text {
            "true" | "1" => return Ok(Ltl::True),
            "false" | "0" => return Ok(Ltl::False),
            _ => {}
        }
        let problem = match self.atoms.atom(text) {
            Ok(number) => return Ok(Ltl::Atom(number)),
            Err(error) => {
                let at =
                    span.start + error.at.start.min(text.len())..span.start + error.at.end.min(text.len());
                ParseError::new(at, error.message)
            }
        };
        let outer = self.outer(&part);
        let divides = outer.iter().any(|&n| {
            matches!(self.tokens[n].kind, Kind::Binary(_))
                || n == part.start && matches!(self.tokens[n].kind, Kind::Unary(_))
        });
        if !divides {
            return Err(problem);
        }
        self.operator(part, depth).map_err(|_| problem)
    }

    fn operator(&mut self, part: Range<usize>, depth: u32) -> Result<Ltl, ParseError> {
        let outer = self.outer(&part);
        let binary = |n: &usize| match self.tokens[*n].kind {
            Kind::Binary(binary) => Some((*n, binary)),
            _ => None,
        };
        let binaries: Vec<(usize, Binary)> = outer.iter().filter_map(binary).collect();
        if let Some(level) = binaries.iter().map(|(_, binary)| binary.level()).min() {
            let here: Vec<(usize, Binary)> =
                binaries.into_iter().filter(|(_, binary)| binary.level() == level).collect();
            return self.chain(part, &here, depth);
        }
        match self.tokens[part.start].kind {
            Kind::Unary(unary) => {
                let inner = self.formula(part.start + 1..part.end, depth + 1)?;
                Ok(match unary {
                    Unary::Not => inner.not(),
                    Unary::Next => inner.next(),
                    Unary::Always => inner.always(),
                    Unary::Eventually => inner.eventually(),
                })
            }
            Kind::Open if self.tokens[part.start].closed_by + 1 == part.end => {
                self.formula(part.start + 1..part.end - 1, depth + 1)
            }
            _ => {
                let inner = self.tokens[part.clone()].iter().find(|token| token.kind.is_temporal());
                let at = inner.map_or_else(|| self.span(&part), |token| token.at.clone());
                Err(ParseError::new(at, "a temporal operator cannot stand inside an expression of the model"))
            }
        }
    }

    /// Operators of one level, and what stands between them.
    fn chain(
        &mut self,
        part: Range<usize>,
        operators: &[(usize, Binary)],
        depth: u32,
    ) -> Result<Ltl, ParseError> {
        let associative = matches!(operators[0].1, Binary::And | Binary::Or | Binary::Equivalent);
        if operators.len() > 1 && !associative && self.chains == Chains::Refused {
            return Err(ParseError {
                message: "tools differ about what this means".into(),
                at: self.tokens[operators[1].0].at.clone(),
                help: Some("put one side in parentheses".into()),
            });
        }
        let mut from = part.start;
        let mut left: Option<Ltl> = None;
        let mut before: Option<Binary> = None;
        for &(at, binary) in operators.iter().chain([&(part.end, Binary::And)]) {
            let side = self.formula(from..at, depth + 1)?;
            left = Some(match (left, before) {
                (Some(left), Some(operator)) => joined(left, operator, side),
                _ => side,
            });
            before = Some(binary);
            from = at + 1;
        }
        left.ok_or_else(|| ParseError::new(self.span(&part), "a formula is expected here"))
    }
}

fn joined(left: Ltl, operator: Binary, right: Ltl) -> Ltl {
    match operator {
        Binary::Equivalent => left.equivalent(right),
        Binary::Implies => left.implies(right),
        Binary::Or => left.or(right),
        Binary::And => left.and(right),
        Binary::Until => left.until(right),
        Binary::Release => left.release(right),
        Binary::WeakUntil => left.weak_until(right),
        Binary::StrongRelease => left.strong_release(right),
    }
}
