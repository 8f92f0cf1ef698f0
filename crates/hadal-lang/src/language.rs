//! Languages as data: what hadal must know of each, and the registry that holds them all.
//!
//! A front end is a folder of this crate with one `pub static LANGUAGE: Language` and one line in [`LANGUAGES`]. The
//! command, the benches and the tests ask the registry and name no language.

use crate::diagnostic::{Diagnostics, Refused, render_plain};
use crate::{Severity, dve, murphi, pddl, prism, promela, ta};
use hadal_system::{DeadlockNotion, Source, System, TimedSystem};
use std::path::{Path, PathBuf};

/// Every language hadal reads. A new one is one line here.
pub static LANGUAGES: &[&Language] = &[
    &murphi::LANGUAGE,
    &dve::LANGUAGE,
    &pddl::LANGUAGE,
    &prism::LANGUAGE,
    &promela::LANGUAGE,
    &ta::tck::LANGUAGE,
    &ta::uppaal::LANGUAGE,
];

/// Gives the text that is read after macros were expanded.
pub type Expand = fn(&Source, &LoadOptions) -> Result<String, Refused>;

/// What hadal knows of a language.
#[derive(Debug)]
pub struct Language {
    /// As people call it.
    pub name: &'static str,
    /// Endings of its files, without the dot, in small letters; the usual one first.
    pub extensions: &'static [&'static str],
    /// What a deadlock is in it.
    pub deadlock: DeadlockNotion,
    /// What `-D NAME=VALUE` gives a value to, in a few words.
    pub defines: &'static str,
    /// Reads a model.
    pub load: fn(Request) -> Result<Loaded, LoadError>,
    /// What is read after macros were expanded, where the language has a text to show for it.
    pub expand: Option<Expand>,
}

impl Language {
    /// The language of a file, by its extension. Both Promela and PRISM models are called `.pm`: the text decides.
    pub fn of(path: &Path) -> Option<&'static Language> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        if extension == "pm" {
            let text = std::fs::read(path).unwrap_or_default();
            let prism = prism::recognises(&String::from_utf8_lossy(&text));
            return Some(if prism { &prism::LANGUAGE } else { &promela::LANGUAGE });
        }
        LANGUAGES.iter().copied().find(|language| language.extensions.contains(&extension.as_str()))
    }

    /// The language of this name, whatever the case of its letters.
    pub fn named(name: &str) -> Option<&'static Language> {
        LANGUAGES.iter().copied().find(|language| language.name.eq_ignore_ascii_case(name))
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// All languages with their extensions, for people: `.m and .murphi (Murphi), .dve and .mdve (DVE)`.
pub fn list() -> String {
    let one = |language: &&Language| {
        let extensions: Vec<String> =
            language.extensions.iter().map(|extension| format!(".{extension}")).collect();
        format!("{} ({})", extensions.join(" and "), language.name)
    };
    LANGUAGES.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What `-D` gives to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A value.
    Number(i64),
    /// Text.
    Text(String),
}

/// What becomes of a transition that meets an error, where the language has a say in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelErrors {
    /// It is reported as an error of the model.
    #[default]
    Report,
    /// The model goes to an error state of its own, as DiVinE does, and the search goes on.
    ErrorState,
}

/// How a model is to be read.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Values for constants and parameters, by name.
    pub define: Vec<(String, Given)>,
    /// What becomes of transitions that meet an error.
    pub errors: ModelErrors,
    /// A file of queries that takes the place of the model's own, where the language has such files.
    pub queries: Option<PathBuf>,
    /// Queries besides those, where the language has any; what cannot be read as one is left out.
    pub asked: Vec<String>,
    /// How many processes of a type may live at once, by the type's name, where processes come and go.
    pub processes: Vec<(String, usize)>,
    /// Expressions of the model's language: they become its last properties, of the kind
    /// [`hadal_system::PropertyKind::Proposition`], in this order and named by their text.
    pub propositions: Vec<String>,
    /// A never claim by name and text, where claims are written in the model's language.
    pub claim: Option<(String, String)>,
    /// Whether steps that nobody sees are merged with those before them, where the language knows such steps.
    pub merge: bool,
}

impl LoadOptions {
    /// The definitions that are numbers.
    pub fn numbers(&self) -> Vec<(String, i64)> {
        let number = |(name, given): &(String, Given)| match given {
            Given::Number(value) => Some((name.clone(), *value)),
            Given::Text(_) => None,
        };
        self.define.iter().filter_map(number).collect()
    }

    /// The definitions that are text.
    pub fn texts(&self) -> Vec<(String, String)> {
        let text = |(name, given): &(String, Given)| match given {
            Given::Number(_) => None,
            Given::Text(text) => Some((name.clone(), text.clone())),
        };
        self.define.iter().filter_map(text).collect()
    }

    /// The definitions, in a language that takes numbers only.
    pub fn only_numbers(&self, language: &Language) -> Result<Vec<(String, i64)>, LoadError> {
        match self.texts().into_iter().next() {
            Some((name, value)) => Err(LoadError::NotANumber { name, value, language: language.name }),
            None => Ok(self.numbers()),
        }
    }
}

