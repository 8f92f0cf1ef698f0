//! Models of states and actions as they are read from files.

use hadal_lang::{Language, LoadError, LoadOptions, LoadedModel};
use hadal_system::{System, TimedSystem};
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
    /// What stands around the system, whose own system is empty, where the model is one in real time.
    pub clocks: Option<Box<TimedSystem>>,
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
    /// It describes no time.
    #[error("{}: this model has no clocks", .0.display())]
    NoClocks(PathBuf),
    /// It describes something else.
    #[error("{}: {instead}", path.display())]
    NoStates {
        /// The file.
        path: PathBuf,
        /// What to do instead.
        instead: &'static str,
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
            LoadedModel::System(system) => Ok(ReadModel { system, language, warnings, clocks: None }),
            LoadedModel::Timed(_) => Err(ReadError::NoStates {
                path: path.to_owned(),
                instead: "this command does not read real-time models; `hadal check` does, and `hadal plan` finds cheapest runs",
            }),
            _ => Err(ReadError::NoStates {
                path: path.to_owned(),
                instead: "this is a domain, which has no states without a problem: give the problem's file instead, or \
                          find a plan with `hadal plan DOMAIN PROBLEM`",
            }),
        }
    }

    /// Reads and checks a model in real time.
    pub fn read_timed(path: &Path, options: &LoadOptions) -> Result<ReadModel, ReadError> {
        let (language, loaded) = hadal_lang::load(path, options)?;
        let warnings = loaded.render_warnings();
        match loaded.model {
            LoadedModel::Timed(mut timed) => {
                let system = std::mem::take(&mut timed.system);
                Ok(ReadModel { system, language, warnings, clocks: Some(Box::new(timed)) })
            }
            _ => Err(ReadError::NoClocks(path.to_owned())),
        }
    }

    /// The model in real time, where it is one.
    pub fn into_timed(self) -> Option<TimedSystem> {
        let mut timed = *self.clocks?;
        timed.formulas.resize(self.system.properties.len(), None);
        timed.system = self.system;
        Some(timed)
    }
}
