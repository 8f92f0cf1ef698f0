//! Where things stand in the model's text: spans, and the text they point into.
//!
//! Every expression, action and property of a [`crate::System`] carries a [`Span`], so that an error met
//! while running can still point at the line that caused it.

use std::sync::Arc;

/// A half-open range of byte offsets into a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        // Sources are refused above 4 GiB when read, so the casts cannot cut anything off.
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A model's text with the name a person knows it by (usually its path).
///
/// Where macros stand between what a person wrote and what is read, it is the expanded text that spans point into; places
/// are told in the [original](Source::original).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// What to call it in messages.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    template: Option<Arc<Template>>,
}

/// What a text was expanded from.
#[derive(Debug, PartialEq, Eq)]
struct Template {
    text: Arc<str>,
    /// For every byte of the expanded text, the offset in the template that it comes from.
    origins: Vec<u32>,
}

/// A place in a source as people count: from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Source {
    /// A source with this name and text.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Source { name: name.into(), text: text.into(), template: None }
    }

    /// The text that this one expands to; each of its bytes comes from the offset in `origins`.
    pub fn expanded(&self, text: impl Into<Arc<str>>, origins: Vec<u32>) -> Self {
        let template = Template { text: Arc::clone(&self.text), origins };
        Source { name: Arc::clone(&self.name), text: text.into(), template: Some(Arc::new(template)) }
    }

    /// Whether this is what macros made of another text.
    pub fn is_expanded(&self) -> bool {
        self.template.is_some()
    }

    /// The text that a person wrote.
    pub fn original_text(&self) -> &str {
        self.template.as_ref().map_or(&self.text, |template| &template.text)
    }

    /// Where in the [text that a person wrote](Source::original_text) a span comes from.
    pub fn original(&self, span: Span) -> Span {
        let Some(template) = &self.template else { return span };
        let at = |offset: u32| template.origins.get(offset as usize).copied();
        let length = template.text.len() as u32;
        let Some(start) = at(span.start).or_else(|| template.origins.last().copied()) else {
            return Span { start: 0, end: length.min(1) };
        };
        let start = start.min(length);
        let last = at(span.end.max(span.start + 1) - 1).unwrap_or(start).min(length.saturating_sub(1));
        let line_ends = template.text[start as usize..].find('\n').map_or(length, |at| start + at as u32);
        // What macros put together may come from two places: the first is shown.
        let word = template.text[start as usize..]
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(length, |at| start + at as u32);
        let end = if last >= start && last < line_ends { last + 1 } else { word };
        Span { start, end: end.max((start + 1).min(length)) }
    }

    /// The text under `span`, or an empty string where the span does not fall on the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Line and column of the start of `span`, in the text that a person wrote.
    pub fn locate(&self, span: Span) -> LineColumn {
        let (text, span) = (self.original_text(), self.original(span));
        let mut offset = (span.start as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        LineColumn { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locates_lines_and_columns_from_one() {
        let source = Source::new("m", "ab\ncdé\nf");
        assert_eq!(source.locate(Span::new(0, 1)), LineColumn { line: 1, column: 1 });
        assert_eq!(source.locate(Span::new(4, 5)), LineColumn { line: 2, column: 2 });
        assert_eq!(source.locate(Span::new(8, 9)), LineColumn { line: 3, column: 1 });
        assert_eq!(source.slice(Span::new(3, 5)), "cd");
    }

    #[test]
    fn an_expanded_text_is_located_in_its_template() {
        let template = Source::new("m", "a\nrepeat(b c)\n");
        // `b c` twice; the space between them is made up by the call at 2.
        let expanded = template.expanded("b c b c", vec![9, 10, 11, 2, 9, 10, 11]);
        assert_eq!(expanded.locate(Span::new(4, 5)), LineColumn { line: 2, column: 8 });
        assert_eq!(expanded.original(Span::new(4, 7)), Span::new(9, 12));
        // From the end of one to the beginning of the other: the word where it begins.
        assert_eq!(expanded.original(Span::new(2, 5)), Span::new(11, 12));
        assert_eq!(expanded.original(Span::new(7, 7)), Span::new(11, 12));
        assert_eq!(expanded.slice(Span::new(4, 7)), "b c");
    }
}
