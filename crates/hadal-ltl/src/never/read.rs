//! Never claims as a text: statements with labels, `if`, `do`, `goto`, `break`, `else`, `atomic`, assertions and conditions.

use super::places::{Kind, Place, Places};
use crate::guard::Guard;
use crate::parse::{Atoms, ParseError, parse};
use std::ops::Range;

/// Words that end a condition.
const WORDS: [&str; 4] = ["od", "fi", "unless", "goto"];

pub(super) struct Reader<'a, 'b> {
    text: &'a str,
    at: usize,
    depth: usize,
    atoms: &'b mut dyn Atoms,
    places: Places,
}

/// What surrounds a sequence.
#[derive(Clone, Copy)]
struct Around {
    /// What follows.
    next: Place,
    /// What follows the innermost loop.
    after_loop: Option<Place>,
    /// Inside an atomic sequence.
    atomic: bool,
}

/// The deepest nesting of statements.
const DEEPEST: usize = 200;

impl<'a, 'b> Reader<'a, 'b> {
    pub fn new(text: &'a str, atoms: &'b mut dyn Atoms) -> Self {
        Reader { text, at: 0, depth: 0, atoms, places: Places::default() }
    }

    /// The whole claim.
    pub fn claim(mut self) -> Result<Places, ParseError> {
        self.expect("never")?;
        if !self.take("{") {
            self.name();
            self.expect("{")?;
        }
        let end = self.places.add(Kind::End, false);
        let around = Around { next: end, after_loop: None, atomic: false };
        self.places.initial = self.sequence(around)?;
        self.expect("}")?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.problem("nothing may follow the claim"));
        }
        self.places.connect().map_err(|name| ParseError::new(0..0, format!("there is no label `{name}`")))?;
        Ok(self.places)
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn sees(&self, wanted: &str) -> bool {
        let rest = self.text[self.at..].trim_start();
        let word = wanted.ends_with(|c: char| c.is_alphanumeric());
        rest.starts_with(wanted)
            && !(word && rest[wanted.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    }

    fn take(&mut self, wanted: &str) -> bool {
        let sees = self.sees(wanted);
        if sees {
            self.space();
            self.at += wanted.len();
        }
        sees
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ParseError> {
        if self.take(wanted) { Ok(()) } else { Err(self.problem(format!("`{wanted}` is expected here"))) }
    }

    fn problem(&self, message: impl Into<String>) -> ParseError {
        let start = self.at + (self.text[self.at..].len() - self.text[self.at..].trim_start().len());
        let end = self.text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        ParseError::new(start..end, message)
    }

    fn name(&mut self) -> Option<String> {
        self.space();
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| rest[..length].to_owned())
    }

    fn label(&mut self) -> Option<String> {
        let start = self.at;
        if let Some(name) = self.name()
            && self.take(":")
            && !self.text[self.at..].starts_with(':')
        {
            return Some(name);
        }
        self.at = start;
        None
    }

    /// Statements up to what closes them; where they begin.
    fn sequence(&mut self, around: Around) -> Result<Place, ParseError> {
        while self.take(";") || self.take("->") {}
        if ["}", "::", "od", "fi"].iter().any(|close| self.sees(close)) {
            return Ok(around.next);
        }
        // What follows a statement is not read yet: it gets a place that is connected afterwards.
        let rest = self.places.add(Kind::Pass(around.next), around.atomic);
        let first = self.statement(Around { next: rest, ..around })?;
        let next = self.sequence(around)?;
        self.places.set(rest, Kind::Pass(next));
        Ok(first)
    }

    fn statement(&mut self, around: Around) -> Result<Place, ParseError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.problem("statements are nested too deeply"));
        }
        let mut labels = Vec::new();
        while let Some(label) = self.label() {
            labels.push(label);
        }
        let place = match labels.is_empty() {
            false if self.sees("}") => self.places.add(Kind::Pass(around.next), around.atomic),
            // A jump with a label is a step.
            false if self.sees("goto") || self.sees("break") => {
                let jump = self.unlabelled(around)?;
                self.places.add(Kind::Wait(Guard::always(), jump), around.atomic)
            }
            _ => self.unlabelled(around)?,
        };
        labels.into_iter().for_each(|label| self.places.label(label, place));
        self.depth -= 1;
        Ok(place)
    }

    fn unlabelled(&mut self, around: Around) -> Result<Place, ParseError> {
        let Around { next, atomic, .. } = around;
        if self.take("goto") {
            let name = self.name().ok_or_else(|| self.problem("a label is expected here"))?;
            return Ok(self.places.jump(name, atomic));
        }
        if self.take("break") {
            let after = around.after_loop.ok_or_else(|| self.problem("`break` outside a loop"))?;
            return Ok(self.places.add(Kind::Pass(after), atomic));
        }
        if self.take("atomic") || self.take("d_step") {
            self.expect("{")?;
            // The end of an atomic sequence, where the system moves again.
            let next = self.places.add(Kind::Pass(next), atomic);
            let first = self.sequence(Around { next, atomic: true, ..around })?;
            self.expect("}")?;
            return Ok(self.places.add(Kind::Choice(vec![first]), atomic));
        }
        if self.take("{") {
            let first = self.sequence(around)?;
            self.expect("}")?;
            return Ok(self.places.add(Kind::Choice(vec![first]), atomic));
        }
        if self.take("if") || self.sees("do") {
            let repeats = self.take("do");
            let place = self.places.add(Kind::End, atomic);
            let inside = match repeats {
                true => Around { next: place, after_loop: Some(next), atomic },
                false => around,
            };
            let mut options = Vec::new();
            while self.take("::") {
                options.push(self.sequence(inside)?);
            }
            self.expect(if repeats { "od" } else { "fi" })?;
            if options.is_empty() {
                return Err(self.problem("an option is expected here"));
            }
            self.places.set(place, Kind::Choice(options));
            return Ok(place);
        }
        if self.take("else") {
            return Ok(self.places.add(Kind::Else(next), atomic));
        }
        if self.take("skip") {
            return Ok(self.places.add(Kind::Wait(Guard::always(), next), atomic));
        }
        if self.take("assert") {
            let holds = self.guard()?;
            return Ok(self.places.add(Kind::Assert(holds, next), atomic));
        }
        let condition = self.guard()?;
        Ok(self.places.add(Kind::Wait(condition, next), atomic))
    }

    /// Where a condition ends: at a mark or word outside parentheses.
    fn condition(&mut self) -> Result<Range<usize>, ParseError> {
        self.space();
        let start = self.at;
        let rest = &self.text[start..];
        let mut depth = 0usize;
        let mut end = rest.len();
        for (offset, c) in rest.char_indices() {
            let here = &rest[offset..];
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let before = rest[..offset].chars().next_back();
            let word_starts = before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
            let is_word = |word: &str| {
                here.starts_with(word)
                    && !here[word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            };
            let closes = here.starts_with(';') || here.starts_with("->") || here.starts_with('}');
            let ends =
                closes || here.starts_with("::") || word_starts && WORDS.iter().any(|word| is_word(word));
            if depth == 0 && ends {
                end = offset;
                break;
            }
        }
        let text = rest[..end].trim_end();
        if text.is_empty() {
            return Err(self.problem("a statement or a condition is expected here"));
        }
        self.at = start + text.len();
        Ok(start..start + text.len())
    }

    fn guard(&mut self) -> Result<Guard, ParseError> {
        let range = self.condition()?;
        let formula = parse(&self.text[range.clone()], self.atoms).map_err(|error| ParseError {
            at: error.at.start + range.start..error.at.end + range.start,
            ..error
        })?;
        super::guard(&formula).ok_or_else(|| {
            ParseError::new(range, "a condition has no temporal operators and at most 64 atoms")
        })
    }
}
