//! Models of states and actions as they are read from files.

use hadal_lang::{Language, LoadError, LoadOptions, LoadedModel};
use hadal_system::System;
use std::path::{Path, PathBuf};

/// A system that was read, and its language.
#[derive(Debug)]
pub struct ReadModel {
    /// The model.
    pub system: System,
    /// What it was written in.
    pub language: &'static Language,
    /// Warnings, rendered.
    pub warnings: String,
}

/// Why a model cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its language refuses it, or the file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Statements are to be merged in a language that has none.
    #[error("--merge is for Promela; {0} has no statements to merge")]
    Merge(&'static str),
    /// It describes something else.
    #[error("{}: this command needs states and actions, which this {language} model does not describe", path.display())]
    NoStates {
        /// The file.
        path: PathBuf,
        /// Its language.
        language: &'static str,
    },
}

impl ReadModel {
    /// Reads and checks a model of states and actions.
    pub fn read(path: &Path, options: &LoadOptions) -> Result<ReadModel, ReadError> {
        let (language, loaded) = hadal_lang::load(path, options)?;
        let warnings = loaded.render_warnings();
        if options.merge && language.name != "Promela" {
            return Err(ReadError::Merge(language.name));
        }
        match loaded.model {
            LoadedModel::System(system) => Ok(ReadModel { system, language, warnings }),
            _ => Err(ReadError::NoStates { path: path.to_owned(), language: language.name }),
        }
    }
}
