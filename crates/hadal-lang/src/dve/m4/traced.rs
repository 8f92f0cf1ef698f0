//! Text that knows, byte for byte, where in the family file it comes from.

use std::ops::Range;

/// The origin of what no one wrote: a number that was computed, a macro of the library.
const MADE: u32 = u32::MAX;

/// A text with the origins of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traced {
    pub(super) text: String,
    pub(super) origins: Vec<u32>,
}

impl Traced {
    /// Text that was computed; it gets an origin when it is [settled](Traced::settle).
    pub(super) fn made(text: impl Into<String>) -> Self {
        let text = text.into();
        Traced { origins: vec![MADE; text.len()], text }
    }

    /// Adds text that stands together from `origin` on.
    pub(super) fn push(&mut self, text: &str, origin: u32) {
        self.text.push_str(text);
        self.origins.extend((0..text.len() as u32).map(|n| origin.saturating_add(n)));
    }

    /// Adds text that was computed.
    pub(super) fn push_made(&mut self, text: &str) {
        self.text.push_str(text);
        self.origins.resize(self.text.len(), MADE);
    }

    /// Adds another text.
    pub(super) fn append(&mut self, other: &Traced) {
        self.text.push_str(&other.text);
        self.origins.extend_from_slice(&other.origins);
    }

    /// Adds a part of another text.
    pub(super) fn append_part(&mut self, other: &Traced, part: Range<usize>) {
        self.text.push_str(&other.text[part.clone()]);
        self.origins.extend_from_slice(&other.origins[part]);
    }

    /// Texts with commas between them, each in quotes.
    pub(super) fn joined(texts: &[Traced], (open, close): (&str, &str)) -> Self {
        let mut joined = Traced::default();
        for (n, text) in texts.iter().enumerate() {
            if n > 0 {
                joined.push_made(",");
            }
            joined.push_made(open);
            joined.append(text);
            joined.push_made(close);
        }
        joined
    }

    /// What was computed comes from the call at `origin`.
    pub(super) fn settle(&mut self, origin: u32) {
        self.origins.iter_mut().filter(|it| **it == MADE).for_each(|it| *it = origin);
    }
}
