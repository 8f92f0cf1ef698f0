//! The expander: a stack of texts to read, the table of macros, and the diversions that are written to.

mod call;

use super::Failure;
use super::builtin::Builtin;
use super::traced::Traced;
use hadal_system::Span;
use std::collections::HashMap;

/// Bounds on the work of one expansion.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Macro calls.
    pub calls: u64,
    /// Bytes of text produced, pending or written.
    pub bytes: usize,
    /// Calls inside the arguments of calls.
    pub nesting: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { calls: 1_000_000, bytes: 32 << 20, nesting: 100 }
    }
}

/// A family file's model.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// The model's text.
    pub text: String,
    /// For each of its bytes, where in the family file it comes from.
    pub origins: Vec<u32>,
    /// The macros at the end: the parameters and their values among them.
    pub(super) macros: HashMap<String, Vec<Definition>>,
}

impl Expanded {
    /// Expands `text` with the macros the family file ended with (a proposition of its description).
    pub fn expand_further(&self, text: &str) -> Result<String, Failure> {
        let mut expander = Expander::new(text, Limits::default(), self.macros.clone());
        expander.run()?;
        Ok(expander.finish().text)
    }
}

/// What a macro stands for.
#[derive(Clone, Debug)]
pub(super) enum Definition {
    /// This text, with `$1` and so on to be filled in.
    Text(Traced),
    /// Something that computes.
    Builtin(Builtin),
}

/// Expands a family file, with `parameters` defined first.
pub fn expand(text: &str, parameters: &[(String, String)], limits: Limits) -> Result<Expanded, Failure> {
    let mut macros: HashMap<String, Vec<Definition>> = HashMap::new();
    for (name, builtin) in Builtin::table() {
        macros.insert(name.to_string(), vec![Definition::Builtin(builtin)]);
    }
    for (name, definition) in super::library::DEFINITIONS {
        macros.insert(name.to_string(), vec![Definition::Text(Traced::made(definition))]);
    }
    for (name, value) in parameters {
        macros.insert(name.clone(), vec![Definition::Text(Traced::made(value))]);
    }
    let mut expander = Expander::new(text, limits, macros);
    expander.run()?;
    let macros = std::mem::take(&mut expander.macros);
    let Traced { text, origins } = expander.finish();
    Ok(Expanded { text, origins, macros })
}

/// What the reader sees next.
enum Piece {
    /// Something that may name a macro, and where it comes from.
    Word(String, u32),
    /// The inside of a quotation.
    Quoted(Traced),
    /// A comment or a character that stands for itself, and where it comes from.
    Plain(String, u32),
}

pub(super) struct Expander<'t> {
    source: &'t str,
    source_at: usize,
    /// Where the macro call that is being worked on begins in the source.
    call_at: usize,
    /// Where the word that is being called comes from.
    called_from: u32,
    /// Texts to be read before the source, the next one last, each with how much of it is read.
    pending: Vec<(Traced, usize)>,
    pending_bytes: usize,
    pub(super) macros: HashMap<String, Vec<Definition>>,
    pub(super) quotes: (String, String),
    pub(super) comment: Option<String>,
    /// Where output goes: 0 is the text, 1 to 9 are kept for `undivert`, below 0 is dropped.
    pub(super) diversion: i32,
    output: Vec<Traced>,
    written: usize,
    calls: u64,
    limits: Limits,
}

/// Number of diversions that are kept.
const DIVERSIONS: usize = 10;

impl<'t> Expander<'t> {
    fn new(source: &'t str, limits: Limits, macros: HashMap<String, Vec<Definition>>) -> Self {
        Expander {
            source,
            source_at: 0,
            call_at: 0,
            called_from: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            macros,
            quotes: ("`".to_string(), "'".to_string()),
            comment: Some("//".to_string()),
            diversion: 0,
            output: vec![Traced::default(); DIVERSIONS],
            written: 0,
            calls: 0,
            limits,
        }
    }

    fn run(&mut self) -> Result<(), Failure> {
        while let Some(piece) = self.next_piece()? {
            match piece {
                Piece::Word(word, origin) => {
                    if !self.call_if_macro((&word, origin), 0)? {
                        self.write(|output| output.push(&word, origin))?;
                    }
                }
                Piece::Quoted(text) => self.write(|output| output.append(&text))?,
                Piece::Plain(text, origin) => self.write(|output| output.push(&text, origin))?,
            }
        }
        Ok(())
    }

