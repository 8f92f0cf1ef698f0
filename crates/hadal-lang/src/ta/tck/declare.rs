//! Cuts a text into declarations: fields parted by colons, and attributes in braces that may go over several lines.

use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// A piece of text and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
}

impl<'t> Piece<'t> {
    pub(super) fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }

    fn trim(self) -> Self {
        let left = self.text.trim_start();
        Piece { text: left.trim_end(), start: self.start + self.text.len() - left.len() }
    }

    fn split(self, at: char) -> Vec<Piece<'t>> {
        let mut start = self.start;
        let mut pieces = Vec::new();
        for text in self.text.split(at) {
            pieces.push(Piece { text, start }.trim());
            start += text.len() + at.len_utf8();
        }
        pieces
    }

    /// Parted by commas.
    pub(super) fn list(self) -> Vec<Piece<'t>> {
        self.split(',').into_iter().filter(|piece| !piece.text.is_empty()).collect()
    }
}

/// One declaration.
#[derive(Clone, Debug)]
pub(super) struct Declaration<'t> {
    /// `process`, `edge` and so on, then the rest.
    pub(super) fields: Vec<Piece<'t>>,
    /// Names with values.
    pub(super) attributes: Vec<(Piece<'t>, Piece<'t>)>,
}

impl<'t> Declaration<'t> {
    pub(super) fn span(&self) -> Span {
        let first = self.fields[0].span();
        self.fields.iter().fold(first, |span, field| span.to(field.span()))
    }

    pub(super) fn attribute(&self, name: &str) -> Option<Piece<'t>> {
        self.attributes.iter().find(|(key, _)| key.text == name).map(|(_, value)| *value)
    }
}

/// All declarations of a text.
pub(super) fn declarations<'t>(text: &'t str, findings: &mut Diagnostics) -> Vec<Declaration<'t>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        let line = &text[at..line_end];
        let comment = line.find('#').map_or(line_end, |hash| at + hash);
        let brace = text[at..comment].find('{').map(|brace| at + brace);
        let head_end = brace.unwrap_or(comment);
        let head = Piece { text: &text[at..head_end], start: at }.trim();
        if head.text.is_empty() && brace.is_none() {
            at = line_end + 1;
            continue;
        }
        let mut fields = head.split(':');
        while fields.len() > 1 && fields.last().is_some_and(|field| field.text.is_empty()) {
            fields.pop();
        }
        let mut declaration = Declaration { fields, attributes: Vec::new() };
        at = line_end + 1;
        if let Some(open) = brace {
            match text[open..].find('}') {
                Some(length) => {
                    let inside = Piece { text: &text[open + 1..open + length], start: open + 1 };
                    declaration.attributes = attributes(inside, findings);
                    let end = open + length + 1;
                    at = text[end..].find('\n').map_or(text.len(), |more| end + more + 1);
                    let rest =
                        Piece { text: text[end..at.max(end)].trim_end_matches('\n'), start: end }.trim();
                    if !rest.text.is_empty() && !rest.text.starts_with('#') {
                        findings.push(Diagnostic::error(rest.span(), "nothing may follow the attributes"));
                    }
                }
                None => {
                    findings.push(
                        Diagnostic::error(Span::new(open, open + 1), "the attributes do not end")
                            .label("expected `}`"),
                    );
                    at = text.len();
                }
            }
        }
        all.push(declaration);
    }
    all
}

fn attributes<'t>(inside: Piece<'t>, findings: &mut Diagnostics) -> Vec<(Piece<'t>, Piece<'t>)> {
    let pieces = inside.split(':');
    if pieces.len() == 1 && pieces[0].text.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut next = pieces.into_iter().peekable();
    while let Some(key) = next.next() {
        if key.text.is_empty() && next.peek().is_none() {
            break;
        }
        let value = next.next().unwrap_or(Piece { text: "", start: key.start + key.text.len() });
        let known =
            ["initial", "invariant", "committed", "urgent", "labels", "provided", "do", "rate", "price"];
        if !known.contains(&key.text) {
            findings.push(
                Diagnostic::error(key.span(), format!("unknown attribute `{}`", key.text))
                    .help(format!("attributes are {}", known.join(", "))),
            );
        }
        all.push((key, value));
    }
    all
}
