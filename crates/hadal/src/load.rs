//! From the command line to a model: the languages' registry reads it, and what it found is rendered.

use crate::args::{Given, ModelArgs, ModelErrors};
use crate::failure::Failure;
use hadal_lang::{Language, LoadError, LoadOptions, LoadedModel};
use hadal_system::System;

/// A system that was read, and its language.
pub struct Model {
    /// The model.
    pub system: System,
    /// What it was written in.
    pub language: &'static Language,
    /// Warnings, rendered.
    pub warnings: String,
}

/// Reads and checks a model of states and actions.
pub fn load(args: &ModelArgs) -> Result<Model, Failure> {
    load_with(args, &args.load_options())
}

/// [`load`], with these options.
pub fn load_with(args: &ModelArgs, options: &LoadOptions) -> Result<Model, Failure> {
    let (language, loaded) = hadal_lang::load(&args.model, options)?;
    let warnings = loaded.render_warnings();
    if options.merge && language.name != "Promela" {
        let message = format!("--merge is for Promela; {} has no statements to merge", language.name);
        return Err(Failure::Usage(message));
    }
    match loaded.model {
        LoadedModel::System(system) => Ok(Model { system, language, warnings }),
        _ => Err(Failure::Usage(format!(
            "{}: this command needs states and actions, which this {} model does not describe",
            args.model.display(),
            language.name
        ))),
    }
}

impl ModelArgs {
    /// How the model is to be read.
    pub fn load_options(&self) -> LoadOptions {
        let given = |given: &Given| match given {
            Given::Number(value) => hadal_lang::Given::Number(*value),
            Given::Text(text) => hadal_lang::Given::Text(text.clone()),
        };
        LoadOptions {
            define: self.define.iter().map(|(name, value)| (name.clone(), given(value))).collect(),
            errors: match self.model_errors {
                ModelErrors::Report => hadal_lang::ModelErrors::Report,
                ModelErrors::State => hadal_lang::ModelErrors::ErrorState,
            },
            queries: None,
            processes: self.processes.clone(),
            propositions: Vec::new(),
            claim: None,
            merge: self.merge,
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::File { path, error } => Failure::File { path, error },
            LoadError::Refused(refused) => Failure::from(&refused),
            _ => Failure::Usage(error.to_string()),
        }
    }
}