    /// The text: what was written, then what was diverted and never asked for.
    fn finish(self) -> Traced {
        let mut whole = Traced::default();
        self.output.iter().for_each(|part| whole.append(part));
        whole
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Failure> {
        Err(Failure {
            span: Span::new(self.call_at, self.source_at.max(self.call_at)),
            message: message.into(),
            help: None,
        })
    }

    fn write(&mut self, add: impl FnOnce(&mut Traced)) -> Result<(), Failure> {
        let Ok(slot) = usize::try_from(self.diversion) else { return Ok(()) };
        let output = &mut self.output[slot.min(DIVERSIONS - 1)];
        let before = output.text.len();
        add(output);
        self.written += output.text.len() - before;
        if self.written > self.limits.bytes {
            return self.fail("the family file expands to too much text");
        }
        Ok(())
    }

    /// Moves a diversion's text into the current one.
    pub(super) fn undivert(&mut self, slot: usize) -> Result<(), Failure> {
        if slot == 0 || slot >= DIVERSIONS || self.diversion == slot as i32 {
            return Ok(());
        }
        let text = std::mem::take(&mut self.output[slot]);
        self.write(|output| output.append(&text))
    }

    /// Puts text in front of what is still to be read. What no one wrote comes from the call being worked on.
    pub(super) fn push_back(&mut self, mut text: Traced) -> Result<(), Failure> {
        if text.text.is_empty() {
            return Ok(());
        }
        self.pending_bytes += text.text.len();
        if self.pending_bytes > self.limits.bytes {
            return self.fail("a macro expands to too much text");
        }
        text.settle(self.called_from);
        self.pending.push((text, 0));
        Ok(())
    }

    /// The same with text that was computed.
    pub(super) fn push_back_made(&mut self, text: impl Into<String>) -> Result<(), Failure> {
        self.push_back(Traced::made(text))
    }

    /// The text that is read next, without what was read of it.
    fn front(&mut self) -> &str {
        while let Some((text, at)) = self.pending.last() {
            if *at < text.text.len() {
                break;
            }
            self.pending_bytes -= text.text.len();
            self.pending.pop();
        }
        match self.pending.last() {
            Some((text, at)) => &text.text[*at..],
            None => &self.source[self.source_at..],
        }
    }

    /// Where what is read next comes from.
    fn origin(&mut self) -> u32 {
        self.front();
        match self.pending.last() {
            Some((text, at)) => text.origins[*at],
            None => self.source_at as u32,
        }
    }

    fn consume(&mut self, bytes: usize) {
        match self.pending.last_mut() {
            Some((_, at)) => *at += bytes,
            None => self.source_at += bytes,
        }
    }

    /// Whether the text to be read starts with `word`, across the seams of pending texts.
    fn looking_at(&mut self, word: &str) -> bool {
        let front = self.front();
        if front.len() >= word.len() {
            return front.starts_with(word);
        }
        if !word.starts_with(front) {
            return false;
        }
        let mut rest = &word[front.len()..];
        let below = self.pending.len().saturating_sub(1);
        for (text, at) in self.pending[..below].iter().rev() {
            let text = &text.text[*at..];
            if text.len() >= rest.len() {
                return text.starts_with(rest);
            }
            if !rest.starts_with(text) {
                return false;
            }
            rest = &rest[text.len()..];
        }
        !self.pending.is_empty() && self.source[self.source_at..].starts_with(rest)
    }

    fn peek_char(&mut self) -> Option<char> {
        self.front().chars().next()
    }

    fn next_char(&mut self) -> Option<char> {
        let next = self.peek_char()?;
        self.consume(next.len_utf8());
        Some(next)
    }

    fn consume_word(&mut self, word: &str) {
        for _ in word.chars() {
            self.next_char();
        }
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, Failure> {
        let Some(first) = self.peek_char() else { return Ok(None) };
        if self.pending.is_empty() {
            self.call_at = self.source_at;
        }
        let origin = self.origin();
        if let Some(comment) = self.comment.clone()
            && self.looking_at(&comment)
        {
            return Ok(Some(Piece::Plain(self.read_comment(), origin)));
        }
        let open = self.quotes.0.clone();
        if !open.is_empty() && self.looking_at(&open) {
            return self.read_quoted().map(|text| Some(Piece::Quoted(text)));
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Some(Piece::Word(self.read_word(), origin)));
        }
        self.next_char();
        Ok(Some(Piece::Plain(first.to_string(), origin)))
    }

    /// A comment goes to the end of its line and is not looked into.
    fn read_comment(&mut self) -> String {
        let mut text = String::new();
        while let Some(next) = self.next_char() {
            text.push(next);
            if next == '\n' {
                break;
            }
        }
        text
    }

    fn read_quoted(&mut self) -> Result<Traced, Failure> {
        let (open, close) = self.quotes.clone();
        self.consume_word(&open);
        let start = self.call_at;
        let mut depth = 1u32;
        let mut text = Traced::default();
        loop {
            let origin = self.origin();
            if self.looking_at(&close) {
                self.consume_word(&close);
                depth -= 1;
                if depth == 0 {
                    return Ok(text);
                }
                text.push(&close, origin);
            } else if self.looking_at(&open) {
                self.consume_word(&open);
                depth += 1;
                text.push(&open, origin);
            } else if let Some(next) = self.next_char() {
                text.push(next.encode_utf8(&mut [0; 4]), origin);
            } else {
                return Err(Failure {
                    span: Span::new(start, start + 1),
                    message: format!("this quotation is not closed: `{close}` is missing"),
                    help: Some("m4 quotes open with ` and close with '".to_string()),
                });
            }
        }
    }

    /// A word: letters, digits and underscores, and one `!` or `?` at its end where that names a macro.
    fn read_word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.peek_char().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            word.push(next);
            self.next_char();
        }
        if let Some(end) = self.peek_char().filter(|c| matches!(c, '!' | '?')) {
            word.push(end);
            if self.macros.contains_key(&word) {
                self.next_char();
            } else {
                word.pop();
            }
        }
        word
    }

    /// Drops the rest of the line (`dnl`).
    pub(super) fn drop_line(&mut self) {
        while let Some(next) = self.next_char() {
            if next == '\n' {
                break;
            }
        }
    }
}
