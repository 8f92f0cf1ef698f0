//! From a path to a [`System`]: picks the language by the file's ending and renders what the front end found.

use crate::args::{Given, ModelArgs, ModelErrors};
use crate::failure::Failure;
use hadal_lang::diagnostic::render_plain;
use hadal_lang::{Diagnostics, Refused, Severity, dve};
use hadal_system::{Source, System};
use std::path::Path;

/// The languages hadal reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Murphi, as CMurphi and Rumur accept it.
    Murphi,
    /// DVE, as BEEM and DiVinE use it.
    Dve,
}

impl Language {
    /// By the file's ending.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("m" | "murphi") => Ok(Language::Murphi),
            Some("dve" | "mdve") => Ok(Language::Dve),
            _ => Err(Failure::Usage(format!(
                "{}: the ending does not say the language; hadal reads .m (Murphi), .dve and .mdve (DVE)",
                path.display()
            ))),
        }
    }
}

/// A model that was read, and its language.
pub struct LoadedModel {
    /// The model.
    pub system: System,
    /// What it was written in.
    pub language: Language,
    /// Warnings, rendered.
    pub warnings: String,
}

/// Reads and checks a model.
pub fn load(args: &ModelArgs) -> Result<LoadedModel, Failure> {
    let language = Language::of(&args.model)?;
    let bytes =
        std::fs::read(&args.model).map_err(|error| Failure::File { path: args.model.clone(), error })?;
    if bytes.len() > u32::MAX as usize {
        return Err(Failure::Usage(format!("{}: larger than 4 GiB", args.model.display())));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let source = Source::new(args.model.display().to_string(), text);
    let (system, warnings) = match language {
        Language::Murphi => {
            let Definitions { numbers, texts } = Definitions::of(args);
            if let Some((name, value)) = texts.first() {
                return Err(Failure::Usage(format!(
                    "-D {name}={value}: a constant of a Murphi model is a number"
                )));
            }
            hadal_lang::murphi::load(source, &numbers).map(|l| (l.system, l.warnings))
        }
        Language::Dve => load_dve(args, source)?.map(|l| (l.system, l.warnings)),
    }
    .map_err(|refused| Failure::Refused { rendered: render_refusal(&refused) })?;
    let warnings = render_all(&system.source, &warnings);
    Ok(LoadedModel { system, language, warnings })
}

/// A DVE model, with the goals of the BEEM description that lies beside it.
fn load_dve(args: &ModelArgs, source: Source) -> Result<Result<dve::Loaded, Refused>, Failure> {
    let description = dve::beem::Description::beside(&args.model)
        .map_err(|error| Failure::File { path: args.model.with_extension("xml"), error })?;
    let errors = match args.model_errors {
        ModelErrors::Report => dve::lower::Errors::Report,
        ModelErrors::State => dve::lower::Errors::ErrorState,
    };
    let Definitions { numbers, texts } = Definitions::of(args);
    let description = description.as_ref();
    Ok(dve::load_with(source, dve::Options { overrides: &numbers, texts: &texts, description, errors }))
}

/// What `-D` gives to names.
#[derive(Default)]
struct Definitions {
    numbers: Vec<(String, i64)>,
    texts: Vec<(String, String)>,
}

impl Definitions {
    fn of(args: &ModelArgs) -> Self {
        let mut all = Definitions::default();
        for (name, given) in args.define.iter().cloned() {
            match given {
                Given::Number(value) => all.numbers.push((name, value)),
                Given::Text(text) => all.texts.push((name, text)),
            }
        }
        all
    }
}

fn render_all(source: &Source, diagnostics: &Diagnostics) -> String {
    diagnostics.list.iter().map(|d| render_plain(source, d)).collect::<Vec<_>>().join("\n")
}

fn render_refusal(refused: &Refused) -> String {
    let errors = refused.diagnostics.list.iter().filter(|d| d.severity == Severity::Error).count();
    let plural = if errors == 1 { "error" } else { "errors" };
    format!(
        "{}\n{}: {errors} {plural}; nothing was explored",
        render_all(&refused.source_text, &refused.diagnostics),
        refused.source_text.name
    )
}
