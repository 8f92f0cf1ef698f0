//! Which model a command is about, and how it is read.

use clap::{Args, ValueEnum};
use hadal_check::{Engine, SymmetryMode};
use hadal_exec::model::ModelOptions;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a constant or parameter is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Given {
    /// A value.
    Number(i64),
    /// Text that macros of a family insert.
    Text(String),
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Number(value) => write!(f, "{value}"),
            Given::Text(text) => f.write_str(text),
        }
    }
}

/// Which model, and how to read it.
#[derive(Args, Clone, Debug)]
pub struct ModelArgs {
    /// The model.
    #[arg(help = format!("The model. The extension names the language: {}", hadal_lang::language::list()))]
    pub model: PathBuf,
    /// Give a constant of the model another value; may be repeated. A parameter of a family (.mdve) may be text.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
    /// Reduce states that differ only by a permutation of scalarset values.
    #[arg(long, value_enum, default_value_t = Symmetry::Auto)]
    pub symmetry: Symmetry,
    /// DVE only: report a transition that raises an error (a byte out of range, say), or continue from an error state as
    /// DiVinE does.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ModelErrors::Report)]
    pub model_errors: ModelErrors,
    /// Promela only: how many processes of a type may be alive at once, if the model starts more than its text shows. By
    /// default hadal finds the number itself and restarts the search with more room.
    #[arg(long, value_name = "TYPE=N", value_parser = parse_processes)]
    pub processes: Vec<(String, usize)>,
    /// Promela only: merge statements that no other process observes with the statement before them, and forget values
    /// that are no longer needed, as SPIN does by default.
    #[arg(long)]
    pub merge: bool,
    /// Interpret the model instead of compiling it to machine code (slow; for comparing the two).
    #[arg(long)]
    pub interpret: bool,
}

impl ModelArgs {
    /// How the model is to be run.
    pub fn model_options(&self) -> ModelOptions {
        ModelOptions {
            engine: if self.interpret { Engine::Interpreted } else { Engine::Compiled },
            symmetry: match self.symmetry {
                Symmetry::Off => SymmetryMode::Off,
                Symmetry::Heuristic => SymmetryMode::Heuristic,
                Symmetry::Exact => SymmetryMode::Exact,
                Symmetry::Auto => SymmetryMode::Auto,
            },
        }
    }
}

fn parse_processes(text: &str) -> Result<(String, usize), String> {
    match text.split_once('=').map(|(name, count)| (name, count.parse())) {
        Some((name, Ok(count @ 1..=255))) if !name.is_empty() => Ok((name.to_owned(), count)),
        _ => Err("write TYPE=N with N from 1 to 255".into()),
    }
}

/// What becomes of a DVE transition that raises an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum ModelErrors {
    /// Report the error.
    #[default]
    Report,
    /// Set every variable to 0, move the first process to a location `error`, and continue.
    State,
}

/// How far symmetry is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Symmetry {
    /// Keep every state.
    Off,
    /// A fast normal form, which may keep several states of an orbit.
    Heuristic,
    /// Exactly one state per orbit.
    Exact,
    /// Exact where it is affordable, else heuristic.
    Auto,
}

/// Reads NAME=VALUE.
pub fn parse_override(text: &str) -> Result<(String, Given), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let name = name.trim();
    if name.is_empty() {
        return Err("the name is missing".into());
    }
    let value = value.trim();
    let given = match value.to_ascii_lowercase().as_str() {
        "" => return Err("the value is missing".into()),
        "true" => Given::Number(1),
        "false" => Given::Number(0),
        other => match other.parse() {
            Ok(number) => Given::Number(number),
            Err(_) => Given::Text(value.to_owned()),
        },
    };
    Ok((name.to_owned(), given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_read_as_people_write_them() {
        assert_eq!(parse_override("N=4"), Ok(("N".into(), Given::Number(4))));
        assert_eq!(parse_override("fixed = false"), Ok(("fixed".into(), Given::Number(0))));
        assert!(parse_override("N").is_err());
    }
}
