//! What can go wrong outside the model's answer, with its exit code.

use hadal_check::CheckError;
use hadal_lang::language::render_refusal;
use hadal_lang::{Diagnostic, Refused, Severity};
use hadal_system::{Source, Span};
use serde::Serialize;
use std::path::PathBuf;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The model was refused; the findings are already rendered.
    #[error("{rendered}")]
    Refused {
        /// Findings with carets, then a summary.
        rendered: String,
        /// The findings, for programs.
        findings: Vec<Finding>,
    },
    /// The command makes no sense as given.
    #[error("{0}")]
    Usage(String),
    /// A run on disk cannot be used.
    #[error("{0}")]
    Damaged(String),
    /// hadal is wrong.
    #[error("internal error: {0}\nThis is a bug of hadal. Please report it with the model and the command.")]
    Internal(String),
}

/// A mistake in a text, for programs: what `--json` prints under `errors`.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line, from 1; absent where the whole text, or the command line, is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What is wrong.
    pub message: String,
    /// What was expected there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    /// A finding in a text.
    pub fn of(source: &Source, diagnostic: &Diagnostic) -> Self {
        let source = diagnostic.elsewhere.as_ref().unwrap_or(source);
        let place = (diagnostic.span != Span::default()).then(|| source.locate(diagnostic.span));
        Finding {
            file: source.name.to_string(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            severity: if diagnostic.severity == Severity::Error { "error" } else { "warning" },
            message: diagnostic.message.clone(),
            label: diagnostic.label.clone(),
            help: diagnostic.help.clone(),
        }
    }
}

impl From<&Refused> for Failure {
    fn from(refused: &Refused) -> Self {
        let finding = |diagnostic| Finding::of(&refused.source_text, diagnostic);
        Failure::Refused {
            rendered: render_refusal(refused),
            findings: refused.diagnostics.list.iter().map(finding).collect(),
        }
    }
}

impl Failure {
    /// For programs: one object with a list `errors`.
    pub fn json(&self) -> serde_json::Value {
        let findings = match self {
            Failure::Refused { findings, .. } => serde_json::to_value(findings).unwrap_or_default(),
            Failure::File { path, error } => {
                serde_json::json!([{ "file": path, "severity": "error", "message": error.to_string() }])
            }
            other => serde_json::json!([{ "severity": "error", "message": other.to_string() }]),
        };
        serde_json::json!({ "errors": findings })
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::File { .. } | Failure::Refused { .. } | Failure::Usage(_) => 2,
            Failure::Internal(_) | Failure::Damaged(_) => 4,
        }
    }
}

#[cfg(feature = "bench")]
impl From<hadal_bench::BenchError> for Failure {
    fn from(error: hadal_bench::BenchError) -> Self {
        match error {
            hadal_bench::BenchError::File { path, error } => Failure::File { path, error },
            hadal_bench::BenchError::Usage(why) => Failure::Usage(why),
            hadal_bench::BenchError::Check(error) => error.into(),
            hadal_bench::BenchError::Internal(why) => Failure::Internal(why),
        }
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Question(why) => Failure::Usage(why),
            CheckError::File { path, error } => Failure::File { path, error },
            CheckError::Damaged(why) => Failure::Damaged(why),
            CheckError::Internal(why) => Failure::Internal(why),
        }
    }
}
