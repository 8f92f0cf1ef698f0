//! UPPAAL's XML: the frame is read by an XML parser, the text inside by ours. Entities are decoded while reading tokens, so
//! that carets fit the file.

use super::ast::{Document, Edge, Location, Template};
use super::lex::{Markup, Piece};
use super::parse::Parser;
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;
use roxmltree::{Node, ParsingOptions};

/// Reads a model; `None` where its frame is broken.
pub(super) fn document(text: &str, findings: &mut Diagnostics) -> Option<Document> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let tree = match roxmltree::Document::parse_with_options(text, options) {
        Ok(tree) => tree,
        Err(error) => {
            let at = offset(text, error.pos());
            findings.push(Diagnostic::error(Span::new(at, at + 1), format!("not well-formed XML: {error}")));
            return None;
        }
    };
    let root = tree.root_element();
    if root.tag_name().name() != "nta" {
        let span = Span::new(root.range().start, root.range().start + 4);
        findings.push(Diagnostic::error(span, "not an UPPAAL model").label("expected `<nta>`"));
        return None;
    }
    let mut reader = Reader { text, types: Vec::new(), findings };
    let mut document = Document::default();
    if let Some(declarations) = child(root, "declaration") {
        let mut parser = reader.parser(declarations);
        document.declarations = parser.declarations().unwrap_or_default();
        if !parser.is_end() {
            parser.refuse::<()>("a declaration");
        }
        reader.types = parser.types;
    }
    for node in root.children().filter(|node| node.is_element()) {
        match node.tag_name().name() {
            "template" => document.templates.push(reader.template(node)),
            "instantiation" | "system" => {
                let mut parser = reader.parser(node);
                if node.tag_name().name() == "instantiation" && parser.is_end() {
                    continue;
                }
                parser.system(&mut document);
            }
            "queries" => reader.queries(node, &mut document),
            "lsc" => {
                let span = Span::new(node.range().start, node.range().start + 4);
                reader.findings.push(Diagnostic::error(span, "live sequence charts are not supported"));
            }
            _ => {}
        }
    }
    Some(document)
}

fn offset(text: &str, at: roxmltree::TextPos) -> usize {
    let line_start: usize = text.split_inclusive('\n').take(at.row as usize - 1).map(str::len).sum();
    (line_start + at.col as usize - 1).min(text.len())
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.tag_name().name() == name)
}

struct Reader<'t, 'f> {
    text: &'t str,
    types: Vec<String>,
    findings: &'f mut Diagnostics,
}

impl<'t> Reader<'t, '_> {
    /// The text inside an element.
    fn piece(&self, node: Node) -> Piece<'t> {
        let texts: Vec<_> = node.children().filter(|child| child.is_text()).collect();
        let (start, end) = match (texts.first(), texts.last()) {
            (Some(first), Some(last)) => (first.range().start, last.range().end),
            _ => (node.range().end, node.range().end),
        };
        Piece { text: &self.text[start..end], start, markup: Markup::Xml }
    }

    fn parser(&mut self, node: Node) -> Parser<'_> {
        let piece = self.piece(node);
        Parser::new(piece, &self.types, self.findings)
    }

    fn name(&self, node: Node) -> String {
        child(node, "name").map_or_else(String::new, |name| self.piece(name).decoded().trim().to_owned())
    }

    fn template(&mut self, node: Node) -> Template {
        let span = Span::new(node.range().start, node.range().start + "<template>".len());
        let mut template = Template { name: self.name(node), span, ..Template::default() };
        let outer = self.types.len();
        if let Some(parameters) = child(node, "parameter") {
            let mut parser = self.parser(parameters);
            template.parameters = parser.parameters().unwrap_or_default();
        }
        if let Some(declarations) = child(node, "declaration") {
            let mut parser = self.parser(declarations);
            template.declarations = parser.declarations().unwrap_or_default();
            if !parser.is_end() {
                parser.refuse::<()>("a declaration");
            }
            self.types = parser.types;
        }
        for part in node.children().filter(|part| part.is_element()) {
            match part.tag_name().name() {
                "location" => template.locations.push(self.location(part)),
                "init" => template.initial = part.attribute("ref").map(str::to_owned),
                "transition" => template.edges.push(self.edge(part)),
                "branchpoint" => {
                    let span = Span::new(part.range().start, part.range().start + 12);
                    self.findings
                        .push(Diagnostic::error(span, "branches with probabilities are not supported"));
                }
                _ => {}
            }
        }
        self.types.truncate(outer);
        template
    }

    fn location(&mut self, node: Node) -> Location {
        let id = node.attribute("id").unwrap_or_default().to_owned();
        let name = self.name(node);
        let span = Span::new(node.range().start, node.range().start + "<location".len());
        let mut location = Location {
            name: if name.is_empty() { id.clone() } else { name },
            id,
            committed: child(node, "committed").is_some(),
            urgent: child(node, "urgent").is_some(),
            span,
            ..Location::default()
        };
        for label in node.children().filter(|label| label.tag_name().name() == "label") {
            match label.attribute("kind") {
                Some("invariant") => {
                    let mut parser = self.parser(label);
                    if !parser.is_end() {
                        location.invariant = parser.term();
                        parser.end();
                    }
                }
                Some("exponentialrate") => {}
                _ => {}
            }
        }
        location
    }

    fn edge(&mut self, node: Node) -> Edge {
        let reference =
            |name: &str| child(node, name).and_then(|it| it.attribute("ref")).unwrap_or_default().to_owned();
        let span = Span::new(node.range().start, node.range().start + "<transition".len());
        let mut edge = Edge { from: reference("source"), to: reference("target"), span, ..Edge::default() };
        for label in node.children().filter(|label| label.tag_name().name() == "label") {
            let kind = label.attribute("kind").unwrap_or_default().to_owned();
            let mut parser = self.parser(label);
            if parser.is_end() {
                continue;
            }
            let place = parser.span();
            match kind.as_str() {
                "select" => edge.select = parser.selections().unwrap_or_default(),
                "guard" => edge.guard = parser.term(),
                "synchronisation" => edge.sync = parser.sync(),
                "assignment" => edge.update = parser.terms().unwrap_or_default(),
                "probability" => {
                    parser.findings.push(Diagnostic::error(place, "probabilities are not supported"));
                    continue;
                }
                _ => continue,
            }
            parser.end();
        }
        edge
    }

    fn queries(&mut self, node: Node, document: &mut Document) {
        for query in node.children().filter(|it| it.tag_name().name() == "query") {
            let Some(formula) = child(query, "formula") else { continue };
            let text = self.piece(formula).decoded().split_whitespace().collect::<Vec<_>>().join(" ");
            let mut parser = self.parser(formula);
            if parser.is_end() {
                continue;
            }
            let query = parser.query(text);
            document.queries.extend(query);
        }
    }
}
