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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// What to call it in messages.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
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
        Source { name: name.into(), text: text.into() }
    }

    /// The text under `span`, or an empty string where the span does not fall on the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Line and column of the start of `span`.
    pub fn locate(&self, span: Span) -> LineColumn {
        let mut offset = (span.start as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
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
}
