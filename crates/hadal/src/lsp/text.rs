//! A text with its lines: byte offsets to positions of the protocol (UTF-16 columns, from 0) and back.

use hadal_system::{Source, Span};
use serde_json::{Value, json};

/// An open text.
pub struct Text {
    /// The text, under the name that messages use.
    pub source: Source,
    /// The offset of each line's first byte.
    lines: Vec<usize>,
}

impl Text {
    /// The text of `source`.
    pub fn new(source: Source) -> Self {
        let starts = source.text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Text { source, lines }
    }

    /// The byte at a position; the end of the line where the position lies behind it.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let Some(&start) = self.lines.get(line) else { return self.source.text.len() };
        let rest = &self.source.text[start..];
        let mut units = 0;
        for (at, c) in rest.char_indices() {
            if units >= column || c == '\n' {
                return start + at;
            }
            units += c.len_utf16();
        }
        self.source.text.len()
    }

    /// The position of a byte.
    fn position(&self, offset: usize) -> Value {
        let mut offset = offset.min(self.source.text.len());
        while !self.source.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|&start| start <= offset) - 1;
        let column: usize = self.source.text[self.lines[line]..offset].chars().map(char::len_utf16).sum();
        json!({ "line": line, "character": column })
    }

    /// A range of the protocol.
    pub fn range(&self, span: Span) -> Value {
        let (start, end) = (span.start as usize, span.end.max(span.start) as usize);
        json!({ "start": self.position(start), "end": self.position(end) })
    }

    /// The identifier around a byte, if there is one; `more` says which letters names may have beside the usual ones.
    pub fn word(&self, offset: usize, more: fn(char) -> bool) -> Option<&str> {
        let text = &*self.source.text;
        let before = text.get(..offset)?;
        let is_word = |c: char| is_word(c) || more(c);
        let start = before
            .rfind(|c| !is_word(c))
            .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let length = text[start..].find(|c| !is_word(c)).unwrap_or(text.len() - start);
        let word = &text[start..start + length];
        (word.contains(char::is_alphabetic) && !word.starts_with(|c: char| c.is_ascii_digit()))
            .then_some(word)
    }

    /// Where a word first stands by itself, outside of comments: in all of hadal's languages, its declaration.
    pub fn first(&self, word: &str) -> Option<Span> {
        self.within(Span::new(0, self.source.text.len()), word)
    }

    /// Where a word first stands by itself in a part of the text, outside of comments. Large letters count as small ones
    /// where nothing else fits: planning texts do not tell them apart.
    pub fn within(&self, part: Span, word: &str) -> Option<Span> {
        let text = &*self.source.text;
        let part =
            text.get(part.start as usize..part.end as usize).map(|found| (part.start as usize, found))?;
        let whole = |&at: &usize| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word) && !self.in_comment(at)
        };
        let find = |text: &str, word: &str| text.match_indices(word).map(|(at, _)| part.0 + at).find(whole);
        let at =
            find(part.1, word).or_else(|| find(&part.1.to_ascii_lowercase(), &word.to_ascii_lowercase()))?;
        Some(Span::new(at, at + word.len()))
    }

    /// Whether a line comment begins before `at` in its line.
    fn in_comment(&self, at: usize) -> bool {
        let start = self.lines[self.lines.partition_point(|&start| start <= at) - 1];
        let before = &self.source.text[start..at];
        ["--", "//", "/*", ";"].iter().any(|opening| match *opening {
            // A semicolon opens a comment in the planning languages only, where it stands first.
            ";" => before.trim_start().starts_with(';'),
            other => before.contains(other) && !before.contains("*/"),
        })
    }

    /// The line that a span begins in, without white space around it.
    pub fn line_of(&self, span: Span) -> &str {
        let line = self.lines.partition_point(|&start| start <= span.start as usize) - 1;
        self.source.text[self.lines[line]..].lines().next().unwrap_or("").trim()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
