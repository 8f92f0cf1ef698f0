//! One diagnostic type for every language: what is wrong, where, what was expected, what to write instead.

use hadal_system::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The model is accepted; the reader may want to know.
    Warning,
    /// The model is refused.
    Error,
}

/// One mistake (or doubt) in a model's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// One sentence, no full stop: what is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to say under the caret, usually what was expected.
    pub label: Option<String>,
    /// What to do about it, where there is an obvious thing.
    pub help: Option<String>,
    /// The text that `span` points into, where it is not the model's: a file of queries, a query of the command.
    pub elsewhere: Option<Source>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        let (severity, message) = (Severity::Error, message.into());
        Diagnostic { severity, message, span, label: None, help: None, elsewhere: None }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, message) }
    }

    /// Says `label` under the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Suggests what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Everything a front end found, in source order.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// The findings.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Whether anything refuses the model.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Orders by place, so that a person reads top to bottom; drops exact repetitions.
    pub fn finish(&mut self) {
        self.list.sort_by_key(|d| (d.span.start, d.span.end));
        self.list.dedup();
    }
}

/// A model that was refused, with its text, so that the caller can show carets.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} was refused with {}", source_text.name, hadal_system::units::counted(diagnostics.list.len() as u64, "finding"))]
pub struct Refused {
    /// The text the spans point into.
    pub source_text: Source,
    /// At least one error, and any warnings met before giving up.
    pub diagnostics: Diagnostics,
}

/// Renders one finding the plain way: `name:line:column: error: message`, the line, a caret, label and help.
pub fn render_plain(source: &Source, diagnostic: &Diagnostic) -> String {
    let source = diagnostic.elsewhere.as_ref().unwrap_or(source);
    let at = source.locate(diagnostic.span);
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    if diagnostic.span == Span::default() {
        // About the whole text, or about what the command line says: no place would be the right one.
        let help =
            diagnostic.help.as_ref().map_or(String::new(), |help| format!("  = help: {}\n", printable(help)));
        return format!("{}: {severity}: {}\n{help}", source.name, printable(&diagnostic.message));
    }
    let original = source.original_text();
    let line = original.lines().nth(at.line - 1).unwrap_or("");
    let span = source.original(diagnostic.span);
    let marked = original.get(span.start as usize..span.end as usize).unwrap_or("");
    let width = marked.lines().next().map_or(1, |s| s.chars().count()).max(1);
    let (shown, column, width) = around(line, at.column - 1, width);
    let gutter = at.line.to_string();
    let pad = " ".repeat(gutter.len());
    let mut text = format!(
        "{}:{}:{}: {severity}: {}\n",
        source.name,
        at.line,
        at.column,
        printable(&diagnostic.message)
    );
    text.push_str(&format!("{pad} |\n{gutter} | {shown}\n{pad} | "));
    text.push_str(&" ".repeat(column));
    text.push_str(&"^".repeat(width));
    if let Some(label) = &diagnostic.label {
        text.push_str(&format!(" {}", printable(label)));
    }
    text.push('\n');
    if let Some(help) = &diagnostic.help {
        text.push_str(&format!("{pad} = help: {}\n", printable(help)));
    }
    text
}

/// Most characters of a line that are shown.
const SHOWN_CHARACTERS: usize = 120;

/// The part of a line that is shown around `width` characters from `column` on, and where these stand in it.
fn around(line: &str, column: usize, width: usize) -> (String, usize, usize) {
    let characters: Vec<char> = line.chars().map(visible).collect();
    let width = width.min(characters.len().saturating_sub(column).max(1));
    if characters.len() <= SHOWN_CHARACTERS {
        return (characters.into_iter().collect(), column, width);
    }
    let from = column.saturating_sub(SHOWN_CHARACTERS / 3);
    let to = characters.len().min(from + SHOWN_CHARACTERS);
    let (before, after) = (if from > 0 { "..." } else { "" }, if to < characters.len() { "..." } else { "" });
    let part: String = characters[from..to].iter().collect();
    (
        format!("{before}{part}{after}"),
        column - from + before.len(),
        width.min(to.saturating_sub(column).max(1)),
    )
}

/// Something harmless to a terminal, one character wide, in place of what it would obey.
fn visible(character: char) -> char {
    match character {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// A message without characters that a terminal would obey, and not longer than people read.
fn printable(text: &str) -> String {
    const MOST_CHARACTERS: usize = 400;
    let shown: String =
        text.chars().take(MOST_CHARACTERS).map(|c| if c == '\n' { c } else { visible(c) }).collect();
    if text.chars().nth(MOST_CHARACTERS).is_some() { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_caret_and_control_characters_do_not_reach_the_terminal() {
        let text = format!("{}here{}\x1b[2J\x07", "a ".repeat(500), " b".repeat(500));
        let source = Source::new("m.m", text.as_str());
        let rendered =
            render_plain(&source, &Diagnostic::error(Span::new(1000, 1004), "what is \x1b[31m this"));
        assert!(rendered.len() < 500, "{rendered}");
        assert!(!rendered.contains('\x1b') && !rendered.contains('\x07'));
        let lines: Vec<&str> = rendered.lines().collect();
        let caret = lines[3].find('^').expect("a caret");
        assert_eq!(&lines[2][caret..caret + 4], "here");
        assert_eq!(lines[3].matches('^').count(), 4);
    }

    #[test]
    fn the_caret_stands_under_the_span() {
        let source = Source::new("m.m", "var\n  x: boolaen;\n");
        let finding =
            Diagnostic::error(Span::new(9, 16), "unknown type `boolaen`").help("did you mean `boolean`?");
        let text = render_plain(&source, &finding);
        assert_eq!(
            text,
            "m.m:2:6: error: unknown type `boolaen`\n  |\n2 |   x: boolaen;\n  |      ^^^^^^^\n  = help: did you mean `boolean`?\n"
        );
    }
}
