//! Where formulas are written: on the command line, in files, beside the model, in its text.

use super::{Asking, FormulaError, Formulas, Own, ReadModel};
use hadal_lang::dve::beem::Description;
use hadal_ltl::ParseError;
use std::path::Path;

/// One question.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Ltl,
    Never,
    Hoa,
}

/// Those of the command, and their names.
pub(super) fn on_command(formulas: &Formulas) -> Result<(Vec<Written>, Vec<String>), FormulaError> {
    let mut written = Vec::new();
    for (n, text) in formulas.ltl.iter().enumerate() {
        let name = if formulas.ltl.len() == 1 { "ltl".to_owned() } else { format!("ltl{}", n + 1) };
        written.push(Written { name, text: text.clone(), form: Form::Ltl });
    }
    for (path, form) in [(&formulas.never, Form::Never), (&formulas.hoa, Form::Hoa)] {
        let Some(path) = path else { continue };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        written.push(Written { name, text: read_file(path)?, form });
    }
    let names = written.iter().map(|one| one.name.clone()).collect();
    Ok((written, names))
}

/// The formulas of the model's own text that are to be checked.
pub(super) fn of_text(plain: &ReadModel, own: Own, named: &[String]) -> Vec<Written> {
    let asked = |name: &String| named.contains(name) || own == Own::All && named.is_empty();
    let formulas = plain.system.besides.formulas.iter().filter(|(name, _)| asked(name));
    formulas.map(|(name, text)| Written { name: name.clone(), text: text.clone(), form: Form::Ltl }).collect()
}

/// The formulas in `MODEL.ltl`: one a line, with a name and a colon in front if wanted; `#` begins a comment.
pub(super) fn beside(model: &Path) -> Result<Vec<Written>, FormulaError> {
    let path = model.with_extension("ltl");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let mut written = Vec::new();
    for line in read_file(&path)?.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (name, text) = match line.split_once(':').filter(|(name, _)| is_name(name.trim())) {
            Some((name, text)) => (name.trim().to_owned(), text.trim()),
            None => (format!("ltl{}", written.len() + 1), line),
        };
        written.push(Written { name, text: text.to_owned(), form: Form::Ltl });
    }
    Ok(written)
}

/// The LTL properties of a BEEM description that are asked about by name.
pub(super) fn described(asking: &Asking, plain: &ReadModel) -> Result<Vec<Written>, FormulaError> {
    let known = |name: &String| plain.system.properties.iter().any(|p| p.name == *name);
    let missing: Vec<&String> = asking.properties.iter().filter(|name| !known(name)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let description = Description::beside(asking.path)
        .map_err(|error| FormulaError::File { path: asking.path.with_extension("xml"), error })?;
    let Some(description) = description else { return Ok(Vec::new()) };
    let mut written = Vec::new();
    for (name, formula) in description.formulas(&asking.options.numbers()) {
        if missing.contains(&&name) {
            let text = formula
                .map_err(|problem| FormulaError::Question(format!("the property `{name}`: {problem}")))?;
            written.push(Written { name, text, form: Form::Ltl });
        }
    }
    Ok(written)
}

fn read_file(path: &Path) -> Result<String, FormulaError> {
    std::fs::read_to_string(path).map_err(|error| FormulaError::File { path: path.to_owned(), error })
}

impl Written {
    /// What is wrong with a formula, with a caret under the place.
    pub(super) fn told(&self, error: &ParseError) -> String {
        let start = error.at.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or("");
        let before = self.text[line_start..start].chars().count();
        let length = self.text.get(error.at.clone()).map_or(1, |part| part.chars().count().max(1));
        let help = error.help.as_ref().map_or(String::new(), |help| format!("\n  help: {help}"));
        format!(
            "`{}`: {}\n  {line}\n  {}{}{help}",
            self.name,
            error.message,
            " ".repeat(before),
            "^".repeat(length.min(line.chars().count().saturating_sub(before).max(1)))
        )
    }
}
