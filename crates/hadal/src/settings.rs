//! Settings in `hadal.toml` beside the model: the long options by name, and constants under `[define]`. The command line
//! wins. `docs/settings.md` describes the file.

use crate::args::Cli;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use hadal_lang::text::suggest::did_you_mean;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The file's name.
const FILE: &str = "hadal.toml";
/// The table of constants.
const DEFINE: &str = "define";
/// Verbs that read settings: those that run a model by options.
const VERBS: &[&str] = &["check", "solve", "plan", "explore", "simulate", "inspect"];

/// What was taken from a file of settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Which file.
    pub file: String,
    /// The options it gives, as they would stand on the command line.
    pub options: Vec<String>,
}

impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} says {}", self.file, self.options.join(" "))
    }
}

/// The command line with what the settings beside its model add, and what that is.
pub fn read(words: Vec<OsString>) -> Result<(Cli, Option<Settings>), Failure> {
    let matches = Cli::described().get_matches_from(&words);
    let Some(settings) = beside_model(&matches)? else {
        return Ok((parsed(&matches), None));
    };
    // What is added stands at the end, where options may stand; a lone `--` would make them positions.
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut all = words;
    all.splice(at..at, settings.options.iter().map(OsString::from));
    let matches = Cli::described().try_get_matches_from(&all).map_err(|error| {
        let told = error.render().to_string();
        let first = told.lines().next().unwrap_or("").trim_start_matches("error: ");
        Failure::Usage(format!("{first}\n  (with what {settings})"))
    })?;
    Ok((parsed(&matches), Some(settings)))
}

fn parsed(matches: &ArgMatches) -> Cli {
    Cli::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}

/// The settings for this command, where a file beside its model has some.
fn beside_model(matches: &ArgMatches) -> Result<Option<Settings>, Failure> {
    let Some((verb, given)) = matches.subcommand().filter(|(verb, _)| VERBS.contains(verb)) else {
        return Ok(None);
    };
    let Ok(Some(model)) = given.try_get_one::<PathBuf>("model") else { return Ok(None) };
    let path = model.parent().unwrap_or(Path::new("")).join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::File { path, error }),
    };
    let file = path.display().to_string();
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| Failure::Usage(format!("{file}: {error}")))?;
    let cli = Cli::described();
    let mut options = Vec::new();
    for (key, value) in &table {
        let wrong = |why: String| Failure::Usage(format!("{file}: `{key}`: {why}"));
        if key == DEFINE {
            options.extend(definitions(value, given).map_err(wrong)?);
            continue;
        }
        let known: Vec<&Command> =
            cli.get_subcommands().filter(|it| VERBS.contains(&it.get_name())).collect();
        if !known.iter().any(|it| long(it, key).is_some()) {
            let names = known.iter().flat_map(|it| it.get_arguments()).filter_map(Arg::get_long);
            let help = did_you_mean(key, names.chain([DEFINE])).unwrap_or_else(|| {
                "settings are long options of check, solve, plan, explore, simulate and inspect".into()
            });
            return Err(wrong(format!("there is no such option; {help}")));
        }
        // Other verbs may have options that this one does not.
        let Some(arg) = cli.find_subcommand(verb).and_then(|verb| long(verb, key)) else { continue };
        if given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine) {
            continue;
        }
        options.extend(words(arg, key, value).map_err(wrong)?);
    }
    Ok((!options.is_empty()).then_some(Settings { file, options }))
}

fn long<'c>(verb: &'c Command, name: &str) -> Option<&'c Arg> {
    verb.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// An option as it would stand on the command line.
fn words(arg: &Arg, key: &str, value: &Value) -> Result<Vec<String>, String> {
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
    match value {
        Value::Boolean(on) if is_flag => Ok(if *on { vec![format!("--{key}")] } else { Vec::new() }),
        _ if is_flag => Err("this is a switch: true or false".into()),
        Value::Array(_) if !matches!(arg.get_action(), ArgAction::Append) => {
            Err("this option has one value, not a list".into())
        }
        Value::Array(values) => {
            values.iter().map(|value| Ok(format!("--{key}={}", scalar(value)?))).collect()
        }
        value => Ok(vec![format!("--{key}={}", scalar(value)?)]),
    }
}

/// The constants that the command line does not give.
fn definitions(value: &Value, given: &ArgMatches) -> Result<Vec<String>, String> {
    let Value::Table(constants) = value else { return Err("a table of constants is expected".into()) };
    let taken: Vec<String> = match given.try_get_raw(DEFINE) {
        Ok(Some(raw)) => {
            raw.filter_map(|word| Some(word.to_str()?.split_once('=')?.0.trim().to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let new = constants.iter().filter(|(name, _)| !taken.contains(name));
    new.map(|(name, value)| Ok(format!("-D{name}={}", scalar(value)?))).collect()
}

fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(on) => Ok(on.to_string()),
        _ => Err("a number or text is expected".into()),
    }
}
