//! The command that asks again what a run was asked.

use crate::args::Cli;
use clap::{Command, CommandFactory};
use hadal_search::partition::Heuristic;
use serde_json::Value;

/// A command that asks what the run was asked: what the run keeps is named like the flags.
pub fn command(about: &Value) -> Option<String> {
    let mut words = vec!["hadal".to_owned(), "check".to_owned(), quoted(about["model"].as_str()?)];
    for define in about["define"].as_array().into_iter().flatten() {
        if let Some(name) = define[0].as_str() {
            let value = define[1].as_str().map_or_else(|| define[1].to_string(), str::to_owned);
            words.extend(["-D".to_owned(), quoted(&format!("{name}={value}"))]);
        }
    }
    let check = Cli::command();
    let check = check.find_subcommand("check")?;
    for (key, value) in about.as_object().into_iter().flatten() {
        if key != "model" && key != "define" {
            flag(check, key, value, &mut words);
        }
    }
    Some(words.join(" "))
}

fn flag(check: &Command, key: &str, value: &Value, words: &mut Vec<String>) {
    let name = key.replace('_', "-");
    let said = match value {
        Value::Bool(true) => return words.push(format!("--{name}")),
        Value::Bool(false) | Value::Null => return,
        Value::Array(items) => return items.iter().for_each(|item| flag(check, key, item, words)),
        Value::Object(fields) => {
            return fields.iter().for_each(|(key, value)| flag(check, key, value, words));
        }
        Value::Number(number) => number.to_string(),
        Value::String(_) if key == "part_heuristic" => serde_json::from_value(value.clone())
            .map_or_else(|_| value.to_string(), |known| Heuristic::name(known).to_owned()),
        Value::String(text) => spelled(check, &name, text),
    };
    if !is_default(check, &name, &said) {
        words.extend([format!("--{name}"), quoted(&said)]);
    }
}

/// One of hadal's words as the command line spells it; names, formulas and files are somebody's own.
fn spelled(check: &Command, name: &str, text: &str) -> String {
    let word = kebab(text);
    let known = argument(check, name).map_or(Vec::new(), clap::Arg::get_possible_values);
    if known.iter().any(|value| value.matches(&word, false)) { word } else { text.to_owned() }
}

fn is_default(check: &Command, name: &str, said: &str) -> bool {
    argument(check, name).is_some_and(|arg| arg.get_default_values().iter().any(|value| value == said))
}

fn argument<'a>(check: &'a Command, name: &str) -> Option<&'a clap::Arg> {
    check.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// `ClosedPerLayer` as the command line spells it.
fn kebab(text: &str) -> String {
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// As a shell reads it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let about = serde_json::json!({
            "model": "/m/it's here.m", "define": [["N", 4]], "symmetry": "Auto", "interpret": true,
            "property": ["mutual exclusion"], "deadlock": "Stuttering", "model_errors": "Report",
            "fair": "Off", "lasso": "Some", "liveness": "Sweep", "ltl": ["[] (Cabin1.Library -> <> p)"],
            "strategy": "Part", "partition": { "part_heuristic": "StaticGhc", "part_states": null },
        });
        let words = command(&about).expect("a command");
        assert!(words.starts_with("hadal check '/m/it'\\''s here.m' -D N=4 "), "{words}");
        assert!(words.contains("--property 'mutual exclusion'") && words.contains("--deadlock stuttering"));
        assert!(words.contains("--strategy part") && words.contains("--part-heuristic s-ghc"), "{words}");
        assert!(words.contains("--ltl '[] (Cabin1.Library -> <> p)'"), "{words}");
        assert!(["--fair", "--lasso", "--liveness"].iter().all(|flag| !words.contains(flag)), "{words}");
        assert!(words.contains("--interpret") && !words.contains("--symmetry") && !words.contains("errors"));
    }
}
