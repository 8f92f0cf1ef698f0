//! Queries.

use super::super::ast::{Query, QueryKind, Term, TermKind};
use super::super::lex::Token;
use super::Parser;
use crate::diagnostic::Diagnostic;

/// What is answered.
const KNOWN: &str =
    "this query is left out: hadal answers `E<>`, `A[]`, `A<>`, `E[]`, `-->`, `sup` and `inf`";

impl Parser<'_> {
    /// One query; `None` where it is not one that can be answered, with the reason as a warning.
    pub(in super::super) fn query(&mut self, text: String) -> Option<Query> {
        let span = self.span();
        let errors = self.findings.list.len();
        let measures = matches!(self.peek_at(1), Token::Sign("{" | ":"));
        let kind = if self.takes("E<>") {
            QueryKind::Possibly
        } else if self.takes("A[]") {
            QueryKind::Always
        } else if self.takes("A<>") {
            QueryKind::Eventually
        } else if self.takes("E[]") {
            QueryKind::ForEver
        } else if measures && self.takes("sup") {
            QueryKind::Most
        } else if measures && self.takes("inf") {
            QueryKind::Least
        } else {
            QueryKind::LeadsTo
        };
        let (mut response, mut measured) = (None, Vec::new());
        let formula = match kind {
            QueryKind::Most | QueryKind::Least => self.measured(&text, &mut measured),
            QueryKind::LeadsTo => {
                let formula = self.term();
                if formula.is_none() || !self.takes("-->") {
                    self.findings.list.truncate(errors);
                    self.findings.push(Diagnostic::warning(span, KNOWN).label("here"));
                    return None;
                }
                response = self.term();
                formula.filter(|_| response.is_some())
            }
            _ => self.term(),
        };
        match formula.filter(|_| self.is_end()) {
            Some(formula) => Some(Query { text, kind, formula, response, measured, span, source: None }),
            None => {
                // A query that cannot be read does not refuse the model.
                let at = self.findings.list.get(errors).map_or(self.span(), |finding| finding.span);
                self.findings.list.truncate(errors);
                self.findings
                    .push(Diagnostic::warning(at, "this query is left out: it cannot be read").label("here"));
                None
            }
        }
    }

    /// `{p}: x, y` or `: x, y`: which states count; what is measured goes into `measured`.
    fn measured(&mut self, text: &str, measured: &mut Vec<(String, Term)>) -> Option<Term> {
        let everywhere = Term { kind: TermKind::Number(1), span: self.span() };
        let among = match self.takes("{") {
            true => {
                let among = self.term()?;
                self.expect("}")?;
                among
            }
            false => everywhere,
        };
        self.expect(":")?;
        let mut terms = vec![self.term()?];
        while self.takes(",") {
            terms.push(self.term()?);
        }
        measured.extend(listed(text, terms.len()).into_iter().zip(terms));
        Some(among)
    }
}

/// The text of each of the last `count` parts that commas outside brackets part.
fn listed(text: &str, count: usize) -> Vec<String> {
    let (mut depth, mut parts, mut end) = (0, Vec::new(), text.len());
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' => depth -= 1,
            ',' | ':' if depth == 0 && parts.len() < count => {
                parts.push(text[at + 1..end].trim().to_owned());
                end = at;
            }
            _ => {}
        }
    }
    parts.reverse();
    parts
}