/// A model to be read.
#[derive(Debug)]
pub struct Request<'a> {
    /// The file, beside which others may belong to the model.
    pub path: &'a Path,
    /// Its text.
    pub source: Source,
    /// How it is to be read.
    pub options: &'a LoadOptions,
}

/// A model that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it means.
    pub model: LoadedModel,
    /// What the reader may want to know.
    pub warnings: Diagnostics,
}

impl Loaded {
    /// The warnings, for reading.
    pub fn render_warnings(&self) -> String {
        render_all(self.model.source(), &self.warnings)
    }
}

/// What a model means: one variant per kind of question that hadal answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one per model")]
pub enum LoadedModel {
    /// A system of guarded actions.
    System(System),
    /// A system in real time.
    Timed(TimedSystem),
    /// A planning domain: nothing to explore before a problem says what there is.
    Domain(Source),
}

impl LoadedModel {
    /// The text that spans of the model and of its warnings point into.
    pub fn source(&self) -> &Source {
        match self {
            LoadedModel::System(system) => &system.source,
            LoadedModel::Timed(timed) => &timed.system.source,
            LoadedModel::Domain(source) => source,
        }
    }
}

/// A model that was accepted by a front end whose models are always systems.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// What it means.
    pub system: System,
    /// What the reader may want to know.
    pub warnings: Diagnostics,
}

impl From<Lowered> for Loaded {
    fn from(lowered: Lowered) -> Self {
        Loaded { model: LoadedModel::System(lowered.system), warnings: lowered.warnings }
    }
}

/// Why a model is not read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file's extension says no language.
    #[error("{path}: this extension belongs to no language; hadal reads {}", list())]
    UnknownEnding {
        /// Which file.
        path: PathBuf,
    },
    /// Offsets into the text would not fit.
    #[error("{path}: larger than 4 GiB")]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// A constant is given text in a language whose constants are numbers.
    #[error("-D {name}={value}: a constant of a {language} model is a number")]
    NotANumber {
        /// The constant.
        name: String,
        /// What it was given.
        value: String,
        /// The language.
        language: &'static str,
    },
    /// The front end refuses the text.
    #[error("{}", render_refusal(.0))]
    Refused(#[from] Refused),
}

/// Reads the model in a file, in the language that its extension says.
pub fn load(path: &Path, options: &LoadOptions) -> Result<(&'static Language, Loaded), LoadError> {
    let (language, source) = read(path)?;
    let loaded = (language.load)(Request { path, source, options })?;
    Ok((language, loaded))
}

/// Reads a file without looking into it, in the language that its ending says.
pub fn read(path: &Path) -> Result<(&'static Language, Source), LoadError> {
    let language = Language::of(path).ok_or_else(|| LoadError::UnknownEnding { path: path.to_owned() })?;
    let bytes = std::fs::read(path).map_err(|error| LoadError::File { path: path.to_owned(), error })?;
    if bytes.len() > u32::MAX as usize {
        return Err(LoadError::TooLarge { path: path.to_owned() });
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((language, Source::new(path.display().to_string(), text)))
}

/// Findings that are shown; nobody reads more, and a file that is no model has thousands.
const SHOWN_FINDINGS: usize = 60;

/// The findings, one after the other.
pub fn render_all(source: &Source, diagnostics: &Diagnostics) -> String {
    let shown = diagnostics.list.iter().take(SHOWN_FINDINGS);
    let mut text = shown.map(|d| render_plain(source, d)).collect::<Vec<_>>().join("\n");
    if let Some(more) = diagnostics.list.len().checked_sub(SHOWN_FINDINGS).filter(|&more| more > 0) {
        text.push_str(&format!("\nand {more} more\n"));
    }
    text
}

/// The findings of a refused model, then how many refuse it.
pub fn render_refusal(refused: &Refused) -> String {
    let errors = refused.diagnostics.list.iter().filter(|d| d.severity == Severity::Error).count();
    let plural = if errors == 1 { "error" } else { "errors" };
    format!(
        "{}\n{}: {errors} {plural}; nothing was explored",
        render_all(&refused.source_text, &refused.diagnostics),
        refused.source_text.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_ending_says_one_language() {
        let mut seen = BTreeSet::new();
        for language in LANGUAGES {
            assert!(!language.extensions.is_empty() && !language.defines.is_empty(), "{}", language.name);
            for extension in language.extensions {
                assert!(seen.insert(extension), "{extension} says two languages");
                assert_eq!(*extension, extension.to_ascii_lowercase());
                let path = PathBuf::from(format!("model.{}", extension.to_ascii_uppercase()));
                assert_eq!(Language::of(&path), Some(*language));
            }
            assert_eq!(Language::named(&language.name.to_lowercase()), Some(*language));
        }
        assert_eq!(Language::of(Path::new("model")), None);
        assert!(list().contains(".dve and .mdve (DVE)"));
    }

    #[test]
    fn a_file_of_no_language_is_refused_with_those_there_are() {
        let error = load(Path::new("model.txt"), &LoadOptions::default()).expect_err("no language");
        assert!(error.to_string().contains(".m and .murphi (Murphi)"), "{error}");
    }
}
