//! A place in a text that moves forward: what a lexer reads with.
//!
//! Places are byte offsets that always lie between characters, so no input makes a cursor panic.

use hadal_system::Span;

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// How a comment, or whatever else runs up to a closing mark, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// By its closing mark.
    Yes,
    /// The text ended first.
    No,
}

impl<'t> Cursor<'t> {
    /// At the beginning of `text`.
    pub fn new(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    /// The whole text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The offset of the next character, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is left.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether `mark` comes next.
    pub fn starts_with(&self, mark: &str) -> bool {
        self.rest().starts_with(mark)
    }

    /// Takes the next character.
    pub fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes the next `bytes`, and what is left of a character that they would cut, or all there is.
    pub fn take(&mut self, bytes: usize) -> &'t str {
        let begin = self.at;
        let mut end = begin.saturating_add(bytes).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        self.at = end;
        &self.text[begin..end]
    }

    /// Takes `mark`, if it comes next.
    pub fn eat(&mut self, mark: &str) -> bool {
        let found = self.starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    /// Takes characters as long as they are wanted.
    pub fn take_while(&mut self, wanted: impl FnMut(char) -> bool) -> &'t str {
        let length = length_while(self.rest(), wanted);
        self.take(length)
    }

    /// Takes the rest of the line, not the line feed that ends it.
    pub fn take_line(&mut self) -> &'t str {
        self.take_while(|c| c != '\n')
    }

    /// Takes everything up to and with `mark`, or all there is.
    pub fn take_through(&mut self, mark: &str) -> Closed {
        match self.rest().find(mark) {
            Some(length) => {
                self.at += length + mark.len();
                Closed::Yes
            }
            None => {
                self.at = self.text.len();
                Closed::No
            }
        }
    }

    /// Whether only blanks stand before this place on its line.
    pub fn opens_a_line(&self) -> bool {
        self.text[..self.at].chars().rev().find(|c| !matches!(c, ' ' | '\t' | '\r')).is_none_or(|c| c == '\n')
    }

    /// From `begin`, where the cursor was, to where it is.
    pub fn span_from(&self, begin: usize) -> Span {
        Span::new(begin, self.at)
    }
}

/// The length in bytes of what `text` begins with and is wanted.
pub fn length_while(text: &str, mut wanted: impl FnMut(char) -> bool) -> usize {
    text.find(|c| !wanted(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_moves_over_characters_not_into_them() {
        let mut cursor = Cursor::new("aé→b\n  c");
        assert_eq!(cursor.bump(), Some('a'));
        assert_eq!(cursor.take(1), "é");
        assert!(cursor.eat("→"));
        assert!(!cursor.eat("→"));
        assert_eq!(cursor.take_line(), "b");
        assert_eq!(cursor.take_while(char::is_whitespace), "\n  ");
        assert!(cursor.opens_a_line());
        assert_eq!(cursor.take(100), "c");
        assert!(cursor.is_at_end());
        assert_eq!(cursor.bump(), None);
    }

    #[test]
    fn what_is_never_closed_takes_everything() {
        let mut cursor = Cursor::new("/* a */ b /* c");
        assert_eq!(cursor.take_through("*/"), Closed::Yes);
        assert_eq!(cursor.rest(), " b /* c");
        assert_eq!(cursor.take_through("*/"), Closed::No);
        assert!(cursor.is_at_end());
    }
}
