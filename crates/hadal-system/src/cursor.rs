//! A place in a short text that is read, and messages that point into it: for expressions on a command line.

/// A text and how far it was read.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    /// The text.
    pub text: &'t str,
    /// Bytes read.
    pub at: usize,
}

impl<'t> Cursor<'t> {
    /// At the beginning of a text.
    pub fn new(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Passes over white space.
    pub fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Passes over white space and `sign`, where that follows.
    pub fn eat(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// [`Cursor::eat`], or a message that it is missing.
    pub fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.eat(sign) { Ok(()) } else { Err(self.error(self.at, 1, &format!("expected `{sign}`"))) }
    }

    /// The message, the text, and a caret under the `width` bytes that are meant.
    pub fn error(&self, at: usize, width: usize, message: &str) -> String {
        let column = self.text[..at].chars().count();
        let end = (at + width).min(self.text.len());
        let width = self.text.get(at..end).map_or(1, |under| under.chars().count()).max(1);
        let shown: String = self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{message}\n  {shown}\n  {}{}", " ".repeat(column), "^".repeat(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_read_behind_spaces_and_mistakes_are_pointed_at() {
        let mut cursor = Cursor::new("  \u{e4}\u{e4} +");
        assert!(!cursor.eat("+"));
        assert_eq!(cursor.at, 2);
        let error = cursor.error(2, 4, "what?");
        assert_eq!(error, "what?\n    \u{e4}\u{e4} +\n    ^^");
        assert_eq!(cursor.expect("+").unwrap_err().lines().last(), Some("    ^"));
        cursor.at = 6;
        assert!(cursor.eat("+") && cursor.rest().is_empty());
    }
}
