//! UPPAAL's plain text format, and files of queries.

use super::ast::{Document, Edge, Location, Query, Template, Term};
use super::lex::{Markup, Piece};
use super::parse::Parser;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use hadal_system::{Source, Span};

/// Reads a model; what is wrong stands in the findings.
pub(super) fn document(text: &str, findings: &mut Diagnostics) -> Option<Document> {
    let piece = Piece { text, start: 0, markup: Markup::Plain };
    let mut parser = Parser::new(piece, &[], findings);
    let mut document = Document::default();
    loop {
        let declarations = parser.declarations()?;
        document.declarations.extend(declarations);
        if !parser.takes("process") {
            break;
        }
        let template = process(&mut parser)?;
        document.templates.push(template);
    }
    parser.system(&mut document)?;
    parser.end()?;
    Some(document)
}

fn process(parser: &mut Parser) -> Option<Template> {
    let (name, span) = parser.word()?;
    let outer = parser.types.len();
    let mut template = Template { name, span, ..Template::default() };
    parser.expect("(")?;
    template.parameters = parser.parameters()?;
    parser.expect(")")?;
    parser.expect("{")?;
    template.declarations = parser.declarations()?;
    while !parser.takes("}") {
        if parser.takes("state") {
            list(parser, |parser| {
                let (name, span) = parser.word()?;
                let mut location = Location { id: name.clone(), name, span, ..Location::default() };
                if parser.takes("{") {
                    if !parser.is("}") {
                        location.invariant = Some(parser.term()?);
                    }
                    parser.expect("}")?;
                }
                template.locations.push(location);
                Some(())
            })?;
        } else if parser.is("commit") || parser.is("urgent") {
            let committed = parser.takes("commit");
            if !committed {
                parser.next();
            }
            list(parser, |parser| {
                let (name, span) = parser.word()?;
                match template.locations.iter_mut().find(|location| location.id == name) {
                    Some(location) if committed => location.committed = true,
                    Some(location) => location.urgent = true,
                    None => {
                        parser.findings.push(Diagnostic::error(span, format!("there is no state `{name}`")));
                    }
                }
                Some(())
            })?;
        } else if parser.takes("init") {
            template.initial = Some(parser.word()?.0);
            parser.expect(";")?;
        } else if parser.takes("trans") {
            let mut from = String::new();
            list(parser, |parser| {
                let edge = transition(parser, &from)?;
                from = edge.from.clone();
                template.edges.push(edge);
                Some(())
            })?;
        } else {
            return parser.refuse("`state`, `commit`, `urgent`, `init`, `trans` or `}`");
        }
    }
    parser.types.truncate(outer);
    Some(template)
}

/// Items parted by commas, up to a semicolon.
fn list(parser: &mut Parser, mut item: impl FnMut(&mut Parser) -> Option<()>) -> Option<()> {
    loop {
        item(parser)?;
        if !parser.takes(",") {
            break;
        }
    }
    parser.expect(";")?;
    Some(())
}

fn transition(parser: &mut Parser, before: &str) -> Option<Edge> {
    let span = parser.span();
    // `-> b` starts where the one before started.
    let from = if parser.is("->") { before.to_owned() } else { parser.word()?.0 };
    parser.expect("->")?;
    let (to, _) = parser.word()?;
    let mut edge = Edge { from, to, span, ..Edge::default() };
    parser.expect("{")?;
    while !parser.takes("}") {
        if parser.takes("select") {
            edge.select = parser.selections()?;
        } else if parser.takes("guard") {
            let mut guards = Vec::new();
            loop {
                guards.push(parser.term()?);
                if !parser.takes(",") {
                    break;
                }
            }
            edge.guard = guards.into_iter().reduce(|left, right| {
                let span = left.span.to(right.span);
                let kind = super::ast::TermKind::Binary(
                    hadal_system::BinaryOp::And,
                    Box::new(left),
                    Box::new(right),
                );
                super::ast::Term { kind, span }
            });
        } else if parser.takes("sync") {
            edge.sync = Some(parser.sync()?);
        } else if parser.takes("assign") {
            loop {
                edge.update.push(parser.term()?);
                if !parser.takes(",") {
                    break;
                }
            }
        } else {
            return parser.refuse("`select`, `guard`, `sync`, `assign` or `}`");
        }
        parser.expect(";")?;
    }
    Some(edge)
}

/// An expression that stands alone; its place means nothing in the model.
pub(super) fn proposition(text: &str, findings: &mut Diagnostics) -> Option<Term> {
    let mut parser = Parser::new(Piece { text, start: 0, markup: Markup::Plain }, &[], findings);
    let term = parser.term()?;
    parser.is_end().then_some(Term { span: Span::default(), ..term })
}

/// The queries of a text that is not the model's, a `.q` file say: one a line, comments between.
pub(super) fn queries(source: &Source, findings: &mut Diagnostics) -> Vec<Query> {
    let text: &str = &source.text;
    let mut all = Vec::new();
    let mut in_comment = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if in_comment || trimmed.starts_with("/*") {
            in_comment = !trimmed.ends_with("*/");
            continue;
        }
        if trimmed.is_empty() || trimmed.starts_with("//") {
            continue;
        }
        let start = trimmed.as_ptr() as usize - text.as_ptr() as usize;
        let piece = Piece { text: trimmed, start, markup: Markup::Plain };
        let mut aside = Diagnostics::default();
        let query = Parser::new(piece, &[], &mut aside).query(trimmed.to_owned());
        all.extend(query.map(|query| Query { source: Some(source.clone()), ..query }));
        // A query that cannot be read does not refuse the model.
        let severity = Severity::Warning;
        let placed = |finding| Diagnostic { elsewhere: Some(source.clone()), severity, ..finding };
        aside.list.into_iter().map(placed).for_each(|finding| findings.push(finding));
    }
    all
}
