//! From the command line to a model: the languages' registry reads it, and what it found is rendered.

use crate::args::{Given, ModelArgs, ModelErrors};
use crate::failure::Failure;
use hadal_check::formulas::{FormulaError, ReadError, ReadModel};
use hadal_lang::{LoadError, LoadOptions};

/// Reads and checks a model of states and actions.
pub fn load(args: &ModelArgs) -> Result<ReadModel, Failure> {
    load_with(args, &args.load_options())
}

/// [`load`], with these options.
pub fn load_with(args: &ModelArgs, options: &LoadOptions) -> Result<ReadModel, Failure> {
    Ok(ReadModel::read(&args.model, options)?)
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
            asked: Vec::new(),
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

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Load(error) => error.into(),
            _ => Failure::Usage(error.to_string()),
        }
    }
}

impl From<FormulaError> for Failure {
    fn from(error: FormulaError) -> Self {
        match error {
            FormulaError::Read(error) => error.into(),
            FormulaError::File { path, error } => Failure::File { path, error },
            FormulaError::Question(told) => Failure::Usage(told),
        }
    }
}
