//! One open model: its text, what the front end says of it, and what its names stand for.

use super::planning;
use super::symbols::{self, Symbol};
use super::text::Text;
use hadal_lang::language::Request;
use hadal_lang::{Diagnostic, Language, LoadError, LoadOptions, LoadedModel, Severity};
use hadal_system::{Source, Span};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A model in an editor.
pub struct Document {
    uri: String,
    path: PathBuf,
    text: Text,
    /// Of the last text that was accepted: a model is broken most of the time that it is edited.
    symbols: Vec<Symbol>,
}

impl Document {
    /// A document with nothing in it yet.
    pub fn new(uri: &str) -> Self {
        let path = path_of(uri);
        let text = Text::new(Source::new(path.display().to_string(), ""));
        Document { uri: uri.to_owned(), path, text, symbols: Vec::new() }
    }

    /// The text as it is now.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Takes a new text; returns the findings about it as the protocol writes them.
    pub fn update(&mut self, text: &str) -> Value {
        self.text = Text::new(Source::new(self.path.display().to_string(), text));
        if planning::is_planning(&self.path) {
            let found = planning::look_at(&self.path, &self.text.source);
            self.symbols = found.symbols;
            return self.findings(&self.text.source, &found.findings);
        }
        let Some(language) = Language::of(&self.path) else { return json!([]) };
        let (options, source) = (LoadOptions::default(), self.text.source.clone());
        let request = Request { path: &self.path, source, options: &options };
        match (language.load)(request) {
            Ok(loaded) => {
                match &loaded.model {
                    LoadedModel::System(system) => self.symbols = symbols::of_system(system),
                    LoadedModel::Timed(timed) => self.symbols = symbols::of_timed(timed),
                    _ => {}
                }
                self.findings(loaded.model.source(), &loaded.warnings.list)
            }
            Err(LoadError::Refused(refused)) => {
                self.findings(&refused.source_text, &refused.diagnostics.list)
            }
            Err(error) => json!([self.finding(Span::default(), 1, error.to_string())]),
        }
    }

    /// Findings point into the text that was parsed: macros may stand between it and the one in the editor.
    fn findings(&self, parsed: &Source, list: &[Diagnostic]) -> Value {
        let same = parsed.original_text() == &*self.text.source.text;
        let one = |diagnostic: &Diagnostic| {
            let severity = if diagnostic.severity == Severity::Error { 1 } else { 2 };
            let parts = [Some(diagnostic.message.clone()), diagnostic.label.clone(), diagnostic.help.clone()];
            let message = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
            let span = if same { parsed.original(diagnostic.span) } else { Span::default() };
            self.finding(span, severity, message)
        };
        list.iter().map(one).collect()
    }

    fn finding(&self, span: Span, severity: u32, message: String) -> Value {
        json!({ "range": self.text.range(span), "severity": severity, "source": "hadal", "message": message })
    }

    /// Where the name at a byte is declared.
    pub fn definition(&self, offset: usize) -> Option<Value> {
        let word = self.word(offset)?;
        let declared = self.called(&word, offset).find_map(|it| it.declaration(&self.uri, &self.text));
        match declared {
            Some((place, _)) => Some(place),
            None => Some(json!({ "uri": self.uri, "range": self.text.range(self.text.first(&word)?) })),
        }
    }

    /// What the name at a byte stands for.
    pub fn hover(&self, offset: usize) -> Option<Value> {
        let word = self.word(offset)?;
        let mut known: Vec<&str> = self.called(&word, offset).map(|it| it.about.as_str()).collect();
        // Instances of one declaration have the same to say.
        known.dedup();
        // What is written there says the type, what is known of it the domain.
        let line = self.called(&word, offset).find_map(|it| it.declaration(&self.uri, &self.text));
        let line = match line {
            Some((_, line)) => Some(line),
            None => self.text.first(&word).map(|first| self.text.line_of(first)),
        };
        let written = line.map(|line| format!("```\n{line}\n```"));
        let about: Vec<String> =
            written.into_iter().chain(known.iter().map(|&about| about.to_owned())).collect();
        if about.is_empty() {
            return None;
        }
        let about = about.join("\n\n");
        Some(json!({ "contents": { "kind": "markdown", "value": about } }))
    }

    /// All declarations that have a place.
    pub fn outline(&self) -> Value {
        self.symbols.iter().filter_map(|symbol| symbol.outlined(&self.text)).collect()
    }

    /// The name at a byte. Planning texts do not tell large letters from small ones, and their names have hyphens.
    fn word(&self, offset: usize) -> Option<String> {
        match planning::is_planning(&self.path) {
            true => self.text.word(offset, |c| c == '-' || c == '?').map(str::to_ascii_lowercase),
            false => self.text.word(offset, |_| false).map(str::to_owned),
        }
    }

    /// What a word at a byte may mean.
    fn called<'d>(&'d self, word: &'d str, offset: usize) -> impl Iterator<Item = &'d Symbol> {
        self.symbols.iter().filter(move |it| it.is_called(word, offset))
    }
}

/// The file behind a URI; what is not a `file:` is taken as a name, whose extension still says the language.
fn path_of(uri: &str) -> PathBuf {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}
