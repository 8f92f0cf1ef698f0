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
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Error, message: message.into(), span, label: None, help: None }
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
#[error("{} was refused with {} finding(s)", source_text.name, diagnostics.list.len())]
pub struct Refused {
    /// The text the spans point into.
    pub source_text: Source,
    /// At least one error, and any warnings met before giving up.
    pub diagnostics: Diagnostics,
}

/// Renders one finding the plain way: `name:line:column: error: message`, the line, a caret, label and help.
pub fn render_plain(source: &Source, diagnostic: &Diagnostic) -> String {
    let at = source.locate(diagnostic.span);
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let line = source.text.lines().nth(at.line - 1).unwrap_or("");
    let shown: String = line.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let width = source.slice(diagnostic.span).lines().next().map_or(1, |s| s.chars().count()).max(1);
    let width = width.min(shown.chars().count().saturating_sub(at.column - 1).max(1));
    let gutter = at.line.to_string();
    let pad = " ".repeat(gutter.len());
    let mut text = format!("{}:{}:{}: {severity}: {}\n", source.name, at.line, at.column, diagnostic.message);
    text.push_str(&format!("{pad} |\n{gutter} | {shown}\n{pad} | "));
    text.push_str(&" ".repeat(at.column - 1));
    text.push_str(&"^".repeat(width));
    if let Some(label) = &diagnostic.label {
        text.push_str(&format!(" {label}"));
    }
    text.push('\n');
    if let Some(help) = &diagnostic.help {
        text.push_str(&format!("{pad} = help: {help}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
